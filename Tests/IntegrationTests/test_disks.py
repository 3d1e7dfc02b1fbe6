"""A disk in trouble fails durable sends with its reason; everything else goes on, and nothing that was safe is lost."""

import os
import subprocess
import sys

import pytest

from failing_disk import Faults, SmallDisk
from local_client import CallError
from test_outbox import DOWN, durable, entries, settled

LARGE = "x" * 4_000


@pytest.fixture
async def disk(folder):
    made = await SmallDisk.make(folder / "disk", "400k")
    yield made
    await made.remove()


async def fill(client, url):
    """Durable sends until one fails; returns how many were kept, and the failure."""
    for number in range(2_000):
        try:
            await durable(client, url=url, event=f"e{number}", args=[LARGE])
        except CallError as failure:
            return number, failure
    raise AssertionError("the disk is never full")


async def outbox(daemon):
    return (await daemon.status())["daemon"]["outbox"]


async def expect_all(link, kept):
    for number in range(kept):
        await link.expect(f'42["e{number}","{LARGE}"]')


@pytest.mark.root
async def test_a_full_file_system_keeps_what_it_has_and_works_again_when_there_is_room(daemons, disk, peer):
    await peer.refuse()
    options = {"wrapper": disk.wrapper, "environment": {"STATE_DIRECTORY": disk.mount / "state"}}
    daemon = await daemons(**options)
    client = await daemon.client()
    kept, failure = await fill(client, peer.url)
    assert kept > 20
    assert failure.type == "InternalError"
    assert failure.data["reason"] == "full" and failure.data["retry"] is True
    assert ((await outbox(daemon))["state"], (await outbox(daemon))["reason"]) == ("failing", "full")
    assert len(await entries(client, states=["queued"])) == kept
    await client.call("send", url=peer.url, event="live")
    await daemon.crash()
    await daemon.start()
    client = await daemon.client()
    assert len(await entries(client, states=["queued"], limit=2_000)) == kept
    disk.remount("size=16m")
    await durable(client, url=peer.url, event=f"e{kept}", args=[LARGE])
    assert (await outbox(daemon))["state"] == "working"
    await peer.start()
    await expect_all(await peer.session(), kept + 1)
    assert len(await settled(client, kept + 1, "sent")) == kept + 1


async def sent_from_a_full_disk(daemons, disk, peer):
    """A daemon whose sends have filled the disk and were sent then; with a client of it, and how many they were."""
    daemon = await daemons(wrapper=disk.wrapper, environment={"STATE_DIRECTORY": disk.mount / "state"})
    client = await daemon.client()
    await peer.refuse()
    kept, _ = await fill(client, peer.url)
    await peer.start()
    await expect_all(await peer.session(), kept)
    assert len(await settled(client, kept, "sent")) == kept
    return daemon, client, kept


async def restarted_with_nothing_queued(daemon):
    await daemon.stop()
    await daemon.start()
    client = await daemon.client()
    assert await entries(client, states=["queued"]) == []
    return client


@pytest.mark.root
async def test_outcomes_that_a_full_disk_does_not_take_are_told_to_it_later(daemons, disk, peer):
    daemon, client, kept = await sent_from_a_full_disk(daemons, disk, peer)
    disk.remount("size=16m")
    await durable(client, url=peer.url, event="last")
    await settled(client, kept + 1, "sent")
    await restarted_with_nothing_queued(daemon)


@pytest.mark.root
async def test_a_disk_that_the_outbox_has_filled_has_room_again_when_its_sends_have_left(daemons, disk, peer):
    daemon, client, kept = await sent_from_a_full_disk(daemons, disk, peer)
    await durable(client, url=peer.url, event="after")
    await settled(client, kept + 1, "sent")
    client = await restarted_with_nothing_queued(daemon)
    await durable(client, url=peer.url, event="last")
    await (await peer.session()).expect('42["last"]')


@pytest.mark.root
async def test_a_read_only_folder_leaves_its_files_alone(daemons, disk, peer):
    await peer.refuse()
    daemon = await daemons(wrapper=disk.wrapper, environment={"STATE_DIRECTORY": disk.mount / "state"})
    client = await daemon.client()
    for number in range(3):
        await durable(client, url=peer.url, event=f"kept{number}")
    await daemon.crash()
    disk.remount("ro")
    before = disk.files()
    await daemon.start()
    client = await daemon.client()
    assert "durable" not in (await client.call("hello"))["features"]
    with pytest.raises(CallError, match="InternalError") as failed:
        await durable(client, url=peer.url)
    assert failed.value.data["reason"] == "read_only"
    assert (await outbox(daemon))["reason"] == "read_only"
    await client.call("send", url=DOWN, event="live")
    await daemon.stop()
    assert disk.files() == before
    disk.remount("rw")
    await peer.start()
    await daemon.start()
    await (await peer.session()).expect('42["kept0"]', '42["kept1"]', '42["kept2"]')


SPOIL = "UPDATE sends SET entry = zeroblob(3) WHERE number = (SELECT min(number) FROM sends)"


