"""A server that takes nothing for longer than the lease: what its host has given to the kernel meanwhile may wait as long as the
host lives and holds, and no longer."""

import asyncio
import pathlib
import secrets
import signal

import pytest

from fleet_hosts import another, holder, hosts, needs_redis, ready, redis  # noqa: F401
from patience import FACTOR, within
from relay import Relay

pytestmark = needs_redis

LEASE = max(1.0, FACTOR)
SENDS = 20
"""Of 100 kB that no compression shortens, and a short one behind each: more than the relay and its kernel take."""


@pytest.fixture
async def relay(chat):
    one = await Relay(int(chat.url.rpartition(":")[2]), buffer=65_536).start()
    yield one
    await one.close()


@pytest.fixture
async def both(hosts, relay):
    return await hosts(2, {"lease": f"{LEASE:g}s"}, url=relay.url)


async def fill(client):
    for number in range(SENDS):
        await client.call("send", upstream="chat", event="long", args=[secrets.token_hex(50_000)], delivery="accepted")
        await client.call("send", upstream="chat", event="e", args=[number], delivery="accepted")


def connections(relay):
    """How many the kernel has to the relay."""
    there = f"0100007F:{int(relay.url.rpartition(':')[2]):04X}"
    rows = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(row[2] == there and row[3] == "01" for row in rows)


async def test_a_server_that_takes_nothing_for_longer_than_the_lease_keeps_its_link_and_gets_every_send(both, relay, chat):
    first = await holder(both)
    client = await ready(another(both, first))
    held = relay.hold()
    await fill(client)
    await asyncio.sleep(4 * LEASE)
    held.set()
    received = await chat.received(SENDS, "e")
    assert [one["args"][0] for one in received] == list(range(SENDS))
    assert (await chat.counters())["links_ever"] == 1
    assert await holder(both) is first


async def test_a_host_that_stands_still_in_such_a_stall_has_no_connection_soon_after_another_one_holds(both, relay, chat):
    first = await holder(both)
    other = another(both, first)
    client = await ready(other)
    held = relay.hold()
    await fill(client)
    await asyncio.sleep(3 * LEASE)
    first.process.send_signal(signal.SIGSTOP)
    try:
        assert await holder([other]) is other

        async def gone():
            while connections(relay) > 1:
                await asyncio.sleep(0.02)

        await within(gone(), "the kernel to give up what the host had given it", LEASE)
    finally:
        held.set()
        first.process.send_signal(signal.SIGCONT)
    back = await ready(first)
    assert (await back.call("request", upstream="chat", event="echo", args=["x"]))["args"] == ["x"]
    assert (await chat.counters())["links_ever"] == 2
