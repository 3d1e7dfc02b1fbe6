"""A server that recovers sessions, behind a fleet whose link is lost: each event is told once, whichever host goes on."""

import pytest

from fleet_hosts import another, holder, hosts, needs_redis, ready, redis  # pylint: disable=unused-import
from test_fleet_redis_away import Way
from test_fleet_sessions import counting, ticks_beyond  # pylint: disable=unused-import

pytestmark = needs_redis


@pytest.fixture
async def way(counting):
    """The way to the server that counts."""
    one = await Way(counting.port).start()
    yield one
    await one.close()


async def lost_once(hosts, way):
    """Two hosts, that with the link first, which has lost it once and was recovered; a client of the other one, and what that
    was told."""
    two = await hosts(2, url=way.url)
    for host in two:
        await ready(host)
    first = await holder(two)
    other = another(two, first)
    client = await ready(other)
    await client.call("subscribe", upstream="chat", events=["tick"], state=True)
    notes = await ticks_beyond(client, 0)
    notes += await ticks_beyond(client, notes[-1][1]["args"][0] + 20)
    way.cut()
    way.mend()
    while not [note for method, note in notes if method == "state" and note["state"] == "connected"]:
        notes.append(await client.note())
    notes += await ticks_beyond(client, max(note["args"][0] for method, note in notes if method == "event") + 20)
    return first, other, client, notes


def assert_each_once(notes):
    numbers = [note["args"][0] for method, note in notes if method == "event"]
    wrong = [(one, next) for one, next in zip(numbers, numbers[1:]) if next != one + 1]
    assert not wrong and not [note for method, note in notes if method == "gap"], wrong


async def test_an_event_is_told_once_where_a_lost_link_is_recovered_by_the_same_host(hosts, way):
    *_, notes = await lost_once(hosts, way)
    assert_each_once(notes)


@pytest.mark.parametrize("ends", ["killed", "stopped", "moved"])
async def test_an_event_is_told_once_where_another_host_recovers_what_was_recovered_before(hosts, counting, way, ends):
    first, other, client, notes = await lost_once(hosts, way)
    if ends == "killed":
        await first.crash()
    elif ends == "stopped":
        await first.stop()
    else:
        name = (await other.status())["daemon"]["fleet"]["host"]
        await client.call("fleet.move", upstream="chat", host=name)
    await holder([other])
    last = max(int(word) for word in counting.ledger.read_text().split() if word.isdigit())
    notes += await ticks_beyond(client, last + 20)
    assert_each_once(notes)
    assert counting.count("fresh") == 1
