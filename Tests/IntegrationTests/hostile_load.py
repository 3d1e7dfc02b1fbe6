"""Hostile servers and hostile local programs, all at once against one daemon, while ordinary programs do their work.

As a program: `hostile_load.py [SECONDS [ATTACKER …]]` prints a table and ends with 1 when an ordinary program lost something.
`--list` names the attackers. Everything stays on the loopback device, and every attacker is bounded in time and number.
"""

import argparse
import asyncio
import contextlib
import json
import os
import pathlib
import re
import socket
import struct
import sys
import tempfile
import time
import zlib

import memory
import processes
import users
from chat import ChatServer
from daemon import FAST, Daemon
from local_client import CallError, LocalClient, connected_socket
from polling_peer import PollingPeer
from programs import GATEWAYD
from scripted import BINARY, PING, TEXT, Closed, ScriptedUpstream, frame
from wamp_router import Session

MEBI = 1 << 20
MESSAGE_LIMIT = 16 * MEBI
"""The daemon's `message_limit`: a message of just less is what a hostile server sends."""
LARGE = 15 * MEBI

PACKED_PORTS = "HOSTILE_PACKED_PORTS"
"""In the attackers' environment: where the upstream with the msgpack parser is to be."""

LONG_PORT = "HOSTILE_LONG_PORT"
"""The same: where the upstream with the longest history is to be."""

ATTACKERS = {}
"""Name → an attacker: it does its worst until the time is over, and returns what became of it, as a sentence."""


def attacker(function):
    ATTACKERS[function.__name__.replace("_", " ")] = function
    return function


# ---------------------------------------------------------------------------------------------------------------------
# What an attacker works with


class Place:
    """The daemon, the time that is left, and an account of one's own where there are several."""

    def __init__(self, path, uid, seconds):
        self.path = path
        self.uid = uid
        self.end = time.monotonic() + seconds
        self.open = []

    @property
    def goes_on(self):
        return time.monotonic() < self.end

    def socket(self):
        if self.uid is None:
            return connected_socket(self.path)
        with users.acting_as(self.uid, self.uid):
            return connected_socket(self.path)

    async def client(self):
        client = LocalClient(*await asyncio.open_unix_connection(sock=self.socket(), limit=1 << 26))
        self.open.append(client)
        return client

    async def stream(self):
        """A bare connection: its reader and its writer."""
        return await asyncio.open_unix_connection(sock=self.socket(), limit=1 << 26)

    async def pour(self, data, pause=0.0, reads=False):
        """Writes the same again and again, on new connections when the daemon ends them. Returns the last words."""
        words, count = b"", 0
        while self.goes_on:
            reader, writer = await self.stream()
            with contextlib.suppress(ConnectionError, asyncio.TimeoutError):
                while self.goes_on and not reader.at_eof():
                    writer.write(data)
                    await asyncio.wait_for(writer.drain(), max(0.1, self.end - time.monotonic()))
                    count += 1
                    if reads:
                        words = await asyncio.wait_for(reader.readline(), 1) or words
                    await asyncio.sleep(pause)
            with contextlib.suppress(ConnectionError, asyncio.TimeoutError, ValueError):
                if not reads:
                    words = await asyncio.wait_for(reader.readline(), 0.2) or words
            writer.transport.abort()
        return count, error_type(words)

    async def server(self, script, port=0):
        """A hostile server whose every link runs this script."""
        upstream = ScriptedUpstream()
        upstream.port = port

        async def run(link):
            # Whatever the daemon does to a link is what the attacker asked for.
            with contextlib.suppress(Closed, OSError, AssertionError, asyncio.IncompleteReadError):
                await script(link)

        upstream.script = run
        self.open.append(upstream)
        return await upstream.start()

    async def victims(self, url, count=1, **members):
        """Programs that subscribe to a hostile server, so that there is a connection. Returns the first one."""
        for number in range(count):
            client = await self.client()
            client.post("subscribe", url=url if count == 1 else f"{url}/n{number}", state=True, **members)
            await client.writer.drain()
        return self.open[-1]

    async def until_over(self):
        await asyncio.sleep(max(0, self.end - time.monotonic()))

    async def close(self):
        for one in self.open:
            with contextlib.suppress(Exception):
                await asyncio.wait_for(one.close(), 5)


