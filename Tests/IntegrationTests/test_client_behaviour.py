"""What users of a Socket.IO client rely on and no other file shows, seen from the server's end of the link."""

import asyncio
from urllib.parse import parse_qs

import pytest

from patience import QUIET
from scripted import Closed

AT_ONCE = {"defaults": {"linger": "0s", "retain": "1h"}}


async def frames_until_closed(link):
    """What the daemon writes until it ends the link."""
    packets = []
    while True:
        try:
            packets.append(await link.receive())
        except Closed:
            return packets


# Connecting and sharing


async def test_an_ordinary_connection_needs_one_attempt(daemons, server):
    daemon = await daemons()
    client = await daemon.client()
    await client.call("subscribe", url=server.url, state=True)
    assert (await client.state())["state"] == "connected"
    await client.silence()
    assert (await server.counters())["links_ever"] <= 2  # a server of the old line refuses the newer revision first
    assert len(await server.joined()) == 1 and (await daemon.connection())["reconnects"] == 0


async def test_each_namespace_is_entered_and_left_once_however_many_want_it(daemons, peer):
    daemon = await daemons(AT_ONCE)
    clients = [await daemon.client() for _ in range(3)]
    for client in clients:
        await client.call("subscribe", url=peer.url, subscription="main")
        await client.call("subscribe", url=peer.url + "/foo", subscription="foo")
    link = await peer.link()
    await link.upgrade()
    await link.open()
    await link.expect("40", "40/foo,")
    await link.text('40{"sid":"a"}', '40/foo,{"sid":"b"}')
    await clients[0].call("wait", url=peer.url + "/foo", state="connected", timeout=5000)
    for name in ("main", "foo"):
        for client in clients:
            await client.call("unsubscribe", subscription=name)
    assert await frames_until_closed(link) == ["41", "41/foo,"]
    assert len(peer.all) == 1


async def test_another_namespace_opens_the_link_again_after_the_last_one_left(daemons, chat):
    daemon = await daemons(AT_ONCE)
    client = await daemon.client()
    await client.call("request", url=chat.url, event="echo")
    await chat.links(0)
    assert (await client.call("request", url=chat.url + "/chat", event="echo", args=[1]))["args"] == [1]
    assert (await chat.counters())["links_ever"] == 2


async def test_a_namespace_is_joined_while_another_one_is_left(daemons, chat):
    daemon = await daemons(AT_ONCE)
    client = await daemon.client()
    await client.call("subscribe", url=chat.url, subscription="main")
    await chat.present(1)
    leaving = client.post("unsubscribe", subscription="main")
    joining = client.post("request", url=chat.url + "/chat", event="echo", args=[1])
    await client.result(leaving)
    assert (await client.result(joining))["args"] == [1]
    await chat.present(0)


async def test_a_closed_connection_that_is_wanted_again_is_the_same_one(daemons, chat):
    daemon = await daemons(AT_ONCE)
    client = await daemon.client()
    await client.call("request", url=chat.url, event="echo")
    await chat.links(0)
    before = await daemon.connection()
    await client.call("subscribe", url=chat.url, state=True)
    await client.state_until("connected")
    after = await daemon.connection()
    assert before["state"] == "disconnected" and after["connection"] == before["connection"]
    assert after["link"] != before["link"] and after["seq"] >= before["seq"]


# Order


async def test_what_waited_leaves_before_what_is_sent_on_connecting(daemons, peer):
    client = await (await daemons()).client()
    await client.call("subscribe", url=peer.url, state=True)
    early = client.post("request", url=peer.url, event="early")
    link = await peer.session()
    await client.state_until("connected")
    late = client.post("request", url=peer.url, event="late")
    await link.expect('420["early"]', '421["late"]')
    await link.text("430[1]", "431[2]")
    assert [(await client.result(one))["args"] for one in (early, late)] == [[1], [2]]
    await client.call("send", url=peer.url, event="marker")
    await link.expect('42["marker"]')


# Time


