"""What a fleet shows and is told: status, list, moving and leaving, hosts that disagree, a Redis that refuses."""

import asyncio
import json
import re

import pytest

from fleet_hosts import hosts, needs_redis, ready, redis  # pylint: disable=unused-import
from local_client import CallError
from patience import SOON, end, within
from programs import GATEWAYCTL
from terminal import on_terminal

pytestmark = needs_redis


def fleet(status, role="follower"):
    """The member `fleet` of one of the connections; None without that one."""
    return next((one["fleet"] for one in status["connections"] if one.get("fleet", {}).get("role") == role), None)


async def listed(client, holds, what, patience=4 * SOON):
    """Asks for `fleet.list` until it satisfies `holds`; returns it."""
    async def ask():
        while not holds(result := await client.call("fleet.list")):
            await asyncio.sleep(0.02)
        return result

    return await within(ask(), what, patience)


def holder(result):
    return result["upstreams"][0]["holder"]


async def test_status_shows_who_holds_and_by_which_redis(hosts, redis):
    two = await hosts(2)
    clients = [await ready(host) for host in two]
    assert "fleet" in (await clients[0].call("hello"))["features"]
    shown = [await host.until(
        lambda status: fleet(status) and fleet(status)["holder"] and fleet(status)["hosts"] == 2
        and fleet(status)["redis"]["rtt"], "both hosts to know each other", 4 * SOON) for host in two]
    (name,) = {fleet(status)["holder"] for status in shown}
    for number, status in enumerate(shown):
        one = fleet(status)
        assert one["host"] == f"h{number}" and one["holds"] == (one["host"] == name)
        assert (fleet(status, "holder") is not None) == one["holds"]
        assert one["term"] >= 1 and one["conversation"] >= 1 and 0 <= one["lease"] <= 1_000
        assert (one["behind"], one["unconfirmed"], one["carried"], one["warning"]) == (0, 0, 0, None)
        assert one["redis"]["state"] == "working" and one["redis"]["server"] == redis.url.removeprefix("redis://")
        assert (one["redis"]["reason"], one["redis"]["detail"]) == (None, None)


async def test_every_host_lists_the_same_fleet(hosts):
    three = await hosts(2) + await hosts(1, fleet={"hold": "never"})
    clients = [await ready(host) for host in three]
    lists = [await listed(client, lambda one: len(one["hosts"]) == 3 and all(
        host["alive"] or host["here"] for host in one["hosts"]) and one["upstreams"][0]["open"], "three hosts")
             for client in clients]
    for number, one in enumerate(lists):
        assert (one["name"], one["host"], one["warning"]) == ("test", f"h{number}", None)
        assert [(host["host"], host["may_hold"], host["here"], host["speaks"]) for host in one["hosts"]] == [
            ("h0", True, number == 0, 1), ("h1", True, number == 1, 1), ("h2", False, number == 2, 1)]
        assert {host["version"] for host in one["hosts"]} != {None}
        assert [host["upstreams"][0]["differs"] for host in one["hosts"]] == [[], [], []]
        (upstream,) = one["upstreams"]
        assert [host["host"] for host in one["hosts"] if host["upstreams"][0]["holds"]] == [upstream["holder"]]
        assert upstream["since"] and upstream["epoch"] and upstream["objection"] is None
    assert len({(one["upstreams"][0]["holder"], one["upstreams"][0]["term"], one["upstreams"][0]["epoch"])
                for one in lists}) == 1


async def test_a_host_that_prefers_takes_the_link_before_others(hosts):
    # The others wait for a third of a lease.
    (first,) = await hosts(1, fleet={"lease": "6s"})
    await ready(first)
    # Its name is the last one of all, and it was the last to come.
    others = await hosts(2, fleet={"lease": "6s"}) + await hosts(1, fleet={"lease": "6s", "hold": "prefer"})
    clients = [await ready(host) for host in others]
    # It takes nothing from a host that has it; the others know it by then.
    for client in clients:
        known = await listed(client, lambda one: len(one["hosts"]) == 4 and all(
            host["alive"] or host["here"] for host in one["hosts"]), "four hosts")
        assert holder(known) == "h0"
    await first.stop()
    assert holder(await listed(clients[0], lambda one: holder(one) not in (None, "", "h0"), "another holder")) == "h3"


