"""Forced reconnects by the thousand: memory, descriptors and threads of the daemon must not grow with them.

As a program: `soak.py [ROUNDS]` prints a table and ends with 1 when something grew.
"""

import asyncio
import base64
import contextlib
import hashlib
import os
import pathlib
import socket
import statistics
import struct
import sys
import tempfile
import time

import memory
from daemon import Daemon
from local_client import CallError, LocalClient
from patience import SOON
from programs import GATEWAYD
from scripted import CLOSE, TEXT, WEBSOCKET_GUID, frame

UPSTREAMS = 40
"""Connections that are killed side by side."""

OPEN = frame(TEXT, b'0{"sid":"e","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":100000}')
ACCEPT = frame(TEXT, b'40{"sid":"s"}')
EVENT = frame(TEXT, b'42["hi",{"some":"payload"}]')
DEATHS = ("reset", "close frame", "end of file", "close packet", "kick", "refusal", "HTTP 400", "no answer", "garbage",
          "half a message")


class Mortal(asyncio.Protocol):
    """A server's end of one link, which dies in one of the ways, in turn."""

    def __init__(self, deaths):
        self.deaths = deaths

    def connection_made(self, transport):
        self.transport = transport
        self.death = DEATHS[self.deaths.count % len(DEATHS)]
        self.deaths.count += 1
        self.input = b""
        self.is_open = False
        self.is_dead = False
        if self.deaths.count >= self.deaths.goal:
            self.deaths.reached.set()
        if self.death == "no answer":
            transport.close()

    def data_received(self, data):
        if self.transport.is_closing():
            return
        self.input += data
        if self.is_dead:
            # The daemon's goodbye.
            return self.transport.close()
        if self.is_open:
            # Whatever comes first: the CONNECT of the namespace.
            self.is_dead = True
            return self.die()
        if b"\r\n\r\n" not in self.input:
            return
        if self.death == "HTTP 400":
            self.transport.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
            return self.transport.close()
        key = self.input.split(b"Sec-WebSocket-Key: ", 1)[1].split(b"\r\n", 1)[0]
        accept = base64.b64encode(hashlib.sha1(key + WEBSOCKET_GUID.encode()).digest())
        self.is_open = True
        self.transport.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                             b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n" + OPEN)

    def die(self):
        write = self.transport.write
        if self.death == "refusal":
            write(frame(TEXT, b'44{"message":"not now"}'))
            return  # the daemon leaves
        write(ACCEPT + EVENT)
        if self.death == "reset":
            self.transport.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return self.transport.abort()
        if self.death == "kick":
            return write(frame(TEXT, b"41"))
        if self.death == "close frame":
            write(frame(CLOSE, struct.pack(">H", 1001)))
        elif self.death == "close packet":
            write(frame(TEXT, b"1"))
        elif self.death == "garbage":
            write(b"\xff\xff\xff\xff\xff\xff")
        elif self.death == "half a message":
            write(frame(TEXT, b'452-["x",{"_placeholder":true,"num":0},{"_placeholder":true,"num":1}]')
                  + frame(2, b"1"))
        self.transport.close()


class Deaths:
    """How many links there were."""

    def __init__(self):
        self.count = 0
        self.goal = 1 << 62
        self.reached = asyncio.Event()

    async def until(self, goal):
        self.goal = goal
        self.reached.clear()
        if self.count < goal:
            await self.reached.wait()


class Sample:
    """What the daemon holds at a moment."""

    def __init__(self, pid, rounds, status):
        fields = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())
        self.rounds = rounds
        self.memory = int(fields["VmRSS"].split()[0])
        self.threads = int(fields["Threads"])
        self.descriptors = len(os.listdir(f"/proc/{pid}/fd"))
        self.held = sum(bytes for name, bytes in status["daemon"]["memory"].items() if name != "limit")
        self.connections = len(status["connections"])

    def __str__(self):
        return f"{self.rounds:>10,} {self.memory:>10,} {self.descriptors:>12} {self.threads:>8} {self.held:>9,} {self.connections:>12}"


HEAD = "reconnects   RSS (KiB)  descriptors  threads  buffered  connections"


