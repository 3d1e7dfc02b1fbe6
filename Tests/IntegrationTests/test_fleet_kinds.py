"""Every kind of upstream in a fleet: what a host that only follows has of it is what the one with the link has."""

import asyncio
import json

import pytest

from fleet_hosts import another, holder, hosts, needs_redis, ready, redis  # pylint: disable=unused-import
from lines_server import AUTH, PROFILE
from patience import SOON, within
from test_lines import lines  # pylint: disable=unused-import
from test_plain_websocket import peers  # pylint: disable=unused-import
from test_wamp import subscribers, until

pytestmark = needs_redis


async def both(hosts, **upstream):
    """Two hosts and a client of each, first that of the one with the link."""
    two = await hosts(2, **upstream)
    for host in two:
        await ready(host)
    first = await holder(two)
    other = another(two, first)
    return (first, other), [await ready(host) for host in (first, other)]


# WAMP: what the router is asked for is the union of what all hosts want


async def test_a_topic_is_subscribed_to_once_for_all_hosts_and_given_back_with_the_last(hosts, crossbar):
    topic, peer = crossbar.name("chat"), await crossbar.peer()
    _, clients = await both(hosts, url=crossbar.url)
    names = [(await client.call("subscribe", upstream="chat", events=[topic]))["subscription"] for client in clients]
    assert await subscribers(peer, topic) == 1
    await peer.publish(topic, "hi", {"$bin": "AQID"}, big=2**60)
    seen = [await client.event() for client in clients]
    assert {(one["event"], json.dumps(one["args"]), json.dumps(one["kwargs"])) for one in seen} == {
        (topic, '["hi", {"$bin": "AQID"}]', json.dumps({"big": 2**60}))}
    assert (seen[0]["seq"], seen[0]["time"]) == (seen[1]["seq"], seen[1]["time"])
    # The host with the link is the first to leave.
    await clients[0].call("unsubscribe", subscription=names[0])
    await peer.publish(topic, "still")
    assert (await clients[1].event())["args"] == ["still"]
    assert await subscribers(peer, topic) == 1
    await clients[1].call("unsubscribe", subscription=names[1])
    await until(lambda: subscribers(peer, topic), lambda count: count == 0, "the subscription to be given back")


async def test_what_only_a_dead_host_wanted_is_given_back_when_the_fleet_takes_it_for_dead(hosts, crossbar):
    topic, peer = crossbar.name("dead"), await crossbar.peer()
    (_, other), clients = await both(hosts, url=crossbar.url)
    await clients[1].call("subscribe", upstream="chat", events=[topic])
    assert await subscribers(peer, topic) == 1
    await other.crash()

    async def gone():
        while await subscribers(peer, topic):
            await asyncio.sleep(0.05)

    await within(gone(), "the subscription to be given back", 4 * SOON)


async def test_a_subscription_that_the_router_refuses_is_refused_on_every_host(hosts, crossbar):
    _, clients = await both(hosts, url=crossbar.url)
    for client in clients:
        error = await client.fails("UpstreamRefused", "subscribe", upstream="chat", events=["com.forbidden.x"])
        assert error.data["data"] == "wamp.error.not_authorized"


async def test_calls_their_progress_and_their_errors_reach_the_host_that_asked(hosts, crossbar):
    peer = await crossbar.peer()
    for behaviour in ("echo", "progress", "fail"):
        await peer.control("register", procedure=crossbar.name(behaviour), behaviour=behaviour)
    _, clients = await both(hosts, url=crossbar.url)
    for client in clients:
        result = await client.call(
            "request", upstream="chat", event=crossbar.name("echo"), args=[1, {"$bin": "AQID"}], kwargs={"k": 2})
        assert result == {"args": [1, {"$bin": "AQID"}], "kwargs": {"k": 2}}
        future = client.post("request", upstream="chat", event=crossbar.name("progress"), args=[3])
        assert (await client.result(future))["args"] == ["done"]
        for number in range(3):
            _, params = await client.note("progress")
            assert params == {"id": future.identity, "args": [number], "kwargs": {"of": 3}}
        error = await client.fails(
            "RequestFailed", "request", upstream="chat", event=crossbar.name("fail"), args=[7], kwargs={"k": 2})
        assert error.data["error"] == "com.example.error.failed"
        assert (error.data["args"], error.data["kwargs"]) == ([7], {"k": 2})


