"""Durable sends outlive the daemon; every one has exactly one outcome."""

import asyncio
import json
import os
import resource

import pytest

from local_client import CallError
from patience import QUIET, within
from users import ALICE, BOB, OPS, STAFF, as_user, client_as

DOWN = "http://127.0.0.1:9"
"""Nobody listens on the discard port."""


async def durable(client, event="e", **params):
    return await client.call("send", event=event, delivery="durable", **params)


async def entries(client, **params):
    return (await client.call("outbox.list", **params))["entries"]


async def settled(client, count, state):
    """Waits until so many entries are in a state."""
    async def ask():
        while len(found := await entries(client, states=[state])) < count:
            await asyncio.sleep(0.01)
        return found

    return await within(ask(), f"{count} entries to be {state}")


async def test_a_durable_send_outlives_a_kill(daemons, peer):
    await peer.refuse()
    daemon = await daemons()
    client = await daemon.client()
    for number in range(5):
        assert (await durable(client, url=peer.url, args=[number]))["state"] == "durable"
    await daemon.crash()
    await daemon.start()
    client = await daemon.client()
    found = await entries(client)
    assert [(entry["event"], entry["state"]) for entry in found] == [("e", "queued")] * 5
    await peer.start()
    link = await peer.session()
    await link.expect(*[f'42["e",{number}]' for number in range(5)])
    await settled(client, 5, "sent")


async def test_binary_and_order_survive_too(daemons, chat):
    daemon = await daemons()
    client = await daemon.client()
    await chat.stop()
    await durable(client, url=chat.url, event="a", args=[{"$bin": "AAEC"}, 1.50])
    await durable(client, url=chat.url, event="b", args=[])
    await daemon.crash()
    await chat.start()
    await daemon.start()
    received = await chat.received(2)
    assert [one["event"] for one in received] == ["a", "b"]
    assert received[0]["args"] == [{"$bin": "AAEC"}, 1.5]


async def test_acknowledged_with_retries_over_a_kill(daemons, server):
    daemon = await daemons()
    client = await daemon.client()
    await server.stop()
    sent = await durable(client, url=server.url, event="echo", args=["x"], retries=5)
    await daemon.crash()
    await daemon.start()
    await server.start()
    client = await daemon.client()
    (entry,) = await settled(client, 1, "acked")
    assert (entry["id"], entry["args"], entry["attempts"]) == (sent["id"], ["x"], 1)


async def test_a_key_is_remembered_over_a_kill(daemons, peer):
    await peer.refuse()
    daemon = await daemons()
    client = await daemon.client()
    first = await durable(client, url=peer.url, args=[1], key="k")
    await daemon.crash()
    await daemon.start()
    client = await daemon.client()
    again = await durable(client, url=peer.url, args=[1], key="k")
    assert again.pop("upstream")["state"] != "connected"
    assert again == {"id": first["id"], "state": "durable", "duplicate": True}
    with pytest.raises(CallError, match="Conflict"):
        await durable(client, url=peer.url, args=[2], key="k")
    await peer.start()
    link = await peer.session()
    await link.expect('42["e",1]')
    await settled(client, 1, "sent")
    await daemon.crash()
    await daemon.start()
    client = await daemon.client()
    again = await durable(client, url=peer.url, args=[1], key="k")
    assert (again["id"], again["duplicate"]) == (first["id"], True)


async def test_an_accepted_send_moves_to_the_outbox_at_an_orderly_stop(daemons, peer):
    await peer.refuse()
    daemon = await daemons()
    client = await daemon.client()
    await durable(client, url=peer.url, event="one")
    await client.call("send", url=peer.url, event="two")
    await durable(client, url=peer.url, event="three")
    await daemon.stop()
    assert "unfinished sends are kept in the outbox sends=3" in daemon.text()
    await peer.start()
    await daemon.start()
    link = await peer.session()
    await link.expect('42["one"]', '42["two"]', '42["three"]')


