"""What users share: none of them can use up what the others need."""

import time

import pytest

from local_client import CallError
from users import ALICE, BOB, client_as

pytestmark = pytest.mark.root

OPEN = {"socket": {"mode": "0666"}}


async def two_users(daemons, configuration):
    daemon = await daemons({**OPEN, **configuration})
    return await client_as(daemon, ALICE), await client_as(daemon, BOB), daemon


async def test_one_users_queued_sends_leave_another_room_on_the_same_connection(daemons, peer):
    await peer.refuse()
    alice, bob, _ = await two_users(
        daemons, {"limits": {"send_queue": 3}, "upstream": {"chat": {"url": peer.url}}})
    for client in (alice, bob):
        for number in range(3):
            await client.call("send", upstream="chat", event="n", args=[number])
        error = await client.fails("QueueFull", "send", upstream="chat", event="n", args=[3])
        assert (error.data["limit"], error.data["share"]) == (3, 3)


async def test_sends_to_a_dead_port_do_not_delay_another_users_first_connect(daemons, peer, chat):
    await peer.refuse()
    alice, bob, daemon = await two_users(daemons, {"limits": {"attempts": 5, "attempts_burst": 5}})
    for number in range(100):
        await alice.call("send", url=f"{peer.url}/{number}", event="n")
    # Alice's alone take twenty seconds.
    assert (await bob.call("request", url=chat.url, event="echo", args=[1], timeout=8_000))["args"] == [1]


async def test_examinations_of_a_dead_port_are_no_more_frequent_than_attempts(daemons, peer):
    await peer.refuse()
    alice, _, _ = await two_users(daemons, {"limits": {"attempts": 1, "attempts_burst": 1}})
    begin = time.monotonic()
    for _ in range(3):
        answer = await alice.call("doctor", url=peer.url)
        assert answer["steps"][-1]["code"] == "tcp.refused"
    # The first turn is free, each other one comes a second after the one before it.
    assert time.monotonic() - begin > 1.9


async def test_an_examination_whose_time_is_over_before_its_turn_comes_says_so(daemons, peer):
    await peer.refuse()
    alice, _, _ = await two_users(daemons, {"limits": {"attempts": 1, "attempts_burst": 1}})
    await alice.call("doctor", url=peer.url)
    # The turn of this one would come a second later.
    answer = await alice.call("doctor", url=peer.url, timeout=100)
    assert [step["code"] for step in answer["steps"]] == ["name.turn"]
    assert "before its turn came" in answer["steps"][0]["seen"]
    assert (await alice.call("doctor", url=peer.url))["steps"][-1]["code"] == "tcp.refused"


async def test_one_users_namespaces_of_a_configured_upstream_leave_another_room(daemons, peer):
    await peer.refuse()
    alice, bob, daemon = await two_users(
        daemons, {"limits": {"connections": 20},
                  "upstream": {"chat": {"url": peer.url, "history": {"disk": True}}}})
    for number in range(10):
        await alice.call("send", upstream="chat", namespace=f"/{number}", event="n")
    error = await alice.fails("QuotaExceeded", "send", upstream="chat", namespace="/10", event="n")
    assert (error.data["quota"], error.data["limit"], error.data["share"]) == ("connections", 20, 10)
    await alice.call("send", upstream="chat", event="n")
    await bob.call("send", upstream="chat", namespace="/10", event="n")
    # What never connected has brought nothing that could be kept.
    folder = daemon.folder / "state" / "history"
    assert not folder.exists() or not list(folder.iterdir())


@pytest.mark.parametrize("is_up", [False, True], ids=["down", "unread"])
async def test_one_users_large_sends_over_configured_upstreams_leave_another_memory(daemons, scripted, is_up):
    upstreams = [await scripted() for _ in range(3)]
    alice, bob, daemon = await two_users(
        daemons, {"limits": {"send_bytes": "8MiB", "send_queue_bytes": "3MiB"},
                  "upstream": {f"s{number}": {"url": one.url} for number, one in enumerate(upstreams)}})
    for number, upstream in enumerate(upstreams):
        if is_up:
            asking = alice.post("wait", upstream=f"s{number}", state="connected", timeout=10_000)
            # Nothing is read from here on.
            link = await upstream.session()
            link.writer.transport.pause_reading()
            await alice.result(asking)
        else:
            await upstream.refuse()
    failures = []
    for number in range(3):
        for _ in range(60):
            try:
                await alice.call("send", upstream=f"s{number}", event="big", args=["x" * 400_000])
            except CallError as failure:
                failures.append(failure.data.get("share"))
                break
    for number in range(3):
        await bob.call("send", upstream=f"s{number}", event="big", args=["x" * 400_000])
    # Each connection has its limit; together they have the user's half of the memory.
    assert failures[0] == 3 << 20 and failures[-1] == 4 << 20
