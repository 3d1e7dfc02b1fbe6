"""Messages and answers of a fleet that are long: what a host carries alone, and what Redis has no room for."""

from fleet_hosts import hosts, needs_redis, ready, redis  # pylint: disable=unused-import
from test_parts import LONG, in_parts

pytestmark = needs_redis

LARGE = 28 << 20
"""Bytes of what a line may have here, and a fleet does not carry."""


async def long_hosts(hosts, url):
    return await hosts(
        2, daemon={"limits": {"line": "64MiB", "client_queue_bytes": "256MiB"}}, url=url, message_limit="64MiB")


async def test_arguments_in_parts_may_be_as_long_as_without_a_fleet(hosts, servers):
    server = await servers("eio4", "--max-payload", 8 << 20)
    (host,) = await hosts(1, url=server.url)
    client = await ready(host)
    assert (await in_parts(client, LONG, method="request", upstream="chat", event="nothing"))["args"] == []


async def test_a_message_above_what_a_fleet_carries_is_refused_and_the_fleet_works_on(hosts, servers):
    server = await servers("eio4", "--max-payload", 64 << 20)
    clients = [await ready(host) for host in await long_hosts(hosts, server.url)]
    for client in clients:
        error = await client.fails("PayloadTooLarge", "request", upstream="chat", event="echo", args=["x" * LARGE])
        assert "a fleet carries at most 25165824" in error.message, error.message
        answer = await client.call("request", upstream="chat", event="echo", args=["x"])
        assert answer["args"] == ["x"]


async def test_an_answer_above_what_a_fleet_carries_ends_its_request_and_the_fleet_works_on(hosts, servers):
    server = await servers("eio4", "--max-payload", 64 << 20)
    for host in await long_hosts(hosts, server.url):
        client = await ready(host)
        error = await client.fails("PayloadTooLarge", "request", upstream="chat", event="give", args=[LARGE])
        assert "more than the fleet carries" in error.message and error.data["size"] > LARGE, error.message
        answer = await client.call("request", upstream="chat", event="give", args=[3])
        assert answer["args"] == ["xxx"]
