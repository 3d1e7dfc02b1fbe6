"""Somebody sets the machine's clock while the daemon runs. The clock of the daemon alone is turned, by a library that is
preloaded into it."""

import asyncio
import contextlib
import pathlib
import shutil
import struct
import subprocess
import time

import pytest

from local_client import CallError
from patience import within

HOUR = 3_600_000
SOURCE = pathlib.Path(__file__).with_name("turned_clock.c")


class Clock:
    """The wall clock of a daemon."""

    def __init__(self, folder):
        compiler = shutil.which("clang") or shutil.which("cc")
        if not compiler:
            pytest.skip("no C compiler for the library that turns the clock")
        self.library = folder / "turned_clock.so"
        subprocess.run([compiler, "-shared", "-fPIC", "-O", "-o", self.library, SOURCE], check=True)
        self.file = folder / "turned"
        self.ahead = 0
        self.file.write_bytes(bytes(8))
        self.environment = {"LD_PRELOAD": self.library, "TURNED_CLOCK": self.file}

    def turn(self, milliseconds):
        """Sets it so much ahead, or with a negative number back."""
        self.ahead += milliseconds
        with open(self.file, "r+b") as file:
            file.write(struct.pack("q", self.ahead * 1_000_000))

    def now(self):
        return int(time.time() * 1_000) + self.ahead


@pytest.fixture
def clock(folder):
    return Clock(folder)


async def durable(client, event, **more):
    assert (await client.call("send", upstream="chat", event=event, delivery="durable", **more))["state"] == "durable"


async def states(client):
    entries = (await client.call("outbox.list"))["entries"]
    return [(entry["event"], entry["state"]) for entry in entries]


@pytest.mark.parametrize("step", [-HOUR, HOUR])
async def test_durable_sends_leave_in_order_and_none_expires_early_after_a_crash(daemons, servers, clock, step):
    server = await servers()
    await server.stop()
    daemon = await daemons({"upstream": {"chat": {"url": server.url}}}, environment=clock.environment)
    client = await daemon.client()
    for event in ("a", "b", "c"):
        await durable(client, event, ttl=60_000)
    clock.turn(step)
    await durable(client, "d", ttl=60_000)
    listed = (await client.call("outbox.list"))["entries"]
    assert [entry["event"] for entry in listed] == ["a", "b", "c", "d"]
    assert all(0 <= clock.now() - entry["created"] < 30_000 for entry in listed), (clock.now(), listed)
    assert all(abs(entry["expires"] - entry["created"] - 60_000) <= 2 for entry in listed), listed
    # What the clock made of the older ones goes along with the next send's transaction.
    await durable(client, "e", ttl=60_000)
    await daemon.crash()
    await daemon.start()
    client = await daemon.client()
    assert await states(client) == [(event, "queued") for event in "abcde"]
    clock.turn(-2 * step)
    await durable(client, "f", ttl=60_000)
    await server.start()
    # Unless an attempt is under way already.
    with contextlib.suppress(CallError):
        await client.call("reconnect", upstream="chat")
    assert [event["event"] for event in await server.received(6)] == list("abcdef")


async def test_a_clock_that_is_set_back_lets_nothing_live_longer(daemons, clock):
    # Nobody listens on the discard port; one that a server has left may be taken by another test's.
    daemon = await daemons({"upstream": {"chat": {"url": "http://127.0.0.1:9"}}}, environment=clock.environment)
    client = await daemon.client()
    await durable(client, "a", ttl=2_500)
    clock.turn(-HOUR)
    await durable(client, "b", ttl=60_000)
    await durable(client, "c", ttl=60_000)
    await daemon.crash()
    await daemon.start()
    client = await daemon.client()

    async def expired():
        while ("a", "expired") not in await states(client):
            await asyncio.sleep(0.05)

    await within(expired(), "the first send to expire")
    assert (await states(client))[1:] == [("b", "queued"), ("c", "queued")]


async def test_events_keep_their_order_by_time_when_the_clock_is_set_back(daemons, chat, clock):
    daemon = await daemons(environment=clock.environment)
    client = await daemon.connected(url=chat.url)
    await client.call("subscribe", url=chat.url, subscription="s")
    await chat.emit("said", 1)
    first = await client.event()
    clock.turn(-5_000)
    await chat.burst("tick", 10)
    assert {event["time"] for event in await client.events(10)} == {first["time"]}
    # The server's Date header knows better than a clock that is wrong by an hour.
    clock.turn(HOUR)
    await chat.emit("said", 2)
    assert abs((await client.event())["time"] - time.time() * 1_000) < 3_000
