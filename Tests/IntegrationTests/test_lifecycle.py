"""The life of a connection: who keeps it, who ends it, and how it comes back."""

import asyncio

import pytest

from patience import QUIET

SHORT = {"linger": "150ms", "retain": "150ms"}


def state_of(status):
    return [one["state"] for one in status["connections"]]


async def test_an_unused_connection_lingers_closes_and_is_forgotten(daemons, chat):
    daemon = await daemons({"defaults": {**SHORT, "linger": "1s"}})
    client = await daemon.connected(url=chat.url)
    watch = await daemon.client()
    identity = (await client.call("subscribe", url=chat.url))["subscription"]
    await asyncio.sleep(QUIET)
    await client.call("unsubscribe", subscription=identity)
    assert state_of(await daemon.status()) == ["connected"]
    await chat.links(0)
    status = await daemon.until(lambda s: state_of(s) != ["connected"], "the close")
    if status["connections"]:
        assert (status["connections"][0]["state"], status["connections"][0]["reason"]) == ("disconnected", "idle")
    await daemon.until(lambda s: s["connections"] == [], "the release")
    assert await watch.call("ping") == {}
    assert (await client.call("request", url=chat.url, event="echo", args=[1]))["args"] == [1]


async def test_a_use_within_the_linger_keeps_the_link(daemons, chat):
    daemon = await daemons({"defaults": {"linger": "10s"}})
    for _ in range(3):
        client = await daemon.client()
        await client.call("request", url=chat.url, event="echo")
        await client.close()
    assert (await chat.counters())["links_ever"] == 1


async def test_a_waiting_request_keeps_the_connection(daemons, chat):
    daemon = await daemons({"defaults": SHORT})
    client = await daemon.client()
    pending = client.post("request", url=chat.url, event="hold", args=["door"], timeout=9000)
    assert await chat.control("held", name="door", timeout=5)
    await asyncio.sleep(3 * QUIET)
    await chat.control("release", name="door", value=1)
    assert (await client.result(pending))["args"] == [1]


async def test_a_queued_send_keeps_the_connection_trying(daemons, peer):
    daemon = await daemons({"defaults": SHORT})
    await peer.refuse()
    client = await daemon.client()
    await client.call("send", url=peer.url, event="e")
    await client.close()
    await asyncio.sleep(3 * QUIET)
    await peer.start()
    await (await peer.session()).expect('42["e"]')


async def test_the_last_namespace_closes_the_link_and_says_goodbye(daemons, peer):
    daemon = await daemons({"defaults": SHORT})
    client = await daemon.client()
    await client.call("subscribe", url=peer.url, subscription="root")
    link = await peer.session()
    await client.call("subscribe", url=peer.url + "/chat", subscription="chat")
    await link.accept(namespace="/chat")
    await client.call("unsubscribe", subscription="chat")
    await link.expect("41/chat,")
    await client.call("unsubscribe", subscription="root")
    await link.expect("41")
    assert await link.until_closed() == 1000


async def test_keep_always_connects_without_any_program(daemons, chat):
    await daemons({"defaults": SHORT, "upstream": {"chat": {"url": chat.url, "keep": "always"}}})
    await chat.present(1)
    await asyncio.sleep(3 * QUIET)
    await chat.present(1)
    await chat.cut()
    await chat.joined(2)
    await chat.present(1)


async def test_on_demand_connects_only_for_a_program(daemons, chat):
    daemon = await daemons({"upstream": {"chat": {"url": chat.url}}})
    await asyncio.sleep(QUIET)
    assert (await chat.counters())["links_ever"] == 0
    await (await daemon.client()).call("subscribe", upstream="chat")
    await chat.present(1)


