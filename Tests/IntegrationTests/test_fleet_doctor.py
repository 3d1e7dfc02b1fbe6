"""What `doctor` says of an upstream that hosts share, with a real Redis, sound and broken."""

import redis_server
from fleet_hosts import holder, hosts, needs_redis, ready, redis  # pylint: disable=unused-import
from patience import SOON
from test_fleet_redis_rights import documented_rights

pytestmark = needs_redis

FLEET = ["fleet.redis", "fleet.rights", "fleet.memory", "fleet.disk", "fleet.replicas", "fleet.lease", "fleet.hosts", "fleet.delay"]


async def examined(host):
    """The steps, with what every one of them must have."""
    result = await (await host.client()).call("doctor", upstream="chat", timeout=int(SOON * 1000))
    for step in result["steps"]:
        assert step["code"].startswith(step["step"] + ".") and step["seen"].endswith("."), step
        assert step["advice"] or step["verdict"] in ("ok", "skipped"), step
    verdicts = [step["verdict"] for step in result["steps"]]
    assert "failed" not in verdicts[:-1]
    return result["steps"]


def codes(steps):
    return [step["code"] for step in steps]


def found(steps, name):
    return next(step for step in steps if step["step"] == name)


async def test_a_sound_fleet_and_the_server_behind_it(hosts):
    two = await hosts(2)
    for host in two:
        await host.connected(upstream="chat")
    for host in two:
        steps = await examined(host)
        assert codes(steps)[:9] == [
            "fleet.redis.ok", "fleet.rights.ok", "fleet.memory.ok", "fleet.disk.ok", "fleet.replicas.none",
            "fleet.lease.ok", "fleet.hosts.ok", "fleet.delay.ok", "name.ok"]
        assert codes(steps)[-1] == "round_trip.ok"
        assert found(steps, "fleet.hosts")["seen"].startswith("2 of 2 known hosts live, 2 of which may hold; gatewayd ")


async def test_gatewayctl_shows_the_steps_and_ends_with_69(hosts, redis, ctl):
    (host,) = await hosts(1)
    await host.connected(upstream="chat")
    outcome = await ctl(host, "doctor", "chat")
    assert outcome.code == 0 and outcome.out.count('"step":"fleet.') == len(FLEET)
    await redis.kill()
    outcome = await ctl(host, "doctor", "chat")
    assert outcome.code == 69 and "redis" in outcome.err and outcome.out.count('"step"') == 1


async def test_a_host_that_never_holds_needs_no_way_to_the_server(hosts):
    (host,) = await hosts(1, fleet={"hold": "never"})
    last = (await examined(host))[-1]
    assert (last["code"], last["verdict"]) == ("fleet.lease.never", "failed"), last
    await holder(await hosts(1))
    steps = await examined(host)
    assert [step["step"] for step in steps] == FLEET
    assert (found(steps, "fleet.lease")["code"], found(steps, "fleet.hosts")["code"]) == (
        "fleet.lease.ok", "fleet.hosts.no_heir")


async def test_a_host_that_never_holds_is_told_why_the_one_that_holds_has_no_link(hosts, chat, ctl):
    (first,) = await hosts(1)
    (host,) = await hosts(1, fleet={"hold": "never"})
    for one in (first, host):
        await one.connected(upstream="chat")
    await (await host.client()).call("subscribe", upstream="chat")
    await chat.stop()
    await host.until(
        lambda status: "which has the fleet's link" in (status["connections"][0]["detail"] or ""), "the reason", 4 * SOON)
    last = (await examined(host))[-1]
    assert (last["code"], last["verdict"]) == ("fleet.lease.down", "failed"), last
    assert "; the link to the server is down: " in last["seen"] and "refused" in last["seen"], last
    outcome = await ctl(host, "doctor", "chat")
    assert outcome.code == 69 and "the link to the server is down" in outcome.err, outcome
    assert codes(await examined(first))[-1] == "tcp.refused"


async def test_a_redis_that_is_not_as_it_should_be(hosts, redis):
    (host,) = await hosts(1)
    await host.connected(upstream="chat")
    await redis.command("CONFIG", "SET", "maxmemory", "200mb")
    await redis.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    await redis.command("CONFIG", "SET", "appendonly", "no")
    steps = await examined(host)
    assert found(steps, "fleet.memory")["code"] == "fleet.memory.evicts"
    assert found(steps, "fleet.disk")["code"] == "fleet.disk.off"
    assert found(steps, "fleet.hosts")["code"] == "fleet.hosts.no_heir"
    await redis.command("CONFIG", "SET", "maxmemory", "1mb")
    await redis.command("CONFIG", "SET", "maxmemory-policy", "noeviction")
    steps = await examined(host)
    assert codes(steps)[-1] == "fleet.memory.full" and " KiB of 1024 KiB in use; " in steps[-1]["seen"], steps


async def test_rights_that_are_missing_are_named(hosts, redis, folder):
    secret = folder / "password"
    secret.write_text("right")
    secret.chmod(0o644)
    await redis.command("ACL", "SETUSER", "edge", "on", ">right", "~*", "&*", "+@all", "-xtrim")
    (host,) = await hosts(1, fleet={"user": "edge", "password_file": str(secret)})
    steps = await examined(host)
    assert codes(steps)[-1] == "fleet.rights.missing"
    assert "edge may not do XTRIM gw:test:{chat}:" in steps[-1]["seen"] and "XADD" not in steps[-1]["seen"]
    secret.write_text("wrong")
    steps = await examined(host)
    assert codes(steps) == ["fleet.redis.login"] and "refused the login" in steps[0]["seen"]
    secret.unlink()
    assert codes(await examined(host)) == ["fleet.redis.password"]


