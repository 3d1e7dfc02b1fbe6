"""Ways to a server: several URLs, redirects, both families of addresses, a deadline for every phase, Retry-After."""

import asyncio
import contextlib
import errno
import socket
import time

import pytest

from patience import FACTOR
from scripted import ScriptedUpstream


def upstream(url, **settings):
    return {"upstream": {"chat": {"url": url, **settings}}}


async def down(daemon):
    """The reason and the detail of a failed attempt."""
    client = await daemon.client()
    await client.call("subscribe", upstream="chat", state=True)
    state = (await client.state_until("disconnected"))[-1]
    return state["reason"], state["detail"]


async def works(daemon, **target):
    client = await daemon.client()
    target = target or {"upstream": "chat"}
    assert (await client.call("request", **target, event="echo", args=[1]))["args"] == [1]
    return await daemon.connection()


# Several URLs

async def test_the_next_url_is_tried_within_one_attempt(daemons, chat, closed_port):
    dead = f"http://127.0.0.1:{closed_port}"
    daemon = await daemons(upstream([dead, chat.url]))
    connection = await works(daemon)
    assert connection["server"] == chat.url and connection["attempt"] == 0 and connection["url"] == dead


async def test_the_url_that_worked_is_tried_first_the_next_time(daemons, chat, peer):
    daemon = await daemons(upstream([peer.url, chat.url]))

    async def refuses(link):
        await link.read_request()
        await link.respond("502 Bad Gateway")
        await link.close()

    peer.script = refuses
    await works(daemon)
    tried = len(peer.all)
    assert tried == 1
    client = await daemon.client()
    await client.call("disconnect", upstream="chat")
    await client.call("reconnect", upstream="chat")
    assert (await works(daemon))["server"] == chat.url
    assert len(peer.all) == tried


async def test_every_failure_is_told_when_all_urls_fail(daemons, peer, closed_port):
    async def refuses(link):
        await link.read_request()
        await link.respond("404 Not Found")
        await link.close()

    peer.script = refuses
    daemon = await daemons(upstream([f"http://127.0.0.1:{closed_port}", peer.url], transports=["websocket"]))
    reason, detail = await down(daemon)
    assert reason == "http"
    assert detail == (f"http://127.0.0.1:{closed_port}: no connection to 127.0.0.1:{closed_port}: connection refused; "
                      f"{peer.url}: the server answered HTTP 404 Not Found instead of opening a WebSocket")


async def test_a_refusal_is_an_answer_and_ends_the_attempt(daemons, scripted):
    first, second = await scripted(), await scripted()

    async def refuses(link):
        await link.upgrade()
        await link.open()
        await link.receive()
        await link.text('44{"message":"no"}')
        await link.until_closed()

    first.script = refuses
    daemon = await daemons(upstream([first.url, second.url], transports=["websocket"]))
    assert (await down(daemon))[0] == "refused"
    assert second.all == []


async def test_hanging_up_before_the_namespace_is_answered_leads_to_the_next_url(daemons, chat, peer):
    async def hangs_up(link):
        await link.upgrade()
        await link.open()
        await link.receive()
        link.abort()

    peer.script = hangs_up
    daemon = await daemons(upstream([peer.url, chat.url], transports=["websocket"]))
    assert (await works(daemon))["server"] == chat.url


async def test_each_of_the_urls_means_the_upstream(daemons, chat, closed_port):
    daemon = await daemons(upstream([f"http://127.0.0.1:{closed_port}", chat.url]))
    connection = await works(daemon, url=chat.url)
    assert connection["upstream"] == "chat"


# Redirects

async def redirecting(peer, location, status="302 Found"):
    async def redirects(link):
        await link.read_request()
        await link.respond(status, headers=f"Location: {location}\r\n")
        await link.close()

    peer.script = redirects


async def test_a_redirect_is_refused_with_its_host_and_nothing_more(daemons, peer):
    await redirecting(peer, "https://login.example/sso?token=hunter2")
    daemon = await daemons(upstream(peer.url, transports=["websocket"]))
    reason, detail = await down(daemon)
    assert reason == "http" and "redirects to https://login.example" in detail and "not followed" in detail
    assert "hunter2" not in detail + daemon.text()


