"""Who may do what, by the credentials of the socket's peer."""

import pytest

from users import ALICE, BOB, OPS, STAFF, as_user, client_as

pytestmark = pytest.mark.root

OPEN = {"socket": {"mode": "0666"}}


async def test_hello_tells_a_program_who_it_is(daemons):
    daemon = await daemons(OPEN)
    client = await client_as(daemon, ALICE, STAFF)
    you = (await client.call("hello"))["you"]
    assert (you["uid"], you["gid"]) == (ALICE, STAFF)
    assert you["rights"] == ["status", "subscribe", "send"]


async def test_the_daemons_own_user_is_an_administrator(daemons, folder):
    folder.chmod(0o777)
    daemon = await daemons(OPEN, wrapper=as_user(BOB))
    for uid, admin in ((BOB, True), (0, True), (ALICE, False)):
        client = await client_as(daemon, uid)
        assert ("admin" in (await client.call("hello"))["you"]["rights"]) is admin


ADMIN_CALLS = [
    ("reload", {}), ("clients.kick", {"client": "c1"}), ("disconnect", {"upstream": "chat"}),
    ("reconnect", {"upstream": "chat"}), ("release", {"upstream": "chat"})]


@pytest.mark.parametrize("method, params", ADMIN_CALLS)
async def test_what_administrates_needs_the_right_admin(daemons, peer, method, params):
    daemon = await daemons({**OPEN, "upstream": {"chat": {"url": peer.url}}})
    client = await client_as(daemon, ALICE)
    error = await client.fails("PermissionDenied", method, params)
    assert error.data["need"] == "admin"


async def test_programs_of_two_users_share_a_configured_upstream(daemons, chat):
    daemon = await daemons({**OPEN, "upstream": {"chat": {"url": chat.url}}})
    for uid in (ALICE, BOB):
        client = await client_as(daemon, uid)
        assert (await client.call("request", upstream="chat", event="echo", args=[uid]))["args"] == [uid]
    assert (await chat.counters())["links_ever"] == 1


async def test_adhoc_connections_of_two_users_are_kept_apart(daemons, chat):
    daemon = await daemons(OPEN)
    for uid, gid in ((ALICE, STAFF), (ALICE, OPS), (BOB, STAFF)):
        client = await client_as(daemon, uid, gid)
        await client.call("request", url=chat.url, event="echo")
    assert (await chat.counters())["links"] == 2
    assert len((await daemon.status())["connections"]) == 2


async def test_a_program_sees_only_its_own_users_connections_and_clients(daemons, chat):
    daemon = await daemons({**OPEN, "upstream": {"shared": {"url": chat.url + "/chat"}}})
    alice, bob = await client_as(daemon, ALICE), await client_as(daemon, BOB)
    await alice.call("request", url=chat.url, event="echo")
    await bob.call("request", upstream="shared", event="echo")
    for client, uid, seen in ((alice, ALICE, {None, "shared"}), (bob, BOB, {"shared"})):
        status = await client.call("status")
        assert {one["upstream"] for one in status["connections"]} == seen
        assert {one["uid"] for one in status["clients"]} == {uid}
        assert {one["uid"] for one in (await client.call("clients.list"))["clients"]} == {uid}
    status = await daemon.status()
    assert len(status["connections"]) == 2 and {one["uid"] for one in status["clients"]} == {0, ALICE, BOB}


async def test_the_names_of_upstreams_are_told_to_those_who_may_use_them_in_any_way(daemons):
    daemon = await daemons({
        **OPEN, "upstream": {name: {"url": f"http://127.0.0.1:1/{name}"} for name in ("open", "secret", "hidden")},
        "access": [{"user": BOB, "upstream": ["secret"], "allow": ["send"]},
                   {"user": OPS, "upstream": ["hidden"], "allow": ["status"]}]})
    for uid, seen in ((0, {"open", "secret", "hidden"}), (ALICE, {"open"}), (BOB, {"open", "secret"})):
        client = await client_as(daemon, uid)
        answer = await client.call("upstreams.list")
        assert (set(answer["upstreams"]), answer["left_out"]) == (seen, 0)
        assert not (await daemon.status())["connections"], "asking for names makes no connection"


async def test_the_status_of_another_users_connection_is_empty(daemons, chat):
    daemon = await daemons(OPEN)
    alice, bob = await client_as(daemon, ALICE), await client_as(daemon, BOB)
    await alice.call("request", url=chat.url, event="echo")
    assert (await bob.call("status", url=chat.url))["connections"] == []


