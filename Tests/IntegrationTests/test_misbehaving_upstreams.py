"""Upstreams that do what they should not: each is named by its reason, and none can harm the daemon."""

import asyncio
import random

import pytest

from patience import QUIET, SOON, within
from scripted import BINARY, CONTINUATION, PING, PONG, TEXT, frame

HTTP_OLD = '"The client is using an unsupported version of the Socket.IO or Engine.IO protocols"'


async def hang(link):
    await asyncio.sleep(3600)


async def silent(link):
    await hang(link)


async def close_at_once(link):
    await link.close()


async def close_after_request(link):
    await link.read_request()
    await link.close()


async def not_found(link):
    await link.read_request()
    await link.respond("404 Not Found", "nothing here")


async def server_error(link):
    await link.read_request()
    await link.respond("503 Service Unavailable")


async def unauthorized(link):
    await link.read_request()
    await link.respond("401 Unauthorized", '"no"')


async def redirect(link):
    await link.read_request()
    await link.respond("302 Found", "", "Location: http://127.0.0.1:1/\r\n")


async def html(link):
    await link.read_request()
    await link.respond("200 OK", "<html>Welcome</html>", "Content-Type: text/html\r\n")


async def no_http(link):
    await link.read_request()
    await link.raw("220 smtp.example ESMTP\r\n")
    await hang(link)


async def endless_head(link):
    await link.read_request()
    while not link.writer.is_closing():
        await link.raw("X-Filler: " + "x" * 1000 + "\r\n")


async def bad_request(link):
    await link.read_request()
    await link.respond("400 Bad Request", HTTP_OLD)


async def upgraded_then_400(link):
    await link.upgrade()
    await link.raw("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-type: text/html\r\nContent-Length: 28\r\n\r\n"
                   "Unsupported protocol version")
    await hang(link)


async def wrong_accept(link):
    await link.upgrade("bm90IHRoZSBrZXkgYXQgYWxs")
    await link.open()
    await hang(link)


async def no_accept(link):
    await link.read_request()
    await link.raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
    await hang(link)


async def silent_after_upgrade(link):
    await link.upgrade()
    await hang(link)


async def silent_after_open(link):
    await link.upgrade()
    await link.open()
    await hang(link)


async def close_after_upgrade(link):
    await link.upgrade()
    await link.close()


async def close_after_open(link):
    await link.upgrade()
    await link.open()
    await link.receive()
    await link.close()


async def websocket_close_after_open(link):
    await link.upgrade()
    await link.open()
    await link.receive()
    await link.finish(1000)
    await hang(link)


def first_packet(text):
    async def script(link):
        await link.upgrade()
        await link.text(text)
        await hang(link)
    return script


def connect_reply(text):
    async def script(link):
        await link.upgrade()
        await link.open()
        await link.receive()
        await link.text(text)
        await hang(link)
    return script


HANDSHAKES = {
    "silent after TCP": (silent, {"timeout"}),
    "closes at once": (close_at_once, {"closed", "http"}),
    "closes after the request": (close_after_request, {"closed", "http"}),
    "404": (not_found, {"http"}),
    "503": (server_error, {"http"}),
    "401": (unauthorized, {"http"}),
    "302": (redirect, {"http"}),
    "200 with a page": (html, {"http"}),
    "no HTTP at all": (no_http, {"http", "protocol"}),
    "an endless head": (endless_head, {"http", "protocol", "too_large", "timeout"}),
    "400 to both revisions": (bad_request, {"incompatible"}),
    "101 and then 400": (upgraded_then_400, {"incompatible"}),
    "a wrong accept value": (wrong_accept, {"http", "protocol"}),
    "no accept value": (no_accept, {"http", "protocol"}),
    "silent after 101": (silent_after_upgrade, {"timeout"}),
    "silent after open": (silent_after_open, {"timeout"}),
    "closes after 101": (close_after_upgrade, {"closed"}),
    "closes after open": (close_after_open, {"closed"}),
    "a WebSocket close after open": (websocket_close_after_open, {"closed"}),
    "an open packet that is no JSON": (first_packet("0{"), {"protocol"}),
    "an open packet without sid": (first_packet('0{"upgrades":[],"pingInterval":25000,"pingTimeout":20000}'), {"protocol"}),
    "an open packet without intervals": (first_packet('0{"sid":"x"}'), {"protocol"}),
    "an open packet with a negative interval": (
        first_packet('0{"sid":"x","upgrades":[],"pingInterval":-1,"pingTimeout":20000,"maxPayload":100}'), {"protocol"}),
    "an open packet with an absurd interval": (
        first_packet('0{"sid":"x","upgrades":[],"pingInterval":1e999,"pingTimeout":20000,"maxPayload":100}'),
        {"protocol"}),
    "a message instead of open": (first_packet('42["e"]'), {"protocol"}),
    "an empty first packet": (first_packet(""), {"protocol"}),
    "a CONNECT without sid": (connect_reply("40"), {"protocol", "incompatible"}),
    "a CONNECT that is no object": (connect_reply('40["x"]'), {"protocol"}),
    "refused with a message": (connect_reply('44{"message":"go away","data":{"code":1}}'), {"refused"}),
    "refused with a string": (connect_reply('44"go away"'), {"refused"}),
    "refused with a list": (connect_reply('44["go away",{"code":1}]'), {"refused"}),
    "refused without a message": (connect_reply('44{"code":1}'), {"refused"}),
    "refused without a word": (connect_reply("44"), {"refused", "protocol"}),
    "refused with a broken word": (connect_reply("44{"), {"refused", "protocol"}),
}


