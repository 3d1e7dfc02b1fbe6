"""The clock of one host of a fleet: when it stands still while the host does, what the host still writes is bounded."""

import asyncio
import json
import os
import signal
import struct
import time

import pytest

import processes
import redis_server
from fleet_place import NotingServer
from patience import FACTOR, SOON, within
from test_clock_steps import Clock

pytestmark = pytest.mark.skipif(redis_server.program() is None, reason=redis_server.MISSING)

LEASE = max(1.0, FACTOR)


class StillClock(Clock):
    """The clocks of a daemon, which can have stood still for a while."""

    def __init__(self, folder):
        folder.mkdir()
        super().__init__(folder)
        self.file.write_bytes(bytes(16))

    def stood_still(self, seconds):
        with open(self.file, "r+b") as file:
            file.write(struct.pack("qq", 0, -int(seconds * 1e9)))


@pytest.fixture
async def place(daemons, folder):
    """A server that notes what comes, and two hosts with clocks of their own."""
    redis = await redis_server.RedisServer(folder / "redis").start()
    server = NotingServer(folder, 1)
    await server.start()
    made = []
    for name in ("h0", "h1"):
        clock = StillClock(folder / f"clock-{name}")
        made.append((await daemons({
            "fleet": {"name": "still", "redis": [redis.url], "host": name, "lease": f"{LEASE:g}s"},
            "upstream": {"chat": {"url": server.url, "fleet": True, "keep": "always", "headers": {"X-Host": name}}}},
            environment=clock.environment), clock))
    yield server, made
    await processes.kill(server.process)
    await redis.close()


async def until_up(hosts):
    """Waits until one of them has the link, and it is connected; returns that one."""
    async def ask():
        while True:
            for host in hosts:
                if any(one["fleet"]["role"] == "holder" and one["state"] == "connected"
                       for one in (await host.status())["connections"]):
                    return host
            await asyncio.sleep(0.02)

    return await within(ask(), "a host to hold the link", 4 * SOON)


async def test_a_host_whose_clock_stood_still_with_it_writes_for_a_third_of_the_lease_at_most(place):
    server, made = place
    hosts = [host for host, _ in made]
    first = await until_up(hosts)
    (other,) = (host for host in hosts if host is not first)
    clock = next(clock for host, clock in made if host is first)
    client, later = await first.connected(upstream="chat"), await other.connected(upstream="chat")
    os.kill(first.process.pid, signal.SIGSTOP)
    began = time.monotonic()
    posted = []
    try:
        assert await until_up([other]) is other
        assert (await later.call("request", upstream="chat", event="e", args=["after"]))["args"] == ["after"]
        # They are there when it goes on.
        for number in range(200):
            posted.append(client.post("send", upstream="chat", event="e", args=[f"s{number}"], delivery="sent"))
        clock.stood_still(time.monotonic() - began)
    finally:
        os.kill(first.process.pid, signal.SIGCONT)
    resumed = time.monotonic()
    outcomes = [await within(asyncio.shield(future), "an outcome", 4 * SOON) for future in posted]
    answer = await client.call("request", upstream="chat", event="e", args=["again"], seconds=4 * SOON)
    assert answer["args"] == ["again"]
    notes = [note for note in server.news() if "key" in note]
    late = [note for note in notes if note["link"] == 1 and note["at"] > resumed]
    # On its own link, beside the one of the other host: until its next sign of life is refused.
    assert all(note["at"] - resumed < LEASE / 3 + 0.5 * FACTOR for note in late), late
    assert {note["link"] for note in notes if note["key"] == "again"} == {2}
    # Nothing comes twice, and what was told as sent has come.
    counts = [sum(note["key"] == f"s{number}" for note in notes) for number in range(200)]
    assert max(counts) == 1, json.dumps(notes)
    assert all(count == 1 for count, outcome in zip(counts, outcomes) if "result" in outcome)
