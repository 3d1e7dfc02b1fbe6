"""WAMP routers that do what they should not: each is named by its reason, and none can harm the daemon."""

import asyncio
import base64
import hashlib
import hmac
import json
import time

import pytest

from patience import QUIET, SOON
from wamp_router import (ABORT, AUTHENTICATE, CALL, CANCEL, CHALLENGE, ERROR, EVENT, GOODBYE, HELLO, INTERRUPT,
                         INVOCATION, PUBLISH, PUBLISHED, RESULT, SUBSCRIBE, SUBSCRIBED, UNSUBSCRIBE, UNSUBSCRIBED,
                         WELCOME, YIELD)


async def down(daemon):
    """The connection, once it is down for a reason."""
    status = await daemon.until(
        lambda status: status["connections"] and status["connections"][0].get("reason"), "the connection to be down")
    return status["connections"][0]


async def subscriber(daemon, router, *events, **members):
    """A client whose subscription waits for the router."""
    client = await daemon.client()
    await client.call("subscribe", url=router.url, events=list(events or ["a.b"]), **members)
    return client


# Before the session

BEFORE = {
    "a RESULT": ("[50,1,{}]", "RESULT at a time when it has no place"),
    "an EVENT": ("[36,1,1,{}]", "EVENT at a time when it has no place"),
    "a GOODBYE": ('[6,{},"wamp.close.normal"]', "GOODBYE at a time when it has no place"),
    "a HELLO": ('[1,"realm1",{}]', "HELLO, which only clients send"),
    "a WELCOME without id": ("[2,0,{}]", "malformed WELCOME"),
    "a WELCOME with a huge id": ("[2,9007199254740993,{}]", "malformed WELCOME"),
    "a WELCOME without details": ("[2,5]", "malformed WELCOME"),
    "no JSON": ("[2,5,{}", "no JSON"),
    "no message": ("{}", "no WAMP message"),
    "an unknown type": ("[200,1]", "the unknown type 200"),
}


@pytest.mark.parametrize("text, words", BEFORE.values(), ids=BEFORE.keys())
async def test_what_has_no_place_before_a_session_is_a_violation(daemons, router, text, words):
    daemon = await daemons({"defaults": {"reconnect": {"base": "1h", "cap": "1h"}}})
    await subscriber(daemon, router)
    session = await router.session()
    await session.upgrade()
    await session.receive(HELLO)
    await session.raw(text)
    (last,) = await session.until_closed()
    assert last[0] == ABORT and last[2] == "wamp.error.protocol_violation"
    connection = await down(daemon)
    assert connection["reason"] == "protocol" and words in connection["detail"]


@pytest.mark.parametrize("protocol", [None, "wamp.2.msgpack", "chat"])
async def test_a_server_that_does_not_agree_to_the_subprotocol_is_incompatible(daemons, router, protocol):
    daemon = await daemons({"defaults": {"reconnect": {"base": "1h", "cap": "1h"}}})
    await subscriber(daemon, router)
    session = await router.session()
    request = await session.upgrade(protocol)
    assert request.headers["sec-websocket-protocol"] == "wamp.2.json"
    assert request.target == "/ws"
    connection = await down(daemon)
    assert connection["reason"] in ("incompatible", "protocol", "http"), connection
    assert "wamp.2.json" in connection["detail"] or "subprotocol" in connection["detail"], connection


async def test_a_router_that_never_answers_runs_out_of_time(daemons, router):
    daemon = await daemons({"defaults": {"handshake": "300ms", "reconnect": {"base": "1h", "cap": "1h"}}})
    await subscriber(daemon, router)
    session = await router.session()
    await session.upgrade()
    connection = await down(daemon)
    assert connection["reason"] == "timeout"


REFUSALS = {
    "wamp.error.no_such_realm": "refused",
    "wamp.error.authentication_failed": "refused",
    "wamp.error.no_matching_auth_method": "refused",
    "wamp.close.system_shutdown": "closed",
    "com.example.own.reason": "refused",
}