@pytest.mark.parametrize("status", ["301 Moved Permanently", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"])
async def test_a_redirect_on_the_same_host_is_followed_where_allowed(daemons, chat, peer, status):
    await redirecting(peer, chat.url + "/socket.io/?token=theirs", status)
    daemon = await daemons(upstream(peer.url, redirects="same-host"))
    connection = await works(daemon)
    assert connection["server"] == chat.url and connection["url"] == peer.url


async def test_a_redirect_to_another_host_needs_any(daemons, chat, peer):
    await redirecting(peer, f"http://localhost:{chat.port}/socket.io/")
    daemon = await daemons(upstream(peer.url, redirects="same-host", transports=["websocket"]))
    assert await down(daemon) == ("http", f"the server redirects to http://localhost:{chat.port} (HTTP 302), "
                                          "which is not followed: it is another host")
    daemon = await daemons(upstream(peer.url, redirects="any"))
    assert (await works(daemon))["server"] == f"http://localhost:{chat.port}"


async def test_configured_headers_do_not_go_to_another_host(daemons, scripted):
    first, second = await scripted(), await scripted()
    await redirecting(first, f"http://localhost:{second.port}/other/?x=1")
    headers = {"Authorization": "Bearer hunter2", "Cookie": "a=hunter2", "X-Team": "a"}
    daemon = await daemons(upstream(first.url, redirects="any", headers=headers, query={"v": "2"}, transports=["websocket"]))
    client = await daemon.client()
    await client.call("subscribe", upstream="chat")
    link = await second.session()
    assert link.request.path == "/other/" and link.request.query["v"] == "2" and "x" not in link.request.query
    assert not {"authorization", "cookie", "x-team"} & set(link.request.headers)


async def test_redirects_in_a_circle_end(daemons, peer):
    await redirecting(peer, "/again/")
    daemon = await daemons(upstream(peer.url, redirects="any", transports=["websocket"]))
    assert (await down(daemon))[1].endswith("which is not followed: it is the 6th redirect in a row")


async def test_the_target_of_a_redirect_is_forgotten_with_the_link(daemons, chat, peer):
    await redirecting(peer, chat.url + "/socket.io/")
    daemon = await daemons(upstream(peer.url, redirects="any"))
    await works(daemon)
    client = await daemon.client()
    await client.call("disconnect", upstream="chat")
    await client.call("reconnect", upstream="chat")
    await works(daemon)
    assert len(peer.all) == 2


# Addresses

class OneFamily(ScriptedUpstream):
    """Listens on one family's loopback address alone. The port of the other one is taken and refuses: nobody else gets it."""

    def __init__(self, host):
        super().__init__()
        self.host = host
        self.other = contextlib.ExitStack()

    async def start(self):
        while True:
            self.server = await asyncio.start_server(self._connected, self.host, 0, limit=1 << 26)
            self.port = self.server.sockets[0].getsockname()[1]
            try:
                self._take_other()
                return self
            except OSError as problem:
                # A family that is not there at all refuses by itself.
                if problem.errno != errno.EADDRINUSE:
                    return self
                self.server.close()

    def _take_other(self):
        family, host = (socket.AF_INET, "127.0.0.1") if ":" in self.host else (socket.AF_INET6, "::1")
        self.other.enter_context(socket.socket(family)).bind((host, self.port))

    async def close(self):
        await super().close()
        self.other.close()


@pytest.fixture
async def families(request):
    made = []

    async def make(host):
        if ":" in host:
            request.getfixturevalue("ipv6")
        peer = await OneFamily(host).start()
        made.append(peer)
        return peer

    yield make
    for peer in made:
        await peer.close()


@pytest.mark.parametrize("listens", ["127.0.0.1", "::1"])
async def test_a_name_with_both_families_connects_quickly_to_the_one_that_listens(daemons, families, listens):
    # libcurl takes localhost for both families, whatever the system's hosts file says.
    peer = await families(listens)
    daemon = await daemons(upstream(f"http://localhost:{peer.port}", transports=["websocket"]))
    client = await daemon.client()
    begun = time.monotonic()
    await client.call("subscribe", upstream="chat")
    await (await peer.link()).session()
    assert time.monotonic() - begun < 3 * FACTOR


async def test_a_literal_address_of_ipv6_works(daemons, families):
    peer = await families("::1")
    daemon = await daemons(upstream(f"http://[::1]:{peer.port}", transports=["websocket"]))
    client = await daemon.client()
    await client.call("subscribe", upstream="chat")
    link = await peer.session()
    assert link.request.headers["host"] == f"[::1]:{peer.port}"


# Retry-After

@pytest.mark.parametrize("status", ["503 Service Unavailable", "429 Too Many Requests"])
async def test_a_server_that_asks_for_time_gets_it(daemons, peer, status):
    async def busy(link):
        await link.read_request()
        await link.respond(status, headers="Retry-After: 30\r\n")
        await link.close()

    peer.script = busy
    daemon = await daemons(upstream(peer.url, transports=["websocket"]))
    await down(daemon)
    connection = await daemon.connection()
    assert connection["status"] == int(status[:3]) and connection["next"] > 20_000
    assert len(peer.all) == 1