async def test_an_accepted_send_that_no_outbox_keeps_is_reported_at_the_stop(daemons, peer, folder):
    await peer.refuse()
    (folder / "file").write_text("")
    daemon = await daemons(environment={"STATE_DIRECTORY": folder / "file"})
    client = await daemon.client()
    sent = await client.call("send", url=peer.url, event="lost")
    await daemon.stop()
    (line,) = [one for one in daemon.text().splitlines() if "send not delivered" in one]
    assert f"command={sent['id']}" in line and "event=lost" in line and "uid=" in line, line
    assert "kept in the outbox" not in daemon.text()


async def test_an_expired_send_is_never_sent(daemons, peer):
    await peer.refuse()
    daemon = await daemons()
    client = await daemon.client()
    await durable(client, url=peer.url, event="short", ttl=100)
    await durable(client, url=peer.url, event="long")
    await daemon.crash()
    await asyncio.sleep(0.15)
    await peer.start()
    await daemon.start()
    link = await peer.session()
    await link.expect('42["long"]')
    (entry,) = await settled(await daemon.client(), 1, "expired")
    assert entry["event"] == "short"


async def test_cancel_purge_and_retry(daemons, peer):
    await peer.refuse()
    daemon = await daemons()
    client = await daemon.client()
    ids = [(await durable(client, url=peer.url, event=name))["id"] for name in "abcd"]
    assert await client.call("outbox.cancel", ids=ids[:2]) == {"count": 2}
    assert [entry["event"] for entry in await entries(client, states=["cancelled"])] == ["a", "b"]
    assert await client.call("outbox.retry", ids=ids[:1]) == {"count": 1}
    assert await client.call("outbox.purge", ids=[ids[2]]) == {"count": 1}
    await daemon.crash()
    await daemon.start()
    client = await daemon.client()
    found = await entries(client)
    assert [(entry["event"], entry["state"]) for entry in found] == [
        ("b", "cancelled"), ("d", "queued"), ("a", "queued")]
    await peer.start()
    link = await peer.session()
    await link.expect('42["d"]', '42["a"]')
    for method in ("outbox.cancel", "outbox.retry"):
        with pytest.raises(CallError, match="InvalidParams"):
            await client.call(method)


async def test_an_upstream_that_left_the_configuration_keeps_its_sends(daemons, peer):
    await peer.refuse()
    with_chat = {"upstream": {"chat": {"url": peer.url}}}
    daemon = await daemons(with_chat)
    client = await daemon.client()
    await durable(client, upstream="chat")
    await daemon.crash()
    daemon.configure({})
    await daemon.start()
    client = await daemon.client()
    (entry,) = await entries(client)
    assert (entry["upstream"], entry["state"], entry["reason"]) == ("chat", "queued", "not_configured")
    await peer.start()
    daemon.configure(with_chat)
    await client.call("reload")
    link = await peer.session()
    await link.expect('42["e"]')


async def test_an_upstream_that_nobody_knows_is_unknown_to_the_outbox_too(daemons, peer):
    await peer.refuse()
    with_chat = {"upstream": {"chat": {"url": peer.url}}}
    daemon = await daemons(with_chat)
    client = await daemon.client()
    await durable(client, upstream="chat")
    for method in ("outbox.list", "outbox.cancel", "outbox.retry", "outbox.purge"):
        await client.fails("UpstreamUnknown", method, upstream="chta")
    daemon.configure({})
    await client.call("reload")
    assert len(await entries(client, upstream="chat")) == 1
    assert await entries(client, upstream="chat", states=["lost"]) == []
    assert await client.call("outbox.purge", upstream="chat") == {"count": 1}
    await client.fails("UpstreamUnknown", "outbox.list", upstream="chat")


