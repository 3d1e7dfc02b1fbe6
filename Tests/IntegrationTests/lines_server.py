"""A chat server that speaks JSON lines over TCP or TLS, for the tests: login, heartbeat, request ids, server time and faults.

    → {"type":"login","id":1,"body":{"user":"ann","password":"let-me-in"}}
    ← {"type":"welcome","id":1,"time":1795232601218}        or {"type":"denied","id":1,"body":{"reason":"…"}}
    → {"type":"ping"}                                        ← {"type":"pong","time":…}, and the other way round
    → {"type":"say","body":"hi"}                             ← {"type":"said","body":"hi","from":"ann","time":…}, to everybody
    → {"type":"echo","id":2,"body":[1]}                      ← {"type":"echo","id":2,"body":[1]}
    → {"type":"fail","id":3}                                 ← {"type":"fail","id":3,"error":{"code":"no.way","why":"asked"}}
"""

import asyncio
import contextlib
import json
import time

from patience import within

PASSWORD = "let-me-in"
PROFILE = {
    "heartbeat": {"type": "ping", "answer": "pong", "every": "10s", "misses": 2},
    "login": {"type": "login", "accepted": "welcome", "refused": "denied"},
}
"""`lines = …` for this server."""

AUTH = {"user": "ann", "password": PASSWORD}


class LinesLink:
    """One connection of gatewayd's."""

    def __init__(self, server, reader, writer):
        self.server = server
        self.reader = reader
        self.writer = writer
        self.user = None
        self.pings = 0
        self.pongs = 0

    def send(self, **message):
        self.raw(json.dumps(message, separators=(",", ":")).encode() + self.server.end)

    def raw(self, data):
        with contextlib.suppress(ConnectionError):
            self.writer.write(data)

    async def run(self):
        while line := await self.reader.readline():
            message = json.loads(line)
            self.server.lines.append(line)
            await self.take(message)
            await self.server.ring()

    async def take(self, message):
        kind, identity, body = message["type"], message.get("id"), message.get("body")
        if kind == "login":
            return self.log_in(identity, body)
        if kind == "ping":
            self.pings += 1
            if not self.server.is_deaf:
                self.send(type="pong", time=self.server.now())
            return None
        if kind == "pong":
            self.pongs += 1
            return None
        self.server.received.append(message)
        answer = getattr(self, "do_" + kind, None)
        value = answer(body) if answer else "seen"
        if identity is not None and value is not None:
            self.send(**{"type": kind, "id": identity, **value} if isinstance(value, dict)
                      else {"type": kind, "id": identity, "body": value})
        return None

    def log_in(self, identity, body):
        self.server.logins.append(body)
        if self.server.login_answer is not None:
            return self.raw(self.server.login_answer)
        if self.server.password is not None and (body or {}).get("password") != self.server.password:
            return self.send(type="denied", id=identity, body={"reason": "wrong password"})
        self.user = (body or {}).get("user")
        return self.send(type="welcome", id=identity, time=self.server.now())

    # What a client can make the server do; the result is the answer.

    def do_echo(self, body):
        return {"body": body}

    def do_say(self, body):
        self.server.emit("said", body, **{"from": self.user, "time": self.server.now()})
        return "said"

    def do_fail(self, body):
        return {"error": {"code": "no.way", "why": "asked"}}

    def do_twice(self, body):
        """The test sends the second answer."""
        return {"body": 1}

    def do_hold(self, body):
        return None


class LinesServer:
    """Listens until it is closed; `restart` comes back on the same port."""

    def __init__(self):
        self.password = PASSWORD
        self.end = b"\n"
        self.is_deaf = False
        self.skew = 0
        self.login_answer = None
        self.received = []
        self.logins = []
        self.lines = []
        self.links = []
        self.links_ever = 0
        self.greeting = b""
        self.port = 0
        self.ssl = None
        self.bell = asyncio.Condition()
        self.tasks = set()

    async def start(self):
        self.server = await asyncio.start_server(
            self._accept, "127.0.0.1", self.port, ssl=self.ssl, limit=1 << 24, reuse_address=True)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    def now(self):
        """By the server's clock, which may be wrong."""
        return int(time.time() * 1000) + self.skew

    @property
    def url(self):
        return f"{'tls' if self.ssl else 'tcp'}://127.0.0.1:{self.port}"

    async def _accept(self, reader, writer):
        self.tasks.add(asyncio.current_task())
        link = LinesLink(self, reader, writer)
        self.links.append(link)
        self.links_ever += 1
        await self.ring()
        link.raw(self.greeting)
        try:
            await link.run()
        except (ConnectionError, ValueError, asyncio.CancelledError):
            pass
        finally:
            self.links.remove(link)
            writer.close()
            self.tasks.discard(asyncio.current_task())
            with contextlib.suppress(RuntimeError, asyncio.CancelledError):
                await self.ring()

    async def ring(self):
        async with self.bell:
            self.bell.notify_all()

    async def until(self, holds, what):
        async def wait():
            async with self.bell:
                await self.bell.wait_for(holds)

        await within(wait(), what)

    async def until_received(self, count, kind=None):
        def matching():
            return [one for one in self.received if kind is None or one["type"] == kind]

        await self.until(lambda: len(matching()) >= count, f"{count} messages, not {self.received}")
        return matching()

    def emit(self, kind, body=None, **more):
        for link in self.links:
            link.send(type=kind, body=body, **more)

    def raw(self, data):
        for link in self.links:
            link.raw(data)

    def cut(self):
        """As a broken network would."""
        for link in self.links:
            link.writer.transport.abort()

    def half_close(self):
        for link in self.links:
            link.writer.write_eof()

    async def stop(self):
        self.server.close()
        self.cut()

    async def close(self):
        await self.stop()
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