async def test_a_link_moves_to_the_named_host_whoever_is_asked(hosts, chat):
    three = await hosts(3)
    clients = [await ready(host) for host in three]
    names = ["h0", "h1", "h2"]
    await listed(clients[0], lambda one: len(one["hosts"]) == 3 and holder(one), "three hosts and a holder")
    for number in range(4):
        present = holder(await clients[0].call("fleet.list"))
        target = [name for name in names if name != present][number % 2]
        asked = clients[number % 3]
        moved = await asked.call("fleet.move", upstream="chat", host=target)
        assert (moved["upstream"], moved["namespace"], moved["holder"]) == ("chat", "/", target)
        result = await listed(asked, lambda one: holder(one) == target and one["upstreams"][0]["open"], "the link there")
        assert result["upstreams"][0]["next"] is None and result["upstreams"][0]["term"] == moved["term"]
        assert (await asked.call("request", upstream="chat", event="echo", args=[number]))["args"] == [number]
    present = holder(await clients[0].call("fleet.list"))
    stayed = await clients[1].call("fleet.move", upstream="chat", host=present)
    assert (stayed["holder"], stayed["already"]) == (present, True) and "already" not in moved
    assert (await clients[1].call("fleet.move", upstream="chat"))["holder"] != present


class Senders:
    """Programs of several hosts, each of which sends its numbers from 0 all the time; nothing is told them but `accepted`."""

    def __init__(self, chat, clients):
        self.chat = chat
        self.counts = [0] * len(clients)
        self.over = asyncio.Event()
        self.tasks = [asyncio.create_task(self._send(part, client)) for part, client in enumerate(clients)]

    async def _send(self, part, client):
        while not self.over.is_set():
            await client.call("send", upstream="chat", event="e", args=[part, self.counts[part]])
            self.counts[part] += 1
            await asyncio.sleep(0.002)

    async def more(self):
        """Waits until the server has all that was sent, and some more."""
        await self.chat.received(sum(self.counts) + 20, "e")

    async def check(self):
        """Sends no more; everything must have arrived, once and in order."""
        self.over.set()
        await within(asyncio.gather(*self.tasks), "the last sends to be accepted")
        received = await self.chat.received(sum(self.counts), "e")
        for part, count in enumerate(self.counts):
            assert [one["args"][1] for one in received if one["args"][0] == part] == list(range(count)), part


async def test_a_link_that_moves_loses_no_accepted_send_and_writes_none_twice(hosts, chat):
    two = await hosts(2)
    clients = [await ready(host) for host in two]
    await listed(clients[0], lambda one: len(one["hosts"]) == 2 and holder(one), "two hosts and a holder")
    asked = await two[0].client()
    senders = Senders(chat, clients)
    try:
        for _ in range(6):
            await senders.more()
            target = "h1" if holder(await asked.call("fleet.list")) == "h0" else "h0"
            assert (await asked.call("fleet.move", upstream="chat", host=target))["holder"] == target
        await senders.more()
        await senders.check()
    finally:
        await end(senders.tasks)


async def test_a_host_that_is_stopped_in_order_loses_no_accepted_send_of_another(hosts, chat):
    (first,) = await hosts(1)
    await ready(first)
    (other,) = await hosts(1)
    client = await ready(other)
    await listed(client, lambda one: len(one["hosts"]) == 2 and holder(one) == "h0", "two hosts and a holder")
    senders = Senders(chat, [client])
    try:
        await senders.more()
        await first.stop()
        await senders.more()
        await senders.check()
    finally:
        await end(senders.tasks)


