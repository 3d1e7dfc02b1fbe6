"""Restarts and kills the daemon at random moments and looks at what programs that use a client library were given.

Two servers count, one with connection state recovery and one without; two programs of each language follow each of them
through the library, one that lives all the time and one that is killed now and then and goes on behind its last line. The
daemon, whose upstreams have `history.disk`, ends over and over: a third of the times it hands its clients over, as at an
upgrade, else it is mostly killed as the kernel would kill it. The servers die now and then too. In the end each program has
every number once and in order, or inside a gap that it was told of; of the server with recovery only where that began
afresh.

`python client_loop.py --rounds 50` is the long form; the test suite runs a short one.
"""

import asyncio
import collections
import json
import os
import random
import shutil
import sys
import time

import kill_loop
import processes
import swift_client
from patience import end
from programs import GATEWAYD, ROOT
from service_manager import ManagedDaemon
from subscriber_loop import Account, CountingServer, quiesce

CLIENTS = ROOT / "clients"

PROGRAMS = {
    "python-asyncio": [sys.executable, CLIENTS / "python" / "tests" / "follow.py"],
    "python-sync": [sys.executable, CLIENTS / "python" / "tests" / "follow.py", "--sync"],
    "node": ["node", CLIENTS / "node" / "tests" / "follow.js"],
    "swift": [swift_client.BINARIES / "Follow"],
}
"""Language → the program that prints what a subscription to an upstream yields, behind a position."""


def present():
    """The languages that this machine has; of Swift the compiler makes the program."""
    return [one for one, (program, *_) in PROGRAMS.items() if shutil.which("swift" if one == "swift" else program)]


class Follower:
    """A program of a language; with `patience` it is killed after so many lines, on the average."""

    def __init__(self, account, language, daemon, upstream, patience=None):
        self.account, self.language, self.daemon, self.upstream = account, language, daemon, upstream
        self.patience = patience
        self.starts = 0

    async def run(self):
        """Until it is cancelled."""
        while True:
            self.starts += 1
            assert self.patience or self.starts == 1, f"{self.account.name} ended by itself"
            position = self.account.position
            process = await processes.spawn(
                *PROGRAMS[self.language], self.upstream, *([f"{position['epoch']}:{position['seq']}"] if position else []),
                env={**os.environ, "GATEWAYD_SOCKET": self.daemon.socket}, stdout=asyncio.subprocess.PIPE)
            try:
                left = random.randrange(1, 2 * self.patience) if self.patience else -1
                while left and (line := await process.stdout.readline()).endswith(b"\n"):
                    left -= 1
                    self.take(json.loads(line))
            finally:
                await processes.kill(process)

    def take(self, item):
        if "gap" in item:
            self.account.gap(item["gap"])
        else:
            self.account.event(item["epoch"], item["seq"], item["event"], item["args"])


class Result:
    """What the rounds showed."""

    def __init__(self, endings, servers, followers, last, seconds):
        self.endings, self.servers, self.followers, self.last, self.seconds = endings, servers, followers, last, seconds
        self.fresh = servers["recovering"].count("fresh")
        self.faults = []
        for follower in followers:
            account = follower.account
            self.faults += account.faults
            if account.last != last[follower.upstream]:
                self.faults.append(f"{account.name}: ends with {account.last} instead of {last[follower.upstream]}")
            # A gap stands only where the server began afresh: at first, after its own deaths, and after some of the
            # daemon's orderly stops.
            if follower.upstream == "recovering" and account.gaps > self.fresh - 1:
                self.faults.append(f"{account.name}: {account.gaps} gaps, {account.missed} missed, although the server "
                                   f"began afresh {self.fresh} times only")

    def __str__(self):
        ends = ", ".join(f"{number} {ending}" for ending, number in sorted(self.endings.items()))
        deaths = ", ".join(f"{name} {server.kills}" for name, server in self.servers.items())
        return (f"{ends}; numbers up to {self.last}; server deaths: {deaths}; the recovering server began afresh "
                f"{self.fresh} times, recovered {self.servers['recovering'].count('recovered')} times; "
                f"{len(self.faults)} faults; {self.seconds:.0f} s\n{self.table()}")

    def table(self):
        """A row for each language."""
        lines = ["| language | events | lost | doubled | inside announced gaps | programs started |", "|---|---|---|---|---|---|"]
        for language in dict.fromkeys(one.language for one in self.followers):
            some = [one for one in self.followers if one.language == language]
            events, lost, doubled, missed, gaps = (sum(getattr(one.account, name) for one in some)
                                                   for name in ("events", "lost", "doubled", "missed", "gaps"))
            lines.append(f"| {language} | {events:,} | {lost} | {doubled} | {missed:,} in {gaps} | "
                         f"{sum(one.starts for one in some)} |")
        return "\n".join(lines)

    def check(self):
        assert not self.faults, f"{self}: {self.faults[:20]}"
        assert all(one.account.events for one in self.followers), str(self)


