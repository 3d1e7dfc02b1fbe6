"""Hostile servers: each is an attacker of `make hostile`."""

import asyncio
import contextlib
import itertools
import json
import socket
import struct

from hostile_place import (
    LARGE, LONGER, MEBI, attacker, deflated, http, subscribed, subscribed_to, told)
from local_client import CallError
from polling_peer import PollingPeer
from scripted import BINARY, PING, TEXT, frame
from wamp_router import Session


async def again_and_again(place, link, message, pause=0.5):
    """The same message, for as long as the time lasts."""
    while place.goes_on and not link.writer.is_closing():
        await link.raw(message)
        await asyncio.sleep(pause)


def objects(size, one="{}"):
    """So many bytes of small JSON values with commas between them."""
    return ",".join([one] * (size // (len(one) + 1)))


async def beside(place, peer, serving):
    """What the victims of a server are told, while it serves."""
    task = asyncio.ensure_future(serving)
    client = await place.victims(peer.url)
    try:
        return await place.until_over(lambda: told(client))
    finally:
        task.cancel()


@attacker("too_large")
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


@attacker("http|protocol")
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

    return await beside(place, peer, serve())


@attacker("protocol|too_large|timeout")
async def large_answers_to_connects(place):
    """The answer to a CONNECT is 15 MB of JSON, and is said again and again."""
    answer = '40{"sid":"s","x":[' + ",".join(["{}"] * (LARGE // 3)) + "]}"
    answer = frame(TEXT, answer.encode())

    async def script(link):
        await link.upgrade()
        await link.open()
        await link.receive()
        await again_and_again(place, link, answer)

    return await subscribed(place, script)


@attacker("http")
async def large_refusals(place):
    """HTTP 500 with 40 MB of JSON instead of a handshake."""
    body = b'{"code":1,"message":[' + b"[]," * (13 * MEBI) + b"0]}"

    async def script(link):
        await link.read_request()
        await link.raw(http("500 Internal Server Error", body, "application/json"))

    return await subscribed(place, script)


@attacker("too_large")
async def long_names_against_globs(place):
    """Events with names of 0.9 MB against 120 globs."""
    event = frame(TEXT, f'42["{"a" * 900_000}",1]'.encode())

    async def script(link):
        await link.session()
        await again_and_again(place, link, event, 0.1)

    return await subscribed(place, script, events=["a*" * 8 + f"{number}*b" for number in range(120)])


@attacker(r"[1-9]\d* events")
async def ever_new_names_against_all_globs(place):
    """As many globs as a user may have, and events whose names of 1,000 bytes are never the same."""
    count = 0

    async def script(link):
        nonlocal count
        await link.session()
        while place.goes_on and not link.writer.is_closing():
            await link.raw(b"".join(frame(TEXT, f'42["{"a" * 1_000}{count + n}"]'.encode()) for n in range(32)))
            await link.text('42["heard"]')
            count += 32
            await asyncio.sleep(0.05)

    server = await place.server(script)
    client = await place.client()
    for number in range(4):
        await client.call("subscribe", url=f"http://127.0.0.1:{server.port}", state=True, seconds=LONGER,
                          events=[f"*{'a' * 50}*{number * 256 + n}b" for n in range(255)] + ["heard"])
    return await place.until_over(lambda: told(client))


@attacker("too_large")
async def names_that_become_holes(place):
    """Events with names of 15 MB."""
    event = frame(TEXT, f'42["{"n" * LARGE}"]'.encode())

    async def script(link):
        await link.session()
        await again_and_again(place, link, event)

    return await subscribed(place, script)


def read_nothing(link):
    """What the daemon answers stays with it, as far as that is possible."""
    link.writer.transport.pause_reading()
    link.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 10)


async def pour(place, link, data):
    """Writes the same again and again, and reads nothing."""
    read_nothing(link)
    while place.goes_on and not link.writer.is_closing():
        await link.raw(data)
        await asyncio.sleep(0.002)


async def without_reading(place, packets):
    """A server that asks for an answer 500 times at once, again and again, and reads none."""
    async def script(link):
        # Where the daemon comes to wait for a heartbeat, it does not do so for long.
        await link.session(interval=3_000, timeout=3_000)
        await pour(place, link, packets * 500)

    return await subscribed(place, script)


@attacker("protocol")
async def pings_without_reading(place):
    """Engine.IO pings whose answers are never read."""
    return await without_reading(place, frame(TEXT, b"2" + b"p" * 127))


@attacker("protocol")
async def websocket_pings_without_reading(place):
    """The same with the frames of WebSocket."""
    return await without_reading(place, frame(PING, b"p" * 120))


@attacker("protocol|too_large")
async def pings_by_polling(place):
    """Engine.IO pings by long-polling whose answers are never acknowledged."""
    return await polled(place, "\x1e".join(["2" + "p" * 127] * 10_000))


@attacker("protocol", is_short=False)
async def heartbeats_without_reading(place):
    """The heartbeats of a server of JSON lines."""
    async def script(link):
        await pour(place, link, b'{"type":"ping"}\n' * 5_000)

    return await subscribed_to(place, script, "heartbeats")


@attacker("protocol|heartbeat|closed", is_short=False)
async def calls_that_nobody_answers(place):
    """INVOCATIONs of a procedure whose program has gone, by a router that does not read."""
    numbers = itertools.count(1)

    async def script(link):
        session = await Session(link).join()
        await session.subscribed()
        await session.registered(90)
        read_nothing(link)
        while place.goes_on and not link.writer.is_closing():
            await link.raw(b"".join(frame(TEXT, f"[68,{next(numbers)},90,{{}}]".encode()) for _ in range(5_000)))
            await asyncio.sleep(0.002)

    server = await place.server(script)
    url = f"wamp+ws://127.0.0.1:{server.port}/ws#realm"
    listener, callee = await place.client(), await place.client()
    listener.post("subscribe", url=url, events=["topic"], state=True)
    # While the connection is down a subscription is answered at once.
    with contextlib.suppress(CallError, ConnectionError):
        await callee.call("wait", url=url, state="connected", seconds=LONGER)
        await callee.call("subscribe", url=url, events=["procedure"], answer=True, seconds=LONGER)
    await callee.close()
    return await place.until_over(lambda: told(listener))


@attacker("too_large")
async def unfinished_frames(place):
    """Forty links, on each of which all but the end of a message of 15 MB has come."""
    half = b"\x81\x7f" + struct.pack(">Q", LARGE) + b"x" * (LARGE - 1)

    async def script(link):
        await link.session(interval=86_400_000)
        await link.raw(half)
        await link.reader.read()

    servers = [await place.server(script) for _ in range(40)]
    clients = [await place.victims(server.url) for server in servers]
    return await place.until_over(lambda: told(*clients))


@attacker("too_large")
async def unfinished_polls(place):
    """The same by long-polling: answers that announce 15 MB and end a byte before that."""
    half = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {LARGE}\r\n\r\n".encode()

    async def serve(peer):
        with contextlib.suppress(AssertionError):
            while place.goes_on:
                poll = await peer.session()
                poll.answered.set_result(half + b"x" * (LARGE - 1))

    peers, clients = [], []
    for _ in range(20):
        peers.append(await PollingPeer().start())
        place.open.append(peers[-1])
        clients.append(await place.victims(peers[-1].url))
    serving = [asyncio.ensure_future(serve(peer)) for peer in peers]
    try:
        return await place.until_over(lambda: told(*clients))
    finally:
        for one in serving:
            one.cancel()


@attacker("too_large")
async def events_to_be_written_anew(place):
    """Events of 15 MB in which every key looks like binary data of the local protocol."""
    event = frame(TEXT, ('42["e",[' + objects(LARGE, '{"$bin":"AA"}') + "]]").encode())

    async def script(link):
        await link.session()
        await again_and_again(place, link, event)

    return await subscribed(place, script)


@attacker("too_large")
async def large_attachments(place):
    """Binary attachments of 15 MB."""
    event = frame(TEXT, b'451-["e",{"_placeholder":true,"num":0}]') + frame(BINARY, b"x" * LARGE)

    async def script(link):
        await link.session()
        await again_and_again(place, link, event)

    return await subscribed(place, script)


# Refusals


@attacker("refused|too_large")
async def long_refusals_of_logins(place):
    """A server of JSON lines says no in 15 MB."""
    async def script(link):
        login = json.loads(await link.reader.readline())
        answer = {"type": "denied", "id": login.get("id"), "error": {"code": "no", "why": "n" * LARGE}}
        await link.raw(json.dumps(answer) + "\n")
        await link.reader.read()

    return await subscribed_to(place, script, "logins")


@attacker("protocol|too_large")
async def long_refusals_of_routers(place):
    """A router does, in the words and in the name of its error."""
    abort = frame(TEXT, f'[3,{{"message":"{"n" * (LARGE // 2)}"}},"no.{"n" * (LARGE // 2)}"]'.encode())

    async def script(link):
        await Session(link).upgrade()
        await link.receive()
        await link.raw(abort)
        await link.reader.read()

    return await subscribed(place, script, "wamp+ws://127.0.0.1:{port}/ws#realm")


@attacker("^[1-9].*refused")
async def keys_without_end(place):
    """Twenty routers that refuse every login, each of which costs a key of half a second."""
    count = 0

    async def script(link):
        nonlocal count
        session = Session(link)
        await session.upgrade()
        await session.receive()
        await session.send(4, "wampcra", {"challenge": "c", "salt": "s", "iterations": 1_000_000, "keylen": 32})
        await session.receive(5)
        count += 1
        await session.send(3, {}, "wamp.error.authentication_failed")
        await link.reader.read()

    servers = [await place.server(script) for _ in range(20)]
    clients = []
    for server in servers:
        clients.append(await place.client())
        clients[-1].post("subscribe", url=f"wamp+ws://127.0.0.1:{server.port}/ws#realm", state=True,
                         auth={"authid": "a", "secret": "s"})
    return await place.until_over(lambda: f"{count} keys, {told(*clients)}")


@attacker(r"too_large.* lines of at most [1-9]\d{1,5} bytes")
async def long_names_under_a_watched_trace(place):
    """Events with names of 15 MB on a connection that an administrator traces with its payloads."""
    event = frame(TEXT, f'42["{"n" * LARGE}"]'.encode())

    async def script(link):
        await link.session()
        await again_and_again(place, link, event)

    server = await place.server(script)
    client, watcher = await place.client(is_own=True), await place.client(is_own=True)
    client.post("subscribe", url=server.url, state=True)
    await watcher.call("trace", url=server.url, payloads=True, seconds=LONGER)
    return await place.until_over(
        lambda: f"{told(client)}, lines of at most {max(map(len, watcher.lines), default=0)} bytes")


# Messages of 15 MB, of as many small parts as fit


async def packed(place, upstream, packet, pause):
    """A server with the msgpack parser that says the same again and again."""
    async def script(link):
        await link.upgrade()
        await link.open()
        await link.receive()
        await link.binary(b"\x83\xa4type\x00\xa3nsp\xa1/\xa4data\x81\xa3sid\xa1s")
        await again_and_again(place, link, packet, pause)

    return await subscribed_to(place, script, upstream)


@attacker("too_large")
async def large_events(place):
    """Events of 15 MB of empty objects."""
    event = frame(TEXT, f'42["e",{objects(LARGE)}]'.encode())

    async def script(link):
        await link.session()
        await again_and_again(place, link, event)

    return await subscribed(place, script)


@attacker(r"[1-9]\d* events")
async def events_that_nearly_fill_a_line(place):
    """Events that still fit, in which every key looks like binary data of the local protocol."""
    event = frame(TEXT, ('42["e",[' + objects(880_000, '{"$bin":"AA"}') + "]]").encode())

    async def script(link):
        await link.session()
        await again_and_again(place, link, event, 0.02)

    return await subscribed(place, script)


@attacker(r"[1-9]\d* events")
async def msgpack_that_nearly_fills_a_line(place):
    """Packets of small integers that still fit."""
    count = 500_000
    packet = frame(BINARY, b"\x83\xa4type\x02\xa4data\xdd" + struct.pack(">I", count + 1) + b"\xa1e" + b"\x01" * count
                   + b"\xa3nsp\xa1/")
    return await packed(place, "packed0", packet, 0.02)


@attacker(r"[1-9]\d* events")
async def attachments_that_nearly_fill_a_line(place):
    """Binary attachments that still fit."""
    head, body = frame(TEXT, b'451-["e",{"_placeholder":true,"num":0}]'), frame(BINARY, b"x" * 750_000)

    async def script(link):
        await link.session()
        await again_and_again(place, link, head + body, 0.02)

    return await subscribed(place, script)


@attacker("too_large")
async def large_wamp_events(place):
    """EVENTs of 15 MB."""
    event = frame(TEXT, f'[36,70,1,{{}},[{objects(LARGE)}]]'.encode())

    async def script(link):
        session = await Session(link).join()
        await session.subscribed()
        await again_and_again(place, link, event)

    return await subscribed(place, script, "wamp+ws://127.0.0.1:{port}/ws#realm", events=["topic"])


@attacker("protocol|too_large|timeout")
async def large_wamp_welcomes(place):
    """The answer to a HELLO is 15 MB."""
    welcome = frame(TEXT, f'[2,7,{{"x":[{objects(LARGE)}]}}]'.encode())

    async def script(link):
        await Session(link).upgrade()
        await link.receive()
        await again_and_again(place, link, welcome)

    return await subscribed(place, script, "wamp+ws://127.0.0.1:{port}/ws#realm")


@attacker("too_large")
async def large_msgpack_packets(place):
    """Events of 15 MB of small integers."""
    packet = frame(BINARY, b"\x83\xa4type\x02\xa4data\xdd" + struct.pack(">I", LARGE + 1) + b"\xa1e" + b"\x01" * LARGE
                   + b"\xa3nsp\xa1/")
    return await packed(place, "packed1", packet, 0.5)


@attacker("too_large")
async def large_lines(place):
    """Lines of 15 MB from a server of JSON lines, whose type stands at their end."""
    line = f'{{"body":[{objects(LARGE)}],"type":"e"}}\n'.encode()

    async def script(link):
        await again_and_again(place, link, line)

    return await subscribed(place, script, "tcp://127.0.0.1:{port}")


@attacker("too_large")
async def large_plain_texts(place):
    """Texts of 15 MB on a WebSocket without anything above it, which are no JSON at their very end."""
    text = frame(TEXT, f"[{objects(LARGE)}".encode())

    async def script(link):
        await link.upgrade()
        await again_and_again(place, link, text)

    return await subscribed(place, script, "raw+ws://127.0.0.1:{port}")


@attacker("too_large")
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
                            poll = await asyncio.wait_for(peer.gets.get(), LONGER)

    return await beside(place, peer, serve())


@attacker("too_large|timeout")
async def large_polled_events(place):
    """Events of 15 MB by long-polling."""
    return await polled(place, f'42["e",{objects(LARGE)}]')


@attacker("too_large|timeout")
async def large_polled_attachments(place):
    """Binary attachments of 15 MB by long-polling, in base64."""
    return await polled(place, '451-["e",{"_placeholder":true,"num":0}]\x1eb' + "eHh4" * (LARGE // 3))


@attacker(r"[1-9]\d* events|timeout")
async def polled_events_byte_by_byte(place):
    """Events by long-polling, each byte of which is a chunk of its own."""
    body = f'42["e","{"x" * 200_000}"]'
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body.encode()) + b"0\r\n\r\n"
    return await polled(place, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks,
                        write=lambda poll, answer: poll.answered.set_result(answer))


@attacker(r"[1-9]\d* events")
async def events_without_end(place):
    """As many small events as the daemon takes."""
    batch = frame(TEXT, b'42["e",1]') * 5_000

    async def script(link):
        await link.session()
        while place.goes_on and not link.writer.is_closing():
            await link.raw(batch)
            await asyncio.sleep(0.005)

    return await subscribed(place, script)


@attacker("closed")
async def servers_that_hang_up(place):
    """Links that die as soon as they are there, on twenty namespaces at once."""
    async def script(link):
        await link.session()
        link.abort()

    return await subscribed(place, script, count=20)