CALLS = {
    "status": ("status", {}), "subscribe": ("subscribe", {}), "send": ("send", {"event": "e"}),
    "admin": ("disconnect", {})}


@pytest.mark.parametrize("allowed", [[], ["status"], ["subscribe"], ["send"], ["status", "subscribe", "send"],
                                     ["admin"], ["status", "admin"]])
async def test_each_verb_is_allowed_only_where_the_rule_says_so(daemons, peer, allowed):
    rules = [{"user": BOB, "upstream": ["chat"], "allow": ["status"]}]
    if allowed:
        rules.append({"user": ALICE, "upstream": ["chat"], "allow": allowed})
    daemon = await daemons({**OPEN, "upstream": {"chat": {"url": peer.url}}, "access": rules})
    client = await client_as(daemon, ALICE)
    root = await daemon.client()
    await root.call("subscribe", upstream="chat")
    await peer.session()
    for verb, (method, params) in CALLS.items():
        if verb in allowed:
            await client.call(method, {"upstream": "chat", **params})
        else:
            error = await client.fails("PermissionDenied", method, {"upstream": "chat", **params})
            assert error.data["need"] == verb


async def test_a_rule_for_a_group_holds_for_primary_and_supplementary_groups(daemons, peer):
    daemon = await daemons({
        **OPEN, "upstream": {"chat": {"url": peer.url}},
        "access": [{"group": OPS, "upstream": ["chat"], "allow": ["status", "subscribe", "send"]}]})
    for gid, groups, allowed in ((OPS, (), True), (STAFF, (OPS,), True), (STAFF, (54103, OPS, 54104), True),
                                 (STAFF, (), False)):
        client = await client_as(daemon, ALICE, gid, groups)
        if allowed:
            await client.call("subscribe", upstream="chat")
        else:
            await client.fails("PermissionDenied", "subscribe", upstream="chat")


async def test_a_rule_leaves_the_upstreams_it_does_not_name_alone(daemons, peer):
    daemon = await daemons({
        **OPEN, "upstream": {"secret": {"url": peer.url + "/a"}, "open": {"url": peer.url + "/b"}},
        "access": [{"user": BOB, "upstream": ["sec*"], "allow": ["send"]}]})
    alice = await client_as(daemon, ALICE)
    await alice.fails("PermissionDenied", "send", upstream="secret", event="e")
    await alice.call("send", upstream="open", event="e")
    assert {one["upstream"] for one in (await alice.call("status"))["connections"]} <= {"open"}


async def test_a_misspelt_name_is_corrected_only_to_one_that_may_be_used(daemons, peer):
    daemon = await daemons({
        **OPEN, "upstream": {"secret": {"url": peer.url + "/a"}, "open": {"url": peer.url + "/b"}},
        "access": [{"user": BOB, "upstream": ["secret"], "allow": ["send"]}]})
    alice = await client_as(daemon, ALICE)
    assert "secret" not in (await alice.fails("UpstreamUnknown", "send", upstream="secrt", event="e")).message
    assert "did you mean 'open'?" in (await alice.fails("UpstreamUnknown", "send", upstream="opne", event="e")).message
    bob = await client_as(daemon, BOB)
    assert "did you mean 'secret'?" in (await bob.fails("UpstreamUnknown", "send", upstream="secrt", event="e")).message


async def test_a_url_does_not_get_around_the_rules_of_its_upstream(daemons, peer):
    daemon = await daemons({
        **OPEN, "upstream": {"secret": {"url": peer.url}},
        "access": [{"user": BOB, "upstream": ["secret"], "allow": ["send"]}]})
    alice = await client_as(daemon, ALICE)
    await alice.fails("PermissionDenied", "send", url=peer.url, event="e")
    await alice.fails("PermissionDenied", "send", url=peer.url + "/", event="e")


async def test_root_needs_no_rule(daemons, peer):
    daemon = await daemons({
        **OPEN, "upstream": {"chat": {"url": peer.url}}, "access": [{"user": BOB, "upstream": ["chat"], "allow": ["send"]}]})
    client = await daemon.client()
    await client.call("subscribe", upstream="chat", state=True)
    await peer.session()
    await client.state_until("connected")
    await client.call("disconnect", upstream="chat")


async def test_a_program_without_the_right_to_open_the_socket_cannot_connect(daemons, folder):
    daemon = await daemons({"socket": {"mode": "0600"}})
    with pytest.raises(PermissionError):
        await client_as(daemon, ALICE)


