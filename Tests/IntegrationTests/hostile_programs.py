"""Hostile local programs: each is an attacker of `make hostile`."""

import asyncio
import contextlib
import json
import time

from hostile_place import LONGER, attacker, call, last_word
from local_client import CallError
from scripted import TEXT, frame


@attacker("ParseError")
async def junk(place):
    return await place.pour(b"\xff\x00{[" * 4_000 + b"\n", 0.002)


@attacker(r"[1-9]\d* ends")
async def lines_without_end(place):
    return await place.pour(b"x" * 65_536, 0.001)


@attacker("InvalidRequest")
async def lines_of_unknown_keys(place):
    line = b'{"jsonrpc":"2.0","id":1,"method":"ping"' + b"".join(b',"k%d":0' % n for n in range(90_000)) + b"}\n"
    return await place.pour(line, 0.01, reads=True)


@attacker("answered")
async def deep_and_wide_sends(place):
    args = [[[{"a": [0] * 50}] * 50] * 20] * 3
    return await place.pour(call(1, "send", url="http://127.0.0.1:9", event="e", args=args, ttl=1), 0.01, reads=True)


@attacker(" 0 ends, answered")
async def calls_whose_answers_are_not_read(place):
    return await place.pour(b"".join(call(number, "status") for number in range(50)))


@attacker("answered")
async def binary_sends(place):
    args = [{"$bin": "A" * 120_000}] * 6
    return await place.pour(call(1, "send", url="http://127.0.0.1:9", event="e", args=args, ttl=1), 0.02, reads=True)


@attacker("InvalidParams|QuotaExceeded")
async def messages_in_parts_that_never_end(place):
    """Half of a message of 16 MB from each of sixteen programs, again and again: together more than their user may have."""
    total, data = 16 << 20, "[" + "7," * 100_000
    open_, words, count = [], set(), 0
    place.outcome = lambda: f"{count} halves, {', '.join(sorted(words))}"
    while place.goes_on:
        for _ in range(16):
            reader, writer = await place.stream()
            open_.append(writer)
            for number in range(40):
                piece = data if number == 0 else data[1:]
                at = 0 if number == 0 else len(data) + (number - 1) * (len(data) - 1)
                part = {"id": 1, "at": at, "of": total, "data": piece}
                line = {"jsonrpc": "2.0", "method": "send",
                        "params": {"url": "http://127.0.0.1:9", "event": "e", "ttl": 1, "part": part}}
                writer.write(json.dumps(line).encode() + b"\n")
                with contextlib.suppress(ConnectionError, asyncio.TimeoutError):
                    await asyncio.wait_for(writer.drain(), LONGER)
            # What became of it: a last part that does not fit.
            writer.write(call(2, "send", url="http://127.0.0.1:9", event="e", ttl=1,
                              part={"id": 1, "at": total - 1, "of": total, "data": "]"}))
            with contextlib.suppress(ConnectionError, asyncio.TimeoutError):
                words.add(last_word(await asyncio.wait_for(reader.readline(), LONGER)))
            count += 1
            # Another half, which stays there while the others begin theirs.
            part = {"id": 2, "at": 0, "of": total, "data": data}
            line = {"jsonrpc": "2.0", "method": "send",
                    "params": {"url": "http://127.0.0.1:9", "event": "e", "ttl": 1, "part": part}}
            writer.write(json.dumps(line).encode() + b"\n")
            if not place.goes_on:
                break
        for writer in open_:
            writer.transport.abort()
        open_ = []
    return place.outcome()


@attacker("answered|QuotaExceeded")
async def many_subscriptions(place):
    """Every subscription that a program may have, with globs, on the upstream of the ordinary programs; never read."""
    writers, words = [], set()
    for _ in range(4):
        reader, writer = await place.stream()
        for number in range(128):
            writer.write(call(number, "subscribe", upstream="chat", events=[f"{'*a' * 8}{number}", "s*", "*d"]))
        with contextlib.suppress(ConnectionError, asyncio.TimeoutError):
            words.add(last_word(await asyncio.wait_for(reader.readline(), LONGER)))
        # From here on nothing is read.
        writer.transport.pause_reading()
        writers.append(writer)
    await place.until_over(lambda: ", ".join(sorted(words)))
    for writer in writers:
        writer.transport.abort()
    return place.outcome()