@pytest.mark.root
async def test_nobody_sees_what_others_left(daemons, peer):
    await peer.refuse()
    daemon = await daemons({"socket": {"mode": "0666"}})
    client = await daemon.client()
    sent = await durable(client, url=peer.url)
    other = await client_as(daemon, ALICE)
    assert await entries(other) == []
    assert await other.call("outbox.cancel", ids=[sent["id"]]) == {"count": 0}
    await durable(other, url=peer.url)
    assert len(await entries(client)) == 2


async def test_limits_reject_with_what_to_do(daemons, peer):
    await peer.refuse()
    daemon = await daemons({"outbox": {"entries": 3}})
    client = await daemon.client()
    for _ in range(3):
        await durable(client, url=peer.url)
    with pytest.raises(CallError, match="QueueFull") as failure:
        await durable(client, url=peer.url)
    assert (failure.value.data["limit"], failure.value.data["unit"]) == (3, "sends")
    await durable(client, url=DOWN)


async def test_drop_oldest_has_an_outcome_for_each(daemons, peer):
    await peer.refuse()
    daemon = await daemons({"outbox": {"entries": 3, "when_full": "drop_oldest"}})
    client = await daemon.client()
    for number in range(5):
        await durable(client, url=peer.url, event=f"e{number}")
    dropped = await entries(client, states=["dropped"])
    assert [(entry["event"], entry["reason"]) for entry in dropped] == [("e0", "outbox_full"), ("e1", "outbox_full")]
    await peer.start()
    link = await peer.session()
    await link.expect('42["e2"]', '42["e3"]', '42["e4"]')


@pytest.mark.parametrize("params, word", [
    ({"volatile": True}, "volatile"), ({"no_queue": True}, "no_queue"), ({"auth": {"token": "t"}}, "auth"),
])
async def test_what_contradicts_durable_is_refused(daemons, params, word):
    client = await (await daemons()).client()
    with pytest.raises(CallError, match="InvalidParams") as failure:
        await durable(client, url=DOWN, **params)
    assert word in failure.value.message


async def test_two_daemons_never_share_a_state_folder(daemons, folder):
    state = folder / "shared"
    await daemons(environment={"STATE_DIRECTORY": state})
    second = await daemons(start=False, environment={"STATE_DIRECTORY": state})
    await second.launch()
    assert await within(second.process.wait(), "the second daemon to end") == 69
    assert "another gatewayd uses the state folder" in second.text()
    assert state.stat().st_mode & 0o777 == 0o700


@pytest.mark.root
async def test_a_state_folder_of_somebody_else_is_not_read_only_and_what_to_do_is_said(daemons, folder):
    folder.chmod(0o777)
    closed = folder / "closed"
    closed.mkdir(mode=0o700)
    daemon = await daemons(wrapper=as_user(BOB), environment={"STATE_DIRECTORY": closed})
    state = (await daemon.status())["daemon"]["outbox"]
    assert (state["state"], state["reason"]) == ("unavailable", "folder")
    assert state["detail"] == (
        f"cannot open {closed}/lock: Permission denied; name another folder in $STATE_DIRECTORY or state.path")


@pytest.mark.root
@pytest.mark.parametrize("mode", [0o600, 0o644])
async def test_an_outbox_of_somebody_else_is_no_broken_disk(daemons, folder, mode):
    folder.chmod(0o777)
    state = folder / "state"
    daemon = await daemons(environment={"STATE_DIRECTORY": state})
    await daemon.stop()
    for file in (state, *state.iterdir()):
        os.chown(file, BOB, BOB)
    file = state / "outbox.sqlite"
    os.chown(file, 0, 0)
    file.chmod(mode)
    daemon = await daemons(wrapper=as_user(BOB), environment={"STATE_DIRECTORY": state})
    outbox = (await daemon.status())["daemon"]["outbox"]
    assert (outbox["state"], outbox["reason"]) == ("unavailable", "folder")
    assert outbox["detail"] == f"cannot use {file}: Permission denied; give the folder and its files to user {BOB}"