@pytest.mark.parametrize("uri, reason", REFUSALS.items(), ids=REFUSALS.keys())
async def test_an_abort_is_named_by_its_uri(daemons, router, uri, reason):
    daemon = await daemons({"defaults": {"reconnect": {"base": "1h", "cap": "1h"}}})
    await subscriber(daemon, router)
    session = await router.session()
    await session.upgrade()
    await session.receive(HELLO)
    await session.send(ABORT, {"message": "no, not\nyou"}, uri)
    connection = await down(daemon)
    assert connection["reason"] == reason
    assert uri in connection["detail"] and "no, not you" in connection["detail"]


async def test_hello_says_who_we_are(daemons, router):
    daemon = await daemons()
    await subscriber(daemon, router)
    session = await router.joined()
    _, realm, details = session.hello
    assert realm == "realm1"
    assert set(details["roles"]) == {"publisher", "subscriber", "caller", "callee"}
    assert details["agent"].startswith("gatewayd/")
    assert details["authmethods"] == ["anonymous"]


# Within the session: what comes, and what the violation is called

WITHIN = {
    "WELCOME twice": ("[2,8,{}]", "WELCOME at a time"),
    "CHALLENGE in a session": ('[4,"ticket",{}]', "CHALLENGE at a time"),
    "HELLO": ('[1,"realm1",{}]', "HELLO, which only clients send"),
    "an unknown request": ("[33,4711,1]", "SUBSCRIBED for request 4711"),
    "an unknown subscription": ("[36,4711,1,{}]", "EVENT for the unknown subscription 4711"),
    "an unknown registration": ("[68,1,4711,{}]", "INVOCATION for the unknown registration 4711"),
    "an answer to nothing": ("[50,4711,{}]", "RESULT for request 4711"),
    "an error for nothing": ('[8,48,4711,{},"a.b"]', "ERROR for request 4711"),
    "an error of the wrong type": ('[8,2,1,{},"a.b"]', "ERROR for WELCOME 1"),
    "a huge id": ("[36,99007199254740993,1,{}]", "malformed EVENT"),
    "a negative id": ("[36,-1,1,{}]", "malformed EVENT"),
    "an id with a fraction": ("[36,70.0,1,{}]", "malformed EVENT"),
    "args that are none": ('[36,70,1,{},"x"]', "malformed EVENT"),
    "kwargs that are none": ("[36,70,1,{},[],[]]", "malformed EVENT"),
    "too many elements": ("[36,70,1,{},[],{},1]", "malformed EVENT"),
    "an array of nothing": ("[]", "no WAMP message"),
    "nonsense": ("nonsense", "no JSON"),
    "deep nesting that is no JSON": ("[36,70,1,{}," + "[" * 100 + "]" * 99 + "}]", "no JSON"),
    "a revocation of nothing": ('[35,0,{"subscription":4711}]', "UNSUBSCRIBED for the unknown subscription 4711"),
    "a revocation without id": ("[35,0,{}]", "malformed UNSUBSCRIBED"),
}


@pytest.mark.parametrize("text, words", WITHIN.values(), ids=WITHIN.keys())
async def test_a_violation_ends_the_session_and_the_next_one_begins(daemons, router, text, words):
    daemon = await daemons()
    client = await subscriber(daemon, router, state=True)
    session = await router.serve()
    await client.call("wait", url=router.url, state="connected", timeout=5000)
    await session.raw(text)
    last = (await session.until_closed())[-1]
    assert last[0] == ABORT and last[2] == "wamp.error.protocol_violation" and words in last[1]["message"]
    while (state := (await client.note("state"))[1])["state"] != "disconnected":
        pass
    assert state["reason"] == "protocol" and words in state["detail"]
    session = await router.serve(71)
    await session.send(EVENT, 71, 1, {}, ["again"])
    assert (await client.event())["args"] == ["again"]


async def test_an_event_nested_too_deeply_is_a_gap_and_the_session_stays(daemons, router):
    daemon = await daemons()
    client = await subscriber(daemon, router)
    session = await router.serve()
    await session.raw("[36,70,1,{}," + "[" * 100 + "]" * 100 + "]", "[36,70,2,{},[" + "[" * 61 + "]" * 61 + "]]")
    gap = (await client.note("gap"))[1]
    assert gap["reason"] == "undecodable" and gap["count"] == 1
    assert json.dumps((await client.event())["args"][0]) == "[" * 61 + "]" * 61


