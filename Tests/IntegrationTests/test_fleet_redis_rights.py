"""TLS, passwords and the rights of users of a fleet's Redis: what docs/fleet.md says is enough is, and what is missing is
said."""

import asyncio

import pytest

import redis_server
from fleet_hosts import holder
from patience import SOON, within
from programs import ROOT
from test_fleet_redis import fleet, told, works

pytestmark = pytest.mark.skipif(redis_server.program() is None, reason=redis_server.MISSING)


@pytest.fixture
async def server(folder):
    """Makes a Redis, with a certificate or without."""
    made = []

    async def make(tls=None):
        one = redis_server.RedisServer(folder / f"redis{len(made)}")
        one.tls = tls
        made.append(one)
        return await one.start()

    yield make
    for one in made:
        await one.close()


def configuration(chat, url, host="a", **settings):
    return {"fleet": {"name": "test", "redis": [url], "host": host, "lease": "1s", **settings},
            "upstream": {"chat": {"url": chat.url, "fleet": True, "keep": "always"}}}


async def test_a_server_with_tls_is_used_if_it_is_the_one_that_is_trusted(daemons, chat, server, authority):
    redis = await server(authority / "server")
    trusted = await daemons(configuration(chat, redis.url, tls={"ca": str(authority / "ca.pem")}))
    await works(trusted)
    stranger = await daemons(configuration(chat, redis.url, tls={"ca": str(authority / "stranger.pem")}))
    seen = await told(stranger, "certificate")
    assert (seen["state"], seen["reason"]) == ("unreachable", "tls")
    elsewhere = await server(authority / "elsewhere")
    misled = await daemons(configuration(chat, elsewhere.url, tls={"ca": str(authority / "ca.pem")}))
    assert (await told(misled, "127.0.0.1"))["reason"] == "tls"
    plain = await daemons(configuration(chat, redis.url.replace("rediss", "redis")))
    assert (await told(plain, redis.url.removeprefix("rediss://")))["state"] == "unreachable"


async def test_a_wrong_password_is_said_and_a_right_one_is_read_without_a_restart(daemons, chat, server, folder):
    redis = await server()
    await redis.command("CONFIG", "SET", "requirepass", "right")
    without = await daemons(configuration(chat, redis.url))
    assert (await told(without, "wants a login, and the fleet has no password"))["reason"] == "refused"
    file = folder / "password"
    file.write_text("wrong\n")
    file.chmod(0o600)
    daemon = await daemons(configuration(chat, redis.url, host="b", password_file=str(file)))
    assert (await told(daemon, "refused the login (WRONGPASS"))["reason"] == "refused"
    file.write_text("right\n")
    await works(daemon)
    assert "right" not in daemon.text() and "wrong\n" not in daemon.text()


def documented_rights():
    """The lines of docs/fleet.md that make users, for the fleet and the hosts of the tests."""
    text = (ROOT / "docs/fleet.md").read_text()
    lines = [line for line in text.replace("\\\n", " ").splitlines() if line.startswith("ACL SETUSER")]
    for name, own in (("prod", "test"), ("edge-9", "edge"), ("edge-17", "core")):
        lines = [line.replace(name, own) for line in lines]
    return [line.split()[1:] for line in lines]