async def test_wait_holds_a_lease_and_answers_when_the_state_is_reached(daemons, peer):
    client = await (await daemons()).client()
    waiting = client.post("wait", url=peer.url, state="connected", timeout=9000)
    link = await peer.session()
    assert await client.result(waiting) == {"state": "connected"}
    assert await client.call("wait", url=peer.url, state="connected", timeout=10) == {"state": "connected"}
    down = client.post("wait", url=peer.url, state="disconnected", timeout=9000)
    link.abort()
    assert await client.result(down) == {"state": "disconnected"}


async def test_a_wait_in_vain_expires(daemons, peer):
    client = await (await daemons()).client()
    await client.fails("Expired", "wait", url=peer.url, state="connected", timeout=100)


async def test_a_kicked_connection_says_so_and_comes_back(daemons, server):
    daemon = await daemons()
    client = await daemon.connected(url=server.url)
    await client.call("subscribe", url=server.url, state=True)
    await server.kick()
    assert (await client.state())["reason"] == "kicked"
    await client.state_until("connected")
    await server.joined(2)
    await server.present(1)
    await server.emit("said", "again")
    assert (await client.event())["args"] == ["again"]


async def test_a_kicked_namespace_leaves_the_others_alone(daemons, server):
    daemon = await daemons()
    client = await daemon.connected(url=server.url)
    await client.call("subscribe", url=server.url, state=True, subscription="root")
    await client.call("subscribe", url=server.url + "/chat", state=True, subscription="chat")
    await server.present(1, "/chat")
    await server.kick("/chat")
    states = await client.state_until("disconnected", "chat")
    assert states[-1]["reason"] == "kicked"
    await client.state_until("connected", "chat")
    assert (await server.counters())["links"] == 1
    await client.call("ping")
    assert all(params.get("subscription") != "root" for _, params in client.notes)


async def test_a_kicked_connection_may_be_told_to_stay_down(daemons, chat):
    daemon = await daemons({"defaults": {"reconnect_after_kick": False}})
    client = await daemon.connected(url=chat.url)
    await client.call("subscribe", url=chat.url, state=True)
    await chat.kick()
    assert (await client.state())["reason"] == "kicked"
    await asyncio.sleep(2 * QUIET)
    assert len(await chat.joined()) == 1


async def test_a_refused_connection_is_not_hammered(daemons, server):
    daemon = await daemons()
    client = await daemon.client()
    await client.call("subscribe", url=server.url + "/refused", state=True)
    state = (await client.state_until("disconnected"))[-1]
    assert state["reason"] == "refused" and "this room is closed" in state["detail"]
    await asyncio.sleep(3 * QUIET)
    assert [one["namespace"] for one in await server.joined()].count("/refused") == 1
    connection = await daemon.connection()
    assert (connection["state"], connection["reason"]) == ("disconnected", "refused")
    assert "this room is closed" in connection["detail"]


async def test_a_request_to_a_refused_connection_triggers_one_attempt(daemons, server):
    daemon = await daemons()
    client = await daemon.client()
    for number in range(1, 4):
        await client.fails("UpstreamRefused", "request", url=server.url + "/refused", event="e", seconds=5)
        joined = [one["namespace"] for one in await server.joined()]
        assert joined.count("/refused") == number


async def test_a_refusal_without_words_costs_others_nothing(daemons, server):
    daemon = await daemons()
    client = await daemon.connected(url=server.url)
    await client.call("subscribe", url=server.url, state=True)
    other = await daemon.client()
    await other.fails("UpstreamRefused", "request", url=server.url + "/wordless", event="e", seconds=5)
    assert (await client.call("request", url=server.url, event="echo", args=[1]))["args"] == [1]
    assert client.notes == []
    connections = await daemon.status()
    assert {c["namespace"]: c["reason"] for c in connections["connections"]}["/wordless"] == "refused"


