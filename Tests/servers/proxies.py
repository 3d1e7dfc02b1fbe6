"""Small proxies: HTTP CONNECT with a login, and SOCKS 5 with a login. They count what goes through them.

They run on the loop of whoever starts them; `connect` can send a name elsewhere than the system would.
"""

import asyncio
import base64
import contextlib
import socket
import struct


class Proxy:
    """A listening port. `login` is (user, password), or None for everybody."""

    def __init__(self, login=None, refusal=None, names=None, host="127.0.0.1"):
        self.login = login
        self.refusal = refusal
        self.names = names or {}
        self.host = host
        self.targets = []
        """What clients asked to be connected with: (host, port)."""
        self.refused = []
        self.bytes = 0
        self.tasks = set()
        self.server = None

    async def start(self):
        self.server = await asyncio.start_server(self._connected, self.host, 0)
        return self

    @property
    def port(self):
        return self.server.sockets[0].getsockname()[1]

    @property
    def place(self):
        """Host and port, as `status` shows them."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def url(self, login=None, scheme=None):
        user, password = login or self.login or (None, None)
        return f"{scheme or self.scheme}://" + (f"{user}:{password}@" if user else "") + self.place

    async def close(self):
        self.server.close()
        for task in list(self.tasks):
            task.cancel()
        if self.tasks:
            await asyncio.wait(list(self.tasks), timeout=1)

    async def _connected(self, reader, writer):
        task = asyncio.current_task()
        self.tasks.add(task)
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, OSError):
                await self.speak(reader, writer)
        finally:
            self.tasks.discard(task)
            writer.close()

    async def through(self, reader, writer, host, port, agreed):
        """Connects and carries bytes both ways until one side ends."""
        self.targets.append((host, port))
        far_reader, far_writer = await asyncio.open_connection(self.names.get(host, host), port)
        writer.write(agreed)
        try:
            await asyncio.wait([asyncio.ensure_future(self._carry(reader, far_writer)),
                                asyncio.ensure_future(self._carry(far_reader, writer))],
                               return_when=asyncio.FIRST_COMPLETED)
        finally:
            far_writer.close()

    async def _carry(self, source, target):
        with contextlib.suppress(ConnectionError):
            while data := await source.read(65536):
                self.bytes += len(data)
                target.write(data)
                await target.drain()


class HTTPProxy(Proxy):
    """CONNECT only: a plain GET is refused, as a WebSocket could not come of it. `refusal` is a status line's rest."""

    scheme = "http"

    async def speak(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = head[0].split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        refusal = self.refusal
        if method != "CONNECT":
            refusal = "405 Method Not Allowed"
        elif self.login:
            expected = "Basic " + base64.b64encode(":".join(self.login).encode()).decode()
            if headers.get("proxy-authorization") != expected:
                refusal = "407 Proxy Authentication Required"
        if refusal:
            self.refused.append(refusal)
            writer.write(f"HTTP/1.1 {refusal}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
            return await writer.drain()
        host, _, port = target.rpartition(":")
        await self.through(reader, writer, host.strip("[]"), int(port), b"HTTP/1.1 200 Connection established\r\n\r\n")


class SocksProxy(Proxy):
    """RFC 1928 and RFC 1929. `refusal` is a reply code."""

    scheme = "socks5h"

    async def speak(self, reader, writer):
        _, count = await reader.readexactly(2)
        methods = await reader.readexactly(count)
        wanted = 2 if self.login else 0
        if wanted not in methods:
            self.refused.append("method")
            writer.write(b"\x05\xff")
            return await writer.drain()
        writer.write(bytes([5, wanted]))
        if self.login and not await self._logged_in(reader, writer):
            self.refused.append("login")
            return await writer.drain()
        _, _, _, kind = await reader.readexactly(4)
        if kind == 3:
            (length,) = await reader.readexactly(1)
            host = (await reader.readexactly(length)).decode()
        else:
            family, length = (socket.AF_INET, 4) if kind == 1 else (socket.AF_INET6, 16)
            host = socket.inet_ntop(family, await reader.readexactly(length))
        (port,) = struct.unpack(">H", await reader.readexactly(2))
        if self.refusal:
            self.refused.append(self.refusal)
            writer.write(bytes([5, self.refusal, 0, 1, 0, 0, 0, 0, 0, 0]))
            return await writer.drain()
        await self.through(reader, writer, host, port, b"\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00")

    async def _logged_in(self, reader, writer):
        _, length = await reader.readexactly(2)
        user = await reader.readexactly(length)
        (length,) = await reader.readexactly(1)
        password = await reader.readexactly(length)
        right = (user.decode(), password.decode()) == tuple(self.login)
        writer.write(bytes([1, 0 if right else 1]))
        return right
