"""The window that cannot be closed: a holder that is stopped between its look at the clock and the system call writes that
one call when it goes on."""

import asyncio
import json
import os
import pathlib
import shutil

import pytest

import processes
import redis_server
from daemon import Daemon
from fleet_place import NotingServer
from patience import FACTOR, SOON, within
from programs import GATEWAYD

STRACE = shutil.which("strace")
pytestmark = [
    pytest.mark.skipif(redis_server.program() is None, reason=redis_server.MISSING),
    pytest.mark.skipif(STRACE is None, reason="strace is not installed")]

LEASE = max(1.0, FACTOR)
STOP = 4 * LEASE
"""Longer than it takes until another host holds and is connected."""


@pytest.fixture
async def place(folder):
    """A Redis, a server that notes what comes, and two hosts."""
    redis = await redis_server.RedisServer(folder / "redis").start()
    server = NotingServer(folder, 1)
    await server.start()
    hosts = []
    for name in ("h0", "h1"):
        (folder / name).mkdir()
        hosts.append(await Daemon(GATEWAYD, folder / name, {
            "fleet": {"name": "window", "redis": [redis.url], "host": name, "lease": f"{LEASE:g}s"},
            "upstream": {"chat": {"url": server.url, "fleet": True, "headers": {"X-Host": name}}}}).start())
    yield server, hosts
    for host in hosts:
        await host.close()
    await processes.kill(server.process)
    await redis.close()


async def is_up(host):
    """Whether the host has the link to the server, and that is connected."""
    return any(one["fleet"]["role"] == "holder" and one["state"] == "connected"
               for one in (await host.status())["connections"])


async def holder(hosts):
    async def ask():
        while True:
            for host in hosts:
                if await is_up(host):
                    return host
            await asyncio.sleep(0.02)

    return await within(ask(), "a host to hold the link", 4 * SOON)


def socket_of(host, port):
    """What the kernel calls the socket that the daemon has to a port of this machine."""
    inodes = {line.split()[9] for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]
              if line.split()[2] == f"0100007F:{port:04X}"}
    folder = pathlib.Path(f"/proc/{host.process.pid}/fd")
    links = {os.readlink(one) for one in folder.iterdir()}
    (found,) = (f"socket:[{inode}]" for inode in inodes if f"socket:[{inode}]" in links)
    return found


class Stop:
    """Stops a daemon at its next call that writes to a socket: behind all that it looked at before the call, and before the
    kernel does anything."""

    def __init__(self, host, socket, output):
        self.host, self.socket, self.output = host, socket, output

    async def begin(self):
        self.process = await processes.spawn(
            STRACE, "-f", "-p", self.host.process.pid, "-e", "trace=sendto", "-P", self.socket, "-e",
            f"inject=sendto:delay_enter={int(STOP * 1e6)}:when=1", "-o", self.output, stderr=asyncio.subprocess.PIPE)
        line = (await within(self.process.stderr.readline(), "strace to say something")).decode()
        if "attached" not in line:
            await processes.kill(self.process)
            pytest.skip(f"strace may not attach: {line.strip()}")
        self.reader = asyncio.ensure_future(self.process.stderr.read())

    async def end(self):
        """Returns the calls that it saw."""
        self.process.terminate()
        await within(self.process.wait(), "strace to end")
        await self.reader
        return [line for line in self.output.read_text().splitlines() if "sendto(" in line]


async def test_who_is_stopped_between_the_look_at_the_clock_and_the_call_writes_that_one_call_late(place, folder):
    server, hosts = place
    first = await holder(hosts)
    (other,) = (host for host in hosts if host is not first)
    client, later = await first.connected(upstream="chat"), await other.connected(upstream="chat")
    stop = Stop(first, socket_of(first, int(server.url.rpartition(":")[2])), folder / "calls")
    await stop.begin()
    client.post("send", upstream="chat", event="e", args=["late"], delivery="accepted")
    # What it says behind the stop, it says when it goes on; and then it may not write any more.
    behind = [client.post("send", upstream="chat", event="e", args=[f"behind {number}"], delivery="sent")
              for number in range(20)]
    assert await holder([other]) is other
    assert (await later.call("request", upstream="chat", event="e", args=["after"]))["args"] == ["after"]
    outcomes = [await within(future, "an outcome", 2 * STOP + 4 * SOON) for future in behind]
    calls = await stop.end()
    notes = [note for note in server.news() if "key" in note]
    links = [(note["link"], note["key"]) for note in notes]
    assert links.index((2, "after")) < links.index((1, "late")), links
    assert [key for link, key in links if link == 1] == ["late"], (links, calls)
    assert len(calls) == 1 and "DELAYED" in calls[0], calls
    # None of the others is lost without a word, and none came twice.
    for number, outcome in enumerate(outcomes):
        arrived = sum(key == f"behind {number}" for _, key in links)
        assert arrived == ("result" in outcome), (number, outcome, json.dumps(links))