@pytest.mark.parametrize("words", ["", ",", ",404", ",null", ",true", ',{"message":1}'])
async def test_whatever_a_refusal_says_it_concerns_one_namespace(daemons, peer, words):
    daemon = await daemons()
    client = await daemon.client()
    await client.call("subscribe", url=peer.url, state=True)
    link = await peer.link()
    await link.upgrade()
    # As a server of Engine.IO 3.
    await link.text('0{"sid":"x","upgrades":[],"pingInterval":25000,"pingTimeout":20000}', "40")
    await client.state_until("connected")
    request = client.post("request", url=peer.url + "/undef", event="e")
    await link.expect("40/undef,")
    await link.text("44/undef" + words)
    await client.failure(request, "UpstreamRefused")
    await link.text('42["still"]')
    assert (await client.event())["event"] == "still"
    assert [note for note in client.notes if note[0] != "event"] == []


@pytest.mark.parametrize("name", ["connect", "disconnect", "connect_error"])
async def test_an_event_with_a_reserved_name_costs_no_link(daemons, server, name):
    daemon = await daemons()
    chat = server.url + "/chat"
    client = await daemon.connected(url=server.url)
    await daemon.connected(url=chat)
    await client.call("subscribe", url=server.url, subscription="main")
    await client.call("subscribe", url=chat, subscription="all")
    await client.call("subscribe", url=chat, subscription="said", events=["said"])
    await server.present(1)
    await server.present(1, "/chat")
    await server.emit(name, 1, namespace="/chat")
    await server.emit("said", 2, namespace="/chat")
    await server.emit("said", 3)
    method, gap = await client.note(subscription="all")
    assert (method, gap["reason"], gap["count"]) == ("gap", "undecodable", 1)
    assert gap["detail"] == "the server sent an event with a reserved name"
    assert (await client.event("all"))["args"] == [2] == (await client.event("said"))["args"]
    assert (await client.event("main"))["args"] == [3]
    # Those who did not want it have missed nothing.
    assert client.notes == []
    assert [one["reconnects"] for one in (await daemon.status())["connections"]] == [0, 0]


async def test_a_queued_send_outlives_a_refusal(daemons, peer):
    daemon = await daemons({"defaults": {"reconnect": {
        "base": "50ms", "cap": "100ms", "refused_base": "50ms", "refused_cap": "100ms"}}})
    client = await daemon.client()
    await client.call("send", url=peer.url, event="patient")
    for _ in range(2):
        link = await peer.link()
        await link.upgrade()
        await link.open()
        await link.expect("40")
        await link.text('44{"message":"not yet"}')
    await (await peer.session()).expect('42["patient"]')


async def test_a_refused_namespace_leaves_the_others_on_the_link_alone(daemons, server):
    daemon = await daemons()
    client = await daemon.connected(url=server.url)
    await client.fails("UpstreamRefused", "request", url=server.url + "/refused", event="e")
    assert (await client.call("request", url=server.url, event="echo", args=[1]))["args"] == [1]
    assert (await server.counters())["links"] == 1


async def test_the_right_token_is_accepted_and_a_wrong_one_is_not(daemons, chat):
    client = await (await daemons()).client()
    url = chat.url + "/auth"
    error = await client.fails("UpstreamRefused", "request", url=url, auth={"token": "bad"}, event="e")
    assert "auth required" in str(error) and "401" in str(error)
    result = await client.call("request", url=url, auth={"token": "let-me-in"}, event="echo", args=[1])
    assert result["args"] == [1]


async def test_disconnect_holds_until_reconnect(daemons, chat):
    daemon = await daemons()
    client = await daemon.connected(url=chat.url)
    await client.call("subscribe", url=chat.url, state=True)
    assert (await client.call("disconnect", url=chat.url))["state"] == "disconnected"
    assert (await client.state())["reason"] == "requested"
    await chat.links(0)
    await client.call("subscribe", url=chat.url)
    error = await client.fails("UpstreamDown", "request", url=chat.url, event="echo", timeout=300)
    assert error.data["reason"] == "requested"
    connection = await daemon.connection()
    assert (connection["state"], connection["reason"]) == ("disconnected", "requested")
    assert (await chat.counters())["links_ever"] == 1
    assert (await client.call("reconnect", url=chat.url))["state"] in ("reconnecting", "connected")
    await client.state_until("connected")
    await chat.present(1)


