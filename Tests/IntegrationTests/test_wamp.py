"""WAMP upstreams, against Crossbar.io and Autobahn: what local programs want of them works as it does elsewhere."""

import asyncio
import json
import sys
import tomllib

import pytest

from crossbar import KEY, PASSWORD, Router
from patience import SOON, within
from programs import ROOT


async def until(ask, holds, what):
    """Asks again until the answer is right; returns it."""
    async def poll():
        while not holds(answer := await ask()):
            await asyncio.sleep(0.02)
        return answer

    return await within(poll(), what)


async def subscribers(peer, topic, match="exact"):
    """How many sessions the router has for a subscription."""
    identity = await peer.ask("wamp.subscription.lookup", topic, {"match": match})
    # It may go between the two questions.
    result = identity and await peer.call("wamp.subscription.count_subscribers", identity)
    return result["args"][0] if result and "error" not in result else 0


# Events


async def test_an_event_arrives_with_its_args_and_kwargs(daemons, crossbar):
    topic, peer = crossbar.name("chat"), await crossbar.peer()
    client = await (await daemons()).client()
    reply = await client.call("subscribe", url=crossbar.url, events=[topic])
    assert reply["state"] in ("created", "connected")
    await client.call("wait", url=crossbar.url, state="connected", timeout=5000)
    await peer.publish(topic, "hi", {"big": 2**60}, from_="ann")
    event = await client.event()
    assert (event["event"], event["args"], event["kwargs"]) == (topic, ["hi", {"big": 2**60}], {"from_": "ann"})
    await peer.publish(topic)
    event = await client.event()
    assert event["args"] == [] and "kwargs" not in event


async def test_a_publish_reaches_the_others_and_the_local_subscribers(daemons, crossbar):
    topic, peer = crossbar.name("chat"), await crossbar.peer()
    await peer.control("subscribe", topic=topic)
    daemon = await daemons()
    ann, bob = await daemon.connected(url=crossbar.url), await daemon.client()
    await bob.call("subscribe", url=crossbar.url, events=[topic])
    await ann.call("subscribe", url=crossbar.url, events=[topic])
    await ann.call("send", url=crossbar.url, event=topic, args=[1, "é"], kwargs={"k": [None]})
    assert await peer.received(1) == [{"topic": topic, "args": [1, "é"], "kwargs": {"k": [None]}}]
    for client in (ann, bob):
        event = await client.event()
        assert (event["args"], event["kwargs"]) == ([1, "é"], {"k": [None]})


async def test_an_acknowledged_publish_returns_the_publication(daemons, crossbar):
    topic, peer = crossbar.name("chat"), await crossbar.peer()
    await peer.control("subscribe", topic=topic)
    client = await (await daemons()).client()
    result = await client.call("send", url=crossbar.url, event=topic, args=[1], delivery="acked")
    assert result["state"] == "acked"
    assert isinstance(result["args"][0], int)
    await peer.received(1)


async def test_a_publish_that_is_not_allowed_says_so(daemons, crossbar):
    client = await (await daemons()).client()
    error = await client.fails(
        "RequestFailed", "send", url=crossbar.url, event="com.forbidden.x", args=[1], delivery="acked")
    assert error.data["error"] == "wamp.error.not_authorized"


async def test_an_integer_that_crossbar_would_end_the_session_for_is_refused(daemons, crossbar):
    topic, peer = crossbar.name("chat"), await crossbar.peer()
    await peer.control("subscribe", topic=topic)
    client = await (await daemons()).connected(url=crossbar.url)
    await client.call("subscribe", url=crossbar.url, events=[topic])
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(5_000)
    await client.fails("InvalidParams", "send", url=crossbar.url, event=topic, args=[10 ** 4300])
    sys.set_int_max_str_digits(limit)
    await client.call("send", url=crossbar.url, event=topic, args=[int("7" * 4300)])
    assert (await client.event())["args"] == [int("7" * 4300)]
    assert (await peer.received(1))[0]["args"] == [int("7" * 4300)]


