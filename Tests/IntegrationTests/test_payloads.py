"""Payloads are the user's bytes: carried verbatim both ways, and refused where they would harm the link."""

import base64
import json

import pytest

VERBATIM = [
    "[12345678901234567890123,-0,1.0e+2,1E400,0.1000]",
    r'["\u00e9\/\b\ud83d\ude00","é€😀",""]',
    '[{"z":1,"a":{"z":2,"a":3}},[],{}]',
    '[{"a":1,"a":2}]',
    '["\u2028\u2029\x7f","\\u0000"]',
    '[null,true,false,[[[[1]]]]]',
]


def send_line(url, args, event='"e"', method="send"):
    return (f'{{"jsonrpc":"2.0","id":"raw","method":"{method}","params":{{"url":"{url}","event":{event},'
            f'"args":{args}}}}}').encode()


def b64(data):
    return {"$bin": base64.b64encode(data).decode()}


@pytest.mark.parametrize("args", VERBATIM)
async def test_arguments_go_up_verbatim(daemons, peer, args):
    client = await (await daemons()).client()
    await client.raw(send_line(peer.url, args) + b"\n")
    link = await peer.session()
    await link.expect(f'42["e",{args[1:-1]}]')


@pytest.mark.parametrize("args", VERBATIM)
async def test_arguments_come_down_verbatim(daemons, peer, args):
    client = await (await daemons()).client()
    await client.call("subscribe", url=peer.url)
    link = await peer.session()
    await link.text(f'42["e",{args[1:-1]}]')
    await client.event()
    assert f'"args":{args}'.encode() in client.lines[-1]


@pytest.mark.parametrize("args", VERBATIM)
async def test_acknowledged_arguments_come_down_verbatim(daemons, peer, args):
    client = await (await daemons()).client()
    pending = client.post("request", url=peer.url, event="e")
    link = await peer.session()
    head = (await link.receive()).removesuffix('["e"]')
    await link.text(f"43{head[2:]}{args}")
    await client.result(pending)
    assert f'"args":{args}'.encode() in client.lines[-1]


async def test_an_event_without_arguments_has_an_empty_list_both_ways(daemons, peer):
    client = await (await daemons()).client()
    await client.call("subscribe", url=peer.url)
    link = await peer.session()
    await link.text('42["e"]')
    assert (await client.event())["args"] == []
    await client.call("send", url=peer.url, event="e")
    await client.call("send", url=peer.url, event="e", args=[])
    await link.expect('42["e"]', '42["e"]')


@pytest.mark.parametrize("name", ["with space", 'qu"ote', "sla/sh:co,lon", "é€😀", "back\\slash", "*", "\u0001"])
async def test_an_event_may_have_any_name(daemons, chat, name):
    daemon = await daemons()
    client = await daemon.connected(url=chat.url)
    await client.call("subscribe", url=chat.url)
    await client.call("request", url=chat.url, event=name, args=[1])
    assert (await chat.received(1))[0]["event"] == name
    await chat.emit(name, 1)
    assert (await client.event())["event"] == name


async def test_a_number_as_the_name_of_an_event_comes_as_text(daemons, peer):
    client = await (await daemons()).client()
    await client.call("subscribe", url=peer.url)
    link = await peer.session()
    await link.text('42[7,"x"]')
    event = await client.event()
    assert (event["event"], event["args"]) == ("7", ["x"])


@pytest.mark.parametrize("name", [
    "connect", "connect_error", "disconnect", "disconnecting", "newListener", "removeListener"])
@pytest.mark.parametrize("method", ["send", "request"])
async def test_a_reserved_event_name_is_refused_and_harms_nobody(daemons, chat, method, name):
    daemon = await daemons()
    client = await daemon.connected(url=chat.url)
    error = await client.fails("InvalidParams", method, url=chat.url, event=name)
    assert name in error.message
    assert (await client.call("request", url=chat.url, event="echo", args=[1]))["args"] == [1]
    assert (await chat.counters())["links_ever"] == 1


async def test_binary_goes_up_and_comes_back(daemons, server):
    client = await (await daemons()).client()
    blobs = [b64(b"\0"), b64(bytes(range(256))), {"deep": [{"x": b64(b"\0" * 70_000)}, "text"]}]
    result = await client.call("request", url=server.url, event="echo", args=blobs)
    assert result["args"] == blobs
    assert (await server.received(1, "echo"))[0]["args"] == blobs


async def test_binary_may_be_empty(daemons, peer):
    client = await (await daemons()).client()
    pending = client.post("request", url=peer.url, event="e", args=[b64(b"")])
    link = await peer.session()
    await link.receive()
    await link.expect(b"")
    await link.text('461-0[{"_placeholder":true,"num":0}]')
    await link.binary(b"")
    assert (await client.result(pending))["args"] == [b64(b"")]


