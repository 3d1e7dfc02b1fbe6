"""A Redis that comes back with all, with its users or without them, or with nothing: what the hosts make of each."""

import asyncio

import pytest

import redis_server
from fleet_hosts import holder, hosts, needs_redis, ready, redis  # pylint: disable=unused-import
from patience import SOON, within
from test_fleet_outbox import accepted_in_vain, rows
from test_fleet_redis import fleet, told
from test_fleet_redis_rights import documented_rights

pytestmark = needs_redis


async def test_a_redis_that_has_lost_everything_costs_a_gap_and_no_durable_send(hosts, redis, chat):
    two = await hosts(2)
    clients = [await ready(host) for host in two]
    for client in clients:
        await client.call("subscribe", upstream="chat", events=["e"])
    await chat.emit("e", 1)
    before = [await client.event() for client in clients]
    term = fleet(await two[0].status())["term"]
    assert await redis.command("FLUSHALL") == "OK"
    for number in range(20):
        await clients[number % 2].call("send", upstream="chat", event="d", args=[number], delivery="durable")

    async def each():
        count = 20
        while len({one["args"][0] for one in await chat.received(count, "d")}) < 20:
            count += 1

    # One that was written before Redis had lost what its host was to hear may be written twice.
    await within(each(), "each send to arrive", 4 * SOON)

    async def taken():
        for host in two:
            while fleet(await host.status())["term"] <= term:
                await asyncio.sleep(0.05)

    await within(taken(), "the link to be taken anew", 4 * SOON)
    # Terms go on with the milliseconds since 1970.
    assert fleet(await two[0].status())["term"] > 1_600_000_000_000
    await holder(two)
    for client in clients:
        await client.call("wait", upstream="chat", state="connected", timeout=int(SOON * 1000))
    await chat.emit("e", 2)
    for client, first in zip(clients, before):
        gap, event = await client.gap(), await client.event()
        assert event["args"] == [2] and event["seq"] > first["seq"] and gap["reason"] == "upstream"


async def test_durable_sends_that_wait_outlive_a_redis_that_loses_everything(hosts, redis, chat):
    _, _, name = await accepted_in_vain(hosts, redis, chat, 10)
    assert await redis.command("FLUSHALL") == "OK"
    await rows(redis, f"box:{name}", 10)
    await chat.start()
    assert [one["args"][0] for one in await chat.received(10, "d")] == list(range(10))
    await rows(redis, f"box:{name}", 0)
    assert len(await chat.received(10, "d")) == 10


@pytest.fixture
async def keeping(folder):
    """A Redis that keeps its data and its users over a restart."""
    users = folder / "users.acl"
    users.write_text("")
    users.chmod(0o666)
    server = redis_server.RedisServer(
        folder / "keeping", ["--appendonly", "yes", "--appendfsync", "always", "--aclfile", str(users)])
    yield await server.start()
    await server.close()


@pytest.mark.parametrize("saved", [True, False])
async def test_users_that_redis_has_in_its_file_are_there_after_a_restart_and_others_are_missed(
        daemons, keeping, chat, folder, saved):
    made = []
    for words, hold in zip(documented_rights(), ("never", "may")):
        assert await keeping.command("ACL", *words) == "OK"
        password = folder / words[1]
        password.write_text("SECRET")
        password.chmod(0o600)
        made.append((words, hold, password))
    if saved:
        assert await keeping.command("ACL", "SAVE") == "OK"
    # So long that the holder is the same afterwards.
    both = [await daemons({
        "fleet": {"name": "test", "redis": [keeping.url], "host": words[1], "user": words[1], "password_file": str(password),
                  "hold": hold, "lease": "5s"},
        "upstream": {"chat": {"url": chat.url, "fleet": True}}}) for words, hold, password in made]
    clients = [await host.connected(upstream="chat") for host in both]
    for client in clients:
        await client.call("subscribe", upstream="chat", events=["e"])
    await chat.emit("e", 1)
    first = [await client.event() for client in clients]
    await keeping.kill()
    assert await keeping.restart()
    if not saved:
        for host in both:
            assert (await told(host, "refused the login (WRONGPASS"))["reason"] == "refused"
        for words, _, _ in made:
            assert await keeping.command("ACL", *words) == "OK"
    await chat.emit("e", 2)
    for client, event in zip(clients, first):
        again = await client.event()
        assert (again["args"], again["seq"]) == ([2], event["seq"] + 1)
        assert [note for method, note in client.notes if method == "gap"] == []
    for client in clients:
        assert (await client.call("request", upstream="chat", event="echo", args=["x"]))["args"] == ["x"]
    assert (await chat.counters())["links_ever"] == 1
