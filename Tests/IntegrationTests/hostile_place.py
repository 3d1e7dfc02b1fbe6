"""What hostile servers and hostile programs work with: the table of them, the daemon, and the time that is left."""

import asyncio
import collections
import contextlib
import json
import os
import re
import time
import zlib

import users
from local_client import LocalClient, connected_socket
from patience import FACTOR
from scripted import Closed, ScriptedUpstream

MEBI = 1 << 20
SIZE = "HOSTILE_SIZE"
"""In the attackers' environment: how many bytes a large message has."""

LARGE = int(os.environ.get(SIZE, 15 * MEBI))
"""What a hostile server sends is just less than the `message_limit` of the daemon, which is 16 MiB by default."""

LONGER = 60 * FACTOR
"""Seconds that an attacker may have beyond its time until it gets what it has to get, on a machine that has much else to do."""

PORTS = "HOSTILE_PORTS"
"""In the attackers' environment: where the servers of the configured upstreams are to be, by the names of these, as JSON."""

Attacker = collections.namedtuple("Attacker", "attack expected is_short")

ATTACKERS = {}
"""Name → an attacker. `attack` does its worst until the time is over, and returns what became of it, as a sentence, in which
the regular expression `expected` occurs where the daemon did what it has to. `is_short`: a short round has the time for it."""


def attacker(expected, is_short=True):
    def add(function):
        ATTACKERS[function.__name__.replace("_", " ")] = Attacker(function, expected, is_short)
        return function

    return add


class Program(LocalClient):
    """A program that only counts events, of which there may be more than Python could read."""

    count = 0
    asked = None
    """The answer to its `subscribe`, which comes later."""

    async def _line(self, line):
        if b'"method":"event"' in line[:40]:
            self.count += 1
        else:
            await super()._line(line)


class Place:
    """The daemon, the time that is left, and an account of one's own where there are several."""

    def __init__(self, path, uid, seconds, expected, longer=LONGER):
        self.path = path
        self.uid = uid
        self.end = time.monotonic() + seconds
        self.longer = longer
        self.expected = expected
        self.outcome = None
        """Says what became of the attacker so far; nil as long as that is nothing."""
        self.open = []

    @property
    def goes_on(self):
        """There is time left, or what has to become of the attacker has not yet."""
        late = time.monotonic() - self.end
        return late < 0 or late < self.longer and self.outcome and not re.search(self.expected, self.outcome())

    def socket(self, uid=None):
        """Of the attacker's user, or of another one where it can be had."""
        if self.uid is None:
            return connected_socket(self.path)
        uid = uid or self.uid
        with users.acting_as(uid, uid):
            return connected_socket(self.path)

    async def client(self, is_own=False):
        """A program of the attacker's user; with `is_own` of the account that the daemon runs as, which may do everything."""
        socket = connected_socket(self.path) if is_own else self.socket()
        client = Program(*await asyncio.open_unix_connection(sock=socket, limit=1 << 26))
        self.open.append(client)
        return client

    async def stream(self, uid=None):
        """A bare connection: its reader and its writer."""
        return await asyncio.open_unix_connection(sock=self.socket(uid), limit=1 << 26)

    async def pour(self, data, pause=0.0, reads=False):
        """Writes the same again and again, on new connections when the daemon ends them."""
        words, count, ends = b"", 0, 0
        self.outcome = lambda: f"{count} times, {ends} ends, {last_word(words)}"

        async def hear(reader, seconds=None):
            nonlocal words
            with contextlib.suppress(ConnectionError, asyncio.TimeoutError, ValueError):
                words = await asyncio.wait_for(reader.readline(), seconds) or words

        while self.goes_on:
            reader, writer = await self.stream()
            hearing = None if reads else asyncio.ensure_future(hear(reader))
            is_open = True
            try:
                while self.goes_on and not reader.at_eof():
                    writer.write(data)
                    await asyncio.wait_for(writer.drain(), max(1, self.end - time.monotonic()))
                    count += 1
                    if reads:
                        await hear(reader, LONGER)
                    await asyncio.sleep(pause)
                is_open = not reader.at_eof()
            except ConnectionError:
                is_open = False
            except asyncio.TimeoutError:
                # It reads no more of this, or has not come to answer.
                pass
            ends += not is_open
            if hearing:
                await asyncio.wait([hearing], timeout=1)
                hearing.cancel()
            writer.transport.abort()
        return self.outcome()

    async def server(self, script, port=0):
        """A hostile server whose every link runs this script."""
        upstream = ScriptedUpstream()
        upstream.port = port

        async def run(link):
            try:
                await script(link)
            except (Closed, OSError, AssertionError, asyncio.IncompleteReadError):
                # Whatever the daemon does to a link is what the attacker asked for; the next one comes.
                link.writer.transport.abort()

        upstream.script = run
        self.open.append(upstream)
        return await upstream.start()

    async def victims(self, url, count=1, **members):
        """Programs that subscribe to a hostile server, so that there is a connection. Returns the first one."""
        for number in range(count):
            client = await self.client()
            client.asked = client.post("subscribe", url=url if count == 1 else f"{url}/n{number}", state=True, **members)
            await client.writer.drain()
        return self.open[-1]

    async def configured_server(self, script, upstream):
        """The same at the address of a configured upstream."""
        return await self.server(script, json.loads(os.environ[PORTS])[upstream])

    async def until_over(self, outcome):
        """Waits until the time is over and the outcome the expected one; returns it."""
        self.outcome = outcome
        while self.goes_on:
            await asyncio.sleep(0.05)
        return outcome()

    async def close(self):
        for one in self.open:
            with contextlib.suppress(Exception):
                await asyncio.wait_for(one.close(), 5)


def last_word(line):
    """What the daemon says in a line: the type of an error, the reason of a goodbye, or that it answers."""
    if not line:
        return "nothing said"
    message = json.loads(line)
    if "error" in message:
        return message["error"]["data"]["type"]
    return message["params"]["reason"] if "method" in message else "answered"


def told(*clients):
    """What programs were told about hostile servers: why connections were down, why events were missed, and how many came."""
    found = []
    for client in clients:
        if client.asked and client.asked.done() and not client.asked.exception() and "error" in client.asked.result():
            found.append(client.asked.result()["error"]["data"]["type"])
        for method, params in client.notes:
            if method == "gap" or method == "state" and params.get("reason"):
                word = f"{'gap ' if method == 'gap' else ''}{params['reason']}"
                if word not in found:
                    found.append(word)
    return f"{', '.join(found) or 'nothing was wrong'}, {sum(client.count for client in clients)} events"


async def subscribed(place, script, url="http://127.0.0.1:{port}", **members):
    """A program that subscribes to a server with this script; what it was told about it."""
    server = await place.server(script)
    client = await place.victims(url.format(port=server.port), **members)
    return await place.until_over(lambda: told(client))


async def subscribed_to(place, script, upstream, **members):
    """The same with a server at the address of a configured upstream."""
    await place.configured_server(script, upstream)
    client = await place.client()
    client.asked = client.post("subscribe", upstream=upstream, state=True, **members)
    await client.writer.drain()
    return await place.until_over(lambda: told(client))


def call(number, method, **params):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"


def deflated(text):
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    return (packer.compress(text) + packer.flush(zlib.Z_SYNC_FLUSH))[:-4]


def http(status, body=b"", kind="text/plain"):
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
