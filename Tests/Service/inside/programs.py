"""Programs at work, and what they notice: programs.py SOCKET

A Socket.IO server counts aloud, asks its client questions and is told things; the programs use it through the daemon at
SOCKET. One of them waits for another upstream, which is this server behind a port where nobody listens at first.

The first line on stdout is `{"chat": PORT, "later": PORT}`. Then it takes one JSON command per line on stdin and answers
each with one line, and ends when stdin does:
    start    the programs begin
    begin    what they notice from here on is one report
    work     until everybody has had some more outcomes, good or bad
    noticed  until a program has noticed something
    settle   until everybody works again, and everything that was promised has arrived; answers the report"""

import asyncio
import collections
import itertools
import json
import os
import socket
import sys
import time

import socketio
from aiohttp import web

PATIENCE = 60 * float(os.environ.get("GATEWAY_TEST_PATIENCE", "1"))
PACE = 0.02
"""Seconds between two ticks, and between two calls of a program."""


class Ended(Exception):
    """The connection to the daemon is gone."""


class CallFailed(Exception):
    """An error of the daemon; its type is the text."""


class Bell:
    """Rings whenever something happened."""

    def __init__(self):
        self.waiting = []

    def ring(self):
        waiting, self.waiting = self.waiting, []
        for one in waiting:
            if not one.done():
                one.set_result(None)

    async def until(self, holds, what):
        end = time.monotonic() + PATIENCE
        while not holds():
            one = asyncio.get_running_loop().create_future()
            self.waiting.append(one)
            try:
                await asyncio.wait_for(one, end - time.monotonic())
            except asyncio.TimeoutError:
                raise AssertionError(f"waited in vain for {what}") from None


BELL = Bell()


class Server:
    """The Socket.IO server."""

    def __init__(self):
        self.sio = socketio.AsyncServer(async_mode="aiohttp", cors_allowed_origins="*")
        self.tick = 0
        self.paid = collections.Counter()
        self.asked = self.last_answered = 0
        self.unanswered = set()
        self.present = set()
        self.sio.on("connect", self.connected)
        self.sio.on("disconnect", self.disconnected)
        self.sio.on("paid", self.was_paid)
        self.sio.on("echo", self.echo)
        self.sio.on("connect", lambda sid, environ, auth=None: None, namespace="/later")

    def connected(self, sid, environ, auth=None):
        self.present.add(sid)

    def disconnected(self, sid, *_):
        self.present.discard(sid)

    def was_paid(self, sid, number):
        self.paid[number] += 1
        BELL.ring()
        return "thanks"

    async def echo(self, sid, value):
        # So long that a program that calls all the time has a call under way nearly always.
        await asyncio.sleep(PACE)
        return value

    async def start(self):
        app = web.Application()
        self.sio.attach(app)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        return site._server.sockets[0].getsockname()[1]

    async def count(self):
        """Ticks, and with every other one a question."""
        while True:
            self.tick += 1
            await self.sio.emit("tick", self.tick)
            if self.tick % 2 == 0:
                for sid in list(self.present):
                    await self.ask(sid)
            await asyncio.sleep(PACE)

    async def ask(self, sid):
        self.asked += 1
        number = self.asked
        self.unanswered.add(number)

        def answered(*_):
            self.unanswered.discard(number)
            self.last_answered = max(self.last_answered, number)
            BELL.ring()

        await self.sio.emit("confirm", number, to=sid, callback=answered)


class Link:
    """A connection to the daemon."""

    def __init__(self, told):
        self.told, self.ids, self.calls, self.ended = told, itertools.count(1), {}, False

    async def open(self, path):
        while True:
            try:
                self.reader, self.writer = await asyncio.open_unix_connection(path, limit=1 << 24)
                break
            except OSError:
                await asyncio.sleep(PACE)
        self.task = asyncio.ensure_future(self.read())
        return self

    async def read(self):
        try:
            while line := await self.reader.readline():
                said = json.loads(line)
                if "method" in said:
                    self.told(said["method"], said["params"])
                elif "result" in said:
                    call, heard = self.calls.pop(said["id"])
                    heard(said["result"])
                    call.set_result(said["result"])
                else:
                    self.calls.pop(said["id"])[0].set_exception(CallFailed(said["error"]["data"]["type"]))
                BELL.ring()
        except OSError:
            pass
        self.ended = True
        self.writer.close()
        for call, _ in self.calls.values():
            call.set_exception(Ended())
        BELL.ring()

    async def until_ended(self):
        await self.task
        raise Ended()

    async def call(self, method, heard=lambda result: None, **params):
        """`heard` is told the result before anything that comes behind it is."""
        if self.ended:
            raise Ended()
        identity = next(self.ids)
        call = asyncio.get_running_loop().create_future()
        self.calls[identity] = call, heard
        self.writer.write(json.dumps(
            {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}).encode() + b"\n")
        return await call


