"""A Socket.IO server that notes everything it gets, with the time and the link that it came on, and counts meanwhile: each
event "tick" to all carries the next number.

A note is a line of JSON in the ledger: `at` is the time on CLOCK_MONOTONIC, `link` the number of the connection, in the
order in which they came; then `open` with the value of the header X-Host, `shut`, or `event` and its first argument as
`key`. It is written before the event is acknowledged, with the same argument.

With `--questions` it asks so many a second of the link that came last, notes each as `asked`, and what answered it as
`answered` and `by`.

Each line `last` on its standard input is answered with one that has the last number, and `ask` with the answer to one
question more, or null. It ends when its standard input does.
"""

import argparse
import asyncio
import json
import os
import sys
import time

import socketio
from aiohttp import web


class Notes:
    """The ledger, and the links that it knows."""

    def __init__(self, path):
        self.file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.links = {}
        self.count = 0

    def note(self, link, **what):
        os.write(self.file, json.dumps({"at": time.monotonic(), "link": link, **what}).encode() + b"\n")

    def opened(self, sid, environ):
        self.count += 1
        self.links[sid] = self.count
        self.note(self.count, open=environ.get("HTTP_X_HOST", ""))

    def shut(self, sid):
        self.note(self.links.pop(sid), shut=True)


async def count(server, numbers, rate):
    """Counts evenly."""
    while True:
        numbers.append(numbers.pop() + 1)
        await server.emit("tick", (numbers[-1], "x" * (numbers[-1] * 7919 % 300)))
        await asyncio.sleep(1 / rate)


class Questions:
    """What it wants to know of whoever came last."""

    def __init__(self, server, notes):
        self.server, self.notes = server, notes
        self.count = 0

    async def ask(self, limit):
        """One question; returns the answer, or None."""
        sid = max(self.notes.links, key=self.notes.links.get, default=None)
        if sid is None:
            return None
        self.count += 1
        number, link = self.count, self.notes.links[sid]
        self.notes.note(link, asked=number)
        answered = asyncio.get_running_loop().create_future()

        def take(answer):
            self.notes.note(link, answered=number, by=answer)
            if not answered.done():
                answered.set_result(answer)

        await self.server.emit("ask", number, to=sid, callback=take)
        try:
            return await asyncio.wait_for(answered, limit)
        except TimeoutError:
            return None

    async def go_on(self, rate):
        """Asks evenly, whether the one before was answered or not."""
        asking = set()
        while True:
            await asyncio.sleep(1 / rate)
            task = asyncio.ensure_future(self.ask(5))
            asking.add(task)
            task.add_done_callback(asking.discard)


async def serve(options):
    notes = Notes(options.ledger)
    # In the order in which they come.
    server = socketio.AsyncServer(async_mode="aiohttp", cors_allowed_origins="*", async_handlers=False)

    async def connect(sid, environ, auth):
        notes.opened(sid, environ)

    async def disconnect(sid, reason):
        notes.shut(sid)

    async def any_event(event, sid, key, *rest):
        notes.note(notes.links[sid], event=event, key=key)
        return key

    server.on("connect", connect)
    server.on("disconnect", disconnect)
    server.on("*", any_event)
    app = web.Application()
    server.attach(app)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0)
    await runner.setup()
    site = web.TCPSite(runner, options.host, options.port, reuse_address=True)
    await site.start()
    print(json.dumps({"port": site._server.sockets[0].getsockname()[1]}), flush=True)
    numbers = [0]
    counting = asyncio.ensure_future(count(server, numbers, options.rate))
    questions = Questions(server, notes)
    asking = asyncio.ensure_future(questions.go_on(options.questions)) if options.questions else None
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        if line == b"ask\n":
            print(json.dumps({"answer": await questions.ask(1)}), flush=True)
        else:
            print(json.dumps({"last": numbers[-1]}), flush=True)
    for task in (counting, asking):
        if task:
            task.cancel()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--ledger", required=True)
    parser.add_argument("--rate", type=float, required=True, help="ticks a second")
    parser.add_argument("--questions", type=float, default=0, help="questions a second")
    asyncio.run(serve(parser.parse_args()))