async def test_what_cannot_be_moved_is_refused_with_what_to_do(hosts, daemons, redis):
    first, other = await hosts(1) + await hosts(1, fleet={"hold": "never"})
    client = await ready(first)
    await listed(client, lambda one: len(one["hosts"]) == 2 and holder(one) == "h0", "two hosts and a holder")

    async def refused(kind, words, **params):
        with pytest.raises(CallError) as error:
            await client.call("fleet.move", **params)
        assert error.value.type == kind and words in error.value.message, error.value

    await refused("UpstreamUnknown", "chat", upstream="chatt")
    await refused("InvalidParams", "did you mean 'h1'?", upstream="chat", host="h12")
    await refused("InvalidParams", 'hold = "never"', upstream="chat", host="h1")
    await refused("Conflict", "start one whose `hold`", upstream="chat")
    with pytest.raises(CallError, match="No other host may have the link of 'chat'"):
        await client.call("fleet.leave")
    assert holder(await client.call("fleet.list")) == "h0"
    await redis.kill()
    await first.until(lambda status: fleet(status)["redis"]["state"] == "unreachable", "the loss of Redis")
    for method, params in (("fleet.leave", {}), ("fleet.move", {"upstream": "chat", "host": "h1"})):
        with pytest.raises(CallError) as error:
            await client.call(method, **params)
        assert error.value.type == "UpstreamDown" and "127.0.0.1" in error.value.message, method
        assert error.value.message.startswith("The fleet's Redis cannot be used, "), method
    result = await client.call("fleet.list")
    assert result["redis"]["reason"] and [host["host"] for host in result["hosts"]] == ["h0", "h1"]
    alone = await (await daemons()).client()
    for method, params in (("fleet.list", {}), ("fleet.leave", {}), ("fleet.move", {"upstream": "chat"})):
        with pytest.raises(CallError) as error:
            await alone.call(method, **params)
        assert error.value.type in ("Conflict", "UpstreamUnknown"), method


async def test_a_host_that_leaves_has_nothing_until_it_is_reloaded(hosts):
    two = await hosts(2)
    clients = [await ready(host) for host in two]
    result = await listed(clients[0], lambda one: len(one["hosts"]) == 2 and holder(one), "two hosts and a holder")
    first = int(holder(result)[1])
    client, other = clients[first], clients[1 - first]
    assert (await client.call("fleet.leave"))["left"] == [{"upstream": "chat", "namespace": "/"}]
    result = await listed(other, lambda one: holder(one) == f"h{1 - first}" and one["upstreams"][0]["open"],
                          "the other host to hold")
    result = await listed(other, lambda one: not one["hosts"][first]["may_hold"], "it to be known as one that left")
    assert "until it is restarted or reloaded" in (await client.call("fleet.list"))["warning"]
    with pytest.raises(CallError, match="may not hold"):
        await other.call("fleet.move", upstream="chat", host=f"h{first}")
    # Where nobody else is left it takes nothing either.
    await two[1 - first].stop()
    await asyncio.sleep(3)
    assert holder(await client.call("fleet.list")) is None
    await client.call("reload")
    await listed(client, lambda one: holder(one) == f"h{first}", "it to hold again")


async def two_known(hosts):
    """Two hosts that know each other: a client of the one with the link, the other one, and both their names."""
    # Who is gone without a word counts as alive for as long as the test takes.
    two = await hosts(2, fleet={"adopt": "60s"})
    clients = [await ready(host) for host in two]
    result = await listed(clients[0], lambda one: len(one["hosts"]) == 2 and holder(one), "two hosts and a holder")
    first = int(holder(result)[1])
    await listed(clients[first], lambda one: len(one["hosts"]) == 2, "the other host to be known there")
    return clients[first], two[1 - first], f"h{first}", f"h{1 - first}"


