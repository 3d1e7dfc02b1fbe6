"""A restart of the service that no program notices: its connection goes on with the next daemon."""

import asyncio
import itertools
import json
import os
import re

import pytest

from local_client import connected_socket
from patience import SOON, end, within
from programs import GATEWAYD
from scripted import offset
from service_manager import ManagedDaemon

RECONNECT = {"base": "10ms", "cap": "50ms"}


def config(url, **more):
    return {"upstream": {"chat": {"url": url, "keep": "always", "reconnect": RECONNECT, **more}}}


@pytest.fixture
async def managed(folder):
    """Makes daemons that a service manager restarts: `await managed(config, …)`."""
    made = []

    async def make(configuration=None, **options):
        place = folder / f"m{len(made)}"
        place.mkdir()
        daemon = ManagedDaemon(GATEWAYD, place, configuration, **options)
        made.append(daemon)
        return await daemon.start()

    yield make
    for daemon in made:
        await daemon.close()


def store(daemon):
    return sorted(daemon.notifications.stored)


async def test_an_idle_client_notices_nothing(managed):
    daemon = await managed()
    client = await daemon.client()
    first = await client.call("hello", client="keeper")
    stored = []
    await daemon.restart(lambda: stored.extend(store(daemon)))
    assert stored == ["handover-in", "handover-out", "handover-state"]
    assert (await client.call("hello"))["instance"] != first["instance"]
    status = await client.call("status")
    assert status["daemon"]["handover"] == 1
    assert [one["name"] for one in status["clients"]] == ["keeper"]
    assert client.notes == [] and not client.closed
    assert "goes on with the clients of the daemon before clients=1" in daemon.text()
    await daemon.restart()
    assert (await client.call("status"))["daemon"]["handover"] == 2
    assert client.notes == [] and store(daemon) == []


async def test_what_is_written_while_no_daemon_runs_is_answered(managed):
    daemon = await managed()
    client = await daemon.client()
    await client.call("ping")
    answers = []
    await daemon.restart(lambda: answers.extend(client.post("ping") for _ in range(100)))
    for answer in answers:
        assert await client.result(answer) == {}


