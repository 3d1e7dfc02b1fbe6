"""The lines of the local protocol: what is a request, what is refused, and in which words."""

import json

import pytest

MIB = 1 << 20


def request(identity, method="ping", **params):
    message = {"jsonrpc": "2.0", "id": identity, "method": method}
    return json.dumps(message | ({"params": params} if params else {}))


async def test_the_daemon_never_speaks_first(daemons):
    client = await (await daemons()).client()
    await client.silence()
    assert len(client.lines) == 1


async def test_a_request_is_answered_by_one_compact_line(daemons):
    client = await (await daemons()).client()
    assert (await client.exchange(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')) == {
        "jsonrpc": "2.0", "id": 1, "result": {}}
    assert client.lines[0].endswith(b"}\n") and b": " not in client.lines[0] and b", " not in client.lines[0]


async def test_white_space_and_member_order_do_not_matter(daemons):
    client = await (await daemons()).client()
    reply = await client.exchange(b' { "method" : "ping" , "params" : { } ,\t"id" : 5 , "jsonrpc" : "2.0" } ')
    assert reply["id"] == 5 and reply["result"] == {}


async def test_a_carriage_return_before_the_line_end_is_tolerated(daemons):
    client = await (await daemons()).client()
    assert (await client.exchange(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\r\n'))["result"] == {}


async def test_escaped_member_names_are_the_same_names(daemons):
    client = await (await daemons()).client()
    assert (await client.exchange(rb'{"jsonrpc":"2.0","\u0069d":3,"m\u0065thod":"p\u0069ng"}'))["id"] == 3


@pytest.mark.parametrize("text", [
    "0", "1", "-1", "9007199254740991", "-9007199254740991", '""', '"a"', r'"\u0041\n\"/"', '"é€😀"',
    '"' + "x" * 128 + '"'])
async def test_an_id_is_echoed_as_it_was_written(daemons, text):
    client = await (await daemons()).client()
    await client.exchange(f'{{"jsonrpc":"2.0","id":{text},"method":"ping"}}'.encode())
    assert f'"id":{text}'.encode() in client.lines[0]


@pytest.mark.parametrize("text", [
    "null", "1.5", "{}", "[]", "true", "9007199254740992", "-9007199254740992", "99999999999999999999",
    '"' + "x" * 129 + '"', '"' + "é" * 65 + '"'])
async def test_an_id_of_another_kind_is_refused(daemons, text):
    client = await (await daemons()).client()
    reply = await client.exchange(f'{{"jsonrpc":"2.0","id":{text},"method":"ping"}}'.encode())
    assert reply["id"] is None and reply["error"]["data"]["type"] == "InvalidRequest"


@pytest.mark.parametrize("line", [
    "nonsense", "{", "}", '{"jsonrpc":"2.0","id":1,"method":"ping"', '{"jsonrpc":"2.0","id":1,"method":"ping"} x',
    '{"jsonrpc":"2.0","id":1,"method":"ping"}{}', "{'jsonrpc':'2.0','id':1,'method':'ping'}",
    '{"jsonrpc":"2.0","id":1,"method":"ping",}', '{"jsonrpc":"2.0","id":01,"method":"ping"}',
    '{"jsonrpc":"2.0","id":+1,"method":"ping"}', '{"jsonrpc":"2.0","id":1,"method":"pi\tng"}',
    r'{"jsonrpc":"2.0","id":1,"method":"p\xng"}', r'{"jsonrpc":"2.0","id":1,"method":"\u12"}',
    '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}',
    '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":tru}}',
    '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[1 2]}}',
    '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1.}}',
    '{"jsonrpc":"2.0","id":1,"method":"ping","params":{a:1}}', "// comment"])
async def test_a_line_that_is_no_json_is_a_parse_error(daemons, line):
    client = await (await daemons()).client()
    reply = await client.exchange(line.encode())
    assert reply["id"] is None and reply["error"]["data"]["type"] == "ParseError"
    assert await client.call("ping") == {}


@pytest.mark.parametrize("text", [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x80"])
async def test_a_line_that_is_no_utf8_is_a_parse_error(daemons, text):
    client = await (await daemons()).client()
    reply = await client.exchange(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"' + text + b'"}}')
    assert reply["id"] is None and reply["error"]["data"]["type"] == "ParseError"


async def test_json_may_be_64_levels_deep_and_no_deeper(daemons, peer):
    client = await (await daemons()).client()

    def line(levels):
        args = "[" * levels + "]" * levels
        return (f'{{"jsonrpc":"2.0","id":{levels},"method":"send","params":{{"url":"{peer.url}","event":"e",'
                f'"args":{args}}}}}').encode()

    assert (await client.exchange(line(62)))["result"]["state"] == "accepted"
    reply = await client.exchange(line(63))
    assert reply["error"]["data"]["type"] == "ParseError"


async def test_absurdly_deep_json_is_only_an_error(daemons):
    client = await (await daemons()).client()
    reply = await client.exchange(b"[" * 500_000)
    assert reply["id"] is None and reply["error"]["code"] in (-32700, -32600)
    reply = await client.exchange(b'{"a":' * 100_000)
    assert reply["error"]["data"]["type"] == "ParseError"


@pytest.mark.parametrize("line", [
    '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', '{"jsonrpc":"2.0","id":1,"method":"ping","method":"ping"}',
    r'{"jsonrpc":"2.0","id":1,"\u0069d":1,"method":"ping"}',
    '{"jsonrpc":"2.0","id":1,"method":"hello","params":{"client":"a","client":"b"}}',
    r'{"jsonrpc":"2.0","id":1,"method":"hello","params":{"client":"a","\u0063lient":"b"}}'])
async def test_a_member_given_twice_is_refused(daemons, line):
    client = await (await daemons()).client()
    reply = await client.exchange(line.encode())
    assert reply["error"]["data"]["type"] in ("ParseError", "InvalidRequest", "InvalidParams")
    assert await client.call("ping") == {}


@pytest.mark.parametrize("line", [
    "{}", '"ping"', "1", "null", "true", '{"id":1,"method":"ping"}', '{"jsonrpc":"1.0","id":1,"method":"ping"}',
    '{"jsonrpc":2.0,"id":1,"method":"ping"}', '{"jsonrpc":"2.0","id":1}', '{"jsonrpc":"2.0","id":1,"method":7}',
    '{"jsonrpc":"2.0","id":1,"method":null}'])
async def test_a_line_that_is_json_but_no_request_is_refused(daemons, line):
    client = await (await daemons()).client()
    reply = await client.exchange(line.encode())
    assert reply["error"]["data"]["type"] == "InvalidRequest" and reply["id"] in (None, 1)


async def test_a_batch_is_refused(daemons):
    client = await (await daemons()).client()
    reply = await client.exchange(f"[{request(1)},{request(2)}]".encode())
    assert reply["id"] is None and reply["error"]["data"]["type"] == "InvalidRequest"
    assert await client.call("ping") == {}
    assert client.strays == []


async def test_an_unknown_method_is_named(daemons):
    client = await (await daemons()).client()
    error = await client.fails("MethodNotFound", "no.such.method")
    assert "no.such.method" in error.message


@pytest.mark.parametrize("params", ["[]", "[1]", '"x"', "1", "null", "true"])
async def test_params_that_are_no_object_are_refused(daemons, params):
    client = await (await daemons()).client()
    reply = await client.exchange(f'{{"jsonrpc":"2.0","id":9,"method":"ping","params":{params}}}'.encode())
    assert reply["id"] == 9 and reply["error"]["data"]["type"] == "InvalidParams"


URL = "http://127.0.0.1:1"
CALLS = {
    "hello": {}, "subscribe": {"url": URL}, "unsubscribe": {"subscription": "s"},
    "credit": {"subscription": "s", "n": 1}, "send": {"url": URL, "event": "e"}, "request": {"url": URL, "event": "e"},
    "respond": {"ack": "a"}, "wait": {"url": URL, "state": "connected", "timeout": 10}, "status": {},
    "reconnect": {"url": URL}, "disconnect": {"url": URL}, "release": {"url": URL}, "clients.list": {},
    "upstreams.list": {}, "clients.kick": {"client": "c"}, "reload": {}, "ping": {}, "rpc.discover": {},
}
REQUIRED = [(method, name) for method, params in CALLS.items() for name in params
            if (method, name) not in {("wait", "timeout")}]


@pytest.mark.parametrize("method", CALLS)
async def test_an_unknown_param_is_refused_and_named(daemons, method):
    client = await (await daemons()).client()
    error = await client.fails("InvalidParams", method, {**CALLS[method], "bogus": 1})
    assert "bogus" in error.message


@pytest.mark.parametrize("method, name", REQUIRED)
async def test_a_missing_param_is_refused_and_named(daemons, method, name):
    client = await (await daemons()).client()
    params = {key: value for key, value in CALLS[method].items() if key != name}
    error = await client.fails("InvalidParams", method, params)
    assert ("url" in error.message or "upstream" in error.message) if name == "url" else name in error.message


@pytest.mark.parametrize("method, wrong", [
    ("hello", {"client": 5}), ("hello", {"protocol": "one"}), ("subscribe", {"events": "said"}),
    ("subscribe", {"events": [1]}), ("subscribe", {"state": 1}), ("subscribe", {"answer": "yes"}),
    ("subscribe", {"queue": 0}), ("subscribe", {"queue": -1}), ("subscribe", {"queue": "many"}),
    ("subscribe", {"on_slow": "explode"}), ("subscribe", {"credit": -1}), ("subscribe", {"subscription": 5}),
    ("subscribe", {"since": "e1:5"}), ("subscribe", {"since": {"epoch": "e1"}}), ("subscribe", {"last": -1}),
    ("subscribe", {"strict": "no"}), ("unsubscribe", {"subscription": 1}), ("credit", {"n": "1"}),
    ("credit", {"n": 0}), ("credit", {"n": -5}), ("send", {"event": 5}), ("send", {"args": {}}),
    ("send", {"args": "x"}), ("send", {"delivery": "maybe"}), ("send", {"ttl": -1}), ("send", {"ttl": "1h"}),
    ("send", {"no_queue": 1}), ("send", {"volatile": "x"}), ("send", {"key": 5}), ("request", {"timeout": "1"}),
    ("request", {"timeout": -1}), ("respond", {"args": 1}), ("respond", {"ack": 1}), ("wait", {"state": "happy"}),
    ("wait", {"timeout": "x"}), ("status", {"url": 5}), ("clients.kick", {"client": 5}),
    ("reconnect", {"namespace": 5})])
async def test_a_param_of_the_wrong_kind_is_refused_and_named(daemons, method, wrong):
    client = await (await daemons()).client()
    error = await client.fails("InvalidParams", method, CALLS[method] | wrong)
    assert next(iter(wrong)) in error.message


async def test_a_notification_is_never_answered(daemons):
    client = await (await daemons()).client()
    for line in (b'{"jsonrpc":"2.0","method":"ping"}', b'{"jsonrpc":"2.0","method":"no.such.method"}',
                 b'{"jsonrpc":"2.0","method":"ping","params":{"bogus":1}}',
                 b'{"jsonrpc":"2.0","method":"status","params":{"upstream":"nobody"}}'):
        await client.raw(line + b"\n")
    await client.silence()
    assert client.strays == []


async def test_a_notification_is_carried_out(daemons, chat):
    client = await (await daemons()).client()
    await client.notify("send", url=chat.url, event="line", args=[1])
    assert (await chat.received(1, "line"))[0]["args"] == [1]
    assert client.strays == []


async def test_an_id_in_flight_cannot_be_used_again_until_it_is_answered(daemons, peer):
    client = await (await daemons()).client()
    await client.raw(f'{request("x", "wait", url=peer.url, state="connected", timeout=9000)}\n'.encode())
    reply = await client.exchange(request("x").encode())
    assert reply["id"] is None and reply["error"]["data"]["type"] == "InvalidRequest"
    await peer.session()
    assert (await client.stray())["result"] == {"state": "connected"}
    assert (await client.exchange(request("x").encode()))["result"] == {}


async def test_the_same_id_of_two_clients_does_not_clash(daemons, chat):
    daemon = await daemons()
    for client in (await daemon.client(), await daemon.client()):
        await client.raw(f'{request(1, "request", url=chat.url, event="echo", args=[1])}\n'.encode())
    for client in daemon.clients:
        assert (await client.stray())["result"] == {"args": [1]}


async def test_lines_may_be_pipelined(daemons):
    client = await (await daemons()).client()
    await client.raw("".join(request(number) + "\n" for number in range(2000)).encode())
    assert sorted([(await client.stray())["id"] for _ in range(2000)]) == list(range(2000))


async def test_a_slow_call_does_not_hold_up_the_next(daemons, chat):
    client = await (await daemons()).client()
    slow = client.post("request", url=chat.url, event="hold", args=["door"])
    assert (await client.call("request", url=chat.url, event="echo", args=[1]))["args"] == [1]
    await chat.control("release", name="door", value="open")
    assert (await client.result(slow))["args"] == ["open"]


async def test_a_line_may_arrive_byte_by_byte(daemons):
    client = await (await daemons()).client()
    for byte in request(7).encode() + b"\n":
        await client.raw(bytes([byte]))
    assert (await client.stray())["id"] == 7


async def test_a_line_of_one_mebibyte_is_taken(daemons):
    client = await (await daemons()).client()
    reply = await client.exchange(request(1).encode().ljust(MIB - 1))
    assert reply["result"] == {}


async def test_a_longer_line_is_an_error_and_the_end(daemons):
    daemon = await daemons()
    client, other = await daemon.client(), await daemon.client()
    await client.raw(request(1).encode().ljust(MIB + 2))
    reply = await client.stray()
    assert reply["id"] is None and "error" in reply
    await client.until_closed()
    assert await other.call("ping") == {}


async def test_the_line_limit_can_be_configured(daemons):
    daemon = await daemons({"limits": {"line": "64KiB"}})
    client = await daemon.client()
    assert (await client.call("hello"))["limits"]["line"] == 65536
    await client.raw(request(1).encode().ljust(65540))
    assert "error" in await client.stray()
    await client.until_closed()


async def test_after_end_of_file_what_was_asked_is_still_answered(daemons, chat):
    client = await (await daemons()).client()
    held = client.post("request", url=chat.url, event="hold", args=["door"])
    assert await chat.control("held", name="door", timeout=5)
    await client.end()
    await chat.control("release", name="door", value=1)
    assert (await client.result(held))["args"] == [1]
    await client.until_closed()


async def test_after_end_of_file_subscriptions_are_still_delivered(daemons, chat):
    daemon = await daemons()
    client = await daemon.connected(url=chat.url)
    await client.call("subscribe", url=chat.url)
    await client.end()
    await chat.emit("said", 1)
    await chat.emit("said", 2)
    assert [event["args"] for event in await client.events(2)] == [[1], [2]]


async def test_a_one_shot_program_that_half_closes_gets_its_answer_and_the_end(daemons):
    client = await (await daemons()).client()
    await client.raw(b'{"jsonrpc":"2.0","id":1,"method":"status"}\n')
    await client.end()
    assert "daemon" in (await client.stray())["result"]
    await client.until_closed()