async def test_a_host_that_was_stopped_is_shown_as_such_at_once_and_nothing_is_left_to_it(hosts):
    client, other, name, stopped = await two_known(hosts)
    before = (await client.call("fleet.list"))["upstreams"][0]["term"]
    await other.stop()
    result = await client.call("fleet.list")
    row = next(host for host in result["hosts"] if host["host"] == stopped)
    assert (row["stopped"], row["alive"], row["may_hold"]) == (True, False, False)
    for method, params in (("fleet.leave", {}), ("fleet.move", {"upstream": "chat"})):
        with pytest.raises(CallError, match="No other host may have the link of 'chat'"):
            await client.call(method, **params)
    with pytest.raises(CallError, match=f"{stopped} was stopped"):
        await client.call("fleet.move", upstream="chat", host=stopped)
    await other.start()
    # The next process, and no earlier one.
    back = await listed(client, lambda one: all(host["alive"] for host in one["hosts"]), "the host to be back")
    assert not any(host["stopped"] for host in back["hosts"])
    assert (holder(back), back["upstreams"][0]["term"], back["upstreams"][0]["open"]) == (name, before, True)
    assert (await client.call("fleet.leave"))["left"] == [{"upstream": "chat", "namespace": "/"}]
    # It has it when the answer is there.
    assert holder(await client.call("fleet.list")) == stopped


async def test_a_link_stays_where_it_is_when_the_other_host_was_killed_a_moment_ago(hosts):
    client, other, name, killed = await two_known(hosts)
    before = (await client.call("fleet.list"))["upstreams"][0]
    await other.crash()
    for method, params in (("fleet.move", {"upstream": "chat", "host": killed}), ("fleet.move", {"upstream": "chat"}),
                           ("fleet.leave", {})):
        with pytest.raises(CallError, match="The link of 'chat' stays where it is"):
            await client.call(method, **params)
    result = (await client.call("fleet.list"))["upstreams"][0]
    assert (result["holder"], result["open"]) == (name, True)
    assert (result["term"], result["conversation"]) == (before["term"], before["conversation"])


async def test_a_host_with_another_url_is_down_and_says_so(hosts, chat):
    (first,) = await hosts(1)
    await ready(first)
    (other,) = await hosts(1, url=chat.url.replace("127.0.0.1", "localhost"))
    client = await other.client()
    await client.call("subscribe", upstream="chat")
    status = await other.until(
        lambda status: status["connections"][0]["reason"] == "fleet", "the reason fleet", 4 * SOON)
    detail = status["connections"][0]["detail"]
    assert detail.startswith("h1 and the fleet disagree about upstream.chat.url; ")
    result = await listed(await first.client(), lambda one: len(one["hosts"]) == 2, "two hosts")
    assert result["hosts"][1]["upstreams"][0]["differs"] == ["url"]
    # It does not take the link of a holder that leaves for a moment.
    other.configure({**other.settings, "upstream": {"chat": {"url": chat.url, "fleet": True}}})
    await client.call("reload")
    await ready(other)
    assert (await chat.counters())["links"] == 1


async def test_a_fleet_of_another_version_is_incompatible(hosts, redis, chat):
    (first,) = await hosts(1)
    await ready(first)
    await first.stop()
    key = "gw:test:{chat}:L"

    await redis.command("HSET", key, "own", "90@later", "holder", "later", "v", "9", "beat", "1")

    async def beat():
        """A holder of a later version."""
        while True:
            await redis.command("HINCRBY", key, "beat", "1")
            await asyncio.sleep(0.1)

    task = asyncio.ensure_future(beat())
    try:
        (other,) = await hosts(1)
        client = await other.client()
        await client.call("subscribe", upstream="chat")
        status = await other.until(
            lambda status: status["connections"][0]["reason"] == "incompatible", "the reason incompatible", 4 * SOON)
        assert "the fleet speaks version 9 of its protocol, and h1 speaks 1" in status["connections"][0]["detail"]
        assert (await chat.counters())["links"] == 0
    finally:
        await end([task])


async def test_of_two_daemons_with_one_name_the_older_takes_another(hosts):
    (older,) = await hosts(1)
    client = await ready(older)
    (younger,) = await hosts(1, fleet={"host": "h0"})
    result = await listed(client, lambda one: one["host"] != "h0", "the older one to have another name")
    assert result["host"].startswith("h0-") and "is called h0 as well" in result["warning"]
    assert f"this one is called {result['host']} until that one is gone" in older.text()
    there = await younger.client()
    await listed(there, lambda one: holder(one) == "h0" and one["upstreams"][0]["open"] and len(one["hosts"]) == 2,
                 "the younger one to hold")
    assert (await there.call("fleet.list"))["host"] == "h0"
    # What it held stays in its list for a while, as an unused connection.
    assert not fleet(await older.status())["holds"]
    for host in (older, younger):
        program = await ready(host)
        assert (await program.call("request", upstream="chat", event="echo", args=[1]))["args"] == [1]


