"""What others can make the daemon hold in memory: each total is bounded, one user has half of it, and `status` shows it."""

import asyncio
import json
import struct

import memory
import pytest

from patience import FACTOR, SOON, within
from polling_peer import PollingPeer
from scripted import BINARY, TEXT, ScriptedUpstream, frame

MIB = 1 << 20
REST = {"reconnect": {"base": "1h", "cap": "1h", "refused_base": "1h", "refused_cap": "1h"}}


def beginning(length, count):
    """A frame that announces so many bytes, and has so many of them."""
    return bytes([0x80 | BINARY, 127]) + struct.pack(">Q", length) + b"x" * count


def raw(peer, path):
    return f"raw+ws://127.0.0.1:{peer.port}{path}"


async def used(daemon):
    return (await daemon.status())["daemon"]["memory"]


async def test_half_messages_of_many_servers_stay_below_the_share_of_their_user(daemons, peer):
    """Each of the 40 would hold 4 MiB for ever."""
    daemon = await daemons({"limits": {"receive_bytes": "32MiB"}, "defaults": REST,
                            "upstream": {"ours": {"url": raw(peer, "/ours")}}})
    ours = await daemon.client()
    await ours.call("subscribe", upstream="ours", subscription="ours")
    link = await peer.link()
    await link.upgrade()
    before = memory.peak(daemon)
    client = await daemon.client()

    async def hold_half(link):
        await link.upgrade()
        await link.raw(beginning(16 * MIB, 4 * MIB))
        await link.reader.read()

    peer.script = hold_half
    for number in range(40):
        await client.call("subscribe", url=raw(peer, f"/{number}"), subscription=str(number))

    def is_settled(status):
        ends = [one for one in status["connections"] if one["upstream"] is None and one["state"] == "disconnected"]
        return status["daemon"]["memory"]["receive"] > 12 * MIB and len(ends) >= 36

    status = await daemon.until(is_settled, "most of the links to end", 4 * SOON)
    ended = [one for one in status["connections"] if one["upstream"] is None and one["reason"]]
    assert {one["reason"] for one in ended} == {"too_large"}
    assert "limits.receive_bytes" in ended[0]["detail"]
    assert status["daemon"]["memory"]["receive"] <= 16 * MIB
    assert memory.peak(daemon) - before < 32 * MIB or not memory.COUNTS
    # Somebody else's large message still comes.
    text = json.dumps("y" * 700_000).encode()
    whole = frame(TEXT, text)
    await link.raw(whole[:500_000])
    await link.raw(whole[500_000:])
    assert (await ours.event("ours"))["args"] == ["y" * 700_000]


async def test_memory_of_half_messages_goes_back_when_they_end(daemons, peer):
    daemon = await daemons({"defaults": REST})
    client = await daemon.client()
    await client.call("subscribe", url=raw(peer, "/"))
    link = await peer.link()
    await link.upgrade()
    await link.raw(beginning(300_000, 299_999))
    await daemon.until(lambda status: status["daemon"]["memory"]["receive"] == 299_999, "the half message to count")
    await link.raw(b"x")
    await client.event()
    assert (await used(daemon))["receive"] == 0


