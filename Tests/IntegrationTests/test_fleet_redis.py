"""What a fleet makes of a Redis that is none, or not the right one, or that refuses what is asked of it: people are told why,
and nothing else is disturbed."""

import asyncio
import contextlib
import shutil

import pytest

import memory
import redis_server
from patience import FACTOR, QUIET, SOON, within
from relay import Relay

redis_is_there = pytest.mark.skipif(redis_server.program() is None, reason=redis_server.MISSING)


@pytest.fixture
async def redis(folder):
    server = await redis_server.RedisServer(folder / "redis").start()
    yield server
    await server.close()


@pytest.fixture
async def host(daemons, chat):
    """Starts a host: `await host([url], …settings of the fleet, upstreams=…)`. Its upstream `chat` is the fleet's, `other`
    is not."""
    async def make(urls, upstreams=("chat",), **fleet):
        shared = {name: {"url": chat.url, "fleet": True, "keep": "always"} for name in upstreams}
        return await daemons({
            "fleet": {"name": "test", "redis": urls, "host": "a", "lease": "1s", **fleet},
            "upstream": {**shared, "other": {"url": chat.url, "keep": "always"}}},
            environment={"GATEWAYD_TURN_CLOCK": "processor"})

    return make


def fleet(status, upstream="chat"):
    """What `status` says of the fleet's Redis, to programs of an upstream."""
    return next(one["fleet"] for one in status["connections"]
                if one["upstream"] == upstream and one.get("fleet", {}).get("role") == "follower")


async def told(host, *words, upstream="chat", patience=SOON):
    """`status` says so about Redis; returns what."""
    status = await host.until(
        lambda status: all(word in (fleet(status, upstream)["redis"]["detail"] or "") for word in words),
        f"status to say {words}", patience)
    return fleet(status, upstream)["redis"]


async def works(host, upstream="chat", word="x"):
    client = await host.connected(upstream=upstream)
    assert (await client.call("request", upstream=upstream, event="echo", args=[word]))["args"] == [word]


def login(version="7.0.15", role="master", loading=0):
    """What a real one answers to the first questions."""
    def bulk(text):
        return f"${len(text)}\r\n{text}\r\n"

    return (f"*3\r\n{bulk(role)}:0\r\n*0\r\n" + bulk(f"redis_version:{version}\r\nrun_id:r")
            + bulk(f"loading:{loading}") + bulk("maxmemory:0") + ":7\r\n").encode()


class Nonsense:
    """A port whose connections get what `script` makes of them."""

    def __init__(self):
        self.script = None
        self.tasks = set()

    async def start(self):
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"redis://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"
        return self

    async def _serve(self, reader, writer):
        self.tasks.add(asyncio.current_task())
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            await reader.read(1)
            await self.script(writer)
        writer.transport.abort()

    async def close(self):
        self.server.close()
        while pending := [task for task in self.tasks if not task.done()]:
            for task in pending:
                task.cancel()
            await asyncio.wait(pending, timeout=0.1)


@pytest.fixture
async def nonsense():
    server = await Nonsense().start()
    yield server
    await server.close()


def says(data):
    async def script(writer):
        writer.write(data)
        await writer.drain()
        await asyncio.Event().wait()
    return script


def repeats(head, data, pause=0.0):
    async def script(writer):
        writer.write(head)
        while True:
            writer.write(data)
            await writer.drain()
            await asyncio.sleep(pause)
    return script


async def drips(writer):
    for byte in login() * 100:
        writer.write(bytes([byte]))
        await asyncio.sleep(0.05)


async def hangs_up(writer):
    writer.close()

