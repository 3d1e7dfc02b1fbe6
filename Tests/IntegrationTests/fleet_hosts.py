"""Hosts of one fleet on a real Redis, for tests: fixtures and what is asked of them again and again."""

import asyncio

import pytest

import redis_server
from patience import SOON, within

needs_redis = pytest.mark.skipif(redis_server.program() is None, reason=redis_server.MISSING)


@pytest.fixture
async def redis(folder):
    server = await redis_server.RedisServer(folder / "redis", ["--appendonly", "yes"]).start()
    yield server
    await server.close()


@pytest.fixture
async def hosts(daemons, redis, chat):
    """Starts hosts of one fleet: `await hosts(3)`, and others later; with members of `[fleet]`, other settings of the
    daemon, and settings of the upstream."""
    made = []

    async def make(count=1, fleet=None, daemon=None, **upstream):
        for _ in range(count):
            made.append(await daemons({
                **(daemon or {}),
                "fleet": {"name": "test", "redis": [redis.url], "host": f"h{len(made)}", "lease": "1s", "adopt": "3s",
                          **(fleet or {})},
                "upstream": {"chat": {"url": chat.url, "fleet": True, **upstream}}}))
        return made[-count:]

    return make


async def ready(host):
    """A client of a host, once the fleet's link is up there."""
    return await host.connected(upstream="chat")


def held(status):
    """What `status` shows of the link that the host holds; None for one that holds none."""
    return next((one for one in status["connections"] if one.get("fleet", {}).get("role") == "holder"), None)


def another(hosts, first):
    """Another host than that one."""
    return next(host for host in hosts if host is not first)


async def holder(hosts, without=None):
    """The host that holds, once one has the link up."""
    async def ask():
        while True:
            for host in hosts:
                if host is without:
                    continue
                link = held(await host.status())
                if link and link["state"] == "connected":
                    return host
            await asyncio.sleep(0.02)

    return await within(ask(), "a host to hold the link", 4 * SOON)
