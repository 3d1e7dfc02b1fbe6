"""Plain WebSockets: no protocol above, against the server of the `websockets` package and peers that misbehave."""

import asyncio
import json
import ssl

import pytest
import websockets

from patience import SOON, within
from scripted import CLOSE, TEXT, frame


class Peer:
    """A WebSocket server that echoes when it is told to and keeps what it was sent."""

    def __init__(self, **options):
        self.options = options
        self.received = asyncio.Queue()
        self.links = asyncio.Queue()
        self.echoes = False

    async def start(self):
        self.server = await websockets.serve(self._serve, "127.0.0.1", 0, max_size=None, **self.options)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def _serve(self, link):
        await self.links.put(link)
        async for message in link:
            await self.received.put(message)
            if self.echoes:
                await link.send(message)

    async def link(self):
        return await within(self.links.get(), "a WebSocket")

    async def message(self):
        return await within(self.received.get(), "a message")

    @property
    def url(self):
        return f"raw+{'wss' if 'ssl' in self.options else 'ws'}://127.0.0.1:{self.port}"

    async def close(self):
        self.server.close()
        await self.server.wait_closed()


@pytest.fixture
async def peers():
    """Makes plain WebSocket servers: `await peers(…options of websockets.serve)`."""
    made = []

    async def make(**options):
        peer = await Peer(**options).start()
        made.append(peer)
        return peer

    yield make
    for peer in made:
        await peer.close()


async def subscribed(daemon, peer, **more):
    client = await daemon.client()
    await client.call("subscribe", url=peer.url, state=True, **more)
    await client.state_until("connected")
    return client, await peer.link()


@pytest.mark.parametrize("text, argument", [
    ("hello", "hello"), ('{"a":[1,null]}', {"a": [1, None]}), ("3", 3), ('"quoted"', "quoted"), ("", ""),
    ("{broken", "{broken"), ("é 😀", "é 😀"), ("[1,\n2]", [1, 2]),
])
async def test_a_text_is_one_event_with_one_argument(daemons, peers, text, argument):
    peer = await peers()
    client, link = await subscribed(await daemons(), peer)
    await link.send(text)
    event = await client.event()
    assert event["event"] == "message" and event["args"] == [argument]


async def test_binary_is_marked_in_both_directions(daemons, peers):
    peer = await peers()
    peer.echoes = True
    client, link = await subscribed(await daemons(), peer)
    await client.call("send", url=peer.url, event="message", args=[{"$bin": "AAH/"}])
    assert await peer.message() == b"\x00\x01\xff"
    assert (await client.event())["args"] == [{"$bin": "AAH/"}]


@pytest.mark.parametrize("argument, text", [
    ("hello", "hello"), ('"quoted"', '"quoted"'), (3, "3"), ({"a": [1, None]}, '{"a": [1, null]}'), (None, "null"),
    ("", ""), ("é", "é"),
])
async def test_one_argument_is_one_text(daemons, peers, argument, text):
    peer = await peers()
    client = await (await daemons()).client()
    await client.call("send", url=peer.url, event="message", args=[argument], delivery="sent")
    assert await peer.message() == text


@pytest.mark.parametrize("params, words", [
    ({"event": "chat", "args": ["x"]}, "send `message` with one argument"),
    ({"event": "message", "args": []}, "exactly one argument"),
    ({"event": "message", "args": [1, 2]}, "exactly one argument"),
    ({"event": "message", "args": ["x"], "kwargs": {}}, "kwargs"),
    ({"event": "message", "args": ["x"], "delivery": "acked"}, "no answers"),
    ({"event": "message", "args": ["x"], "retries": 2}, "no answers"),
    ({"event": "message", "args": ["x"], "namespace": "/x"}, "namespace"),
    ({"event": "message", "args": ["x"], "auth": {"a": 1}}, "auth"),
])
async def test_what_cannot_be_said_is_refused_with_advice(daemons, peers, params, words):
    peer = await peers()
    error = await (await (await daemons()).client()).fails("InvalidParams", "send", url=peer.url, **params)
    assert words in error.message, error.message


async def test_a_request_says_what_to_do_instead(daemons, peers, ctl):
    peer = await peers()
    daemon = await daemons()
    error = await (await daemon.client()).fails("InvalidParams", "request", url=peer.url, event="message", args=["x"])
    assert "use `send`" in error.message
    outcome = await ctl(daemon, "request", peer.url, "message", "x")
    assert outcome.code == 65


async def test_path_query_headers_and_subprotocol_are_the_requests(daemons, peers):
    peer = await peers(subprotocols=["b", "c"])
    daemon = await daemons({"upstream": {"feed": {
        "url": f"{peer.url}/live?v=1", "query": {"k": "1 2"}, "headers": {"X-Team": "a"},
        "websocket": {"subprotocols": ["a", "b"]}}}})
    await daemon.connected(upstream="feed")
    link = await peer.link()
    assert link.request.path == "/live?k=1%202&v=1" and link.request.headers["X-Team"] == "a"
    assert link.subprotocol == "b"
    shown = await daemon.connection(upstream="feed")
    assert shown["kind"] == "websocket" and shown["namespace"] == "/" and shown["transport"] == "websocket"


async def test_a_server_that_chooses_no_subprotocol_is_incompatible(daemons, peers):
    peer = await peers()
    daemon = await daemons({"upstream": {"feed": {"url": peer.url, "websocket": {"subprotocols": ["a"]}}}})
    await (await daemon.client()).call("send", upstream="feed", event="message", args=["x"])
    await daemon.until(lambda status: status["connections"][0]["reason"] == "incompatible", "the reason incompatible")