@attacker("answered|QuotaExceeded|InvalidParams")
async def filters_as_long_as_lines(place):
    """Subscriptions to a thousand names of a kilobyte, which take the place of each other."""
    events = [f"{number}{'n' * 1_000}" for number in range(1_000)]
    return await place.pour(call(1, "subscribe", upstream="chat", subscription="s", events=events), 0.01, reads=True)


@attacker("^[1-9]")
async def hang_ups_with_all_subscriptions(place):
    """All subscriptions that a program may have, with as many names as its user may have, and gone."""
    count = 0
    place.outcome = lambda: f"{count} times"
    while place.goes_on:
        reader, writer = await place.stream()
        for number in range(128):
            writer.write(call(number, "subscribe", upstream="chat", events=[f"n{n}" for n in range(100)]))
        with contextlib.suppress(ConnectionError, asyncio.TimeoutError):
            for _ in range(128):
                await asyncio.wait_for(reader.readline(), LONGER)
        writer.transport.abort()
        count += 1
        await asyncio.sleep(0.02)
    return place.outcome()


@attacker("^[1-9]")
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
        reader, writer = await place.stream()
        with contextlib.suppress(ConnectionError):
            while place.goes_on:
                writer.write(call(1, "status"))
                count += b'"result"' in (await reader.readline())[:40]
        writer.transport.abort()

    asking = [asyncio.ensure_future(ask()) for _ in range(20)]
    try:
        return await place.until_over(lambda: f"{count} answers")
    finally:
        for one in asking:
            one.cancel()


@attacker("^[1-9]")
async def comings_and_goings(place):
    count = 0
    place.outcome = lambda: f"{count} connections"
    while place.goes_on:
        with contextlib.suppress(OSError):
            for _ in range(100):
                place.socket().close()
                count += 1
                await asyncio.sleep(0)
        await asyncio.sleep(0.02)
    return place.outcome()


async def many_sends(place, most, target):
    """Sends that wait a second at most, each to a target of its own, a hundred at a time."""
    client = await place.client()
    types, count = set(), 0
    place.outcome = lambda: f"{count} sends, {', '.join(sorted(filter(None, types))) or 'accepted'}"
    while place.goes_on and count < most:
        waiting = [client.post("send", **target(count + n), event="e", ttl=1_000) for n in range(100)]
        await client.writer.drain()
        for future in waiting:
            with contextlib.suppress(Exception):
                types.add((await asyncio.wait_for(future, LONGER)).get("error", {}).get("data", {}).get("type"))
        count += 100
        await asyncio.sleep(0.05)
    return await place.until_over(place.outcome)


@attacker("QuotaExceeded", is_short=False)
async def ever_new_namespaces(place):
    """A send to a namespace of the shared upstream that nobody has, thousands of times."""
    return await many_sends(place, 5_000, lambda n: {"upstream": "chat", "namespace": f"/x{n}"})


@attacker("^2000 sends", is_short=False)
async def sends_to_dead_ports(place):
    """Many addresses at which nobody listens."""
    return await many_sends(place, 2_000, lambda n: {"url": f"http://127.0.0.1:9/d{n}"})


@attacker("^[1-9]")
async def replays_of_the_past(place):
    count = 0
    client = await place.client()
    place.outcome = lambda: f"{count} times"
    while place.goes_on:
        with contextlib.suppress(CallError, AssertionError):
            result = await client.call("subscribe", upstream="chat", last=1_000, seconds=LONGER)
            await client.call("unsubscribe", subscription=result["subscription"], seconds=LONGER)
            client.notes.clear()
            client.lines.clear()
            count += 1
    return place.outcome()


