"""JSON lines over TCP and TLS: a server with login, heartbeat and request ids, and servers that break every rule."""

import asyncio
import json
import ssl

import pytest

from lines_server import AUTH, PASSWORD, PROFILE, LinesServer
from local_client import CallError


@pytest.fixture
async def lines():
    """A chat server of JSON lines."""
    server = await LinesServer().start()
    yield server
    await server.close()


def upstream(server, **more):
    return {"upstream": {"chat": {"url": server.url, "auth": AUTH, "lines": PROFILE, **more}}}


def quick(**heartbeat):
    return {**PROFILE, "heartbeat": {**PROFILE["heartbeat"], "every": "100ms", **heartbeat}}


# What works

async def test_a_login_for_this_host_does_not_go_through_a_proxy(daemons, lines, proxies):
    proxy = await proxies("http")
    daemon = await daemons(upstream(lines), environment={"all_proxy": proxy.url()})
    client = await daemon.client()
    await client.call("subscribe", upstream="chat", state=True)
    state = (await client.state_until("disconnected"))[-1]
    assert state["reason"] == "auth" and proxy.place in state["detail"]
    assert lines.received == []


async def test_events_come_down_with_all_they_have(daemons, lines):
    client = await (await daemons(upstream(lines))).connected(upstream="chat")
    await client.call("subscribe", upstream="chat", events=["said", "price"])
    lines.emit("price", {"eur": 1.5}, venue="x")
    lines.raw(b'{"type":"said","body":12345678901234567890.50}\r\n{"type":"other"}\n\n{"type":"price"}\n')
    events = await client.events(3)
    assert [one["event"] for one in events] == ["price", "said", "price"]
    assert events[0]["args"] == [{"eur": 1.5}] and events[0]["kwargs"] == {"venue": "x"}
    assert b'"args":[12345678901234567890.50]' in b"".join(client.lines)
    assert events[2]["args"] == [] and "kwargs" not in events[2]


async def test_sends_are_one_line_each_in_order(daemons, lines):
    client = await (await daemons(upstream(lines))).client()
    for number in range(20):
        await client.call("send", upstream="chat", event="note", args=[number])
    await client.call("send", upstream="chat", event="note", args=[{"a": "\n"}], kwargs={"to": "bob"})
    received = await lines.until_received(21, "note")
    assert [one["body"] for one in received[:20]] == list(range(20))
    assert received[20] == {"type": "note", "body": {"a": "\n"}, "to": "bob"}


async def test_requests_find_their_answers_and_errors(daemons, lines, ctl):
    daemon = await daemons(upstream(lines))
    client = await daemon.client()
    pending = [client.post("request", upstream="chat", event="echo", args=[[number]]) for number in range(10)]
    results = [await client.result(one) for one in pending]
    assert [one["args"] for one in results] == [[[number]] for number in range(10)]
    error = await client.fails("RequestFailed", "request", upstream="chat", event="fail")
    assert error.data["error"] == "no.way" and error.data["args"] == [{"code": "no.way", "why": "asked"}]
    said = '{"code":"no.way","why":"asked"}'
    sentence = f"The server answered with the error no.way: {said}"
    outcome = await ctl(daemon, "request", "chat", "fail")
    assert outcome.code == 1 and outcome.err == f"gatewayctl: {sentence}\n"
    outcome = await ctl(daemon, "--json", "request", "chat", "fail")
    assert json.loads(outcome.err) == {
        "error": {"exit": 1, "message": sentence, "error": "no.way", "args": [json.loads(said)]}}


async def test_a_second_answer_is_no_event(daemons, lines):
    client = await (await daemons(upstream(lines))).connected(upstream="chat")
    await client.call("subscribe", upstream="chat")
    assert (await client.call("request", upstream="chat", event="twice"))["args"] == [1]
    (message,) = await lines.until_received(1, "twice")
    lines.raw(json.dumps({"type": "twice", "id": message["id"], "body": 2}).encode() + b"\n")
    lines.emit("after")
    assert (await client.event())["event"] == "after"