@pytest.mark.parametrize("kind", ["websocket", "fragments", "lines", "polling", "attachments"])
async def test_half_a_message_ends_the_link_after_a_while(daemons, peer, kind):
    config = {"defaults": {**REST, "message_timeout": "300ms", "attachment_timeout": "300ms"}}
    client_config = {}
    if kind == "polling":
        config["defaults"]["transports"] = ["polling"]
        polls = await PollingPeer().start()
        client_config = {"url": polls.url}
    elif kind == "attachments":
        client_config = {"url": peer.url}
    elif kind == "lines":
        config["upstream"] = {"lines": {"url": f"tcp://127.0.0.1:{peer.port}"}}
        client_config = {"upstream": "lines"}
    else:
        client_config = {"url": raw(peer, "/")}
    daemon = await daemons(config)
    client = await daemon.client()
    subscribed = asyncio.ensure_future(client.call("subscribe", **client_config))
    if kind == "polling":
        get = await polls.session()
        get.answered.set_result(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\n42[")
    elif kind == "attachments":
        link = await peer.session()
        await link.text('451-["e",{"_placeholder":true,"num":0}]')
    else:
        link = await peer.link()
        if kind == "lines":
            await link.raw('{"type":"half')
        else:
            await link.upgrade()
            await link.raw(beginning(100_000, 10) if kind == "websocket" else frame(TEXT, b"x" * 10, final=False))
            # Small ones in between are no sign of the rest.
            await link.raw(frame(0x9, b"ping") if kind == "fragments" else b"x")
    await subscribed
    status = await daemon.until(lambda status: status["connections"][0]["reason"], "the link to end")
    (connection,) = status["connections"]
    assert connection["reason"] == "protocol", connection
    if kind != "attachments":
        assert connection["detail"] == (
            "the server began a message and did not end it within 300 ms (message_timeout)"), connection
    assert status["daemon"]["memory"]["receive"] == 0
    if kind == "polling":
        await polls.close()


async def test_a_busy_link_with_long_messages_is_not_taken_for_one_that_stalls(daemons, peer):
    daemon = await daemons({"defaults": {**REST, "message_timeout": "1s"}})
    client = await daemon.client()
    await client.call("subscribe", url=raw(peer, "/"))
    link = await peer.link()
    await link.upgrade()
    # The pieces end in the middle of messages, for longer than one may take.
    stream = frame(TEXT, b"1" * 1_000) * 12
    for start in range(0, len(stream), 600):
        await link.raw(stream[start:start + 600])
        await asyncio.sleep(0.1)
    assert len(await client.events(12)) == 12
    assert (await daemon.connection())["state"] == "connected"


async def test_half_lines_of_local_programs_stay_below_the_share_of_their_user(daemons):
    daemon = await daemons({"limits": {"receive_bytes": "4MiB"}})
    line = b'{"jsonrpc":"2.0","id":1,"method":"send","params":{"args":["' + b"x" * 900_000
    clients = [await daemon.client() for _ in range(6)]
    for client in clients:
        await client.raw(line)
    async with asyncio.timeout(SOON):
        while sum(client.closed for client in clients) < 4:
            await asyncio.sleep(0.01)
    refused = [json.loads(client.lines[0])["error"] for client in clients if client.closed]
    assert {error["message"] for error in refused} == {"QuotaExceeded"} or all(
        error["data"]["quota"] == "receive_bytes" for error in refused), refused
    assert (await used(daemon))["receive"] <= 2 * MIB
    for client in clients:
        await client.close()
    await daemon.until(lambda status: status["daemon"]["memory"]["receive"] == 0, "the memory to go back")


async def test_sends_of_one_user_over_many_connections_stay_below_its_share(daemons, closed_port):
    daemon = await daemons({"limits": {"send_bytes": "8MiB"}, "defaults": REST})
    client = await daemon.client()
    refused = 0
    for number in range(16):
        reply = await within(client.post(
            "send", url=f"http://127.0.0.1:{closed_port}/n{number}", event="e", args=["x" * 500_000],
            ttl=int(3_000 * FACTOR)), "a reply")
        if "error" in reply:
            refused += 1
            assert reply["error"]["data"]["limit"] == 4 * MIB, reply
    assert refused == 16 - 8
    held = (await used(daemon))["send"]
    assert 3 * MIB < held <= 4 * MIB
    await daemon.until(lambda status: status["daemon"]["memory"]["send"] == 0, "them to expire", 2 * SOON)


async def test_histories_of_one_user_stay_below_its_share(daemons, peer):
    daemon = await daemons({"limits": {"history_bytes": "1MiB"}, "defaults": REST})
    client = await daemon.client()
    links = []
    for number in range(3):
        await client.call("subscribe", url=raw(peer, f"/{number}"), subscription=str(number))
        link = await peer.link()
        await link.upgrade()
        links.append(link)
    for link in links:
        for _ in range(20):
            await link.raw(frame(TEXT, json.dumps("z" * 20_000).encode()))
    for number in range(3):
        await client.events(20, str(number))
    status = await daemon.status()
    assert 300_000 < status["daemon"]["memory"]["history"] <= MIB // 2
    kept = sum(one["history"]["bytes"] for one in status["connections"])
    assert 300_000 < kept <= status["daemon"]["memory"]["history"]


async def test_a_server_that_names_a_day_between_pings_is_not_waited_for_that_long(daemons, peer):
    daemon = await daemons({"defaults": {**REST, "ping_limit": "150ms"}})
    client = await daemon.client()
    subscribed = asyncio.ensure_future(client.call("subscribe", url=peer.url))
    await peer.session(interval=86_400_000, timeout=86_400_000)
    await subscribed
    status = await daemon.until(lambda status: status["connections"][0]["reason"], "the link to end")
    assert status["connections"][0]["reason"] == "heartbeat"


async def test_the_limit_in_status_is_the_sum_of_the_settings(daemons):
    daemon = await daemons({"limits": {"receive_bytes": "1MiB", "send_bytes": "2MiB", "history_bytes": "3MiB"},
                            "outbox": {"total_bytes": "4MiB", "bytes": "5MiB"}})
    assert await used(daemon) == {"receive": 0, "send": 0, "history": 0, "outbox": 0, "limit": 19 * MIB}


async def test_a_hostile_set_of_peers_stays_below_the_sum_of_the_settings(daemons, peer):
    """Everything at once: half messages, floods of events to programs that do not read, sends that nobody takes."""
    limits = {"receive_bytes": "16MiB", "send_bytes": "16MiB", "history_bytes": "16MiB"}
    daemon = await daemons({"limits": limits, "outbox": {"total_bytes": "1MiB"},
                            "defaults": {**REST, "message_limit": "4MiB"}})
    before = memory.resident(daemon)
    stop = asyncio.Event()

    async def hostile(link):
        await link.upgrade()
        number = int(link.request.target.strip("/"))
        if number % 2:
            await link.raw(beginning(4 * MIB, 2 * MIB))
            return await link.reader.read()
        link.writer.transport.pause_reading()
        flood = frame(TEXT, json.dumps("e" * 100_000).encode())
        while not stop.is_set() and not link.writer.is_closing():
            await link.raw(flood)
        return None

    peer.script = hostile
    deaf = []
    for number in range(30):
        client = await daemon.client()
        await client.call("subscribe", url=raw(peer, f"/{number}"))
        client.writer.transport.pause_reading()
        client.reader._transport.pause_reading()
        deaf.append(client)
    sender = await daemon.client()
    for _ in range(10):
        for number in range(0, 30, 2):
            sender.post("send", url=raw(peer, f"/{number}"), event="message", args=["s" * 200_000])
        await daemon.status()
    peaks = []
    for _ in range(40):
        peaks.append((await used(daemon)))
        await asyncio.sleep(0.05)
    stop.set()
    for name, total in (("receive", 16), ("send", 16), ("history", 16)):
        # What is being worked on is counted when it is done: one event for each client.
        assert max(peak[name] for peak in peaks) <= total * MIB // 2 + 4 * MIB, (name, peaks[-1])
    worked_on = 4 * 4 * MIB
    clients = 31 * (1 * MIB)
    bound = (49 * MIB + worked_on + clients) * 3 // 2
    assert memory.peak(daemon) - before < bound or not memory.COUNTS
    for client in deaf:
        await client.close()
