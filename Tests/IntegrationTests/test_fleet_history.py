"""The past of a fleet's upstream on another host than the one that was asked first: what is there, what is not, and what is said of it."""

import asyncio

from fleet_hosts import hosts, needs_redis, ready, redis  # pylint: disable=unused-import
from patience import SOON, within

pytestmark = needs_redis


async def last(client, args):
    """Waits until an event with these arguments has come."""
    async with client.arrived:
        await within(client.arrived.wait_for(lambda: any(
            method == "event" and note["args"] == args for method, note in client.notes)), f"the event {args}", 2 * SOON)


async def test_what_the_fleet_keeps_no_more_is_a_gap_that_says_so_on_a_host_that_comes_late(hosts, chat):
    history = {"events": 100}
    (first,) = await hosts(1, {"grace": "1s"}, history=history)
    client = await ready(first)
    epoch = (await client.call("subscribe", upstream="chat", events=["e"]))["epoch"]
    await chat.emit("e", 0)
    begin = (await client.event())["seq"]
    for number in range(1, 400):
        await chat.emit("e", number)
    await last(client, [399])
    # What is younger than `grace` is kept beside the last hundred.
    await asyncio.sleep(1.2)
    for number in range(400, 800):
        await chat.emit("e", number)
    await last(client, [799])
    (second,) = await hosts(1, {"grace": "1s"}, history=history)
    late = await ready(second)
    since = {"epoch": epoch, "seq": begin}
    error = await late.fails("Unrecoverable", "subscribe", upstream="chat", events=["e"], since=since, strict=True)
    assert error.message
    answer = await late.call("subscribe", upstream="chat", events=["e"], since=since)
    assert answer["recovered"] is False
    event = await late.event()
    gaps = [note for method, note in late.notes if method == "gap"]
    assert {(one["reason"], one["epoch"]) for one in gaps} == {("expired", epoch)}, gaps
    # Together they stand for all that is missing up to the first event.
    places = [begin, *(place for one in gaps for place in (one["from"] - 1, one["to"])), event["seq"] - 1]
    assert places[::2] == places[1::2], (gaps, event)
    page = await late.call("history", upstream="chat", since=since)
    assert page["complete"] is False and page["missing"] == ["expired"], page


async def test_an_event_above_the_line_of_the_host_with_the_link_is_a_gap_on_every_host(hosts, chat):
    two = await hosts(2)
    clients = [await ready(host) for host in two]
    for client in clients:
        await client.call("subscribe", upstream="chat", events=["e"])
    await chat.emit("e", "before")
    # A line holds a MiB.
    await chat.emit("e", "x" * 1_100_000)
    await chat.emit("e", "after")
    for client in clients:
        first, second = await client.events(2)
        gap = await client.gap()
        assert (first["args"], second["args"], gap["reason"]) == (["before"], ["after"], "too_large")
        assert (gap["from"], gap["to"], gap["count"]) == (first["seq"] + 1, second["seq"] - 1, 1)


async def test_a_program_that_goes_from_host_to_host_beside_a_stream_is_told_each_event_once(hosts, chat):
    three = await hosts(3)
    for host in three:
        await ready(host)
    going = True

    async def stream():
        number = 0
        while going:
            await chat.emit("e", number)
            number += 1

    task = asyncio.ensure_future(stream())
    try:
        position, seen = None, []
        for turn in range(12):
            client = await three[turn % 3].client()
            answer = await client.call("subscribe", upstream="chat", events=["e"], **({"since": position} if position else {}))
            position = position or {"epoch": answer["epoch"], "seq": answer["seq"]}
            assert answer.get("recovered", True) is True, answer
            for event in await client.events(20):
                assert event["seq"] == position["seq"] + 1, (event, position)
                position = {**position, "seq": event["seq"]}
                seen.append(event["args"][0])
            assert not [note for method, note in client.notes if method == "gap"]
            await client.close()
    finally:
        going = False
        await task
    assert seen == list(range(seen[0], seen[0] + len(seen)))
