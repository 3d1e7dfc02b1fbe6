"""A fault of a fleet as one program sees it: when it hears that the link is down and up again, when events come again, and
what becomes of what it sends."""

import asyncio
import collections
import json
import time

from fleet_place import Network, Place
from fleet_programs import Sender
from fleet_redis import FleetRedis
from local_client import LocalClient
from patience import FACTOR, within
from test_fleet_redis_cluster import SETTINGS, join
from test_fleet_redis_replicas import Sentinel

TICKS = 50
"""Events of the server, a second."""
HOLDER, OTHER, THIRD = range(3)
PAUSE = 0.25
"""A silence of so many seconds is a pause, and no slow machine."""
PATIENCE = 90 * FACTOR
OWN_DEFAULTS = {"defaults": {"reconnect": {"base": "1s", "cap": "30s"}}, "limits": {"stop": "5s"}}
"""The daemon's own defaults in place of those that keep tests quick."""


class Witness(LocalClient):
    """A program that subscribes to everything, and notes when it hears what."""

    def __init__(self, reader, writer):
        super().__init__(reader, writer)
        self.heard = []
        self.last = 0
        """The number of the last tick."""

    async def _take(self, message):
        if "method" in message:
            params = message["params"]
            self.heard.append((time.monotonic(), message["method"], params))
            if params.get("event") == "tick":
                self.last = params["args"][0]
        await super()._take(message)

    async def subscribe(self):
        self.epoch = (await self.call("subscribe", upstream="chat", state=True))["epoch"]
        return self

    def noted(self, method, after=0.0):
        """The notifications after a moment, each with its time."""
        return [(at, params) for at, name, params in self.heard if name == method and at > after]


class Cluster(FleetRedis):
    """A cluster of as many nodes; those behind the third have no slots yet."""

    async def start(self):
        for one in self.servers:
            one.arguments = [*one.arguments, *SETTINGS]
            await one.start()
        await join(self.servers)


class Apart(FleetRedis):
    """Each server on the machine of a host; the first one, the master, on that of the host which is started first."""

    async def start(self):
        network = self.servers[0].wrapper[-1].removesuffix("hub")
        for number, one in enumerate(self.servers):
            one.wrapper, one.host = Network.wrapper(f"{network}h{number}"), f"10.78.1.{10 + number}"
        await super().start()


