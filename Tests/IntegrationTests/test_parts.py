"""Durable sends that are longer than a line come in parts, and are kept like any other."""

import asyncio
import json

import pytest

from local_client import CallError
from patience import within

PIECE = 60_000
"""Characters of a part."""

LONG = json.dumps(["é" * 2_000_000, 1], separators=(",", ":"), ensure_ascii=False)
"""Arguments of 4 MB: four lines' worth."""

FRAME = '42["note",' + LONG[1:]


async def in_parts(client, text, identity=1, method="send", **params):
    """Calls with a text that is cut to pieces; returns the answer to the last one."""
    pieces = [text[start:start + PIECE] for start in range(0, len(text), PIECE)]
    at, size = 0, len(text.encode())
    for number, piece in enumerate(pieces):
        part = {"id": identity, "at": at, "of": size, "data": piece}
        at += len(piece.encode())
        if number + 1 == len(pieces):
            return await client.call(method, part=part, **params)
        line = {"jsonrpc": "2.0", "method": method, "params": {**params, "part": part}}
        client.writer.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
        await client.writer.drain()


async def entries(client, **params):
    return (await client.call("outbox.list", **params))["entries"]


async def test_a_long_durable_send_outlives_a_kill_and_arrives_once(daemons, peer):
    await peer.refuse()
    daemon = await daemons()
    client = await daemon.client()
    answer = await in_parts(client, LONG, url=peer.url, event="note", delivery="durable", key="k")
    assert answer["state"] == "durable"
    await daemon.crash()
    await daemon.start()
    client = await daemon.client()
    (entry,) = await entries(client)
    assert (entry["id"], entry["event"], entry["state"], entry["key"]) == (answer["id"], "note", "queued", "k")
    await peer.start()
    link = await peer.session(payload=16 << 20)
    await link.expect(FRAME)
    # Sent again under the same key it is the same one.
    again = await in_parts(client, LONG, url=peer.url, event="note", delivery="durable", key="k")
    assert (again["id"], again["duplicate"]) == (answer["id"], True)
    await client.call("send", url=peer.url, event="after", args=[])
    await link.expect('42["after"]')

    async def sent():
        while [one["state"] for one in await entries(client)] != ["sent"]:
            await asyncio.sleep(0.01)

    await within(sent(), "the entry to be sent")
    await daemon.stop()
    await daemon.start()
    client = await daemon.client()
    assert [one["state"] for one in await entries(client)] == ["sent"]
    await client.call("send", url=peer.url, event="last", args=[])
    link = await peer.session(payload=16 << 20)
    await link.expect('42["last"]')


async def test_half_of_a_long_durable_send_is_not_kept(daemons, peer):
    await peer.refuse()
    daemon = await daemons()
    client = await daemon.client()
    part = {"id": 1, "at": 0, "of": len(LONG.encode()), "data": LONG[:PIECE]}
    line = {"jsonrpc": "2.0", "method": "send",
            "params": {"url": peer.url, "event": "note", "delivery": "durable", "part": part}}
    client.writer.write(json.dumps(line).encode() + b"\n")
    assert await entries(client) == []
    await daemon.crash()
    await daemon.start()
    assert await entries(await daemon.client()) == []


@pytest.mark.parametrize("bounds, limit, unit", [
    ({"bytes": "6MiB"}, 6 << 20, "bytes"), ({"total_bytes": "12MiB"}, 6 << 20, "bytes"), ({"entries": 1}, 1, "sends")])
async def test_a_long_durable_send_for_which_the_outbox_has_no_room_is_refused(daemons, peer, bounds, limit, unit):
    await peer.refuse()
    daemon = await daemons({"outbox": bounds})
    client = await daemon.client()
    target = {"url": peer.url, "event": "note", "delivery": "durable"}
    first = await in_parts(client, LONG, **target)
    assert first["state"] == "durable"
    with pytest.raises(CallError, match="QueueFull") as failure:
        await in_parts(client, LONG, identity=2, **target)
    assert (failure.value.data["limit"], failure.value.data["unit"]) == (limit, unit)
    assert "The outbox is full" in failure.value.message
    assert [entry["id"] for entry in await entries(client)] == [first["id"]]
    # And it holds up nothing: once there is room again, the same is taken.
    await client.call("outbox.cancel", ids=[first["id"]])
    assert (await in_parts(client, LONG, identity=3, **target))["state"] == "durable"