async def test_binary_goes_both_ways(daemons, crossbar):
    topic, peer = crossbar.name("bin"), await crossbar.peer()
    await peer.control("subscribe", topic=topic)
    client = await (await daemons()).connected(url=crossbar.url)
    await client.call("subscribe", url=crossbar.url, events=[topic])
    args = [{"$bin": "AAEC/w=="}, {"a": {"$bin": ""}}]
    await client.call("send", url=crossbar.url, event=topic, args=args)
    assert (await peer.received(1))[0]["args"] == args
    assert (await client.event())["args"] == args


async def test_two_local_subscribers_share_one_subscription(daemons, crossbar):
    topic, peer = crossbar.name("shared"), await crossbar.peer()
    daemon = await daemons()
    ann, bob = await daemon.connected(url=crossbar.url), await daemon.client()
    first = (await ann.call("subscribe", url=crossbar.url, events=[topic]))["subscription"]
    assert await subscribers(peer, topic) == 1
    second = (await bob.call("subscribe", url=crossbar.url, events=[topic]))["subscription"]
    assert await subscribers(peer, topic) == 1
    await ann.call("unsubscribe", subscription=first)
    await peer.publish(topic, 1)
    assert (await bob.event())["args"] == [1]
    assert await subscribers(peer, topic) == 1
    await bob.call("unsubscribe", subscription=second)
    await until(lambda: subscribers(peer, topic), lambda count: count == 0, "the subscription to be given back")


async def test_no_subscription_is_left_behind(daemons, crossbar):
    peer = await crossbar.peer()
    before = await peer.ask("wamp.subscription.list")
    client = await (await daemons()).connected(url=crossbar.url)
    for number in range(30):
        events = [crossbar.name(f"n{number % 7}"), crossbar.name(f"m{number}.*")]
        reply = await client.call("subscribe", url=crossbar.url, events=events)
        if number % 3:
            await client.call("unsubscribe", subscription=reply["subscription"])
    await client.close()
    await until(lambda: peer.ask("wamp.subscription.list"), lambda now: now == before, "every subscription to go")


@pytest.mark.parametrize("pattern, uri, match", [
    ("room.*", "room.", "prefix"), ("*.said", ".said", "wildcard"), ("ro*", "ro", "prefix")])
async def test_globs_become_patterns_of_the_router(daemons, crossbar, pattern, uri, match):
    peer = await crossbar.peer()
    client = await (await daemons()).connected(url=crossbar.url)
    await client.call("subscribe", url=crossbar.url, events=[crossbar.name(pattern)])
    for topic in ("other", "room.said", "room.x.y", "zoo.said"):
        await peer.publish(crossbar.name(topic), topic)
    expected = {"room.*": ["room.said", "room.x.y"], "*.said": ["room.said", "zoo.said"],
                "ro*": ["room.said", "room.x.y"]}[pattern]
    assert [event["args"][0] for event in await client.events(2)] == expected
    assert await subscribers(peer, crossbar.name(uri), match) == 1


async def test_overlapping_subscriptions_deliver_an_event_once(daemons, crossbar):
    topic, peer = crossbar.name("a.b"), await crossbar.peer()
    client = await (await daemons()).connected(url=crossbar.url)
    await client.call("subscribe", url=crossbar.url, events=[topic, crossbar.name("a.*"), crossbar.name("*.b")])
    for number in range(5):
        await peer.publish(topic, number)
    assert [event["args"] for event in await client.events(5)] == [[0], [1], [2], [3], [4]]
    await client.silence()


async def test_everything_can_be_subscribed_to(daemons, crossbar):
    topic, peer = crossbar.name("any"), await crossbar.peer()
    client = await (await daemons()).connected(url=crossbar.url)
    await client.call("subscribe", url=crossbar.url)
    await peer.publish(topic, 1)
    await until(client.event, lambda event: event["event"] == topic, "the event")