async def test_an_answer_that_does_not_come_is_an_ack_timeout(daemons, lines):
    client = await (await daemons(upstream(lines))).connected(upstream="chat")
    await client.fails("AckTimeout", "request", upstream="chat", event="hold", timeout=1_000)
    pending = client.post("request", upstream="chat", event="hold", timeout=60_000)
    await lines.until_received(2, "hold")
    lines.cut()
    await client.failure(pending, "AckLost")


async def test_the_login_carries_the_credentials_and_comes_first(daemons, lines):
    daemon = await daemons(upstream(lines))
    await daemon.connected(upstream="chat")
    assert lines.logins == [AUTH]
    assert json.loads(lines.lines[0]) == {"type": "login", "id": 1, "body": AUTH}
    assert PASSWORD not in daemon.text() + json.dumps(await daemon.status())


async def test_a_refusal_of_many_megabytes_fits_into_a_line(daemons, lines):
    words = "e" + "\u0301" * 1_500_000
    refusal = {"type": "denied", "body": {"reason": words, "more": list(range(1_000_000))}}
    lines.login_answer = json.dumps(refusal, ensure_ascii=False).encode() + b"\n"
    daemon = await daemons(upstream(lines, reconnect={"refused_base": "1h", "refused_cap": "1h"}))
    client = await daemon.client()
    error = await client.fails("UpstreamRefused", "request", upstream="chat", event="echo")
    assert error.data["message"].endswith("\u2026") and error.data["data"] is None
    assert max(map(len, client.lines)) < 16_384
    assert await client.call("ping") == {}
    assert len((await daemon.connection(upstream="chat"))["detail"].encode()) < 4_096


async def test_a_refused_login_is_refused_and_cured_by_new_credentials(daemons, lines, folder):
    secret = folder / "login"
    secret.write_text(json.dumps({"user": "ann", "password": "wrong"}))
    daemon = await daemons({"upstream": {"chat": {
        "url": lines.url, "auth_file": str(secret), "lines": PROFILE,
        "reconnect": {"refused_base": "1h", "refused_cap": "1h"}}}})
    client = await daemon.client()
    error = await client.fails("UpstreamRefused", "request", upstream="chat", event="echo")
    assert error.data["message"] == "wrong password" and error.data["data"] == {"reason": "wrong password"}
    assert (await daemon.connection(upstream="chat"))["reason"] == "refused"
    await client.call("send", upstream="chat", event="note", args=["kept"])
    secret.write_text(json.dumps(AUTH))
    assert (await lines.until_received(1, "note"))[0]["body"] == "kept"


async def test_the_heartbeat_is_kept_in_both_directions(daemons, lines):
    daemon = await daemons(upstream(lines, lines=quick()))
    await daemon.connected(upstream="chat")
    await lines.until(lambda: lines.links[0].pings >= 3, "three pings")
    lines.raw(b'{"type":"ping"}\n')
    await lines.until(lambda: lines.links[0].pongs == 1, "a pong")
    shown = await daemon.connection(upstream="chat")
    assert shown["heartbeat"]["interval"] == 100 and shown["heartbeat"]["timeout"] == 200
    assert shown["rtt"] is not None and shown["kind"] == "lines" and shown["transport"] == "lines"


async def test_misses_end_the_link_and_it_comes_back_every_time(daemons, lines):
    daemon = await daemons(upstream(lines, lines=quick(misses=3), keep="always"))
    client = await daemon.connected(upstream="chat")
    await client.call("subscribe", upstream="chat", state=True)
    for round in range(3):
        lines.is_deaf = True
        states = await client.state_until("disconnected")
        assert states[-1]["reason"] == "heartbeat"
        lines.is_deaf = False
        await client.state_until("connected")
        assert lines.links_ever >= round + 2


async def test_what_was_sent_during_an_outage_arrives(daemons, lines):
    daemon = await daemons(upstream(lines))
    client = await daemon.connected(upstream="chat")
    await lines.stop()
    await daemon.until(lambda status: status["connections"][0]["state"] != "connected", "the loss to be noticed")
    for number in range(5):
        await client.call("send", upstream="chat", event="note", args=[number], delivery="durable")
    await lines.start()
    assert [one["body"] for one in await lines.until_received(5, "note")] == list(range(5))