async def test_a_binary_message_is_a_violation(daemons, router):
    daemon = await daemons({"defaults": {"reconnect": {"base": "1h", "cap": "1h"}}})
    await subscriber(daemon, router)
    session = await router.serve()
    await session.link.binary(b"\x93\x24")
    await session.until_closed()
    connection = await down(daemon)
    assert connection["reason"] == "protocol" and "binary" in connection["detail"]


@pytest.mark.parametrize("uri, reason", [("wamp.close.killed", "kicked"), ("wamp.close.system_shutdown", "closed")])
async def test_a_goodbye_is_answered(daemons, router, uri, reason):
    daemon = await daemons({"defaults": {"reconnect": {"base": "1h", "cap": "1h"}}})
    await subscriber(daemon, router)
    session = await router.serve()
    await session.send(GOODBYE, {"message": "good night"}, uri)
    assert await session.receive() == [GOODBYE, {}, "wamp.close.goodbye_and_out"]
    connection = await down(daemon)
    assert connection["reason"] == reason and "good night" in connection["detail"]


async def test_a_goodbye_that_nobody_answers_does_not_last(daemons, router):
    daemon = await daemons({"defaults": {"linger": "10ms"}})
    client = await subscriber(daemon, router)
    session = await router.serve()
    await client.close()
    messages = await session.until_closed()
    assert messages[-1] == [GOODBYE, {}, "wamp.close.close_realm"]


async def test_a_stopping_daemon_waits_for_the_answer_to_its_goodbye(daemons, router):
    daemon = await daemons()
    await subscriber(daemon, router)
    session = await router.serve()
    stopping = asyncio.ensure_future(daemon.stop())
    while (await session.receive())[0] != GOODBYE:
        pass
    # It would be gone by now, were the answer not awaited.
    await asyncio.sleep(QUIET)
    assert not stopping.done()
    await session.send(GOODBYE, {}, "wamp.close.goodbye_and_out")
    assert await session.until_closed() == []
    await stopping


async def test_a_stop_does_not_wait_for_a_goodbye_for_long(daemons, router):
    daemon = await daemons()
    await subscriber(daemon, router)
    await router.serve()
    began = time.monotonic()
    await daemon.stop()
    assert time.monotonic() - began < SOON / 2


async def test_traffic_after_our_goodbye_is_ignored(daemons, router):
    daemon = await daemons({"defaults": {"linger": "10ms"}})
    client = await subscriber(daemon, router)
    session = await router.serve()
    await client.close()
    while (await session.receive())[0] != GOODBYE:
        pass
    await session.raw("[36,70,1,{}]", "nonsense", '[6,{},"wamp.close.goodbye_and_out"]')
    assert await session.until_closed() == []
    assert (await daemon.connection())["reason"] == "idle"


# Subscriptions


async def test_a_new_session_gets_everything_again_under_its_own_ids(daemons, router):
    daemon = await daemons()
    client = await subscriber(daemon, router, "a.b", "c.*")
    session = await router.joined()
    first = [await session.receive(SUBSCRIBE) for _ in range(2)]
    assert sorted(message[1] for message in first) == [1, 2]
    for number, message in enumerate(first):
        await session.send(SUBSCRIBED, message[1], 70 + number)
    await client.call("wait", url=router.url, state="connected", timeout=5000)
    await session.close()
    session = await router.joined(session=8)
    again = {message[3]: message for message in [await session.receive(SUBSCRIBE) for _ in range(2)]}
    assert set(again) == {"a.b", "c."}
    assert again["c."][2] == {"match": "prefix"}
    await session.send(SUBSCRIBED, again["a.b"][1], 80)
    await session.send(SUBSCRIBED, again["c."][1], 81)
    await session.send(EVENT, 80, 5, {}, [1])
    await session.send(EVENT, 81, 6, {"topic": "c.d"}, [2])
    assert [(event["event"], event["args"]) for event in await client.events(2)] == [("a.b", [1]), ("c.d", [2])]


