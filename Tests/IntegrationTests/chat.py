"""Runs the chat server of Tests/servers for a test."""

import asyncio
import itertools
import json
import os
import pathlib
import signal

import processes
from patience import SOON, within
from programs import ROOT

PROGRAM = ROOT / "Tests" / "servers" / "chat_server.py"
VENVS = pathlib.Path(os.environ.get("GATEWAY_VENV_DIR", ROOT / "build" / "venv"))
LINES = ("eio4", "eio3")


class ChatServer:
    """One chat server; `restart` brings a fresh one up on the same port."""

    def __init__(self, line="eio4", arguments=()):
        self.line = line
        self.arguments = [str(one) for one in arguments]
        self.port = 0
        self.wrapper = []
        self.process = None
        self.ids = itertools.count(1)
        self.waiting = {}

    async def start(self):
        self.process = await processes.spawn(
            *self.wrapper, VENVS / self.line / "bin" / "python", PROGRAM, "--port", self.port, *self.arguments,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
        line = await within(self.process.stdout.readline(), f"the {self.line} chat server to start")
        assert line, f"the {self.line} chat server did not start"
        self.port = json.loads(line)["port"]
        self.reader = asyncio.ensure_future(self._read(self.process.stdout))
        return self

    async def _read(self, stream):
        while line := await stream.readline():
            reply = json.loads(line)
            future = self.waiting.pop(reply["id"])
            if not future.done():  # cancelled with the test's task that asked
                future.set_result(reply)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def engineio(self):
        return 4 if self.line == "eio4" else 3

    async def control(self, op, **members):
        """One command of the server's control line."""
        identity = next(self.ids)
        self.waiting[identity] = asyncio.get_running_loop().create_future()
        future = self.waiting[identity]
        self.process.stdin.write(json.dumps({"id": identity, "op": op, "with": members}).encode() + b"\n")
        reply = await within(future, f"the chat server to {op}", 3 * SOON)
        assert "error" not in reply, reply["error"]
        return reply["value"]

    async def counters(self):
        return await self.control("counters")

    async def received(self, count, event=None):
        """Waits for `count` events (of a name); returns all that came, in order."""
        events = await self.control("received", count=count, timeout=SOON, event=event)
        assert len(events) >= count, f"the server received {len(events)} of {count} events: {events}"
        return events

    async def joined(self, count=1):
        """Waits until namespaces were joined or refused `count` times in all; returns what they came with."""
        joined = await self.control("joined", count=count, timeout=SOON)
        assert len(joined) >= count, joined
        return joined

    async def links(self, count):
        """Waits until exactly `count` links are open."""
        assert await self.control("links", count=count, timeout=SOON), await self.counters()

    async def present(self, count, namespace="/"):
        """Waits until exactly `count` clients are in a namespace."""
        assert await self.control("present", namespace=namespace, count=count, timeout=SOON), await self.counters()

    async def emit(self, event, *args, namespace="/", room=None):
        await self.control("emit", event=event, args=list(args), namespace=namespace, room=room)

    async def burst(self, event, count, namespace="/", padding=0):
        """Emits the numbers from 0, with a text of `padding` bytes each where it is not 0."""
        await self.control("burst", event=event, count=count, namespace=namespace, padding=padding)

    async def ask(self, event, *args, namespace="/", timeout=SOON):
        """Emits to the only client and returns the arguments of its ack, or None when none came."""
        return await self.control("ask", event=event, args=list(args), namespace=namespace, timeout=timeout)

    async def kick(self, namespace="/"):
        await self.control("kick", namespace=namespace)

    async def cut(self):
        await self.control("cut")

    async def stop(self):
        """Takes the server away, as a crash would."""
        await processes.kill(self.process)
        await self.reader

    async def restart(self):
        await self.stop()
        return await self.start()

    def pause(self):
        """Freezes the process: connections stay open and nothing answers."""
        os.killpg(self.process.pid, signal.SIGSTOP)

    def resume(self):
        os.killpg(self.process.pid, signal.SIGCONT)

    async def close(self):
        if self.process:
            await processes.kill(self.process)