async def test_tls_is_verified(daemons, authority):
    server = LinesServer()
    server.ssl = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.ssl.load_cert_chain(authority / "server.pem", authority / "server.key")
    await server.start()
    try:
        daemon = await daemons(upstream(server, tls={"ca": str(authority / "ca.pem")}))
        client = await daemon.client()
        assert (await client.call("request", upstream="chat", event="echo", args=["x" * 100_000]))["args"]
        shown = await daemon.connection(upstream="chat")
        assert shown["tls"] == "TLSv1.3" and shown["verified"] is True and shown["server"] == server.url
        stranger = await daemons(upstream(server))
        await (await stranger.client()).call("send", upstream="chat", event="x")
        await stranger.until(lambda status: status["connections"][0]["reason"] == "tls", "the reason tls")
    finally:
        await server.close()


@pytest.mark.parametrize("kind", ["http", "socks5h"])
async def test_the_way_may_go_through_a_proxy(daemons, lines, proxies, kind):
    proxy = await proxies(kind)
    daemon = await daemons(upstream(lines, proxy=proxy.url()))
    assert (await (await daemon.client()).call("request", upstream="chat", event="echo", args=[1]))["args"] == [1]
    assert (await daemon.connection(upstream="chat"))["proxy"] == proxy.place


async def test_events_have_the_servers_time(daemons, lines):
    lines.skew = 3_600_000
    daemon = await daemons(upstream(lines, lines={**PROFILE, "time": "time"}))
    client = await daemon.connected(upstream="chat")
    await client.call("subscribe", upstream="chat")
    await client.call("request", upstream="chat", event="echo")
    lines.emit("tick")
    event = await client.event()
    assert abs(event["time"] - lines.now()) < 5_000
    assert (await daemon.connection(upstream="chat"))["time"]["source"] == "request"


async def test_doctor_and_trace_know_it(daemons, lines, ctl):
    daemon = await daemons(upstream(lines))
    outcome = await ctl(daemon, "doctor", "chat")
    assert outcome.code == 0, outcome
    steps = [json.loads(line)["step"] for line in outcome.out.splitlines()]
    assert steps == ["name", "tcp", "proxy", "tls", "handshake", "auth"]
    client = await daemon.client()
    await client.call("trace", upstream="chat", payloads=True)
    await client.call("request", upstream="chat", event="echo", args=["x"])
    texts = []
    while not any(text.startswith("ANSWER") for text in texts):
        texts.append((await client.note("trace"))[1]["text"])
    assert texts[0] == f"DIAL {lines.url}" and any(text.startswith("LOGIN login") for text in texts), texts
    assert PASSWORD.encode() not in b"".join(client.lines)


async def test_doctor_tells_a_refused_login(daemons, lines, ctl):
    daemon = await daemons(upstream(lines, auth={"user": "ann", "password": "no"}))
    outcome = await ctl(daemon, "doctor", "chat")
    assert outcome.code == 73 and "wrong password" in outcome.err, outcome


async def test_doctor_says_when_an_open_port_is_all_it_knows(daemons, lines, ctl):
    lines.password = None
    outcome = await ctl(await daemons(), "doctor", lines.url)
    last = [json.loads(line) for line in outcome.out.splitlines()][-1]
    assert outcome.code == 0 and (last["code"], last["verdict"]) == ("handshake.unasked", "warning"), outcome
    assert "The port is open, and that is all that is known" in last["seen"] and "gatewayctl request" in last["advice"]


async def test_a_url_alone_is_enough_without_login(daemons, lines):
    lines.password = None
    client = await (await daemons()).client()
    assert (await client.call("request", url=lines.url, event="echo", args=[1]))["args"] == [1]
    await client.fails("InvalidParams", "request", url="tcp://127.0.0.1", event="echo")
    await client.fails("InvalidParams", "request", url=lines.url, namespace="/x", event="echo")


# What is broken