@pytest.mark.parametrize("name", HANDSHAKES)
async def test_a_handshake_that_goes_wrong_is_named_by_its_reason(daemons, peer, name):
    peer.script, reasons = HANDSHAKES[name]
    # Short only where it is waited for: a busy machine may need longer for the others.
    daemon = await daemons({"defaults": {"handshake": "300ms" if "timeout" in reasons else "5s"}})
    client = await daemon.client()
    await client.call("subscribe", url=peer.url, state=True)
    state = (await client.state_until("disconnected"))[-1]
    assert state["reason"] in reasons, state
    assert state["detail"] and "\n" not in state["detail"]
    if reasons == {"refused"} and "without" not in name:
        assert "go away" in state["detail"]
    if name[:3] in ("404", "503", "401", "302", "200"):
        assert str(name[:3]) in str(state.get("status", "")) + state["detail"]
    connection = await daemon.connection()
    assert connection["reason"] in reasons and connection["state"] != "connected"
    await client.call("ping")


async def test_a_script_that_ends_well_still_connects_after_many_that_did_not(daemons, peer):
    daemon = await daemons({"defaults": {"handshake": "200ms", "reconnect": {
        "base": "10ms", "cap": "20ms", "refused_base": "10ms", "refused_cap": "20ms"}}})
    scripts = iter([script for script, _ in HANDSHAKES.values() if script is not endless_head])

    async def one_after_the_other(link):
        script = next(scripts, None)
        if script:
            return await script(link)
        await link.session()
        await link.text('42["finally"]')
        await hang(link)

    peer.script = one_after_the_other
    client = await daemon.client()
    await client.call("subscribe", url=peer.url)
    method, params = await client.note("event", seconds=3 * SOON)
    assert params["event"] == "finally"


async def test_a_name_that_does_not_resolve_is_unreachable(daemons):
    client = await (await daemons()).client()
    error = await client.fails("UpstreamDown", "request", url="http://no-such-host.invalid", event="e", no_queue=True)
    assert error.data["reason"] == "unreachable" and error.data["detail"]


async def test_a_server_of_the_other_revision_is_redialled_at_once(daemons, peer):
    daemon = await daemons({"defaults": {"reconnect": {"base": "1h", "cap": "1h"}}})
    client = await daemon.client()
    await client.call("subscribe", url=peer.url, state=True)
    link = await peer.link()
    assert (await link.read_request()).query["EIO"] == "4"
    await link.respond("400 Bad Request", HTTP_OLD)
    link = await peer.link()
    assert (await link.read_request()).query["EIO"] == "3"
    await link.upgrade()
    await link.open(payload=None)
    await link.text("40")
    assert [one["state"] for one in await client.state_until("connected")] == ["connected"]
    assert (await daemon.connection())["protocol"] == {"engineio": 3, "socketio": 4}
    await client.call("send", url=peer.url, event="e")
    await link.expect('42["e"]')