class Rounds:
    """The daemon's lives, and how each of them ends."""

    def __init__(self, daemon, servers):
        self.daemon, self.servers = daemon, servers
        self.endings = collections.Counter()

    def decide(self):
        """How the daemon that is started next will end: the service manager's word is in its environment."""
        number = self.endings.total()
        self.ending = "hand-overs" if number % 3 == 1 else random.choices(("kills", "stops"), (9, 1))[0]
        self.daemon.environment["GATEWAYD_STOP_JOB"] = "stop" if self.ending == "stops" else "restart"

    async def one(self):
        """The daemon lives for a random moment; now and then a server dies with it, before it, or after it."""
        fate = random.random()
        victim = random.choice(list(self.servers.values()))
        if fate < 0.1:
            await victim.kill()
        await asyncio.sleep(random.choice((0.005, 0.05, 0.3, 0.8)) * random.random())
        ending = self.ending
        before = (await self.daemon.status())["daemon"]["handover"] if ending == "hand-overs" else 0
        await (self.daemon.crash() if ending == "kills" else self.daemon.stop())
        if 0.1 <= fate < 0.2:
            await victim.kill()
        self.endings[ending] += 1
        self.decide()
        await self.daemon.start()
        if ending == "hand-overs":
            assert (await self.daemon.status())["daemon"]["handover"] == before + 1
        if fate < 0.2:
            await asyncio.sleep(random.random() * 0.2)
            await victim.start()


async def rounds(folder, count, seed=None, tell=lambda text: None, languages=None):
    """Runs the loop; returns a `Result`."""
    seed = seed if seed is not None else random.randrange(1 << 32)
    random.seed(seed)
    tell(f"seed {seed}")
    languages = languages or present()
    if "swift" in languages:
        await asyncio.to_thread(swift_client.build)
    started = time.monotonic()
    servers = {"plain": CountingServer(folder, "plain"),
               "recovering": CountingServer(folder, "recovering", ["--recovery"])}
    for server in servers.values():
        await server.start()
    place = folder / "daemon"
    place.mkdir()
    history = {"disk": True, "events": 20_000, "bytes": "16MiB"}
    daemon = ManagedDaemon(GATEWAYD, place, {"upstream": {
        name: {"url": server.url, "keep": "always", "history": history, "reconnect": {"base": "10ms", "cap": "50ms"}}
        for name, server in servers.items()}})
    followers = []
    for upstream in servers:
        meanings = {}
        followers += [
            Follower(Account(f"{upstream}/{language}/{kind}", meanings), language, daemon, upstream, patience)
            for language in languages for kind, patience in (("steady", None), ("killed", 100))]
    life = Rounds(daemon, servers)
    life.decide()
    try:
        await daemon.start()
        tasks = [asyncio.ensure_future(follower.run()) for follower in followers]
        # A program that has no position yet, when the daemon dies, may rightly begin later.
        while not all(follower.account.position for follower in followers):
            await asyncio.sleep(0.01)
        for number in range(count):
            await life.one()
            failed = [task for task in tasks if task.done()]
            assert not failed, failed
            if number % 10 == 9:
                tell(f"{number + 1} rounds, {sum(one.account.events for one in followers)} events, "
                     f"{sum(len(one.account.faults) for one in followers)} faults")
        last = await quiesce(daemon, servers, [follower.account for follower in followers])
        await end(tasks)
        return Result(life.endings, servers, followers, last, time.monotonic() - started)
    finally:
        await daemon.close()
        for server in servers.values():
            await processes.kill(server.process)


if __name__ == "__main__":
    sys.argv[1:] = sys.argv[1:] or ["--rounds", "50"]
    kill_loop.main(rounds, __doc__)
