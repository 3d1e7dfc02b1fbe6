"""Restarts the service, one restart after the other, under thousands of programs that follow one upstream all the time.

A service manager played by Python hands their connections from daemon to daemon. Each program must hear each number once;
told is how long one of them heard nothing, and what the daemon has in memory after each restart, which must stay flat.

`python restart_load.py --clients 10000 --restarts 10 --rate 10` is the long form, and `make restart-load` runs it with the
release build; the test suite runs a short one. It needs as many descriptors as clients and some (`ulimit -n`).
"""

import argparse
import asyncio
import contextlib
import json
import os
import pathlib
import resource
import shutil
import sys
import tempfile
import time

import memory
import processes
from patience import SOON, within
from programs import GATEWAYD
from service_manager import ManagedDaemon
from subscriber_loop import CountingServer

HERE = pathlib.Path(__file__).resolve().parent
SPARE = 1_000
"""Descriptors that a daemon needs beside those of its clients."""
GROWTH = 1.1
"""So many times the memory after the first restart may be in use after a later one."""


class Followers:
    """The programs, in a process of their own."""

    def __init__(self, process, patience):
        self.process, self.patience = process, patience

    async def line(self, what):
        line = await within(self.process.stdout.readline(), what, self.patience)
        assert line, f"the followers ended before {what}"
        return line

    async def ask(self, question):
        self.process.stdin.write(f"{question}\n".encode())
        return json.loads(await self.line(f"the answer to {question!r}"))


class Result:
    """What the restarts showed."""

    def __init__(self, clients, rounds, total):
        self.clients, self.rounds, self.total = clients, rounds, total

    def __str__(self):
        first, *later = (one["memory"] / 1e6 for one in self.rounds[1:])
        silence = max(one["silence"] for one in self.rounds[1:])
        return (f"{self.clients} clients, {len(self.rounds) - 1} restarts, all connections kept: {self.total['events']} "
                f"deliveries, {self.total['lost']} lost, {self.total['doubled']} doubled, {self.total['gap']} gaps; longest "
                f"silence of a client {silence:.2f} s; memory after the first restart {first:.1f} MB, at most "
                f"{max(later, default=first):.1f} MB after a later one")

    def check(self):
        faults = {name: self.total[name] for name in ("lost", "doubled", "gap") if self.total[name]}
        assert not faults, f"{faults}: {self}"
        first, *later = (one["memory"] for one in self.rounds[1:])
        assert not memory.COUNTS or all(one <= GROWTH * first for one in later), [first, *later]


async def run(folder, clients, restarts, rate, tell=lambda text: None):
    """Restarts the daemon so often; returns a `Result`."""
    patience = 6 * SOON + clients / 50
    server = CountingServer(folder, "counting", ["--recovery", "--rate", rate])
    await server.start()
    place = folder / "daemon"
    place.mkdir()
    daemon = ManagedDaemon(GATEWAYD, place, {
        "limits": {"stop": "30s", "clients": clients + SPARE, "clients_per_user": clients + SPARE},
        "upstream": {"chat": {"url": server.url, "keep": "always", "reconnect": {"base": "10ms", "cap": "50ms"},
                              "history": {"events": 100_000, "bytes": "64MiB"}}}})
    process = None
    try:
        await daemon.start()
        process = await processes.spawn(
            sys.executable, HERE / "followers.py", daemon.socket, clients, "chat", stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE)
        followers = Followers(process, patience)
        assert await followers.line("each had heard a number") == b"ready\n"
        rounds = []
        for number in range(restarts + 1):
            began = time.monotonic()
            if number:
                await daemon.restart()
            took = time.monotonic() - began
            # All hear the next daemon for a second, and its memory is that of a daemon at work.
            told = await followers.ask(f"for {round(rate)}")
            rounds.append({**told, "took": took, "memory": memory.resident(daemon), "peak": memory.peak(daemon)})
            tell(f"{'restart ' + str(number) if number else 'before':>10}: {took:5.2f} s from SIGTERM to READY=1, "
                 f"longest silence {told['silence']:5.2f} s, memory {rounds[-1]['memory'] / 1e6:6.1f} MB, at its highest "
                 f"{rounds[-1]['peak'] / 1e6:6.1f} MB, descriptors {len(os.listdir(f'/proc/{daemon.process.pid}/fd'))}")
        last = await server.finish()
        total = await followers.ask(f"until {last}")
        status = await daemon.status()
        assert status["daemon"]["handover"] == restarts
        return Result(clients, rounds, total)
    finally:
        if process:
            await processes.kill(process)
        await daemon.close()
        await processes.kill(server.process)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=10_000)
    parser.add_argument("--restarts", type=int, default=10)
    parser.add_argument("--rate", type=float, default=10, help="events a second")
    options = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = options.clients + SPARE
    if hard != resource.RLIM_INFINITY and hard < needed:
        parser.error(f"{needed} descriptors are needed, and {hard} are permitted")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, needed), hard))
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gw-"))
    try:
        with contextlib.redirect_stdout(sys.stderr):
            result = asyncio.run(run(folder, options.clients, options.restarts, options.rate,
                                     lambda text: print(text, flush=True)))
        print(result)
        result.check()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