@pytest.mark.root
async def test_histories_of_somebody_else_are_no_read_only_disk(daemons, folder, peer):
    folder.chmod(0o777)
    state = folder / "state"
    (state / "history").mkdir(parents=True, mode=0o700)
    os.chown(state, BOB, BOB)
    daemon = await daemons(
        {"upstream": {"chat": {"url": peer.url, "keep": "always", "history": {"disk": True}}}},
        wrapper=as_user(BOB), environment={"STATE_DIRECTORY": state})
    link = await peer.session()
    await link.text('42["e",1]')
    status = await daemon.until(lambda status: status["connections"][0]["history"]["reason"], "the disk to be noticed")
    history = status["connections"][0]["history"]
    assert (history["disk"], history["reason"]) == ("failing", "folder")
    assert "Permission denied; give the folder and its files to user" in history["detail"]


@pytest.mark.root
async def test_a_state_folder_that_cannot_be_made_says_why(daemons, folder):
    folder.chmod(0o777)
    closed = folder / "closed"
    closed.mkdir(mode=0o755)
    daemon = await daemons(wrapper=as_user(BOB), environment={"STATE_DIRECTORY": closed / "state"})
    assert (await daemon.status())["daemon"]["outbox"]["detail"] == (
        f"cannot make the state folder {closed}/state: Permission denied; "
        "name another folder in $STATE_DIRECTORY or state.path")


async def test_without_a_state_folder_everything_else_works(daemons, peer, folder):
    (folder / "file").write_text("")
    daemon = await daemons(environment={"STATE_DIRECTORY": folder / "file"})
    client = await daemon.client()
    with pytest.raises(CallError, match="InternalError") as failure:
        await durable(client, url=peer.url)
    assert failure.value.data["reason"] == "folder"
    assert "durable" not in (await client.call("hello"))["features"]
    assert (await daemon.status())["daemon"]["outbox"]["state"] == "unavailable"
    await client.call("send", url=peer.url, event="live")
    link = await peer.session()
    await link.expect('42["live"]')
    assert "no outbox: durable sends fail" in daemon.text()


async def test_a_full_disk_fails_the_call_and_nothing_else(daemons, peer):
    await peer.refuse()
    daemon = await daemons()
    # A sanitizer needs larger files at the start.
    resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, (200_000, 200_000))
    client = await daemon.client()
    assert "durable" in (await client.call("hello"))["features"]
    kept = 0
    with pytest.raises(CallError, match="InternalError"):
        for kept in range(1_000):
            await durable(client, url=peer.url, event=f"e{kept}", args=["x" * 2_000])
    assert kept > 5
    assert (await daemon.status())["daemon"]["outbox"]["state"] == "failing"
    await client.call("send", url=peer.url, event="live")
    await peer.start()
    link = await peer.session()
    for number in range(kept):
        await link.expect(f'42["e{number}","{"x" * 2_000}"]')
    await link.expect('42["live"]')


def members(url, group):
    """Members of one group may send to `chat`."""
    return {
        "socket": {"mode": "0666"}, "upstream": {"chat": {"url": url}},
        "access": [{"group": group, "upstream": ["chat"], "allow": ["send", "status"]}]}


async def test_a_value_that_waited_for_a_right_does_not_come_back_after_a_newer_one(daemons, peer):
    await peer.refuse()
    daemon = await daemons(members(peer.url, OPS))
    first, second = await client_as(daemon, ALICE, OPS), await client_as(daemon, ALICE, STAFF)
    root = await daemon.client()
    await durable(first, upstream="chat", event="v", args=["old"], coalesce="k")
    daemon.configure(members(peer.url, STAFF))
    await root.call("reload")
    await durable(second, upstream="chat", event="v", args=["new"], coalesce="k")
    old, new = await entries(root)
    assert (old["state"], old["reason"], new["state"]) == ("dropped", "coalesced", "queued")
    await peer.start()
    link = await peer.session()
    await link.expect('42["v","new"]')
    daemon.configure(members(peer.url, OPS))
    await root.call("reload")
    await first.call("send", upstream="chat", event="mark")
    await link.expect('42["mark"]')