async def run(daemon_folder, rounds, tell=lambda line: None):
    """Kills `rounds` links of a daemon. Returns what grew, as sentences."""
    loop = asyncio.get_running_loop()
    deaths = Deaths()
    server = await loop.create_server(lambda: Mortal(deaths), "127.0.0.1", 0, backlog=4096)
    port = server.sockets[0].getsockname()[1]
    quick = {"base": "10ms", "cap": "10ms", "refused_base": "10ms", "refused_cap": "10ms"}
    names = [f"u{number}" for number in range(UPSTREAMS)]
    # A history is full before memory is compared.
    config = {
        "log": {"level": "error"},
        "limits": {"attempts": 100_000, "attempts_burst": 100_000},
        "defaults": {"keep": "always", "reconnect": quick, "history": {"events": 2}, "linger": "0ms", "retain": "0ms"},
    }
    daemon = Daemon(GATEWAYD, daemon_folder, config | {
        "upstream": {name: {"url": f"http://127.0.0.1:{port}/"} for name in names}})
    try:
        await daemon.start()
        return await _measure(daemon, deaths, rounds, names, tell) + await _rest(daemon, names, config)
    finally:
        server.close()
        await daemon.close()


async def _measure(daemon, deaths, rounds, names, tell):
    pid = daemon.process.pid
    began = time.monotonic()
    steps = 20
    # Those that are kept up are made in portions.
    await daemon.until(lambda status: len(status["connections"]) == UPSTREAMS, "all connections")
    # What is reserved once and kept is no leak: the first twentieth warms up.
    await deaths.until(rounds // steps)
    samples = []
    tell(HEAD)
    for step in range(1, steps + 1):
        await deaths.until(rounds * step // steps)
        samples.append(Sample(pid, deaths.count, await daemon.status()))
        tell(str(samples[-1]))
    seconds = time.monotonic() - began
    client = await LocalClient.connect(daemon.socket)
    for name in names:
        # Until the hold lands: in one of two states there is nothing to disconnect.
        while (await client.call("status", upstream=name))["connections"][0]["rule"] != "hold":
            with contextlib.suppress(CallError):
                await client.call("disconnect", upstream=name)
    await client.close()
    await daemon.until(lambda status: not status["clients"][1:], "clients to leave")
    last = Sample(pid, deaths.count, await daemon.status())
    # The last goodbyes are bounded by a second.
    deadline = time.monotonic() + SOON
    while last.descriptors > IDLE_DESCRIPTORS and time.monotonic() < deadline:
        await asyncio.sleep(0.1)
        last = Sample(pid, deaths.count, await daemon.status())
    tell(f"{last}   all disconnected")
    tell(f"{deaths.count:,} reconnects in {seconds:.1f} s: {deaths.count / seconds:,.0f} per second, "
         f"{len(DEATHS)} ways to die")
    return _growth(samples, last)


async def _rest(daemon, names, config):
    """What is still held when no upstream is left, as sentences."""
    client = await LocalClient.connect(daemon.socket)
    # What an administrator holds down would stay.
    for name in names:
        await client.call("reconnect", upstream=name)
    daemon.configure(config)
    await client.call("reload")
    await client.close()

    def rest(status):
        held = {name: bytes for name, bytes in status["daemon"]["memory"].items() if name != "limit" and bytes}
        return [f"{len(status['connections'])} connections are left"] * bool(status["connections"]) + [
            f"{bytes} bytes count as {name} although there is no upstream" for name, bytes in held.items()]

    with contextlib.suppress(AssertionError):
        return rest(await daemon.until(lambda status: not rest(status), "nothing to be held"))
    return rest(await daemon.status())


def _growth(samples, last):
    """What grew: memory from the second quarter to the last one, and what is still held when nothing is connected."""
    quarter = len(samples) // 4
    early = statistics.median(sample.memory for sample in samples[quarter:2 * quarter])
    late = statistics.median(sample.memory for sample in samples[-quarter:])
    found = []
    if late > early * 1.03 + 512 and memory.COUNTS:
        found.append(f"memory grew from {early:,.0f} to {late:,.0f} KiB")
    before = max(sample.held for sample in samples[quarter:2 * quarter])
    after = max(sample.held for sample in samples[-quarter:])
    if after > before * 1.1 + 4_096:
        found.append(f"what status counts as buffered grew from {before:,} to {after:,} bytes")
    if any(sample.connections != UPSTREAMS for sample in [*samples, last]):
        found.append(f"there were {samples[-1].connections} connections, and {last.connections} in the end")
    if last.descriptors > IDLE_DESCRIPTORS:
        found.append(f"{last.descriptors} descriptors are open although nothing is connected")
    if last.threads > max(sample.threads for sample in samples[:quarter]):
        found.append(f"there are {last.threads} threads")
    return found


IDLE_DESCRIPTORS = 24
"""More than a daemon without connections has, fewer than it has upstreams here."""


async def main(rounds):
    with tempfile.TemporaryDirectory(prefix="gw-soak-") as folder:
        grown = await run(pathlib.Path(folder), rounds, lambda line: print(line, flush=True))
    for sentence in grown:
        print(f"GREW: {sentence}")
    print("flat" if not grown else "not flat")
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)))
