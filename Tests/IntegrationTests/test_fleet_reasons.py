"""What the administrator of a fleet's host is told: by `status --check`, by each host of the holder's trouble, by the log."""

import re

from fleet_hosts import another, holder, hosts, needs_redis, ready, redis  # pylint: disable=unused-import
from patience import SOON

pytestmark = needs_redis


def redis_state(status):
    return status["daemon"]["fleet"]["redis"]["state"]


async def test_status_check_is_no_ok_while_redis_is_away_or_its_password_is_missing(hosts, redis, ctl, folder):
    (first,) = await hosts(1)
    (other,) = await hosts(1, fleet={"password_file": str(folder / "nothing")})
    await holder([first])
    await other.until(lambda status: status["daemon"]["fleet"]["redis"]["reason"], "a reason")
    fine = await ctl(first, "status", "--check")
    assert (fine.code, fine.out.split(":")[0]) == (0, "GATEWAYD OK"), fine
    missing = await ctl(other, "status", "--check")
    assert missing.code == 1 and "the fleet's Redis is unreachable (auth: " in missing.out, missing
    assert str(folder / "nothing") in missing.out and "'gatewayctl doctor' of an upstream" in missing.out, missing
    assert re.search(r"no Redis of the fleet can be used reason=auth detail=.*nothing", other.text())
    await redis.kill()
    await first.until(lambda status: redis_state(status) == "unreachable", "the loss of Redis", 4 * SOON)
    away = await ctl(first, "status", "--check")
    assert away.code == 1 and away.out.startswith("GATEWAYD WARNING: the fleet's Redis is unreachable ("), away
    table = await ctl(other, "status", "--table")
    assert "fleet test: Redis is unreachable: " in table.out


async def test_who_has_the_link_is_not_forgotten_while_redis_is_away(hosts, redis):
    two = await hosts(2)
    clients = [await ready(host) for host in two]
    first = f"h{two.index(await holder(two))}"
    for host, client in zip(two, clients):
        await host.until(lambda status: status["connections"][0]["fleet"]["holder"] == first, "the holder")
        before = (await client.call("fleet.list"))["upstreams"][0]
        assert before["holder"] == first and before["conversation"] > 0
    await redis.kill()
    for host, client in zip(two, clients):
        status = await host.until(lambda status: redis_state(status) == "unreachable", "the loss of Redis", 4 * SOON)
        (after,) = (await client.call("fleet.list"))["upstreams"]
        for name in ("holder", "term", "since"):
            assert after[name] == before[name], after
        assert after["conversation"] > 0
        assert {one["fleet"]["holder"] for one in status["connections"]} == {first}


async def test_status_check_is_ok_where_another_host_has_taken_the_link(hosts, ctl):
    two = await hosts(2)
    client = await two[0].client()
    first = await holder(two)
    second = another(two, first)
    await client.call("fleet.move", upstream="chat", host=f"h{two.index(second)}")
    await holder([second])
    left = [one for one in (await first.status())["connections"] if one["fleet"]["role"] == "holder"]
    assert [one["needed"] for one in left] == [False] and left[0]["state"] == "disconnected"
    checked = await ctl(first, "status", "--check")
    assert checked.code == 0, checked
    lines = [re.sub(r"conversation=\d+", "conversation=N", line.partition("upstream=chat ")[2])
             for line in first.text().splitlines() + second.text().splitlines() if "the link of an upstream" in line]
    names = [f"h{two.index(host)}" for host in (first, second)]
    assert [line.strip() for line in lines] == [
        "namespace=/ term=1 conversation=N", f'namespace=/ term=1 detail="{names[1]} is to have it"',
        f"namespace=/ term=2 conversation=N from={names[0]}"]


async def test_every_host_shows_why_the_holder_is_not_connected(hosts, ctl):
    two = await hosts(2, url="http://127.0.0.1:1")
    for host in two:
        client = await host.client()
        await client.call("subscribe", upstream="chat")
        status = await host.until(
            lambda status: any("which has the fleet's link" in (one["detail"] or "") for one in status["connections"]),
            "the holder's reason", 4 * SOON)
        seen = next(one for one in status["connections"] if "which has" in (one["detail"] or ""))
        assert (seen["fleet"]["role"], seen["reason"]) == ("follower", "unreachable")
        assert re.fullmatch(r"h[01], which has the fleet's link, is not connected: .*refused.*", seen["detail"])
    (upstream,) = (await client.call("fleet.list"))["upstreams"]
    assert upstream["reason"] == "unreachable" and "refused" in upstream["detail"]
    table = await ctl(two[0], "doctor", "chat")
    assert '"step":"fleet.replicas"' in table.out


async def test_a_host_does_not_wait_out_a_back_off_when_redis_is_back(hosts, redis):
    (host,) = await hosts(1, fleet={"grace": "1s"}, reconnect={"base": "1h", "cap": "1h"})
    client = await ready(host)
    await client.call("subscribe", upstream="chat")

    def follower(status):
        return next(one for one in status["connections"] if one["fleet"]["role"] == "follower")

    await redis.kill()
    await host.until(lambda status: (follower(status)["next"] or 0) > 2 * SOON * 1000, "a long back-off", 12 * SOON)
    await redis.restart()
    await host.until(lambda status: follower(status)["state"] == "connected", "the fleet")