@pytest.mark.parametrize("data, reason, words", [
    (b"hello\n", "protocol", "no JSON object"),
    (b'{"type":"a"\n', "protocol", "no JSON object"),
    (b'{"type":"\xff"}\n', "protocol", "not UTF-8"),
    (b"HTTP/1.1 400 Bad Request\r\n\r\n", "protocol", "no JSON object"),
    (b'{"type":"' + b"x" * 2000 + b'"}\n', "too_large", "1024 bytes"),
    (b"x" * 2000, "too_large", "1024 bytes"),
    (b"[1]\n", "protocol", "no JSON object"),
], ids=["text", "broken", "utf8", "http", "huge", "endless", "array"])
async def test_a_server_that_breaks_the_protocol_loses_its_link(daemons, lines, data, reason, words):
    daemon = await daemons(upstream(lines, message_limit="1KiB"))
    client = await daemon.connected(upstream="chat")
    await client.call("subscribe", upstream="chat", state=True)
    lines.raw(data)
    (down,) = [one for one in await client.state_until("disconnected") if one["state"] == "disconnected"]
    assert down["reason"] == reason and words in down["detail"], down
    await client.state_until("connected")


@pytest.mark.parametrize("line", [
    b'{"type":"a","type":"b"}\n', b'{"body":1}\n', b"{}\n", b'{"type":"a","body":' + b"[" * 80 + b"]" * 80 + b"}\n"])
async def test_what_cannot_be_shown_is_a_gap_and_the_link_lives(daemons, lines, line):
    client = await (await daemons(upstream(lines))).connected(upstream="chat")
    await client.call("subscribe", upstream="chat")
    lines.raw(line)
    gap = await client.gap()
    assert gap["reason"] == "undecodable" and ("type" in gap["detail"] or "deep" in gap["detail"])
    lines.emit("after")
    assert (await client.event())["event"] == "after"


@pytest.mark.parametrize("answer, reason", [
    (b'{"type":"welcome"\n', "protocol"), (b"", "timeout"), (b'{"type":"something","id":7}\n', "timeout"),
    (b'{"type":"denied"}\n', "refused"), (b'{"type":"login","id":1,"error":"full"}\n', "refused"),
    (b"x" * 5000, "too_large"),
], ids=["broken", "silent", "other", "denied", "error", "endless"])
async def test_a_wrong_answer_to_the_login_has_its_own_reason(daemons, lines, answer, reason):
    lines.login_answer = answer
    daemon = await daemons(upstream(lines, handshake="300ms", message_limit="1KiB"))
    await (await daemon.client()).call("send", upstream="chat", event="x")
    await daemon.until(lambda s: s["connections"][0]["reason"] == reason, reason)


async def test_a_server_that_half_closes_is_closed(daemons, lines):
    client = await (await daemons(upstream(lines))).connected(upstream="chat")
    await client.call("subscribe", upstream="chat", state=True)
    lines.raw(b'{"type":"half')
    lines.half_close()
    down = (await client.state_until("disconnected"))[-1]
    assert down["reason"] == "closed" and "middle of a line" in down["detail"]
    await client.state_until("connected")


async def test_bytes_may_come_one_by_one(daemons, lines):
    client = await (await daemons(upstream(lines))).connected(upstream="chat")
    await client.call("subscribe", upstream="chat")
    for byte in b'{"type":"slow","body":"\xc3\xa9"}\r\n':
        lines.raw(bytes([byte]))
        await asyncio.sleep(0)
    assert (await client.event())["args"] == ["é"]


async def test_a_server_that_reads_nothing_makes_nobody_hoard(daemons, lines):
    daemon = await daemons({**upstream(lines, lines={**PROFILE, "heartbeat": {}}), "limits": {"send_queue_bytes": "1MiB"}})
    client = await daemon.connected(upstream="chat")
    lines.links[0].writer.transport.pause_reading()
    failures = 0
    for _ in range(400):
        try:
            await client.call("send", upstream="chat", event="x", args=["y" * 100_000], no_queue=True)
        except CallError as error:
            assert error.type == "QueueFull", error
            failures += 1
    assert failures > 0
