"""Hostile servers for which very many calls wait, of which very many subscriptions are told, or whose rooms are very many, at once:
each is an attacker of `make hostile`."""

import asyncio
import contextlib
import itertools

import users
from hostile_place import LONGER, attacker, call
from local_client import CallError
from scripted import TEXT, frame
from wamp_router import Session


async def many(place, count):
    """Bare connections of so many programs."""
    return [await place.stream() for _ in range(count)]


async def ask(programs, lines, expected):
    """Each program writes these calls; how many of the answers to all of them have this in them."""
    for _, writer in programs:
        writer.write(lines)

    async def answers(reader):
        found, left = 0, lines.count(b"\n")
        while left:
            line = await asyncio.wait_for(reader.readline(), LONGER)
            if not line:
                break
            if line.startswith(b'{"jsonrpc":"2.0","id"'):
                left -= 1
                found += expected in line
        return found

    return sum(await asyncio.gather(*(answers(reader) for reader, _ in programs)))


def gone(programs):
    for _, writer in programs:
        writer.transport.abort()


@attacker(r"^[1-9]\d* made")
async def subscribes_that_a_router_lets_wait(place):
    """Thousands of `subscribe` for a topic that a router says nothing about before it hangs up."""
    rounds, made, numbers = 0, 0, itertools.count(1)

    async def script(link):
        session = await Session(link).join()
        while True:
            code, request, *rest = await session.receive()
            if code == 32 and rest[1] == f"late{rounds}":
                # Until all the others have asked as well.
                await asyncio.sleep(0.3)
                return link.abort()
            if code == 32:
                await session.send(33, request, next(numbers))
            elif code == 34:
                await session.send(35, request)

    server = await place.server(script)
    url = f"wamp+ws://127.0.0.1:{server.port}/ws#realm"
    listener = await place.client()
    await listener.call("subscribe", url=url, events=["topic"], seconds=LONGER)
    programs = await many(place, 30)
    place.outcome = lambda: f"{made} made"
    while place.goes_on:
        with contextlib.suppress(CallError):
            await listener.call("wait", url=url, state="connected", timeout=5_000, seconds=LONGER)
        lines = b"".join(call(n, "subscribe", url=url, events=[f"late{rounds}"], subscription=f"s{n}") for n in range(128))
        made += await ask(programs, lines, b'"result"')
        rounds += 1
    gone(programs)
    return place.outcome()


async def requests_that_end_together(place, script, expected):
    """Thousands of requests to a server with this script, again and again."""
    server = await place.server(script)
    programs, ended = await many(place, 20), 0
    place.outcome = lambda: f"{ended} ended"
    lines = b"".join(call(n, "request", url=f"http://127.0.0.1:{server.port}", event="e", timeout=60_000) for n in range(256))
    while place.goes_on:
        ended += await ask(programs, lines, expected)
    gone(programs)
    return place.outcome()


@attacker(r"^[1-9]\d* ended")
async def requests_that_end_with_their_link(place):
    """Thousands of requests are under way when the server hangs up."""
    async def script(link):
        await link.session()
        # Until all have been written.
        await asyncio.sleep(0.5)
        link.abort()

    return await requests_that_end_together(place, script, b'"AckLost"')


@attacker(r"^[1-9]\d* ended")
async def requests_that_end_with_a_refusal(place):
    """Thousands of requests wait for a connection that the server refuses."""
    async def script(link):
        await link.upgrade()
        await link.open()
        await link.receive()
        await asyncio.sleep(0.3)
        await link.text('44{"message":"not you"}')
        await link.reader.read()

    return await requests_that_end_together(place, script, b'"UpstreamRefused"')


@attacker(r"^[1-9]\d* ended")
async def waits_for_a_connection_that_comes_and_goes(place):
    """Thousands of `wait` calls, half of them for a connection that is never there."""
    async def script(link):
        await link.session()
        await asyncio.sleep(0.2)
        link.abort()

    server = await place.server(script)
    programs, idle = await many(place, 20), await many(place, 20)
    never = b"".join(call(n, "wait", url="http://127.0.0.1:9/never", state="connected", timeout=600_000) for n in range(250))
    for _, writer in idle:
        writer.write(never)
    ended = 0
    place.outcome = lambda: f"{ended} ended"
    lines = b"".join(
        call(n, "wait", url=f"http://127.0.0.1:{server.port}", state="connected" if n % 2 else "disconnected", timeout=60_000)
        for n in range(250))
    while place.goes_on:
        ended += await ask(programs, lines, b'"result"')
    gone(programs + idle)
    return place.outcome()


@attacker(r"^[1-9]\d* gaps, [1-9]\d* states")
async def what_all_subscriptions_are_told(place):
    """Thousands of subscriptions of one server, whose events have names that are too long, and which hangs up now and then."""
    event, counts = frame(TEXT, f'42["{"n" * 1_100}"]'.encode()), {"gap": 0, "state": 0}

    async def script(link):
        await link.session()
        for _ in range(5):
            await link.raw(event * 8)
            await asyncio.sleep(0.2)
        link.abort()

    async def read(reader):
        while line := await reader.readline():
            for method in counts:
                counts[method] += line.startswith(f'{{"jsonrpc":"2.0","method":"{method}"'.encode())

    server = await place.server(script)
    programs = await many(place, 20)
    lines = b"".join(call(n, "subscribe", url=f"http://127.0.0.1:{server.port}", state=True) for n in range(128))
    reading = [asyncio.ensure_future(read(reader)) for reader, _ in programs]
    for _, writer in programs:
        writer.write(lines)
    try:
        return await place.until_over(lambda: "{gap} gaps, {state} states".format(**counts))
    finally:
        for one in reading:
            one.cancel()
        gone(programs)


@attacker(r"^([2-9]|\d\d+) breaks, [1-9]\d* rooms")
async def rooms_of_megabytes_on_a_link_that_breaks(place):
    """Rooms of as many bytes as each of eight users may hold, on one link that breaks again and again, while others are entered
    and left."""
    breaks = rooms = 0

    async def script(link):
        nonlocal breaks
        await link.session()
        with contextlib.suppress(asyncio.TimeoutError):
            async with asyncio.timeout(0.5):
                while await link.reader.read(1 << 20):
                    pass
        breaks += 1
        link.abort()

    def enter(number, *args, **members):
        return call(number, "subscribe", upstream="rooms", enter=[{"event": "join", "args": one} for one in args], **members)

    await place.configured_server(script, "rooms")
    programs = [await place.stream(users.ALICE + user) for user in range(8)]
    place.outcome = lambda: f"{breaks} breaks, {rooms} rooms"

    async def hold(user, program):
        lines = [enter(n, *([user, n, m, "r" * 31_000] for m in range(8))) for n in range(30)]
        await ask([program], b"".join(lines), b'"result"')

    await asyncio.gather(*(hold(*one) for one in enumerate(programs)))
    while place.goes_on:
        lines = b"".join(enter(n, [rooms + n], subscription="s") for n in range(100))
        rooms += await ask(programs[:1], lines, b'"result"')
    gone(programs)
    return place.outcome()
