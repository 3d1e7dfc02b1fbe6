"""`status`, `hello` and the lists: what the daemon tells about itself."""

import re

import pytest

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


async def test_hello_introduces_the_daemon_and_its_limits(daemons):
    daemon = await daemons()
    client = await daemon.client()
    hello = await client.call("hello", client="test/1", protocol=1)
    assert re.fullmatch(r"gatewayd/\d+\.\d+\.\d+", hello["server"])
    assert hello["protocol"] == {"min": 1, "max": 1}
    assert hello["instance"] and "history" in hello["features"]
    assert {key: hello["limits"][key] for key in ("line", "subscriptions", "inflight", "queue")} == {
        "line": 1 << 20, "subscriptions": 128, "inflight": 256, "queue": 10_000}
    assert isinstance(hello["you"]["uid"], int) and isinstance(hello["you"]["gid"], int)
    assert set(hello["you"]["rights"]) == {"status", "subscribe", "send", "admin"}


async def test_an_instance_lasts_as_long_as_its_process(daemons):
    daemon = await daemons()
    instances = []
    for _ in range(2):
        for _ in range(2):
            client = await daemon.client()
            instances.append((await client.call("hello"))["instance"])
        await daemon.stop()
        await daemon.start()
    assert instances[0] == instances[1] != instances[2] == instances[3]


async def test_a_protocol_version_that_is_not_spoken_is_refused_or_answered_with_the_range(daemons):
    client = await (await daemons()).client()
    message = await client.post("hello", protocol=99)
    if "result" in message:
        assert message["result"]["protocol"] == {"min": 1, "max": 1}
    else:
        assert "1" in message["error"]["message"]


async def test_ping_is_an_empty_object(daemons):
    assert await (await (await daemons()).client()).call("ping") == {}


async def test_status_has_the_promised_shape(daemons, server):
    daemon = await daemons()
    client = await daemon.connected(url=server.url)
    await client.call("hello", client="shape/1")
    await client.call("subscribe", url=server.url)
    await server.burst("tick", 3)
    await client.events(3)
    await client.call("request", url=server.url, event="echo", args=["x"])
    status = await client.call("status")

    own = status["daemon"]
    assert own["pid"] == daemon.process.pid and own["state"] == "running"
    assert re.fullmatch(r"\d+\.\d+\.\d+", own["version"]) and own["instance"]
    assert 0 <= own["uptime"] < 600_000 and own["rss"] > 1 << 20
    # In microseconds, by the clock: how long it is depends on the machine.
    assert 0 < own["longest_turn"] < 60_000_000

    (connection,) = status["connections"]
    assert UUID.fullmatch(connection["connection"]) and UUID.fullmatch(connection["link"])
    assert connection["upstream"] is None and connection["namespace"] == "/" and connection["kind"] == "socketio"
    assert connection["url"].startswith(server.url)
    assert connection["state"] == "connected" and connection["since"] > 1_600_000_000_000
    for key in ("reason", "detail", "next"):
        assert connection.get(key) is None
    assert "rule" in connection and isinstance(connection["attempt"], int)
    assert connection["leases"] >= 1 and connection["subscriptions"] == 1
    assert connection["queue"] == {"count": 0, "bytes": 0, "oldest": None}
    assert connection["transport"] == "websocket" and connection["tls"] is None
    assert connection["protocol"] == {"engineio": server.engineio, "socketio": server.engineio + 1}
    assert isinstance(connection["verified"], bool)
    # Servers of revision 3 know no id that may be shown.
    assert connection["sid"] if server.engineio == 4 else connection["sid"] is None
    assert connection["rtt"] is None or connection["rtt"] >= 0
    age = connection["heartbeat"].pop("age")
    assert connection["heartbeat"] == {"interval": 25_000, "timeout": 20_000} and 0 <= age < 25_000
    assert connection["epoch"] and connection["seq"] >= 3
    assert connection["in"]["events"] == 3 and connection["in"]["bytes"] > 0
    assert connection["out"]["events"] == 1 and connection["out"]["bytes"] > 0
    assert connection["reconnects"] == 0

    (mine,) = [one for one in status["clients"] if one["name"] == "shape/1"]
    assert isinstance(mine["client"], str) and mine["since"] > 1_600_000_000_000
    assert isinstance(mine["uid"], int) and isinstance(mine["gid"], int)
    assert (mine["subscriptions"], mine["dropped"]) == (1, 0) and isinstance(mine["requests"], int)
    assert set(mine["queue"]) >= {"count", "bytes"}


async def test_the_queue_and_the_next_attempt_are_shown_while_down(daemons, peer):
    await peer.refuse()
    daemon = await daemons({"defaults": {"reconnect": {"base": "1h", "cap": "1h"}}})
    client = await daemon.client()
    for _ in range(2):
        await client.call("send", url=peer.url, event="e", args=["x" * 100])
    status = await daemon.until(lambda s: s["connections"][0]["reason"] == "unreachable", "the failure")
    connection = status["connections"][0]
    assert connection["queue"]["count"] == 2 and connection["queue"]["bytes"] >= 200
    assert connection["queue"]["oldest"] is not None
    assert connection["next"] is not None and connection["attempt"] >= 1 and connection["transport"] is None


