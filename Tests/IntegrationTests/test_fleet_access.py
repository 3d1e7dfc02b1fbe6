"""Who may do what in a fleet is decided by each host's own `[[access]]`."""

import pytest

from fleet_hosts import another, holder, hosts, needs_redis, ready, redis  # pylint: disable=unused-import
from users import ALICE, OPS, client_as

pytestmark = [needs_redis, pytest.mark.root]


async def test_rights_are_those_of_the_host_that_is_asked_and_a_list_has_what_the_caller_may_see(daemons, redis, chat):
    def configured(name, *rules):
        return {"socket": {"mode": "0666"}, "access": [*rules, {"user": OPS, "upstream": ["secret"], "allow": ["status"]}],
                "fleet": {"name": "test", "redis": [redis.url], "host": name, "lease": "1s"},
                "upstream": {one: {"url": chat.url, "fleet": True, "keep": "always"} for one in ("chat", "secret")}}

    strict = await daemons(configured("strict", {"user": ALICE, "upstream": ["chat"], "allow": ["status"]}))
    open_to_her = await daemons(configured("open", {"user": ALICE, "upstream": ["chat"], "allow": ["subscribe", "send"]}))
    for host in (strict, open_to_her):
        await ready(host)
    alice = await client_as(strict, ALICE)
    assert [one["upstream"] for one in (await alice.call("fleet.list"))["upstreams"]] == ["chat"]
    for method, params in (("fleet.move", {"upstream": "chat"}), ("fleet.leave", {}), ("fleet.forget", {"host": "open"}),
                           ("send", {"upstream": "chat", "event": "d", "args": [1]}), ("subscribe", {"upstream": "chat"})):
        await alice.fails("PermissionDenied", method, params)
    there = await client_as(open_to_her, ALICE)
    await there.call("subscribe", upstream="chat", events=["e"])
    await there.call("send", upstream="chat", event="d", args=[2])
    assert [one["args"] for one in await chat.received(1, "d")] == [[2]]
    await there.fails("PermissionDenied", "send", upstream="secret", event="d", args=[3])


async def test_what_disconnect_closes_on_the_host_with_the_link_is_open_at_another_one_after_yield(hosts, chat):
    two = await hosts(2, {"yield": "1s"})
    for host in two:
        await ready(host)
    first = await holder(two)
    second = another(two, first)
    client, other = await ready(first), await ready(second)
    await client.call("disconnect", upstream="chat")
    assert await holder([second]) is second
    assert (await other.call("request", upstream="chat", event="echo", args=["x"]))["args"] == ["x"]
    # This host's programs stay disconnected until it is told otherwise.
    error = await client.fails("UpstreamDown", "request", upstream="chat", event="echo", args=["x"], no_queue=True)
    assert error.data["reason"] == "requested", error.data
    await client.call("reconnect", upstream="chat")
    assert (await client.call("request", upstream="chat", event="echo", args=["y"]))["args"] == ["y"]
    assert (await chat.counters())["links"] == 1