async def test_a_value_that_may_have_arrived_is_not_called_unsent(daemons, peer):
    daemon = await daemons(members(peer.url, OPS))
    first, second = await client_as(daemon, ALICE, OPS), await client_as(daemon, ALICE, STAFF)
    root = await daemon.client()
    await durable(first, upstream="chat", event="v", args=["old"], coalesce="k", retries=3)
    link = await peer.session()
    await link.expect('420["v","old"]')
    await peer.refuse()
    link.abort()
    await root.call("wait", upstream="chat", state="reconnecting", timeout=10_000)
    daemon.configure(members(peer.url, STAFF))
    await root.call("reload")
    await durable(second, upstream="chat", event="v", args=["new"], coalesce="k")
    old, new = await entries(root)
    assert (old["state"], old["reason"], new["state"]) == ("queued", "permission", "queued")


async def test_a_newer_value_needs_no_room_of_its_own_in_a_full_outbox(daemons, peer):
    await peer.refuse()
    daemon = await daemons({"outbox": {"entries": 2}})
    client = await daemon.client()
    await durable(client, url=peer.url, event="a")
    await durable(client, url=peer.url, event="v", args=["old"], coalesce="k")
    await durable(client, url=peer.url, event="v", args=["new"], coalesce="k")
    with pytest.raises(CallError, match="QueueFull"):
        await durable(client, url=peer.url, event="b")
    with pytest.raises(CallError, match="QueueFull"):
        await durable(client, url=peer.url, event="b", coalesce="other")
    await peer.start()
    link = await peer.session()
    await link.expect('42["a"]')
    await link.expect('42["v","new"]')


async def test_a_value_kept_at_a_stop_gives_way_to_a_newer_one(daemons, peer):
    await peer.refuse()
    daemon = await daemons({"upstream": {"chat": {"url": peer.url}}})
    client = await daemon.client()
    await client.call("send", upstream="chat", event="v", args=["old"], coalesce="k")
    await daemon.stop()
    await daemon.start()
    client = await daemon.client()
    assert [entry["event"] for entry in await entries(client)] == ["v"]
    await client.call("send", upstream="chat", event="v", args=["new"], coalesce="k")
    await client.call("send", upstream="chat", event="mark")
    await peer.start()
    link = await peer.session()
    await link.expect('42["v","new"]')
    await link.expect('42["mark"]')


async def test_a_damaged_file_is_set_aside(daemons, peer):
    daemon = await daemons(start=False)
    state = daemon.folder / "state"
    state.mkdir(mode=0o700)
    (state / "outbox.sqlite").write_bytes(b"garbage" * 1_000)
    await daemon.start()
    assert len(list(state.glob("outbox.sqlite.damaged-*"))) == 1
    assert "set a damaged outbox aside" in daemon.text()
    assert (await durable(await daemon.client(), url=DOWN))["state"] == "durable"


async def test_features_and_status(daemons):
    daemon = await daemons()
    client = await daemon.client()
    assert "durable" in (await client.call("hello"))["features"]
    await durable(client, url=DOWN)
    outbox = (await daemon.status())["daemon"]["outbox"]
    assert (outbox["state"], outbox["reason"], outbox["queued"]["count"]) == ("working", None, 1)


async def test_drain_takes_nothing_new_and_counts_what_is_left(daemons, ctl):
    daemon = await daemons()
    client = await daemon.client()
    await durable(client, url=DOWN)
    assert await client.call("drain", timeout=100) == {"left": 1}
    with pytest.raises(CallError, match="Draining"):
        await durable(client, url=DOWN)
    assert (await daemon.status())["daemon"]["state"] == "draining"
    outcome = await ctl(daemon, "--json", "drain", "--timeout", "100ms")
    assert (outcome.code, json.loads(outcome.out)) == (124, {"left": 1})