@pytest.mark.root
async def test_a_repair_for_which_the_disk_has_no_room_loses_nothing(daemons, disk, peer):
    disk.remount("size=64m")
    await peer.refuse()
    daemon = await daemons(wrapper=disk.wrapper, environment={"STATE_DIRECTORY": disk.mount / "state"})
    client = await daemon.client()
    for number in range(60):
        await durable(client, url=peer.url, event=f"e{number}", args=[LARGE])
    await daemon.stop()
    script = f"import sqlite3; file = sqlite3.connect({str(disk.mount / 'state/outbox.sqlite')!r}); " \
        f"file.execute({SPOIL!r}); file.commit()"
    subprocess.run([*disk.wrapper, sys.executable, "-c", script], check=True, timeout=30)
    size = (disk.inside / "state/outbox.sqlite").stat().st_size
    facts = os.statvfs(disk.inside)
    # There is room for the new file's log, but not for the file as well.
    ballast = disk.inside / "ballast"
    ballast.write_bytes(bytes(facts.f_bavail * facts.f_frsize - size * 3 // 2))
    await daemon.start()
    assert ((await outbox(daemon))["state"], (await outbox(daemon))["reason"]) == ("unavailable", "full")
    await daemon.crash()
    ballast.unlink()
    await daemon.start()
    assert len(await entries(await daemon.client(), states=["queued"])) == 59
    await daemon.crash()
    await daemon.start()
    assert len(await entries(await daemon.client(), states=["queued"])) == 59


@pytest.mark.parametrize("call", ["write", "sync"])
async def test_an_input_or_output_error_fails_the_call_and_passes(daemons, folder, peer, call):
    faults = Faults(folder)
    daemon = await daemons(environment=faults.environment)
    client = await daemon.client()
    await durable(client, url=peer.url, event="before")
    link = await peer.session()
    await link.expect('42["before"]')
    await settled(client, 1, "sent")
    faults.begin(call)
    with pytest.raises(CallError, match="InternalError") as failed:
        await durable(client, url=peer.url, event="lost")
    assert failed.value.data["reason"] == "failed"
    assert (await outbox(daemon))["state"] == "failing"
    await client.call("send", url=peer.url, event="live")
    await link.expect('42["live"]')
    faults.end(call)
    await durable(client, url=peer.url, event="after")
    await link.expect('42["after"]')
    await settled(client, 2, "sent")
    assert (await outbox(daemon))["state"] == "working"
    await daemon.crash()
    await daemon.start()
    shown = await entries(await daemon.client())
    assert [entry["event"] for entry in shown] == ["before", "after"]


async def test_what_is_cancelled_while_the_disk_fails_is_cancelled_and_the_disk_learns_of_it(daemons, folder, peer):
    await peer.refuse()
    faults = Faults(folder)
    daemon = await daemons(environment=faults.environment)
    client = await daemon.client()
    await durable(client, url=peer.url, event="e")
    faults.begin("write")
    result = await client.call("outbox.cancel", url=peer.url)
    assert (result["count"], result["saved"], result["reason"]) == (1, False, "failed")
    assert [entry["state"] for entry in await entries(client)] == ["cancelled"]
    faults.end("write")
    await durable(client, url=peer.url, event="after")
    await daemon.crash()
    await daemon.start()
    assert [entry["state"] for entry in await entries(await daemon.client())] == ["cancelled", "queued"]


async def test_a_log_that_cannot_move_to_its_file_is_told_once_and_costs_nothing(daemons, folder, peer):
    faults = Faults(folder)
    daemon = await daemons(environment=faults.environment)
    client = await daemon.client()
    faults.begin("move")

    async def send(count):
        for _ in range(count):
            # Each in the place of the one before, so that the outbox is not full however fast the disk is.
            await durable(client, url=peer.url, event="e", args=["x" * 600_000], coalesce="last")

    await peer.refuse()
    await send(30)
    while not (found := await outbox(daemon))["warning"]:
        await send(1)
    assert "outbox.sqlite: disk I/O error; its write-ahead log cannot move to it, and grows" in found["warning"]
    assert (found["state"], found["detail"]) == ("working", None)
    await send(3)
    said = [line for line in daemon.text().splitlines() if "the outbox works, but its file cannot be tidied up" in line]
    assert len(said) == 1, said
    faults.end("move")
    while (await outbox(daemon))["warning"]:
        await send(1)
    assert "the outbox's file is tidied up again" in daemon.text()


async def test_a_file_that_cannot_be_read_is_not_thrown_away(daemons, folder, peer):
    await peer.refuse()
    faults = Faults(folder)
    daemon = await daemons(environment=faults.environment)
    await durable(await daemon.client(), url=peer.url, event="kept")
    await daemon.stop()
    faults.begin("read")
    await daemon.start()
    client = await daemon.client()
    with pytest.raises(CallError, match="InternalError"):
        await durable(client, url=peer.url)
    await daemon.stop()
    faults.end("read")
    assert not list((daemon.folder / "state").glob("*.damaged-*"))
    await daemon.start()
    await peer.start()
    await (await peer.session()).expect('42["kept"]')