async def test_the_documented_rights_are_enough_for_hosts_that_hold_and_that_never_do(
        daemons, chat, server, folder, ctl):
    redis = await server()
    (edge, core) = documented_rights()
    for words in (edge, core):
        assert await redis.command("ACL", *words) == "OK"
    await redis.command("ACL", "SETUSER", "admin", "on", ">p", "~*", "+acl", "+hlen")
    assert await redis.command("ACL", "SETUSER", "default", "off") == "OK"
    hosts = []
    for words, hold in ((core, "may"), (edge, "never")):
        password = folder / words[1]
        password.write_text(next(word for word in words if word.startswith(">"))[1:])
        password.chmod(0o600)
        hosts.append(await daemons(configuration(
            chat, redis.url, host=words[1], user=words[1], password_file=str(password), hold=hold, adopt="3s")))
    for host in hosts:
        await works(host)
        client = await host.connected(upstream="chat")
        await client.call("subscribe", upstream="chat", events=["e"])
        await client.call("subscribe", upstream="chat", events=["load"], answer=True)
        for number in range(300):
            client.post("send", upstream="chat", event="s", args=[number], delivery="accepted")
        await client.call("send", upstream="chat", event="d", args=[host.settings["fleet"]["host"]], delivery="durable")
    assert sorted(one["args"][0] for one in await chat.received(2, "d")) == sorted(one[1] for one in (edge, core))
    await chat.burst("e", 300)
    for host in hosts:
        for _ in range(300):
            await host.clients[-1].event("s1")
        assert fleet(await host.status())["redis"]["state"] == "working"
    # Longer than it takes to say three times that it lives.
    for host in hosts:
        await host.until(lambda status: status["daemon"]["outbox"]["queued"]["count"] == 0, "the outbox to empty")
    admin = ("--user", "admin", "--pass", "p", "--no-auth-warning")
    # It dies with a send that the other one writes for it, and hears so when it is back.
    await chat.stop()
    await hosts[1].until(lambda status: all(one["state"] != "connected" for one in status["connections"]), "no link")
    await hosts[1].clients[-1].call("send", upstream="chat", event="d", args=["left"], delivery="durable")

    async def rows(count, key):
        while await redis.command(*admin, "HLEN", f"gw:test:{{chat}}:{key}") != str(count):
            await asyncio.sleep(0.02)

    await within(rows(1, "box:edge"), "the send to be copied", SOON)
    await hosts[1].crash()
    await within(rows(1, "box:@"), "the send to be adopted", 4 * SOON)
    await chat.start()
    assert [one["args"] for one in await chat.received(1, "d")] == [["left"]]
    await hosts[1].start()
    await works(hosts[1])
    for key in ("box:@", "box:edge"):
        await within(rows(0, key), f"{key} to be empty", SOON)
    await hosts[1].crash()

    async def forgotten():
        while (await ctl(hosts[0], "fleet", "forget", "edge")).code != 0:
            await asyncio.sleep(0.1)

    await within(forgotten(), "the dead host to be forgotten", 4 * SOON)
    denied = await redis.command(*admin, "ACL", "LOG")
    assert denied == "", denied


async def test_a_move_that_the_user_of_this_host_may_not_is_no_lost_connection(daemons, chat, server, folder, ctl):
    redis = await server()
    hosts = []
    for words in documented_rights():
        assert await redis.command("ACL", *words) == "OK"
        password = folder / words[1]
        password.write_text(next(word for word in words if word.startswith(">"))[1:])
        password.chmod(0o600)
    for name, user, hold in (("core", "core", "may"), ("core2", "core", "may"), ("edge", "edge", "never")):
        hosts.append(await daemons(configuration(
            chat, redis.url, host=name, user=user, password_file=str(folder / user), hold=hold)))
    for host in hosts:
        await works(host)
        await host.connected(upstream="chat")
    outcome = await ctl(hosts[-1], "fleet", "move", "chat")
    assert outcome.code == 77 and "may not move the link of 'chat' (NOPERM" in outcome.err, outcome
    assert "say it at a host that may hold" in outcome.err and "not connected" not in outcome.err, outcome
    outcome = await ctl(hosts[-1], "fleet", "forget", "core2")
    assert outcome.code == 77 and "may not remove what 'chat' has of core2 (NOPERM" in outcome.err, outcome
    assert "ask on a host that may hold" in outcome.err, outcome