async def test_no_more_clients_of_one_user_than_the_limit(daemons):
    daemon = await daemons({**OPEN, "limits": {"clients_per_user": 3}})
    for _ in range(3):
        await (await client_as(daemon, ALICE)).call("ping")
    refused = await client_as(daemon, ALICE)
    await refused.until_closed()
    assert all(one["error"]["data"]["type"] == "QuotaExceeded" for one in refused.strays)
    assert await (await client_as(daemon, BOB)).call("ping") == {}


async def test_a_key_belongs_to_one_user(daemons, chat):
    daemon = await daemons({**OPEN, "upstream": {"chat": {"url": chat.url}}})
    for uid in (ALICE, BOB):
        client = await client_as(daemon, uid)
        assert not (await client.call("send", upstream="chat", event="pay", args=[uid], key="k")).get("duplicate")
    assert len(await chat.received(2, "pay")) == 2


async def test_another_users_client_cannot_be_found_and_kicked(daemons):
    daemon = await daemons(OPEN)
    alice, bob = await client_as(daemon, ALICE), await client_as(daemon, BOB)
    (target,) = (await alice.call("clients.list"))["clients"]
    await bob.fails("PermissionDenied", "clients.kick", client=target["client"])
    assert await alice.call("ping") == {}


def limited(peer, allow):
    return {**OPEN, "upstream": {"chat": {"url": peer.url}},
            "access": [{"user": ALICE, "upstream": ["chat"], "allow": allow}]}


async def test_a_durable_send_does_not_leave_after_the_right_to_send_was_taken(daemons, peer):
    await peer.refuse()
    daemon = await daemons(limited(peer, ["status", "send"]))
    alice, root = await client_as(daemon, ALICE), await daemon.client()
    sent = await alice.call("send", upstream="chat", event="secret", delivery="durable")
    daemon.configure(limited(peer, ["status"]))
    await root.call("reload")
    for params in ({"ids": [sent["id"]]}, {"upstream": "chat"}):
        assert (await alice.fails("PermissionDenied", "outbox.retry", params)).data["need"] == "send"
    (entry,) = (await alice.call("outbox.list"))["entries"]
    assert (entry["state"], entry["reason"]) == ("queued", "permission")
    await peer.start()
    await root.call("send", upstream="chat", event="allowed")
    link = await peer.session()
    await link.expect('42["allowed"]')
    await root.call("disconnect", upstream="chat")
    daemon.configure(limited(peer, ["status", "send"]))
    await root.call("reload")
    await root.call("reconnect", upstream="chat")
    link = await peer.session()
    await link.expect('42["secret"]')


async def test_what_waits_is_not_listed_without_the_right_to_the_status(daemons, peer):
    await peer.refuse()
    daemon = await daemons(limited(peer, ["send"]))
    alice = await client_as(daemon, ALICE)
    await alice.call("send", upstream="chat", event="e", delivery="durable")
    assert (await alice.fails("PermissionDenied", "outbox.list", upstream="chat")).data["need"] == "status"
    assert (await alice.call("outbox.list"))["entries"] == []


async def test_a_send_stored_by_url_does_not_leave_through_an_upstream_that_is_forbidden_by_then(daemons, peer):
    await peer.refuse()
    daemon = await daemons(OPEN)
    alice = await client_as(daemon, ALICE)
    sent = await alice.call("send", url=peer.url, event="e", delivery="durable")
    await daemon.stop()
    daemon.configure({
        **OPEN, "upstream": {"secret": {"url": peer.url, "headers": {"X-Key": "k"}}},
        "access": [{"user": BOB, "upstream": ["secret"], "allow": ["send"]}]})
    await daemon.start()
    await peer.start()
    root = await daemon.client()
    await root.call("send", upstream="secret", event="allowed")
    link = await peer.session()
    await link.expect('42["allowed"]')
    (entry,) = (await root.call("outbox.list", ids=[sent["id"]]))["entries"]
    assert (entry["state"], entry["reason"]) == ("queued", "permission")
    assert (await root.call("status"))["connections"][0]["out"]["events"] == 1


async def test_connections_by_url_end_when_they_are_not_allowed_any_more(daemons, peer):
    daemon = await daemons(OPEN)
    alice, root = await client_as(daemon, ALICE), await daemon.client()
    await alice.call("subscribe", url=peer.url, state=True)
    await peer.session()
    await alice.state_until("connected")
    daemon.configure({**OPEN, "defaults": {"adhoc": False}})
    await root.call("reload")
    await alice.until_closed()
    assert (await alice.note("goodbye"))[1]["reason"] == "permission"
    assert all(one["state"] == "disconnected" for one in (await root.call("status"))["connections"])