async def test_an_event_right_behind_its_subscription_is_not_lost(daemons, router):
    daemon = await daemons()
    client = await subscriber(daemon, router)
    session = await router.joined()
    request = (await session.receive(SUBSCRIBE))[1]
    await session.raw(f"[33,{request},70]", '[36,70,1,{},["early"]]')
    assert (await client.event())["args"] == ["early"]


async def test_a_subscription_dropped_while_its_answer_is_awaited_is_given_back(daemons, router):
    daemon = await daemons()
    client = await subscriber(daemon, router, "a.b")
    session = await router.serve()
    await client.call("wait", url=router.url, state="connected", timeout=5000)
    other = await daemon.client()
    other.post("subscribe", url=router.url, events=["c.d"])
    request = await session.receive(SUBSCRIBE)
    await other.close()
    await daemon.until(lambda status: len(status["clients"]) <= 2, "the client to go")
    await session.send(SUBSCRIBED, request[1], 71)
    message = await session.receive(UNSUBSCRIBE)
    assert message[2] == 71
    await session.send(UNSUBSCRIBED, message[1])
    await session.send(EVENT, 70, 1, {}, [1])
    assert (await client.event())["args"] == [1]


async def test_a_topic_wanted_while_it_is_given_back_is_asked_for_again(daemons, router):
    daemon = await daemons()
    keeper = await subscriber(daemon, router, "z.z")
    session = await router.serve()
    await keeper.call("wait", url=router.url, state="connected", timeout=5000)
    future = keeper.post("subscribe", url=router.url, events=["a.b"])
    request = await session.receive(SUBSCRIBE)
    await session.send(SUBSCRIBED, request[1], 71)
    reply = await keeper.result(future)
    await keeper.call("unsubscribe", subscription=reply["subscription"])
    gone = await session.receive(UNSUBSCRIBE)
    future = keeper.post("subscribe", url=router.url, events=["a.b"])
    await keeper.call("ping")
    await session.send(UNSUBSCRIBED, gone[1])
    again = await session.receive(SUBSCRIBE)
    await session.send(SUBSCRIBED, again[1], 72)
    await keeper.result(future)


async def test_a_revoked_subscription_is_told_and_the_session_goes_on(daemons, router):
    daemon = await daemons()
    client = await subscriber(daemon, router)
    session = await router.serve()
    await client.call("wait", url=router.url, state="connected", timeout=5000)
    await session.send(UNSUBSCRIBED, 0, {"subscription": 70, "reason": "wamp.subscription.revoked"})
    _, gap = await client.note("gap")
    assert gap["reason"] == "upstream" and "wamp.subscription.revoked" in gap["detail"]
    assert (await daemon.connection())["state"] == "connected"


async def test_a_subscription_refused_after_a_reconnect_is_told(daemons, router):
    daemon = await daemons()
    client = await subscriber(daemon, router)
    session = await router.joined()
    request = await session.receive(SUBSCRIBE)
    await session.send(ERROR, SUBSCRIBE, request[1], {}, "wamp.error.not_authorized", ["no"])
    await client.call("wait", url=router.url, state="connected", timeout=5000)
    _, gap = await client.note("gap")
    assert gap["reason"] == "upstream" and "wamp.error.not_authorized" in gap["detail"]


async def test_an_event_without_its_topic_is_a_gap(daemons, router):
    daemon = await daemons()
    client = await subscriber(daemon, router, "a.*")
    session = await router.serve()
    await session.send(EVENT, 70, 1, {}, [1])
    _, gap = await client.note("gap")
    assert gap["reason"] == "undecodable"


# Requests


async def test_request_ids_have_no_gap_whatever_is_asked(daemons, router):
    daemon = await daemons()
    client = await subscriber(daemon, router)
    session = await router.serve()
    await client.call("wait", url=router.url, state="connected", timeout=5000)
    await client.call("send", url=router.url, event="a.b", args=[1], delivery="sent")
    call = client.post("request", url=router.url, event="c.d")
    acked = client.post("send", url=router.url, event="a.b", delivery="acked")
    ids = [(await session.receive())[1] for _ in range(3)]
    assert ids == [2, 3, 4]
    await session.send(RESULT, 3, {}, ["x"])
    await session.send(PUBLISHED, 4, 99)
    assert (await client.result(call))["args"] == ["x"]
    assert (await client.result(acked))["args"] == [99]