async def test_a_right_that_is_missing_is_named_and_given_without_a_restart(daemons, chat, server, folder):
    redis = await server()
    password = folder / "password"
    password.write_text("p")
    await redis.command("ACL", "SETUSER", "a", "on", ">p", "~*", "+@all")
    daemon = await daemons(configuration(chat, redis.url, user="a", password_file=str(password)))
    await works(daemon)
    await redis.command("ACL", "SETUSER", "a", "-xadd")
    client = await daemon.connected(upstream="chat")
    await client.call("send", upstream="chat", event="d", args=[1], delivery="durable")
    seen = await told(daemon, "does not let this user do what the fleet needs, XADD of gw:test:{chat}:up (NOPERM")
    assert seen["state"] == "refusing"
    await redis.command("ACL", "SETUSER", "a", "+xadd")
    assert [one["args"] for one in await chat.received(1, "d")] == [[1]]
    await daemon.until(lambda status: fleet(status)["redis"]["state"] == "working", "it to be well", SOON)
    await redis.command("ACL", "SETUSER", "a", "-eval")
    other = await daemons(configuration(chat, redis.url, host="b", user="a", password_file=str(password)))
    seen = await told(other, "JOIN of gw:test:{chat}:hosts", "eval")
    assert "refuses what an upstream needs" in other.text()
    await redis.command("ACL", "SETUSER", "a", "+eval")
    await works(other)
    await redis.command("ACL", "SETUSER", "a", "-info")
    await other.crash()
    await other.start()
    await told(other, "does not let this user do what each host has to do (NOPERM", "info")


async def test_a_right_that_is_given_back_is_not_said_to_be_missing_where_another_host_has_the_link_meanwhile(
        daemons, chat, server, folder):
    redis = await server()
    password = folder / "password"
    password.write_text("p")
    hosts = []
    for name in "ab":
        await redis.command("ACL", "SETUSER", name, "on", ">p", "~*", "+@all")
        hosts.append(await daemons(configuration(
            chat, redis.url, host=name, user=name, password_file=str(password), adopt="3s")))
        await works(hosts[-1])
    await redis.command("ACL", "SETUSER", "a", "-hset")
    assert (await told(hosts[0], "does not let this user"))["state"] == "refusing"
    await holder(hosts[1:])
    await redis.command("ACL", "SETUSER", "a", "+hset")
    await hosts[0].until(lambda status: fleet(status)["redis"]["state"] == "working", "it to be well", SOON)
    await works(hosts[0])
    assert "refuses an upstream nothing any more" in hosts[0].text()


async def two_hosts(daemons, chat, server, folder, **second):
    """Of which the first has the link, with users of their own: the Redis and the hosts."""
    redis = await server()
    password = folder / "password"
    password.write_text("p")
    hosts = []
    for name, settings in (("a", {}), ("b", second)):
        await redis.command("ACL", "SETUSER", name, "on", ">p", "~*", "+@all")
        hosts.append(await daemons(configuration(
            chat, redis.url, host=name, user=name, password_file=str(password), adopt="3s", grace="2s", **settings)))
        await works(hosts[-1])
    return redis, hosts


async def test_a_holder_that_may_not_read_what_the_hosts_say_does_not_keep_the_link(daemons, chat, server, folder):
    redis, hosts = await two_hosts(daemons, chat, server, folder)
    await redis.command("ACL", "SETUSER", "a", "-xread")
    # What waits is answered yet, and what follows is refused.
    await works(hosts[1])
    await holder(hosts[1:])
    await works(hosts[1])
    assert "what the hosts say cannot be read" in hosts[0].text()
    await redis.command("ACL", "SETUSER", "a", "+xread")
    await works(hosts[0])


async def test_hosts_are_told_that_the_holder_may_not_read_what_they_say_where_no_other_may_hold(
        daemons, chat, server, folder, ctl):
    redis, hosts = await two_hosts(daemons, chat, server, folder, hold="never")
    await redis.command("ACL", "SETUSER", "a", "-xread")
    await works(hosts[1])
    await hosts[1].until(
        lambda status: any("what the hosts say cannot be read" in (one.get("detail") or "")
                           for one in status["connections"]), "the follower to be told", SOON)
    assert (await ctl(hosts[1], "status", "--check", "chat")).code != 0
    await hosts[0].until(
        lambda status: all(one["state"] != "connected" for one in status["connections"]), "no link", SOON)
    await redis.command("ACL", "SETUSER", "a", "+xread")
    for host in hosts:
        await works(host)