async def test_two_urls_that_differ_in_the_path_are_two_connections(daemons, peers):
    peer = await peers()
    daemon = await daemons()
    client = await daemon.client()
    await client.call("subscribe", url=peer.url + "/a")
    await client.call("subscribe", url=peer.url + "/b")
    paths = {(await peer.link()).request.path, (await peer.link()).request.path}
    assert paths == {"/a", "/b"} and len((await daemon.status())["connections"]) == 2


async def test_large_messages_pass_compressed(daemons, peers):
    peer = await peers()
    peer.echoes = True
    daemon = await daemons()
    client, _ = await subscribed(daemon, peer)
    text = "x" * 900_000
    await client.call("send", url=peer.url, event="message", args=[text])
    assert (await client.event())["args"] == [text]
    assert (await daemon.connection())["compression"] is True


async def test_tls_is_verified(daemons, peers, authority):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(authority / "server.pem", authority / "server.key")
    peer = await peers(ssl=context)
    peer.echoes = True
    daemon = await daemons({"upstream": {"feed": {"url": peer.url, "tls": {"ca": str(authority / "ca.pem")}}}})
    client = await daemon.client()
    await client.call("subscribe", upstream="feed")
    await client.call("send", upstream="feed", event="message", args=["x"])
    assert (await client.event())["args"] == ["x"]
    assert (await daemon.connection())["tls"] == "TLSv1.3"


async def test_what_was_sent_during_an_outage_arrives_in_order(daemons, peers):
    peer = await peers()
    daemon = await daemons({"upstream": {"feed": {"url": peer.url}}})
    client, link = await daemon.connected(upstream="feed"), await peer.link()
    await link.close(1001)
    await daemon.until(lambda status: status["connections"][0]["state"] == "disconnected", "the end of the link")
    for number in range(5):
        await client.call("send", upstream="feed", event="message", args=[number], delivery="durable")
    assert [await peer.message() for _ in range(5)] == ["0", "1", "2", "3", "4"]


async def test_a_server_that_answers_no_ping_is_lost(daemons, scripted):
    upstream = await scripted()
    daemon = await daemons({"upstream": {"feed": {
        "url": f"raw+ws://127.0.0.1:{upstream.port}", "heartbeat": {"interval": "100ms", "timeout": "200ms"}}}})
    client = await daemon.client()
    await client.call("subscribe", upstream="feed", state=True)
    link = await upstream.link()
    await link.upgrade()
    await client.state_until("connected")
    assert (await client.state_until("disconnected"))[-1]["reason"] == "heartbeat"


@pytest.mark.parametrize("data, reason, words", [
    (frame(TEXT, b"\xff\xfe"), "protocol", "UTF-8"),
    (frame(TEXT, b"x" * 2000), "too_large", "1024"),
    (frame(CLOSE, b"\x03\xf3going"), "closed", "1011"),
    (frame(TEXT, b"x", reserved=4), "protocol", ""),
    (b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", "http", "400"),
    (b"", "closed", ""),
], ids=["utf8", "huge", "close", "reserved", "http", "gone"])
async def test_a_server_that_breaks_the_protocol_loses_its_link(daemons, scripted, data, reason, words):
    upstream = await scripted()
    daemon = await daemons({"upstream": {"feed": {
        "url": f"raw+ws://127.0.0.1:{upstream.port}", "message_limit": "1KiB", "compression": {"enabled": False}}}})
    client = await daemon.client()
    await client.call("subscribe", upstream="feed", state=True)
    link = await upstream.link()
    await link.upgrade()
    link.writer.write(data)
    if not data:
        link.writer.transport.abort()
    down = (await client.state_until("disconnected"))[-1]
    assert down["reason"] == reason and words in down["detail"], down
    link = await upstream.link()
    await link.upgrade()
    await client.state_until("connected")
    link.writer.write(frame(TEXT, b"again"))
    assert (await client.event())["args"] == ["again"]


async def test_a_page_is_no_websocket(daemons, scripted):
    upstream = await scripted()
    daemon = await daemons()
    client = await daemon.client()
    await client.call("subscribe", url=f"raw+ws://127.0.0.1:{upstream.port}/nowhere", state=True)
    link = await upstream.link()
    await link.read_request()
    link.writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno")
    down = (await client.state_until("disconnected"))[-1]
    assert down["reason"] == "http" and down["status"] == 404


async def test_doctor_and_trace_know_it(daemons, peers, ctl):
    peer = await peers()
    peer.echoes = True
    daemon = await daemons()
    outcome = await ctl(daemon, "doctor", peer.url)
    assert outcome.code == 0, outcome
    assert [json.loads(line)["step"] for line in outcome.out.splitlines()] == [
        "name", "tcp", "proxy", "tls", "handshake", "auth"]
    client, _ = await subscribed(daemon, peer)
    await client.call("trace", url=peer.url)
    await client.call("send", url=peer.url, event="message", args=["hello"])
    notes = [(await client.note("trace", seconds=SOON))[1] for _ in range(2)]
    assert [(one["direction"], one["layer"], one["text"]) for one in notes] == [
        ("out", "websocket", "EVENT message (1 arg, 5 bytes)"), ("in", "websocket", "EVENT message (1 arg, 5 bytes)")]
