"""Rights on events and namespaces, against real Socket.IO servers: what a rule does not name is neither sent nor shown."""

import asyncio
import json

import pytest

from users import ALICE, BOB, OPS, client_as

pytestmark = pytest.mark.root

SAY = {"user": ALICE, "upstream": ["chat"], "namespaces": ["/"], "events": ["say"], "allow": ["send"]}
ALARMS = {"user": ALICE, "upstream": ["chat"], "namespaces": ["/"], "events": ["alarm.*"], "allow": ["subscribe"]}
STATUS = {"user": ALICE, "upstream": ["chat"], "allow": ["status"]}
ASKING = {"user": BOB, "upstream": ["chat"], "allow": ["request"]}
"""Where a rule names `request`, `send` does not include it."""

RULES = [SAY, ALARMS, STATUS, ASKING]


def configured(server, *rules, **upstreams):
    return {"socket": {"mode": "0666"}, "upstream": {"chat": {"url": server.url, "keep": "always"}, **upstreams},
            "access": list(rules)}


async def reload(daemon, root, configuration):
    daemon.configure(configuration)
    await root.call("reload")


async def connected(daemon):
    """Root's client, once the upstream is connected."""
    root = await daemon.client()
    await root.call("wait", upstream="chat", state="connected", timeout=20_000)
    return root


async def test_a_program_reads_and_sends_what_its_rules_name_and_nothing_else(daemons, server):
    daemon = await daemons(configured(server, *RULES))
    root, alice = await connected(daemon), await client_as(daemon, ALICE)
    await root.call("subscribe", upstream="chat")
    subscription = (await alice.call("subscribe", upstream="chat"))["subscription"]
    for event in ("secret", "alarm.on", "say", "alarm.off"):
        await server.emit(event, 1)
    assert [one["event"] for one in await alice.events(2, subscription)] == ["alarm.on", "alarm.off"]
    assert [one["event"] for one in await root.events(4)] == ["secret", "alarm.on", "say", "alarm.off"]
    past = (await alice.call("history", upstream="chat"))["events"]
    assert [one["event"] for one in past] == ["alarm.on", "alarm.off"]
    for resume in ({"last": 10}, {"since": {"epoch": "none", "seq": 0}}):
        again = (await alice.call("subscribe", upstream="chat", **resume))["subscription"]
        assert [one["event"] for one in await alice.events(2, again)] == ["alarm.on", "alarm.off"]
    await alice.call("send", upstream="chat", event="say", args=["hello"])
    for delivery in ("accepted", "durable", "sent", "acked"):
        error = await alice.fails("PermissionDenied", "send", upstream="chat", event="alarm.on", delivery=delivery)
        assert error.data["event"] == "alarm.on" and "alarm.on" in error.message and "[[access]]" in error.message
    for event in ("say", "alarm.on"):
        assert (await alice.fails("PermissionDenied", "request", upstream="chat", event=event)).data["need"] == "request"
    await alice.fails("PermissionDenied", "subscribe", upstream="chat", events=["alarm.on"], answer=True)
    await alice.fails("PermissionDenied", "trace", upstream="chat")
    received = await server.received(1, "say")
    assert [one["args"] for one in received] == [["hello"]]
    assert [one["event"] for one in await server.received(1)] == ["say"]


async def test_only_who_may_send_an_event_answers_it(daemons, server):
    daemon = await daemons(configured(server, SAY, {**ALARMS, "events": ["ask"]}, STATUS))
    await connected(daemon)
    alice = await client_as(daemon, ALICE)
    await alice.call("subscribe", upstream="chat", answer=True)
    asked = asyncio.ensure_future(server.ask("ask", 1, timeout=1))
    event = await alice.event()
    assert (await alice.fails("PermissionDenied", "respond", ack=event["ack"], args=["yes"])).data["event"] == "ask"
    assert await asked is None