class Scene:
    """One fault, the place where it happens, and the program that watches it on a host; a second program sends there."""

    def __init__(self, folder, copies=0, servers=FleetRedis, replicas=None, **fleet):
        """`copies` as in `[fleet]`, whose other settings have their defaults but for `fleet`; `replicas` where Redis has some
        all the same."""
        tables = {**OWN_DEFAULTS, "fleet": {"copies": copies, **fleet}}
        self.place = Place(folder, TICKS, 0, "websocket", replicas or copies, tables, servers)
        self.redis, self.hosts, self.network = self.place.redis, self.place.hosts, self.place.network
        self.began, self.marks = None, {}
        self.tasks, self.sentinels = [], []

    async def start(self):
        await self.place.start()
        await self.place.until_up(PATIENCE)
        host = self.hosts[HOLDER]
        if not (await self.place.is_up(host))[1]:
            await (await host.client()).call("fleet.move", upstream="chat", host="h0")
            await within(self.moved(host), "the link to be moved", PATIENCE)
            await self.place.until_up(PATIENCE)

    async def moved(self, host):
        while not (await self.place.is_up(host))[1]:
            await asyncio.sleep(0.02)

    async def watch(self, number):
        host = self.hosts[number]
        self.witness = await (await Witness.connect(host.socket)).subscribe()
        host.clients.append(self.witness)
        self.sender = Sender("mixed", host, number, ("durable", "accepted", "sent", "request"), 80)
        self.tasks.append(asyncio.ensure_future(self.sender.run()))
        await self.told(1)

    async def told(self, number):
        """Waits until the witness was told that tick, or a later one."""
        async with self.witness.arrived:
            await within(self.witness.arrived.wait_for(lambda: self.witness.last >= number), f"event {number}", PATIENCE)

    async def sentinel(self, silence, quorum=1, server=None):
        """Starts a Sentinel on the machine of a Redis, which takes a master for dead after so many milliseconds of silence."""
        server = server or self.redis.master
        one = Sentinel(self.place.folder / f"sentinel{len(self.sentinels)}", server.wrapper, server.host)
        self.sentinels.append(await one.start(self.redis.master, quorum, silence))
        return one

    def begins(self):
        """From now on the fault is there."""
        self.began = time.monotonic()

    def mark(self, what):
        """Something that the program does not see, and that the times are to be read with."""
        self.marks[what] = time.monotonic() - self.began

    async def recover(self):
        """All is up again, the sender knows what became of everything, and the witness was told all events."""
        await self.place.until_up(PATIENCE)
        self.up = time.monotonic()
        self.sender.pause()
        await within(self.sender.quiet.wait(), "the sender to hear what became of its sends", PATIENCE)
        await self.place.until_empty(PATIENCE)
        await self.told(await self.place.server.last())
        self.noted = self.place.server.news()
        self.epoch = (await self.witness.call("history", upstream="chat", limit=1))["epoch"]
        (self.place.folder / "heard").write_text("".join(
            f"{at - self.began:.3f} {method} {json.dumps(params)}\n" for at, method, params in self.witness.heard))
        (self.place.folder / "sends").write_text("".join(
            f"{send.made - self.began:.3f} {send.level} {send.outcome} {send.key}\n" for send in self.sender.sends))

    async def close(self):
        for task in self.tasks:
            task.cancel()
        try:
            for one in self.sentinels:
                await one.close()
        finally:
            await self.place.close()

    def seen(self):
        """What the program saw, in seconds from the beginning of the fault."""
        noted, began = self.witness.noted, self.began
        down = [(at, params) for at, params in noted("state", began) if params["state"] != "connected"]
        up = [at for at, params in noted("state", began) if params["state"] == "connected"]
        ticks = [(at, params["args"][0]) for at, params in noted("event") if params["event"] == "tick"]
        events = [at for at, _ in ticks]
        numbers = [number for _, number in ticks]
        arrivals = [note["at"] for note in self.noted if "key" in note]
        return {
            "disconnected": down[0][0] - began if down else None,
            "connected": up[-1] - began if down and up else None,
            "events": self.again(events),
            "written": self.again(arrivals),
            **self.marks,
        }, {
            "reasons": sorted({params["reason"] for _, params in down if params.get("reason")}),
            "epoch": self.epoch != self.witness.epoch,
            "gaps": [params["reason"] + (f" of {params['count']}" if "count" in params else "")
                     for _, params in noted("gap", began)],
            "missed": sum(second - first - 1 for first, second in zip(numbers, numbers[1:]) if second > first),
            "doubled": len(numbers) - len(set(numbers)),
            "sends": self.sends(),
        }

    def again(self, times):
        """When the longest pause since the fault was over; None where there was none."""
        pause, over = max((second - first, second) for first, second in zip(times, times[1:]) if second > self.began)
        return over - self.began if pause > PAUSE else None

    def sends(self):
        """Of each level how many sends were under way at the fault or made while it lasted, and what became of them."""
        arrivals = collections.Counter(note["key"] for note in self.noted if "key" in note)
        counts = collections.defaultdict(collections.Counter)
        for send in self.sender.sends:
            count = counts[send.level]
            count["twice"] += arrivals[send.key] > 1
            count["missing"] += send.is_promised and not arrivals[send.key]
            if self.began - 0.01 <= send.made <= self.up:
                count["made"] += 1
                count[send.outcome] += 1
                count["lost"] += send.outcome == "done" and not arrivals[send.key]
        return counts