@attacker(r"^[1-9]\d* times, \d{4,} events")
async def subscribe_since_over_everything(place):
    """Everything of a very long past, from its beginning and as the newest, which nobody reads."""
    batch, count = frame(TEXT, b'42["e",1]') * 5_000, 0

    async def script(link):
        await link.session()
        for _ in range(40):
            await link.raw(batch)
        await link.reader.read()

    await place.configured_server(script, "long")
    keeper = await place.client()
    await keeper.call("subscribe", upstream="long", events=["none"], seconds=LONGER)
    sequence = 0
    place.outcome = lambda: f"{count} times, {sequence} events"
    # On a machine that has much else to do a part of it has to be enough.
    while place.goes_on and sequence < (200_000 if time.monotonic() < place.end else 1_000):
        sequence = (await keeper.call("history", upstream="long", limit=1, seconds=LONGER))["seq"]
        await asyncio.sleep(0.05)
    while place.goes_on:
        for asked in ({"since": {"epoch": "0", "seq": 0}}, {"last": 1_000_000}):
            past = await keeper.call("history", upstream="long", limit=1, seconds=LONGER)
            sequence = past["seq"]
            if "since" in asked:
                asked["since"]["epoch"] = past["epoch"]
            reader, writer = await place.stream()
            writer.write(call(1, "subscribe", upstream="long", subscription="s", **asked))
            with contextlib.suppress(ConnectionError, asyncio.TimeoutError):
                count += b'"result"' in await asyncio.wait_for(reader.readline(), LONGER)
            writer.transport.abort()
        await asyncio.sleep(0.01)
    return place.outcome()


@attacker("^[1-9]")
async def ever_new_histories(place):
    """A namespace that nobody has used before, with a history on the disk, again and again."""
    async def script(link):
        await link.upgrade()
        await link.open()
        while True:
            packet = await link.receive()
            if packet.startswith("40"):
                namespace = packet[2:].partition(",")[0]
                await link.text(f'40{namespace},{{"sid":"s"}}', f'42{namespace},["e",1]')

    await place.configured_server(script, "disk")
    client = await place.client()
    count, types = 0, set()
    place.outcome = lambda: f"{count} namespaces, {', '.join(sorted(types)) or 'all taken'}"
    while place.goes_on:
        try:
            result = await client.call("subscribe", upstream="disk", namespace=f"/h{count}", seconds=LONGER)
            await client.call("unsubscribe", subscription=result["subscription"], seconds=LONGER)
            count += 1
        except CallError as error:
            types.add(error.type)
            await asyncio.sleep(0.05)
    return place.outcome()


@attacker(r"^[1-9]\d* sends, [1-9]")
async def orders_to_a_full_outbox(place):
    """As many durable sends as a user may have, in half of the time; in the other half all of them listed, sent again, taken
    back and forgotten."""
    client = await place.client()
    begun, types, count = time.monotonic(), set(), 0
    middle, orders = (begun + place.end) / 2, 0
    place.outcome = lambda: f"{count} sends, {orders} orders{''.join(', ' + kind for kind in sorted(types))}"

    async def store():
        nonlocal count
        waiting = [client.post("send", url="http://127.0.0.1:9/outbox", event="e", delivery="durable") for _ in range(100)]
        await client.writer.drain()
        for reply in await asyncio.gather(*waiting):
            if "error" in reply:
                types.add(reply["error"]["data"]["type"])
            else:
                count += 1
        client.lines.clear()

    while time.monotonic() < middle and not types:
        await store()
    while place.goes_on:
        for method, params in (("list", {"limit": 10_000}), ("cancel", {}), ("list", {"states": ["cancelled"]}),
                               ("retry", {}), ("purge", {})):
            with contextlib.suppress(CallError):
                await client.call(f"outbox.{method}", url="http://127.0.0.1:9/outbox", seconds=LONGER, **params)
                orders += 1
            client.lines.clear()
        await store()
    return place.outcome()
