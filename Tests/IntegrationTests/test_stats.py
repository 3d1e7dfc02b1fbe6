"""`stats`: what the daemon and its connections count."""

import asyncio

# What only grows, by its path in an element of `connections`.
COUNTERS = ["attempts", "reconnects", "deliveries", "gaps", "dropped", "unanswered"]


def counted(connection):
    counters = {name: connection[name] for name in COUNTERS}
    for way in ("in", "out"):
        counters |= {f"{way}.{name}": connection[way][name] for name in ("events", "bytes")}
    return counters | {"down": connection["down"]["total"], "requests": connection["requests"]["count"]}


async def test_it_counts_what_went_over_a_connection(daemons, server):
    daemon = await daemons()
    client = await daemon.connected(url=server.url)
    await client.call("subscribe", url=server.url, subscription="a")
    await client.call("subscribe", url=server.url, subscription="b")
    before = (await client.call("stats"))["connections"][0]
    await server.burst("tick", 3)
    for name in ("a", "b"):
        await client.events(3, name)
    await client.call("request", url=server.url, event="echo", args=["x"])
    stats = await client.call("stats")
    after = stats["connections"][0]
    grown = {name: count - counted(before)[name] for name, count in counted(after).items()}
    assert grown.pop("in.bytes") > 0 and grown.pop("out.bytes") > 0
    assert {name: count for name, count in grown.items() if count} == {
        "in.events": 3, "out.events": 1, "deliveries": 6, "requests": 1}
    requests = after["requests"]
    assert sum(requests["steps"]) == 1 and 0 < requests["sum"] < 10_000_000
    assert after["state"] == "connected" and after["down"]["now"] is None and after["reason"] is None

    own = stats["daemon"]
    turns = own["turns"]
    assert turns["count"] == sum(turns["steps"]) > 10 and turns["p50"] <= turns["p99"] <= 2 * own["longest_turn"] + 2
    assert 5 < own["descriptors"]["open"] < own["descriptors"]["limit"]
    assert own["clients"]["count"] == sum(user["clients"] for user in own["clients"]["users"]) >= 1
    assert stats["left_out"] == 0


async def test_time_down_goes_on_while_it_is_down(daemons, closed_port):
    daemon = await daemons()
    client = await daemon.client()
    url = f"http://127.0.0.1:{closed_port}"
    await client.call("subscribe", url=url)
    first = (await client.call("stats", url=url))["connections"][0]
    while True:
        await asyncio.sleep(0.05)
        later = (await client.call("stats", url=url))["connections"][0]
        if later["attempts"] > 1 and later["down"]["total"] >= first["down"]["total"] + 100:
            break
    assert later["down"]["now"] == later["down"]["total"] and later["reason"] == "unreachable"
