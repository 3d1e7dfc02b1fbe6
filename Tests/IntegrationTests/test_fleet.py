"""Several hosts share one link by a real Redis: the server sees one of them, programs notice nothing."""

import asyncio
import json

import pytest

from fleet_hosts import another, held, holder, hosts, needs_redis, ready, redis  # pylint: disable=unused-import
from local_client import CallError
from patience import SOON, within

pytestmark = needs_redis

LEASE = 1.0


async def events(client, count, name="e"):
    """The last events of that name, once so many have come."""
    def found():
        return [params for method, params in client.notes if method == "event" and params["event"] == name]

    async with client.arrived:
        await within(client.arrived.wait_for(lambda: len(found()) >= count), f"{count} events", 2 * SOON)
    return found()


async def test_all_hosts_share_one_connection(hosts, chat):
    three = await hosts(3)
    clients = [await ready(host) for host in three]
    assert (await chat.counters())["links"] == 1
    assert len([host for host in three if held(await host.status())]) == 1
    for client in clients:
        await client.call("subscribe", upstream="chat", events=["e"])
    for number in range(50):
        await chat.control("emit", event="e", namespace="/", args=[number, {"text": "ä\u2028"}])
    seen = [await events(client, 50) for client in clients]
    shown = [[(one["seq"], one["time"], one["args"]) for one in part] for part in seen]
    assert shown[0] == shown[1] == shown[2]
    assert [one[2][0] for one in shown[0]] == list(range(50))
    epochs = {one["connections"][0]["epoch"] for one in [await host.status(upstream="chat") for host in three]}
    assert len(epochs) == 1


async def test_sends_and_requests_of_every_host_arrive_once(hosts, chat):
    two = await hosts(2)
    clients = [await ready(host) for host in two]
    for number in range(40):
        await clients[number % 2].call("send", upstream="chat", event="e", args=[number])
    received = await chat.received(40, "e")
    assert sorted(one["args"][0] for one in received) == list(range(40))
    for part in (0, 1):
        assert [one["args"][0] for one in received if one["args"][0] % 2 == part] == list(range(part, 40, 2))
    for client in clients:
        assert (await client.call("request", upstream="chat", event="echo", args=["x"]))["args"] == ["x"]


async def test_what_the_server_would_not_take_fails_on_every_host_and_fails_nothing_else(hosts, chat):
    two = await hosts(2)
    await holder(two)
    # It fits into a line, and is more than the server says that it takes.
    large = {"upstream": "chat", "event": "e", "args": ["x" * 1_020_000]}
    for client in [await ready(host) for host in two]:
        for call, delivery in (("request", {}), ("send", {"delivery": "sent"})):
            with pytest.raises(CallError, match="PayloadTooLarge"):
                await client.call(call, **large, **delivery)
            assert (await client.call("request", upstream="chat", event="echo", args=["x"]))["args"] == ["x"]


async def test_a_host_that_comes_late_takes_part_and_has_as_many_events_as_the_others(hosts, chat):
    history = {"events": 200}
    (first,) = await hosts(1, history=history)
    client = await ready(first)
    await client.call("subscribe", upstream="chat", events=["e"])
    await chat.burst("e", 500)
    await events(client, 500)
    (second,) = await hosts(1, history=history)
    late = await ready(second)
    assert (await late.call("request", upstream="chat", event="echo", args=["x"]))["args"] == ["x"]
    await late.call("subscribe", upstream="chat", events=["e"], last=200)
    assert [one["args"] for one in await events(late, 200)] == [[number] for number in range(300, 500)]
    epochs = {one["connections"][0]["epoch"] for one in [await host.status(upstream="chat") for host in (first, second)]}
    assert len(epochs) == 1


async def test_a_program_of_a_host_that_comes_late_is_not_told_the_past_as_new(hosts, chat):
    (first,) = await hosts(1)
    client = await ready(first)
    await client.call("subscribe", upstream="chat", events=["e"])
    await chat.burst("e", 50)
    await events(client, 50)
    (second,) = await hosts(1)
    late, later = await second.client(), await second.client()
    await late.call("subscribe", upstream="chat", events=["e"])
    assert (await later.call("subscribe", upstream="chat", events=["e"], last=2))["replayed"] == 2
    await ready(second)
    await chat.control("emit", event="e", namespace="/", args=["new"])
    assert [one["args"] for one in await events(late, 1)] == [["new"]]
    assert [one["args"] for one in await events(later, 3)] == [[48], [49], ["new"]]
    kept = await client.call("history", upstream="chat", limit=1)
    assert [note for method, note in late.notes if method == "gap"] == []
    assert (await events(late, 1))[0]["seq"] == kept["seq"]


