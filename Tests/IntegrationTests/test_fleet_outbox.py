"""What a host of a fleet has accepted is not lost with it: another one writes it, by a real Redis and a real server."""

import asyncio

from fleet_hosts import another, holder, hosts, needs_redis, ready, redis  # pylint: disable=unused-import
from patience import SOON, within

pytestmark = needs_redis


async def rows(redis, key, count):
    """Waits until a table of the fleet has so many rows."""
    async def ask():
        while int(await redis.command("HLEN", f"gw:test:{{chat}}:{key}")) != count:
            await asyncio.sleep(0.02)

    await within(ask(), f"{count} rows in {key}", 4 * SOON)


async def listed(client, count, **members):
    """Waits until the outbox shows so many sends of that kind; returns them."""
    async def ask():
        while len(entries := (await client.call("outbox.list", **members))["entries"]) != count:
            await asyncio.sleep(0.02)
        return entries

    return await within(ask(), f"{count} entries", 4 * SOON)


async def down(host):
    """Waits until the fleet has no link to the server, as the host sees it."""
    await host.until(lambda status: all(one["state"] != "connected" for one in status["connections"]), "no link", 4 * SOON)


async def accepted_in_vain(hosts, redis, chat, count, **members):
    """Three hosts whose server is away: the one that holds, and another one that has accepted sends, with its name."""
    three = await hosts(3)
    for host in three:
        await ready(host)
    first = await holder(three)
    other = another(three, first)
    client = await ready(other)
    await chat.stop()
    await down(other)
    for number in range(count):
        more = {name: value(number) for name, value in members.items()}
        answer = await client.call("send", upstream="chat", event="d", args=[number], delivery="durable", **more)
        assert answer["state"] == "durable"
    name = f"h{three.index(other)}"
    await rows(redis, f"box:{name}", count)
    return first, other, name


async def test_the_sends_of_a_killed_host_are_written_once_and_it_hears_so_when_it_is_back(hosts, redis, chat):
    first, other, name = await accepted_in_vain(hosts, redis, chat, 20, key=lambda number: f"k{number}")
    await other.crash()
    await rows(redis, "box:@", 20)
    administrator = await first.client()
    shown = await listed(administrator, 20)
    assert {(one["state"], one["reason"], one["host"]) for one in shown} == {("queued", "adopted", name)}
    await chat.start()
    received = await chat.received(20, "d")
    assert [one["args"][0] for one in received] == list(range(20))
    await other.start()
    back = await other.client()
    assert [one["key"] for one in await listed(back, 20, states=["sent"])] == [f"k{number}" for number in range(20)]
    again = await back.call("send", upstream="chat", event="d", args=[7], delivery="durable", key="k7")
    assert (again["duplicate"], again["state"]) == (True, "sent")
    await rows(redis, "box:@", 0)
    await ready(other)
    await back.call("send", upstream="chat", event="d", args=["new"], delivery="durable")
    received = await chat.received(21, "d")
    assert [one["args"][0] for one in received] == [*range(20), "new"]
    await listed(administrator, 0)


async def test_a_host_that_is_back_before_its_sends_are_written_leaves_them_to_the_one_that_holds(hosts, redis, chat):
    _, other, _ = await accepted_in_vain(hosts, redis, chat, 5)
    await other.crash()
    await rows(redis, "box:@", 5)
    await other.start()
    back = await other.client()

    async def adopted():
        while any(one["reason"] != "adopted" for one in await listed(back, 5)):
            await asyncio.sleep(0.02)

    await within(adopted(), "all to be adopted", 4 * SOON)
    await back.call("send", upstream="chat", event="d", args=["new"], delivery="durable")
    await chat.start()
    received = await chat.received(6, "d")
    assert [one["args"][0] for one in received] == [*range(5), "new"]
    await listed(back, 6, states=["sent"])


async def test_the_acknowledgement_of_a_send_that_another_host_has_written_is_heard(hosts, redis, chat):
    _, other, _ = await accepted_in_vain(hosts, redis, chat, 3, retries=lambda _: 5)
    await other.crash()
    await rows(redis, "box:@", 3)
    await chat.start()
    assert [one["args"][0] for one in await chat.received(3, "d")] == list(range(3))
    await other.start()
    await listed(await other.client(), 3, states=["acked"])


