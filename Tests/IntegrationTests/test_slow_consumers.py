"""A subscriber that does not keep up loses what its policy says, is told exactly what, and harms nobody."""

import asyncio
import socket

from local_client import LocalClient
from patience import within


async def held_back(daemon, url, **more):
    """A client whose subscription `s` may get one event and queues two."""
    client = await daemon.client()
    await client.call("subscribe", url=url, subscription="s", **{"credit": 1, "queue": 2, **more})
    return client


async def tick(daemon, url, link, numbers):
    """The server says so many events, and the daemon has taken all of them."""
    witness = await daemon.client()
    await witness.call("subscribe", url=url)
    await link.text(*[f'42["tick",{number}]' for number in numbers])
    await witness.events(len(numbers))


async def lost_until_event(client):
    """The gaps up to the next event, which must follow one another, as (first, last, count); and that event."""
    gaps = []
    while True:
        method, params = await client.note()
        if method == "event":
            break
        assert params["reason"] == "slow_consumer" and (not gaps or params["from"] > gaps[-1]["to"])
        gaps.append(params)
    assert gaps, "no gap before the next event"
    return (gaps[0]["from"], gaps[-1]["to"], sum(gap["count"] for gap in gaps)), params


async def test_drop_oldest_keeps_the_newest_and_names_the_gap(daemons, peer):
    daemon = await daemons()
    client = await held_back(daemon, peer.url)
    link = await peer.session()
    await tick(daemon, peer.url, link, range(10))
    first = await client.event()
    assert first["args"] == [0]
    await client.call("credit", subscription="s", n=10)
    lost, event = await lost_until_event(client)
    assert lost == (first["seq"] + 1, first["seq"] + 7, 7)
    assert [event["args"], (await client.event())["args"]] == [[8], [9]]
    await client.silence()


async def test_pause_keeps_the_oldest_and_names_the_gap_behind_them(daemons, peer):
    daemon = await daemons()
    client = await held_back(daemon, peer.url, on_slow="pause")
    link = await peer.session()
    await tick(daemon, peer.url, link, range(10))
    first = await client.event()
    await client.silence()
    await client.call("credit", subscription="s", n=10)
    kept = await client.events(2)
    assert [event["args"] for event in kept] == [[1], [2]]
    await link.text('42["tick",10]')
    gap = await client.gap()
    assert (gap["from"], gap["to"], gap["count"]) == (first["seq"] + 3, first["seq"] + 9, 7)
    assert (await client.event())["args"] == [10]


async def test_disconnect_ends_the_client_and_nobody_else(daemons, peer):
    daemon = await daemons()
    client = await held_back(daemon, peer.url, on_slow="disconnect")
    other = await daemon.client()
    await other.call("subscribe", url=peer.url)
    link = await peer.session()
    await link.text(*[f'42["tick",{number}]' for number in range(10)])
    assert (await client.note("goodbye"))[1]["reason"] == "slow_consumer"
    await client.until_closed()
    assert len(await other.events(10)) == 10


async def test_a_gap_counts_only_the_matching_events(daemons, peer):
    daemon = await daemons()
    client = await held_back(daemon, peer.url, events=["a"], queue=1)
    link = await peer.session()
    await link.text(*['42["a"]', '42["b"]'] * 4)
    first = await client.event()
    await client.call("credit", subscription="s", n=10)
    (begin, end, count), last = await lost_until_event(client)
    assert count == 2
    assert first["seq"] < begin <= first["seq"] + 2 and first["seq"] + 4 <= end < last["seq"]
    assert last["seq"] == first["seq"] + 6


async def test_the_drops_of_a_client_are_counted(daemons, peer):
    daemon = await daemons()
    await held_back(daemon, peer.url)
    link = await peer.session()
    await link.text(*[f'42["tick",{number}]' for number in range(10)])
    # Who asks meanwhile may be answered in the middle of the ten.
    status = await daemon.until(lambda s: s["connections"][0]["in"]["events"] == 10, "all ten events")
    assert max(one["dropped"] for one in status["clients"]) == 7


async def unread(daemon, url, **more):
    """A socket with a subscription whose notifications nobody reads; the receive buffer is small."""
    one = socket.socket(socket.AF_UNIX)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    one.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(one, daemon.socket)
    members = "".join(f',"{key}":{value}' for key, value in more.items())
    line = f'{{"jsonrpc":"2.0","id":0,"method":"subscribe","params":{{"url":"{url}"{members}}}}}\n'
    await loop.sock_sendall(one, line.encode())
    reply = b""
    while not reply.endswith(b"\n"):
        reply += await within(loop.sock_recv(one, 1), "the reply to subscribe")
    return one


async def account(client, last):
    """Reads events and gaps until seq `last`; every seq must be accounted for exactly once. Returns the events."""
    events, expected = [], None
    while expected is None or expected <= last:
        method, params = await client.note()
        if method == "event":
            begin = end = params["seq"]
            events.append(params)
        else:
            assert params["reason"] == "slow_consumer"
            begin, end = params["from"], params["to"]
            assert params["count"] == end - begin + 1
        assert expected in (None, begin), (expected, params)
        expected = end + 1
    return events


async def test_a_client_that_does_not_read_loses_only_its_own_events_and_can_account_for_all(daemons, peer):
    daemon = await daemons({"limits": {"subscription_queue": 100}})
    other = await daemon.client()
    await other.call("subscribe", url=peer.url)
    slow = await unread(daemon, peer.url)
    link = await peer.session()
    text = "x" * 500
    for start in range(0, 5000, 500):
        await link.text(*[f'42["tick",{number},"{text}"]' for number in range(start, start + 500)])
        seen = await other.events(500)
    assert seen[-1]["args"][0] == 4999
    reader, writer = await asyncio.open_unix_connection(sock=slow, limit=1 << 24)
    client = LocalClient(reader, writer)
    events = await account(client, seen[-1]["seq"])
    numbers = [event["args"][0] for event in events]
    assert numbers == sorted(numbers) and numbers[0] == 0 and numbers[-1] == 4999 and len(numbers) < 5000
    await client.close()


async def test_a_client_that_only_writes_is_held_back_or_ended_and_nobody_waits_for_it(daemons):
    daemon = await daemons()
    other = await daemon.client()
    writer = socket.socket(socket.AF_UNIX)
    writer.setblocking(False)
    await asyncio.get_running_loop().sock_connect(writer, daemon.socket)
    line = b'{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}\n' * 1000

    async def flood():
        try:
            for _ in range(200):
                await asyncio.get_running_loop().sock_sendall(writer, line)
        except ConnectionError:
            pass

    task = asyncio.ensure_future(flood())
    for _ in range(50):
        assert await other.call("ping", seconds=2) == {}
        await asyncio.sleep(0.01)
    rss = (await daemon.status())["daemon"]["rss"]
    assert rss < 400 << 20, rss
    task.cancel()
    writer.close()
    assert await other.call("ping") == {}


async def test_a_frozen_subscriber_does_not_slow_the_others(daemons, peer):
    daemon = await daemons()
    frozen = [await unread(daemon, peer.url, on_slow='"drop_oldest"') for _ in range(5)]
    others = [await daemon.client() for _ in range(5)]
    for client in others:
        await client.call("subscribe", url=peer.url)
    link = await peer.session()
    await link.text(*[f'42["tick",{number},"{"y" * 200}"]' for number in range(3000)])
    for client in others:
        assert len(await client.events(3000)) == 3000
    for one in frozen:
        one.close()
    assert await others[0].call("ping") == {}