async def test_a_host_that_nobody_used_knows_what_came_and_tells_a_new_program_nothing_of_it(hosts, chat):
    (first,) = await hosts(1)
    client = await ready(first)
    await client.call("subscribe", upstream="chat", events=["e"])
    (second,) = await hosts(1, {"hold": "never"}, linger="0s")
    gone = await ready(second)
    await gone.call("subscribe", upstream="chat", events=["e"])
    await gone.close()
    await second.until(
        lambda status: all(one["state"] != "connected" for one in status["connections"]), "the connection to be closed")
    await chat.burst("e", 20)
    await events(client, 20)
    kept = await client.call("history", upstream="chat", limit=1)
    late = await second.client()
    answer = await late.call("subscribe", upstream="chat", events=["e"])
    assert (answer["epoch"], answer["seq"]) == (kept["epoch"], kept["seq"])
    await chat.control("emit", event="e", namespace="/", args=["new"])
    assert [one["args"] for one in await events(late, 1)] == [["new"]]
    assert [note for method, note in late.notes if method == "gap"] == []


async def test_the_history_of_a_host_that_has_just_started_is_that_of_the_others(hosts, chat):
    (first,) = await hosts(1)
    client = await ready(first)
    await client.call("subscribe", upstream="chat", events=["e"])
    await chat.burst("e", 20)
    await events(client, 20)
    kept = await client.call("history", upstream="chat", limit=5)
    (second,) = await hosts(1, {"hold": "never"})
    fresh = await second.client()
    since = {"epoch": kept["epoch"], "seq": kept["seq"] - 5}
    page = await fresh.call("history", upstream="chat", since=since)
    assert (page["events"], page["epoch"], page["complete"]) == (kept["events"], kept["epoch"], True)


async def test_an_upstream_that_joins_the_fleet_tells_its_programs_nothing_of_what_that_keeps(hosts, chat):
    (first,) = await hosts(1)
    client = await ready(first)
    await client.call("subscribe", upstream="chat", events=["e"])
    (second,) = await hosts(1, {"hold": "never"})
    shared = second.settings
    second.configure({**shared, "upstream": {"chat": {"url": chat.url}}})
    await (await second.client()).call("reload")
    await second.until(lambda status: not any("fleet" in one for one in status["connections"]), "a link of its own")
    own = await ready(second)
    await own.call("subscribe", upstream="chat", events=["e"])
    await chat.burst("e", 20)
    await events(client, 20)
    await events(own, 20)
    second.configure(shared)
    await (await second.client()).call("reload")
    await second.until(
        lambda status: any("fleet" in one and one["state"] == "connected" for one in status["connections"]),
        "the fleet's link", 4 * SOON)
    await chat.control("emit", event="e", namespace="/", args=["new"])
    assert [one["args"] for one in await events(own, 21)] == [*([number] for number in range(20)), ["new"]]
    kept = await client.call("history", upstream="chat", limit=1)
    assert [note["epoch"] for method, note in own.notes if method == "gap"] == [kept["epoch"]]


async def test_another_host_takes_over_from_a_killed_one(hosts, chat):
    three = await hosts(3)
    for host in three:
        await ready(host)
    first = await holder(three)
    other = another(three, first)
    client = await ready(other)
    await client.call("subscribe", upstream="chat", events=["e"])
    loop = asyncio.get_running_loop()
    await first.crash()
    began = loop.time()
    for number in range(20):
        await client.call("send", upstream="chat", event="d", args=[number], delivery="durable")
    second = await holder(three, without=first)
    assert loop.time() - began < 1.1 * LEASE + 8
    received = await chat.received(20, "d")
    assert [one["args"][0] for one in received] == list(range(20))
    await chat.control("emit", event="e", namespace="/", args=["after"])
    assert (await events(client, 1))[0]["args"] == ["after"]
    await first.start()
    back = await ready(first)
    assert held(await first.status()) is None
    assert (await back.call("request", upstream="chat", event="echo", args=[1]))["args"] == [1]
    assert second is not first