async def test_an_old_server_that_ignores_the_revision_is_recognised(daemons, peer):
    daemon = await daemons()
    client = await daemon.client()

    async def old(link):
        await link.upgrade()
        await link.open(payload=None)
        await link.text("40")
        await hang(link)

    peer.script = old
    await client.call("subscribe", url=peer.url)
    status = await daemon.until(lambda s: s["connections"][0]["state"] == "connected", "the connection")
    assert status["connections"][0]["protocol"] == {"engineio": 3, "socketio": 4}


async def test_an_old_server_is_pinged_by_the_client(daemons, peer):
    client = await (await daemons()).client()
    await client.call("subscribe", url=peer.url)
    link = await peer.link()
    await link.read_request()
    await link.respond("400 Bad Request", HTTP_OLD)
    link = await peer.link()
    await link.upgrade()
    await link.open(payload=None, interval=100, timeout=2_000)
    await link.text("40")
    for _ in range(3):
        await link.expect("2")
        await link.text("3")
    await link.expect("2")
    await link.until_closed()


async def test_the_request_line_is_what_servers_expect(daemons, peer):
    client = await (await daemons()).client()
    await client.call("subscribe", url=peer.url + "/chat?token=a%20b")
    request = await (await peer.link()).read_request()
    assert (request.method, request.path) == ("GET", "/socket.io/")
    assert request.query == {"EIO": "4", "transport": "websocket", "token": "a b"} | {
        key: value for key, value in request.query.items() if key == "t"}
    assert request.headers["host"] == f"127.0.0.1:{peer.port}"
    assert request.headers["upgrade"].lower() == "websocket" and request.headers["connection"].lower() == "upgrade"


async def test_nothing_is_sent_before_the_namespace_is_accepted(daemons, peer):
    client = await (await daemons()).client()
    await client.call("send", url=peer.url + "/chat", event="early")
    link = await peer.link()
    await link.upgrade()
    await link.open()
    assert (await link.receive()).startswith("40/chat,")
    with pytest.raises(AssertionError):
        await link.receive(QUIET)
    await link.text('40/chat,{"sid":"s"}')
    await link.expect('42/chat,["early"]')


async def test_pings_are_answered_and_a_flood_of_them_too(daemons, peer):
    client = await (await daemons()).client()
    await client.call("subscribe", url=peer.url)
    link = await peer.session()
    await link.text("2")
    await link.expect("3")
    await link.text(*["2"] * 5000, '42["after"]')
    assert (await client.event())["event"] == "after"
    await link.expect(*["3"] * 5000)


async def test_a_silent_server_is_given_up_after_interval_and_timeout(daemons, peer):
    daemon = await daemons()
    client = await daemon.client()
    await client.call("subscribe", url=peer.url, state=True)
    begin = asyncio.get_running_loop().time()
    link = await peer.session(interval=200, timeout=300)
    await client.state_until("connected")
    state = await client.state()
    took = asyncio.get_running_loop().time() - begin
    assert state["reason"] == "heartbeat" and 0.4 <= took <= 5, (state, took)
    await link.until_closed()


async def test_a_frozen_server_is_given_up_and_taken_back(daemons, servers):
    server = await servers("eio4", "--ping-interval", 1, "--ping-timeout", 1)
    daemon = await daemons({"defaults": {"handshake": "1s"}})
    client = await daemon.connected(url=server.url)
    await client.call("subscribe", url=server.url, state=True)
    server.pause()
    assert (await client.state())["reason"] == "heartbeat"
    server.resume()
    await client.state_until("connected")