async def test_gatewayctl_shows_and_steers(daemons, ctl, peer):
    await peer.refuse()
    daemon = await daemons()
    outcome = await ctl(daemon, "send", "--delivery", "durable", peer.url, "e", "1")
    sent = json.loads(outcome.out)
    assert sent["state"] == "durable"
    outcome = await ctl(daemon, "outbox", "list")
    assert (outcome.code, json.loads(outcome.out)["id"]) == (0, sent["id"])
    assert (await ctl(daemon, "outbox", "cancel")).code == 64
    outcome = await ctl(daemon, "outbox", "cancel", sent["id"])
    assert (outcome.code, json.loads(outcome.out)) == (0, {"count": 1})
    outcome = await ctl(daemon, "outbox", "purge")
    assert json.loads(outcome.out) == {"count": 1}
    assert (await ctl(daemon, "outbox", "list")).out == ""


@pytest.mark.parametrize("verb", ["cancel", "retry", "purge"])
async def test_gatewayctl_says_that_nothing_was_done_for_an_id(daemons, ctl, verb):
    daemon = await daemons()
    client = await daemon.client()
    identity = (await durable(client, url=DOWN))["id"]
    outcome = await ctl(daemon, "outbox", verb, identity, "nosuchid", "nosuchid")
    assert (outcome.code, json.loads(outcome.out)) == (0, {"count": 1})
    assert outcome.err == (
        "gatewayctl: nothing was done for 1 id: it is none of your sends, or too late; 'gatewayctl outbox list' shows yours\n")
    outcome = await ctl(daemon, "outbox", verb, "a", "b")
    assert (outcome.code, json.loads(outcome.out)) == (0, {"count": 0})
    assert "for 2 ids: they are none of your sends" in outcome.err


async def test_gatewayctl_says_how_many_ids_are_none_of_the_list(daemons, ctl):
    daemon = await daemons()
    client = await daemon.client()
    identity = (await durable(client, url=DOWN))["id"]
    assert (await ctl(daemon, "outbox", "list", identity)).err == ""
    outcome = await ctl(daemon, "outbox", "list", identity, "nosuchid")
    assert (outcome.code, json.loads(outcome.out)["id"]) == (0, identity)
    assert outcome.err == "gatewayctl: 1 of the ids is none of your sends; 'gatewayctl outbox list' shows yours\n"
    # Those in another state are no mistake.
    assert (await ctl(daemon, "outbox", "list", identity, "--state", "sent")).err == ""


async def test_the_key_is_put_where_the_configuration_says(daemons, peer):
    client = await (await daemons({"defaults": {"key_member": "once"}})).client()
    for args in ([1, {"a": 1.50}], [{}], [2], [], [{"once": "mine"}]):
        await durable(client, url=peer.url, args=args, key=f"k{len(args)}{args}")
    link = await peer.session()
    await link.expect(
        '42["e",1, {"once":"k2[1, {\'a\': 1.5}]","a": 1.5}]', '42["e",{"once":"k1[{}]"}]',
        '42["e",2,{"once":"k1[2]"}]', '42["e",{"once":"k0[]"}]',
        '42["e",{"once": "mine"},{"once":"k1[{\'once\': \'mine\'}]"}]')