async def test_binary_comes_down_in_an_event(daemons, server):
    daemon = await daemons()
    client = await daemon.connected(url=server.url)
    await client.call("subscribe", url=server.url)
    await server.emit("blob", b64(b"one"), {"x": [b64(b"two"), 3]})
    await server.emit("text", "after")
    first, second = await client.events(2)
    assert first["args"] == [b64(b"one"), {"x": [b64(b"two"), 3]}]
    assert second["args"] == ["after"]


async def test_attachments_follow_their_header_at_once_and_in_order(daemons, peer):
    client = await (await daemons()).client()
    await client.call("send", url=peer.url, event="e", args=[b64(b"one"), {"k": b64(b"two")}])
    await client.call("send", url=peer.url, event="f")
    link = await peer.session()
    header = await link.receive()
    assert header.startswith('452-["e",')
    assert json.loads(header[4:]) == [
        "e", {"_placeholder": True, "num": 0}, {"k": {"_placeholder": True, "num": 1}}]
    await link.expect(b"one", b"two", '42["f"]')


async def test_a_binary_request_keeps_its_ack_id(daemons, peer):
    client = await (await daemons()).client()
    pending = client.post("request", url=peer.url, event="e", args=[b64(b"x")])
    link = await peer.session()
    header = await link.receive()
    identity = header[len("451-"):header.index("[")]
    await link.expect(b"x")
    await link.text(f'461-{identity}[{{"_placeholder":true,"num":0}}]')
    await link.binary(b"back")
    assert (await client.result(pending))["args"] == [b64(b"back")]


async def test_placeholders_may_come_in_any_order(daemons, peer):
    client = await (await daemons()).client()
    await client.call("subscribe", url=peer.url)
    link = await peer.session()
    await link.text('452-["e",{"_placeholder":true,"num":1},{"num":0,"_placeholder":true}]')
    await link.binary(b"zero")
    await link.binary(b"one")
    assert (await client.event())["args"] == [b64(b"one"), b64(b"zero")]


async def test_a_link_lives_on_when_one_attachment_stands_in_several_places(daemons, peer):
    daemon = await daemons()
    client = await daemon.client()
    await client.call("subscribe", url=peer.url)
    link = await peer.session()
    await link.text('451-["e",{"_placeholder":true,"num":0},[{"_placeholder":true,"num":0}]]')
    await link.binary(b"both")
    await link.text('42["e","after"]')
    assert (await client.event())["args"] == [b64(b"both"), [b64(b"both")]]
    assert (await client.event())["args"] == ["after"]
    assert (await daemon.status())["connections"][0]["reconnects"] == 0


@pytest.mark.parametrize("local, wire", [
    ('{"$$bin":"AAAA"}', '{"$bin":"AAAA"}'),
    ('{"$$$bin":1}', '{"$$bin":1}'),
    ('{"$bin":"AAAA","more":1}', '{"$bin":"AAAA","more":1}'),
    ('{"bin":"AAAA"}', '{"bin":"AAAA"}'),
    ('{"$bin2":"AAAA"}', '{"$bin2":"AAAA"}'),
    ('[{"deep":{"$$bin":"x"}}]', '[{"deep":{"$bin":"x"}}]'),
    ('"$bin"', '"$bin"'),
    ('{"_placeholder":true,"num":0}', '{"_placeholder":true,"num":0}'),
])
async def test_a_user_key_that_looks_like_binary_gets_one_more_dollar_locally(daemons, peer, local, wire):
    client = await (await daemons()).client()
    await client.call("subscribe", url=peer.url)
    await client.raw(send_line(peer.url, f"[{local}]") + b"\n")
    link = await peer.session()
    await link.expect(f'42["e",{wire}]')
    await link.text(f'42["e",{wire}]')
    await client.event()
    assert f'"args":[{local}]'.encode() in client.lines[-1]


@pytest.mark.parametrize("text", ["****", "AAA", "AA=A", "A", "AAAA====", "AA==AA==", " AAAA", "AA\\nAA", "AB==", "-_-_"])
async def test_binary_that_is_no_base64_is_refused(daemons, peer, text):
    client = await (await daemons()).client()
    reply = await client.exchange(send_line(peer.url, f'[{{"$bin":"{text}"}}]'))
    assert reply["error"]["data"]["type"] == "InvalidParams"


async def test_ten_attachments_are_carried_and_eleven_are_refused(daemons, chat):
    client = await (await daemons()).client()
    blobs = [b64(bytes([number])) for number in range(11)]
    assert (await client.call("request", url=chat.url, event="echo", args=blobs[:10]))["args"] == blobs[:10]
    error = await client.fails("InvalidParams", "request", url=chat.url, event="echo", args=blobs)
    assert "10" in error.message
    assert (await chat.counters())["links_ever"] == 1