BREAKS = {
    "garbage UTF-8": [frame(TEXT, b'42["\xff\xfe"]')],
    "a binary message out of the blue": [frame(BINARY, b"surprise")],
    "text between attachments": [
        frame(TEXT, b'452-["e",{"_placeholder":true,"num":0},{"_placeholder":true,"num":1}]'), frame(BINARY, b"a"),
        frame(TEXT, b'42["between"]')],
    "a placeholder out of range": [
        frame(TEXT, b'451-["e",{"_placeholder":true,"num":5}]'), frame(BINARY, b"a")],
    "a placeholder that is no number": [
        frame(TEXT, b'451-["e",{"_placeholder":true,"num":"0"}]'), frame(BINARY, b"a")],
    "too many attachments": [frame(TEXT, b'45999999-["e"]')],
    "attachments without end": [frame(TEXT, b'4599999999999999999999999-["e"]')],
    "attachments without a dash": [frame(TEXT, b'451["e"]')],
    "an unknown Engine.IO packet": [frame(TEXT, b"9x")],
    "an empty text message": [frame(TEXT, b"")],
    "an unknown Socket.IO packet": [frame(TEXT, b"49")],
    "an event that is no array": [frame(TEXT, b'42{"a":1}')],
    "an event without a name": [frame(TEXT, b"42[]")],
    "an event with a reserved name": [frame(TEXT, b'42["connect"]')],
    "an event whose name is an object": [frame(TEXT, b'42[{"a":1}]')],
    "an event that is no JSON": [frame(TEXT, b'42["e",]')],
    "an event that is too deep": [frame(TEXT, b'42["e",' + b"[" * 10_000 + b"]" * 10_000 + b"]")],
    "an acknowledgement of an absurd number": [frame(TEXT, b"4399999999999999999999[1]")],
    "an acknowledgement that is no array": [frame(TEXT, b'430{"a":1}')],
    "a reserved bit": [frame(TEXT, b'42["e"]', reserved=4)],
    "a reserved opcode": [frame(3, b"x")],
    "a control frame that is too long": [frame(PING, b"x" * 126)],
    "a fragmented control frame": [frame(PING, b"x", final=False)],
    "a continuation of nothing": [frame(CONTINUATION, b"x")],
    "a close frame of one byte": [frame(8, b"x")],
}


@pytest.mark.parametrize("name", BREAKS)
async def test_a_broken_message_costs_at_most_the_link(daemons, peer, name):
    daemon = await daemons()
    client = await daemon.client()
    await client.call("subscribe", url=peer.url, state=True, events=["next", "e"])
    link = await peer.session()
    await client.state_until("connected")
    for data in BREAKS[name]:
        await link.raw(data)
    await link.text('42["next"]')

    # Either the link is given up and a new one made, or a gap stands for the one message.
    method, params = await client.note()
    if method == "state":
        assert params["state"] == "disconnected" and params["reason"] in ("protocol", "too_large", "closed"), params
        await link.until_closed()
        link = await peer.session()
        await link.text('42["next"]')
    elif method == "gap":
        assert params["reason"] in ("undecodable", "too_large")
    while method != "event" or params["event"] != "next":
        method, params = await client.note()
    assert (await daemon.connection())["state"] == "connected"


BAD_EVENTS = {
    "a reserved name": [frame(TEXT, b'42/x,["disconnect",1]')],
    "no array": [frame(TEXT, b'42/x,{"a":1}')],
    "no name": [frame(TEXT, b'42/x,[null,"e"]')],
    "no JSON": [frame(TEXT, b'42/x,["e",]')],
    "an absurd acknowledgement id": [frame(TEXT, b'42/x,99999999999999999999["e"]')],
    "no JSON and attachments": [frame(TEXT, b'451-/x,["e",]'), frame(BINARY, b"a")],
    "a placeholder out of range": [
        frame(TEXT, b'451-/x,["e",{"_placeholder":true,"num":5}]'), frame(BINARY, b"a")],
    "a long text that is no JSON": [frame(TEXT, b'42/x,["e","' + b"x" * 300_000 + b'",]')],
}
"""Events of the namespace `/x` that cannot be shown, though it is known whose they are."""


@pytest.mark.parametrize("name", BAD_EVENTS)
async def test_a_bad_event_is_a_gap_in_its_namespace_alone(daemons, peer, name):
    daemon = await daemons()
    client = await daemon.client()
    await client.call("subscribe", url=peer.url, subscription="main")
    link = await peer.session()
    await client.call("subscribe", url=peer.url + "/x", subscription="x")
    await link.expect("40/x,")
    await link.text('40/x,{"sid":"x"}')
    for data in BAD_EVENTS[name]:
        await link.raw(data)
    await link.text('42/x,["next"]', '42["next"]')
    gap = await client.gap("x")
    assert (gap["reason"], gap["count"]) == ("undecodable", 1) and gap["detail"].startswith("the server sent an event")
    assert (await client.event("x"))["event"] == "next" == (await client.event("main"))["event"]
    assert client.notes == []