async def test_what_only_reached_our_own_buffer_is_not_sent(daemons, chat):
    daemon = await daemons()
    client = await daemon.client()
    await client.call("request", url=chat.url, event="echo")
    chat.pause()
    for number in range(100):
        await durable(client, url=chat.url, event="big", args=[number, "x" * 200_000], compress=False)
    # Nobody empties the kernel's buffers: they are full when nothing leaves any more.
    queued, before = [entry["id"] for entry in await entries(client, states=["queued"])], None
    while queued != before:
        await asyncio.sleep(QUIET)
        queued, before = [entry["id"] for entry in await entries(client, states=["queued"])], queued
    assert queued, "the kernel took 20 MB that nobody reads"
    await chat.restart()
    await settled(client, 100, "sent")
    received = await chat.received(len(queued), "big")
    numbers = [one["args"][0] for one in received]
    assert numbers == sorted(numbers) and numbers[-1] == 99


@pytest.mark.parametrize("how", ["reload", "order"])
async def test_what_a_closed_link_still_delivers_is_not_written_again(daemons, chat, how):
    def configuration(linger):
        return {"upstream": {"chat": {"url": chat.url, "keep": "always", "linger": linger}}}

    daemon = await daemons(configuration("5s"))
    client = await daemon.client()
    await client.call("wait", upstream="chat", state="connected", timeout=10_000)
    chat.pause()
    for number in range(16):
        await durable(client, upstream="chat", event="big", args=[number, "x" * 600_000], compress=False)
    # The kernel's buffers are full by now, and nobody empties them.
    await asyncio.sleep(0.1)
    assert await entries(client, states=["queued"]), "the kernel took 10 MB that nobody reads"
    if how == "reload":
        daemon.configure(configuration("6s"))
        await client.call("reload")
    else:
        await client.call("disconnect", upstream="chat")
        await client.call("reconnect", upstream="chat")
    chat.resume()
    await settled(client, 16, "sent")
    # What the new link has written twice is there before this one.
    await durable(client, upstream="chat", event="big", args=[16])
    received = await chat.received(17, "big")
    assert sorted(one["args"][0] for one in received) == [*range(17)]


async def test_a_flood_has_a_pace_after_a_reconnect(daemons, peer):
    await peer.refuse()
    daemon = await daemons({"defaults": {"flush": 100}})
    client = await daemon.client()
    for number in range(100):
        await client.call("send", url=peer.url, event="e", args=[number])
    await peer.start()
    link = await peer.session()
    started = asyncio.get_running_loop().time()
    await link.expect(*[f'42["e",{number}]' for number in range(100)])
    # A second in all, of which some may be over when this has begun to read.
    assert asyncio.get_running_loop().time() - started > 0.2


async def test_a_link_of_its_own_is_that_after_a_restart_too(daemons, chat):
    await chat.stop()
    daemon = await daemons({"upstream": {
        "main": {"url": chat.url, "force_new": True}, "other": {"url": chat.url + "/chat", "force_new": True}}})
    client = await daemon.client()
    for name in ("main", "other"):
        await durable(client, upstream=name, event=name)
    await daemon.crash()
    await chat.start()
    await daemon.start()
    await settled(await daemon.client(), 2, "sent")
    first, second = (await daemon.status())["connections"]
    assert first["link"] != second["link"]


async def test_what_waits_for_another_parser_is_refused_with_that_reason(daemons, servers):
    server = await servers("eio4", "--serializer", "msgpack")
    await server.stop()
    daemon = await daemons({"upstream": {"chat": {"url": server.url}}})
    await durable(await daemon.client(), upstream="chat", event="old", args=[1])
    await daemon.crash()
    daemon.configure({"upstream": {"chat": {"url": server.url, "parser": "msgpack"}}})
    await server.start()
    await daemon.start()
    (entry,) = await settled(await daemon.client(), 1, "refused")
    assert (entry["event"], entry["reason"]) == ("old", "parser_changed")


async def test_the_outbox_alone_is_its_list(daemons, closed_port, ctl):
    daemon = await daemons()
    assert (await ctl(daemon, "send", "--delivery", "durable", f"http://127.0.0.1:{closed_port}", "measure")).code == 0
    (line,) = (await ctl(daemon, "outbox")).out.splitlines()
    assert json.loads(line)["event"] == "measure"
