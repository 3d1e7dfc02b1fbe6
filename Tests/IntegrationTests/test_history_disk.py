"""What of the past outlives the daemon."""

import asyncio
import json
import os
import resource
import struct
import time
import zlib

import pytest

from failing_disk import Faults
from scripted import offset

HISTORY = {"disk": True}
RECONNECT = {"base": "10ms", "cap": "50ms"}


def chat(url, **more):
    return {"upstream": {"chat": {"url": url, "keep": "always", "history": HISTORY, "reconnect": RECONNECT, **more}}}


def position(epoch, seq):
    return {"epoch": epoch, "seq": seq}


async def received(daemon, count):
    """Waits until so many events are numbered; returns the epoch."""
    status = await daemon.until(lambda status: status["connections"][0]["seq"] >= count, f"{count} events")
    return status["connections"][0]["epoch"]


async def again(daemon, how):
    await (daemon.stop() if how == "stop" else daemon.crash())
    await daemon.start()
    return await daemon.connected(upstream="chat")


@pytest.mark.parametrize("how", ["stop", "kill"])
async def test_events_and_numbers_outlive_the_daemon(daemons, server, how):
    daemon = await daemons(chat(server.url))
    await daemon.connected(upstream="chat")
    await server.burst("tick", 5)
    epoch = await received(daemon, 5)
    client = await again(daemon, how)
    await server.present(1)
    await server.emit("said", "new")
    result = await client.call("subscribe", upstream="chat", since=position(epoch, 2))
    assert result["recovered"] is False and result["epoch"] != epoch
    assert [event["args"] for event in await client.events(3)] == [[2], [3], [4]]
    gap = await client.gap()
    assert (gap["reason"], gap["epoch"], gap["seq"]) == ("upstream", result["epoch"], 5) and "from" not in gap
    event = await client.event()
    assert event["args"] == ["new"] and event["seq"] == 6
    late = await daemon.client()
    await late.call("subscribe", upstream="chat", events=["tick"], last=1)
    assert (await late.event())["args"] == [4]


@pytest.mark.parametrize("call", ["list", "entry"])
async def test_a_folder_that_cannot_be_listed_is_left_as_it_is_for_the_daemon_that_can(daemons, server, folder, call):
    faults = Faults(folder)
    daemon = await daemons(chat(server.url), environment=faults.environment)
    await daemon.connected(upstream="chat")
    await server.burst("tick", 4)
    epoch = await received(daemon, 4)
    await daemon.crash()
    files = daemon.folder / "state" / "history"
    before = {path.name: path.read_bytes() for path in files.iterdir()}
    assert before
    faults.begin(call)
    await daemon.start()
    client = await daemon.connected(upstream="chat")
    connection = await daemon.connection()
    assert connection["history"]["disk"] == "failing" and connection["epoch"] != epoch, connection
    gone = await client.call("subscribe", upstream="chat", since=position(epoch, 2))
    assert gone["recovered"] is False
    await server.present(1)
    await server.burst("tick", 1)
    await received(daemon, 1)
    await daemon.crash()
    assert {path.name: path.read_bytes() for path in files.iterdir()} == before
    faults.end(call)
    await daemon.start()
    client = await daemon.connected(upstream="chat")
    await client.call("subscribe", upstream="chat", since=position(epoch, 2))
    assert [event["args"] for event in await client.events(2)] == [[2], [3]]
    assert (await daemon.connection())["history"]["disk"] == "working"