async def test_the_older_of_two_daemons_with_one_name_hears_its_answers_while_a_program_is_subscribed(hosts, chat):
    (holding,) = await hosts(1)
    await ready(holding)
    (older,) = await hosts(1, fleet={"hold": "never"})
    subscriber = await ready(older)
    await subscriber.call("subscribe", upstream="chat", events=["said"])
    await hosts(1, fleet={"host": "h1", "hold": "never"})
    program = await older.client()
    name = (await listed(program, lambda one: one["host"] != "h1", "the older one to have another name"))["host"]
    await program.call("wait", upstream="chat", state="connected", timeout=int(SOON * 1000))
    assert (await program.call("request", upstream="chat", event="echo", args=[1]))["args"] == [1]
    await program.call("send", upstream="chat", event="d", args=[2], delivery="sent")
    assert [one["args"] for one in await chat.received(1, "d")] == [[2]]
    await program.call("reload")
    # The younger one has another name then, and the name of a while is forgotten.
    await listed(program, lambda one: one["host"] == "h1" and name not in [host["host"] for host in one["hosts"]],
                 "the former name to be forgotten", 6 * SOON)


@pytest.mark.parametrize("user, password, reason, words", [
    ("host", "wrong", "refused", "refused the login"),
    ("unprivileged", "right", "refused", "does not let this user do"),
])
async def test_a_redis_that_refuses_this_host_is_shown(hosts, redis, folder, user, password, reason, words):
    await redis.command("ACL", "SETUSER", "host", "on", ">right", "~*", "&*", "+@all")
    await redis.command("ACL", "SETUSER", "unprivileged", "on", ">right", "~other:*", "&*", "+@all")
    secret = folder / "password"
    secret.write_text(password)
    secret.chmod(0o644)
    (host,) = await hosts(1, fleet={"user": user, "password_file": str(secret)})
    client = await host.client()
    await client.call("subscribe", upstream="chat")
    status = await host.until(
        lambda status: (fleet(status) or {"redis": {"reason": None}})["redis"]["reason"], "a reason", 4 * SOON)
    shown = fleet(status)["redis"]
    # Where the streams may not be read the connection ends, and is made again.
    assert shown["state"] in ("refusing", "unreachable")[user == "host":]
    assert shown["reason"] == reason and words in shown["detail"]
    assert (await client.call("fleet.list"))["redis"]["reason"] == reason
    status = await host.until(
        lambda status: status["connections"][0]["reason"] == "fleet", "the reason fleet", 4 * SOON)
    assert words in status["connections"][0]["detail"]


async def test_what_speaks_no_redis_is_shown(daemons, chat):
    host = await daemons({
        "fleet": {"name": "test", "redis": [chat.url.replace("http", "redis")], "host": "a", "lease": "1s"},
        "upstream": {"chat": {"url": chat.url, "fleet": True}}})
    client = await host.client()
    await client.call("subscribe", upstream="chat")
    status = await host.until(lambda status: fleet(status)["redis"]["reason"], "a reason", 4 * SOON)
    assert fleet(status)["redis"]["state"] == "unreachable"
    assert fleet(status)["redis"]["reason"] in ("protocol", "closed", "timeout")