async def test_a_reload_grants_and_revokes_at_once(daemons, server):
    daemon = await daemons(configured(server, *RULES))
    root, alice = await connected(daemon), await client_as(daemon, ALICE)
    await alice.call("subscribe", upstream="chat")
    await reload(daemon, root, configured(server, {**SAY, "events": ["sing"]}, {**ALARMS, "events": ["secret"]}, STATUS))
    for event in ("alarm.on", "secret"):
        await server.emit(event, 1)
    assert (await alice.event())["event"] == "secret"
    await alice.fails("PermissionDenied", "send", upstream="chat", event="say")
    await alice.call("send", upstream="chat", event="sing")
    await server.received(1, "sing")
    await reload(daemon, root, configured(server, *RULES))
    for event in ("secret", "alarm.on"):
        await server.emit(event, 1)
    assert (await alice.event())["event"] == "alarm.on"
    await alice.call("send", upstream="chat", event="say")
    await reload(daemon, root, configured(server, SAY))
    await alice.until_closed()
    assert (await alice.note("goodbye"))[1]["reason"] == "permission"


async def test_a_durable_send_waits_for_the_right_to_its_event(daemons, server):
    daemon = await daemons(configured(server, *RULES))
    root, alice = await connected(daemon), await client_as(daemon, ALICE)
    await server.stop()
    await root.call("wait", upstream="chat", state="disconnected", timeout=20_000)
    kept = await alice.call("send", upstream="chat", event="say", args=[1], delivery="durable")
    await reload(daemon, root, configured(server, {**SAY, "events": ["sing"]}, STATUS))
    await alice.call("send", upstream="chat", event="sing", args=[2], delivery="durable")
    await server.start()
    await server.received(1, "sing")
    (entry,) = (await alice.call("outbox.list", ids=[kept["id"]]))["entries"]
    assert (entry["state"], entry["reason"]) == ("queued", "permission")
    for method in ("outbox.cancel", "outbox.retry", "outbox.purge"):
        assert (await alice.fails("PermissionDenied", method, ids=[kept["id"]])).data["need"] == "send"
    assert [one["event"] for one in await server.received(1)] == ["sing"]
    await reload(daemon, root, configured(server, *RULES))
    assert (await server.received(1, "say"))[0]["args"] == [1]


async def test_other_namespaces_and_urls_of_the_server_are_no_way_around(daemons, server):
    daemon = await daemons(configured(server, *RULES))
    alice = await client_as(daemon, ALICE)
    port = server.port
    targets = [{"upstream": "chat", "namespace": "/chat"}, {"url": f"{server.url}/chat"}, {"url": f"ws://127.0.0.1:{port}/chat"},
               {"url": f"http://localhost:{port}/chat"}, {"url": server.url, "namespace": "/chat"}]
    for target in targets:
        if "namespace" in target and "url" in target:
            await alice.fails("PermissionDenied", "send", target | {"event": "say"})
            continue
        for method, params in (("send", {"event": "say"}), ("subscribe", {}), ("history", {}), ("doctor", {}),
                               ("request", {"event": "say"})):
            await alice.fails("PermissionDenied", method, target | params)
    bob = await client_as(daemon, BOB)
    for url in (server.url + "/?x=1", f"http://localhost:{port}"):
        await bob.fails("PermissionDenied", "send", url=url, event="say")
        # The same namespace, and the rights of the upstream: its events count there, too.
        await alice.call("send", url=url, event="say")
        await alice.fails("PermissionDenied", "send", url=url, event="other")
    await server.received(2, "say")


async def test_another_kind_of_url_to_the_server_needs_a_rule_about_all_of_it(daemons, server):
    """What a plain WebSocket carries, the rules about events and namespaces say nothing of."""
    daemon = await daemons(configured(
        server, {**SAY, "events": ["message"], "allow": ["send", "subscribe", "request"]},
        {"user": BOB, "upstream": ["chat"], "allow": ["send", "subscribe"]}))
    alice, bob = await client_as(daemon, ALICE), await client_as(daemon, BOB)
    url = f"raw+ws://127.0.0.1:{server.port}/socket.io/?EIO=4&transport=websocket"
    for method, params in (("send", {"event": "message", "args": ["40/chat,"]}), ("subscribe", {}), ("history", {})):
        await alice.fails("PermissionDenied", method, {"url": url} | params)
    await bob.call("subscribe", url=url)


