"""A fleet's Redis with replicas: what counts only when a replica has it, and the failovers of Sentinel."""

import asyncio
import contextlib
import pathlib
import socket

import pytest

import processes
import redis_server
from fleet_hosts import holder
from patience import QUIET, SOON, end, within
from test_fleet_doctor import examined, found
from test_fleet_redis import fleet, told, works

pytestmark = pytest.mark.skipif(redis_server.program() is None, reason=redis_server.MISSING)


class Sentinel:
    """A Sentinel that watches a master under the name `m`; it decides alone."""

    def __init__(self, folder, wrapper=(), host="127.0.0.1"):
        self.folder, self.wrapper, self.host = folder, list(wrapper), host
        self.port = 26_379
        """In a namespace of its own it is free."""
        folder.mkdir()
        self.name = folder / "redis-sentinel"
        self.name.symlink_to(pathlib.Path(redis_server.program()).resolve())

    async def start(self, master, quorum=1, silence=500):
        for _ in range(20):
            if await self._start(master, quorum, silence):
                return self
            await self.close()
        raise AssertionError("no Sentinel could be started")

    async def _start(self, master, quorum, silence):
        """False where somebody else has taken the port."""
        if not self.wrapper:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                self.port = free.getsockname()[1]
        file = self.folder / "sentinel.conf"
        file.write_text(
            f"bind {self.host}\nport {self.port}\ndir {self.folder}\nprotected-mode no\n"
            f"sentinel monitor m {master.host} {master.port} {quorum}\nsentinel down-after-milliseconds m {silence}\n"
            "sentinel failover-timeout m 3000\n")
        self.process = await processes.spawn(
            *self.wrapper, self.name, file, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE)
        self.words = []
        self.said = asyncio.Condition()
        self.reader = asyncio.ensure_future(self._read())
        ended = asyncio.ensure_future(self.process.wait())
        begun = asyncio.ensure_future(self.says("+monitor"))
        await asyncio.wait([ended, begun], return_when=asyncio.FIRST_COMPLETED)
        hasBegun = begun.done()
        await end([ended, begun])
        return hasBegun

    async def _read(self):
        while line := await self.process.stdout.readline():
            async with self.said:
                self.words.append(line.decode())
                self.said.notify_all()

    async def says(self, *words, after=0, times=1):
        """Waits for lines with these words, among those behind the first `after`."""
        async with self.said:
            await within(self.said.wait_for(lambda: sum(
                all(word in line for word in words) for line in self.words[after:]) >= times),
                         f"Sentinel to say {words}", 3 * SOON)

    async def command(self, *words):
        process = await processes.spawn(
            *self.wrapper, redis_server.CLIENT, "-h", self.host, "-p", str(self.port), "SENTINEL", *words,
            stdout=asyncio.subprocess.PIPE)
        output, _ = await within(process.communicate(), f"Sentinel to {words[0]}")
        assert output.strip() == b"OK", output

    async def close(self):
        await processes.kill(self.process)
        self.reader.cancel()


@pytest.fixture
async def nodes(folder):
    """Makes a master and replicas of it: `await nodes(3)`; they end with the test."""
    made = []

    async def make(count):
        for number in range(count):
            made.append(await redis_server.RedisServer(
                folder / f"redis{number}", ["--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"]).start())
        for one in made[1:]:
            await one.follow(made[0])
        for one in made[1:]:
            await one.until_linked()
        return made

    yield make
    for one in made:
        with contextlib.suppress(ProcessLookupError):
            one.resume()
        await one.close()


def configuration(chat, nodes, host="a", **settings):
    return {"fleet": {"name": "test", "redis": [one.url for one in nodes], "host": host, "lease": "1s", "copies": 1,
                      "grace": "3s", **settings},
            "upstream": {"chat": {"url": chat.url, "fleet": True, "keep": "always"}}}


