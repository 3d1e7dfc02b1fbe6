"""What each released version left on the disk, and this one makes of it."""

import json
import shutil
import time

import pytest

from programs import ROOT
from test_clock_steps import Clock

VERSIONS = ROOT / "Tests" / "Versions"
KEPT = sorted(file.relative_to(VERSIONS) for file in VERSIONS.glob("*/*.json"))
PAST = "http://127.77.0.1:7717"
"""Where the server of the kept history was. Nothing is there."""


async def daemon_on(kept, folder, daemons, url):
    """A daemon that finds the state which an older one left a minute ago."""
    facts = json.loads((VERSIONS / kept).read_text())
    clock = Clock(folder)
    clock.turn(facts["written"] + 60_000 - int(time.time() * 1_000))
    daemon = await daemons({"upstream": {
        "chat": {"url": url}, "past": {"url": PAST, "history": {"disk": True}}}},
        start=False, environment=clock.environment)
    shutil.copytree((VERSIONS / kept).with_suffix(""), daemon.folder / "state")
    await daemon.start()
    return daemon, facts


@pytest.mark.parametrize("kept", KEPT, ids=str)
async def test_an_upgrade_keeps_what_was_promised_and_sends_it_once_in_order(kept, folder, daemons, chat):
    daemon, facts = await daemon_on(kept, folder, daemons, "http://chat.invalid")
    client = await daemon.client()
    entries = (await client.call("outbox.list"))["entries"]
    same = ("id", "namespace", "event", "created", "expires", "uid")
    assert [[entry[name] for name in same] for entry in entries] == [
        [entry[name] for name in same] for entry in facts["entries"]]
    assert [entry.get("key") for entry in entries] == [entry.get("key") for entry in facts["entries"]]
    again = await client.call("send", upstream="chat", event="keyed", delivery="durable", key="once", ttl=3_600_000)
    assert again["id"] == next(entry["id"] for entry in entries if entry.get("key") == "once")
    daemon.configure(daemon.settings | {"upstream": {"chat": {"url": chat.url}}})
    await client.call("reload")
    expected = [entry["event"] for entry in facts["entries"]
                if entry["state"] == "queued" and entry["event"] != "by url"]
    assert [event["event"] for event in await chat.received(len(expected))] == expected
    await daemon.until(lambda status: status["daemon"]["outbox"]["queued"]["count"] == 1, "the ad-hoc send alone")


@pytest.mark.parametrize("kept", KEPT, ids=str)
async def test_an_upgrade_keeps_the_past(kept, folder, daemons):
    daemon, facts = await daemon_on(kept, folder, daemons, "http://chat.invalid")
    client = await daemon.client()
    past = await client.call("history", upstream="past")
    assert [event["seq"] for event in past["events"]] == [1, 2, 3, 4, 5, 6]
    for name in ("seq", "event", "args", "time"):
        assert [event[name] for event in past["events"]] == [event[name] for event in facts["events"]]