@pytest.mark.parametrize("host", ["0.0.0.0", "0", "127.1", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "LOCALHOST."])
async def test_no_spelling_of_the_loopback_goes_around_the_rules(daemons, server, host):
    daemon = await daemons(configured(server, *RULES))
    alice = await client_as(daemon, ALICE)
    await alice.fails("PermissionDenied", "subscribe", url=f"http://{host}:{server.port}/chat")


async def test_an_answer_that_comes_after_the_right_was_taken_is_not_shown(daemons, server):
    daemon = await daemons(configured(server, {**ASKING, "user": ALICE}))
    root, alice = await connected(daemon), await client_as(daemon, ALICE)
    asked = alice.post("request", upstream="chat", event="hold", args=["it"], timeout=20_000)
    await server.received(1, "hold")
    await reload(daemon, root, configured(server, ASKING))
    assert (await alice.failure(asked, "PermissionDenied")).data["need"] == "request"


async def test_who_guesses_the_token_of_an_answer_does_not_learn_the_event(daemons, server):
    daemon = await daemons(configured(server, SAY, ALARMS, STATUS, {**ALARMS, "user": BOB, "events": ["ask"], "allow": ["subscribe", "send"]}))
    await connected(daemon)
    alice, bob = await client_as(daemon, ALICE), await client_as(daemon, BOB)
    await alice.call("subscribe", upstream="chat")
    await bob.call("subscribe", upstream="chat", answer=True)
    asked = asyncio.ensure_future(server.ask("ask", 1))
    token = (await bob.event())["ack"]
    assert "ask" not in str((await alice.fails("AckGone", "respond", ack=token, args=["mine"])).data)
    await bob.call("respond", ack=token, args=["his"])
    assert (await asked) in ("his", ["his"])


async def test_a_namespace_that_is_another_upstreams_own_needs_that_ones_rights(daemons, server):
    daemon = await daemons(configured(
        server, {"user": BOB, "upstream": ["inner"], "allow": ["send"]}, inner={"url": server.url + "/chat"}))
    alice, bob = await client_as(daemon, ALICE), await client_as(daemon, BOB)
    await alice.fails("PermissionDenied", "send", upstream="chat", namespace="/chat", event="say")
    await alice.call("send", upstream="chat", event="say")
    await bob.call("send", upstream="chat", namespace="/chat", event="say")


async def test_a_trace_shows_only_the_events_that_its_rule_names(daemons, server):
    daemon = await daemons(configured(server, {**ALARMS, "allow": ["admin"]}))
    root, alice = await connected(daemon), await client_as(daemon, ALICE)
    await alice.call("trace", upstream="chat", payloads=True)
    await root.call("request", upstream="chat", event="echo", args=["hidden"])
    for event in ("secret", "alarm.on"):
        await server.emit(event, "shown" if event == "alarm.on" else "hidden")
    shown = []
    while not shown or not shown[-1]["text"].startswith("EVENT"):
        shown.append((await alice.note("trace"))[1])
    assert shown[-1]["text"].startswith("EVENT alarm.on") and "shown" in shown[-1]["payload"]
    assert "hidden" not in str(shown) and "ACK" not in str(shown)
    # What concerns the whole daemon, and who else is there, is no affair of such an administrator.
    await alice.fails("PermissionDenied", "reload")


async def test_an_administrator_is_told_which_rule_decides(daemons, server):
    daemon = await daemons(configured(server, *RULES))
    root = await daemon.client()
    question = {"uid": ALICE, "upstream": "chat", "right": "send"}
    answer = await root.call("access.explain", question | {"event": "say"})
    assert answer["allowed"] is True and answer["rule"].startswith(f"[[access]] 1 (user {ALICE}, upstream \"chat\"")
    answer = await root.call("access.explain", question | {"event": "sing"})
    assert answer["allowed"] is False and '"sing"' in answer["rule"] and "[[access]] 4" in answer["rule"]
    root_may = await root.call("access.explain", user="root", upstream="chat", right="admin")
    assert root_may["allowed"] is True
    await (await client_as(daemon, ALICE)).fails("PermissionDenied", "access.explain", question)