@pytest.mark.parametrize("size", [10, 900_000])
async def test_a_line_of_which_one_daemon_read_the_beginning_is_understood_by_the_next(managed, chat, size):
    daemon = await managed(config(chat.url))
    client = await daemon.connected(upstream="chat")
    line = json.dumps({"jsonrpc": "2.0", "id": "long", "method": "request", "params": {
        "upstream": "chat", "event": "echo", "args": ["ä" + "x" * size]}}, ensure_ascii=False).encode() + b"\n"
    await client.raw(line[:-size // 2])
    # Behind what was written before in the same socket: it is read by now.
    other = await daemon.client()
    await other.call("ping")
    await daemon.restart()
    await client.raw(line[-size // 2:])
    reply = await client.stray()
    assert reply["id"] == "long" and reply["result"]["args"][0] == "ä" + "x" * size


async def test_a_client_that_does_not_read_gets_everything_afterwards(managed):
    daemon = await managed()
    one = connected_socket(daemon.socket)
    one.setblocking(False)
    asked = b"".join(b'{"jsonrpc":"2.0","id":%d,"method":"rpc.discover"}\n' % number for number in range(200))
    loop = asyncio.get_running_loop()
    await within(loop.sock_sendall(one, asked), "the daemon to read the calls")
    watcher = await daemon.client()
    await daemon.until(lambda status: any(client["queue"]["bytes"] > 100_000 for client in status["clients"]), "a queue")
    await daemon.restart()
    reader, writer = await asyncio.open_unix_connection(sock=one, limit=1 << 24)
    for number in range(200):
        reply = json.loads(await within(reader.readline(), f"answer {number}"))
        assert reply["id"] == number and "methods" in reply["result"]
    writer.close()
    await watcher.call("ping")


async def test_a_subscription_goes_on_without_a_gap_where_the_server_recovers(managed, peer):
    daemon = await managed(config(peer.url))
    client = await daemon.client()
    snapshot = await client.call("subscribe", upstream="chat", state=True, events=["said", "a*"])
    link = await peer.link()
    await link.upgrade()
    await link.open()
    await link.accept(pid="private-id")
    await link.text(f'42["said",1,"{offset(0)}"]')
    await client.state_until("connected")
    epoch = (await daemon.connection())["epoch"]
    assert (await client.event())["seq"] == 1
    await daemon.restart()
    link = await peer.link()
    await link.upgrade()
    await link.open()
    assert await link.receive() == f'40{{"pid":"private-id","offset":"{offset(0)}"}}'
    await link.text(f'42["said",2,"{offset(1)}"]', f'42["other",3,"{offset(2)}"]', '40{"sid":"s","pid":"private-id"}')
    event = await client.event()
    assert (event["subscription"], event["seq"], event["args"]) == (snapshot["subscription"], 2, [2])
    states = await client.state_until("connected")
    assert states[0]["reason"] == "draining" and states[-1]["recovered"] is True and states[-1]["epoch"] == epoch
    await client.silence()
    assert not client.closed


@pytest.mark.parametrize("named", [True, False], ids=["upstream", "url"])
async def test_a_subscription_gets_one_gap_where_the_server_does_not_recover(managed, server, named):
    daemon = await managed(config(server.url))
    target = {"upstream": "chat"} if named else {"url": server.url + "/"}
    if not named:
        # A server that is left in the middle of a handshake counts that client for a while.
        await daemon.connected(upstream="chat")
        daemon.configure({})
        await daemon.restart()
    client = await daemon.connected(**target)
    await client.call("subscribe", state=True, **target)
    await server.present(1)
    await server.emit("said", "before")
    assert (await client.event())["args"] == ["before"]
    await daemon.restart()
    states = await client.state_until("connected")
    assert states[0]["state"] == "disconnected"
    gap = await client.gap()
    assert gap["reason"] == "upstream"
    await server.present(1)
    await server.emit("said", "after")
    assert (await client.event())["args"] == ["after"]
    await client.silence()


async def test_events_that_wait_for_credit_come_from_the_next_daemon(managed, chat):
    daemon = await managed(config(chat.url))
    client = await daemon.connected(upstream="chat")
    await client.call("subscribe", upstream="chat", events=["tick"], credit=2, subscription="mine")
    await chat.present(1)
    await chat.burst("tick", 5)
    assert [event["args"] for event in await client.events(2)] == [[0], [1]]
    await daemon.until(lambda status: status["connections"][0]["seq"] >= 5, "five events")
    await daemon.restart()
    assert await client.call("credit", subscription="mine", n=10) == {"credit": 10}
    assert [event["args"] for event in await client.events(3)] == [[2], [3], [4]]
    # Its own names go on where they were.
    second = await client.call("subscribe", upstream="chat")
    assert second["subscription"] == "s1"


@pytest.mark.parametrize("what", ["credit", "unsubscribe", "subscribe"])
async def test_what_is_said_meanwhile_about_a_subscription_finds_it(managed, chat, what):
    """Also where a long past has to be read first, which takes turns of its own."""
    daemon = await managed(config(chat.url))
    client = await daemon.connected(upstream="chat")
    await client.call("subscribe", upstream="chat", events=["tick"], credit=0, subscription="mine")
    await chat.present(1)
    await chat.burst("tick", 800, padding=1_000)
    await daemon.until(lambda status: status["connections"][0]["seq"] >= 800, "800 events")
    params = {"credit": {"n": 2}, "unsubscribe": {}, "subscribe": {"upstream": "chat", "events": ["tick"], "credit": 0}}
    said = []
    await daemon.restart(lambda: said.append(client.post(what, subscription="mine", **params[what])))
    await client.result(said[0])
    if what == "credit":
        assert [event["args"][0] for event in await client.events(2)] == [0, 1]
    subscriptions = (await client.call("status"))["clients"][0]["subscriptions"]
    assert subscriptions == (0 if what == "unsubscribe" else 1) and not client.closed


async def test_a_wait_goes_on_with_its_id_and_the_rest_of_its_time(managed, closed_port, chat):
    daemon = await managed(config(f"http://127.0.0.1:{closed_port}"))
    client = await daemon.client()
    answer = client.post("wait", upstream="chat", state="connected", timeout=600_000)
    late = client.post("wait", upstream="chat", state="connected", timeout=20_000)
    await client.call("ping")
    daemon.configure(config(chat.url))
    before = asyncio.get_running_loop().time()
    await daemon.restart()
    assert await client.result(answer) == {"state": "connected"}
    assert (await client.result(late)) == {"state": "connected"}
    assert asyncio.get_running_loop().time() - before < 600


async def test_a_trace_goes_on_under_its_name(managed, chat):
    daemon = await managed(config(chat.url))
    client = await daemon.connected(upstream="chat")
    traces = [(await client.call("trace", upstream="chat"))["trace"] for _ in range(3)]
    await client.call("untrace", trace=traces[1])
    await daemon.restart()
    await daemon.connected(upstream="chat")
    client.notes.clear()
    await client.call("request", upstream="chat", event="echo", args=[1])
    seen = {(await client.note("trace"))[1]["trace"] for _ in range(2)}
    assert seen <= {traces[0], traces[2]}
    await client.call("untrace", trace=traces[0])
    assert (await client.call("trace", upstream="chat"))["trace"] not in traces


async def test_a_request_that_waits_for_the_server_is_answered_before(managed, peer):
    daemon = await managed(config(peer.url))
    client = await daemon.client()
    link = await peer.link()
    await link.upgrade()
    await link.open()
    await link.accept()
    await client.call("wait", upstream="chat", state="connected", timeout=10_000)
    answer = client.post("request", upstream="chat", event="slow", args=[], timeout=60_000)
    assert "slow" in await link.receive()
    await daemon.restart()
    await client.failure(answer, "AckLost")
    assert await client.call("ping") == {}


async def answering(daemon, peer, **more):
    """A client that answers the requests of the scripted server, and the link to it."""
    client = await daemon.client()
    await client.call("subscribe", upstream="chat", events=["confirm"], answer=True, **more)
    return client, await peer.session()


async def test_a_request_of_the_link_before_is_answered_by_nobody_and_those_of_the_next_once(managed, peer):
    daemon = await managed(config(peer.url))
    client, link = await answering(daemon, peer)
    await link.text('421["confirm","answered"]', '422["confirm","left open"]', '423["confirm","answered meanwhile"]')
    tokens = [(await client.event())["ack"] for _ in range(3)]
    await client.call("respond", ack=tokens[0], args=["first"])
    await link.expect('431["first"]')
    # What no daemon has read yet is an answer that comes too late, too.
    meanwhile = []
    await daemon.restart(lambda: meanwhile.append(client.post("respond", ack=tokens[2], args=["meanwhile"])))
    link = await peer.session()
    await client.failure(meanwhile[0], "AckGone")
    # The server numbers anew: an answer with an old token must not become that of another request.
    await link.text('421["confirm","new"]', '422["confirm","new"]')
    fresh = [(await client.event())["ack"] for _ in range(2)]
    assert not set(fresh) & set(tokens)
    for token in tokens:
        await client.fails("AckGone", "respond", ack=token, args=["old"])
    for number, token in enumerate(fresh, 1):
        await client.call("respond", ack=token, args=[number])
        await client.fails("AckGone", "respond", ack=token, args=["again"])
    await client.call("send", upstream="chat", event="end")
    await link.expect('431[1]', '432[2]', '42["end"]')


async def test_a_request_that_waits_for_credit_comes_from_the_next_daemon_as_one_that_is_gone(managed, peer):
    daemon = await managed(config(peer.url))
    client, link = await answering(daemon, peer, credit=0, subscription="mine")
    await link.text('421["confirm","waits"]')
    await daemon.until(lambda status: status["connections"][0]["seq"] >= 1, "the event")
    await daemon.restart()
    link = await peer.session()
    await client.call("credit", subscription="mine", n=10)
    old = await client.event()
    assert old["args"] == ["waits"]
    assert "ack" not in old
    await link.text('421["confirm","new"]')
    await client.call("respond", ack=(await client.event())["ack"], args=["answer"])
    await link.expect('431["answer"]')


async def serving(daemon, start_ctl, *command, **options):
    """A running `gatewayctl serve`, once it is subscribed."""
    serve = await start_ctl(daemon, "serve", "--parallel", "4", "chat", "confirm", "--", *command, **options)
    await daemon.until(lambda status: any(one["subscriptions"] for one in status["connections"]), "the subscription")
    return serve


async def test_serve_says_that_an_answer_comes_too_late_and_answers_the_next_request(managed, peer, start_ctl, folder):
    daemon = await managed(config(peer.url))
    go, started = folder / "go", folder / "started"
    script = f'read args; touch {started}; [ "$args" != "[1]" ] || until [ -e {go} ]; do sleep 0.01; done; echo "$args"'
    serve = await serving(daemon, start_ctl, "/bin/sh", "-c", script)
    link = await peer.session()
    await link.text('427["confirm",1]')

    async def beginning():
        while not started.exists():
            await asyncio.sleep(0.01)

    await within(beginning(), "the command to start")
    await daemon.restart()
    link = await peer.session()
    # Of the same number on the new link, and answered before the old one's command ends.
    await link.text('427["confirm",2]')
    await link.expect('437[[2]]')
    go.touch()
    while "was not sent" not in (line := await serve.error_line()):
        assert line
    assert "answer to event 1 was not sent" in line
    await link.text('428["confirm",3]')
    await link.expect('438[[3]]')
    assert serve.process.returncode is None


async def test_serve_answers_before_during_and_after_restarts_and_no_request_twice(managed, chat, start_ctl, folder):
    daemon = await managed(config(chat.url))
    ran = folder / "ran"
    serve = await serving(daemon, start_ctl, "/bin/sh", "-c", f'read args; echo "$args" >> {ran}; echo "$args"')
    answers, numbers, restarts = {}, itertools.count(), 0

    async def ask():
        """Asks until a request is lost with its link."""
        while True:
            await chat.present(1)
            number, before = next(numbers), restarts
            try:
                answers[number] = await chat.ask("confirm", number, timeout=SOON / 10)
            except AssertionError as gone:
                # The client left between the two.
                assert "ValueError" in str(gone)
                continue
            if answers[number] is None:
                assert restarts > before, f"request {number} was not answered, and there was no restart meanwhile"
                return

    async def answered():
        """Waits until requests that were made from now on are answered."""
        since = next(numbers)
        while sum(answer is not None for number, answer in answers.items() if number >= since) < 5:
            await asyncio.sleep(0.01)

    askers = []
    for restarts in range(4):
        if restarts:
            await daemon.restart()
        askers += [asyncio.ensure_future(ask()) for _ in range(4)]
        await within(answered(), "answers")
    await end(askers)
    assert all(answer in (None, [[number]]) for number, answer in answers.items()), answers
    served = [json.loads(line)[0] for line in ran.read_text().splitlines()]
    assert len(served) == len(set(served)) and {number for number, answer in answers.items() if answer} <= set(served)
    assert (await daemon.status())["daemon"]["handover"] == 3 and serve.process.returncode is None


async def test_a_thousand_clients_and_some_that_leave_meanwhile(managed, chat):
    daemon = await managed(config(chat.url))
    clients = await asyncio.gather(*(daemon.client() for _ in range(1_000)))
    await asyncio.gather(*(client.call("subscribe", upstream="chat", events=["said"]) for client in clients))
    leaving, staying = clients[::10], [client for index, client in enumerate(clients) if index % 10]
    await daemon.restart(lambda: [client.writer.transport.abort() for client in leaving])
    await daemon.connected(upstream="chat")
    await chat.present(1)
    await chat.emit("said", "to all")
    for client in staying:
        assert (await client.event())["args"] == ["to all"]
    await daemon.until(lambda status: len(status["clients"]) + status.get("left_out", {}).get("clients", 0) <= 902,
                       "those to be gone that left")
    assert not any(client.closed for client in staying)


async def test_a_stop_is_told_and_hands_nothing_over(managed):
    daemon = await managed(environment={"GATEWAYD_STOP_JOB": "stop"})
    client = await daemon.client()
    await client.call("ping")
    await daemon.stop()
    method, params = await client.note("goodbye")
    assert params["reason"] == "stopping" and store(daemon) == []
    await client.until_closed()


def rewrite(daemon, change):
    """Changes the document that waits for the next daemon."""
    (state,) = daemon.notifications.stored["handover-state"]
    before = os.pread(state, 1 << 24, 0)
    after = change(before)
    os.ftruncate(state, len(after))
    os.pwrite(state, after, 0)


@pytest.mark.parametrize("change", [
    lambda text: text.replace(b'"gatewayd":1', b'"gatewayd":2', 1),
    lambda text: b"",
    lambda text: text[:len(text) - 20],
    lambda text: text.replace(b"\n{", b"\n[", 1),
    lambda text: re.sub(rb'"socket":\d+', b'"socket":7', text, count=1),
], ids=["newer", "empty", "cut", "no JSON", "another socket"])
async def test_a_document_that_cannot_be_used_keeps_no_daemon_from_starting(managed, change):
    daemon = await managed()
    client = await daemon.client()
    await client.call("ping")
    await daemon.restart(lambda: rewrite(daemon, change))
    method, params = await client.note("goodbye")
    assert params["reason"] == "restarting" and params["reconnect_in"] > 0
    await client.until_closed()
    assert store(daemon) == []
    assert await (await daemon.client()).call("ping") == {}


async def unread(daemon):
    """The socket of a client that has asked for much and reads nothing: its output ends in the middle of a line."""
    one = connected_socket(daemon.socket)
    asked = b"".join(b'{"jsonrpc":"2.0","id":%d,"method":"rpc.discover"}\n' % number for number in range(100))
    await within(asyncio.get_running_loop().sock_sendall(one, asked), "the daemon to read the calls")
    await daemon.until(lambda status: any(client["queue"]["bytes"] > 100_000 for client in status["clients"]), "a queue")
    return one


async def lines_until_the_end(one):
    reader, writer = await asyncio.open_unix_connection(sock=one, limit=1 << 24)
    try:
        return (await within(reader.read(), "the end")).split(b"\n")
    finally:
        writer.close()


@pytest.mark.parametrize("change", [
    lambda text: text.replace(b'"gatewayd":1', b'"gatewayd":2', 1),
    lambda text: text.replace(b"\n{", b"\n[", 1),
], ids=["newer", "another client's line"])
async def test_a_client_within_a_line_gets_all_of_it_and_a_goodbye_where_the_document_cannot_be_used(managed, change):
    daemon = await managed()
    bystander = await daemon.client()
    await bystander.call("ping")
    one = await unread(daemon)
    await daemon.restart(lambda: rewrite(daemon, change))
    *lines, last, end = await lines_until_the_end(one)
    assert end == b"" and [json.loads(line)["id"] for line in lines] == list(range(len(lines))) and len(lines) > 1
    assert json.loads(last)["params"]["reason"] == "restarting"
    assert (await bystander.note("goodbye"))[1]["reason"] == "restarting"
    assert re.search("cannot be handed over.*clients=2 closed=0", daemon.text())


async def test_a_client_beyond_a_lowered_limit_gets_its_unread_answers_and_a_goodbye(managed):
    daemon = await managed()
    bystander = await daemon.client()
    await bystander.call("ping")
    one = await unread(daemon)
    daemon.configure({"limits": {"clients_per_user": 1}})
    await daemon.restart()
    *lines, last, end = await lines_until_the_end(one)
    assert end == b"" and [json.loads(line)["id"] for line in lines] == list(range(len(lines))) and len(lines) > 1
    assert json.loads(last)["params"]["reason"] == "restarting"
    assert await bystander.call("ping") == {} and bystander.notes == []
    assert re.search("cannot be handed over.*closed=0.*limits and quotas", daemon.text())
    assert "goes on with the clients of the daemon before clients=1" in daemon.text()


async def test_a_client_within_a_line_that_is_lost_is_closed_and_counted(managed):
    daemon = await managed()
    bystander = await daemon.client()
    await bystander.call("ping")
    one = await unread(daemon)
    await daemon.restart(lambda: rewrite(daemon, lambda text: b""))
    *lines, last = await lines_until_the_end(one)
    assert b"goodbye" not in last and last != b"" and all(json.loads(line)["result"] for line in lines)
    assert (await bystander.note("goodbye"))[1]["reason"] == "restarting"
    assert re.search("cannot be handed over.*clients=1 closed=1", daemon.text())


async def test_clients_for_which_the_next_daemon_has_no_descriptor_are_closed_and_counted(managed):
    daemon = await managed()
    clients = await asyncio.gather(*(daemon.client() for _ in range(100)))
    await asyncio.gather(*(client.call("ping") for client in clients))
    daemon.wrapper = ("/usr/bin/prlimit", "--nofile=64:64")
    await daemon.restart()
    closed = int(re.search(r"cannot be handed over.*closed=(\d+).*LimitNOFILE", daemon.text())[1])
    kept = int(re.findall(r"goes on with the clients of the daemon before clients=(\d+)", daemon.text())[-1])
    assert closed > 0 and kept > 0 and closed + kept == 100
    for client in clients[kept:]:
        await client.until_closed()
    for client in clients[:kept]:
        assert await client.call("ping") == {}


async def test_a_subscription_that_the_next_daemon_refuses_ends_with_a_goodbye(managed, chat):
    daemon = await managed(config(chat.url))
    client = await daemon.connected(upstream="chat")
    await client.call("subscribe", upstream="chat")
    bystander = await daemon.client()
    await bystander.call("ping")
    daemon.configure({})
    await daemon.restart()
    method, params = await client.note("goodbye")
    assert params["reason"] == "restarting"
    await client.until_closed()
    assert await bystander.call("ping") == {}


async def test_without_a_store_the_clients_are_told(managed):
    daemon = await managed()
    client = await daemon.client()
    await client.call("ping")
    daemon.notifications.socket.close()
    os.unlink(daemon.notifications.path)
    daemon.send_signal(15)
    method, params = await client.note("goodbye")
    assert params["reason"] == "restarting"
    await within(daemon.process.wait(), "the daemon to end")
    daemon.notifications.task.cancel()


async def test_a_half_closed_client_gets_the_rest(managed, chat):
    daemon = await managed(config(chat.url))
    client = await daemon.connected(upstream="chat")
    await client.call("subscribe", upstream="chat", events=["said"])
    await client.end()
    await daemon.restart()
    await daemon.connected(upstream="chat")
    await chat.present(1)
    await chat.emit("said", "still")
    assert (await client.event())["args"] == ["still"]


async def test_a_half_closed_client_whose_last_call_goes_on_is_answered(managed, peer, closed_port, chat):
    configuration = config(peer.url)
    configuration["upstream"]["late"] = {"url": f"http://127.0.0.1:{closed_port}"}
    daemon = await managed(configuration)
    client = await daemon.client()
    link = await peer.session()
    waits = client.post("wait", upstream="late", state="connected", timeout=600_000)
    asks = client.post("request", upstream="chat", event="slow", timeout=60_000)
    await link.expect('420["slow"]')
    await client.end()
    configuration["upstream"]["late"] = {"url": chat.url}
    daemon.configure(configuration)
    await daemon.restart()
    await client.failure(asks, "AckLost")
    assert await client.result(waits) == {"state": "connected"}


@pytest.mark.parametrize("pace", ["reads", "waits for credit", "reads nothing meanwhile"])
async def test_restarts_in_the_middle_of_events_lose_none_without_a_gap_and_bring_none_twice(managed, chat, pace):
    daemon = await managed(config(chat.url, history={"events": 100_000, "bytes": "64MiB"}))
    client = await daemon.connected(upstream="chat")
    credit = {"credit": 10} if pace == "waits for credit" else {}
    await client.call("subscribe", upstream="chat", events=["tick"], subscription="s", **credit)
    for turn in range(3):
        await daemon.connected(upstream="chat")
        await chat.present(1)
        burst = asyncio.ensure_future(chat.burst("tick", 2_000, padding=200))
        await daemon.until(lambda status: status["connections"][0]["in"]["events"] > 50, "some of the events")
        if pace == "reads nothing meanwhile":
            client.writer.transport.pause_reading()
        await daemon.restart()
        await burst
        if pace == "reads nothing meanwhile":
            client.writer.transport.resume_reading()
    await daemon.connected(upstream="chat")
    await chat.present(1)
    await chat.burst("tick", 1)
    last = (await daemon.until(lambda status: status["connections"][0]["in"]["events"] >= 1, "the last event"))[
        "connections"][0]["seq"]
    if credit:
        await client.call("credit", subscription="s", n=1_000_000)
    numbers, gaps = [], []
    while not numbers or numbers[-1] < last:
        method, params = await client.note()
        if method == "event":
            numbers.append(params["seq"])
        else:
            gaps.append(params)
    assert {gap["reason"] for gap in gaps} == {"upstream"} and len(gaps) == 3, gaps
    # One event after the other: each that the daemons had numbered came, once and in order.
    assert numbers == list(range(1, last + 1))


@pytest.mark.parametrize("named", [True, False], ids=["upstream", "url"])
async def test_a_send_with_a_key_is_not_made_again_by_the_next_daemon(managed, chat, named):
    daemon = await managed(config(chat.url) if named else {})
    target = {"upstream": "chat"} if named else {"url": chat.url, "auth": {"as": "me"}}
    client = await daemon.connected(**target)
    first = await client.call("send", event="say", args=[1], key="once", delivery="sent", **target)
    for _ in range(2):
        await daemon.restart()
        again = await client.call("send", event="say", args=[1], key="once", **target)
        assert again["id"] == first["id"] and again["duplicate"] is True and again["state"] == "sent"
        await client.fails("Conflict", "send", event="say", args=[2], key="once", **target)


async def test_a_subscription_goes_on_with_the_options_of_its_url(managed, servers):
    server = await servers("eio4", "--path", "chat")
    daemon = await managed({"defaults": {"reconnect": RECONNECT}})
    client = await daemon.client()
    options = {"path": "/chat/", "headers": {"X-Team": "red-team"}, "query": {"room": "blue"}}
    await client.call("subscribe", url=server.url, options=options, events=["tick"])
    await client.call("wait", url=server.url, options=options, state="connected", timeout=5_000)
    await daemon.restart()
    await client.call("wait", url=server.url, options=options, state="connected", timeout=5_000)
    assert [one["headers"]["x_team"] for one in await server.joined(2)] == ["red-team"] * 2
    await server.burst("tick", 1)
    await client.events(1)