async def test_events_stay_in_order(daemons, crossbar):
    topic, peer = crossbar.name("burst"), await crossbar.peer()
    client = await (await daemons()).connected(url=crossbar.url)
    await client.call("subscribe", url=crossbar.url, events=[topic])
    await peer.control("burst", topic=topic, count=500)
    assert [event["args"][0] for event in await client.events(501)] == [*range(500), "end"]


async def test_a_subscription_that_is_not_allowed_is_refused(daemons, crossbar):
    client = await (await daemons()).connected(url=crossbar.url)
    error = await client.fails("UpstreamRefused", "subscribe", url=crossbar.url, events=["com.forbidden.x"])
    assert error.data["data"] == "wamp.error.not_authorized"


@pytest.mark.parametrize("name", ["", "a..b", "a b", "a#b", "wamp.session.on_join"])
async def test_a_name_that_would_end_the_session_is_refused(daemons, crossbar, name):
    client = await (await daemons()).connected(url=crossbar.url)
    await client.fails("InvalidParams", "send", url=crossbar.url, event=name, args=[])
    assert (await client.call("status", url=crossbar.url))["connections"][0]["state"] == "connected"


async def test_a_string_that_imitates_binary_is_refused(daemons, crossbar):
    client = await (await daemons()).connected(url=crossbar.url)
    await client.fails("InvalidParams", "send", url=crossbar.url, event="a.b", args=["\0x"])


# Calls


async def test_a_request_is_a_call(daemons, crossbar):
    procedure, peer = crossbar.name("echo"), await crossbar.peer()
    await peer.control("register", procedure=procedure, behaviour="echo")
    client = await (await daemons()).client()
    result = await client.call("request", url=crossbar.url, event=procedure, args=[1, {"$bin": "AQID"}], kwargs={"k": 2})
    assert result == {"args": [1, {"$bin": "AQID"}], "kwargs": {"k": 2}}
    assert (await client.call("request", url=crossbar.url, event=procedure))["args"] == []


async def test_an_application_error_is_told_with_all_it_has(daemons, crossbar):
    procedure, peer = crossbar.name("fail"), await crossbar.peer()
    await peer.control("register", procedure=procedure, behaviour="fail")
    client = await (await daemons()).client()
    error = await client.fails("RequestFailed", "request", url=crossbar.url, event=procedure, args=[7], kwargs={"k": 2})
    assert error.data["error"] == "com.example.error.failed"
    assert error.data["args"] == [7] and error.data["kwargs"] == {"k": 2}


async def test_a_procedure_that_nobody_registered_is_an_error(daemons, crossbar):
    client = await (await daemons()).client()
    error = await client.fails("RequestFailed", "request", url=crossbar.url, event=crossbar.name("nobody"))
    assert error.data["error"] == "wamp.error.no_such_procedure"


async def test_progressive_results_are_told_one_by_one(daemons, crossbar):
    procedure, peer = crossbar.name("progress"), await crossbar.peer()
    await peer.control("register", procedure=procedure, behaviour="progress")
    client = await (await daemons()).client()
    future = client.post("request", url=crossbar.url, event=procedure, args=[3])
    assert (await client.result(future))["args"] == ["done"]
    for number in range(3):
        _, params = await client.note("progress")
        assert params == {"id": future.identity, "args": [number], "kwargs": {"of": 3}}


async def test_a_call_that_ran_out_of_time_is_cancelled(daemons, crossbar):
    procedure, peer = crossbar.name("hang"), await crossbar.peer()
    await peer.control("register", procedure=procedure, behaviour="hang")
    client = await (await daemons()).connected(url=crossbar.url)
    await client.fails("AckTimeout", "request", url=crossbar.url, event=procedure, timeout=300)
    assert await peer.control("interrupted", count=1, timeout=SOON) == 1
    await client.silence()
    assert (await client.call("status", url=crossbar.url))["connections"][0]["state"] == "connected"


