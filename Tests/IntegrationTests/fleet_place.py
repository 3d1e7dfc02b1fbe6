"""Three hosts of one fleet, their Redis and their server, and what can go wrong with each of them.

As root each host is in a network namespace of its own, with two virtual cables: one to Redis and one to the server. A cable
is cut in the middle, where the host does not see it. Elsewhere all are on 127.0.0.1, and no cable is cut.
"""

import asyncio
import itertools
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys

import processes
from chat import VENVS
from daemon import Daemon
from fleet_redis import FleetRedis
from patience import FACTOR, SOON, within
from programs import GATEWAYD, ROOT

LEASE = min(max(1.0, FACTOR), 5.0)
"""In seconds. A holder that is slower than that gives the link away again and again."""
COUNT = 3


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True, timeout=10)


class Network:
    """A hub with two bridges, for Redis and for the server, and a namespace per host with a cable to each."""

    NUMBERS = {"redis": 1, "server": 2}
    made_ever = itertools.count()

    def __init__(self):
        name = f"gwf{os.getpid()}-{next(self.made_ever)}"
        self.hub = name + "hub"
        self.hosts = [f"{name}h{number}" for number in range(COUNT)]
        self.made = []

    def lay(self):
        for name in (self.hub, *self.hosts):
            # Before it is there, because it may be left half made.
            self.made.append(name)
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        for what, network in self.NUMBERS.items():
            # With an address of its own: a bridge's follows its ports, and hosts would not find it when one has gone.
            ip("-n", self.hub, "link", "add", "name", what, "address", f"02:00:00:00:00:{network:02}", "type", "bridge")
            ip("-n", self.hub, "address", "add", f"10.78.{network}.1/24", "dev", what)
            ip("-n", self.hub, "link", "set", what, "up")
            for number, host in enumerate(self.hosts):
                far = f"{what}{number}"
                ip("-n", self.hub, "link", "add", "name", far, "type", "veth", "peer", "name", what, "netns", host)
                ip("-n", self.hub, "link", "set", far, "up", "master", what)
                ip("-n", host, "address", "add", f"10.78.{network}.{10 + number}/24", "dev", what)
                ip("-n", host, "link", "set", what, "up")

    def address(self, what):
        return f"10.78.{self.NUMBERS[what]}.1"

    @staticmethod
    def wrapper(name):
        return ["ip", "netns", "exec", name]

    def cut(self, number, what):
        """What a host sends to Redis or the server, and they to it, is lost from now on."""
        ip("-n", self.hub, "link", "set", f"{what}{number}", "nomaster")

    def mend(self, number, what):
        ip("-n", self.hub, "link", "set", f"{what}{number}", "master", what)

    def remove(self):
        for name in self.made:
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True, timeout=10)


def network():
    """A network, or None and the reason why there is none."""
    if os.geteuid() != 0:
        return None, "not root"
    one = Network()
    try:
        one.lay()
    except (OSError, subprocess.SubprocessError) as problem:
        one.remove()
        return None, str(getattr(problem, "stderr", None) or problem).strip()
    return one, None


class Clocks:
    """The wall clocks of programs, which are set and show another time from then on; the monotonic ones go on."""

    SOURCE = ROOT / "Tests" / "servers" / "wall_clock.c"
    MISSING = "there is no C compiler"

    def __init__(self, folder, compiler):
        self.folder, self.library = folder, folder / "wall_clock.so"
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", self.library, self.SOURCE], check=True, timeout=60)
        self.library.chmod(0o755)
        self.files = []

    def environment(self, name):
        """That of a program with a clock of its own."""
        file = self.folder / f"{name}.clock"
        file.write_bytes(bytes(8))
        file.chmod(0o644)
        self.files.append(file)
        return {"LD_PRELOAD": str(self.library), "WALL_CLOCK": str(file)}

    def turn(self):
        for file in self.files:
            # In place: the programs look into this very file.
            with open(file, "r+b") as clock:
                clock.write(int(random.uniform(-3600e9, 3600e9)).to_bytes(8, sys.byteorder, signed=True))