async def test_reconnects_are_counted(daemons, chat):
    daemon = await daemons()
    client = await daemon.connected(url=chat.url)
    await client.call("subscribe", url=chat.url, state=True)
    for number in range(1, 4):
        await chat.cut()
        await client.state_until("connected")
        assert (await daemon.connection())["reconnects"] == number


@pytest.mark.parametrize("by_name", [True, False])
async def test_status_of_one_target_shows_only_that(daemons, servers, by_name):
    one, two = await servers(), await servers()
    daemon = await daemons({"upstream": {"one": {"url": one.url}}})
    client = await daemon.client()
    for server in (one, two):
        await client.call("request", url=server.url, event="echo")
    target = {"upstream": "one"} if by_name else {"url": one.url}
    (connection,) = (await client.call("status", target))["connections"]
    assert connection["upstream"] == "one"


async def test_names_given_in_hello_are_listed(daemons):
    daemon = await daemons()
    ann, bob = await daemon.client(), await daemon.client()
    await ann.call("hello", client="ann.sh/2")
    await bob.call("hello", client="bob")
    clients = (await ann.call("clients.list"))["clients"]
    assert {one["name"] for one in clients} == {"ann.sh/2", "bob"}
    assert len({one["client"] for one in clients}) == 2


async def test_a_kicked_client_is_closed_and_the_others_stay(daemons):
    daemon = await daemons()
    ann, bob = await daemon.client(), await daemon.client()
    await bob.call("hello", client="bob")
    (target,) = [one["client"] for one in (await ann.call("clients.list"))["clients"] if one["name"] == "bob"]
    assert await ann.call("clients.kick", client=target) == {}
    assert (await bob.note("goodbye"))[1]["reason"] == "kicked"
    await bob.until_closed()
    assert len((await ann.call("clients.list"))["clients"]) == 1


async def test_kicking_an_unknown_client_is_an_error(daemons):
    client = await (await daemons()).client()
    reply = await client.exchange(b'{"jsonrpc":"2.0","id":0,"method":"clients.kick","params":{"client":"nobody"}}')
    assert "error" in reply


async def test_a_client_may_kick_itself(daemons):
    client = await (await daemons()).client()
    (me,) = (await client.call("clients.list"))["clients"]
    client.post("clients.kick", client=me["client"])
    await client.until_closed()


async def test_discover_describes_every_method(daemons):
    client = await (await daemons()).client()
    described = str(await client.call("rpc.discover"))
    for method in ("hello", "subscribe", "unsubscribe", "credit", "send", "request", "respond", "wait", "status",
                   "clients.list", "clients.kick", "upstreams.list", "reconnect", "disconnect", "release", "reload", "ping",
                   "rpc.discover", "rpc.cancel"):
        assert method in described


async def test_the_url_is_shown_without_user_and_query_values(daemons, peer):
    daemon = await daemons()
    client = await daemon.client()
    url = peer.url.replace("//", "//user-name:pass-word@") + "?token=query-secret&v=other-secret"
    await client.call("subscribe", url=url)
    shown = (await daemon.connection())["url"]
    for secret in ("user-name", "pass-word", "query-secret", "other-secret"):
        assert secret not in shown
    assert "token" in shown


async def test_status_of_a_target_lists_only_the_programs_that_use_it(daemons, servers):
    one, two = await servers(), await servers()
    daemon = await daemons()
    first, second, looking = [await daemon.client() for _ in range(3)]
    for number, (client, server) in enumerate([(first, one), (second, two)]):
        await client.call("hello", client=f"user-{number}")
        await client.call("subscribe", url=server.url)
    status = await looking.call("status", url=one.url)
    assert [each["name"] for each in status["clients"]] == ["user-0"]
    assert len((await looking.call("status"))["clients"]) == 3
    assert (await looking.call("status", url=f"{one.url}/unused"))["clients"] == []


async def test_asking_for_the_history_lists_a_connection_that_never_tries_to_connect(daemons, chat):
    client = await (await daemons()).client()
    assert (await client.call("history", url=chat.url))["events"] == []
    (connection,) = (await client.call("status"))["connections"]
    assert [connection[name] for name in ("state", "reason", "generation")] == ["disconnected", "idle", 0]
    await chat.links(0)


async def test_an_order_to_what_is_not_there_names_the_state_and_what_was_asked(daemons, chat):
    client = await (await daemons()).client()
    for method, asked in [("reconnect", "connect"), ("disconnect", "disconnect"), ("release", "release")]:
        error = await client.fails("IllegalState", method, url=chat.url)
        assert (error.data["state"], error.data["asked"]) == ("released", asked)