async def test_a_call_whose_client_gave_it_up_is_cancelled(daemons, crossbar):
    procedure, peer = crossbar.name("hang"), await crossbar.peer()
    await peer.control("register", procedure=procedure, behaviour="hang")
    daemon = await daemons()
    client = await daemon.connected(url=crossbar.url)
    client.post("request", url=crossbar.url, event=procedure)
    await peer.control("hung", count=1, timeout=SOON)
    await client.close()
    assert await peer.control("interrupted", count=1, timeout=SOON) == 1


async def test_a_pending_call_is_lost_with_the_session(daemons, tmp_path):
    router = Router(tmp_path / "node")
    try:
        await asyncio.to_thread(router.start)
        peer = await router.peer()
        await peer.control("register", procedure="com.example.hang", behaviour="hang")
        daemon = await daemons()
        client = await daemon.connected(url=router.url)
        future = client.post("request", url=router.url, event="com.example.hang", timeout=60_000)
        await peer.control("hung", count=1, timeout=SOON)
        router.stop()
        await client.failure(future, "AckLost")
        await peer.close()
    finally:
        router.stop()


# Answers


async def test_an_answering_subscription_is_a_callee(daemons, crossbar):
    procedure, peer = crossbar.name("add"), await crossbar.peer()
    client = await (await daemons()).connected(url=crossbar.url)
    await client.call("subscribe", url=crossbar.url, events=[procedure], answer=True)
    assert await subscribers(peer, procedure) == 0
    asked = asyncio.ensure_future(peer.call(procedure, 1, 2, mode="x"))
    event = await client.event()
    assert (event["event"], event["args"], event["kwargs"]) == (procedure, [1, 2], {"mode": "x"})
    await client.call("respond", ack=event["ack"], args=[3, {"$bin": "AQID"}], kwargs={"ok": True})
    assert await asked == {"args": [3, {"$bin": "AQID"}], "kwargs": {"ok": True}, "progress": []}
    await client.fails("AckGone", "respond", ack=event["ack"])


async def test_an_answer_may_be_an_error(daemons, crossbar):
    procedure, peer = crossbar.name("fail"), await crossbar.peer()
    client = await (await daemons()).connected(url=crossbar.url)
    await client.call("subscribe", url=crossbar.url, events=[procedure], answer=True)
    asked = asyncio.ensure_future(peer.call(procedure))
    ack = (await client.event())["ack"]
    await client.call("respond", ack=ack, error="com.example.no", args=["why"], kwargs={"code": 4})
    assert await asked == {"error": "com.example.no", "args": ["why"], "kwargs": {"code": 4}}


async def test_a_registration_goes_with_its_last_answerer(daemons, crossbar):
    procedure, peer = crossbar.name("gone"), await crossbar.peer()
    client = await (await daemons()).connected(url=crossbar.url)
    reply = await client.call("subscribe", url=crossbar.url, events=[procedure], answer=True)
    assert await peer.ask("wamp.registration.lookup", procedure)
    await client.call("unsubscribe", subscription=reply["subscription"])
    await until(lambda: peer.ask("wamp.registration.lookup", procedure), lambda id: id is None, "it to go")


async def test_a_procedure_that_another_session_has_is_refused(daemons, crossbar):
    procedure, peer = crossbar.name("taken"), await crossbar.peer()
    await peer.control("register", procedure=procedure, behaviour="echo")
    client = await (await daemons()).connected(url=crossbar.url)
    error = await client.fails("UpstreamRefused", "subscribe", url=crossbar.url, events=[procedure], answer=True)
    assert error.data["data"] == "wamp.error.procedure_already_exists"


async def test_registrations_may_be_shared_with_other_sessions(daemons, crossbar):
    procedure, peer = crossbar.name("shared"), await crossbar.peer()
    await peer.control("register", procedure=procedure, behaviour="echo", invoke="roundrobin")
    daemon = await daemons({"upstream": {"w": {"url": crossbar.url, "wamp": {"invoke": "roundrobin"}}}})
    client = await daemon.connected(upstream="w")
    await client.call("subscribe", upstream="w", events=[procedure], answer=True)
    asked = [asyncio.ensure_future(peer.call(procedure, number)) for number in range(2)]
    event = await client.event()
    await client.call("respond", ack=event["ack"], args=["mine"])
    results = [(await one)["args"] for one in asked]
    assert ["mine"] in results and len(results) == 2