async def test_the_sends_of_the_host_that_held_are_written_by_the_next_one(hosts, redis, chat):
    three = await hosts(3)
    for host in three:
        await ready(host)
    first = await holder(three)
    client = await ready(first)
    await chat.stop()
    await down(first)
    for number in range(10):
        await client.call("send", upstream="chat", event="d", args=[number], delivery="durable")
    await rows(redis, f"box:h{three.index(first)}", 10)
    await first.crash()
    await rows(redis, "box:@", 10)
    await chat.start()
    assert [one["args"][0] for one in await chat.received(10, "d")] == list(range(10))
    await first.start()
    await listed(await first.client(), 10, states=["sent"])
    assert len(await chat.received(10, "d")) == 10


async def without_disk(daemons, redis, chat):
    """Two hosts, of which the first holds, and the other keeps its sends in Redis alone."""
    made = []
    for name, durable in (("h0", "host"), ("h1", "fleet")):
        made.append(await daemons({
            "fleet": {"name": "test", "redis": [redis.url], "host": name, "lease": "1s", "durable": durable},
            "upstream": {"chat": {"url": chat.url, "fleet": True}}}))
        await ready(made[-1])
    return made


async def test_a_host_without_a_disk_finds_its_sends_in_redis(daemons, redis, chat):
    _, other = await without_disk(daemons, redis, chat)
    client = await ready(other)
    await chat.stop()
    await down(other)
    for number in range(10):
        answer = await client.call("send", upstream="chat", event="d", args=[number], delivery="durable")
        assert answer["state"] == "durable"
    assert int(await redis.command("HLEN", "gw:test:{chat}:box:h1")) == 10
    await other.crash()
    await other.start()
    back = await other.client()
    await listed(back, 10, states=["queued"])
    await chat.start()
    assert [one["args"][0] for one in await chat.received(10, "d")] == list(range(10))
    await listed(back, 10, states=["sent"])
    await rows(redis, "box:h1", 0)
    assert len(await chat.received(10, "d")) == 10


async def test_a_send_that_a_full_redis_does_not_take_is_refused(daemons, redis, chat):
    _, other = await without_disk(daemons, redis, chat)
    client = await ready(other)
    await redis.command("CONFIG", "SET", "maxmemory", "1")
    error = await client.fails("InternalError", "send", upstream="chat", event="d", args=[1], delivery="durable")
    assert error.data["reason"] == "full"
    assert "Redis has no room" in error.message
    await redis.command("CONFIG", "SET", "maxmemory", "0")
    await client.call("send", upstream="chat", event="d", args=[2], delivery="durable")
    assert [one["args"] for one in await chat.received(1, "d")] == [[2]]


async def left_behind(daemons, redis, chat, count):
    """A host without a disk that died with so many sends, which nobody has written."""
    _, other = await without_disk(daemons, redis, chat)
    client = await ready(other)
    await chat.stop()
    await down(other)
    for number in range(count):
        await client.call("send", upstream="chat", event="d", args=[number], delivery="durable")
    await other.crash()
    return other


async def test_a_host_without_a_disk_writes_many_sends_that_it_finds_in_the_order_of_their_acceptance(daemons, redis, chat):
    other = await left_behind(daemons, redis, chat, 50)
    await other.start()
    await listed(await other.client(), 50, states=["queued"])
    await chat.start()
    assert [one["args"][0] for one in await chat.received(50, "d")] == list(range(50))


async def test_what_a_host_without_a_disk_finds_leaves_before_what_it_is_given_meanwhile(daemons, redis, chat):
    count = 1100
    other = await left_behind(daemons, redis, chat, count)
    redis.pause()
    try:
        await other.start()
        client = await other.client()
        newer = client.post("send", {"upstream": "chat", "event": "d", "args": [count], "delivery": "durable"})
        # What was said before it has been heard.
        await client.call("hello", client="t")
    finally:
        redis.resume()
    await client.result(newer)
    await rows(redis, "box:h1", count + 1)
    await chat.start()
    assert [one["args"][0] for one in await chat.received(count + 1, "d")] == list(range(count + 1))


async def test_what_each_of_several_lives_of_a_host_without_a_disk_accepted_leaves_in_their_order(daemons, redis, chat):
    count = 300
    other = await left_behind(daemons, redis, chat, count)
    for _ in range(3):
        await other.start()
        client = await other.client()
        for number in range(count, count + 3):
            await client.call("send", upstream="chat", event="d", args=[number], delivery="durable")
        count += 3
        await other.crash()
    await other.start()
    await rows(redis, "box:h1", count)
    await chat.start()
    assert [one["args"][0] for one in await chat.received(count, "d")] == list(range(count))
