"""What a trace shows of a connection, and what it never shows."""

import asyncio
import json


async def traced(daemon, url, **params):
    """A client that traces an upstream; the tests run as the daemon's own user, who is an administrator."""
    client = await daemon.client()
    reply = await client.call("trace", url=url, **params)
    assert set(reply) == {"trace"}
    return client


async def words(client, count):
    notes = [(await client.note("trace"))[1] for _ in range(count)]
    return [(note["direction"], note["layer"], note["text"]) for note in notes]


async def test_a_conversation_with_a_scripted_server_in_words(daemons, peer):
    daemon = await daemons()
    watcher = await traced(daemon, peer.url)
    client = await daemon.client()
    await client.call("send", url=peer.url, event="say", args=["hello", 1])
    link = await peer.session()
    await link.expect('42["say","hello", 1]')
    await link.text("2", '42["said"]')
    assert await words(watcher, 9) == [
        ("out", "http", f"DIAL {peer.url}/socket.io/?EIO=4&transport=websocket"),
        ("in", "http", "OPEN websocket"),
        ("in", "engine", "HANDSHAKE Engine.IO 4, ping every 25000 ms, time-out 20000 ms, at most 1000000 bytes"),
        ("out", "socketio", "CONNECT /"),
        ("in", "socketio", "CONNECT / (payload of 21 bytes)"),
        ("out", "socketio", "EVENT say (2 args, 18 bytes)"),
        ("in", "engine", "PING"),
        ("out", "engine", "PONG"),
        ("in", "socketio", "EVENT said (0 args, 8 bytes)"),
    ]
    link.abort()
    kinds = [text.split()[0] for _, _, text in await words(watcher, 2)]
    assert kinds == ["CLOSED", "END"]
    await watcher.call("untrace", trace="t1")


async def test_what_a_subscription_enters_is_shown(daemons, peer):
    daemon = await daemons()
    watcher = await traced(daemon, peer.url)
    client = await daemon.client()
    held = {"enter": [{"event": "join", "args": ["ops"]}], "leave": [{"event": "leave", "args": ["ops"]}]}
    await client.call("subscribe", url=peer.url, events=["said"], **held)
    link = await peer.session()
    await link.expect('42["join","ops"]')
    shown = await words(watcher, 6)
    assert shown[-1] == ("out", "socketio", "EVENT join (1 arg, 14 bytes)"), shown


async def test_a_failed_attempt_is_shown(daemons, peer):
    await peer.refuse()
    daemon = await daemons()
    watcher = await traced(daemon, peer.url)
    client = await daemon.client()
    await client.call("send", url=peer.url, event="e")
    lines = await words(watcher, 3)
    assert [text.split()[0] for _, _, text in lines] == ["DIAL", "CLOSED", "END"]
    assert "unreachable" in lines[1][2]


async def test_secrets_are_never_shown(daemons, server):
    daemon = await daemons()
    url = f"{server.url}/?key=query-secret"
    watcher = await daemon.client()
    await watcher.call("trace", url=url, auth={"token": "auth-secret"}, payloads=True)
    client = await daemon.client()
    answer = await client.call("request", url=url, auth={"token": "auth-secret"}, event="echo",
                               args=["auth-secret", "query-secret", "open"])
    assert answer["args"] == ["auth-secret", "query-secret", "open"]
    sid = (await client.call("status"))["connections"][0]["sid"]
    notes = []
    while not notes or not notes[-1]["text"].startswith("ACK"):
        notes.append((await watcher.note("trace"))[1])
    shown = json.dumps(notes)
    assert "open" in shown and "***" in shown
    for secret in ["auth-secret", "query-secret"] + ([sid] if sid else []):
        assert secret not in shown


async def test_gatewayctl_shows_json_lines(daemons, peer, start_ctl):
    daemon = await daemons()
    command = await start_ctl(daemon, "trace", "-n", "2", peer.url)
    client = await daemon.client()
    # The trace is there when its first line can come; a send before it would be missed.
    while not any(one["name"] and one["name"].startswith("gatewayctl") for one in (await client.call("clients.list"))["clients"]):
        pass
    await client.call("ping")
    await client.call("send", url=peer.url, event="say")
    await peer.session()
    lines = [json.loads(await command.line()) for _ in range(2)]
    assert [line["text"].split()[0] for line in lines] == ["DIAL", "OPEN"]
    assert set(lines[0]) == {"time", "direction", "layer", "text"}
    assert (await command.outcome()).code == 0


async def test_the_time_ends_gatewayctl(daemons, peer, ctl):
    daemon = await daemons()
    # Long enough for the daemon to have answered on a machine that is busy.
    ended, outcome = await asyncio.gather(
        ctl(daemon, "trace", "--for", "2s", peer.url), ctl(daemon, "trace", "--for", "2s", "-n", "1", peer.url))
    assert ended.code == 0
    assert outcome.code == 124 and "0 of 1 packets" in outcome.err
