"""Rooms and feeds that a subscription enters: at every connect, once for all programs, and left with the last of them."""

import asyncio
import json

import pytest

from lines_server import AUTH, PROFILE, LinesServer
from local_client import CallError
from patience import end, within
from service_manager import ManagedDaemon
from programs import GATEWAYD
from test_plain_websocket import peers  # noqa: F401

RECONNECT = {"base": "10ms", "cap": "50ms"}
ENTER = {"enter": [{"event": "join", "args": ["ops"]}], "leave": [{"event": "leave", "args": ["ops"]}]}
CERTAIN = {"enter": [{"event": "join", "args": ["ops"], "ack": True}]}


def config(url, **more):
    return {"upstream": {"chat": {"url": url, "reconnect": RECONNECT, **more}}}


async def whispers(chat, client, text):
    """What is said in the room arrives."""
    await chat.emit("whispered", text, room="ops")
    while (await client.event())["args"] != [text]:
        pass


async def test_a_room_is_entered_again_after_a_cut(daemons, server):
    client = await (await daemons(config(server.url))).client()
    await client.call("subscribe", upstream="chat", state=True, **ENTER)
    await client.state_until("connected")
    await server.received(1, "join")
    await whispers(server, client, "first")
    for number in range(2, 4):
        await server.cut()
        await client.state_until("connected")
        await server.received(number, "join")
        await whispers(server, client, f"after cut {number}")


async def test_a_room_is_entered_again_after_a_restart_of_the_server_before_anything_queued(daemons, chat):
    client = await (await daemons(config(chat.url))).client()
    await client.call("subscribe", upstream="chat", state=True, **ENTER)
    await client.state_until("connected")
    await chat.received(1, "join")
    await chat.stop()
    await client.state_until("disconnected")
    await client.call("send", upstream="chat", event="note", args=[1])
    await chat.start()
    await client.state_until("connected")
    assert [one["event"] for one in await chat.received(2)] == ["join", "note"]
    await whispers(chat, client, "again")


async def test_programs_in_one_room_are_one_join_and_one_leave(daemons, chat):
    daemon = await daemons(config(chat.url))
    first, second = await daemon.connected(upstream="chat"), await daemon.client()
    for client in (first, second):
        await client.call("subscribe", upstream="chat", **ENTER)
    assert (await daemon.connection())["entered"] == 1
    await chat.received(1, "join")
    for client in (first, second):
        await whispers(chat, client, "both")
    await first.close()
    await whispers(chat, second, "one left")
    await second.call("subscribe", upstream="chat", subscription="other")
    await second.call("unsubscribe", subscription="s1")
    await chat.received(1, "leave")
    await second.call("request", upstream="chat", event="echo")
    events = [one["event"] for one in await chat.received(3)]
    assert events == ["join", "leave", "echo"]
    assert (await daemon.connection())["entered"] == 0


async def test_the_server_acknowledges_before_the_subscription_is_there(daemons, chat):
    daemon = await daemons(config(chat.url))
    client = await daemon.connected(upstream="chat")
    await client.call("subscribe", upstream="chat", **CERTAIN)
    await whispers(chat, client, "certain")


async def test_an_acknowledgement_that_never_comes_refuses_the_subscription(daemons, chat):
    daemon = await daemons(config(chat.url, connect_timeout="2s"))
    client = await daemon.connected(upstream="chat")
    held = {"enter": [{"event": "hold", "args": ["for ever"], "ack": True}]}
    with pytest.raises(CallError) as refused:
        await client.call("subscribe", upstream="chat", **held)
    assert refused.value.type == "UpstreamRefused" and "acknowledge" in refused.value.message
    assert (await daemon.connection())["state"] == "connected"


async def test_a_later_connect_that_is_not_acknowledged_is_a_gap(daemons, chat):
    daemon = await daemons(config(chat.url, connect_timeout="2s"))
    client = await daemon.client()
    await client.call(
        "subscribe", upstream="chat", state=True, enter=[{"event": "hold", "args": ["x"], "ack": True}])
    await client.state_until("connected")
    gap = (await client.note("gap"))[1]
    assert gap["reason"] == "upstream" and "the message 'hold'" in gap["detail"]


async def test_a_restart_of_the_service_enters_again_for_its_clients(folder, chat):
    daemon = await ManagedDaemon(GATEWAYD, folder, config(chat.url)).start()
    try:
        client = await daemon.client()
        await client.call("subscribe", upstream="chat", state=True, subscription="mine", **ENTER)
        await client.state_until("connected")
        await chat.received(1, "join")
        await daemon.restart()
        await client.state_until("connected")
        await chat.received(2, "join")
        await whispers(chat, client, "the next daemon")
        assert (await daemon.connection())["entered"] == 1
        await client.call("unsubscribe", subscription="mine")
        await chat.received(1, "leave")
    finally:
        await daemon.close()


