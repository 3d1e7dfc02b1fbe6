"""A host of a fleet that is gone for good is forgotten on demand: on a real Redis, with all that it has left there."""

import asyncio
import json

from fleet_hosts import holder, hosts, needs_redis, ready, redis  # pylint: disable=unused-import
from patience import SOON, within
from test_fleet_orders import listed
from test_fleet_outbox import accepted_in_vain, rows

pytestmark = needs_redis


async def keys(redis, name):
    """What Redis has of a host: the ends of keys of its own, and the tables that have a row of it."""
    found = {key.removeprefix("gw:test:{chat}:") for key in await redis.lines("KEYS", f"gw:test:*:{name}") if key}
    return found | ({"hosts"} if await redis.command("HEXISTS", "gw:test:{chat}:hosts", name) == "1" else set())


async def test_a_host_that_is_gone_for_good_is_forgotten_once_its_sends_are_written(hosts, redis, chat, ctl):
    first, gone, name = await accepted_in_vain(hosts, redis, chat, 3)
    asked = (await (await first.client()).call("fleet.list"))["host"]
    lives = await ctl(first, "fleet", "forget", name)
    assert lives.code != 0 and lives.out == "" and f"{name} lives, or has not been silent" in lives.err, lives
    await gone.crash()
    await rows(redis, "box:@", 3)
    waits = await ctl(first, "fleet", "forget", name)
    assert waits.code != 0 and f"3 durable sends of {name} to 'chat' have still to be written" in waits.err, waits
    assert "hosts" in await keys(redis, name)
    await chat.start()
    assert [one["args"][0] for one in await chat.received(3, "d")] == [0, 1, 2]
    await rows(redis, "box:@", 0)
    assert await keys(redis, name) >= {f"box:{name}", "hosts"}
    await redis.command("XADD", f"gw:test:{{chat}}:re:{name}", "*", "op", "test")
    other = next(f"h{number}" for number in range(3) if f"h{number}" not in (name, asked))
    # Either may have the link by now, because the server was away.
    for word, words in ((asked, "is this host"), ("h9", "The fleet has no host called 'h9'"), (other, f"{other} ")):
        refused = await ctl(first, "fleet", "forget", word)
        assert refused.code != 0 and words in refused.err and refused.out == "", refused
    forgotten = await ctl(first, "fleet", "forget", name)
    assert forgotten.code == 0, forgotten
    assert json.loads(forgotten.out) == {"host": name, "forgotten": [{"upstream": "chat", "namespace": "/"}]}
    # The stream of its replies is empty.
    assert await keys(redis, name) == {f"re:{name}"}
    assert await redis.command("XLEN", f"gw:test:{{chat}}:re:{name}") == "0"
    client = await first.client()
    left = await client.call("fleet.list")
    assert sorted(one["host"] for one in left["hosts"]) == sorted((asked, other))
    again = await ctl(first, "fleet", "forget", name)
    assert again.code == 65 and f"The fleet has no host called '{name}'" in again.err, again


async def test_the_host_that_has_the_link_is_not_forgotten(hosts, ctl):
    # So long that a busy machine does not lose it.
    two = await hosts(2, {"lease": "3s"})
    clients = [await ready(host) for host in two]
    await listed(clients[0], lambda one: len(one["hosts"]) == 2 and one["upstreams"][0]["open"], "two hosts and a link")
    holding = await holder(two)
    name = f"h{two.index(holding)}"
    other = next(host for host in two if host is not holding)
    refused = await ctl(other, "fleet", "forget", name)
    assert refused.code != 0 and f"{name} has the link of 'chat'" in refused.err, refused
    for words, message in ((("forget",), "name one host"), (("forget", "a", "b"), "name one host")):
        outcome = await ctl(other, "fleet", *words)
        assert outcome.code == 64 and message in outcome.err, words


async def test_a_host_that_comes_back_after_it_was_forgotten_takes_part_again(hosts, redis, chat, ctl):
    first, gone, name = await accepted_in_vain(hosts, redis, chat, 1)
    await gone.crash()
    await rows(redis, "box:@", 1)
    await chat.start()
    await chat.received(1, "d")
    await rows(redis, "box:@", 0)
    assert (await ctl(first, "fleet", "forget", name)).code == 0
    await gone.start()
    back = await ready(gone)
    await back.call("send", upstream="chat", event="e", args=["new"], delivery="durable")
    assert [one["args"] for one in await chat.received(1, "e")] == [["new"]]

    async def joined():
        while "hosts" not in await keys(redis, name):
            await asyncio.sleep(0.02)

    await within(joined(), "the host to have a row again", SOON)
