"""A holder whose way to the server is cut, while its way to Redis is not: a host that reaches the server holds then."""

import asyncio

import pytest

import redis_server
from fleet_place import Place
from patience import SOON, within

pytestmark = [pytest.mark.root, pytest.mark.skipif(redis_server.program() is None, reason=redis_server.MISSING)]


async def test_a_holder_that_does_not_reach_the_server_gives_the_link_to_a_host_that_does(folder):
    place = Place(folder, 20, 10, "websocket")
    if not place.network:
        pytest.skip(f"there are no network namespaces: {place.without_network}")
    try:
        await place.start()
        await place.until_up(4 * SOON)
        states = [await place.is_up(host) for host in place.hosts]
        first = [holds for _, holds in states].index(True)
        client = await place.hosts[first].client()
        sending = asyncio.ensure_future(keep_sending(client))
        place.network.cut(first, "server")

        async def moved():
            while True:
                states = [await place.is_up(host) for host in place.hosts]
                if not states[first][1] and all(follows for follows, _ in states) and any(holds for _, holds in states):
                    return
                await asyncio.sleep(0.05)

        # The link is given up after a lease, and the lease after `yield`.
        await within(moved(), "another host to hold the link", 10 + 5 * SOON)
        sending.cancel()
        answer = await client.call("send", upstream="chat", event="note", args=["k"], delivery="sent")
        assert answer["state"] == "sent"
    finally:
        await place.close()


async def keep_sending(client):
    """Without anything to be acknowledged the kernel does not learn that the server is away."""
    while True:
        client.post("send", upstream="chat", event="note", args=["k"], delivery="accepted")
        await asyncio.sleep(0.1)