async def test_a_call_that_a_host_gives_up_is_cancelled_at_the_router(hosts, crossbar):
    peer = await crossbar.peer()
    await peer.control("register", procedure=crossbar.name("hang"), behaviour="hang")
    _, clients = await both(hosts, url=crossbar.url)
    await clients[1].fails("AckTimeout", "request", upstream="chat", event=crossbar.name("hang"), timeout=2_000)
    assert await peer.control("interrupted", count=1, timeout=SOON) == 1


async def test_a_procedure_that_a_host_answers_is_registered_once_and_answered_there(hosts, crossbar):
    procedure, peer = crossbar.name("add"), await crossbar.peer()
    _, clients = await both(hosts, url=crossbar.url)
    reply = await clients[1].call("subscribe", upstream="chat", events=[procedure], answer=True)
    asked = asyncio.ensure_future(peer.call(procedure, 1, 2, mode="x"))
    event = await clients[1].event()
    assert (event["args"], event["kwargs"]) == ([1, 2], {"mode": "x"})
    await clients[1].call("respond", ack=event["ack"], args=[3, {"$bin": "AQID"}], kwargs={"ok": True})
    assert await asked == {"args": [3, {"$bin": "AQID"}], "kwargs": {"ok": True}, "progress": []}
    asked = asyncio.ensure_future(peer.call(procedure))
    ack = (await clients[1].event())["ack"]
    await clients[1].call("respond", ack=ack, error="com.example.no", args=["why"], kwargs={"code": 4})
    assert await asked == {"error": "com.example.no", "args": ["why"], "kwargs": {"code": 4}}
    await clients[1].call("unsubscribe", subscription=reply["subscription"])
    await until(lambda: peer.ask("wamp.registration.lookup", procedure), lambda found: found is None, "it to go")


async def test_topics_and_procedures_of_all_hosts_come_back_with_the_next_link(hosts, crossbar):
    topic, procedure, peer = crossbar.name("chat"), crossbar.name("add"), await crossbar.peer()
    (first, other), clients = await both(hosts, url=crossbar.url)
    await clients[1].call("subscribe", upstream="chat", events=[topic])
    await clients[1].call("subscribe", upstream="chat", events=[procedure], answer=True)
    await first.stop()
    await holder([other])

    async def back():
        while not await subscribers(peer, topic) or not await peer.ask("wamp.registration.lookup", procedure):
            await asyncio.sleep(0.02)

    await within(back(), "both to be there again", 2 * SOON)
    await peer.publish(topic, "again")
    assert (await clients[1].event())["args"] == ["again"]
    asked = asyncio.ensure_future(peer.call(procedure, 1))
    await clients[1].call("respond", ack=(await clients[1].event())["ack"], args=[2])
    assert (await asked)["args"] == [2]


async def test_a_durable_publish_of_a_killed_host_is_acknowledged_by_the_router(hosts, crossbar):
    topic, peer = crossbar.name("paid"), await crossbar.peer()
    await peer.control("subscribe", topic=topic)
    (_, other), clients = await both(hosts, url=crossbar.url)
    await clients[1].call("send", upstream="chat", event=topic, args=[{"n": 1}], kwargs={"k": 1}, delivery="durable", retries=3)
    assert (await peer.received(1, topic))[0] == {"topic": topic, "args": [{"n": 1}], "kwargs": {"k": 1}}

    async def acked():
        while (await clients[1].call("outbox.list"))["entries"][0]["state"] != "acked":
            await asyncio.sleep(0.02)

    await within(acked(), "the publish to be acknowledged")
    await other.crash()
    assert len(await peer.received(1, topic)) == 1


# JSON over TCP


