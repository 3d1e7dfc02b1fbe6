"""What a program that was away gets, and what it is told about the rest."""

import asyncio
import json
import random

from patience import SOON


def position(epoch, seq):
    return {"epoch": epoch, "seq": seq}


async def test_what_was_missed_comes_before_anything_new(daemons, server):
    daemon = await daemons()
    stay = await daemon.connected(url=server.url)
    snapshot = await stay.call("subscribe", url=server.url)
    await server.burst("tick", 5)
    live = await stay.events(5)
    late = await daemon.client()
    result = await late.call("subscribe", url=server.url, since=position(snapshot["epoch"], live[1]["seq"]))
    assert result["recovered"] is True and result["replayed"] == 3 and result["seq"] == live[-1]["seq"]
    await server.emit("said", "new")
    replayed = await late.events(4)
    same = [{**event, "subscription": result["subscription"]} for event in live[2:]]
    assert replayed[:3] == same and replayed[3]["args"] == ["new"]


async def test_events_are_kept_while_nobody_listens(daemons, server):
    daemon = await daemons({"upstream": {"chat": {"url": server.url, "keep": "always"}}})
    client = await daemon.client()
    await client.call("wait", upstream="chat", state="connected", timeout=5_000)
    await server.burst("tick", 3)
    await server.emit("said", "last")
    while len((await client.call("history", upstream="chat"))["events"]) < 4:
        await asyncio.sleep(0.01)
    late = await daemon.client()
    result = await late.call("subscribe", upstream="chat", events=["tick"], last=1)
    assert result["recovered"] is True and result["replayed"] == 1
    assert (await late.event())["args"] == [2]
    page = await client.call("history", upstream="chat", events=["t*"], limit=2)
    assert [event["args"] for event in page["events"]] == [[1], [2]]
    assert page["complete"] is True and page["epoch"] == result["epoch"]


async def test_what_is_not_kept_is_one_gap(daemons, chat):
    daemon = await daemons({"defaults": {"history": {"events": 3}}})
    client = await daemon.connected(url=chat.url)
    snapshot = await client.call("subscribe", url=chat.url, subscription="live")
    await chat.burst("tick", 10)
    await client.events(10, "live")
    result = await client.call(
        "subscribe", url=chat.url, subscription="late", since=position(snapshot["epoch"], snapshot["seq"]))
    assert result["recovered"] is False and result["replayed"] == 3
    gap = await client.gap("late")
    assert (gap["from"], gap["to"], gap["count"], gap["reason"]) == (1, 7, 7, "expired")
    assert [event["args"] for event in await client.events(3, "late")] == [[7], [8], [9]]
    error = await client.fails("Unrecoverable", "subscribe", url=chat.url, strict=True,
                               since=position(snapshot["epoch"], snapshot["seq"]))
    assert error.data["oldest"] == 8 and error.data["epoch"] == snapshot["epoch"]


async def test_a_lost_link_ends_the_epoch(daemons, server):
    daemon = await daemons({"defaults": {"reconnect": {"base": "10ms", "cap": "50ms"}}})
    client = await daemon.connected(url=server.url)
    first = await client.call("subscribe", url=server.url, state=True, subscription="live")
    await server.burst("tick", 2)
    await client.events(2, "live")
    await server.restart()
    assert (await client.gap("live"))["reason"] == "upstream"
    await client.state_until("connected", "live")
    await server.present(1)
    await server.emit("said", "again")
    await client.event("live")
    result = await client.call("subscribe", url=server.url, subscription="late", since=position(first["epoch"], 1))
    assert result["recovered"] is False and result["epoch"] != first["epoch"]
    gap = await client.gap("late")
    assert gap["reason"] == "upstream" and gap["epoch"] == result["epoch"] and "from" not in gap
    assert (await client.event("late"))["args"] == ["again"]


class Reader:
    """A program that restarts at random moments and goes on where it left off."""

    def __init__(self, daemon, url, seed):
        self.daemon, self.url, self.random = daemon, url, random.Random(seed)
        self.position = None
        self.values = []
        self.gaps = []
        self.restarts = 0

    async def run(self, until):
        while not self.values or self.values[-1] < until:
            client = await self.daemon.client()
            params = {"since": self.position} if self.position else {}
            result = await client.call("subscribe", url=self.url, events=["tick"], **params)
            if self.position is None:
                self.position = position(result["epoch"], result["seq"])
            else:
                assert result["recovered"] is True, result
            for _ in range(self.random.randrange(1, 60)):
                name, params = await client.note(None, result["subscription"])
                assert name == "event", (name, params)
                assert params["seq"] > self.position["seq"]
                self.position = position(self.position["epoch"], params["seq"])
                self.values.append(params["args"][0])
                if self.values[-1] == until:
                    break
            self.restarts += 1
            await client.close()


async def test_a_program_that_restarts_at_random_gets_each_event_once_and_in_order(daemons, server):
    daemon = await daemons({"defaults": {"history": {"events": 100_000, "bytes": "64MiB"}}})
    await daemon.connected(url=server.url)
    readers = [Reader(daemon, server.url, seed) for seed in range(8)]
    runs = []
    for reader in readers:
        runs.append(asyncio.ensure_future(reader.run(until=199)))
    while any(reader.position is None for reader in readers):
        await asyncio.sleep(0.005)
    for _ in range(10):
        await server.burst("tick", 200)
        await asyncio.sleep(0.01)
    await asyncio.wait_for(asyncio.gather(*runs), 4 * SOON)
    for reader in readers:
        expected = [number % 200 for number in range(len(reader.values))]
        assert reader.values == expected and reader.restarts > 1


async def test_gatewayctl_shows_the_last_events(daemons, chat, ctl):
    daemon = await daemons()
    client = await daemon.connected(url=chat.url)
    snapshot = await client.call("subscribe", url=chat.url)
    await chat.burst("tick", 5)
    await client.events(5)
    out = await ctl(daemon, "subscribe", "--last", "2", "-n", "2", chat.url)
    assert [json.loads(line)["args"] for line in out.out.splitlines()] == [[3], [4]], out
    out = await ctl(daemon, "subscribe", "--since", f"{snapshot['epoch']}:2", "-n", "3", chat.url)
    events = [json.loads(line) for line in out.out.splitlines()]
    assert [event["seq"] for event in events] == [3, 4, 5] and events[0]["epoch"] == snapshot["epoch"]
    assert out.code == 0 and "gap" not in out.err