async def test_an_invocation_that_was_taken_back_cannot_be_answered(daemons, crossbar):
    procedure = crossbar.name("slow")
    client = await (await daemons()).connected(url=crossbar.url)
    await client.call("subscribe", url=crossbar.url, events=[procedure], answer=True)
    caller = await (await daemons()).client()
    await caller.fails("AckTimeout", "request", url=crossbar.url, event=procedure, timeout=500)
    ack = (await client.event())["ack"]

    async def refusal():
        """What is said to an answer that could not be sent, which uses up no token."""
        reply = await within(asyncio.shield(client.post("respond", ack=ack, error="not a uri")), "a reply")
        return reply["error"]["data"]["type"]

    await until(refusal, lambda kind: kind == "AckGone", "the token to be gone")


@pytest.mark.parametrize("leaves", [
    lambda client, subscription: client.close(),
    lambda client, subscription: client.call("unsubscribe", subscription=subscription)], ids=["dies", "unsubscribes"])
async def test_a_callee_that_leaves_lets_its_caller_go(daemons, crossbar, leaves):
    procedure, peer = crossbar.name("left"), await crossbar.peer()
    daemon = await daemons()
    await daemon.connected(url=crossbar.url)
    callee = await daemon.client()
    reply = await callee.call("subscribe", url=crossbar.url, events=[procedure], answer=True)
    asked = asyncio.ensure_future(peer.call(procedure))
    await callee.event()
    await leaves(callee, reply["subscription"])
    assert (await within(asked, "the caller to be told"))["error"] == "wamp.error.canceled"
    assert (await daemon.connection())["unanswered"] == 1


# The life of the connection


async def test_subscriptions_come_back_with_a_new_session(daemons, crossbar):
    topic, procedure, peer = crossbar.name("chat"), crossbar.name("add"), await crossbar.peer()
    daemon = await daemons()
    client = await daemon.connected(url=crossbar.url)
    await client.call("subscribe", url=crossbar.url, events=[topic], state=True)
    await client.call("subscribe", url=crossbar.url, events=[procedure], answer=True)
    sid = (await daemon.connection())["sid"]
    await peer.call("wamp.session.kill", int(sid), "com.example.kill", "enough")
    _, state = await client.note("state")
    assert state["state"] == "disconnected" and state["reason"] in ("kicked", "closed")
    await client.call("wait", url=crossbar.url, state="connected", timeout=5000)
    assert (await daemon.connection())["sid"] != sid
    await peer.publish(topic, "again")
    assert (await client.note("event"))[1]["args"] == ["again"]
    asked = asyncio.ensure_future(peer.call(procedure, 1))
    await client.call("respond", ack=(await client.event())["ack"], args=[2])
    assert (await asked)["args"] == [2]


async def test_a_router_that_comes_back_finds_everything_as_it_was(daemons, tmp_path):
    router = Router(tmp_path / "node")
    try:
        await asyncio.to_thread(router.start)
        daemon = await daemons()
        client = await daemon.connected(url=router.url)
        await client.call("subscribe", url=router.url, events=["com.example.a", "com.example.b.*"])
        router.stop()
        await daemon.until(lambda status: status["connections"][0]["state"] != "connected", "the loss")
        queued = client.post("send", url=router.url, event="com.example.a", args=["queued"], delivery="sent",
                             timeout=60_000)
        await asyncio.to_thread(router.start)
        await client.result(queued, 3 * SOON)
        _, gap = await client.note("gap")
        assert gap["reason"] == "upstream"
        assert (await client.event())["args"] == ["queued"]
        peer = await router.peer()
        await peer.publish("com.example.b.c", 1)
        assert (await client.event())["event"] == "com.example.b.c"
        await peer.close()
    finally:
        router.stop()


