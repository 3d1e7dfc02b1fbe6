"""HTTP connections of the daemon that nobody uses any more: they end soon, whatever else goes on."""

import asyncio
import os
import pathlib
import re

import pytest

from patience import within

POLLING = {"transports": ["polling"], "linger": "0s"}
UPGRADING = {"transports": ["polling", "websocket"], "linger": "0s"}
SECONDS = 8
"""An idle connection is closed after about five."""


def sockets(daemon, *ports):
    """How many sockets the daemon holds to these ports, in whatever state they are."""
    pid = daemon.process.pid
    inodes = set()
    for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            found = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(link))
        except FileNotFoundError:
            continue
        if found:
            inodes.add(found[1])
    rows = [line.split() for line in pathlib.Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
    return sum(row[9] in inodes and int(row[2].split(":")[1], 16) in ports for row in rows)


async def until(daemon, count, *ports):
    async def ask():
        while sockets(daemon, *ports) != count:
            await asyncio.sleep(0.05)

    try:
        await within(ask(), "", SECONDS)
    except AssertionError:
        pytest.fail(f"{sockets(daemon, *ports)} sockets instead of {count}, {SECONDS} s later")


async def test_an_upgraded_link_holds_one_socket_and_a_closed_one_none(daemons, servers):
    async def on(*stack):
        chat = await servers("eio4", *stack)
        daemon = await daemons({"defaults": UPGRADING})
        client = await daemon.client()
        await client.call("subscribe", url=chat.url)
        await daemon.until(lambda s: s["connections"][0]["transport"] == "websocket", "the upgrade")
        await until(daemon, 1, chat.port)
        assert (await client.call("request", url=chat.url, event="echo", args=[1]))["args"] == [1]
        await client.close()
        await until(daemon, 0, chat.port)

    # At once, because each waits for seconds.
    await asyncio.gather(on("--stack", "aiohttp"), on("--stack", "uvicorn"))


async def test_a_polling_link_that_was_closed_holds_no_socket_while_another_one_polls_on(daemons, servers):
    first, second = await servers("eio4"), await servers("eio4")
    daemon = await daemons({"defaults": POLLING})
    client, stays = await daemon.client(), await daemon.client()
    await client.call("subscribe", url=first.url)
    await stays.call("subscribe", url=second.url)
    await client.call("request", url=first.url, event="echo", args=[1])
    await stays.call("request", url=second.url, event="echo", args=[1])
    assert sockets(daemon, first.port) >= 1
    await client.close()
    await until(daemon, 0, first.port)
    assert (await stays.call("request", url=second.url, event="echo", args=[2]))["args"] == [2]


async def test_polling_upstreams_that_a_reload_removes_leave_no_socket_behind(daemons, chat):
    names = [f"u{number}" for number in range(20)]
    upstreams = {name: {"url": f"{chat.url}/", "query": {"n": name}, "keep": "always"} for name in names}
    daemon = await daemons({"defaults": POLLING, "upstream": upstreams})
    await daemon.until(lambda s: [c["state"] for c in s["connections"]].count("connected") == len(names), "all links")
    assert sockets(daemon, chat.port) >= len(names)
    daemon.configure({"defaults": POLLING})
    await (await daemon.client()).call("reload")
    await until(daemon, 0, chat.port)


async def test_a_link_on_which_nothing_goes_is_none_of_them(daemons, servers):
    quiet, other = await servers("eio4"), await servers("eio4")

    async def beside(transport):
        daemon = await daemons({
            "upstream": {"quiet": {"url": quiet.url, "transports": ["websocket"]},
                         "other": {"url": other.url, "transports": [transport]}}})
        client = await daemon.connected(upstream="quiet")
        # Longer than a connection may be idle; each dial closes those that are.
        await asyncio.sleep(SECONDS - 2)
        assert (await client.call("request", upstream="other", event="echo", args=[1]))["args"] == [1]
        assert sockets(daemon, quiet.port) == 1
        assert (await client.call("request", upstream="quiet", event="echo", args=[2]))["args"] == [2]

    await asyncio.gather(beside("websocket"), beside("polling"))
    assert (await quiet.counters())["links_ever"] == 2
