"""Hosts whose settings of an upstream are not those of the fleet, and fleets that have nothing to do with each other."""

import asyncio
import time

from fleet_hosts import held, holder, hosts, needs_redis, ready, redis  # pylint: disable=unused-import
from patience import SOON, within

pytestmark = needs_redis

ADOPT = 3.0
"""As the hosts have it."""


def elsewhere(chat):
    """The same server by another URL."""
    return chat.url.replace("127.0.0.1", "localhost")


async def test_a_host_that_disagrees_takes_the_link_when_no_host_has_had_it_for_adopt(hosts, chat):
    (first,) = await hosts(1)
    await ready(first)
    (other,) = await hosts(1, url=elsewhere(chat))
    await other.until(
        lambda status: "disagree about upstream.chat.url" in (status["daemon"]["fleet"]["warning"] or ""), "the warning", 4 * SOON)
    await first.stop()
    began = time.monotonic()
    assert await holder([other]) is other
    assert time.monotonic() - began > ADOPT / 2
    client = await ready(other)
    assert (await client.call("request", upstream="chat", event="echo", args=["x"]))["args"] == ["x"]
    # The first one is the one that disagrees now.
    await first.start()
    await first.until(
        lambda status: "h0 and the fleet disagree about upstream.chat.url" in (status["daemon"]["fleet"]["warning"] or ""),
        "the warning", 4 * SOON)
    assert held(await first.status()) is None


async def test_status_check_warns_of_a_host_that_disagrees_until_it_is_reloaded_also_while_no_program_uses_it(hosts, chat, ctl):
    (first,) = await hosts(1)
    await ready(first)
    (other,) = await hosts(1, url=elsewhere(chat))

    async def checked(code, words):
        while (found := await ctl(other, "status", "--check")).code != code or words not in found.out:
            await asyncio.sleep(0.05)
        return found

    found = await within(checked(1, "disagree about upstream.chat.url"), "the warning", 4 * SOON)
    assert found.out.startswith("GATEWAYD WARNING: "), found
    other.configure({**other.settings, "upstream": {"chat": {"url": chat.url, "fleet": True}}})
    assert (await ctl(other, "reload")).code == 0
    await within(checked(0, "GATEWAYD OK"), "all to be well", 4 * SOON)
    await ready(other)


async def test_lease_and_adopt_have_to_be_the_same_on_all_hosts(hosts):
    (first,) = await hosts(1)
    await ready(first)
    for name, value in (("lease", "2s"), ("adopt", "4s")):
        (other,) = await hosts(1, {name: value})
        client = await other.client()
        await client.call("subscribe", upstream="chat")
        status = await other.until(lambda status: status["connections"][0]["reason"] == "fleet", "the reason", 4 * SOON)
        assert f"and the fleet disagree about fleet.{name}" in status["connections"][0]["detail"], status


async def test_fleets_of_other_names_on_the_same_redis_have_links_of_their_own(hosts, chat):
    for name in ("test", "other"):
        (host,) = await hosts(1, {"name": name})
        client = await ready(host)
        await client.call("subscribe", upstream="chat", events=["e"])
        assert (await client.call("request", upstream="chat", event="echo", args=[name]))["args"] == [name]
        assert len((await client.call("fleet.list"))["hosts"]) == 1
    assert (await chat.counters())["links"] == 2
