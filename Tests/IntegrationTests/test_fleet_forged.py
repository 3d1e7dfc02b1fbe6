"""What somebody else has written into the Redis of a fleet: programs are told JSON in lines all the same."""

import asyncio
import json
import re

import pytest

from fleet_hosts import hosts, needs_redis, ready, redis  # pylint: disable=unused-import
from local_client import CallError
from patience import SOON, within

pytestmark = needs_redis

EVENTS = "gw:test:{chat}:ev"
ANSWERS = "gw:test:{chat}:re:h1"

FORGED = '{"jsonrpc":"2.0","id":999,"result":{"forged":true}}'

FIELDS = [
    ("n", '"e"', "a", f"1]}}}}\n{FORGED}\n"),
    ("n", '"e"', "a", "1,"),
    ("n", '"e"', "a", "[1"),
    ("n", '"e"', "a", "1\n"),
    ("n", f'"e",\n{FORGED}', "a", "1"),
    ("n", "e", "a", "1"),
    ("n", '"e"', "a", "1", "w", "{"),
    ("n", '"e"', "a", "1", "w", "[]"),
    ("n", f'"e"\n{FORGED}', "l", "5000000"),
    ("n", f'"e"\n{FORGED}', "x", "undecodable"),
]


async def place(redis):
    """A place behind the last event."""
    conversation, number = (await redis.lines("XREVRANGE", EVENTS, "+", "-", "COUNT", "1"))[0].split("-")
    return f"{conversation}-{int(number) + 1}"


@pytest.mark.parametrize("fields", FIELDS)
async def test_an_event_that_is_no_json_in_one_line_is_a_gap(hosts, chat, redis, fields):
    clients = [await ready(host) for host in await hosts(2)]
    for client in clients:
        await client.call("subscribe", upstream="chat", events=["*"])
    await redis.command("XADD", EVENTS, await place(redis), *fields, "t", "1700000000000")
    for client in clients:
        gap = await client.gap()
        assert gap["reason"] == "undecodable" and gap["count"] == 1, gap
        page = await client.call("history", upstream="chat")
        assert not page["events"] and page["missing"] == ["undecodable"], page
        answer = await client.call("request", upstream="chat", event="echo", args=["x"])
        assert answer["args"] == ["x"]


async def test_an_answer_that_is_no_json_in_one_line_cannot_be_shown(hosts, chat, redis):
    one, two = await hosts(2)
    await ready(one)
    client = await ready(two)
    asked = asyncio.ensure_future(client.call("request", upstream="chat", event="hold", args=["x"]))
    await chat.control("held", name="x", timeout=SOON)

    async def said():
        while True:
            lines = await redis.lines("XREVRANGE", "gw:test:{chat}:up", "+", "-", "COUNT", "1")
            if "hold" in lines:
                return dict(zip(lines[1::2], lines[2::2]))
            await asyncio.sleep(0.02)

    call = await within(said(), "the call to be in Redis")

    async def written():
        # The host with the link says so, and nothing more until the server answers.
        while True:
            place, *words = await redis.lines("XREVRANGE", ANSWERS, "+", "-", "COUNT", "1")
            if words[:2] == ["k", call["k"]]:
                return place.split("-")
            await asyncio.sleep(0.02)

    conversation, number = await within(written(), "the call to be written")
    await redis.command(
        "XADD", ANSWERS, f"{conversation}-{int(number) + 1}", "ack", call["q"], "a", f'1]}}}}\n{FORGED}\n', "i", call["i"])
    with pytest.raises(CallError) as problem:
        await within(asked, "the request to end")
    assert problem.value.data["error"] == "undecodable", problem.value
    answer = await client.call("request", upstream="chat", event="echo", args=["x"])
    assert answer["args"] == ["x"]


async def test_a_lease_that_cannot_be_taken_stays_whose_it_was(hosts, redis):
    (host,) = await hosts(1)
    await ready(host)
    # No entry can stand behind that one.
    await redis.command("HSET", "gw:test:{chat}:L", "c", "99999999999999999999999")
    await redis.command("HSET", "gw:test:{chat}:L", "own", "7@h9", "holder", "h9")

    async def refused():
        while "Invalid stream ID" not in json.dumps(await host.status()):
            await asyncio.sleep(0.05)

    async def attempts():
        """How many commands Redis has refused since it was started."""
        return int(re.search(r"errorstat_ERR:count=(\d+)", " ".join(await redis.lines("INFO", "errorstats")))[1])

    async def more(count):
        while await attempts() < count:
            assert await redis.command("HGET", "gw:test:{chat}:L", "own") == "7@h9"
            await asyncio.sleep(0.05)

    await within(refused(), "the lease to be refused", 3 * SOON)
    await within(more(await attempts() + 2), "more attempts to take it", 3 * SOON)
    assert await redis.command("HGET", "gw:test:{chat}:L", "own") == "7@h9"
