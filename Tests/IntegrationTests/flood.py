"""Durable sends by the million while the upstream is down: memory and disk stay within the limits, and nobody else waits.

As a program: `flood.py [COUNT [CONFIGURATION …]]` prints a table and ends with 1 when a limit was passed.
"""

import asyncio
import collections
import json
import pathlib
import re
import sys
import tempfile
import time

import memory
from daemon import Daemon
from local_client import LocalClient, connected_socket
from programs import GATEWAYD

DOWN = "http://127.0.0.1:9"
"""Nobody listens on the discard port."""

CLIENTS = 4
PIPELINE = 128
PAYLOAD = "x" * 100

RESIDENT_BASE, RESIDENT_PER_ENTRY = 40 << 20, 2_500
"""Bytes of memory that a daemon takes without entries, and for each that is queued or shown."""
DISK_BASE, DISK_PER_ENTRY = 40 << 20, 1_000
"""Bytes on the disk without entries (the write-ahead log), and for each."""
STALL_LIMIT = 0.25
"""Seconds that a local client may have to wait for an answer meanwhile. Debug builds and loaded machines included."""


def configurations(count):
    everything = {"entries": count * 2, "total_entries": count * 4, "bytes": "4GiB", "total_bytes": "8GiB"}
    few = {"entries": max(100, count // 100)}
    return {
        "as delivered": {},
        "a hundredth, drop_oldest": {**few, "when_full": "drop_oldest"},
        "a hundredth, reject": few,
        "64 KiB": {"bytes": "64KiB"},
        "all of them": everything,
    }


class Sender:
    """One program that sends durably as fast as it is answered."""

    def __init__(self, path, count):
        self.path = path
        self.count = count
        self.answers = collections.Counter()

    async def run(self):
        reader, writer = await asyncio.open_unix_connection(sock=connected_socket(self.path), limit=1 << 24)
        for first in range(0, self.count, PIPELINE):
            numbers = range(first, min(first + PIPELINE, self.count))
            writer.write(b"".join(json.dumps({"jsonrpc": "2.0", "id": number, "method": "send", "params": {
                "url": DOWN, "event": "e", "args": [PAYLOAD], "delivery": "durable"}}).encode() + b"\n"
                for number in numbers))
            for _ in numbers:
                self.answers[self.outcome(await reader.readline())] += 1
        writer.close()

    @staticmethod
    def outcome(line):
        return "durable" if b'"durable"' in line else json.loads(line)["error"]["data"]["type"]


class Watch:
    """A program that asks for next to nothing, and notes how long it waits."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.worst = 0
        self.is_over = False

    async def __aenter__(self):
        self.client = await LocalClient.connect(self.daemon.socket)
        self.task = asyncio.ensure_future(self.run())
        return self

    async def run(self):
        while not self.is_over:
            began = time.monotonic()
            await self.client.call("ping", seconds=600)
            self.worst = max(self.worst, time.monotonic() - began)
            await asyncio.sleep(0.002)

    async def __aexit__(self, *_):
        self.is_over = True
        await self.task
        await self.client.close()


def resident(daemon):
    status = pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) << 10


def on_disk(daemon):
    return sum(path.stat().st_blocks * 512 for path in (daemon.folder / "state").iterdir())


class Round:
    """What one configuration made of the flood."""

    def __init__(self, name):
        self.name = name
        self.stalls = {}

    async def run(self, folder, settings, count):
        folder.mkdir()
        daemon = Daemon(GATEWAYD, folder, {"outbox": settings, "log": {"level": "error"}, "limits": {"stop": "1s"}})
        try:
            await daemon.start()
            await self.flood(daemon, count)
            await self.steer(daemon)
            began = time.monotonic()
            await daemon.crash()
            await daemon.start()
            self.restart = time.monotonic() - began
            await self.take_back(daemon)
        finally:
            await daemon.close()

    async def flood(self, daemon, count):
        senders = [Sender(daemon.socket, count // CLIENTS) for _ in range(CLIENTS)]
        began = time.monotonic()
        await asyncio.gather(*(sender.run() for sender in senders))
        self.seconds = time.monotonic() - began
        self.answers = sum((sender.answers for sender in senders), collections.Counter())
        outbox = (await daemon.status())["daemon"]["outbox"]
        self.queued, self.finished = outbox["queued"]["count"], outbox["finished"]
        self.resident, self.disk = resident(daemon), on_disk(daemon)

    async def steer(self, daemon):
        """What an administrator does with a full outbox."""
        client = await LocalClient.connect(daemon.socket)
        await self.timed("list", daemon, client.call("outbox.list", seconds=600, limit=1_000))
        await self.timed("status", daemon, client.call("status", seconds=600))
        await self.timed("retry", daemon, client.call("outbox.retry", seconds=600, url=DOWN, states=["queued"]))
        await self.timed("reload", daemon, client.call("reload", seconds=600))
        await client.close()

    async def take_back(self, daemon):
        client = await LocalClient.connect(daemon.socket)
        answer = await self.timed("cancel", daemon, client.call("outbox.cancel", seconds=600, url=DOWN))
        self.cancelled = answer["count"]
        await self.timed("purge", daemon, client.call("outbox.purge", seconds=600))
        await client.close()

    async def timed(self, name, daemon, call):
        async with Watch(daemon) as watch:
            # The watch has its rhythm.
            await asyncio.sleep(0.02)
            watch.worst = 0
            answer = await call
            await asyncio.sleep(0.02)
        self.stalls[name] = watch.worst
        return answer

    def problems(self, count):
        kept = self.queued + self.finished
        most = RESIDENT_BASE + RESIDENT_PER_ENTRY * kept
        disk = DISK_BASE + DISK_PER_ENTRY * kept
        if sum(self.answers.values()) != count // CLIENTS * CLIENTS:
            yield f"{sum(self.answers.values())} answers to {count} sends"
        if self.cancelled != self.queued:
            yield f"{self.queued} were queued, {self.cancelled} were there after a crash"
        if self.resident > most and memory.COUNTS:
            yield f"{self.resident >> 20} MiB of memory for {kept} entries, more than {most >> 20}"
        if self.disk > disk:
            yield f"{self.disk >> 20} MiB on the disk for {kept} entries, more than {disk >> 20}"

    def __str__(self):
        stalls = ", ".join(f"{name} {seconds * 1000:.0f}" for name, seconds in self.stalls.items())
        return (f"{self.name}: {dict(self.answers)} in {self.seconds:.0f} s; queued {self.queued:,}, shown "
                f"{self.finished:,}; RSS {self.resident >> 20} MiB, disk {self.disk >> 20} MiB; READY after a crash "
                f"{self.restart:.2f} s; longest wait of another client in ms: {stalls}")


async def run(folder, count, tell=lambda line: None, only=None):
    """Runs the flood against each configuration. Returns the rounds, and what passed a limit, as sentences."""
    rounds, found = [], []
    for number, (name, settings) in enumerate(configurations(count).items()):
        if only and name not in only:
            continue
        one = Round(name)
        await one.run(folder / f"f{number}", settings, count)
        tell(str(one))
        rounds.append(one)
        found += [f"{name}: {problem}" for problem in one.problems(count)]
    return rounds, found


async def main(count, only):
    with tempfile.TemporaryDirectory(prefix="gw-flood-") as folder:
        rounds, found = await run(pathlib.Path(folder), count, lambda line: print(line, flush=True), only)
    for one in rounds:
        found += [f"{one.name}: {name} held others up for {seconds:.2f} s"
                  for name, seconds in one.stalls.items() if seconds > STALL_LIMIT]
    for sentence in found:
        print(f"PASSED A LIMIT: {sentence}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000, sys.argv[2:])))
