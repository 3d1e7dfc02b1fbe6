"""What a fleet keeps when the link goes to another host: the session of a server that recovers it, and the server's time."""

import json
import time

import pytest

from fleet_hosts import another, holder, hosts, needs_redis, ready, redis  # pylint: disable=unused-import
from patience import SOON, within
from subscriber_loop import CountingServer

pytestmark = needs_redis

HOUR = 3_600_000


@pytest.fixture
async def counting(folder):
    """A server that counts, and gives a client that comes back what it has missed."""
    server = CountingServer(folder, "counting", ["--recovery", "--rate", "100"])
    await server.start()
    yield server
    await server.kill()


async def ticks_beyond(client, number):
    """Reads notifications until an event with a number beyond that one; returns all of them."""
    taken = []

    async def read():
        while not taken or taken[-1][0] != "event" or taken[-1][1]["args"][0] <= number:
            taken.append(await client.note())

    await within(read(), f"an event beyond {number}", 4 * SOON)
    return taken


@pytest.mark.parametrize("ends", ["killed", "stopped", "moved"])
async def test_where_the_server_recovers_sessions_the_next_host_goes_on_without_a_gap(hosts, counting, ends):
    two = await hosts(2, url=counting.url)
    for host in two:
        await ready(host)
    first = await holder(two)
    other = another(two, first)
    client = await ready(other)
    before = await client.call("subscribe", upstream="chat", events=["tick"], state=True)
    notes = await ticks_beyond(client, 0)
    if ends == "killed":
        await first.crash()
    elif ends == "stopped":
        await first.stop()
    else:
        await client.call("fleet.move", upstream="chat", host=f"h{two.index(other)}")
    await holder([other])
    last = max(int(word) for word in counting.ledger.read_text().split() if word.isdigit())
    notes += await ticks_beyond(client, last + 20)
    numbers = [note["args"][0] for method, note in notes if method == "event"]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert [note for method, note in notes if method == "gap"] == []
    states = [note for method, note in notes if method == "state"]
    assert {one["epoch"] for one in states if one["state"] == "connected"} == {before["epoch"]}
    assert states[-1]["state"] == "connected" and states[-1]["recovered"] is True, states
    places = [note["seq"] for method, note in notes if method == "event"]
    assert places == sorted(set(places))
    assert (counting.count("fresh"), counting.count("recovered")) == (1, 1)


async def test_all_hosts_show_events_at_the_servers_time_also_after_a_take_over(hosts, servers):
    server = await servers("eio4", "--clock", 3_600)
    two = await hosts(2, url=server.url, server_time={"request": "time", "member": "now"})
    for host in two:
        await ready(host)
    first = await holder(two)
    other = another(two, first)
    clients = [await ready(host) for host in two]
    for client in clients:
        await client.call("subscribe", upstream="chat", events=["said"])

    async def known(host):
        await host.until(
            lambda status: any(one["fleet"]["role"] == "holder" and (one["time"] or {"samples": 0})["samples"] >= 3
                               for one in status["connections"]), "the server's time to be known")

    async def ahead(listening):
        await server.emit("said", "hi")
        seen = [await client.event() for client in listening]
        assert len({one["time"] for one in seen}) == 1, seen
        assert abs(seen[0]["time"] - int(time.time() * 1_000) - HOUR) < 1_000 * SOON, json.dumps(seen)

    await known(first)
    await ahead(clients)
    await first.crash()
    await holder([other])
    await known(other)
    await ahead([client for client, host in zip(clients, two) if host is other])