async def test_a_durable_publish_waits_for_the_router_and_for_its_word(daemons, tmp_path):
    router = Router(tmp_path / "node")
    try:
        daemon = await daemons({"upstream": {"w": {"url": router.url}}})
        client = await daemon.client()
        reply = await client.call("send", upstream="w", event="com.example.a", args=[{"n": 1}], delivery="durable",
                                  retries=3, kwargs={"k": 1})
        await daemon.until(lambda status: status["connections"][0]["state"] == "disconnected", "the first attempt")
        await client.call("disconnect", upstream="w")
        await asyncio.to_thread(router.start)
        peer = await router.peer()
        await peer.control("subscribe", topic="com.example.a")
        await client.call("reconnect", upstream="w")
        assert (await peer.received(1))[0]["args"] == [{"n": 1}]
        assert (await peer.received(1))[0]["kwargs"] == {"k": 1}

        async def entry():
            entries = (await client.call("outbox.list", upstream="w"))["entries"]
            return next((one for one in entries if one["id"] == reply["id"]), {"state": "acked"})

        await until(entry, lambda one: one["state"] == "acked", "the router's word")
        await peer.close()
    finally:
        router.stop()


async def test_the_history_goes_on_where_a_subscriber_left(daemons, crossbar):
    topic, peer = crossbar.name("chat"), await crossbar.peer()
    daemon = await daemons({"upstream": {"w": {"url": crossbar.url, "keep": "always"}}})
    client = await daemon.connected(upstream="w")
    await client.call("subscribe", upstream="w", events=[topic])
    await peer.publish(topic, 1)
    event = await client.event()
    other = await daemon.client()
    epoch = (await other.call("history", upstream="w"))["epoch"]
    await peer.publish(topic, 2)
    await client.event()
    reply = await other.call("subscribe", upstream="w", events=[topic], since={"epoch": epoch, "seq": event["seq"]})
    assert reply["recovered"] is True
    assert (await other.event())["args"] == [2]


async def test_an_unused_connection_says_goodbye(daemons, crossbar):
    peer = await crossbar.peer()
    daemon = await daemons({"defaults": {"linger": "50ms"}})
    before = await peer.ask("wamp.session.count")
    client = await daemon.connected(url=crossbar.url)
    assert await peer.ask("wamp.session.count") == before + 1
    await client.close()
    await daemon.until(lambda status: status["connections"][0]["state"] == "disconnected", "the connection to close")
    await until(lambda: peer.ask("wamp.session.count"), lambda count: count == before, "the session to end")


# Authentication

METHODS = [
    ("anonymous", None, None),
    ("ticket", {"authid": "alice", "ticket": "wonder-ticket"}, "alice"),
    ("wampcra", {"authid": "bob", "secret": "bobs-secret", "method": "wampcra"}, "bob"),
    ("wampcra", {"authid": "carol", "secret": "carols-secret", "method": "wampcra"}, "carol"),
    ("cryptosign", {"key": KEY}, "dave"),
    ("scram", {"authid": "erin", "secret": PASSWORD}, "erin"),
    ("scram", {"authid": "frank", "secret": PASSWORD}, "frank"),
]
NAMES = ["anonymous", "ticket", "wampcra", "wampcra-salted", "cryptosign", "scram-argon2id", "scram-pbkdf2"]


@pytest.mark.parametrize("method, auth, authid", METHODS, ids=NAMES)
async def test_every_way_to_authenticate_leads_into_the_realm(daemons, crossbar, method, auth, authid):
    daemon = await daemons({"upstream": {"w": {"url": crossbar.url, **({"auth": auth} if auth else {})}}})
    await daemon.connected(upstream="w")
    peer = await crossbar.peer()
    session = await peer.ask("wamp.session.get", int((await daemon.connection())["sid"]))
    assert session["authmethod"] == method
    assert authid in (None, session["authid"])