class Program:
    """What a program notices: how often which thing, the longest time without an outcome, and what it lost."""

    def __init__(self, path):
        self.path = path
        self.outcomes = 0
        """All of them, good or bad."""
        self.good_since = 0.0
        """When the last thing was begun that went well."""
        self.begin()

    def begin(self):
        self.seen = collections.Counter()
        self.latest = time.monotonic()
        self.silence = 0.0

    def notice(self, what, count=1):
        self.seen[what] += count

    def outcome(self, good_since=None):
        now = time.monotonic()
        self.outcomes += 1
        if good_since is not None:
            self.silence, self.latest = max(self.silence, now - self.latest), now
            self.good_since = good_since
        BELL.ring()

    def report(self):
        return {"seen": dict(self.seen), "silence": round(self.silence * 1e3)}

    async def run(self):
        """Works over one connection after the other."""
        while True:
            link = await Link(self.told).open(self.path)
            try:
                await self.work(link)
            except Ended:
                self.notice("connection ended")
                self.outcome()

    def told(self, method, params):
        if method == "goodbye":
            self.notice(f"goodbye ({params['reason']})")


class Subscriber(Program):
    """Reads the ticks. `faithful`: comes back behind what it has."""

    def __init__(self, path, faithful):
        self.faithful, self.number, self.position, self.excused = faithful, 0, None, True
        super().__init__(path)

    async def work(self, link):
        since = {"since": self.position} if self.faithful and self.position else {}
        # Who begins anew knows that it was away.
        self.excused = not since
        await link.call("subscribe", self.subscribed, upstream="chat", events=["tick"], **since)
        await link.until_ended()

    def subscribed(self, answer):
        if self.excused:
            self.position = {"epoch": answer["epoch"], "seq": answer["seq"]}

    def told(self, method, params):
        super().told(method, params)
        if method == "gap":
            self.notice("gap")
            self.excused = True
            self.position = {"epoch": params["epoch"], "seq": params.get("seq", self.position["seq"])}
        if method == "event":
            number = params["args"][0]
            if number <= self.number:
                self.notice("doubled")
            elif number > self.number + 1 and self.number:
                self.notice("lost", number - self.number - 1)
                if not self.excused:
                    self.notice("lost without a word", number - self.number - 1)
            self.number, self.excused = number, False
            self.position = {"epoch": self.position["epoch"], "seq": params["seq"]}
            self.outcome(time.monotonic())


class Handler(Program):
    """Answers the server's questions."""

    async def work(self, link):
        self.link = link
        await link.call("subscribe", upstream="chat", events=["confirm"], answer=True)
        await link.until_ended()

    def told(self, method, params):
        super().told(method, params)
        if method == "event" and "ack" in params:
            asyncio.ensure_future(self.answer(self.link, params["ack"]))

    async def answer(self, link, token):
        began = time.monotonic()
        try:
            await link.call("respond", ack=token, args=["yes"])
            self.outcome(began)
        except CallFailed as failure:
            self.notice(str(failure))
            self.outcome()
        except Ended:
            pass


class Caller(Program):
    """Calls the server, one call after the other."""

    async def work(self, link):
        for number in itertools.count():
            began = time.monotonic()
            try:
                await link.call("request", upstream="chat", event="echo", args=[number])
                self.outcome(began)
            except CallFailed as failure:
                self.notice(str(failure))
                self.outcome()
                await asyncio.sleep(PACE)


class Payer(Program):
    """Sends durably, one after the other, each until the daemon has promised it."""

    def __init__(self, path):
        self.number, self.promised = 1, set()
        super().__init__(path)

    async def work(self, link):
        while True:
            began, number = time.monotonic(), self.number
            try:
                await link.call("send", upstream="chat", event="paid", args=[number], delivery="durable", retries=100,
                                ack_timeout=10_000, key=f"{os.getpid()}-{number}")
                self.promised.add(number)
                self.number += 1
                self.outcome(began)
            except CallFailed as failure:
                # It is sent again under the same key.
                self.notice(str(failure))
                self.outcome()
            await asyncio.sleep(PACE)