async def test_lines_over_tcp_are_shared_with_their_answers_and_errors(hosts, lines):
    _, clients = await both(hosts, url=lines.url, auth=AUTH, lines=PROFILE)
    for client in clients:
        await client.call("subscribe", upstream="chat", events=["said", "price"])
    assert lines.links_ever == 1 and len(lines.logins) == 1
    lines.emit("price", {"eur": 1.5}, venue="x")
    lines.raw(b'{"type":"said","body":12345678901234567890.50}\n')
    seen = [await client.events(2) for client in clients]
    assert [[(one["seq"], one["time"], one["args"], one.get("kwargs")) for one in part] for part in seen][0] == [
        (one["seq"], one["time"], one["args"], one.get("kwargs")) for one in seen[1]]
    assert seen[1][0]["args"] == [{"eur": 1.5}] and seen[1][0]["kwargs"] == {"venue": "x"}
    assert all(b'"args":[12345678901234567890.50]' in b"".join(client.lines) for client in clients)
    for number, client in enumerate(clients):
        assert (await client.call("request", upstream="chat", event="echo", args=[[number]]))["args"] == [[number]]
        error = await client.fails("RequestFailed", "request", upstream="chat", event="fail")
        assert error.data["error"] == "no.way" and error.data["args"] == [{"code": "no.way", "why": "asked"}]
    for number in range(20):
        await clients[1].call("send", upstream="chat", event="note", args=[number], kwargs={"to": "bob"})
    assert [one["body"] for one in await lines.until_received(20, "note")] == list(range(20))


async def test_lines_over_tcp_go_on_at_the_next_host(hosts, lines):
    (first, other), clients = await both(hosts, url=lines.url, auth=AUTH, lines=PROFILE)
    await clients[1].call("subscribe", upstream="chat", events=["said"])
    await first.crash()
    for number in range(5):
        await clients[1].call("send", upstream="chat", event="note", args=[number], delivery="durable")
    await holder([other])
    assert [one["body"] for one in await lines.until_received(5, "note")] == list(range(5))
    lines.emit("said", "again")
    assert (await clients[1].event())["args"] == ["again"]
    assert (await clients[1].gap())["reason"] == "upstream" and lines.links_ever == 2


# Plain WebSocket


async def test_a_plain_websocket_is_shared_with_text_and_binary(hosts, peers):
    peer = await peers()
    _, clients = await both(hosts, url=peer.url)
    link = await peer.link()
    for client in clients:
        await client.call("subscribe", upstream="chat")
    await link.send('{"a":[1,null]}')
    await link.send(b"\x00\x01\xff")
    seen = [await client.events(2) for client in clients]
    for part in seen:
        assert [(one["event"], one["args"]) for one in part] == [
            ("message", [{"a": [1, None]}]), ("message", [{"$bin": "AAH/"}])]
    assert [one["seq"] for one in seen[0]] == [one["seq"] for one in seen[1]] and peer.links.empty()
    for client in clients:
        await client.call("send", upstream="chat", event="message", args=[{"$bin": "AAH/"}], delivery="sent")
        assert await peer.message() == b"\x00\x01\xff"
        await client.call("send", upstream="chat", event="message", args=["ä"], delivery="durable")
        assert await peer.message() == "ä"
        await client.fails("InvalidParams", "request", upstream="chat", event="message", args=["x"])


# Socket.IO


async def test_binary_attachments_of_socket_io_cross_the_fleet_both_ways(hosts, chat):
    _, clients = await both(hosts)
    args = [{"$bin": "AAEC/w=="}, {"a": {"$bin": ""}}]
    for client in clients:
        await client.call("subscribe", upstream="chat", events=["said"])
    for number, client in enumerate(clients):
        assert (await client.call("request", upstream="chat", event="echo", args=args))["args"] == args
        await client.call("send", upstream="chat", event="say", args=args, delivery="acked")
        assert (await chat.received(number + 1, "say"))[number]["args"] == args
        assert [(await one.event())["args"] for one in clients] == [args, args]


@pytest.mark.parametrize("transport", ["websocket", "polling"])
async def test_a_namespace_of_an_upstream_is_a_link_of_its_own_with_keys_of_its_own(hosts, redis, chat, transport):
    _, clients = await both(hosts, url=chat.url + "/admin", transports=[transport])
    for client in clients:
        await client.call("subscribe", upstream="chat", events=["e"])
    await chat.emit("e", 1, namespace="/admin")
    seen = [await client.event() for client in clients]
    assert seen[0]["seq"] == seen[1]["seq"] and [one["args"] for one in seen] == [[1], [1]]
    for client in clients:
        await client.call("send", upstream="chat", event="d", args=[1], delivery="durable")
    assert [one["namespace"] for one in await chat.received(2, "d")] == ["/admin", "/admin"]
    keys = {key for key in await redis.lines("KEYS", "gw:*") if key}
    assert keys and all(key.endswith(":/admin") for key in keys), keys
    (upstream,) = (await clients[1].call("fleet.list"))["upstreams"]
    assert upstream["namespace"] == "/admin"
    await chat.present(1, "/admin")
