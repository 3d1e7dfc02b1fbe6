"""What a program that was away gets, and what it is told about the rest."""

import asyncio
import json
import random

import pytest

from patience import SOON
from scripted import offset


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
    # What is kept of the old epoch comes first, then the word that it has ended.
    assert (await client.event("late"))["args"] == [1]
    gap = await client.gap("late")
    assert gap["reason"] == "upstream" and gap["epoch"] == result["epoch"] and gap["seq"] == 2 and "from" not in gap
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


# Connection state recovery: servers that keep what a lost link misses


async def recovering(daemons, peer, **config):
    daemon = await daemons({"defaults": {"reconnect": {"base": "10ms", "cap": "50ms"}}, **config})
    client = await daemon.client()
    snapshot = await client.call("subscribe", url=peer.url, state=True)
    link = await peer.link()
    await link.upgrade()
    await link.open()
    await link.accept(pid="private-id")
    await link.text(f'42["said",1,"{offset(0)}"]', f'42["said",2,"{offset(0)}.1"]', '42["volatile","plain words"]')
    assert [event["args"] for event in await client.events(3)] == [[1], [2], ["plain words"]]
    await client.state_until("connected")
    return daemon, client, snapshot, link


async def again(peer):
    link = await peer.link()
    await link.upgrade()
    await link.open()
    return link


async def test_a_server_with_recovery_goes_on_where_the_link_was_lost(daemons, peer):
    daemon, client, snapshot, link = await recovering(daemons, peer)
    link.abort()
    link = await again(peer)
    assert await link.receive() == f'40{{"pid":"private-id","offset":"{offset(0)}.1"}}'
    await link.text(f'42["said",3,"{offset(1)}"]', f'451-["blob",{{"_placeholder":true,"num":0}},"{offset(2)}"]')
    await link.binary(b"\x01\x02")
    await link.text('40{"sid":"socket-sid","pid":"private-id"}', f'42["said",5,"{offset(3)}"]')
    events = await client.events(3)
    assert [event["args"] for event in events] == [[3], [{"$bin": "AQI="}], [5]]
    assert [event["seq"] for event in events] == [4, 5, 6]
    states = await client.state_until("connected")
    assert states[-1]["recovered"] is True and states[-1]["epoch"] == snapshot["epoch"]
    await client.silence(0)
    late = await client.call("subscribe", url=peer.url, since=position(snapshot["epoch"], 2), subscription="late")
    assert late["recovered"] is True and late["replayed"] == 4
    status = await client.call("status")
    assert "private-id" not in json.dumps(status) and "private-id" not in daemon.text()


async def test_a_failed_recovery_is_a_gap(daemons, peer):
    _, client, snapshot, link = await recovering(daemons, peer)
    link.abort()
    link = await again(peer)
    assert json.loads((await link.receive())[2:])["pid"] == "private-id"
    await link.text('40{"sid":"new","pid":"other"}', f'42["said",9,"{offset(12)}"]')
    gap = await client.gap()
    assert gap["reason"] == "upstream" and gap["epoch"] != snapshot["epoch"]
    assert (await client.event())["args"] == [9]
    assert "recovered" not in (await client.state_until("connected"))[-1]
    link.abort()
    link = await again(peer)
    assert await link.receive() == f'40{{"pid":"other","offset":"{offset(12)}"}}'


async def test_a_kick_is_not_recovered(daemons, peer):
    _, client, _, link = await recovering(daemons, peer)
    await link.text("41")
    link = await again(peer)
    assert await link.receive() == "40"


@pytest.mark.parametrize("seed", range(3))
async def test_random_losses_of_the_link_are_recovered_without_a_trace(daemons, peer, seed):
    """A server that keeps what a lost link misses, cut at random moments: each event once, in order, in one epoch."""
    choose = random.Random(seed)
    total, sent, kept, heard = 300, 0, [], asyncio.Event()

    def packet():
        nonlocal sent
        sent += 1
        kept.append(f"{offset(0)}.{sent:04}")
        return f'42["tick",{sent},"{kept[-1]}"]'

    async def serve(link):
        await link.upgrade()
        await link.open()
        connect = (await link.receive())[2:]
        if connect:
            offset = json.loads(connect)["offset"]
            for number in range(kept.index(offset) + 2, sent + 1):
                await link.text(f'42["tick",{number},"{kept[number - 1]}"]')
        await link.text('40{"sid":"s","pid":"p"}')
        if not connect:
            await link.text(packet())
            await heard.wait()
        end = total if choose.random() < 0.1 else min(total, sent + choose.randrange(1, 40))
        while sent < end:
            await link.text(*[packet() for _ in range(min(choose.randrange(1, 5), end - sent))])
        if sent < total:
            link.abort()
        else:
            await link.reader.read()

    peer.script = serve
    daemon = await daemons({"defaults": {"reconnect": {"base": "10ms", "cap": "10ms"}}})
    client = await daemon.client()
    await client.call("subscribe", url=peer.url)
    assert (await client.event())["args"] == [1]
    heard.set()
    assert [event["args"] for event in await client.events(total - 1)] == [[number] for number in range(2, total + 1)]
    assert not [note for note in client.notes if note[0] == "gap"]