@pytest.mark.parametrize("how", ["stop", "kill"])
async def test_a_server_with_recovery_goes_on_over_a_restart(daemons, peer, how):
    daemon = await daemons(chat(peer.url))
    link = await peer.link()
    await link.upgrade()
    await link.open()
    await link.accept(pid="private-id")
    await link.text(f'42["said",1,"{offset(0)}"]', f'42["said",2,"{offset(0)}.1"]', '42["volatile",3]')
    epoch = await received(daemon, 3)
    await (daemon.stop() if how == "stop" else daemon.crash())
    # A goodbye would make the server forget.
    with pytest.raises(Exception):
        while True:
            assert await link.receive() != "41"
    await daemon.start()
    client = await daemon.client()
    snapshot = await client.call("subscribe", upstream="chat", state=True, since=position(epoch, 3))
    assert snapshot["recovered"] is True and snapshot["epoch"] == epoch
    link = await peer.link()
    await link.upgrade()
    await link.open()
    assert await link.receive() == f'40{{"pid":"private-id","offset":"{offset(0)}.1"}}'
    await link.text(f'42["said",4,"{offset(1)}"]', '40{"sid":"s","pid":"private-id"}', f'42["said",5,"{offset(2)}"]')
    assert [(event["seq"], event["args"]) for event in await client.events(2)] == [(4, [4]), (5, [5])]
    states = await client.state_until("connected")
    assert states[-1]["recovered"] is True and states[-1]["epoch"] == epoch
    assert not [note for note in client.notes if note[0] == "gap"]
    assert "private-id" not in daemon.text() and "private-id" not in json.dumps(await client.call("status"))


async def test_gatewayctl_goes_through_a_kill_and_its_own_restart(daemons, server, ctl):
    daemon = await daemons(chat(server.url))
    await daemon.connected(upstream="chat")
    await server.burst("tick", 4)
    epoch = await received(daemon, 4)
    await again(daemon, "kill")
    await server.present(1)
    await server.burst("tick", 2)
    first = await ctl(daemon, "subscribe", "--since", f"{epoch}:1", "-n", "2", "chat")
    lines = [json.loads(line) for line in first.out.splitlines()]
    assert [(line["epoch"], line["seq"]) for line in lines] == [(epoch, 2), (epoch, 3)]
    second = await ctl(daemon, "subscribe", "--since", f"{lines[-1]['epoch']}:{lines[-1]['seq']}", "-n", "3", "chat")
    lines = [json.loads(line) for line in second.out.splitlines()]
    assert [line["seq"] for line in lines] == [4, 5, 6] and second.err.count("gap") == 1
    assert lines[0]["epoch"] == epoch and lines[1]["epoch"] == lines[2]["epoch"] != epoch


def files(daemon):
    return sorted((daemon.folder / "state" / "history").iterdir())


async def test_a_damaged_file_is_set_aside_and_everything_else_works(daemons, server):
    daemon = await daemons(chat(server.url))
    await daemon.connected(upstream="chat")
    await server.burst("tick", 3)
    epoch = await received(daemon, 3)
    await daemon.crash()
    (file,) = files(daemon)
    assert file.stat().st_mode & 0o777 == 0o600 and file.parent.stat().st_mode & 0o777 == 0o700
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(content)
    await daemon.start()
    client = await daemon.connected(upstream="chat")
    assert "set a history aside that is not used any more" in daemon.text() and "check sum" in daemon.text()
    aside = [one for one in files(daemon) if "damaged" in one.name]
    assert [one.read_bytes() for one in aside] == [bytes(content)]
    await server.present(1)
    await server.emit("said", "new")
    result = await client.call("subscribe", upstream="chat", since=position(epoch, 3))
    assert result["recovered"] is False
    assert (await client.gap())["seq"] >= 10_000_000
    assert (await client.event())["args"] == ["new"]
    assert (await daemon.connection())["history"]["disk"] == "working"


async def test_a_full_disk_stops_no_event_and_is_told(daemons, server):
    daemon = await daemons(chat(server.url))
    client = await daemon.connected(upstream="chat")
    await client.call("subscribe", upstream="chat")
    before = resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, (1_000, before[1]))
    await server.burst("tick", 100)
    assert [event["args"] for event in await client.events(100)] == [[number] for number in range(100)]
    history = (await daemon.connection())["history"]
    assert (history["disk"], history["reason"], history["events"]) == ("failing", "full", 100) and history["detail"]
    assert "cannot keep a history on disk" in daemon.text()
    epoch = (await daemon.connection())["epoch"]
    resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, before)
    # An orderly stop writes what could not be written.
    await daemon.stop()
    await daemon.start()
    client = await daemon.client()
    result = await client.call("subscribe", upstream="chat", since=position(epoch, 90))
    assert result["replayed"] == 10