async def test_a_request_whose_time_is_short_fails_once_and_a_late_answer_is_ignored(daemons, peer):
    client = await (await daemons()).client()
    waiting = client.post("wait", url=peer.url, state="connected", timeout=5000)
    link = await peer.session()
    await client.result(waiting)
    pending = client.post("request", url=peer.url, event="e", timeout=200)
    await link.expect('420["e"]')
    await client.failure(pending, "AckTimeout")
    await link.text("430[1]")
    await client.silence()
    assert client.strays == []


async def test_an_acknowledged_send_without_a_time_limit_ends_with_its_link(daemons, peer):
    client = await (await daemons()).client()
    await client.call("subscribe", url=peer.url)
    pending = client.post("send", url=peer.url, event="e", delivery="acked")
    link = await peer.session()
    await link.expect('420["e"]')
    link.abort()
    await client.failure(pending, "AckLost")
    await (await peer.session()).text("430[1]")
    await client.gap()
    await client.silence()
    assert client.strays == []


# Identity


async def test_each_namespace_has_the_id_that_its_server_gave_it(daemons, chat):
    daemon = await daemons()
    client = await daemon.client()
    for path in ("", "/chat"):
        await client.call("request", url=chat.url + path, event="echo")
    given = {one["namespace"]: one["sid"] for one in await chat.joined(2)}
    shown = {one["namespace"]: one["sid"] for one in (await daemon.status())["connections"]}
    assert shown == given and len(set(given.values())) == 2


async def test_the_id_is_gone_while_the_link_is_down_and_new_afterwards(daemons, peer):
    daemon = await daemons()
    client = await daemon.client()
    await client.call("subscribe", url=peer.url, state=True)
    link = await peer.link()
    await link.upgrade()
    await link.open(sid="engine")
    await link.accept(sid="first")
    await client.state_until("connected")
    assert (await daemon.connection())["sid"] == "first"
    link.abort()
    await client.state_until("reconnecting")
    assert (await daemon.connection())["sid"] is None
    link = await peer.link()
    await link.upgrade()
    await link.open(sid="engine")
    assert (await daemon.connection())["sid"] is None
    await link.accept(sid="second")
    await client.state_until("connected")
    assert (await daemon.connection())["sid"] == "second"


@pytest.mark.parametrize("path", ["", "/chat"])
async def test_reserved_characters_of_a_query_arrive_as_they_were_meant(daemons, server, path):
    daemon = await daemons({"upstream": {"chat": {"url": server.url + path + "?room=a%20b", "query": {"&a": "&=?a"}}}})
    client = await daemon.client()
    await client.call("request", upstream="chat", event="echo")
    for joined in await server.joined():
        query = parse_qs(joined["query"])
        assert (query["&a"], query["room"]) == (["&=?a"], ["a b"])


@pytest.mark.parametrize("namespace", ["/ünï", "/with?mark", "/a/b", "/%41", "/'\"\\"])
async def test_a_namespace_may_hold_nearly_any_character(daemons, peer, namespace):
    client = await (await daemons()).client()
    await client.call("subscribe", url=peer.url, namespace=namespace)
    link = await peer.link()
    await link.upgrade()
    await link.open()
    await link.expect(f"40{namespace},")
    await link.text(f'40{namespace},{{"sid":"s"}}', f'42{namespace},["e"]')
    assert (await client.event())["event"] == "e"


# By hand


async def test_a_disconnect_and_a_reconnect_at_once_make_one_loss(daemons, chat):
    daemon = await daemons()
    client = await daemon.connected(url=chat.url)
    await client.call("subscribe", url=chat.url, state=True)
    both = [client.post("disconnect", url=chat.url), client.post("reconnect", url=chat.url)]
    assert [(await client.result(one))["state"] for one in both] == ["disconnected", "reconnecting"]
    states = [one["state"] for one in await client.state_until("connected")]
    assert states == ["disconnected", "reconnecting", "connected"]
    await chat.present(1)


