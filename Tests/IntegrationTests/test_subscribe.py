"""Subscriptions: what they select, what they tell, and how they end."""

import pytest

from local_client import STATES

NEXT = {
    "created": {"connected", "disconnected"}, "connected": {"disconnected"},
    "disconnected": {"reconnecting", "released"}, "reconnecting": {"connected", "disconnected"}, "released": set(),
}


def check_transitions(states):
    """Every state follows from the one before: a skipped transition would show as an impossible step."""
    assert set(states) <= STATES
    for before, after in zip(states, states[1:]):
        assert after in NEXT[before], states


async def test_the_reply_is_a_snapshot(daemons, chat):
    daemon = await daemons()
    client = await daemon.connected(url=chat.url)
    await client.call("subscribe", url=chat.url)
    await chat.burst("tick", 3)
    await client.events(3)
    snapshot = await client.call("subscribe", url=chat.url)
    connection = await daemon.connection()
    assert snapshot["state"] == "connected" and snapshot["recovered"] is True
    assert {key: snapshot[key] for key in ("connection", "epoch", "seq")} == {
        key: connection[key] for key in ("connection", "epoch", "seq")}
    await chat.emit("next")
    assert (await client.event(snapshot["subscription"]))["seq"] == snapshot["seq"] + 1


async def test_names_that_look_alike_are_different_names(daemons, chat):
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    daemon = await daemons()
    client = await daemon.connected(url=chat.url)
    one = (await client.call("subscribe", url=chat.url, events=[composed]))["subscription"]
    other = (await client.call("subscribe", url=chat.url, events=[decomposed]))["subscription"]
    for name in (composed, decomposed, composed):
        await chat.emit(name)
    seen = [(event["subscription"], event["event"]) for event in await client.events(3)]
    assert seen == [(one, composed), (other, decomposed), (one, composed)]


async def test_the_reply_precedes_the_first_notification(daemons, chat):
    daemon = await daemons()
    await (await daemon.connected(url=chat.url)).call("subscribe", url=chat.url)
    burst = chat.control("burst", event="tick", count=300, namespace="/", padding=0)
    clients = [await daemon.client() for _ in range(20)]
    for client in clients:
        client.post("subscribe", url=chat.url, state=True)
    await burst
    await chat.emit("end")
    for client in clients:
        while (await client.note("event"))[1]["event"] != "end":
            pass
        assert b'"result"' in client.lines[0]


@pytest.mark.parametrize("events, selected", [
    (None, ["chat", "chat.new", "chit", "*", "x\\y"]), (["chat"], ["chat"]), (["chat", "chit"], ["chat", "chit"]),
    (["ch*"], ["chat", "chat.new", "chit"]), (["ch?t"], ["chat", "chit"]), (["*.new"], ["chat.new"]),
    (["\\*"], ["*"]), (["*"], ["chat", "chat.new", "chit", "*", "x\\y"]), (["x\\\\y"], ["x\\y"]), (["CHAT"], []),
    (["chat", "ch*"], ["chat", "chat.new", "chit"])])
async def test_names_and_globs_select_events(daemons, peer, events, selected):
    client = await (await daemons()).client()
    await client.call("subscribe", {"url": peer.url, **({"events": events} if events else {})})
    await client.call("subscribe", url=peer.url, events=["end"], subscription="end")
    link = await peer.session()
    await link.text('42["chat"]', '42["chat.new"]', '42["chit"]', '42["*"]', '42["x\\\\y"]', '42["end"]')
    await client.event("end")
    assert [params["event"] for _, params in client.notes if params["event"] != "end"] == selected


async def test_two_subscriptions_of_one_client_each_get_their_copy(daemons, chat):
    daemon = await daemons()
    client = await daemon.connected(url=chat.url)
    ids = [(await client.call("subscribe", url=chat.url))["subscription"] for _ in range(2)]
    assert len(set(ids)) == 2
    await chat.emit("said", 1)
    first, second = [await client.event(one) for one in ids]
    assert first["seq"] == second["seq"] and first["args"] == second["args"] == [1]
    await client.silence()


