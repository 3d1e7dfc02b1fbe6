"""An upstream whose every byte is decided by the test.

It speaks TCP, HTTP and WebSocket by hand, so that it can also do what no real server would.
"""

import asyncio
import base64
import contextlib
import hashlib
import json
import socket
import struct
import time
import urllib.parse

from patience import SOON, within

WEBSOCKET_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10


class Closed(Exception):
    """The other side closed the link: with this WebSocket code, or None where it just went."""

    def __init__(self, code=None):
        super().__init__(f"closed with {code}")
        self.code = code


def frame(opcode, payload, final=True, reserved=0):
    """A server's frame: never masked."""
    head = bytes([(0x80 if final else 0) | reserved << 4 | opcode])
    if len(payload) < 126:
        head += bytes([len(payload)])
    elif len(payload) < 65536:
        head += bytes([126]) + struct.pack(">H", len(payload))
    else:
        head += bytes([127]) + struct.pack(">Q", len(payload))
    return head + payload


BASE64_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"
BEGIN = time.time_ns() // 1_000_000


def offset(number):
    """An offset of connection state recovery, as the adapter in memory writes it: the time `number` milliseconds after the
    tests began, in base 64. A word that says another time than about now is an argument for the daemon."""
    made, digits = BEGIN + number, ""
    while made:
        made, digit = divmod(made, 64)
        digits = BASE64_DIGITS[digit] + digits
    return digits


class Request:
    """The head of an HTTP request."""

    def __init__(self, head):
        lines = head.decode("latin-1").split("\r\n")
        self.method, self.target, self.version = lines[0].split(" ")
        self.headers = {}
        for line in lines[1:]:
            if line:
                name, _, value = line.partition(":")
                self.headers[name.strip().lower()] = value.strip()
        parts = urllib.parse.urlsplit(self.target)
        self.path = parts.path
        self.query = dict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))


