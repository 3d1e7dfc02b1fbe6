"""Whether the server is still there, and what is told of it."""

import asyncio
import pathlib
import signal
import sys

from patience import FACTOR
from scripted import Closed


async def test_the_round_trip_is_known_soon_after_the_opening(server, daemons):
    daemon = await daemons({"upstream": {"chat": {"url": server.url}}})
    await daemon.connected(upstream="chat")
    status = await daemon.until(lambda status: status["connections"][0]["rtt"] is not None, "a round trip")
    (connection,) = status["connections"]
    assert 0 < connection["rtt"] < 5_000
    assert 0 <= connection["heartbeat"]["age"] < 10_000


async def test_a_send_after_a_long_stop_is_delivered_on_the_next_link_and_not_lost(peer, daemons):
    daemon = await daemons({"upstream": {"peer": {"url": peer.url}}})
    client = await daemon.client()
    await client.call("subscribe", upstream="peer", state=True)
    old = await peer.session(interval=int(1_000 * FACTOR), timeout=int(1_000 * FACTOR))
    await client.state_until("connected")
    daemon.send_signal(signal.SIGSTOP)
    future = client.post("send", upstream="peer", event="late", delivery="sent")
    # The heartbeat's deadline itself has to pass.
    await asyncio.sleep(2.2 * FACTOR)
    daemon.send_signal(signal.SIGCONT)
    fresh = await peer.session()
    assert await fresh.receive() == '42["late"]'
    await client.result(future)
    states = await client.state_until("connected")
    assert states[0]["reason"] == "heartbeat", states
    try:
        while True:
            assert "late" not in str(await old.receive())
    except Closed:
        pass


async def test_a_link_of_its_own_for_each_connection(chat, daemons):
    daemon = await daemons({"upstream": {"own": {"url": chat.url, "force_new": True},
                                         "shared": {"url": chat.url}}})
    client = await daemon.client()
    for namespace in ("/", "/admin"):
        for name in ("own", "shared"):
            await client.call("wait", upstream=name, namespace=namespace, state="connected", timeout=5_000)
    links = {}
    for connection in (await daemon.status())["connections"]:
        links.setdefault(connection["upstream"], set()).add(connection["link"])
    assert {name: len(ids) for name, ids in links.items()} == {"own": 2, "shared": 1}
    assert not links["own"] & links["shared"]
    await chat.links(3)


async def test_attachments_that_never_come_end_the_link(peer, daemons):
    daemon = await daemons({"upstream": {"peer": {"url": peer.url, "attachment_timeout": "200ms"}}})
    client = await daemon.client()
    await client.call("subscribe", upstream="peer", state=True)
    link = await peer.session()
    await client.state_until("connected")
    await link.text('451-["x",{"_placeholder":true,"num":0}]')
    state = await client.state()
    assert (state["state"], state["reason"]) == ("disconnected", "protocol"), state
    assert state["detail"] == "the server announced attachments and did not send them in time"


async def test_a_sandbox_without_netlink_is_told_once_and_everything_counts_as_reachable(chat, daemons):
    program = pathlib.Path(__file__).with_name("without_netlink.py")
    daemon = await daemons({"upstream": {"chat": {"url": chat.url}}}, wrapper=[sys.executable, program])
    await daemon.connected(upstream="chat")
    assert daemon.text().count("cannot watch the network, every upstream counts as reachable") == 1