class Waiter(Program):
    """Waits for the upstream that is not there yet."""

    pending, answered = False, 0

    async def work(self, link):
        later = {"upstream": "later", "namespace": "/later", "timeout": 3_600_000}
        while True:
            try:
                await link.call("wait", state="disconnected", **later)
                self.pending = True
                BELL.ring()
                await link.call("wait", state="connected", **later)
                self.answered += 1
                self.outcome()
            except CallFailed as failure:
                self.notice(str(failure))
                self.outcome()
                await asyncio.sleep(PACE)
            finally:
                self.pending = False


class Way:
    """A port that refuses connections, and while it is open brings them to the server."""

    def __init__(self):
        self.port, self.onward = 0, 0
        self.occupy()

    def occupy(self):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(("127.0.0.1", self.port))
        self.port = self.socket.getsockname()[1]

    async def __aenter__(self):
        self.writers = []
        self.server = await asyncio.start_server(self.carry, sock=self.socket)

    async def __aexit__(self, *_):
        self.server.close()
        for writer in self.writers:
            writer.transport.abort()
        self.occupy()

    async def carry(self, reader, writer):
        there, back = await asyncio.open_connection("127.0.0.1", self.onward)
        self.writers += [writer, back]
        await asyncio.gather(self.copy(reader, back), self.copy(there, writer), return_exceptions=True)

    async def copy(self, reader, writer):
        while data := await reader.read(65536):
            writer.write(data)
        writer.close()


class Scene:
    """The server and all programs."""

    def __init__(self, path):
        self.server, self.way = Server(), Way()
        self.readers = {"subscriber": Subscriber(path, False), "subscriber with since": Subscriber(path, True)}
        self.handler, self.payer, self.waiter = Handler(path), Payer(path), Waiter(path)
        self.busy = {**self.readers, "handler": self.handler, "durable send": self.payer, "request": Caller(path)}
        self.programs = {**self.busy, "wait": self.waiter}

    async def open(self):
        self.way.onward = await self.server.start()
        return {"chat": self.way.onward, "later": self.way.port}

    async def on_start(self):
        self.tasks = [asyncio.ensure_future(one) for one in (
            self.server.count(), *(program.run() for program in self.programs.values()))]

    async def all_well(self):
        """Until each has begun something from now on that went well, and the wait stands."""
        for task in self.tasks:
            if task.done():
                task.result()
        now, tick, asked = time.monotonic(), self.server.tick, self.server.asked
        for name, program in self.busy.items():
            await BELL.until(lambda: program.good_since > now, f"the {name} to work")
        for name, program in self.readers.items():
            await BELL.until(lambda: program.number > tick, f"the {name} to be up to date")
        await BELL.until(lambda: self.server.last_answered > asked, "an answer")
        await BELL.until(lambda: self.waiter.pending, "the wait to stand")

    def twice(self):
        return sum(count > 1 for count in self.server.paid.values())

    async def on_begin(self):
        await self.all_well()
        self.server.unanswered.clear()
        self.twice_before = self.twice()
        for program in self.programs.values():
            program.begin()

    async def on_work(self, count=20):
        before = {name: program.outcomes for name, program in self.busy.items()}
        for name, program in self.busy.items():
            await BELL.until(lambda: program.outcomes >= before[name] + count, f"outcomes of the {name}")

    async def on_noticed(self, program, what):
        await BELL.until(lambda: self.programs[program].seen[what], f"{what} at the {program}")

    async def on_settle(self):
        asked = self.server.asked
        await self.all_well()
        answered = self.waiter.answered
        report = {name: program.report() for name, program in self.programs.items()}
        # Later questions may still be under way.
        report["handler"]["seen"]["unanswered"] = sum(number <= asked for number in self.server.unanswered)
        promised = set(self.payer.promised)
        await BELL.until(lambda: promised <= set(self.server.paid), "everything that was promised")
        report["durable send"]["seen"]["arrived twice"] = self.twice() - self.twice_before
        async with self.way:
            await BELL.until(lambda: self.waiter.answered > answered, "the wait to be answered")
        return report


async def main():
    scene = Scene(sys.argv[1])
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    print(json.dumps(await scene.open()), flush=True)
    while line := await reader.readline():
        command = json.loads(line)
        try:
            said = {"value": await getattr(scene, "on_" + command["op"])(**command.get("with", {}))}
        except Exception as problem:  # told to the test, which fails with it
            said = {"error": repr(problem)}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
