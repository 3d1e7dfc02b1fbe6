"""A Redis that one host does not reach, or none for longer than a lease: what is written meanwhile, and what is told afterwards."""

import asyncio

import pytest

from fleet_hosts import held, holder, needs_redis, ready, redis  # pylint: disable=unused-import
from patience import QUIET, SOON
from relay import Relay
from test_fleet_redis import fleet

pytestmark = needs_redis

SKIPPED = 1 << 20
"""The numbers that are left out where nobody can know that none was lost."""


class Way(Relay):
    """A host's way to Redis, which can be cut and mended."""

    is_cut = False

    async def _serve(self, reader, writer):
        try:
            if not self.is_cut:
                await super()._serve(reader, writer)
        finally:
            writer.transport.abort()

    def cut(self):
        self.is_cut = True
        for task in self.tasks:
            task.cancel()

    def mend(self):
        self.is_cut = False


@pytest.fixture
async def both(daemons, redis, chat):
    """Two hosts, each with a way of its own to Redis, and the ways; the first has the link."""
    ways, made = [], []
    for name in ("h0", "h1"):
        ways.append(await Way(redis.port).start())
        made.append(await daemons({
            "fleet": {"name": "test", "redis": [ways[-1].url.replace("http", "redis")], "host": name, "lease": "1s",
                      "grace": "2s", "adopt": "30s"},
            "upstream": {"chat": {"url": chat.url, "fleet": True, "keep": "always"}}}))
        await ready(made[-1])
    assert await holder(made) is made[0]
    yield made, ways
    for way in ways:
        await way.close()


def follower(status):
    return next(one for one in status["connections"] if one["fleet"]["role"] == "follower")


async def down(host):
    """Waits until a host is down for the fleet's reason."""
    await host.until(
        lambda status: (follower(status)["state"], follower(status)["reason"]) != ("connected", None)
        and follower(status)["reason"] == "fleet", "the reason fleet", 2 * SOON)


async def closed(host):
    """Waits until nothing of a host is connected."""
    await host.until(
        lambda status: all(one["state"] != "connected" for one in status["connections"]), "the link to be closed", 2 * SOON)


async def test_a_host_without_redis_is_down_after_grace_and_reads_on_without_a_gap_when_it_is_back(both, redis, chat):
    (first, second), (_, way) = both
    near, far = await ready(first), await ready(second)
    for client in (near, far):
        await client.call("subscribe", upstream="chat", events=["e"])
    await chat.emit("e", 0)
    await near.event()
    before = await far.event()
    way.cut()
    # Sends wait there meanwhile, in the order of their acceptance, and others notice nothing.
    await down(second)
    for number in range(5):
        assert (await far.call("send", upstream="chat", event="d", args=[number], delivery="durable"))["state"] == "durable"
    for number in range(1, 6):
        await chat.emit("e", number)
    assert [one["args"] for one in await near.events(5)] == [[number] for number in range(1, 6)]
    assert (await near.call("request", upstream="chat", event="echo", args=["x"]))["args"] == ["x"]
    assert await chat.received(0, "d") == []
    way.mend()
    assert [one["args"][0] for one in await chat.received(5, "d")] == list(range(5))
    events = await far.events(5)
    assert [(one["seq"], one["args"]) for one in events] == [(before["seq"] + number, [number]) for number in range(1, 6)]
    assert [note for method, note in far.notes if method == "gap"] == []


async def test_a_holder_without_redis_writes_nothing_from_a_lease_on_and_another_host_takes_over(both, chat):
    (first, second), (way, _) = both
    client = await ready(first)
    way.cut()
    assert await holder([second]) is second
    await client.call("send", upstream="chat", event="d", args=["late"], delivery="durable")
    await down(first)
    assert (await (await ready(second)).call("request", upstream="chat", event="echo", args=["x"]))["args"] == ["x"]
    assert await chat.received(0, "d") == []
    # Its link outlives Redis for as long as it might be the one that goes on, and says nothing.
    await closed(first)
    await chat.links(1)


async def test_a_redis_that_is_away_for_longer_than_lease_and_grace_is_a_new_epoch_in_the_same_term(both, redis, chat):
    (first, second), _ = both
    client = await ready(second)
    answer = await client.call("subscribe", upstream="chat", events=["e"])
    term = fleet(await second.status())["term"]
    await redis.kill()
    await down(second)
    await closed(first)
    await client.call("send", upstream="chat", event="d", args=[1], delivery="durable")
    await asyncio.sleep(QUIET)
    assert await chat.received(0, "d") == [] and (await chat.counters())["links"] == 0
    assert await redis.restart()
    assert [one["args"] for one in await chat.received(1, "d")] == [[1]]
    gap = await client.gap()
    assert gap["reason"] == "upstream" and gap["epoch"] != answer["epoch"]
    shown = fleet(await second.status())
    assert (shown["term"], shown["holder"]) == (term, "h0") and held(await first.status())


async def test_the_first_take_over_after_a_restart_of_redis_leaves_numbers_out(both, redis, chat):
    (first, second), _ = both
    client = await ready(second)
    answer = await client.call("subscribe", upstream="chat", events=["e"])
    await chat.emit("e", 1)
    before = await client.event()
    await redis.kill()
    assert await redis.restart()
    # The holder goes on in its epoch.
    await chat.emit("e", 2)
    event = await client.event()
    assert (event["args"], event["seq"]) == ([2], before["seq"] + 1)
    await first.crash()
    await holder([second])
    gap = await client.gap()
    assert gap["epoch"] != answer["epoch"] and gap["reason"] == "upstream"
    await client.call("wait", upstream="chat", state="connected", timeout=int(SOON * 1000))
    await chat.emit("e", 3)
    after = await client.event()
    assert after["args"] == [3] and after["seq"] > event["seq"] + SKIPPED