async def test_what_was_sent_while_held_leaves_after_reconnect(daemons, chat):
    daemon = await daemons()
    client = await daemon.connected(url=chat.url)
    await client.call("disconnect", url=chat.url)
    await client.call("send", url=chat.url, event="line", args=[1])
    pending = client.post("request", url=chat.url, event="echo", args=[2])
    await client.call("reconnect", url=chat.url)
    assert (await client.result(pending))["args"] == [2]
    await chat.received(1, "line")


async def test_reconnect_starts_a_waiting_connection_at_once(daemons, peer):
    await peer.refuse()
    daemon = await daemons({"defaults": {"reconnect": {"base": "1h", "cap": "1h"}}})
    client = await daemon.client()
    await client.call("subscribe", url=peer.url, state=True)
    await client.state_until("disconnected")
    await peer.start()
    assert (await client.call("reconnect", url=peer.url))["state"] == "reconnecting"
    await peer.session()
    await client.state_until("connected")


async def test_a_new_program_starts_a_waiting_connection_at_once(daemons, peer):
    await peer.refuse()
    daemon = await daemons({"defaults": {"reconnect": {"base": "1h", "cap": "1h"}}})
    client, other = await daemon.client(), await daemon.client()
    await client.call("subscribe", url=peer.url, state=True)
    await client.state_until("disconnected")
    await peer.start()
    pending = other.post("request", url=peer.url, event="e")
    link = await peer.session()
    await link.receive()
    await link.text("430[1]")
    assert (await other.result(pending))["args"] == [1]


async def test_new_programs_start_at_most_one_attempt_a_second(daemons, peer):
    await peer.refuse()
    daemon = await daemons({"defaults": {"reconnect": {"base": "1h", "cap": "1h"}}})
    clients = [await daemon.client() for _ in range(30)]
    begin = asyncio.get_running_loop().time()
    for client in clients:
        await client.call("subscribe", url=peer.url)
    await asyncio.sleep(QUIET)
    took = asyncio.get_running_loop().time() - begin
    assert (await daemon.connection())["attempt"] <= 2 + took


@pytest.mark.parametrize("verb", ["reconnect", "release"])
async def test_a_verb_that_the_state_does_not_allow_names_state_and_verb(daemons, chat, verb):
    daemon = await daemons()
    client = await daemon.connected(url=chat.url)
    await client.call("subscribe", url=chat.url)
    error = await client.fails("IllegalState", verb, url=chat.url)
    assert error.data["state"] == "connected" and error.data["asked"]
    assert (await client.call("request", url=chat.url, event="echo"))["args"] == []


async def test_release_removes_an_unused_closed_connection(daemons, chat):
    daemon = await daemons()
    client = await daemon.connected(url=chat.url)
    identity = (await client.call("subscribe", url=chat.url))["subscription"]
    await client.call("disconnect", url=chat.url)
    assert (await client.fails("IllegalState", "release", url=chat.url)).data["state"] == "disconnected"
    await client.call("unsubscribe", subscription=identity)
    assert (await client.call("release", url=chat.url))["state"] == "released"
    assert (await daemon.status())["connections"] == []
    assert (await client.call("request", url=chat.url, event="echo", args=[1]))["args"] == [1]


async def test_a_queued_send_that_prevents_a_release_is_said(daemons, chat):
    daemon = await daemons()
    client = await daemon.connected(url=chat.url)
    await client.call("disconnect", url=chat.url)
    await client.call("send", url=chat.url, event="e")
    error = await client.fails("IllegalState", "release", url=chat.url)
    assert (error.data["state"], error.data["asked"]) == ("disconnected", "release")
    assert error.message.startswith("A send still waits for the connection; 'reconnect' lets it leave")
    await client.call("send", url=chat.url, event="e")
    assert "2 sends still wait" in (await client.fails("IllegalState", "release", url=chat.url)).message