async def test_the_limit_of_attachments_can_be_configured(daemons, chat):
    daemon = await daemons({"defaults": {"attachments": 2}})
    client = await daemon.client()
    await client.call("request", url=chat.url, event="echo", args=[b64(b"a"), b64(b"b")])
    await client.fails("InvalidParams", "request", url=chat.url, event="echo", args=[b64(b"a")] * 3)


async def test_a_message_over_the_servers_limit_is_refused_with_limit_and_size(daemons, servers):
    server = await servers("eio4", "--max-payload", 2000)
    daemon = await daemons()
    client = await daemon.connected(url=server.url)
    error = await client.fails("PayloadTooLarge", "request", url=server.url, event="echo", args=["x" * 2000])
    assert error.data["limit"] == 2000 and error.data["size"] > 2000
    assert (await client.call("request", url=server.url, event="echo", args=["x" * 1900]))["args"] == ["x" * 1900]
    assert (await server.counters())["links_ever"] == 1


async def test_an_attachment_over_the_servers_limit_is_refused_too(daemons, servers):
    server = await servers("eio4", "--max-payload", 2000)
    daemon = await daemons()
    client = await daemon.connected(url=server.url)
    await client.fails("PayloadTooLarge", "request", url=server.url, event="echo", args=[b64(b"x" * 2001)])
    await client.call("request", url=server.url, event="echo", args=[b64(b"x" * 1990)])
    assert (await server.counters())["links_ever"] == 1


async def test_a_message_exactly_at_the_servers_limit_passes(daemons, peer):
    client = await (await daemons()).client()
    waiting = client.post("wait", url=peer.url, state="connected", timeout=5000)
    link = await peer.session(payload=100)
    await client.result(waiting)
    fill = 100 - len('420["e",""]')
    pending = client.post("request", url=peer.url, event="e", args=["x" * fill])
    await link.expect(f'420["e","{"x" * fill}"]')
    await link.text("430[]")
    await client.result(pending)
    error = await client.fails("PayloadTooLarge", "request", url=peer.url, event="e", args=["x" * (fill + 1)])
    assert (error.data["limit"], error.data["size"]) == (100, 101)


async def test_a_queued_send_too_large_for_the_server_is_dropped_and_the_rest_goes_on(daemons, peer):
    daemon = await daemons()
    client = await daemon.client()
    await client.call("send", url=peer.url, event="e", args=["x" * 500])
    pending = client.post("request", url=peer.url, event="r", args=["x" * 500])
    await client.call("send", url=peer.url, event="small")
    link = await peer.session(payload=100)
    await link.expect('42["small"]')
    await client.failure(pending, "PayloadTooLarge")


async def test_an_event_of_a_megabyte_passes_both_ways(daemons, servers):
    server = await servers("eio4", "--max-payload", 4_000_000)
    daemon = await daemons({"limits": {"line": "4MiB"}})
    client = await daemon.connected(url=server.url)
    text = "é" * 500_000
    assert (await client.call("request", url=server.url, event="echo", args=[text]))["args"] == [text]


async def test_an_event_over_the_line_limit_is_a_gap_of_one_and_the_link_lives(daemons, peer):
    daemon = await daemons({"limits": {"line": "64KiB"}})
    client = await daemon.client()
    await client.call("subscribe", url=peer.url)
    link = await peer.session()
    await link.text('42["e",1]', f'42["e","{"x" * 70_000}"]', '42["e",3]')
    first = await client.event()
    method, gap = await client.note()
    assert (method, gap["reason"], gap["count"]) == ("gap", "too_large", 1)
    assert gap["from"] == gap["to"] == first["seq"] + 1
    last = await client.event()
    assert (last["args"], last["seq"]) == ([3], first["seq"] + 2)


async def test_text_of_many_alphabets_arrives_unchanged(daemons, server):
    client = await (await daemons()).client()
    text = ["日本語", "Привет", "naïve – “quotes”", "😀👩‍👩‍👧", "\u0000\u001f", "\\\"/"]
    assert (await client.call("request", url=server.url, event="echo", args=text))["args"] == text


async def test_a_number_that_a_server_makes_infinite_comes_back_as_null_and_the_link_stays(daemons, server):
    daemon = await daemons()
    client = await daemon.connected(url=server.url)
    await client.call("subscribe", url=server.url)
    links = (await server.counters())["links_ever"]
    # Python reads it as infinity, and writes that as `Infinity`.
    await client.raw(send_line(server.url, '[1e999,"NaN",{"x":[-1e999]}]', '"say"', "request") + b"\n")
    (event,) = await client.events(1)
    assert (event["event"], event["args"]) == ("said", [None, "NaN", {"x": [None]}])
    await server.emit("text", "after")
    assert (await client.events(1))[0]["args"] == ["after"]
    assert (await server.counters())["links_ever"] == links
