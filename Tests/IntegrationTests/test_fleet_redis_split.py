"""Three nodes of Redis with a replica each and a Sentinel each, split by the network: with `copies` one side works, and the
other is down."""

import asyncio

import pytest

import fleet_place
import processes
import redis_server
from daemon import Daemon
from fleet_hosts import holder
from patience import SOON, within
from programs import GATEWAYD
from test_fleet_redis_replicas import Sentinel

pytestmark = pytest.mark.skipif(redis_server.program() is None, reason=redis_server.MISSING)

COUNT = 3


class Place:
    """Three machines, each with a Redis, a Sentinel and a host of the fleet, and a server that all of them reach."""

    def __init__(self, folder, network):
        self.folder, self.network = folder, network
        self.nodes, self.sentinels, self.hosts = [], [], []
        wrapper = network.wrapper(network.hub)
        self.server = fleet_place.NotingServer(folder, 5, host=network.address("server"), wrapper=wrapper)

    async def start(self):
        await self.server.start()
        for number in range(COUNT):
            one = redis_server.RedisServer(
                self.folder / f"redis{number}", ["--protected-mode", "no", "--repl-diskless-sync-delay", "0"])
            one.wrapper, one.host = self.network.wrapper(self.network.hosts[number]), f"10.78.1.{10 + number}"
            self.nodes.append(await one.start())
        for one in self.nodes[1:]:
            await one.follow(self.nodes[0])
        for one in self.nodes[1:]:
            await one.until_linked()
        for number, one in enumerate(self.nodes):
            self.sentinels.append(await Sentinel(self.folder / f"sentinel{number}", one.wrapper, one.host).start(
                self.nodes[0], quorum=2))
        for number in range(COUNT):
            place = self.folder / f"h{number}"
            place.mkdir()
            self.hosts.append(await Daemon(GATEWAYD, place, {
                "fleet": {"name": "split", "redis": [one.url for one in self.nodes], "host": f"h{number}", "lease": "1s",
                          "grace": "1s", "copies": 1},
                "upstream": {"chat": {"url": self.server.url, "fleet": True, "keep": "always",
                                      "headers": {"X-Host": f"h{number}"}}},
            }, wrapper=self.network.wrapper(self.network.hosts[number])).start())
        for one in self.sentinels:
            await one.says("+sentinel", times=COUNT - 1)

    async def close(self):
        failures = await asyncio.gather(*(host.close() for host in self.hosts), return_exceptions=True)
        for one in self.sentinels + self.nodes:
            await one.close()
        await processes.kill(self.server.process)
        for failure in failures:
            if failure:
                raise failure

    async def noted(self, keys):
        """Waits until the server has noted these; returns all that it has noted."""
        notes = []

        async def ask():
            while not keys <= {one["key"] for one in notes if "event" in one}:
                notes.extend(self.server.news())
                await asyncio.sleep(0.02)

        await within(ask(), f"the server to get {keys}", 3 * SOON)
        return [one for one in notes if "event" in one]


@pytest.fixture
async def place(folder):
    network, why = fleet_place.network()
    if not network:
        pytest.skip(f"no network namespaces: {why}")
    place = Place(folder, network)
    try:
        await place.start()
        yield place
    finally:
        try:
            await place.close()
        finally:
            network.remove()


async def send(host, key):
    client = await host.client()
    await client.call("send", upstream="chat", event="d", args=[key], delivery="durable")


async def test_the_side_with_a_replica_works_and_the_other_is_down(place):
    # The holder is on the side that will be alone with the master.
    alone, *others = place.hosts
    for host in others:
        await host.stop()
    await holder([alone])
    for host in others:
        await host.start()
        await host.connected(upstream="chat")
    await send(alone, "before")
    assert len(await place.noted({"before"})) == 1
    place.network.cut(0, "redis")
    await alone.until(
        lambda status: any(one["reason"] == "fleet" for one in status["connections"] if one["fleet"]["role"] == "follower"),
        "the side without a replica to be down", 2 * SOON)
    await send(alone, "alone")
    second = await holder(others)
    await send(second, "others")
    assert [one["key"] for one in await place.noted({"others"})] == ["others"]
    (down,) = [one for one in (await alone.status())["connections"] if one["fleet"]["role"] == "follower"]
    detail = down["fleet"]["redis"]["detail"]
    assert down["state"] != "connected" and "10.78.1.10:" in detail and "replicas that confirm" in detail, down
    place.network.mend(0, "redis")
    assert [one["key"] for one in await place.noted({"alone"})] == ["alone"]
    client = await alone.connected(upstream="chat")
    assert (await client.call("request", upstream="chat", event="echo", args=["again"]))["args"] == ["again"]