async def test_a_place_in_an_epoch_without_events_is_known_to_a_host_that_starts_afterwards(hosts, chat):
    two = await hosts(2)
    for host in two:
        await ready(host)
    first = await holder(two)
    other = another(two, first)
    client = await ready(other)
    await client.call("subscribe", upstream="chat", events=["e"])
    for number in range(5):
        await chat.control("emit", event="e", namespace="/", args=[number])
    await events(client, 5)
    await first.crash()
    await holder(two, without=first)
    await first.start()
    await ready(first)
    gap = await client.gap()
    await other.crash()
    await holder([first])
    await other.start()
    back = await ready(other)
    await back.call("subscribe", upstream="chat", events=["e"], since={"epoch": gap["epoch"], "seq": gap["seq"]})
    await chat.control("emit", event="e", namespace="/", args=["after"])
    assert [one["args"] for one in await events(back, 1)] == [["after"]]


async def test_an_orderly_stop_gives_the_link_to_another_host(hosts):
    two = await hosts(2)
    for host in two:
        await ready(host)
    first = await holder(two)
    other = another(two, first)
    await first.stop()
    assert await holder(two, without=first) is other
    client = await ready(other)
    assert (await client.call("request", upstream="chat", event="echo", args=["x"]))["args"] == ["x"]


async def test_a_take_over_without_recovery_is_a_gap_and_enters_rooms_anew(hosts, chat):
    two = await hosts(2)
    clients = [await ready(host) for host in two]
    first = await holder(two)
    client = next(client for client, host in zip(clients, two) if host is not first)
    await client.call("subscribe", upstream="chat", state=True, enter=[{"event": "join", "args": ["ops"]}])
    await chat.received(1, "join")
    await first.crash()
    await holder(two, without=first)
    state = (await client.state_until("connected"))[-1]
    assert "recovered" not in state and (await client.gap())["epoch"] == state["epoch"]
    await chat.received(2, "join")


async def test_a_room_is_left_with_the_last_program_of_all_hosts(hosts, chat):
    two = await hosts(2)
    for host in two:
        await ready(host)
    first = await holder(two)
    other = another(two, first)
    room = {"upstream": "chat", "enter": [{"event": "join", "args": ["ops"], "ack": True}],
            "leave": [{"event": "leave", "args": ["ops"]}]}
    stays, goes = await ready(first), await ready(other)
    for client in (stays, goes):
        await client.call("subscribe", **room)
    await chat.received(2, "join")
    # The host that does not hold the link is the first to leave.
    await goes.call("unsubscribe", subscription="s1")
    assert (await goes.call("request", upstream="chat", event="echo", args=["x"]))["args"] == ["x"]
    await chat.emit("whispered", "still here", room="ops")
    assert (await stays.event())["args"] == ["still here"]
    await stays.call("unsubscribe", subscription="s1")
    for client in (stays, goes):
        await client.call("request", upstream="chat", event="echo", args=["x"])
    assert len(await chat.received(1, "leave")) == 1
    # A host that dies leaves when the fleet takes it for dead.
    await goes.call("subscribe", **room)
    await chat.received(3, "join")
    await other.crash()

    async def left():
        while len(await chat.received(1, "leave")) < 2:
            await asyncio.sleep(0.05)

    await within(left(), "the room of the dead host to be left", 4 * SOON)


async def test_a_trace_shows_the_holders_link_and_says_elsewhere_which_host_has_it(hosts, start_ctl):
    two = await hosts(2)
    clients = [await ready(host) for host in two]
    first = await holder(two)
    other = another(two, first)
    link = held(await first.status())

    async def traced(host, **target):
        client = await host.client()
        await client.call("trace", **target)
        return client

    async def shown(client, words):
        while words not in (seen := (await client.note("trace", seconds=2 * SOON))[1])["text"]:
            pass
        return seen

    near = [await traced(first, upstream="chat"), await traced(first, connection=link["connection"])]
    far = await traced(other, upstream="chat")
    # It may have looked last when no host had it yet.
    where = await shown(far, f"HOLDER {link['fleet']['host']}: ")
    assert where["layer"] == "fleet", where
    command = await start_ctl(other, "trace", "--for", "3s", "chat")
    assert json.loads(await command.line())["text"] == where["text"]
    assert (await command.outcome()).code == 0
    await clients[two.index(other)].call("send", upstream="chat", event="say", args=["hi"])
    for client in near:
        await shown(client, "EVENT say (1 arg")
    await first.stop()
    for words in ("DIAL", "OPEN", "HANDSHAKE", "CONNECT"):
        await shown(far, words)