@pytest.mark.parametrize("answer", ['430{"a":1}', "430", "430[1,]"])
async def test_a_bad_acknowledgement_fails_its_request_alone(daemons, peer, answer):
    client = await (await daemons()).client()
    await client.call("subscribe", url=peer.url)
    link = await peer.session()
    first = client.post("request", url=peer.url, event="a")
    await link.expect('420["a"]')
    second = client.post("request", url=peer.url, event="b")
    await link.expect('421["b"]')
    # The first of them has no id that could be read.
    await link.text("43[1]", answer, "431[2]")
    error = await client.failure(first, "RequestFailed")
    assert error.data["error"] == "undecodable"
    assert (await client.result(second))["args"] == [2]
    assert client.notes == []


async def test_an_attachment_that_never_comes_holds_nothing_up_but_its_link(daemons, peer, scripted):
    other = await scripted()
    client = await (await daemons()).client()
    await client.call("subscribe", url=peer.url)
    await client.call("subscribe", url=other.url)
    link, fine = await peer.session(), await other.session()
    await link.text('451-["e",{"_placeholder":true,"num":0}]')
    await fine.text('42["fine"]')
    assert (await client.event())["event"] == "fine"


async def test_a_message_over_the_limit_ends_the_link_as_too_large(daemons, peer):
    daemon = await daemons({"defaults": {"message_limit": "64KiB"}})
    client = await daemon.client()
    await client.call("subscribe", url=peer.url, state=True)
    link = await peer.session()
    await client.state_until("connected")
    await link.text(f'42["e","{"x" * 70_000}"]')
    state = await client.state()
    assert (state["state"], state["reason"]) == ("disconnected", "too_large")
    await peer.session()


async def test_a_frame_that_announces_an_absurd_length_ends_the_link(daemons, peer):
    daemon = await daemons()
    client = await daemon.client()
    await client.call("subscribe", url=peer.url, state=True)
    link = await peer.session()
    await client.state_until("connected")
    await link.raw(b"\x81\x7f\x7f\xff\xff\xff\xff\xff\xff\xff42")
    assert (await client.state())["reason"] in ("too_large", "protocol")
    assert (await daemon.status())["daemon"]["rss"] < 200 << 20


async def test_fragmented_messages_and_control_frames_between_them_are_legal(daemons, peer):
    client = await (await daemons()).client()
    await client.call("subscribe", url=peer.url)
    link = await peer.session()
    packet = '42["é€😀"]'.encode()
    for index, byte in enumerate(packet):
        await link.raw(frame(CONTINUATION if index else TEXT, bytes([byte]), final=index == len(packet) - 1))
        await link.raw(frame(PING, bytes([index])) + frame(PONG, b"unasked"))
    assert (await client.event())["event"] == "é€😀"


async def test_a_message_may_arrive_byte_by_byte(daemons, peer):
    client = await (await daemons()).client()
    await client.call("subscribe", url=peer.url)
    link = await peer.session()
    for byte in frame(TEXT, b'42["slow",' + b'"' + b"x" * 200 + b'"]'):
        await link.raw(bytes([byte]))
        await asyncio.sleep(0)
    assert (await client.event())["event"] == "slow"


async def test_the_open_packet_may_come_in_the_same_segment_as_the_101(daemons, peer):
    client = await (await daemons()).client()
    await client.call("subscribe", url=peer.url)
    link = await peer.link()
    written = []
    link.raw, raw = (lambda data: _collect(written, data)), link.raw
    await link.upgrade()
    await link.open()
    await raw(b"".join(written))
    link.raw = raw
    await link.accept()
    await link.text('42["e"]')
    await client.event()


async def _collect(parts, data):
    parts.append(data.encode() if isinstance(data, str) else data)


async def test_packets_that_mean_nothing_are_ignored(daemons, peer):
    client = await (await daemons()).client()
    await client.call("subscribe", url=peer.url, state=True)
    link = await peer.session()
    await client.state_until("connected")
    await link.text("6", "3", '42/never-joined,["e"]', "41/never-joined,", '40/never-joined,{"sid":"x"}', '42["e"]')
    method, params = await client.note()
    assert (method, params["event"]) == ("event", "e")


@pytest.mark.parametrize("end, status", [
    (lambda link: link.finish(1000), 1000), (lambda link: link.finish(1009), 1009), (lambda link: link.finish(4001), 4001),
    (lambda link: link.finish(None), None), (lambda link: link.close(), None), (lambda link: link.text("1"), None)])
