"""A fleet on a Redis Cluster: each upstream at the node that has its keys, and where they go."""

import asyncio

import pytest

import redis_server
from fleet_hosts import holder
from patience import within
from test_fleet_redis import fleet, works

pytestmark = pytest.mark.skipif(redis_server.program() is None, reason=redis_server.MISSING)

UPSTREAMS = ["chat", "news", "alarm"]
SETTINGS = ["--cluster-enabled", "yes", "--cluster-node-timeout", "1000"]


@pytest.fixture
async def nodes(folder):
    """Makes nodes of a cluster, the slots among the first three: `await nodes(3)`; they end with the test."""
    made = []

    async def make(count):
        for number in range(count):
            made.append(await redis_server.RedisServer(
                folder / f"redis{number}", SETTINGS).start())
        await join(made)
        return made

    yield make
    for one in made:
        await one.close()


async def join(made):
    """Makes one cluster of servers, with the slots among the first three."""
    masters = made[:3]
    for number, one in enumerate(masters):
        first, last = 16_384 * number // len(masters), 16_384 * (number + 1) // len(masters) - 1
        assert await one.command("CLUSTER", "ADDSLOTSRANGE", str(first), str(last)) == "OK"
        await one.command("CLUSTER", "SET-CONFIG-EPOCH", str(number + 1))
    for one in made[1:]:
        await one.command("CLUSTER", "MEET", made[0].host, str(made[0].port))
    for one in made:
        await until(one, "cluster_state:ok", "CLUSTER", "INFO")


async def until(node, word, *command):
    """Waits until a node answers a command with this word."""
    async def ask():
        while word not in await whole(node, *command):
            await asyncio.sleep(0.02)

    await within(ask(), f"a node of the cluster to say {word}")


async def whole(node, *words):
    return "\n".join(await node.lines(*words))


async def node_of(nodes, slot):
    """The node that has a slot, as the first one sees it."""
    for line in await nodes[0].lines("CLUSTER", "NODES"):
        words = line.split()
        for part in words[8:]:
            first, _, last = part.partition("-")
            if first.isdigit() and int(first) <= slot <= int(last or first):
                return next(one for one in nodes if words[1].startswith(f"{one.host}:{one.port}@"))


async def name(node):
    return await node.command("CLUSTER", "MYID")


async def move(nodes, slot, source, target):
    """What resharding does."""
    assert await target.command("CLUSTER", "SETSLOT", str(slot), "IMPORTING", await name(source)) == "OK"
    assert await source.command("CLUSTER", "SETSLOT", str(slot), "MIGRATING", await name(target)) == "OK"
    while keys := [one for one in await source.lines("CLUSTER", "GETKEYSINSLOT", str(slot), "10") if one]:
        answer = await source.command("MIGRATE", target.host, str(target.port), "", "0", "5000", "KEYS", *keys)
        assert answer in ("OK", "NOKEY"), answer
    for one in (target, source, *nodes):
        if "master" in (await one.command("ROLE")):
            assert await one.command("CLUSTER", "SETSLOT", str(slot), "NODE", await name(target)) == "OK"


def configuration(chat, nodes, host):
    return {"fleet": {"name": "test", "redis": [one.url for one in nodes], "host": host, "lease": "1s"},
            "upstream": {name: {"url": chat.url, "fleet": True, "keep": "always"} for name in UPSTREAMS}}


async def test_the_upstreams_of_a_fleet_live_on_the_nodes_of_a_cluster_and_move_with_their_slots(daemons, chat, nodes):
    three = await nodes(3)
    hosts = [await daemons(configuration(chat, three[number:] + three[:number], name)) for number, name in enumerate("ab")]
    servers = {}
    for upstream in UPSTREAMS:
        for host in hosts:
            await works(host, upstream)
        servers[upstream] = {fleet(await host.status(), upstream)["redis"]["server"] for host in hosts}
        slot = int(await three[0].command("CLUSTER", "KEYSLOT", f"gw:test:{{{upstream}}}:L"))
        assert servers[upstream] == {f"127.0.0.1:{(await node_of(three, slot)).port}"}
    assert len({one for where in servers.values() for one in where}) > 1
    assert (await chat.counters())["links"] == len(UPSTREAMS)
    clients = [await host.connected(upstream="chat") for host in hosts]
    for client in clients:
        await client.call("subscribe", upstream="chat", events=["e"])
    slot = int(await three[0].command("CLUSTER", "KEYSLOT", "gw:test:{chat}:L"))
    source = await node_of(three, slot)
    target = next(one for one in three if one is not source)
    moving = asyncio.ensure_future(move(three, slot, source, target))
    for number in range(50):
        await clients[number % 2].call("send", upstream="chat", event="d", args=[number], delivery="durable")
        await chat.control("emit", event="e", namespace="/", args=[number])
    await moving
    received = [one["args"][0] for one in await chat.received(50, "d")]
    assert sorted(set(received)) == list(range(50))
    for host in hosts:
        await host.until(lambda status: fleet(status)["redis"]["server"] == f"127.0.0.1:{target.port}", "the move", 20)
        await works(host)
    await chat.control("emit", event="e", namespace="/", args=["after"])
    for client in clients:
        async with client.arrived:
            await within(client.arrived.wait_for(lambda: any(
                method == "event" and note["args"] == ["after"] for method, note in client.notes)), "the last event")
        numbers = [note["args"][0] for method, note in client.notes if method == "event"][:-1]
        gaps = [note for method, note in client.notes if method == "gap"]
        assert numbers == sorted(numbers) and (numbers == list(range(50)) or gaps), (numbers, gaps)
    for upstream in UPSTREAMS[1:]:
        assert {fleet(await host.status(), upstream)["redis"]["server"] for host in hosts} == servers[upstream]
        await works(hosts[0], upstream)


async def test_a_node_that_fails_gives_its_upstreams_to_its_replica(daemons, chat, nodes):
    four = await nodes(4)
    slot = int(await four[0].command("CLUSTER", "KEYSLOT", "gw:test:{chat}:L"))
    master = await node_of(four, slot)
    replica = four[3]
    assert await replica.command("CLUSTER", "REPLICATE", await name(master)) == "OK"
    await until(replica, "master_link_status:up", "INFO", "replication")
    hosts = [await daemons(configuration(chat, four, name)) for name in "ab"]
    for host in hosts:
        await works(host)
    await holder(hosts)
    await master.kill()
    for host in hosts:
        await host.until(lambda status: fleet(status)["redis"]["server"] == f"127.0.0.1:{replica.port}", "the failover", 20)
        await works(host)