async def test_a_feed_of_a_plain_websocket_is_subscribed_again(daemons, peers):  # noqa: F811
    peer = await peers()
    client = await (await daemons(config(peer.url))).client()
    said = {"event": "message", "args": [{"op": "subscribe", "feed": "trades"}]}
    await client.call("subscribe", upstream="chat", enter=[said])
    for _ in range(3):
        link = await peer.link()
        assert json.loads(await peer.message()) == {"op": "subscribe", "feed": "trades"}
        await link.close()
    with pytest.raises(CallError) as refused:
        await client.call("subscribe", upstream="chat", enter=[{**said, "ack": True}])
    assert refused.value.type == "InvalidParams"


async def test_a_message_at_which_the_server_hangs_up_does_not_take_the_link_from_all_for_ever(daemons, peers):  # noqa: F811
    peer = await peers()
    daemon = await daemons(config(peer.url))
    good, bad = {"event": "message", "args": ["good"]}, {"event": "message", "args": ["bad"]}
    client, other = await daemon.client(), await daemon.client()
    await client.call("subscribe", upstream="chat", enter=[bad])

    async def hangs_up():
        """At each bad message, until a good one comes."""
        link = await peer.link()
        while await peer.message() != "good":
            await link.close()
            link = await peer.link()

    server = asyncio.create_task(hangs_up())
    try:
        detail = None
        while "not said any more" not in (detail or ""):
            detail = (await client.note("gap"))[1].get("detail")
        assert detail.startswith("the server refuses the message 'message'")
        await other.call("subscribe", upstream="chat", enter=[good], state=True)
        await within(server, "the good message")
        assert (await daemon.connection())["state"] == "connected"
    finally:
        await end([server])


async def test_a_feed_of_json_lines_is_subscribed_again(daemons):
    lines = await LinesServer().start()
    try:
        daemon = await daemons(config(lines.url, auth=AUTH, lines=PROFILE))
        client = await daemon.client()
        await client.call(
            "subscribe", upstream="chat", state=True,
            enter=[{"event": "watch", "args": [{"feed": "trades"}], "kwargs": {"deep": True}}])
        await client.state_until("connected")
        received = await lines.until_received(1, "watch")
        assert received[0]["body"] == {"feed": "trades"} and received[0]["deep"] is True
        lines.cut()
        await lines.until_received(2, "watch")
    finally:
        await lines.close()


async def test_a_wamp_router_is_asked_by_topics_alone(daemons, router):
    client = await (await daemons(config(router.url, wamp={"realm": "realm1"}))).client()
    with pytest.raises(CallError) as refused:
        await client.call("subscribe", upstream="chat", enter=[{"event": "com.example.join"}])
    assert refused.value.type == "InvalidParams" and "enter" in refused.value.message


async def test_what_the_configuration_says_at_every_connect_is_for_all(daemons, chat):
    daemon = await daemons(config(chat.url, keep="always", on_connect=[["join", "ops"], ["note", {"deep": [1, "x"]}]]))
    client = await daemon.client()
    await client.call("subscribe", upstream="chat", **ENTER)
    await daemon.connected(upstream="chat")
    assert [(one["event"], one["args"]) for one in await chat.received(2)] == [
        ("join", ["ops"]), ("note", [{"deep": [1, "x"]}])]
    await whispers(chat, client, "all")
    assert (await daemon.connection())["entered"] == 2
    await client.call("unsubscribe", subscription="s1")
    await client.call("request", upstream="chat", event="echo")
    assert [one["event"] for one in await chat.received(3)] == ["join", "note", "echo"]
    await chat.cut()
    assert [one["event"] for one in await chat.received(5)][3:] == ["join", "note"]


async def test_the_command_line_stays_in_a_room_over_restarts_of_server_and_daemon(daemons, chat, start_ctl):
    daemon = await daemons(config(chat.url))
    program = await start_ctl(
        daemon, "subscribe", "--enter", '["join","ops"]', "--leave", '["leave","ops"]', "chat", "whispered")
    await chat.received(1, "join")
    await chat.emit("whispered", 1, room="ops")
    assert json.loads(await program.line())["args"] == [1]
    await chat.restart()
    await chat.received(1, "join")
    await chat.emit("whispered", 2, room="ops")
    assert json.loads(await program.line())["args"] == [2]
    await daemon.stop()
    await daemon.start()
    await chat.received(2, "join")
    await chat.emit("whispered", 3, room="ops")
    assert json.loads(await program.line())["args"] == [3]
    program.process.terminate()
    await chat.received(1, "leave")