async def test_an_unacknowledged_publish_is_never_answered(daemons, router):
    daemon = await daemons()
    client = await subscriber(daemon, router)
    session = await router.serve()
    await client.call("wait", url=router.url, state="connected", timeout=5000)
    await client.call("send", url=router.url, event="a.b", args=[1], kwargs={"k": 1}, delivery="sent")
    assert await session.receive() == [PUBLISH, 2, {"exclude_me": False}, "a.b", [1], {"k": 1}]
    await session.send(ERROR, PUBLISH, 2, {}, "wamp.error.not_authorized")
    assert (await session.until_closed())[-1][2] == "wamp.error.protocol_violation"


async def test_a_late_answer_to_what_was_given_up_is_ignored(daemons, router):
    daemon = await daemons()
    client = await subscriber(daemon, router)
    session = await router.serve()
    await client.call("wait", url=router.url, state="connected", timeout=5000)
    await client.fails("AckTimeout", "request", url=router.url, event="c.d", timeout=100)
    call = await session.receive(CALL)
    assert await session.receive(CANCEL) == [CANCEL, call[1], {"mode": "killnowait"}]
    await session.send(RESULT, call[1], {"progress": True}, [1])
    await session.send(RESULT, call[1], {}, ["late"])
    await session.send(EVENT, 70, 1, {}, ["next"])
    assert (await client.event())["args"] == ["next"]


async def test_an_interrupt_ends_an_invocation(daemons, router):
    daemon = await daemons()
    client = await subscriber(daemon, router, "a.b", answer=True)
    session = await router.joined()
    await session.registered(90)
    await session.send(INVOCATION, 1, 90, {}, [1])
    ack = (await client.event())["ack"]
    await session.send(INTERRUPT, 1, {"mode": "kill"})
    assert await session.receive() == [ERROR, INVOCATION, 1, {}, "wamp.error.canceled"]
    await client.fails("AckGone", "respond", ack=ack)
    await session.send(INVOCATION, 2, 90, {}, [2])
    await client.call("respond", ack=(await client.event())["ack"], args=["ok"])
    assert await session.receive() == [YIELD, 2, {}, ["ok"]]


async def test_the_heartbeat_notices_a_silent_router(daemons, router):
    heartbeat = {"interval": "100ms", "timeout": "200ms"}
    daemon = await daemons({"defaults": {"heartbeat": heartbeat, "reconnect": {"base": "1h", "cap": "1h"}}})
    await subscriber(daemon, router)
    await router.serve()
    connection = await down(daemon)
    assert connection["reason"] == "heartbeat"


# Authentication


async def challenged(daemons, router, auth, **members):
    """A daemon with these credentials, and the router's session right behind HELLO."""
    daemon = await daemons({"defaults": {"reconnect": {"base": "1h", "cap": "1h"}},
                            "upstream": {"w": {"url": router.url, "auth": auth, "keep": "always", **members}}})
    session = await router.session()
    await session.upgrade()
    session.hello = await session.receive(HELLO)
    return daemon, session


async def test_a_router_that_denies_at_the_first_name_it_does_not_know_is_offered_each_method_alone(daemons, router):
    daemon, session = await challenged(daemons, router, {"authid": "jo", "secret": "pencil"})
    offers = []
    while True:
        offers.append(session.hello[2]["authmethods"])
        if offers[-1] == ["wampcra"]:
            break
        await session.send(ABORT, {"message": "invalid authmethod"}, "wamp.error.not_authorized")
        session = await router.session()
        await session.upgrade()
        session.hello = await session.receive(HELLO)
    assert offers == [["scram", "wamp-scram", "wampcra"], ["scram"], ["wamp-scram"], ["wampcra"]]
    await session.send(WELCOME, 7, {"roles": {"broker": {}, "dealer": {}}})
    await daemon.connected(upstream="w")
    # What was accepted comes first the next time.
    await session.close()
    client = await daemon.client()
    await client.call("reconnect", upstream="w")
    session = await router.session()
    await session.upgrade()
    assert (await session.receive(HELLO))[2]["authmethods"] == ["wampcra"]