BAD = [
    ("HTTP", says(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"), "may be no Redis server"),
    ("random bytes", says(bytes(range(256)) * 64), "may be no Redis server"),
    ("a line without an end", repeats(b"+", b"x" * 65_536), "sent more than 65536 bytes for one value"),
    ("a text of terabytes", says(b"$9999999999999\r\n"), "sent more than"),
    ("a login of megabytes", repeats(b"*3\r\n$60000000\r\n", b"x" * 65_536), "sent more than"),
    ("an array of billions", says(b"*2000000000\r\n"), "sent an array of more than 65536 values"),
    ("arrays in arrays", says(b"*1\r\n" * 100_000), "sent arrays in arrays on more than 8 levels"),
    ("answers that nobody asked for", repeats(login(), b"+OK\r\n" * 1_000), "an answer that nobody asked for"),
    ("an old version", says(login("5.0.14")), "is Redis 5.0.14, and a fleet needs 6.2"),
    ("loading", says(b"-LOADING Redis is loading the dataset in memory\r\n"), "is still loading its data"),
    ("a Sentinel", says(login(role="sentinel")), "is a Sentinel"),
    ("protected mode", says(b"-DENIED Redis is running in protected mode because protected mode is enabled\r\n"),
     "turned the connection away (DENIED Redis is running in protected mode"),
    ("no place", says(b"-ERR max number of clients reached\r\n"), "turned the connection away"),
    ("hangs up", hangs_up, "closed the connection"),
    ("silence", says(b""), "did not answer within 3000 ms"),
    ("an answer byte by byte", drips, "did not answer within 3000 ms"),
]


async def test_a_server_that_is_no_redis_is_said_to_be_so_and_disturbs_nothing_else(host, nonsense):
    nonsense.script = hangs_up
    daemon = await host([nonsense.url])
    await works(daemon, "other")
    before = memory.peak(daemon)
    address = nonsense.url.removeprefix("redis://")
    for name, script, words in BAD:
        nonsense.script = script
        seen = await told(daemon, address, words)
        assert seen["state"] == "unreachable" and seen["reason"], (name, seen)
        await works(daemon, "other", name)
        assert words in daemon.text()
    assert memory.peak(daemon) < before + (20 << 20) or not memory.COUNTS
    # In microseconds; a build that is not optimised needs thirty times as much as one that is.
    assert (await daemon.status())["daemon"]["longest_turn"] < 300_000 * FACTOR
    # The connection has been down meanwhile, and says why.
    status = await daemon.until(
        lambda status: next(one for one in status["connections"] if one["upstream"] == "chat")["reason"] == "fleet",
        "the reason fleet", 2 * SOON)
    assert address in next(one for one in status["connections"] if one["upstream"] == "chat")["detail"]


@redis_is_there
async def test_a_server_that_is_none_beside_a_real_one_is_passed_over(host, nonsense, redis):
    nonsense.script = says(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    await works(await host([nonsense.url, redis.url]))


@redis_is_there
async def test_keys_that_somebody_else_uses_are_named_and_concern_their_upstream_alone(host, redis):
    words = ["L", "ev", "up", "hosts", "re:a", "box:a"]
    for number, word in enumerate(words):
        await redis.command("SET", f"gw:test:{{u{number}}}:{word}", "mine")
    daemon = await host([redis.url], [f"u{number}" for number in range(len(words))] + ["chat"])
    await works(daemon)
    for number, word in enumerate(words):
        seen = await told(daemon, "WRONGTYPE", f"gw:test:{{u{number}}}:{word}", upstream=f"u{number}")
        assert seen["state"] == "refusing" and seen["reason"] == "refused", seen
    await works(daemon)
    assert fleet(await daemon.status())["redis"]["detail"] is None
    for number, word in enumerate(words):
        await redis.command("DEL", f"gw:test:{{u{number}}}:{word}")
    for number in range(len(words)):
        await works(daemon, f"u{number}")
        await daemon.until(lambda status: fleet(status, f"u{number}")["redis"]["state"] == "working", "it to be well")


@redis_is_there
async def test_a_full_server_is_said_to_be_full_and_the_lease_is_kept(host, redis, chat):
    daemon = await host([redis.url])
    client = await daemon.connected(upstream="chat")
    await client.call("subscribe", upstream="chat", events=["e"])
    await redis.command("CONFIG", "SET", "maxmemory", "1")
    await chat.control("emit", event="e", namespace="/", args=["kept"])
    seen = await told(daemon, "has no room for XADD of gw:test:{chat}:ev (OOM")
    assert seen["state"] == "refusing"
    # Longer than a lease.
    asked = asyncio.ensure_future(client.call("request", upstream="chat", event="echo", args=["x"]))
    await asyncio.sleep(1.2 + QUIET)
    status = await daemon.status()
    assert fleet(status)["term"] == 1 and fleet(status)["holds"]
    await redis.command("CONFIG", "SET", "maxmemory", "0")
    assert (await asked)["args"] == ["x"]
    assert (await client.event())["args"] == ["kept"]
    await daemon.until(lambda status: fleet(status)["redis"]["detail"] is None, "it to be well")
    assert "the Redis of the fleet refuses an upstream nothing any more" in daemon.text()


@redis_is_there
async def test_a_server_that_removes_keys_when_it_is_full_is_warned_of(host, redis):
    await redis.command("CONFIG", "SET", "maxmemory", "100mb", "maxmemory-policy", "allkeys-lru")
    daemon = await host([redis.url])
    await works(daemon)
    words = "removes keys when its memory is full (maxmemory-policy allkeys-lru): a fleet needs noeviction"
    assert words in fleet(await daemon.status())["redis"]["warning"]
    assert words in daemon.text()


@redis_is_there
async def test_a_replica_alone_is_no_server_until_it_is_made_the_master(host, redis, folder):
    replica = await redis_server.RedisServer(folder / "replica").start()
    try:
        await replica.command("REPLICAOF", redis.host, str(redis.port))
        daemon = await host([replica.url])
        await told(daemon, "is a replica, and only the master takes writes")
        await replica.command("REPLICAOF", "NO", "ONE")
        await works(daemon)
    finally:
        await replica.close()


@pytest.mark.skipif(not shutil.which("valkey-server"), reason="there is no valkey-server in the path")
async def test_valkey_does_as_well(host, folder, monkeypatch):
    monkeypatch.setenv("GATEWAY_REDIS_SERVER", shutil.which("valkey-server"))
    valkey = await redis_server.RedisServer(folder / "valkey").start()
    try:
        daemon = await host([valkey.url])
        client = await daemon.connected(upstream="chat")
        await client.call("subscribe", upstream="chat", events=["e"])
        await works(daemon)
        assert fleet(await daemon.status())["redis"]["state"] == "working"
    finally:
        await valkey.close()


class LossyRelay(Relay):
    """Passes everything on but one answer of the server to a look at who has the link, once it is told to lose one."""

    def __init__(self, port):
        super().__init__(port)
        self.loses = False
        self.lost = asyncio.Event()

    async def _serve(self, reader, writer):
        self.tasks.add(asyncio.current_task())
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", next(self.ports))
            await asyncio.gather(self._pass(reader, far_writer), self._answer(far_reader, writer))

    async def _answer(self, reader, writer):
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65_536):
                if self.loses and data.startswith(b"*7\r\n"):
                    self.loses = False
                    self.lost.set()
                    continue
                writer.write(data)
                await writer.drain()
            writer.close()


@redis_is_there
async def test_an_answer_that_is_lost_on_its_way_is_missed_and_the_connection_made_anew(host, redis):
    await works(await host([redis.url], host="b"))
    relay = await LossyRelay(redis.port).start()
    try:
        follower = await host([relay.url.replace("http", "redis")])
        await works(follower)
        relay.loses = True
        await within(relay.lost.wait(), "an answer to be lost")
        await follower.until(lambda _: "the answer to another question" in follower.text(), "it to be missed")
        await follower.until(lambda status: fleet(status)["redis"]["state"] == "working", "it to be well", SOON)
        await works(follower)
    finally:
        await relay.close()
