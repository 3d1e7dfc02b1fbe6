"""A Socket.IO server that counts: each event "tick" carries the next number, over its own deaths too.

With --recovery it offers connection state recovery, as servers from 4.6 on do: it tells each client a private id, puts an
offset behind the arguments of each "tick", and gives a client that comes back what it missed before it accepts it. Now
and then it sends a "noise", as volatile events are: without an offset and kept for nobody.

With --rate it counts so many a second, without padding and noise; otherwise at rates that change.

Every number is written to the ledger before it is sent; so is "fresh" or "recovered" for every client that is accepted.
"""

import argparse
import asyncio
import json
import os
import random
import secrets
import time

import socketio
from aiohttp import web
from socketio import packet

RATES = (0, 0.0005, 0.002, 0.02)
"""Seconds between two numbers."""


class Server(socketio.AsyncServer):
    """Adds the private id to the acceptance of a namespace."""

    private_ids = {}

    async def _send_packet(self, eio_sid, pkt):
        if pkt.packet_type == packet.CONNECT and pkt.data["sid"] in self.private_ids:
            pkt.data["pid"] = self.private_ids[pkt.data["sid"]]
        await super()._send_packet(eio_sid, pkt)


class Counter:
    def __init__(self, ledger, recovery, rate=None):
        self.recovery = recovery
        self.rate = rate
        self.server = Server(async_mode="aiohttp", cors_allowed_origins="*")
        self.server.on("connect", self.connect)
        self.server.on("disconnect", self.disconnect)
        lines = open(ledger).read().split() if os.path.exists(ledger) else []
        self.last = max((int(line) for line in lines if line.isdigit()), default=0)
        self.first_kept = self.last
        self.ledger = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.known = set()
        self.members = {}

    def note(self, line):
        os.write(self.ledger, f"{line}\n".encode())

    def offset(self, number):
        """As the adapter for Redis streams writes it: when it was made, and behind a hyphen which one it is."""
        return f"{time.time_ns() // 1_000_000}-{number}"

    async def tick(self, number, sid):
        padding = "" if self.rate else "x" * (number * 7919 % 300)
        await self.server.emit("tick", (number, padding, self.offset(number)) if self.recovery else (number, padding), to=sid)

    async def connect(self, sid, environ, auth):
        auth = auth or {}
        pid = auth.get("pid")
        if self.recovery and pid in self.known and "offset" in auth:
            # Whoever has the private id is the one and only.
            for other in [other for other, private in self.members.items() if private == pid]:
                del self.members[other]
            at = int(auth["offset"].partition("-")[2])
            while at < self.last:
                at += 1
                await self.tick(at, sid)
            self.note("recovered")
        else:
            pid = secrets.token_hex(8)
            self.note("fresh")
        if self.recovery:
            self.known.add(pid)
            self.server.private_ids[sid] = pid
        self.members[sid] = pid

    async def disconnect(self, sid, reason):
        pid = self.members.pop(sid, None)
        if reason == self.server.reason.CLIENT_DISCONNECT:
            self.known.discard(pid)

    async def next(self):
        self.last += 1
        self.note(self.last)
        for sid in list(self.members):
            await self.tick(self.last, sid)

    async def count_evenly(self, stop):
        """Counts at the one rate until told to stop; what was late is made up for."""
        began, before = asyncio.get_running_loop().time(), self.last
        while not stop.is_set():
            await self.next()
            due = began + (self.last - before) / self.rate
            await asyncio.sleep(max(0, due - asyncio.get_running_loop().time()))

    async def count(self, stop):
        """Counts at rates that change until told to stop."""
        while not stop.is_set():
            pause = random.choice(RATES)
            for _ in range(random.randrange(1, 60)):
                await self.next()
                for sid in list(self.members):
                    if random.random() < 0.05:
                        await self.server.emit("noise", (self.last,), to=sid)
                if pause:
                    await asyncio.sleep(pause)
            await asyncio.sleep(0.005)


async def serve(options):
    counter = Counter(options.ledger, options.recovery, options.rate)
    app = web.Application()
    counter.server.attach(app)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", options.port, reuse_address=True)
    await site.start()
    print(json.dumps({"port": site._server.sockets[0].getsockname()[1]}), flush=True)
    stop = asyncio.Event()
    counting = asyncio.ensure_future(counter.count_evenly(stop) if options.rate else counter.count(stop))
    # The end of its standard input ends the counting; the last number is the answer.
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(0))
    await reader.read()
    stop.set()
    await counting
    print(json.dumps({"last": counter.last}), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--ledger", required=True)
    parser.add_argument("--recovery", action="store_true")
    parser.add_argument("--rate", type=float)
    asyncio.run(serve(parser.parse_args()))