async def test_the_first_example_of_the_document_logs_in(daemons, crossbar):
    example = (ROOT / "docs" / "wamp.md").read_text().split("```toml\n")[1].split("```")[0]
    settings = tomllib.loads(example)["upstream"]
    settings["ticker"]["url"] = crossbar.url
    daemon = await daemons({"upstream": settings})
    await daemon.connected(upstream="ticker")
    peer = await crossbar.peer()
    session = await peer.ask("wamp.session.get", int((await daemon.connection())["sid"]))
    assert (session["authid"], session["authmethod"]) == ("reader", "wampcra")


async def test_a_ticket_travels_by_tls(daemons, crossbar, authority):
    settings = {"url": crossbar.secure_url, "tls": {"ca": str(authority / "ca.pem")},
                "auth": {"authid": "alice", "ticket": "wonder-ticket"}}
    daemon = await daemons({"upstream": {"w": settings}})
    await daemon.connected(upstream="w")
    connection = await daemon.connection()
    assert connection["tls"] == "TLSv1.3" and connection["verified"] is True


WRONG = [
    {"authid": "alice", "ticket": "wrong"},
    {"authid": "nobody", "ticket": "wonder-ticket"},
    {"authid": "bob", "secret": "wrong", "method": "wampcra"},
    {"authid": "erin", "secret": "wrong"},
    {"key": "00" * 32},
]


@pytest.mark.parametrize("auth", WRONG, ids=["ticket", "authid", "wampcra", "scram", "cryptosign"])
async def test_wrong_credentials_are_refused_with_the_routers_words(daemons, crossbar, auth):
    daemon = await daemons({"upstream": {"w": {"url": crossbar.url, "auth": auth}}})
    client = await daemon.client()
    error = await client.fails("UpstreamRefused", "request", upstream="w", event="a.b")
    connection = await daemon.connection()
    assert connection["reason"] == "refused"
    assert "wamp.error." in connection["detail"]
    for secret in ("wonder-ticket", "wrong", "00" * 32):
        assert secret not in json.dumps(connection) + error.message + daemon.text()


async def test_a_realm_that_does_not_exist_is_refused(daemons, crossbar):
    daemon = await daemons()
    client = await daemon.client()
    error = await client.fails("UpstreamRefused", "request", url=crossbar.url.replace("realm1", "nowhere"), event="a.b")
    assert error.data["data"] == "wamp.error.no_such_realm"
    assert "nowhere" in error.message


async def test_credentials_may_come_from_a_file(daemons, crossbar, folder):
    secret = folder / "secret"
    secret.write_text(json.dumps({"authid": "alice", "ticket": "wonder-ticket"}))
    secret.chmod(0o600)
    daemon = await daemons({"upstream": {"w": {"url": crossbar.url, "auth_file": str(secret)}}})
    await daemon.connected(upstream="w")


async def test_a_bare_ticket_in_a_file_needs_only_the_authid(daemons, crossbar, folder):
    secret = folder / "ticket"
    secret.write_text("wonder-ticket\n")
    secret.chmod(0o600)
    daemon = await daemons(
        {"upstream": {"w": {"url": crossbar.url, "auth_file": str(secret), "wamp": {"authid": "alice"}}}})
    await daemon.connected(upstream="w")


# What people see


async def test_status_shows_what_a_session_is(daemons, crossbar):
    daemon = await daemons()
    await daemon.connected(url=crossbar.url)
    connection = await daemon.connection()
    assert connection["kind"] == "wamp"
    assert connection["protocol"] == {"wamp": 2}
    assert connection["url"] == crossbar.url
    assert connection["transport"] == "websocket"
    assert int(connection["sid"]) > 0