async def test_without_the_setting_nothing_is_written(daemons, server):
    daemon = await daemons({"upstream": {"chat": {"url": server.url, "keep": "always"}}})
    client = await daemon.connected(upstream="chat")
    await client.call("subscribe", upstream="chat")
    await server.burst("tick", 3)
    await client.events(3)
    assert (await daemon.connection())["history"]["disk"] == "off"
    assert not os.path.exists(daemon.folder / "state" / "history")


async def test_a_reload_begins_and_ends_the_file(daemons, server):
    daemon = await daemons({"upstream": {"chat": {"url": server.url, "keep": "always"}}})
    client = await daemon.connected(upstream="chat")
    await server.burst("tick", 3)
    epoch = await received(daemon, 3)
    daemon.configure(chat(server.url))
    await client.call("reload")
    await client.call("wait", upstream="chat", state="connected", timeout=5_000)
    await daemon.crash()
    await daemon.start()
    client = await daemon.client()
    result = await client.call("subscribe", upstream="chat", since=position(epoch, 0))
    assert result["replayed"] == 3
    daemon.configure({"upstream": {"chat": {"url": server.url, "keep": "always", "history": {"disk": False}}}})
    await client.call("reload")
    assert (await daemon.connection())["history"]["disk"] == "off"


def lengthen(daemon, last, count, size):
    """Writes so many more events of about so many bytes to the history of a daemon that is dead."""
    (path,) = files(daemon)
    template = path.read_bytes()
    start = template.rindex(b'"seq":%d,' % last)
    tail = template[start:template.index(b"\n", start) + 1]
    padded = tail.replace(b'"args":[', b'"args":["%s",' % (b"x" * size), 1)
    now = int(time.time() * 1000)
    with path.open("ab") as file:
        for number in range(last + 1, last + count + 1):
            event = padded.replace(b'"seq":%d,' % last, b'"seq":%d,' % number, 1)
            record = struct.pack("<BQI", 5, now, len(event)) + event
            file.write(struct.pack("<II", len(record), zlib.crc32(record)) + record)
    return path.stat().st_size


LONG = {"disk": True, "events": 1_000_000, "bytes": "1GiB", "age": "1h"}


async def test_while_a_long_history_is_read_after_a_crash_others_are_answered(daemons, server):
    daemon = await daemons(chat(server.url, history=LONG), environment={"GATEWAYD_TURN_CLOCK": "processor"})
    await daemon.connected(upstream="chat")
    await server.burst("tick", 5)
    epoch = await received(daemon, 5)
    await daemon.crash()
    # So much that reading it takes an optimised build a while on a busy machine, too.
    assert lengthen(daemon, 5, 6_000, 4_000) > 24_000_000
    await daemon.start()
    waiting, other = await daemon.client(), await daemon.client()
    answer = asyncio.ensure_future(waiting.call("subscribe", upstream="chat", since=position(epoch, 6_003)))
    (connection,) = (await other.call("status"))["connections"]
    assert (connection["state"], connection["history"]["disk"], connection["rule"]) == ("created", "reading", "history")
    answered = 0
    while not answer.done():
        await other.call("ping")
        answered += 1
    result = await answer
    assert result["epoch"] == epoch and result["replayed"] == 2
    assert [event["seq"] for event in await waiting.events(2)] == [6_004, 6_005]
    await daemon.connected(upstream="chat")
    status = await other.call("status")
    assert status["connections"][0]["history"]["disk"] == "working"
    assert answered > 20
    # Read in one go it takes a debug build more than half a second.
    assert status["daemon"]["longest_turn"] < 100_000
    assert len(files(daemon)) == 1