async def test_gatewayctl_tells_what_a_user_may_do(daemons, server, ctl):
    daemon = await daemons(configured(server, *RULES))
    one = await ctl(daemon, "access", "--as", str(ALICE), "--right", "send", "chat", "say")
    assert one.code == 0
    (line,) = [json.loads(line) for line in one.out.splitlines()]
    assert (line["right"], line["allowed"]) == ("send", True) and "[[access]] 1" in line["rule"]
    denied = await ctl(daemon, "access", "--as", str(ALICE), "--right", "send", "chat", "sing")
    assert denied.code == 77 and json.loads(denied.out)["allowed"] is False
    every = await ctl(daemon, "access", "--as", str(ALICE), "chat")
    assert every.code == 0
    assert {one["right"]: one["allowed"] for one in map(json.loads, every.out.splitlines())} == {
        "status": True, "subscribe": True, "send": True, "request": False, "admin": False}
    assert (await ctl(daemon, "access", "chat")).code == 64
    assert (await ctl(daemon, "access", "--as", "no such user", "chat")).code == 65


async def test_a_quota_is_told_by_its_name_with_when_to_try_again(daemons, server):
    quotas = {"quota": {"sends": "5/s", "clients": 3, "group": {str(OPS): {"sends": "50/s"}}}}
    daemon = await daemons(configured(server) | quotas)
    root, alice = await connected(daemon), await client_as(daemon, ALICE)
    calls = [alice.post("send", upstream="chat", event="say", args=[number]) for number in range(50)]
    refused = [reply["error"]["data"] for reply in await asyncio.gather(*calls) if "error" in reply]
    assert refused
    for data in refused:
        assert (data["type"], data["quota"], data["limit"]) == ("QuotaExceeded", "sends", 5)
        assert 0 < data["retry_after"] <= 1_000
    ops = await client_as(daemon, BOB, OPS)
    for number in range(20):
        await ops.call("send", upstream="chat", event="say", args=[number])
        await root.call("send", upstream="chat", event="say", args=[number])
    await client_as(daemon, ALICE)
    await client_as(daemon, ALICE)
    turned_away = await client_as(daemon, ALICE)
    await turned_away.until_closed()
    assert turned_away.strays[0]["error"]["data"]["quota"] == "clients"
    await reload(daemon, root, configured(server))
    for number in range(50):
        await alice.call("send", upstream="chat", event="say", args=[number])


def with_a_room(chat, *leaving):
    """Two users may enter a room, and these may leave it."""
    may = [{"user": user, "upstream": ["chat"], "events": ["join"], "allow": ["subscribe", "send"]} for user in (ALICE, BOB)]
    return configured(
        chat, *may, *({"user": user, "upstream": ["chat"], "events": ["leave"], "allow": ["send"]} for user in leaving))


@pytest.mark.parametrize("leaving, left", [((ALICE, BOB), ["leave"]), ((ALICE,), []), ((BOB,), [])])
async def test_a_room_is_left_for_a_program_that_has_gone_while_both_users_may(daemons, chat, leaving, left):
    daemon = await daemons(with_a_room(chat, ALICE, BOB))
    root, alice, bob = await connected(daemon), await client_as(daemon, ALICE), await client_as(daemon, BOB)
    room = {"enter": [{"event": "join", "args": ["ops"]}], "leave": [{"event": "leave", "args": ["ops"]}]}
    first = (await alice.call("subscribe", upstream="chat", enter=room["enter"]))["subscription"]
    await bob.call("unsubscribe", subscription=(await bob.call("subscribe", upstream="chat", **room))["subscription"])
    await reload(daemon, root, with_a_room(chat, *leaving))
    await alice.call("unsubscribe", subscription=first)
    await root.call("send", upstream="chat", event="note")
    expected = ["join", *left, "note"]
    assert [one["event"] for one in await chat.received(len(expected))] == expected