async def test_an_own_id_given_again_replaces_the_subscription(daemons, chat):
    daemon = await daemons()
    client = await daemon.connected(url=chat.url)
    for events in (["a"], ["b"], ["b"]):
        reply = await client.call("subscribe", url=chat.url, subscription="mine", events=events)
        assert reply["subscription"] == "mine"
    for name in ("a", "b"):
        await chat.emit(name)
    assert (await client.event())["event"] == "b"
    await client.silence()
    assert (await daemon.connection())["subscriptions"] == 1


async def test_an_own_id_can_move_to_another_upstream(daemons, servers):
    one, two = await servers(), await servers()
    daemon = await daemons()
    client = await daemon.client()
    for server in (one, two):
        await client.call("subscribe", url=server.url, subscription="mine")
        await server.present(1)
    await one.emit("from", 1)
    await two.emit("from", 2)
    assert (await client.event())["args"] == [2]
    await client.silence()


async def test_own_ids_of_two_clients_do_not_clash(daemons, chat):
    daemon = await daemons()
    clients = [await daemon.client(), await daemon.client()]
    for client in clients:
        await client.call("subscribe", url=chat.url, subscription="mine")
    await chat.present(1)
    await chat.emit("said")
    for client in clients:
        await client.event("mine")


async def test_nothing_comes_after_unsubscribe(daemons, chat):
    daemon = await daemons()
    client, other = await daemon.connected(url=chat.url), await daemon.client()
    identity = (await client.call("subscribe", url=chat.url))["subscription"]
    await other.call("subscribe", url=chat.url)
    assert await client.call("unsubscribe", subscription=identity) == {}
    await chat.emit("said")
    await other.event()
    await client.silence()


async def test_an_unknown_subscription_cannot_be_ended_or_credited(daemons, chat):
    daemon = await daemons()
    client, other = await daemon.client(), await daemon.client()
    await other.call("subscribe", url=chat.url, subscription="theirs")
    for method, more in (("unsubscribe", {}), ("credit", {"n": 1})):
        error = await client.fails("InvalidParams", method, subscription="theirs", **more)
        assert "theirs" in error.message or "subscription" in error.message


async def test_each_transition_is_told_and_none_is_merged(daemons, peer):
    client = await (await daemons()).client()
    states = [(await client.call("subscribe", url=peer.url, state=True))["state"]]
    for _ in range(6):
        link = await peer.session()
        states += [one["state"] for one in await client.state_until("connected")]
        link.abort()
        states += [one["state"] for one in await client.state_until("disconnected")]
    check_transitions(states)
    assert states.count("connected") == 6


async def test_without_state_no_transition_is_told(daemons, chat):
    daemon = await daemons()
    client = await daemon.connected(url=chat.url)
    await client.call("subscribe", url=chat.url)
    await chat.cut()
    await client.gap()
    await client.call("wait", url=chat.url, state="connected", timeout=5000)
    await client.silence()


async def test_a_failed_attempt_names_its_number_its_reason_and_the_next(daemons, peer):
    await peer.refuse()
    daemon = await daemons({"defaults": {"reconnect": {"base": "10s", "cap": "10s"}}})
    client = await daemon.client()
    assert (await client.call("subscribe", url=peer.url, state=True))["state"] in ("created", "disconnected")
    state = (await client.state_until("disconnected"))[-1]
    assert state["reason"] == "unreachable" and "refused" in state["detail"]
    assert state["attempt"] >= 1 and 0 <= state["in"] <= 10_000
    connection = await daemon.connection()
    assert (connection["state"], connection["reason"]) == ("disconnected", "unreachable")
    assert connection["attempt"] == state["attempt"] and connection["rule"]


async def test_attempts_are_counted_and_their_delays_grow_up_to_the_cap(daemons, peer):
    await peer.refuse()
    daemon = await daemons({"defaults": {"reconnect": {"base": "20ms", "cap": "60ms"}}})
    client = await daemon.client()
    await client.call("subscribe", url=peer.url, state=True)
    waits = [(await client.state_until("disconnected"))[-1] for _ in range(8)]
    numbers = [one["attempt"] for one in waits]
    assert numbers == list(range(numbers[0], numbers[0] + 8))
    assert all(0 <= one["in"] <= 60 for one in waits)