async def test_a_connection_that_is_connected_already_is_said_to_be(daemons, chat):
    daemon = await daemons()
    client = await daemon.connected(url=chat.url)
    error = await client.fails("IllegalState", "reconnect", url=chat.url)
    assert error.message == "The connection is connected already."
    error = await client.fails("IllegalState", "release", url=chat.url)
    assert "'disconnect' it first" in error.message


async def test_programs_and_the_configuration_that_prevent_a_release_are_said(daemons, chat):
    daemon = await daemons({"upstream": {"kept": {"url": chat.url, "keep": "always"}}})
    client = await daemon.connected(upstream="kept")
    await client.call("disconnect", upstream="kept")
    assert "The configuration keeps the connection" in (await client.fails("IllegalState", "release", upstream="kept")).message
    daemon.configure({"upstream": {"kept": {"url": chat.url}}})
    await client.call("reload")
    await client.call("subscribe", upstream="kept")
    assert "Programs use the connection" in (await client.fails("IllegalState", "release", upstream="kept")).message


async def test_disconnecting_twice_is_nothing_to_do(daemons, chat):
    daemon = await daemons()
    client = await daemon.connected(url=chat.url)
    for _ in range(2):
        assert (await client.call("disconnect", url=chat.url))["state"] == "disconnected"


async def test_a_link_that_keeps_breaking_is_tried_ever_more_slowly(daemons, peer):
    daemon = await daemons({"defaults": {"reconnect": {"base": "100ms", "cap": "10s", "stable": "10s"}}})
    client = await daemon.client()
    attempts = 0

    async def accept_and_break(link):
        nonlocal attempts
        attempts += 1
        await link.session()
        link.abort()

    peer.script = accept_and_break
    await client.call("subscribe", url=peer.url, state=True)
    for _ in range(4):
        state = (await client.state_until("disconnected"))[-1]
    assert state["attempt"] >= 3 and attempts <= 5


async def test_after_many_reconnects_each_event_still_comes_once(daemons, server):
    daemon = await daemons()
    client = await daemon.connected(url=server.url)
    await client.call("subscribe", url=server.url, state=True, answer=True)
    for number in range(5):
        await server.cut()
        await client.state_until("connected")
        await server.present(1)
        await server.emit("said", number)
        assert (await client.event())["args"] == [number]
    client.notes.clear()
    await client.silence()
    assert (await server.counters())["links"] == 1


async def test_a_crowd_makes_one_attempt_at_a_time(daemons, peer):
    daemon = await daemons({"defaults": {"handshake": "300ms"}})
    together = most = 0

    async def count(link):
        nonlocal together, most
        together += 1
        most = max(most, together)
        try:
            await link.reader.read()
        finally:
            together -= 1

    peer.script = count
    clients = [await daemon.client() for _ in range(40)]
    pending = []
    for client in clients:
        await client.call("subscribe", url=peer.url)
        pending.append(client.post("request", url=peer.url, event="e", timeout=1000))
    for client, future in zip(clients, pending):
        assert (await client.failure(future, "UpstreamDown")).data["reason"] == "timeout"
    assert most == 1


async def test_programs_that_come_and_go_during_an_outage_leave_one_connection(daemons, chat):
    daemon = await daemons()
    await daemon.connected(url=chat.url)
    await chat.stop()
    for _ in range(20):
        client = await daemon.client()
        await client.call("subscribe", url=chat.url)
        client.post("request", url=chat.url, event="never", timeout=60_000)
        await client.call("ping")
        await client.close()
    last = await daemon.client()
    pending = last.post("request", url=chat.url, event="echo", args=["still here"])
    await chat.start()
    assert (await last.result(pending))["args"] == ["still here"]
    counters = await chat.counters()
    assert (counters["links"], counters["namespaces"], counters["received"]) == (1, 1, 1)
