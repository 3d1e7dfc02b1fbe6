"""An upstream comes into the fleet, and leaves it: what becomes of its durable sends, and of the places that programs have."""

from fleet_hosts import another, held, hosts, holder, needs_redis, ready, redis  # pylint: disable=unused-import
from patience import SOON
from programs import GATEWAYCTL
from test_fleet_outbox import accepted_in_vain, listed, rows

pytestmark = needs_redis


async def test_a_host_that_leaves_the_fleet_takes_its_durable_sends_back_and_writes_them_once(hosts, redis, chat):
    _, other, name = await accepted_in_vain(hosts, redis, chat, 10)
    other.configure({**other.settings, "upstream": {"chat": {"url": chat.url}}})
    client = await other.client()
    await client.call("reload")
    await rows(redis, f"box:{name}", 0)
    await chat.start()
    assert [one["args"][0] for one in await chat.received(10, "d")] == list(range(10))
    await listed(client, 10, states=["sent"])
    # And nothing is left for the others to write.
    await rows(redis, "box:@", 0)
    assert len(await chat.received(10, "d")) == 10


async def test_a_place_from_before_an_upstream_joined_the_fleet_is_told_what_was_left_and_all_that_the_fleet_keeps(hosts, chat):
    (first,) = await hosts(1)
    client = await ready(first)
    await client.call("subscribe", upstream="chat", events=["e"])
    (second,) = await hosts(1, {"hold": "never"})
    shared = second.settings
    second.configure({**shared, "upstream": {"chat": {"url": chat.url}}})
    await (await second.client()).call("reload")
    await second.until(lambda status: not any("fleet" in one for one in status["connections"]), "a link of its own")
    own = await ready(second)
    answer = await own.call("subscribe", upstream="chat", events=["e"])
    for number in range(6):
        await chat.emit("e", number)
    place = {"epoch": answer["epoch"], "seq": (await own.events(6))[2]["seq"]}
    await client.events(6)
    second.configure(shared)
    await (await second.client()).call("reload")
    await ready(second)
    late = await second.client()
    assert (await late.call("subscribe", upstream="chat", events=["e"], since=place))["recovered"] is False
    notes = [await late.note() for _ in range(10)]
    told = [note["args"][0] if method == "event" else method for method, note in notes]
    assert told == [3, 4, 5, "gap", 0, 1, 2, 3, 4, 5], told


async def test_the_key_of_a_send_that_another_host_writes_is_in_its_arguments(hosts, redis, chat):
    three = await hosts(3, key_member="key")
    for host in three:
        await ready(host)
    first = await holder(three)
    other = another(three, first)
    client = await ready(other)
    await chat.stop()
    await other.until(lambda status: all(one["state"] != "connected" for one in status["connections"]), "no link", 4 * SOON)
    await client.call("send", upstream="chat", event="d", args=[{"n": 1}], delivery="durable", key="k1")
    await rows(redis, f"box:h{three.index(other)}", 1)
    await other.crash()
    await rows(redis, "box:@", 1)
    await chat.start()
    assert [one["args"] for one in await chat.received(1, "d")] == [[{"n": 1, "key": "k1"}]]


async def test_the_link_stays_as_long_as_the_fleet_runs_though_no_program_wants_it(hosts, chat):
    (host,) = await hosts(1, keep="on-demand", linger="0s")
    client = await ready(host)
    await client.close()
    await host.until(
        lambda status: all(one["state"] != "connected" for one in status["connections"] if one["fleet"]["role"] == "follower"),
        "the host's own connection to be closed")
    link = held(await host.status())
    assert link["state"] == "connected" and (await chat.counters())["links"] == 1


async def test_gatewayctl_serve_answers_on_a_host_that_follows(hosts, chat, start_command):
    two = await hosts(2)
    for host in two:
        await ready(host)
    first = await holder(two)
    await start_command(
        GATEWAYCTL, "--socket", another(two, first).socket, "serve", "chat", "load", "--", "echo", "7")
    # What is asked before the one with the link knows of it is declined.
    answer = None
    while not answer:
        answer = await chat.ask("load", timeout=0.5)
    assert answer == [7], answer