async def test_durable_sends_have_their_outcome_beside_a_steady_stream(hosts, chat):
    two = await hosts(2)
    for host in two:
        await ready(host)
    first = await holder(two)
    client = await ready(another(two, first))
    streaming = True

    async def stream():
        while streaming:
            client.post("send", upstream="chat", event="s", args=[], delivery="accepted")
            await asyncio.sleep(0.001)

    task = asyncio.ensure_future(stream())
    try:
        await client.call("send", upstream="chat", event="d", args=[1], delivery="durable")

        async def sent():
            while not (await client.call("outbox.list", states=["sent"]))["entries"]:
                await asyncio.sleep(0.02)

        await within(sent(), "the durable send to be sent")
    finally:
        streaming = False
        await task


async def test_a_host_that_leaves_the_fleet_gives_the_link_to_another(hosts, chat):
    two = await hosts(2)
    for host in two:
        await ready(host)
    first = await holder(two)
    first.configure({**first.settings, "upstream": {"chat": {"url": chat.url}}})
    await (await first.client()).call("reload")
    second = await holder(two, without=first)
    for host in (first, second):
        client = await ready(host)
        assert (await client.call("request", upstream="chat", event="echo", args=["x"]))["args"] == ["x"]
    assert held(await first.status()) is None
    assert (await chat.counters())["links"] == 2


async def test_a_restart_of_redis_is_a_pause(hosts, redis, chat):
    two = await hosts(2)
    clients = [await ready(host) for host in two]
    for client in clients:
        await client.call("subscribe", upstream="chat", events=["e"])
    await redis.kill()
    for number in range(10):
        await clients[number % 2].call("send", upstream="chat", event="d", args=[number], delivery="durable")
    assert await redis.restart()
    received = await chat.received(10, "d")
    assert sorted(one["args"][0] for one in received) == list(range(10))
    await holder(two)
    await chat.control("emit", event="e", namespace="/", args=["after"])
    for client in clients:
        assert (await events(client, 1))[-1]["args"] == ["after"]


async def test_the_servers_question_goes_to_a_host_that_answers_it(hosts, chat):
    three = await hosts(3)
    for host in three:
        await ready(host)
    first = await holder(three)
    one, other = [await ready(host) for host in three if host is not first]
    assert await chat.control("ask", event="load", args=[], namespace="/", timeout=0.2) is None
    for client in (one, other):
        await client.call("subscribe", upstream="chat", events=["load"], answer=True)

    async def asked(client):
        """The one question that it is asked; what another host is asked is a plain event here."""
        while "ack" not in (event := await client.event()):
            pass
        return event

    questions = []
    for _ in range(2):
        task = asyncio.ensure_future(chat.control("ask", event="load", args=["now"], namespace="/", timeout=SOON))
        questions.append(task)
    # Who has answered already may be asked again: each waits until the other is asked.
    events = await asyncio.gather(asked(one), asked(other))
    for client, event in zip((one, other), events):
        await client.call("respond", ack=event["ack"], args=[event["args"]])
    assert [await question for question in questions] == [[["now"]], [["now"]]]


async def test_without_redis_the_upstream_is_down_for_the_fleets_reason(daemons, chat, closed_port):
    host = await daemons({
        "fleet": {"name": "test", "redis": [f"redis://127.0.0.1:{closed_port}"], "host": "a", "lease": "1s"},
        "upstream": {"chat": {"url": chat.url, "fleet": True}}})
    client = await host.client()
    await client.call("subscribe", upstream="chat")
    status = await host.until(
        lambda status: status["connections"][0]["reason"] == "fleet", "the reason fleet", 4 * SOON)
    assert status["connections"][0]["detail"]
    assert (await chat.counters())["links_ever"] == 0