def error_type(line):
    """What an error reply or a goodbye says."""
    try:
        message = json.loads(line)
        if "error" in message:
            return message["error"]["data"]["type"]
        return message.get("params", {}).get("reason") if "method" in message else None
    except (ValueError, KeyError, TypeError):
        return None


def reasons(client):
    """What a program was told about a hostile server: why the connection was down, and why events were missed."""
    found = []
    for method, params in client.notes:
        if method == "gap" or method == "state" and params.get("reason"):
            word = f"{'gap ' if method == 'gap' else ''}{params['reason']}"
            if word not in found:
                found.append(word)
    return found


def told(client):
    """The same as a sentence."""
    return ", ".join(reasons(client)) or "nothing was wrong"


async def subscribed(place, script, url="http://127.0.0.1:{port}", **members):
    """A program that subscribes to a server with this script; what it was told about it."""
    server = await place.server(script)
    client = await place.victims(url.format(port=server.port), **members)
    await place.until_over()
    return told(client)


def call(number, method, **params):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"


def deflated(text):
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    return (packer.compress(text) + packer.flush(zlib.Z_SYNC_FLUSH))[:-4]


def http(status, body=b"", kind="text/plain"):
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


# ---------------------------------------------------------------------------------------------------------------------
# Hostile servers


@attacker
async def compressed_bombs(place):
    """Messages of 15 KB that are 15 MB when they are inflated."""
    bomb = frame(TEXT, deflated(b'42["e","' + b"x" * LARGE + b'"]'), reserved=4)

    async def script(link):
        await link.upgrade(extensions="permessage-deflate; server_no_context_takeover")
        await link.open()
        await link.accept()
        while place.goes_on and not link.writer.is_closing():
            await link.raw(bomb * 8)
            await asyncio.sleep(0.05)

    return await subscribed(place, script)


@attacker
async def connects_by_polling(place):
    """One answer to a poll with 65,000 packets, again and again."""
    peer = PollingPeer()
    place.open.append(peer)
    await peer.start()

    async def serve():
        with contextlib.suppress(AssertionError):
            while place.goes_on:
                poll = await peer.session()
                for _ in range(2):
                    poll.answer("\x1e".join(['40{"sid":"s"}'] * 65_000))
                    poll = await peer.get()
                poll.answer("no", status="500 Internal Server Error")

    task = asyncio.ensure_future(serve())
    client = await place.victims(peer.url)
    await place.until_over()
    task.cancel()
    return told(client)