async def test_what_has_to_last_counts_only_while_a_replica_confirms_it(daemons, chat, nodes):
    two = await nodes(2)
    daemon = await daemons(configuration(chat, two))
    await works(daemon)
    client = await daemon.connected(upstream="chat")
    two[1].pause()
    seen = await told(daemon, "has 0 replicas that confirm, and `copies` wants 1")
    assert (seen["state"], seen["reason"]) == ("refusing", "timeout")
    # A lease later nothing is written.
    await asyncio.sleep(1.2)
    await client.call("send", upstream="chat", event="d", args=[1], delivery="durable")
    await asyncio.sleep(2 * QUIET)
    assert await chat.control("received", count=0, timeout=0, event="d") == []
    two[1].resume()
    assert [one["args"] for one in await chat.received(1, "d")] == [[1]]
    await daemon.until(lambda status: fleet(status)["redis"]["state"] == "working", "it to be well")
    assert "replicas that confirm" in daemon.text()


async def test_the_doctor_finds_replicas_that_are_connected_and_hang(daemons, chat, nodes):
    three = await nodes(3)
    daemon = await daemons(configuration(chat, three))
    await works(daemon)
    steps = await examined(daemon)
    assert found(steps, "fleet.replicas")["code"] == "fleet.replicas.ok" and steps[-1]["verdict"] != "failed", steps
    for one in three[1:]:
        one.pause()
    last = (await examined(daemon))[-1]
    assert last["code"] == "fleet.replicas.behind", last
    assert last["seen"].startswith("2 replicas are connected, 0 confirmed an entry within "), last


async def test_failovers_of_sentinel_lose_nothing_that_was_accepted(daemons, chat, nodes, folder):
    three = await nodes(3)
    sentinel = await Sentinel(folder / "sentinel").start(three[0])
    try:
        await sentinel.command("DEBUG", "INFO-PERIOD", "300", "PUBLISH-PERIOD", "300")
        hosts = [await daemons(configuration(chat, three, host)) for host in ("a", "b")]
        clients = [await host.connected(upstream="chat") for host in hosts]
        await holder(hosts)
        for client in clients:
            await client.call("subscribe", upstream="chat", events=["e"])
        for one in three[1:]:
            await sentinel.says("+slave", str(one.port))
        sent = 0

        async def traffic(seconds):
            """Durable sends and events all along."""
            nonlocal sent
            end = asyncio.get_running_loop().time() + seconds
            while asyncio.get_running_loop().time() < end:
                await clients[sent % 2].call("send", upstream="chat", event="d", args=[sent], delivery="durable")
                await chat.control("emit", event="e", namespace="/", args=[sent])
                sent += 1
                await asyncio.sleep(0.01)

        async def failover(begin):
            before = len(sentinel.words)
            running = asyncio.ensure_future(traffic(3))
            await begin()
            await sentinel.says("+switch-master", after=before)
            await running
            for host in hosts:
                await works(host)

        # The old master lives on, and says that it is one no more.
        await failover(lambda: sentinel.command("FAILOVER", "m"))
        await three[0].until_linked()
        first = fleet(await hosts[0].status())["redis"]["server"]
        assert first != f"127.0.0.1:{three[0].port}"
        master = next(one for one in three if str(one.port) == first.rpartition(":")[2])
        await failover(master.kill)
        assert fleet(await hosts[0].status())["redis"]["server"] != first
        received = [one["args"][0] for one in await chat.received(sent, "d")]
        assert set(received) == set(range(sent))
        for client in clients:
            assert_no_hole(client, await events_to(client, sent - 1))
    finally:
        await sentinel.close()


async def events_to(client, last):
    """The notifications of a subscription, once the last event has come."""
    async with client.arrived:
        await within(client.arrived.wait_for(lambda: any(
            method == "event" and note["args"] == [last] for method, note in client.notes)), "the last event", 2 * SOON)
    return client.notes


def assert_no_hole(client, notes):
    """Each event in order, and where one is missing a gap stands for it, or another epoch has begun."""
    expected, is_known, count = 0, True, 0
    for method, note in notes:
        if method == "gap":
            is_known = False
        elif method == "event":
            (number,) = note["args"]
            assert number == expected or not is_known and number > expected - 1, (number, expected)
            expected, is_known, count = number + 1, True, count + 1
    assert count