async def test_a_trace_is_in_words(daemons, crossbar):
    topic, peer = crossbar.name("chat"), await crossbar.peer()
    client = await (await daemons()).connected(url=crossbar.url)
    await client.call("trace", url=crossbar.url)
    await client.call("subscribe", url=crossbar.url, events=[topic])
    await peer.publish(topic, "secret words", 2)
    await client.event()
    texts = [params["text"] for method, params in client.notes if method == "trace" and params.get("layer") == "wamp"]
    assert f"SUBSCRIBE {topic}" in texts
    assert any(text.startswith(f"SUBSCRIBED {topic} as ") for text in texts)
    assert f"EVENT {topic} (2 args, 18 bytes)" in texts
    assert "secret words" not in json.dumps(texts)


async def test_the_doctor_finds_nothing_wrong(daemons, crossbar, ctl):
    outcome = await ctl(await daemons(), "doctor", crossbar.url)
    assert outcome.code == 0, outcome


async def test_the_doctor_names_a_wrong_realm(daemons, crossbar, ctl):
    outcome = await ctl(await daemons(), "doctor", crossbar.url.replace("realm1", "nowhere"))
    assert outcome.code == 73 or outcome.code == 1, outcome
    assert "no_such_realm" in outcome.out, outcome


# gatewayctl


async def test_gatewayctl_publishes_calls_and_listens(daemons, crossbar, ctl, start_ctl):
    topic, procedure, peer = crossbar.name("chat"), crossbar.name("progress"), await crossbar.peer()
    daemon = await daemons()
    await daemon.connected(url=crossbar.url)
    listening = await start_ctl(daemon, "subscribe", crossbar.url, topic, "-n", "1")
    await until(lambda: subscribers(peer, topic), lambda count: count == 1, "the subscription")
    assert (await ctl(daemon, "send", crossbar.url, topic, '{"a":1}', "text")).code == 0
    assert json.loads(await listening.line())["args"] == [{"a": 1}, "text"]
    await peer.control("register", procedure=procedure, behaviour="progress")
    outcome = await ctl(daemon, "request", crossbar.url, procedure, "2")
    assert outcome.code == 0, outcome
    assert outcome.out.splitlines() == ["0", '{"of":2}', "1", '{"of":2}', '"done"'], outcome


async def test_gatewayctl_serves_a_procedure(daemons, crossbar, start_ctl):
    procedure, peer = crossbar.name("upper"), await crossbar.peer()
    daemon = await daemons()
    await daemon.connected(url=crossbar.url)
    await start_ctl(daemon, "serve", crossbar.url, procedure, "--", "tr", "a-z", "A-Z")
    await until(lambda: peer.ask("wamp.registration.lookup", procedure), bool, "the registration")
    assert (await peer.call(procedure, "hi"))["args"] == [["HI"]]


async def test_a_caller_of_a_command_that_fails_is_told_so(daemons, crossbar, start_ctl):
    procedure, peer = crossbar.name("check"), await crossbar.peer()
    daemon = await daemons()
    await daemon.connected(url=crossbar.url)
    script = "read args; case $args in *exit*) echo 7; exit 3 ;; *text*) echo no JSON ;; *) echo 1 ;; esac"
    await start_ctl(daemon, "serve", crossbar.url, procedure, "--", "sh", "-c", script)
    await until(lambda: peer.ask("wamp.registration.lookup", procedure), bool, "the registration")
    assert await peer.call(procedure, "exit") == {"error": "command_failed", "args": [7], "kwargs": {}}
    assert await peer.call(procedure, "text") == {"error": "command_failed", "args": [], "kwargs": {}}
    assert await peer.ask(procedure, "well") == 1


async def test_a_number_that_the_router_makes_infinite_comes_back_as_null_and_the_session_stays(daemons, crossbar):
    topic = crossbar.name("numbers")
    client = await (await daemons()).connected(url=crossbar.url)
    await client.call("subscribe", url=crossbar.url, events=[topic])
    await client.raw(f'{{"jsonrpc":"2.0","id":"raw","method":"send","params":{{"url":"{crossbar.url}","event":"{topic}",'
                     f'"args":[1e999]}}}}\n'.encode())
    await client.call("send", url=crossbar.url, event=topic, args=["after"], delivery="acked")
    assert [event["args"] for event in await client.events(2)] == [[None], ["after"]]