class Link:
    """One TCP connection that gatewayd opened."""

    def __init__(self, reader, writer):
        self.reader = reader
        self.writer = writer
        self.request = None

    # Stages of a handshake

    async def read_request(self):
        """The request's head."""
        try:
            self.request = Request(await within(self.reader.readuntil(b"\r\n\r\n"), "an HTTP request"))
        except asyncio.IncompleteReadError:
            raise Closed() from None
        return self.request

    async def upgrade(self, key=None, extensions=None, headers=""):
        """Answers the request with 101; `key` lies about the accept value, `extensions` is what is agreed to, `headers`
        are further lines."""
        request = self.request or await self.read_request()
        assert request.headers["upgrade"].lower() == "websocket", request.headers
        assert request.headers["sec-websocket-version"] == "13", request.headers
        key = key or request.headers["sec-websocket-key"]
        accept = base64.b64encode(hashlib.sha1((key + WEBSOCKET_GUID).encode()).digest()).decode()
        await self.raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                       f"Sec-WebSocket-Accept: {accept}\r\n"
                       + (f"Sec-WebSocket-Extensions: {extensions}\r\n" if extensions else "") + headers + "\r\n")

    async def respond(self, status, body="", headers=""):
        """Answers the request with something else."""
        await self.raw(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}Connection: close\r\n\r\n{body}")

    async def open(self, interval=25_000, timeout=20_000, payload=1_000_000, sid="engine-sid", **members):
        """The Engine.IO open packet."""
        packet = {"sid": sid, "upgrades": [], "pingInterval": interval, "pingTimeout": timeout,
                  "maxPayload": payload, **members}
        await self.text("0" + json.dumps({key: value for key, value in packet.items() if value is not None}))

    async def accept(self, sid="socket-sid", namespace=None, **members):
        """Waits for the CONNECT of a namespace and accepts it; returns its auth text."""
        prefix = "40" if namespace is None else f"40{namespace},"
        packet = await self.receive()
        assert packet.startswith(prefix), packet
        await self.text(prefix + json.dumps({"sid": sid, **members}))
        return packet[len(prefix):]

    async def session(self, **members):
        """Every stage of an ordinary Socket.IO 5 handshake."""
        await self.upgrade()
        await self.open(**members)
        await self.accept()
        return self

    # Traffic

    async def raw(self, data):
        self.writer.write(data.encode() if isinstance(data, str) else data)
        with contextlib.suppress(ConnectionError):
            await self.writer.drain()

    async def text(self, *packets):
        """Each packet as one text message, all in one write."""
        await self.raw(b"".join(frame(TEXT, packet.encode()) for packet in packets))

    async def binary(self, payload):
        await self.raw(frame(BINARY, payload))

    async def frame(self):
        """The next frame other than a ping, which is answered: its first byte and its payload."""
        while True:
            first, payload = await self._any_frame()
            if first & 0x0F != PING:
                return first, payload
            await self.raw(frame(PONG, payload))

    async def _any_frame(self):
        head = await self.reader.readexactly(2)
        assert head[1] & 0x80, "a client's frame must be masked"
        length = head[1] & 0x7F
        if length == 126:
            (length,) = struct.unpack(">H", await self.reader.readexactly(2))
        elif length == 127:
            (length,) = struct.unpack(">Q", await self.reader.readexactly(8))
        mask = await self.reader.readexactly(4)
        data = await self.reader.readexactly(length)
        key = int.from_bytes((mask * (length // 4 + 1))[:length], "big")
        return head[0], (int.from_bytes(data, "big") ^ key).to_bytes(length, "big")

    async def _message(self):
        kind, parts = None, []
        while True:
            first, payload = await self._any_frame()
            opcode = first & 0x0F
            if opcode == CLOSE:
                with contextlib.suppress(ConnectionError):
                    await self.raw(frame(CLOSE, payload[:2]))
                raise Closed(struct.unpack(">H", payload[:2])[0] if len(payload) >= 2 else 1005)
            if opcode == PING:
                await self.raw(frame(PONG, payload))
            elif opcode != PONG:
                kind = kind or opcode
                parts.append(payload)
                if first & 0x80:
                    whole = b"".join(parts)
                    return whole.decode() if kind == TEXT else whole

    async def receive(self, seconds=SOON):
        """The next message: str or bytes. `Closed` when the link ends instead."""
        try:
            return await within(self._message(), "a message from gatewayd", seconds)
        except (asyncio.IncompleteReadError, ConnectionError):
            raise Closed() from None

    async def expect(self, *packets):
        """The next messages are exactly these."""
        for packet in packets:
            received = await self.receive()
            assert received == packet, f"expected {packet!r}, received {received!r}"

    async def until_closed(self):
        """Reads on until gatewayd ends the link; returns the WebSocket close code, None without one."""
        while True:
            try:
                await self.receive()
            except Closed as end:
                return end.code

    async def finish(self, code=1000):
        """A WebSocket close from our side."""
        await self.raw(frame(CLOSE, struct.pack(">H", code) if code else b""))

    def abort(self):
        """A reset instead of an end."""
        self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    async def close(self):
        self.writer.close()
        with contextlib.suppress(ConnectionError):
            await self.writer.wait_closed()


class ScriptedUpstream:
    """A listening port. Links are handed to the test one by one, or all to one script."""

    def __init__(self):
        self.links = asyncio.Queue()
        self.all = []
        self.script = None
        self.tasks = []
        self.port = 0
        self.server = None

    async def start(self):
        self.server = await asyncio.start_server(self._connected, "127.0.0.1", self.port, limit=1 << 26)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    async def _connected(self, reader, writer):
        link = Link(reader, writer)
        self.all.append(link)
        if not self.script:
            self.links.put_nowait(link)
            return
        task = asyncio.ensure_future(self._run(link))
        self.tasks.append(task)

    async def _run(self, link):
        with contextlib.suppress(Closed, ConnectionError):
            await self.script(link)

    async def link(self):
        """The next link that gatewayd opens."""
        return await within(self.links.get(), "gatewayd to connect")

    async def session(self, **members):
        """The next link, taken through an ordinary handshake."""
        return await (await self.link()).session(**members)

    async def refuse(self):
        """Stops listening: the next attempt is refused by the kernel."""
        self.server.close()

    async def close(self):
        self.server.close()
        for link in self.all:
            link.writer.transport.abort()
        # One cancel is not enough: asyncio.wait_for forgets it when what it waits for comes at the same moment.
        while pending := [task for task in self.tasks if not task.done()]:
            for task in pending:
                task.cancel()
            await asyncio.wait(pending, timeout=0.1)
        for task in self.tasks:
            if not task.cancelled() and task.exception():
                raise task.exception()