async def test_a_realm_that_does_not_exist_is_no_reason_to_offer_another_method(daemons, router):
    daemon, session = await challenged(daemons, router, {"authid": "jo", "secret": "pencil"})
    await session.send(ABORT, {}, "wamp.error.no_such_realm")
    await daemon.until(lambda status: status["connections"][0]["reason"] == "refused", "the refusal")
    assert (await daemon.connection())["generation"] == 1


async def test_the_specifications_scram_is_spoken_too(daemons, router):
    daemon, session = await challenged(daemons, router, {"authid": "jo=e", "secret": "pencil", "method": "wamp-scram"})
    details = session.hello[2]
    assert details["authmethods"] == ["wamp-scram"]
    nonce, salt = details["authextra"]["nonce"], base64.b64encode(b"0123456789abcdef").decode()
    await session.send(CHALLENGE, "wamp-scram", {
        "nonce": nonce + "c2VydmVy", "salt": salt, "kdf": "pbkdf2", "iterations": 4096})
    _, proof, extra = await session.receive(AUTHENTICATE)
    assert extra == {"nonce": nonce + "c2VydmVy", "channel_binding": None, "cbind_data": None}
    salted = hashlib.pbkdf2_hmac("sha256", b"pencil", b"0123456789abcdef", 4096, 32)
    message = (f"n=jo=3De,r={nonce},r={nonce}c2VydmVy,s={salt},i=4096,c=biws,r={nonce}c2VydmVy").encode()

    def mac(key, data):
        return hmac.new(key, data, hashlib.sha256).digest()

    client_key = mac(salted, b"Client Key")
    signature = mac(hashlib.sha256(client_key).digest(), message)
    assert base64.b64decode(proof) == bytes(a ^ b for a, b in zip(client_key, signature))
    verifier = base64.b64encode(mac(mac(salted, b"Server Key"), message)).decode()
    await session.send(WELCOME, 7, {"roles": {"broker": {}, "dealer": {}}, "authextra": {"verifier": "v=" + verifier}})
    await daemon.connected(upstream="w")


async def test_a_router_that_cannot_prove_itself_is_left(daemons, router):
    daemon, session = await challenged(daemons, router, {"authid": "joe", "secret": "pencil", "method": "wamp-scram"})
    nonce = session.hello[2]["authextra"]["nonce"]
    await session.send(CHALLENGE, "wamp-scram", {
        "nonce": nonce + "x", "salt": "MDEyMzQ1Njc4OWFiY2RlZg==", "kdf": "pbkdf2", "iterations": 4096})
    await session.receive(AUTHENTICATE)
    await session.send(WELCOME, 7, {"roles": {"broker": {}}, "authextra": {"verifier": "AAAA"}})
    assert (await session.until_closed())[-1][0] == ABORT
    connection = await down(daemon)
    assert connection["reason"] == "auth" and "could not prove" in connection["detail"]


@pytest.mark.parametrize("extra, words", [
    ({"salt": "s", "iterations": 1}, "only 1 iterations"),
    ({"salt": "s", "iterations": 2**40}, "more than"),
    ({}, "without its text"),
])
async def test_a_challenge_that_would_give_the_password_away_is_declined(daemons, router, extra, words):
    daemon, session = await challenged(daemons, router, {"authid": "joe", "secret": "pencil", "method": "wampcra"})
    challenge = {"challenge": "x", **extra} if extra else {}
    await session.send(CHALLENGE, "wampcra", challenge)
    (last,) = await session.until_closed()
    assert last[0] == ABORT and last[2] == "wamp.error.authentication_failed"
    connection = await down(daemon)
    assert connection["reason"] == "auth" and words in connection["detail"]
    assert "pencil" not in json.dumps(connection) + daemon.text()


async def test_a_method_that_was_not_offered_gets_nothing(daemons, router):
    daemon, session = await challenged(daemons, router, {"authid": "joe", "secret": "pencil"})
    await session.send(CHALLENGE, "ticket", {})
    (last,) = await session.until_closed()
    assert last[0] == ABORT
    assert (await down(daemon))["reason"] == "auth"