async def test_metrics_count_terms_and_hosts_of_a_fleet(hosts):
    # So long that a busy machine does not lose it.
    two = await hosts(2, {"lease": "3s"})
    clients = [await ready(host) for host in two]
    await listed(clients[0], lambda one: len(one["hosts"]) == 2 and holder(one), "two hosts and a holder")
    await clients[0].call("fleet.move", upstream="chat")
    await clients[0].call("fleet.move", upstream="chat")

    def series(text):
        """What is counted of the upstream, by its name."""
        labels = '{upstream="chat",namespace="/"} '
        return {line.partition(labels)[0].removeprefix("gatewayd_fleet_"): int(line.partition(labels)[2])
                for line in text.splitlines() if labels in line}

    texts = [(await client.call("metrics"))["text"] for client in clients]
    counted = [series(text) for text in texts]
    assert sorted(one["take_overs_total"] for one in counted) == [1, 2]
    assert sorted(one["holds"] for one in counted) == [0, 1]
    for text, one in zip(texts, counted):
        assert "\ngatewayd_fleet_redis_reached 1\n" in text
        assert set(one) == {"hosts", "behind_events", "unconfirmed_sends", "holds", "take_overs_total", "lapses_total",
                            "late_beats_total", "fences_total", "adopted_sends_total",
                            *(f"link_{way}_{what}_total" for way in ("received", "sent") for what in ("events", "bytes"))}
        assert (one["hosts"], one["behind_events"], one["fences_total"]) == (2, 0, 0)


async def test_gatewayctl_shows_moves_and_leaves(hosts, ctl):
    # So long that a busy machine does not lose it.
    two = await hosts(2, {"lease": "3s"})
    clients = [await ready(host) for host in two]
    await listed(clients[0], lambda one: len(one["hosts"]) == 2 and holder(one), "two hosts and a holder")
    shown = json.loads((await ctl(two[0], "fleet")).out)
    first, second = holder(shown), "h1" if holder(shown) == "h0" else "h0"
    moved = await ctl(two[0], "fleet", "move", "chat", second)
    assert moved.code == 0 and json.loads(moved.out)["holder"] == second
    refused = await ctl(two[0], "fleet", "move", "chat", "h")
    assert refused.code == 65 and "has no host called 'h'" in refused.err and refused.out == ""
    back = await ctl(two[0], "fleet", "move", "-q", "chat")
    assert (back.code, back.out) == (0, ""), back.err
    left = await ctl(two[int(first[1])], "fleet", "leave")
    assert left.code == 0 and json.loads(left.out)["left"] == [{"upstream": "chat", "namespace": "/"}]
    for words, message in ((("mov", "chat"), "did you mean 'move'?"), (("move",), "name the upstream"),
                           (("leave", "h1"), "takes no arguments")):
        outcome = await ctl(two[0], "fleet", *words)
        assert outcome.code == 64 and message in outcome.err, words


async def test_on_a_terminal_the_fleet_is_two_tables(hosts, redis):
    two = await hosts(2)
    clients = [await ready(host) for host in two]
    await listed(clients[0], lambda one: len(one["hosts"]) == 2 and one["upstreams"][0]["open"], "two hosts and a link")

    async def shown(*words):
        text = await within(asyncio.to_thread(
            on_terminal, GATEWAYCTL, "--socket", two[0].socket, *words, env={"COLUMNS": "120"}), "gatewayctl on a terminal")
        return text, [line.split() for line in re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()]

    text, lines = await shown("fleet")
    assert "\x1b[" in text
    assert lines[0][:7] == ["fleet", "test", "this", "host", "is", "h0", "Redis"]
    assert lines[2] == ["HOST", "STATE", "HEARD", "MAY", "HOLD", "HAS", "VERSION"]
    assert [line[:2] for line in lines[3:5]] == [["h0", "here"], ["h1", "alive"]] or lines[4][1] == "unknown"
    assert lines[6][:2] == ["UPSTREAM", "HOLDER"] and lines[7][0] == "chat" and "up" in lines[7]
    _, lines = await shown("status")
    name = holder(await clients[0].call("fleet.list"))
    words = [" ".join(line) for line in lines]
    place = "this host has the fleet's link" if name == "h0" else f"the fleet's link is at {name}"
    notes = [line for line in words if "the fleet's link" in line]
    assert notes and all(line.startswith(f"{place}; term ") and "Redis 127.0.0.1:" in line for line in notes)
    assert any(line.startswith("chat (link) ") for line in words) == (name == "h0")