def clocks(folder):
    """Clocks, or None where they cannot be made."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    return Clocks(folder, compiler) if compiler else None


class NotingServer:
    """The server, and its ledger so far."""

    def __init__(self, folder, rate, host="127.0.0.1", wrapper=(), questions=0):
        self.ledger = folder / "ledger"
        self.rate, self.host, self.wrapper, self.questions = rate, host, list(wrapper), questions
        self.rest = b""
        self.read = 0

    async def start(self):
        self.process = await processes.spawn(
            *self.wrapper, VENVS / "eio4" / "bin" / "python", ROOT / "Tests" / "servers" / "noting_server.py", "--host",
            self.host, "--ledger", self.ledger, "--rate", self.rate, "--questions", self.questions, stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE)
        self.url = f"http://{self.host}:{(await self._line())['port']}"

    async def _line(self):
        return json.loads(await within(self.process.stdout.readline(), "a line of the noting server", 4 * SOON))

    async def last(self):
        """The number that was told last."""
        self.process.stdin.write(b"last\n")
        return (await self._line())["last"]

    async def answer(self):
        """Who answered one question more, with its number; None where nobody did."""
        self.process.stdin.write(b"ask\n")
        return (await self._line())["answer"]

    def news(self):
        """What was noted since it was asked last."""
        with open(self.ledger, "rb") as file:
            file.seek(self.read)
            data = file.read()
        self.read += len(data)
        *lines, self.rest = (self.rest + data).split(b"\n")
        return [json.loads(line) for line in lines]


class Place:
    """All of it. The server tells so many events a second; after `silence` seconds a host without Redis is down, and one
    that says nothing counts as dead. With `copies` so many replicas of Redis must confirm, and it is failed over.
    `tables` stand in the configuration of each host then, with a `[fleet]` in place of that; `servers` are its Redis."""

    def __init__(self, folder, rate, silence, transport, copies=0, tables=None, servers=FleetRedis):
        self.silence, self.transport, self.copies = silence, transport, copies
        self.tables = tables or {"fleet": {
            "lease": f"{LEASE:g}s", "copies": copies, "grace": f"{silence:g}s", "adopt": f"{silence:g}s"}}
        self.network, self.without_network = network()
        self.redis = servers(folder, copies, LEASE)
        self.clocks = clocks(folder)
        self.without_clocks = None if self.clocks else Clocks.MISSING
        for server in self.redis.servers if self.clocks else ():
            server.environment = self.clocks.environment(server.folder.name)
        where = {}
        if self.network:
            hub = self.network.wrapper(self.network.hub)
            for server in self.redis.servers:
                server.wrapper, server.host = hub, self.network.address("redis")
            where = {"host": self.network.address("server"), "wrapper": hub}
        self.server = NotingServer(folder, rate, questions=4, **where)
        self.folder: pathlib.Path = folder
        self.hosts = []

    async def start(self):
        await self.redis.start()
        await self.server.start()
        for number in range(COUNT):
            place = self.folder / f"h{number}"
            place.mkdir()
            self.hosts.append(Daemon(GATEWAYD, place, {
                **self.tables,
                "fleet": {"name": "loop", "redis": self.redis.urls, "host": f"h{number}", **self.tables["fleet"]},
                "upstream": {"chat": {"url": self.server.url, "fleet": True, "keep": "always",
                                      "transports": [self.transport], "headers": {"X-Host": f"h{number}"}}},
            }, environment=self.clocks and self.clocks.environment(f"h{number}"), wrapper=self.network.wrapper(self.network.hosts[number]) if self.network else ()))
        for host in self.hosts:
            await host.start()

    async def close(self):
        try:
            failures = await asyncio.gather(*(host.close() for host in self.hosts), return_exceptions=True)
        finally:
            await self.redis.close()
            await processes.kill(self.server.process)
            if self.network:
                self.network.remove()
        for failure in failures:
            if failure:
                raise failure

    async def is_up(self, host):
        """Whether its programs are connected, and whether it holds the link and that is up too."""
        links = {one["fleet"]["role"]: one["state"] for one in (await host.status())["connections"]}
        return links.get("follower") == "connected", links.get("holder") == "connected"

    async def until_up(self, patience):
        """Until all hosts are connected, and one of them holds."""
        async def ask():
            while True:
                states = [await self.is_up(host) for host in self.hosts]
                if all(follows for follows, _ in states) and sum(holds for _, holds in states) == 1:
                    return
                await asyncio.sleep(0.02)

        await within(ask(), "all hosts to be connected, and one to hold the link", patience)

    async def until_empty(self, patience):
        """Until nothing waits to be sent."""
        for host in self.hosts:
            await host.until(
                lambda status: status["daemon"]["outbox"]["queued"]["count"] == 0 and all(
                    one["queue"]["count"] == 0 for one in status["connections"]), "the queues to empty", patience)

    # What can go wrong. Each lasts for as long as it says, and is over then. It may return for how long Redis could not be
    # used, where that is another time.

    async def kill_host(self, number, seconds):
        await self.hosts[number].crash()
        await asyncio.sleep(seconds)
        await self.hosts[number].start()

    async def stop_host(self, number, seconds):
        await self.hosts[number].stop()
        await asyncio.sleep(seconds)
        await self.hosts[number].start()

    async def pause_host(self, number, seconds):
        self.hosts[number].send_signal(signal.SIGSTOP)
        await asyncio.sleep(seconds)
        self.hosts[number].send_signal(signal.SIGCONT)

    async def kill_redis(self, _, seconds):
        return await self.redis.kill([self.redis.master], seconds)

    async def pause_redis(self, _, seconds):
        return await self.redis.pause([self.redis.master], seconds)

    async def kill_replica(self, _, seconds):
        await self.redis.kill([random.choice(self.redis.replicas)], seconds)
        return 0

    async def pause_replica(self, _, seconds):
        await self.redis.pause([random.choice(self.redis.replicas)], seconds)
        return 0

    async def pause_replicas(self, _, seconds):
        return await self.redis.pause(self.redis.replicas, seconds)

    async def fail_over_dead(self, _, seconds):
        return await self.redis.fail_over_dead(seconds)

    async def fail_over_paused(self, _, seconds):
        return await self.redis.fail_over_paused(seconds)

    async def fail_over_alive(self, _, seconds):
        return await self.redis.fail_over_alive(seconds)

    async def empty_redis(self, _, seconds):
        """It forgets everything, as a server without a file does at a restart."""
        await self.redis.master.command("FLUSHALL")
        await asyncio.sleep(seconds)

    async def turn_clocks(self, _, seconds):
        """The wall clock of each host, and of Redis, shows a time of its own from now on, up to an hour off."""
        self.clocks.turn()
        await asyncio.sleep(seconds)

    async def kill_all(self, _, seconds):
        await asyncio.gather(*(host.crash() for host in self.hosts))
        await asyncio.sleep(seconds)
        await asyncio.gather(*(host.start() for host in self.hosts))

    async def cut(self, number, seconds, *whats):
        for what in whats:
            self.network.cut(number, what)
        await asyncio.sleep(seconds)
        for what in whats:
            self.network.mend(number, what)

    async def cut_redis(self, number, seconds):
        await self.cut(number, seconds, "redis")

    async def cut_server(self, number, seconds):
        await self.cut(number, seconds, "server")

    async def cut_both(self, number, seconds):
        await self.cut(number, seconds, "redis", "server")