async def test_two_challenges_may_follow_one_another(daemons, router):
    daemon, session = await challenged(daemons, router, {"authid": "joe", "ticket": "t", "secret": "x"})
    assert session.hello[2]["authmethods"] == ["scram", "wamp-scram", "wampcra", "ticket"]
    await session.send(CHALLENGE, "ticket", {})
    assert (await session.receive(AUTHENTICATE))[1] == "t"
    await session.send(CHALLENGE, "wampcra", {"challenge": "y"})
    await session.receive(AUTHENTICATE)
    await session.send(WELCOME, 7, {"roles": {"broker": {}}})
    await daemon.connected(upstream="w")


async def test_a_key_is_worked_out_while_the_others_are_served(daemons, router):
    """The cost is one that takes a good part of a second."""
    daemon, session = await challenged(daemons, router, {"authid": "joe", "secret": "pencil", "method": "wampcra"})
    client = await daemon.client()
    await client.call("ping")
    answer = asyncio.ensure_future(session.receive(AUTHENTICATE))
    longest = 0.0
    loop = asyncio.get_running_loop()
    began = loop.time()
    await session.send(CHALLENGE, "wampcra", {"challenge": "x", "salt": "s", "iterations": 2_000_000})
    while not answer.done():
        before = loop.time()
        await client.call("ping")
        longest = max(longest, loop.time() - before)
    await answer
    # Who waited for the key would have waited for nearly all of the time.
    assert longest < (loop.time() - began) / 2, (longest, loop.time() - began)


@pytest.mark.parametrize("auth, words", [
    ({"ticket": "t"}, "authid"),
    ({"authid": "joe", "password": "t"}, "member that WAMP does not know"),
    ({"key": "xyz"}, "64 hexadecimal digits"),
])
async def test_credentials_that_make_no_sense_are_explained(daemons, router, auth, words):
    daemon = await daemons({"defaults": {"reconnect": {"base": "1h", "cap": "1h"}},
                            "upstream": {"w": {"url": router.url, "auth": auth, "keep": "always"}}})
    await (await router.session()).upgrade()
    connection = await down(daemon)
    assert connection["reason"] == "auth" and words in connection["detail"]


# Configuration


async def test_a_realm_is_needed(daemons, router):
    client = await (await daemons()).client()
    error = await client.fails("InvalidParams", "status", url=router.url.partition("#")[0])
    assert "realm" in error.message


async def test_the_realm_may_be_configured(daemons, router):
    url = router.url.partition("#")[0]
    daemon = await daemons({"upstream": {"w": {"url": url, "wamp": {"realm": "com.example.r"}, "keep": "always"}}})
    assert (await router.joined()).hello[1] == "com.example.r"
    await daemon.connected(upstream="w")


async def test_a_namespace_means_nothing_to_wamp(daemons, router):
    client = await (await daemons()).client()
    await client.fails("InvalidParams", "send", url=router.url, namespace="/x", event="a.b")


async def test_two_realms_are_two_connections(daemons, router):
    daemon = await daemons()
    client = await daemon.client()
    await client.call("subscribe", url=router.url, events=["a.b"])
    await client.call("subscribe", url=router.url.replace("realm1", "realm2"), events=["a.b"])
    realms = {(await router.joined()).hello[1] for _ in range(2)}
    assert realms == {"realm1", "realm2"}


async def test_the_credentials_do_not_follow_a_redirect_to_another_host(daemons, router, peer):
    async def redirects(link):
        await link.read_request()
        await link.respond("302 Found", headers=f"Location: ws://localhost:{router.port}/\r\n")
        await link.close()

    peer.script = redirects
    daemon = await daemons({
        "defaults": {"reconnect": {"base": "1h", "cap": "1h"}},
        "upstream": {"chat": {"url": f"wamp+ws://127.0.0.1:{peer.port}/ws#realm1", "redirects": "any",
                              "auth": {"authid": "alice", "ticket": "wonder-ticket"}}}})
    client = await daemon.client()
    await client.call("subscribe", upstream="chat", events=["a.b"])
    session = await router.session()
    await session.upgrade()
    assert await session.until_closed() == []
    connection = await down(daemon)
    assert connection["reason"] == "auth" and "another host" in connection["detail"]