async def test_after_a_reconnect_by_hand_the_automatic_one_still_works(daemons, chat):
    daemon = await daemons()
    client = await daemon.connected(url=chat.url)
    await client.call("subscribe", url=chat.url, state=True)
    await client.call("disconnect", url=chat.url)
    await client.call("reconnect", url=chat.url)
    await client.state_until("connected")
    await chat.present(1)
    await chat.cut()
    assert (await client.state_until("disconnected"))[-1]["reason"] == "closed"
    await client.state_until("connected")


@pytest.mark.parametrize("stage", ["tcp", "upgrade", "open"])
async def test_a_disconnect_during_an_attempt_ends_it_and_no_other_follows(daemons, peer, stage):
    daemon = await daemons()
    client = await daemon.client()
    await client.call("subscribe", url=peer.url, state=True)
    (await peer.session()).abort()
    await client.state_until("reconnecting")
    link = await peer.link()
    if stage != "tcp":
        await link.upgrade()
    if stage == "open":
        await link.open()
        await link.expect("40")
    await client.call("disconnect", url=peer.url)
    assert (await client.state_until("disconnected"))[-1]["reason"] == "requested"
    await asyncio.sleep(QUIET)
    assert len(peer.all) == 2
    await client.call("reconnect", url=peer.url)
    await peer.session()
    await client.state_until("connected")


async def test_a_disconnect_between_attempts_ends_them_until_reconnect(daemons, peer):
    await peer.refuse()
    daemon = await daemons()
    client = await daemon.client()
    await client.call("subscribe", url=peer.url, state=True)
    await client.state_until("disconnected")
    await client.call("disconnect", url=peer.url)
    await daemon.until(lambda s: s["connections"][0]["reason"] == "requested", "the hold")
    await peer.start()
    await asyncio.sleep(2 * QUIET)
    assert peer.all == []
    await client.call("reconnect", url=peer.url)
    await peer.session()
    await client.state_until("connected")


async def test_a_namespace_closed_by_hand_while_all_are_down_stays_closed_and_the_other_comes_back(daemons, chat):
    daemon = await daemons()
    client = await daemon.client()
    for path in ("", "/chat"):
        await client.call("request", url=chat.url + path, event="echo")
        await client.call("subscribe", url=chat.url + path)
    await chat.stop()
    await daemon.until(lambda s: all(one["state"] != "connected" for one in s["connections"]), "the loss")
    await client.call("disconnect", url=chat.url + "/chat")
    await chat.start()
    await chat.present(1)
    await asyncio.sleep(QUIET)
    assert [one["namespace"] for one in await chat.joined()] == ["/"]


async def test_namespaces_that_come_back_together_share_one_link(daemons, chat):
    daemon = await daemons()
    client = await daemon.client()
    paths = ("", "/chat", "/admin")
    for path in paths:
        await client.call("request", url=chat.url + path, event="echo")
        await client.call("subscribe", url=chat.url + path)
    await chat.cut()
    for path in paths:
        await client.gap()
    for path in paths:
        await client.call("request", url=chat.url + path, event="echo")
    assert (await chat.counters())["links"] == 1


@pytest.mark.parametrize("silent", [False, True], ids=["wrong port", "too slow"])
async def test_so_many_attempts_are_followed_by_a_rest(daemons, peer, silent):
    made = 0

    async def never_answer(link):
        nonlocal made
        made += 1
        await link.reader.read()

    peer.script = never_answer
    if not silent:
        await peer.refuse()
    daemon = await daemons({"defaults": {"handshake": "100ms", "reconnect": {
        "base": "10ms", "cap": "20ms", "attempts": 2, "rest": "1h"}}})
    client = await daemon.client()
    await client.call("subscribe", url=peer.url, state=True)
    for _ in range(2):
        for _ in range(2):
            state = (await client.state_until("disconnected"))[-1]
        assert state["reason"] == ("timeout" if silent else "unreachable") and state["in"] > 1_800_000
        await asyncio.sleep(QUIET)
        await client.silence(0)
        await client.call("reconnect", url=peer.url)
    assert made in ((4, 5) if silent else (0,))