async def test_events_that_come_before_the_namespace_is_accepted_are_delivered_after_it(daemons, peer):
    client = await (await daemons()).client()
    await client.call("subscribe", url=peer.url, state=True)
    link = await peer.link()
    await link.upgrade()
    await link.open()
    await link.expect("40")
    await link.text('42["welcome",1]', '42["welcome",2]', '40{"sid":"s"}', '42["welcome",3]')
    assert (await client.note())[1]["state"] == "connected"
    assert [event["args"] for event in await client.events(3)] == [[1], [2], [3]]


async def test_credit_limits_deliveries_until_more_is_given(daemons, chat):
    daemon = await daemons()
    client = await daemon.connected(url=chat.url)
    await client.call("subscribe", url=chat.url, subscription="s", credit=2)
    await chat.burst("tick", 6)
    assert [event["args"] for event in await client.events(2)] == [[0], [1]]
    await client.silence()
    assert isinstance((await client.call("credit", subscription="s", n=3))["credit"], int)
    assert [event["args"] for event in await client.events(3)] == [[2], [3], [4]]
    await client.silence()
    await client.call("credit", subscription="s", n=10)
    assert (await client.event())["args"] == [5]
    await chat.burst("tick", 9)
    await client.events(9)
    await chat.burst("tick", 1)
    await client.silence()


async def test_credit_of_one_subscription_does_not_hold_up_another(daemons, chat):
    daemon = await daemons()
    client = await daemon.connected(url=chat.url)
    await client.call("subscribe", url=chat.url, subscription="slow", credit=1)
    await client.call("subscribe", url=chat.url, subscription="free")
    await chat.burst("tick", 5)
    assert len(await client.events(5, "free")) == 5
    await client.event("slow")
    await client.silence()


async def test_no_more_subscriptions_than_the_limit(daemons, chat):
    daemon = await daemons({"limits": {"subscriptions": 3}})
    client = await daemon.client()
    for _ in range(3):
        await client.call("subscribe", url=chat.url)
    error = await client.fails("QuotaExceeded", "subscribe", url=chat.url)
    assert error.data["quota"]
    other = await daemon.client()
    await other.call("subscribe", url=chat.url)


async def test_resuming_where_nothing_was_missed_is_recovered(daemons, chat):
    daemon = await daemons()
    client = await daemon.connected(url=chat.url)
    snapshot = await client.call("subscribe", url=chat.url)
    await chat.emit("said", 1)
    event = await client.event()
    resumed = await client.call("subscribe", url=chat.url, since={"epoch": snapshot["epoch"], "seq": event["seq"]})
    assert resumed["recovered"] is True
    await client.silence()


@pytest.mark.parametrize("epoch", [None, "another"])
async def test_resuming_where_events_are_not_kept_is_a_gap_unless_strict(daemons, chat, epoch):
    daemon = await daemons({"defaults": {"history": {"events": 0}}})
    client = await daemon.connected(url=chat.url)
    snapshot = await client.call("subscribe", url=chat.url)
    await chat.burst("tick", 3)
    await client.events(3)
    since = {"epoch": epoch or snapshot["epoch"], "seq": snapshot["seq"]}
    resumed = await client.call("subscribe", url=chat.url, since=since, subscription="again")
    assert resumed["recovered"] is False
    gap = await client.gap("again")
    assert gap["epoch"] == snapshot["epoch"]
    if epoch is None:
        assert (gap["reason"], gap["from"], gap["to"]) == ("expired", snapshot["seq"] + 1, snapshot["seq"] + 3)
    error = await client.fails("Unrecoverable", "subscribe", url=chat.url, since=since, strict=True)
    assert error.data["epoch"] == snapshot["epoch"] and "oldest" in error.data


async def test_a_subscription_ends_with_its_client(daemons, chat):
    daemon = await daemons({"defaults": {"linger": "100ms"}})
    client = await daemon.connected(url=chat.url)
    await client.call("subscribe", url=chat.url)
    await client.close()
    await chat.links(0)