@attacker
async def large_answers_to_connects(place):
    """The answer to a CONNECT is 15 MB of JSON, and is said again and again."""
    answer = '40{"sid":"s","x":[' + ",".join(["{}"] * (LARGE // 3)) + "]}"

    async def script(link):
        await link.upgrade()
        await link.open()
        await link.receive()
        while place.goes_on and not link.writer.is_closing():
            await link.text(answer)
            await asyncio.sleep(0.1)

    return await subscribed(place, script)


@attacker
async def large_refusals(place):
    """HTTP 500 with 40 MB of JSON instead of a handshake."""
    body = b'{"code":1,"message":[' + b"[]," * (13 * MEBI) + b"0]}"

    async def script(link):
        await link.read_request()
        await link.raw(http("500 Internal Server Error", body, "application/json"))

    return await subscribed(place, script)


@attacker
async def long_names_against_globs(place):
    """Events with names of 0.9 MB against 120 globs."""
    name = "a" * 900_000

    async def script(link):
        await link.session()
        while place.goes_on and not link.writer.is_closing():
            await link.text(f'42["{name}",1]')
            await asyncio.sleep(0.1)

    return await subscribed(place, script, events=["a*" * 8 + f"{number}*b" for number in range(120)])


@attacker
async def ever_new_names_against_all_globs(place):
    """As many globs as a user may have, and events whose names of 1,000 bytes are never the same."""
    count = 0

    async def script(link):
        nonlocal count
        await link.session()
        while place.goes_on and not link.writer.is_closing():
            await link.raw(b"".join(frame(TEXT, f'42["{"a" * 1_000}{count + n}"]'.encode()) for n in range(32)))
            count += 32
            await asyncio.sleep(0.05)

    server = await place.server(script)
    client = await place.client()
    for number in range(4):
        await client.call("subscribe", url=f"http://127.0.0.1:{server.port}", state=True,
                          events=[f"*{'a' * 50}*{number * 256 + n}b" for n in range(256)])
    await place.until_over()
    return told(client)


@attacker
async def names_that_become_holes(place):
    """Events with names of 15 MB."""
    name = "n" * LARGE

    async def script(link):
        await link.session()
        while place.goes_on and not link.writer.is_closing():
            await link.text(f'42["{name}"]')
            await asyncio.sleep(0.2)

    return await subscribed(place, script)


async def without_reading(place, packets):
    """A server that asks for an answer 500 times at once, again and again, and reads none."""
    async def script(link):
        await link.session()
        link.writer.transport.pause_reading()
        while place.goes_on and not link.writer.is_closing():
            await link.raw(packets * 500)
            await asyncio.sleep(0.002)

    return await subscribed(place, script)


@attacker
async def pings_without_reading(place):
    """Engine.IO pings whose answers are never read."""
    return await without_reading(place, frame(TEXT, b"2" + b"p" * 127))


@attacker
async def websocket_pings_without_reading(place):
    """The same with the frames of WebSocket."""
    return await without_reading(place, frame(PING, b"p" * 120))


@attacker
async def unfinished_frames(place):
    """Forty links, on each of which all but the end of a message of 15 MB has come."""
    half = b"\x81\x7f" + struct.pack(">Q", LARGE) + b"x" * (LARGE - 1)

    async def script(link):
        await link.session(interval=86_400_000)
        await link.raw(half)
        await place.until_over()

    servers = [await place.server(script) for _ in range(40)]
    clients = [await place.victims(server.url) for server in servers]
    await place.until_over()
    found = sorted({reason for client in clients for reason in reasons(client)})
    return ", ".join(found) or "nothing was wrong"


@attacker
async def events_to_be_written_anew(place):
    """Events of 15 MB in which every key looks like binary data of the local protocol."""
    event = '42["e",[' + ",".join(['{"$bin":"AA"}'] * (LARGE // 16)) + "]]"

    async def script(link):
        await link.session()
        while place.goes_on and not link.writer.is_closing():
            await link.text(event)
            await asyncio.sleep(0.2)

    return await subscribed(place, script)


@attacker
async def large_attachments(place):
    """Binary attachments of 15 MB."""
    head, body = '451-["e",{"_placeholder":true,"num":0}]', b"x" * LARGE

    async def script(link):
        await link.session()
        while place.goes_on and not link.writer.is_closing():
            await link.text(head)
            await link.binary(body)
            await asyncio.sleep(0.2)

    return await subscribed(place, script)


# Messages of 15 MB, of as many small parts as fit


async def again_and_again(place, link, message, pause=0.2):
    """The same message, for as long as the time lasts."""
    while place.goes_on and not link.writer.is_closing():
        await link.raw(message)
        await asyncio.sleep(pause)


def objects(size, one="{}"):
    """So many bytes of small JSON values with commas between them."""
    return ",".join([one] * (size // (len(one) + 1)))


async def packed(place, number, packet, pause):
    """A server with the msgpack parser that says the same again and again, to one of the upstreams that are configured for it."""
    async def script(link):
        await link.upgrade()
        await link.open()
        await link.receive()
        await link.binary(b"\x83\xa4type\x00\xa3nsp\xa1/\xa4data\x81\xa3sid\xa1s")
        await again_and_again(place, link, packet, pause)

    await place.server(script, port=int(os.environ[PACKED_PORTS].split()[number]))
    client = await place.client()
    client.post("subscribe", upstream=f"packed{number}", state=True)
    await client.writer.drain()
    await place.until_over()
    return told(client)


@attacker
async def large_events(place):
    """Events of 15 MB of empty objects."""
    event = frame(TEXT, f'42["e",{objects(LARGE)}]'.encode())

    async def script(link):
        await link.session()
        await again_and_again(place, link, event)

    return await subscribed(place, script)


@attacker
async def events_that_nearly_fill_a_line(place):
    """Events that still fit, in which every key looks like binary data of the local protocol."""
    event = frame(TEXT, ('42["e",[' + objects(880_000, '{"$bin":"AA"}') + "]]").encode())

    async def script(link):
        await link.session()
        await again_and_again(place, link, event, 0.02)

    return await subscribed(place, script)


@attacker
async def msgpack_that_nearly_fills_a_line(place):
    """Packets of small integers that still fit."""
    count = 500_000
    packet = frame(BINARY, b"\x83\xa4type\x02\xa4data\xdd" + struct.pack(">I", count + 1) + b"\xa1e" + b"\x01" * count
                   + b"\xa3nsp\xa1/")
    return await packed(place, 0, packet, 0.02)


@attacker
async def attachments_that_nearly_fill_a_line(place):
    """Binary attachments that still fit."""
    head, body = frame(TEXT, b'451-["e",{"_placeholder":true,"num":0}]'), frame(BINARY, b"x" * 750_000)

    async def script(link):
        await link.session()
        await again_and_again(place, link, head + body, 0.02)

    return await subscribed(place, script)


@attacker
async def large_wamp_events(place):
    """EVENTs of 15 MB."""
    event = frame(TEXT, f'[36,70,1,{{}},[{objects(LARGE)}]]'.encode())

    async def script(link):
        session = await Session(link).join()
        await session.subscribed()
        await again_and_again(place, link, event)

    return await subscribed(place, script, "wamp+ws://127.0.0.1:{port}/ws#realm", events=["topic"])


@attacker
async def large_wamp_welcomes(place):
    """The answer to a HELLO is 15 MB."""
    welcome = frame(TEXT, f'[2,7,{{"x":[{objects(LARGE)}]}}]'.encode())

    async def script(link):
        await Session(link).upgrade()
        await link.receive()
        await again_and_again(place, link, welcome)

    return await subscribed(place, script, "wamp+ws://127.0.0.1:{port}/ws#realm")


@attacker
async def large_msgpack_packets(place):
    """Events of 15 MB of small integers."""
    packet = frame(BINARY, b"\x83\xa4type\x02\xa4data\xdd" + struct.pack(">I", LARGE + 1) + b"\xa1e" + b"\x01" * LARGE
                   + b"\xa3nsp\xa1/")
    return await packed(place, 1, packet, 0.2)


@attacker
async def large_lines(place):
    """Lines of 15 MB from a server of JSON lines, whose type stands at their end."""
    line = f'{{"body":[{objects(LARGE)}],"type":"e"}}\n'.encode()

    async def script(link):
        await again_and_again(place, link, line)

    return await subscribed(place, script, "tcp://127.0.0.1:{port}")


@attacker
async def large_plain_texts(place):
    """Texts of 15 MB on a WebSocket without anything above it, which are no JSON at their very end."""
    text = frame(TEXT, f"[{objects(LARGE)}".encode())

    async def script(link):
        await link.upgrade()
        await again_and_again(place, link, text)

    return await subscribed(place, script, "raw+ws://127.0.0.1:{port}")


@attacker
async def large_plain_binaries(place):
    """The same with binary messages."""
    message = frame(BINARY, b"x" * LARGE)

    async def script(link):
        await link.upgrade()
        await again_and_again(place, link, message)

    return await subscribed(place, script, "raw+ws://127.0.0.1:{port}")


async def polled(place, *answers, write=lambda poll, answer: poll.answer(answer)):
    """A server whose answers to polls are these, again and again."""
    peer = PollingPeer()
    place.open.append(peer)
    await peer.start()

    async def serve():
        with contextlib.suppress(AssertionError):
            while place.goes_on:
                poll = await peer.session()
                with contextlib.suppress(AssertionError):
                    while place.goes_on:
                        for answer in answers:
                            write(poll, answer)
                            poll = await asyncio.wait_for(peer.get(), 5)

    task = asyncio.ensure_future(serve())
    client = await place.victims(peer.url)
    await place.until_over()
    task.cancel()
    return told(client)


@attacker
async def large_polled_events(place):
    """Events of 15 MB by long-polling."""
    return await polled(place, f'42["e",{objects(LARGE)}]')


@attacker
async def large_polled_attachments(place):
    """Binary attachments of 15 MB by long-polling, in base64."""
    return await polled(place, '451-["e",{"_placeholder":true,"num":0}]\x1eb' + "eHh4" * (LARGE // 3))


@attacker
async def polled_events_byte_by_byte(place):
    """Events by long-polling, each byte of which is a chunk of its own."""
    body = f'42["e","{"x" * 500_000}"]'
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body.encode()) + b"0\r\n\r\n"
    return await polled(place, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks,
                        write=lambda poll, answer: poll.answered.set_result(answer))


@attacker
async def events_without_end(place):
    """As many small events as the daemon takes."""
    batch = frame(TEXT, b'42["e",1]') * 5_000

    async def script(link):
        await link.session()
        while place.goes_on and not link.writer.is_closing():
            await link.raw(batch)
            await asyncio.sleep(0.005)

    return await subscribed(place, script)


@attacker
async def servers_that_hang_up(place):
    """Links that die as soon as they are there, on twenty namespaces at once."""
    async def script(link):
        await link.session()
        link.abort()

    return await subscribed(place, script, count=20)


# ---------------------------------------------------------------------------------------------------------------------
# Hostile programs


@attacker
async def junk(place):
    count, words = await place.pour(b"\xff\x00{[" * 4_000 + b"\n", 0.002)
    return f"{count} times, {words}"


@attacker
async def lines_without_end(place):
    count, words = await place.pour(b"x" * 65_536)
    return f"{count} times, {words}"


@attacker
async def lines_of_unknown_keys(place):
    line = b'{"jsonrpc":"2.0","id":1,"method":"ping"' + b"".join(b',"k%d":0' % n for n in range(90_000)) + b"}\n"
    count, words = await place.pour(line, 0.01, reads=True)
    return f"{count} times, {words}"


@attacker
async def deep_and_wide_sends(place):
    args = [[[{"a": [0] * 50}] * 50] * 20] * 3
    count, words = await place.pour(call(1, "send", url="http://127.0.0.1:9", event="e", args=args, ttl=1), 0.01, reads=True)
    return f"{count} times, {words}"


@attacker
async def calls_whose_answers_are_not_read(place):
    count, words = await place.pour(b"".join(call(number, "status") for number in range(50)))
    return f"{count} times 50 calls, {words}"


@attacker
async def binary_sends(place):
    args = [{"$bin": "A" * 120_000}] * 6
    count, words = await place.pour(call(1, "send", url="http://127.0.0.1:9", event="e", args=args, ttl=1), 0.02, reads=True)
    return f"{count} times, {words}"


@attacker
async def many_subscriptions(place):
    """Every subscription that a program may have, with globs, on the upstream of the ordinary programs; never read."""
    clients = []
    for _ in range(4):
        reader, writer = await place.stream()
        for number in range(128):
            writer.write(call(number, "subscribe", upstream="chat", events=[f"{'*a' * 8}{number}", "s*", "*d"]))
        clients.append(writer)
    await place.until_over()
    for writer in clients:
        writer.transport.abort()
    return "read nothing"


@attacker
async def filters_as_long_as_lines(place):
    """Subscriptions to a thousand names of a kilobyte, which take the place of each other."""
    client = await place.client()
    events, count = [f"{number}{'n' * 1_000}" for number in range(1_000)], 0
    while place.goes_on:
        with contextlib.suppress(CallError, ConnectionError):
            await client.call("subscribe", upstream="chat", subscription="s", events=events)
            count += 1
        await asyncio.sleep(0.01)
    return f"{count} times"


@attacker
async def hang_ups_with_all_subscriptions(place):
    """All subscriptions that a program may have, with as many names as its user may have, and gone."""
    count = 0
    while place.goes_on:
        reader, writer = await place.stream()
        for number in range(128):
            writer.write(call(number, "subscribe", upstream="chat", events=[f"n{n}" for n in range(100)]))
        with contextlib.suppress(ConnectionError, asyncio.TimeoutError):
            for _ in range(128):
                await asyncio.wait_for(reader.readline(), 5)
        writer.transport.abort()
        count += 1
        await asyncio.sleep(0.02)
    return f"{count} times"


@attacker
async def status_by_many_clients(place):
    """The longest possible answer, which twenty programs of one user ask for again and again."""
    first = await place.client()
    for number in range(400):
        first.post("send", url=f"http://127.0.0.1:9/s{number}", event="e", ttl=60_000)
        if number % 50 == 49:
            await first.writer.drain()
            await asyncio.sleep(0.01)
    count = 0

    async def ask():
        nonlocal count
        client = await place.client()
        while place.goes_on:
            with contextlib.suppress(CallError, ConnectionError):
                await client.call("status")
                client.lines.clear()
                count += 1

    asking = [asyncio.ensure_future(ask()) for _ in range(20)]
    await place.until_over()
    for one in asking:
        one.cancel()
    return f"{count} answers"


@attacker
async def comings_and_goings(place):
    count = 0
    while place.goes_on:
        with contextlib.suppress(OSError):
            for one in [place.socket() for _ in range(100)]:
                one.close()
            count += 100
        await asyncio.sleep(0.02)
    return f"{count} connections"


@attacker
async def ever_new_namespaces(place):
    """A send to a namespace of the shared upstream that nobody has, thousands of times."""
    client = await place.client()
    types, count = set(), 0
    while place.goes_on and count < 5_000:
        waiting = [client.post("send", upstream="chat", namespace=f"/x{count + n}", event="e", ttl=1_000) for n in range(100)]
        await client.writer.drain()
        for future in waiting:
            with contextlib.suppress(Exception):
                types.add((await asyncio.wait_for(future, 5)).get("error", {}).get("data", {}).get("type"))
        count += 100
        await asyncio.sleep(0.05)
    await place.until_over()
    return f"{count} sends, {', '.join(sorted(filter(None, types))) or 'accepted'}"


@attacker
async def sends_to_dead_ports(place):
    """Many addresses at which nobody listens."""
    client = await place.client()
    types, count = set(), 0
    while place.goes_on and count < 2_000:
        waiting = [client.post("send", url=f"http://127.0.0.1:9/d{count + n}", event="e", ttl=1_000) for n in range(100)]
        await client.writer.drain()
        for future in waiting:
            with contextlib.suppress(Exception):
                types.add((await asyncio.wait_for(future, 5)).get("error", {}).get("data", {}).get("type"))
        count += 100
        await asyncio.sleep(0.05)
    await place.until_over()
    return f"{count} sends, {', '.join(sorted(filter(None, types))) or 'accepted'}"


@attacker
async def replays_of_the_past(place):
    count = 0
    client = await place.client()
    while place.goes_on:
        with contextlib.suppress(CallError, AssertionError):
            result = await client.call("subscribe", upstream="chat", last=1_000)
            await client.call("unsubscribe", subscription=result["subscription"])
            client.notes.clear()
            client.lines.clear()
            count += 1
    return f"{count} times"


@attacker
async def subscribe_since_over_everything(place):
    """Everything of a very long past, from its beginning and as the newest, which nobody reads."""
    batch, count = frame(TEXT, b'42["e",1]') * 5_000, 0

    async def script(link):
        await link.session()
        for _ in range(40):
            await link.raw(batch)
        await place.until_over()

    await place.server(script, port=int(os.environ[LONG_PORT]))
    keeper = await place.client()
    await keeper.call("subscribe", upstream="long", events=["none"])
    sequence = 0
    while place.goes_on and sequence < 200_000:
        sequence = (await keeper.call("history", upstream="long", limit=1))["seq"]
        await asyncio.sleep(0.05)
    epoch = (await keeper.call("history", upstream="long", limit=1))["epoch"]
    while place.goes_on:
        for asked in ({"since": {"epoch": epoch, "seq": 0}}, {"last": 1_000_000}):
            reader, writer = await place.stream()
            writer.write(call(1, "subscribe", upstream="long", subscription="s", **asked))
            with contextlib.suppress(ConnectionError, asyncio.TimeoutError):
                await asyncio.wait_for(reader.readline(), 20)
            writer.transport.abort()
            count += 1
    return f"{count} times, {sequence} events"


BEYOND_A_SHORT_ROUND = {"long names against globs", "ever new namespaces", "sends to dead ports"}
"""What an unoptimised daemon is busy with for longer than a short round lasts."""


# ---------------------------------------------------------------------------------------------------------------------
# Ordinary programs


class Ordinary:
    """Two programs: one says numbered things to the chat, both hear what is said."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.answers = []
        self.events = []
        self.lost = []
        self.numbers = set()
        self.sent = {}
        self.count = 0

    async def start(self):
        self.speaker, self.listener = await self.daemon.client(), await self.daemon.client()
        await self.listener.call("subscribe", upstream="chat", events=["said"])
        self.reading = asyncio.ensure_future(self._listen())
        return self

    async def _listen(self):
        while True:
            method, params = await self._next()
            if method == "event":
                number = params["args"][0]
                self.events.append(time.monotonic() - self.sent[number])
                self.numbers.add(number)
            elif method == "gap":
                self.lost.append(f"a gap: {params['reason']}")

    async def _next(self):
        client = self.listener
        async with client.arrived:
            await client.arrived.wait_for(lambda: client.notes or client.closed)
            if not client.notes:
                self.lost.append("the listener was thrown out")
                await asyncio.sleep(3_600)
            return client.notes.pop(0)

    async def speak(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            number, self.count = self.count, self.count + 1
            self.sent[number] = time.monotonic()
            try:
                reply = await self.speaker.call("request", upstream="chat", event="say", args=[number], seconds=60)
                assert reply["args"] == ["said"], reply
                self.answers.append(time.monotonic() - self.sent[number])
            except (CallError, AssertionError, ConnectionError) as problem:
                self.lost.append(f"request {number}: {problem}")
            await asyncio.sleep(0.003)

    async def finish(self):
        deadline = time.monotonic() + 10
        while len(self.numbers) < self.count and time.monotonic() < deadline:
            await asyncio.sleep(0.05)
        self.reading.cancel()
        missing = sorted(set(range(self.count)) - self.numbers)
        if missing:
            self.lost.append(f"{len(missing)} events did not come, the first of them {missing[0]}")


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))] if values else float("nan")


# ---------------------------------------------------------------------------------------------------------------------
# The whole


class Report:
    """What came of it."""

    def __init__(self):
        self.outcomes = {}
        self.longest_turn = 0
        self.quiet_turn = 0
        self.resident = 0
        self.memory_limit = None
        self.ordinary = None
        self.quiet = None

    def lines(self):
        yield "attacker                           what became of it"
        for name, outcome in self.outcomes.items():
            yield f"{name:<34} {outcome}"
        yield ""
        yield f"longest turn        {self.longest_turn / 1000:10.1f} ms of processor time ({self.quiet_turn / 1000:.1f} ms before)"
        limit = f" (limit of its buffers {self.memory_limit / MEBI:.0f} MiB)" if self.memory_limit else ""
        yield f"largest RSS         {self.resident / MEBI:10.1f} MiB{limit}"
        for name, before, during in (("request", self.quiet.answers, self.ordinary.answers),
                                     ("event", self.quiet.events, self.ordinary.events)):
            yield (f"others' {name:<11} {percentile(during, 0.99) * 1000:10.1f} ms p99, {percentile(during, 0.5) * 1000:.1f} ms "
                   f"median of {len(during)} (alone {percentile(before, 0.99) * 1000:.1f} and "
                   f"{percentile(before, 0.5) * 1000:.1f} ms)")
        yield f"ordinary losses     {len(self.ordinary.lost):10}"
        for sentence in self.ordinary.lost[:10]:
            yield f"  {sentence}"


def free_port():
    """A port that nobody has at the moment."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def peak(daemon):
    """The most memory that the daemon has had, in bytes."""
    text = pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", text)[1]) << 10


async def run(folder, seconds, names=None, settings=None):
    """Lets the attackers loose on a daemon for so many seconds. Returns the report."""
    names = list(names or ATTACKERS)
    report = Report()
    chat = ChatServer("eio4")
    folder.chmod(0o755)
    packed, long = [free_port() for _ in range(2)], free_port()
    place = folder / "d"
    place.mkdir()
    place.chmod(0o777)
    try:
        await chat.start()
        daemon = Daemon(GATEWAYD, place, {
            "socket": {"mode": "0666"}, "log": {"level": "error"}, "limits": {"stop": "2s"},
            "defaults": {"transports": ["websocket", "polling"], "reconnect": FAST},
            "upstream": {"chat": {"url": chat.url, "history": {"events": 1_000}},
                         "long": {"url": f"http://127.0.0.1:{long}", "history": {"events": 1_000_000, "bytes": "256MiB"}},
                         **{f"packed{number}": {"url": f"http://127.0.0.1:{port}", "parser": "msgpack"}
                            for number, port in enumerate(packed)}}, **(settings or {})},
            environment={"GATEWAYD_TURN_CLOCK": "processor"})
        try:
            await daemon.start()
            report.quiet = await Ordinary(daemon).start()
            await report.quiet.speak(min(3, seconds / 3))
            await report.quiet.finish()
            report.quiet_turn = (await daemon.status())["daemon"]["longest_turn"]
            report.ordinary = await Ordinary(daemon).start()
            attack = await processes.spawn(
                sys.executable, __file__, "--attack", daemon.socket, seconds, *names,
                stdout=asyncio.subprocess.PIPE, stdin=asyncio.subprocess.DEVNULL,
                env=os.environ | {PACKED_PORTS: " ".join(map(str, packed)), LONG_PORT: str(long)})
            try:
                await report.ordinary.speak(seconds + 1)
                report.resident = peak(daemon)
                out = await asyncio.wait_for(attack.stdout.read(), 60)
            finally:
                await processes.kill(attack)
            await report.ordinary.finish()
            report.outcomes = json.loads(out or b"{}")
            own = (await daemon.status())["daemon"]
            report.longest_turn = own["longest_turn"]
            report.memory_limit = (own.get("memory") or {}).get("limit")
            report.resident = max(report.resident, peak(daemon))
        finally:
            await daemon.close()
    finally:
        await chat.close()
    return report


async def attack(path, seconds, names):
    """The attackers, in a process of their own. Prints what became of each."""
    seconds = float(seconds)
    outcomes = {}

    async def one(name, number):
        # Where there are accounts to act as: three users, so that what one does must not cost another.
        uid = users.ALICE + number % 3 if os.geteuid() == 0 else None
        place = Place(path, uid, seconds)
        try:
            outcomes[name] = await asyncio.wait_for(ATTACKERS[name](place), seconds + 15)
        except (Exception, asyncio.TimeoutError) as problem:  # pylint: disable=broad-except
            outcomes[name] = f"{type(problem).__name__}: {problem}"[:100]
        finally:
            await place.close()

    await asyncio.gather(*(one(name, number) for number, name in enumerate(names)))
    print(json.dumps(outcomes), flush=True)


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--attack")
    parser.add_argument("seconds", nargs="?", type=float, default=30)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if options.list:
        print("\n".join(ATTACKERS))
        return 0
    if options.attack:
        await attack(options.attack, options.seconds, options.names)
        os._exit(0)
    with tempfile.TemporaryDirectory(prefix="gw-hostile-") as folder:
        report = await run(pathlib.Path(folder), options.seconds, options.names)
    print("\n".join(report.lines()))
    return 1 if report.ordinary.lost else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
