"""What outlives the daemon without a byte on the disk: where the service manager gives a folder for that."""

import json

import pytest

from failing_disk import SmallDisk
from scripted import offset

RECONNECT = {"base": "10ms", "cap": "50ms"}


def config(url, **more):
    return {"upstream": {"chat": {"url": url, "keep": "always", "reconnect": RECONNECT, **more}}}


def runtime(daemon):
    return daemon.folder / "runtime"


async def start(daemons, config):
    daemon = await daemons(config, start=False)
    daemon.environment["RUNTIME_DIRECTORY"] = runtime(daemon)
    await daemon.start()
    return daemon


async def received(daemon, count):
    status = await daemon.until(lambda status: status["connections"][0]["seq"] >= count, f"{count} events")
    return status["connections"][0]["epoch"]


@pytest.mark.parametrize("how", ["stop", "crash"])
async def test_since_works_after_a_restart_and_a_crash(daemons, server, how):
    daemon = await start(daemons, config(server.url))
    await daemon.connected(upstream="chat")
    await server.burst("tick", 5)
    epoch = await received(daemon, 5)
    await getattr(daemon, how)()
    assert not (daemon.folder / "state" / "history").exists()
    (file,) = (runtime(daemon) / "history").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600 and file.parent.stat().st_mode & 0o777 == 0o700
    await daemon.start()
    client = await daemon.connected(upstream="chat")
    await server.present(1)
    await server.emit("said", "new")
    await client.call("subscribe", upstream="chat", since={"epoch": epoch, "seq": 2})
    assert [event["args"] for event in await client.events(3)] == [[2], [3], [4]]
    gap = await client.gap()
    assert (gap["reason"], gap["seq"]) == ("upstream", 5)
    event = await client.event()
    assert event["args"] == ["new"] and event["seq"] == 6
    history = (await daemon.connection())["history"]
    assert (history["disk"], history["runtime"]) == ("off", "working")


@pytest.mark.parametrize("how", ["stop", "crash"])
async def test_a_server_with_recovery_goes_on(daemons, peer, how):
    daemon = await start(daemons, config(peer.url))
    link = await peer.link()
    await link.upgrade()
    await link.open()
    await link.accept(pid="private-id")
    await link.text(f'42["said",1,"{offset(0)}"]')
    epoch = await received(daemon, 1)
    await getattr(daemon, how)()
    await daemon.start()
    client = await daemon.client()
    snapshot = await client.call("subscribe", upstream="chat", state=True, since={"epoch": epoch, "seq": 1})
    assert snapshot["recovered"] is True and snapshot["epoch"] == epoch
    link = await peer.link()
    await link.upgrade()
    await link.open()
    assert await link.receive() == f'40{{"pid":"private-id","offset":"{offset(0)}"}}'
    await link.text(f'42["said",2,"{offset(1)}"]', '40{"sid":"s","pid":"private-id"}')
    assert [(event["seq"], event["args"]) for event in await client.events(1)] == [(2, [2])]
    assert (await client.state_until("connected"))[-1]["recovered"] is True
    assert not [note for note in client.notes if note[0] == "gap"]
    assert "private-id" not in daemon.text() and "private-id" not in json.dumps(await client.call("status"))


async def test_no_more_is_kept_than_the_settings_say(daemons, chat):
    daemon = await start(daemons, config(chat.url, history={"events": 3}))
    await daemon.connected(upstream="chat")
    await chat.burst("tick", 20)
    await received(daemon, 20)
    await daemon.crash()
    await daemon.start()
    client = await daemon.client()
    await client.call("subscribe", upstream="chat", last=20)
    await client.gap()
    assert [event["args"] for event in await client.events(3)] == [[17], [18], [19]]


async def test_without_the_folder_or_with_history_disk_false_the_past_ends_with_the_daemon(daemons, chat):
    for environment, settings in ((None, {}), ("set", {"history": {"disk": False}})):
        daemon = await daemons(config(chat.url, **settings), start=False)
        if environment:
            daemon.environment["RUNTIME_DIRECTORY"] = runtime(daemon)
        await daemon.start()
        await daemon.connected(upstream="chat")
        await chat.present(1)
        await chat.emit("said", "old")
        await received(daemon, 1)
        history = (await daemon.connection())["history"]
        assert (history["disk"], history["runtime"]) == ("off", "off")
        assert not (runtime(daemon) / "history").exists()
        await daemon.stop()


async def test_two_daemons_never_share_the_folder(daemons, chat):
    first = await start(daemons, config(chat.url))
    second = await daemons(config(chat.url), start=False)
    second.environment["RUNTIME_DIRECTORY"] = runtime(first)
    await second.start()
    await second.connected(upstream="chat")
    history = (await second.connection())["history"]
    assert (history["runtime"], history["reason"]) == ("unavailable", "folder")
    assert "another gatewayd uses the runtime folder" in second.text()


async def test_a_look_at_the_past_after_a_restart_leaves_it_there(daemons, chat):
    on_demand = config(chat.url, keep="on-demand", retain="50ms")
    daemon = await start(daemons, on_demand)
    client = await daemon.client()
    await client.call("subscribe", upstream="chat", state=True)
    await client.state_until("connected")
    await chat.burst("tick", 3)
    epoch = await received(daemon, 3)
    await daemon.crash()
    await chat.stop()
    await daemon.start()
    client = await daemon.client()
    for _ in range(2):
        past = await client.call("history", upstream="chat")
        assert (past["epoch"], [event["seq"] for event in past["events"]]) == (epoch, [1, 2, 3])
        await daemon.until(lambda status: not status["connections"], "the connection let go")


@pytest.mark.root
async def test_a_history_leaves_a_tenth_of_the_memory_to_the_rest_of_the_machine(daemons, chat, folder):
    memory = await SmallDisk.make(folder / "memory", "1m")
    try:
        (memory.inside / "others").write_bytes(bytes(970_000))
        daemon = await daemons(config(chat.url), start=False, wrapper=memory.wrapper)
        daemon.environment["RUNTIME_DIRECTORY"] = memory.mount / "gatewayd"
        await daemon.start()
        await daemon.connected(upstream="chat")
        await chat.burst("tick", 3)
        await received(daemon, 3)
        history = (await daemon.connection())["history"]
        assert (history["runtime"], history["reason"]) == ("failing", "full") and "tenth" in daemon.text(), history
        assert not any(memory.inside.rglob("*.log"))
    finally:
        await memory.remove()
