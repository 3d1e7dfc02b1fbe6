"""Servers that ask for answers and do not read them: the link ends with a reason, before they take memory."""

import asyncio
import contextlib
import socket

import memory
import pytest

from patience import SOON
from polling_peer import PollingPeer
from scripted import PING, TEXT, Closed, ScriptedUpstream, frame
from wamp_router import ScriptedRouter

MARGIN = 24 << 20
"""What the daemon may grow by: the limit, what one read makes of it, and the allocator."""

LIMIT = {"defaults": {"reconnect": {"base": "1h", "cap": "1h", "refused_base": "1h", "refused_cap": "1h"}}}


async def pour(link, data):
    """Writes it again and again without reading, until the daemon ends the link."""
    link.writer.transport.pause_reading()
    link.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 10)
    with contextlib.suppress(ConnectionError, Closed):
        while not link.writer.is_closing():
            await link.raw(data)


async def ends_for_unread_answers(daemon, before, pouring, patience=4 * SOON):
    """The connection is down because of them, and it did not cost memory."""
    task = asyncio.ensure_future(pouring)
    try:
        status = await daemon.until(
            lambda status: status["connections"][0].get("reason"), "the link to end", patience)
    finally:
        task.cancel()
    (connection,) = status["connections"]
    assert connection["reason"] == "protocol", connection
    assert "the server does not read the answers that it asks for" in connection["detail"], connection
    assert memory.peak(daemon) - before < MARGIN or not memory.COUNTS


async def subscribed(daemons, url, config=LIMIT):
    daemon = await daemons(config)
    client = await daemon.client()
    return daemon, client, asyncio.ensure_future(client.call("subscribe", url=url, events=["a.b"], answer=True))


@pytest.mark.parametrize("packet", [
    frame(PING, b""), frame(PING, b"x" * 125), frame(TEXT, b"2"), frame(TEXT, b"2" + b"x" * 127)],
    ids=["empty WebSocket pings", "long WebSocket pings", "Engine.IO pings", "Engine.IO pings with data"])
async def test_a_server_that_pings_and_does_not_read_loses_its_link(daemons, peer, packet):
    daemon, _, done = await subscribed(daemons, peer.url)
    link = await peer.session()
    await done
    before = memory.peak(daemon)
    await ends_for_unread_answers(daemon, before, pour(link, packet * 500))


async def test_a_server_that_pings_by_polling_and_leaves_the_post_unanswered_loses_its_link(daemons):
    peer = await PollingPeer().start()
    try:
        daemon, _, done = await subscribed(
            daemons, peer.url, {"defaults": {**LIMIT["defaults"], "transports": ["polling"]}})
        get = await peer.session()
        await done
        before = memory.peak(daemon)
        ping = "2" + "x" * 127

        async def pouring():
            get.answer("\x1e".join([ping] * 10_000))
            while True:
                (await peer.get()).answer("\x1e".join([ping] * 10_000))

        await ends_for_unread_answers(daemon, before, pouring())
    finally:
        await peer.close()


async def test_a_server_of_lines_that_sends_heartbeats_and_does_not_read_loses_its_link(daemons):
    peer = await ScriptedUpstream().start()
    try:
        url = f"tcp://127.0.0.1:{peer.port}"
        profile = {"heartbeat": {"type": "ping", "answer": "pong"}}
        daemon = await daemons({**LIMIT, "upstream": {"lines": {"url": url, "lines": profile}}})
        client = await daemon.client()
        await client.call("subscribe", upstream="lines")
        link = await peer.link()
        before = memory.peak(daemon)
        await ends_for_unread_answers(daemon, before, pour(link, b'{"type":"ping"}\n' * 500))
    finally:
        await peer.close()


async def test_a_router_whose_calls_nobody_answers_and_that_does_not_read_loses_its_link(daemons):
    router = await ScriptedRouter().start()
    try:
        daemon, client, done = await subscribed(daemons, router.url)
        session = await router.joined()
        await session.registered(90)
        await done
        # Who would have answered leaves a registration behind that the router does not give back.
        await client.close()
        numbers = iter(range(1, 1 << 30))
        before = memory.peak(daemon)

        async def pouring():
            link = session.link
            link.writer.transport.pause_reading()
            with contextlib.suppress(ConnectionError, Closed):
                while not link.writer.is_closing():
                    await link.raw(b"".join(
                        frame(TEXT, f"[68,{next(numbers)},90,{{}}]".encode()) for _ in range(500)))

        await ends_for_unread_answers(daemon, before, pouring(), 2 * SOON)
    finally:
        await router.close()


async def test_a_server_that_reads_may_ask_for_as_many_answers_as_it_likes(daemons, peer):
    daemon, _, done = await subscribed(daemons, peer.url)
    link = await peer.session()
    await done
    for _ in range(20):
        await link.raw(frame(TEXT, b"2" + b"x" * 100) * 1_000)
        for _ in range(1_000):
            assert await link.receive() == "3" + "x" * 100
    assert (await daemon.connection())["state"] == "connected"
