"""`gatewayctl outbox` at a host of a fleet: what is taken back, sent again and forgotten there is so in Redis and at the host that
holds too, by a real Redis and a real server."""

import asyncio
import json

import pytest

from fleet_hosts import hosts, needs_redis, ready, redis  # pylint: disable=unused-import
from patience import SOON, within
from test_fleet_outbox import accepted_in_vain, listed, rows

pytestmark = needs_redis


async def steered(ctl, host, *arguments):
    """How many sends a verb of `gatewayctl outbox` has concerned."""
    outcome = await ctl(host, "outbox", *arguments)
    assert outcome.code == 0, outcome
    return json.loads(outcome.out)["count"]


async def adopted(client, count):
    """Waits until a host knows that so many of its sends are another one's to write."""
    async def ask():
        while any(one["reason"] != "adopted" for one in await listed(client, count)):
            await asyncio.sleep(0.02)

    await within(ask(), "all to be adopted", 4 * SOON)


def numbers(entries):
    return [entry["args"][0] for entry in entries]


@pytest.mark.parametrize("holds", [True, False])
async def test_what_was_cancelled_and_is_sent_again_is_written_once_behind_the_others(hosts, redis, chat, ctl, holds):
    first, other, name = await accepted_in_vain(hosts, redis, chat, 0)
    host = first if holds else other
    if holds:
        name = (await first.status())["daemon"]["fleet"]["host"]
    client = await host.client()
    ids = [(await client.call("send", upstream="chat", event="d", args=[number], delivery="durable"))["id"] for number in range(4)]
    await rows(redis, f"box:{name}", 4)
    assert await steered(ctl, host, "cancel", *ids[:2]) == 2
    await rows(redis, f"box:{name}", 2)
    assert await steered(ctl, host, "retry", ids[0]) == 1
    await rows(redis, f"box:{name}", 3)
    await chat.start()
    assert numbers(await chat.received(3, "d")) == [2, 3, 0]
    await listed(client, 3, states=["sent"])
    assert [one["id"] for one in await listed(client, 1, states=["cancelled"])] == [ids[1]]
    await rows(redis, f"box:{name}", 0)
    assert await steered(ctl, host, "retry", "--upstream", "chat", "--state", "cancelled") == 1
    assert numbers(await chat.received(4, "d")) == [2, 3, 0, 1]
    await rows(redis, f"box:{name}", 0)


async def test_what_another_host_saw_expire_is_sent_again_by_its_own(hosts, redis, chat, ctl):
    _, other, _ = await accepted_in_vain(hosts, redis, chat, 3, ttl=lambda _: 1_000)
    await other.crash()
    # Their host has been silent for longer by then.
    await rows(redis, "box:@", 3)
    await chat.start()
    await rows(redis, "box:@", 0)
    await other.start()
    client = await ready(other)
    await listed(client, 3, states=["expired"])
    assert await chat.received(0, "d") == []
    assert await steered(ctl, other, "retry", "--upstream", "chat", "--state", "expired") == 3
    assert numbers(await chat.received(3, "d")) == [0, 1, 2]
    await listed(client, 3, states=["sent"])


async def test_what_another_host_has_to_write_is_neither_taken_back_nor_written_twice_by_a_retry(hosts, redis, chat, ctl):
    _, other, _ = await accepted_in_vain(hosts, redis, chat, 3)
    await other.crash()
    await rows(redis, "box:@", 3)
    await other.start()
    client = await other.client()
    await adopted(client, 3)
    assert await steered(ctl, other, "cancel", "--upstream", "chat") == 0
    assert await steered(ctl, other, "retry", "--upstream", "chat") == 3
    await rows(redis, "box:@", 3)
    await chat.start()
    assert numbers(await chat.received(3, "d")) == [0, 1, 2]
    await listed(client, 3, states=["sent"])
    await client.call("send", upstream="chat", event="d", args=["last"], delivery="sent")
    assert numbers(await chat.received(4, "d")) == [0, 1, 2, "last"]