async def test_a_link_that_the_server_ends_is_closed_and_made_again(daemons, peer, end, status):
    client = await (await daemons()).client()
    await client.call("subscribe", url=peer.url, state=True)
    link = await peer.session()
    await client.state_until("connected")
    await end(link)
    state = await client.state()
    assert (state["state"], state["reason"]) == ("disconnected", "closed")
    if status:
        assert state.get("status", status) == status
    await peer.session()
    await client.state_until("connected")


async def test_a_kick_with_a_payload_is_a_kick(daemons, peer):
    client = await (await daemons()).client()
    await client.call("subscribe", url=peer.url, state=True)
    link = await peer.session()
    await client.state_until("connected")
    await link.text('41{"message":"out"}')
    assert (await client.state())["reason"] in ("kicked", "protocol", "refused")


async def test_a_kicked_namespace_is_joined_again_on_the_same_link(daemons, peer):
    client = await (await daemons()).client()
    await client.call("subscribe", url=peer.url, subscription="root")
    link = await peer.session()
    await client.call("subscribe", url=peer.url + "/chat", subscription="chat")
    await link.accept(namespace="/chat")
    await link.text("41/chat,")
    await link.accept(namespace="/chat", sid="again")
    await link.text('42/chat,["e"]')
    await client.event("chat")


async def test_a_server_that_does_not_read_holds_up_nobody_else(daemons, peer, chat):
    daemon = await daemons()
    client = await daemon.connected(url=chat.url)
    await client.call("subscribe", url=peer.url)
    link = await peer.session()
    link.writer.transport.pause_reading()
    for _ in range(200):
        client.post("send", url=peer.url, event="e", args=["x" * 100_000])
    assert (await client.call("request", url=chat.url, event="echo", args=[1]))["args"] == [1]
    link.writer.transport.resume_reading()
    for _ in range(200):
        assert (await link.receive()).startswith('42["e","x')


SEEDS = [
    '2', '3', '6', '1', '0{"sid":"x"}', '40', '40{"sid":"x"}', '40/chat,{"sid":"y"}', '41', '41/chat,', '42["e",1]',
    '42/chat,["e",{"a":[1,2]}]', '4217["ask"]', '430[1]', '43/chat,0[]', '44{"message":"no"}', '44/chat,"no"',
    '451-["e",{"_placeholder":true,"num":0}]', '4612-/chat,3[{"_placeholder":true,"num":1},null]', 'bAAAA', '4', '']


def mutated(source):
    """A packet that is almost right."""
    packet = bytearray(source.choice(SEEDS).encode())
    for _ in range(source.choice([0, 0, 1, 1, 2, 5])):
        where = source.randrange(len(packet) + 1)
        packet[where:where + source.choice([0, 0, 1, 3])] = source.choice(
            [b"", b"4", b"-", b",", b"/", b'"', b"[", b"{", b"]", b"9" * 20, b"\\u0000", b"\xff", b"\xc3\xa9", b"null"])
    return bytes(packet)


@pytest.mark.parametrize("seed", range(4))
async def test_almost_right_packets_never_harm_the_daemon(daemons, peer, seed):
    source = random.Random(seed)
    daemon = await daemons({"defaults": {"reconnect": {"base": "10ms", "cap": "10ms", "refused_base": "10ms",
                                                       "refused_cap": "10ms"}}})
    rounds = 0

    async def babble(link):
        nonlocal rounds
        rounds += 1
        if rounds > 150:
            peer.script = None
            return peer.links.put_nowait(link)
        if source.random() < 0.8:
            await link.session()
        else:
            await link.upgrade()
        for _ in range(20):
            kind = BINARY if source.random() < 0.2 else TEXT
            await link.raw(frame(kind, mutated(source)))
        await link.finish()
        await link.reader.read()

    peer.script = babble
    client = await daemon.client()
    for namespace in ("/", "/chat"):
        await client.call("subscribe", url=peer.url, namespace=namespace, subscription=namespace, answer=True)
    link = await within(peer.links.get(), "the end of the babble", 3 * SOON)
    await link.upgrade()
    await link.open()
    assert (await link.receive()).startswith("40")
    assert await (await daemon.client()).call("ping") == {}
