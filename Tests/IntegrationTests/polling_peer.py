"""An upstream for long-polling whose every answer is decided by the test: it speaks HTTP by hand."""

import asyncio
import contextlib
import json

from patience import within
from scripted import Closed, Request, ScriptedUpstream


class Poll:
    """One HTTP request that waits for its answer."""

    def __init__(self, link, request, body):
        self.link = link
        self.request = request
        self.method = request.method
        self.query = request.query
        self.body = body
        self.answered = asyncio.get_running_loop().create_future()

    def answer(self, body="ok", status="200 OK", kind="text/plain; charset=UTF-8", headers=""):
        body = body.encode() if isinstance(body, str) else body
        self.answered.set_result(
            f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode() + body)


class PollingPeer:
    """Hands every GET, POST and WebSocket to the test."""

    def __init__(self):
        self.upstream = ScriptedUpstream()
        self.upstream.script = self._serve
        self.gets, self.posts, self.sockets = asyncio.Queue(), asyncio.Queue(), asyncio.Queue()
        self.pending = []
        self.overlaps = []

    async def start(self):
        await self.upstream.start()
        self.url = self.upstream.url
        return self

    async def close(self):
        await self.upstream.close()

    async def _serve(self, link):
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                request = await self._request(link)
                if "upgrade" in request.headers.get("connection", "").lower():
                    link.request = request
                    self.sockets.put_nowait(link)
                    return await asyncio.sleep(3600)
                await self._poll(link, request)

    @staticmethod
    async def _request(link):
        try:
            return Request(await link.reader.readuntil(b"\r\n\r\n"))
        except asyncio.IncompleteReadError:
            raise Closed() from None

    async def _poll(self, link, request):
        body = b""
        if request.method == "POST":
            body = await link.reader.readexactly(int(request.headers["content-length"]))
        poll = Poll(link, request, body)
        if "sid" not in request.query:
            # A new session: what still hangs belongs to an old one, whose end may not have been noticed here.
            self.pending.clear()
        if any(other.method == poll.method for other in self.pending):
            self.overlaps.append(request.target)
        self.pending.append(poll)
        (self.posts if request.method == "POST" else self.gets).put_nowait(poll)
        try:
            answer = await poll.answered
        finally:
            if poll in self.pending:
                self.pending.remove(poll)
        await link.raw(answer)

    async def get(self):
        return await within(self.gets.get(), "a GET of gatewayd")

    async def post(self):
        return await within(self.posts.get(), "a POST of gatewayd")

    async def socket(self):
        return await within(self.sockets.get(), "a WebSocket of gatewayd")

    def open_packet(self, interval=25_000, timeout=20_000, payload=1_000_000, sid="engine-sid", upgrades=()):
        packet = {"sid": sid, "upgrades": list(upgrades), "pingInterval": interval, "pingTimeout": timeout,
                  "maxPayload": payload}
        return "0" + json.dumps({key: value for key, value in packet.items() if value is not None})

    async def session(self, headers="", **members):
        """A handshake up to the accepted main namespace; returns the GET that is pending then."""
        opening = await self.get()
        assert "sid" not in opening.query and opening.query["transport"] == "polling", opening.query
        opening.answer(self.open_packet(**members), headers=headers)
        connect = await self.post()
        assert connect.body.decode().startswith("40"), connect.body
        connect.answer()
        (await self.get()).answer('40{"sid":"socket-sid"}')
        return await self.get()
