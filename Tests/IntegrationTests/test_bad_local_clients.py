"""Local programs that behave badly: the daemon and everybody else go on."""

import asyncio
import json
import random
import resource

import memory
import pytest

from local_client import connected_socket
from patience import within


async def plain(daemon):
    """A bare socket to the daemon."""
    return connected_socket(daemon.socket)


async def still_alive(daemon, chat):
    client = await daemon.client()
    assert (await client.call("request", url=chat.url, event="echo", args=[1]))["args"] == [1]


@pytest.mark.parametrize("data", [
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\0" * 5000, b"\n" * 5000, b"\r\n" * 100, b"{" * 5000, b"\xff" * 5000 + b"\n",
    b'{"jsonrpc":"2.0"', b"SSH-2.0-x\r\n", bytes(range(256)) * 20])
async def test_junk_is_answered_or_ended_and_harms_nobody(daemons, chat, data):
    daemon = await daemons()
    one = await plain(daemon)
    await asyncio.get_running_loop().sock_sendall(one, data)
    await still_alive(daemon, chat)
    one.close()
    await still_alive(daemon, chat)


async def test_random_bytes_harm_nobody(daemons, chat):
    daemon = await daemons()
    source = random.Random(5)
    for _ in range(50):
        one = await plain(daemon)
        try:
            await asyncio.get_running_loop().sock_sendall(one, source.randbytes(source.randrange(1, 5000)))
        except ConnectionError:
            pass
        one.close()
    await still_alive(daemon, chat)


async def test_a_client_that_vanishes_in_the_middle_of_a_line_leaves_nothing_behind(daemons, chat):
    daemon = await daemons()
    for _ in range(100):
        one = await plain(daemon)
        await asyncio.get_running_loop().sock_sendall(one, b'{"jsonrpc":"2.0","id":1,"meth')
        one.close()
    await still_alive(daemon, chat)
    await daemon.until(lambda s: len(s["clients"]) == 2, "the clients that are gone to be forgotten")


async def test_a_client_that_vanishes_with_calls_in_flight_leaves_nothing_behind(daemons, chat):
    daemon = await daemons()
    for number in range(20):
        client = await daemon.client()
        client.post("subscribe", url=chat.url)
        client.post("request", url=chat.url, event="hold", args=[f"n{number}"])
        client.post("wait", url=chat.url, state="disconnected", timeout=60_000)
        await client.writer.drain()
        client.writer.transport.abort()
    await still_alive(daemon, chat)
    status = await daemon.until(lambda s: len(s["clients"]) == 2, "the clients that are gone to be forgotten")
    assert status["connections"][0]["subscriptions"] == 0


async def test_a_line_without_end_is_cut_off(daemons, chat):
    daemon = await daemons()
    client = await daemon.client()

    async def pour():
        try:
            for _ in range(1000):
                await client.raw(b"x" * 65536)
        except ConnectionError:
            pass

    task = asyncio.ensure_future(pour())
    await client.until_closed()
    task.cancel()
    await still_alive(daemon, chat)
    assert (await daemon.status())["daemon"]["rss"] < 200 << 20


async def test_a_thousand_connections_come_and_go(daemons, chat):
    daemon = await daemons()
    for _ in range(10):
        batch = [await plain(daemon) for _ in range(100)]
        for one in batch:
            one.close()
    await still_alive(daemon, chat)
    await daemon.until(lambda s: len(s["clients"]) == 2, "the clients that are gone to be forgotten")


async def test_half_of_a_request_does_not_hold_up_others(daemons, chat):
    daemon = await daemons()
    one = await plain(daemon)
    await asyncio.get_running_loop().sock_sendall(one, b'{"jsonrpc":"2.0","id":1,')
    await still_alive(daemon, chat)
    await asyncio.get_running_loop().sock_sendall(one, b'"method":"ping"}\n')
    reply = await within(asyncio.get_running_loop().sock_recv(one, 4096), "a reply")
    assert b'"result":{}' in reply
    one.close()


async def test_a_last_line_without_its_end_is_answered_though_much_was_unread(daemons, peer):
    daemon = await daemons()
    other = await daemon.client()
    await other.call("subscribe", url=peer.url, events=["last"])
    link = await peer.session()
    reader, writer = await asyncio.open_unix_connection(sock=await plain(daemon), limit=1 << 20)
    params = json.dumps({"url": peer.url, "events": ["big"]})
    writer.write(b'{"jsonrpc":"2.0","id":1,"method":"subscribe","params":%s}\n' % params.encode())
    await within(reader.readline(), "the answer to subscribe")
    writer.write(b'{"jsonrpc":"2.0","id":2,"method":"ping"}')
    await other.call("ping")
    # asyncio's reader stops at twice its limit, and the kernel takes some hundred KiB more.
    for _ in range(80):
        await link.text('42["big","' + "x" * 50_000 + '"]')
    await link.text('42["last"]')
    await other.event()
    writer.write_eof()
    await other.call("ping")
    while b'"id":2' not in (line := await within(reader.readline(), "the answer to the last line")):
        assert line, "an end without an answer"
    assert b'"result":{}' in line
    writer.close()


async def test_nothing_that_a_program_sends_closes_the_shared_link(daemons, chat):
    daemon = await daemons()
    victim = await daemon.connected(url=chat.url)
    await victim.call("subscribe", url=chat.url, state=True)
    bad = await daemon.client()
    calls = [
        {"event": "connect"}, {"event": "disconnect", "args": ["123"]}, {"event": "e", "args": [{"$bin": "*"}]},
        {"event": "e", "args": [{"$bin": "AAAA"}] * 50}, {"event": "e", "args": ["x" * 1_000_000 + "y"]},
        {"event": "e", "namespace": "chat"}, {"event": "e", "namespace": "/a,b"}, {"event": "e", "args": {"0": 1}},
        {"event": "e", "args": ["fine"]}, {"event": "e", "args": [{"_placeholder": True, "num": 7}]},
        {"event": "e", "args": [{"_placeholder": True, "num": 7}, {"$bin": "AAAA"}]}]
    for params in calls:
        await within(bad.post("send", {"url": chat.url, **params}), "a reply")
    await still_alive(daemon, chat)
    await victim.call("ping")
    assert victim.notes == []
    assert (await chat.counters())["links_ever"] == 1


async def test_large_messages_stay_whole_among_small_ones_and_leave_nothing(daemons, chat):
    daemon = await daemons()
    large, small = await daemon.connected(url=chat.url), await daemon.connected(url=chat.url)
    assert (await small.call("request", url=chat.url, event="echo", args=["first"]))["args"] == ["first"]
    before = (await daemon.status())["daemon"]["rss"]
    texts = [letter * 900_000 for letter in "abc"]
    asked = [large.post("request", url=chat.url, event="echo", args=[text]) for text in texts]
    for number in range(100):
        assert (await small.call("request", url=chat.url, event="echo", args=[number]))["args"] == [number]
    for reply, text in zip(asked, texts, strict=True):
        answer = await within(reply, "the answer to a large request")
        assert answer["result"]["args"] == [text]
    if memory.COUNTS:
        await daemon.until(lambda s: s["daemon"]["rss"] < before + (3 << 20), "the memory of large messages to go back")


async def test_a_client_that_floods_loses_no_call_and_holds_nobody(daemons, chat):
    daemon = await daemons()
    flooder, other = await daemon.client(), await daemon.connected(url=chat.url)
    calls = [flooder.post("status" if number % 2 else "ping") for number in range(4000)]
    assert (await other.call("request", url=chat.url, event="echo", args=["in between"]))["args"] == ["in between"]
    replies = await within(asyncio.gather(*calls), "all the answers")
    assert all("result" in reply for reply in replies)


@pytest.mark.slow
async def test_ten_thousand_idle_clients_are_no_burden(daemons, chat):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 10_500:
        pytest.skip(f"needs 10,500 descriptors, the limit is {hard}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    daemon = await daemons({"limits": {"clients_per_user": 16_000}})
    client = await daemon.connected(url=chat.url)
    before = (await daemon.status())["daemon"]["rss"]
    idle = []
    try:
        for _ in range(10_000):
            idle.append(await plain(daemon))
        assert (await client.call("request", url=chat.url, event="echo", args=[1]))["args"] == [1]
        for number in (0, 5000, 9999):
            await asyncio.get_running_loop().sock_sendall(idle[number], b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
            assert b"result" in await within(asyncio.get_running_loop().sock_recv(idle[number], 4096), "a reply")
        status = await client.call("status")
        # More than one line holds: the rest is counted.
        assert 2_000 < len(status["clients"]) < 10_000
        assert len(status["clients"]) + status["left_out"]["clients"] >= 10_001
        assert max(map(len, client.lines)) <= 1 << 20
        assert status["daemon"]["rss"] - before < 40 << 20 or not memory.COUNTS
    finally:
        for one in idle:
            one.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