async def test_each_documented_right_that_is_missing_is_named_with_the_line_that_gives_it(hosts, redis, folder):
    # Needed where replicas confirm, and by versions of before.
    unused = ("wait", "del")
    made = {}
    for words, hold in zip(documented_rights(), ("never", "may")):
        user = words[1]
        secret = folder / user
        secret.write_text("SECRET")
        secret.chmod(0o644)
        assert await redis.command("ACL", *words) == "OK"
        (host,) = await hosts(1, fleet={"host": user, "user": user, "password_file": str(secret), "hold": hold})
        made[user] = host
        rights = found(await examined(host), "fleet.rights")
        assert rights["code"] == "fleet.rights.ok", rights
        for right in (word[1:] for word in words if word.startswith("+") and word[1:] not in unused):
            assert await redis.command("ACL", "SETUSER", user, f"-{right}") == "OK"
            last = (await examined(host))[-1]
            if right in ("role", "info", "client|id"):
                assert last["code"] == "fleet.redis.forbidden", (right, last)
            else:
                assert last["code"] == "fleet.rights.missing", (right, last)
                name = right.upper().replace("|", " ")
                assert last["seen"].startswith(f"The user {user} may not do {name}") and "," not in last["seen"], last
                assert f"'ACL SETUSER {user} +{right}'" in last["advice"], last
            assert await redis.command("ACL", "SETUSER", user, f"+{right}") == "OK"
    edge = documented_rights()[0]
    keys = [word for word in edge if "~" in word and not word.endswith("box:@")]
    assert await redis.command("ACL", "SETUSER", "edge", "resetkeys", *keys) == "OK"
    last = (await examined(made["edge"]))[-1]
    assert "HMGET gw:test:{chat}:box:@" in last["seen"]
    assert "'ACL SETUSER edge %R~gw:test:{chat}:box:@'" in last["advice"]


async def test_a_host_whose_user_has_rights_for_a_name_that_another_daemon_takes(hosts, redis, folder):
    secret = folder / "password"
    secret.write_text("SECRET")
    secret.chmod(0o644)
    assert await redis.command("ACL", *documented_rights()[0]) == "OK"
    await holder(await hosts(1))
    own = {"host": "edge", "user": "edge", "password_file": str(secret), "hold": "never"}
    (older,) = await hosts(1, fleet=own)
    client = await ready(older)
    await client.call("subscribe", upstream="chat")
    (younger,) = await hosts(1, fleet=own)
    status = await older.until(
        lambda status: "so that this one is called edge-" in (status["connections"][0]["detail"] or ""), "the reason", 4 * SOON)
    assert status["connections"][0]["detail"].startswith("another daemon of the fleet is called edge as well, "), status
    last = (await examined(older))[-1]
    assert last["code"] == "fleet.rights.namesake", last
    assert last["seen"].startswith("Another daemon of the fleet is called edge, ") and "restart it" in last["advice"], last
    await younger.stop()
    # After `adopt` by itself.
    await older.until(lambda status: status["connections"][0]["state"] == "connected", "its own name", 8 * SOON)
    assert (await client.call("fleet.list"))["host"] == "edge"
    assert "has its own name in the fleet again" in older.text()


async def test_what_is_no_redis(daemons, chat, closed_port):
    for url, code in ((chat.url.replace("http", "redis"), "fleet.redis.foreign"),
                      (f"redis://127.0.0.1:{closed_port}", "fleet.redis.unreachable")):
        host = await daemons({"fleet": {"name": "test", "redis": [url], "host": "a"},
                              "upstream": {"chat": {"url": chat.url, "fleet": True}}})
        assert codes(await examined(host)) == [code]


async def test_tls_at_one_end_alone(daemons, chat, redis, authority, folder):
    secure = redis_server.RedisServer(folder / "secure")
    secure.tls = authority / "server"
    await secure.start()
    try:
        for url, code, words in ((secure.url.replace("rediss:", "redis:"), "fleet.redis.unreachable", "is rediss://"),
                                 (redis.url.replace("redis:", "rediss:"), "fleet.redis.tls", "Write redis://")):
            host = await daemons({"fleet": {"name": "test", "redis": [url], "host": "a"},
                                  "upstream": {"chat": {"url": chat.url, "fleet": True}}})
            (last,) = await examined(host)
            assert last["code"] == code and words in last["advice"], last
    finally:
        await secure.close()


async def test_replicas_that_are_missing(hosts):
    (host,) = await hosts(1, fleet={"copies": 1})
    steps = await examined(host)
    assert codes(steps)[-1] == "fleet.replicas.few"


async def test_a_redis_that_refuses_to_write(hosts, redis):
    (host,) = await hosts(1)
    await host.connected(upstream="chat")
    await redis.command("CONFIG", "SET", "min-replicas-to-write", "1")
    last = (await examined(host))[-1]
    assert last["code"] == "fleet.delay.refused" and "NOREPLICAS" in last["seen"], last


async def test_a_host_that_disagrees(hosts, chat):
    (first,) = await hosts(1)
    await first.connected(upstream="chat")
    (other,) = await hosts(1, url=chat.url.replace("127.0.0.1", "localhost"))
    steps = await examined(other)
    assert codes(steps)[-1] == "fleet.hosts.differ" and "upstream.chat.url" in steps[-1]["seen"]
    assert steps[-1]["seen"].startswith("h1 and the fleet disagree"), steps[-1]
    assert found(await examined(first), "fleet.hosts")["code"] == "fleet.hosts.others_differ"
