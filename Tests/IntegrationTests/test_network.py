"""What becomes of connections when the machine's network goes and comes: the daemon lives in a network namespace, the
server in another one, and a pair of virtual Ethernet devices is the cable between them."""

import asyncio
import itertools
import os
import subprocess
import time

import pytest

from chat import ChatServer
from patience import FACTOR

pytestmark = [pytest.mark.root, pytest.mark.slow]
numbers = itertools.count()


def ip(*arguments):
    return subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True, timeout=10).stdout


class Cable:
    """Two namespaces and what connects them: `near` is the daemon's end, `far` the server's."""

    def __init__(self):
        name = f"gw{os.getpid()}-{next(numbers)}"
        self.near, self.far = name + "n", name + "f"
        self.made = []

    def lay(self):
        for name in (self.near, self.far):
            # Before it is there, because it may be left half made.
            self.made.append(name)
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        ip("-n", self.near, "link", "add", "near", "type", "veth", "peer", "name", "far", "netns", self.far)
        for name, device, address in ((self.near, "near", "10.77.0.2/24"), (self.far, "far", "10.77.0.1/24")):
            ip("-n", name, "address", "add", address, "dev", device)
            ip("-n", name, "link", "set", device, "up")

    def sent(self):
        """Packets that left the daemon's end."""
        return int(ip("netns", "exec", self.near, "cat", "/sys/class/net/near/statistics/tx_packets"))

    def set(self, what, end="near"):
        ip("-n", self.near if end == "near" else self.far, "link", "set", end, what)

    def remove(self):
        for name in self.made:
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True, timeout=10)


@pytest.fixture
def cable():
    one = Cable()
    try:
        try:
            one.lay()
        except (OSError, subprocess.CalledProcessError) as problem:
            reason = getattr(problem, "stderr", None) or problem
            pytest.skip(f"network namespaces are not permitted here: {reason}")
        yield one
    finally:
        one.remove()


@pytest.fixture
async def far_server(cable):
    server = ChatServer("eio4", ["--host", "10.77.0.1"])
    server.wrapper = ["ip", "netns", "exec", cable.far]
    await server.start()
    yield server
    await server.close()


@pytest.fixture
async def scene(cable, far_server, daemons):
    """A daemon that is connected over the cable, and a client that hears of every transition."""
    daemon = await daemons({
        "defaults": {"probe_timeout": "400ms"},
        "upstream": {"far": {"url": f"http://10.77.0.1:{far_server.port}"}},
    }, wrapper=["ip", "netns", "exec", cable.near])
    client = await daemon.connected(upstream="far")
    await client.call("subscribe", upstream="far", state=True)
    # Until the first round trip is known the daemon asks no questions of life and death.
    await daemon.until(lambda status: status["connections"][0]["rtt"] is not None, "the first round trip")
    return daemon, client


async def transition(client, state, action=lambda: None):
    """The transition to a state that an action causes, and how long both took together, in milliseconds."""
    began = time.monotonic()
    action()
    last = (await client.state_until(state))[-1]
    return last, (time.monotonic() - began) * 1000


@pytest.mark.parametrize("end", ["near", "far"])
async def test_a_cut_link_is_offline_at_once_and_connected_again_at_once(cable, scene, end):
    """`near`: the daemon's own device is shut down. `far`: it loses its carrier."""
    daemon, client = scene
    state, noticed = await transition(client, "disconnected", lambda: cable.set("down", end))
    assert state["reason"] == "offline", state
    generation, sent = (await daemon.connection())["generation"], cable.sent()
    # Ten times as long as the longest back-off of the tests.
    await asyncio.sleep(2)
    connection = await daemon.connection()
    assert connection["generation"] == generation == 1, connection
    assert (connection["state"], connection["rule"], connection["reason"]) == ("disconnected", "offline", "offline")
    if end == "near":
        assert cable.sent() == sent
    _, back = await transition(client, "connected", lambda: cable.set("up", end))
    print(f"link down ({end} end): offline after {noticed:.0f} ms; no attempt in 2 s; "
          f"link up: connected after {back:.0f} ms")
    assert noticed < 1000 * FACTOR and back < 5000 * FACTOR, (noticed, back)


async def test_a_changed_address_makes_the_server_be_asked_and_the_link_be_replaced(cable, scene):
    daemon, client = scene
    # Without this the kernel takes the second address of a network away together with the first.
    ip("netns", "exec", cable.near, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/conf/near/promote_secondaries")
    ip("-n", cable.near, "address", "add", "10.77.0.3/24", "dev", "near")
    state, noticed = await transition(
        client, "disconnected", lambda: ip("-n", cable.near, "address", "delete", "10.77.0.2/24", "dev", "near"))
    assert state["reason"] == "heartbeat", state
    _, back = await transition(client, "connected")
    print(f"address changed: {state['reason']} after {noticed:.0f} ms, connected {back:.0f} ms later")
    # What `probe_timeout` says, and what it takes to notice.
    assert 400 <= noticed < 3000 * FACTOR, noticed


async def test_a_link_that_survives_a_change_of_the_network_stays(cable, scene):
    daemon, client = scene
    before = await daemon.connection()
    ip("-n", cable.near, "address", "add", "10.99.0.1/24", "dev", "near")
    ip("-n", cable.near, "address", "delete", "10.99.0.1/24", "dev", "near")
    await client.silence(1)
    after = await daemon.connection()
    assert (after["link"], after["state"]) == (before["link"], "connected")


async def test_without_a_network_an_upstream_on_this_machine_is_reached(cable, daemons, servers):
    server = ChatServer("eio4")
    server.wrapper = ["ip", "netns", "exec", cable.near]
    await server.start()
    try:
        cable.set("down")
        daemon = await daemons({"upstream": {"here": {"url": server.url}, "far": {"url": "http://10.77.0.1:1"},
                                             "name": {"url": "http://chat.example"}}},
                               wrapper=["ip", "netns", "exec", cable.near])
        client = await daemon.connected(upstream="here")
        for name in ("far", "name"):
            await client.call("subscribe", upstream=name)
            connection = await daemon.connection(upstream=name)
            assert (connection["reason"], connection["generation"]) == ("offline", 0), connection
    finally:
        await server.close()
