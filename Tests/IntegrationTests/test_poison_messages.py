"""A message because of which a server ends the link must not take it from everybody again and again."""

import asyncio
import socket

import pytest

import processes
from local_client import CallError
from programs import debian_program
from test_outbox import durable, entries, settled
from test_polling import POLLING

NGINX = debian_program("nginx/usr/sbin/nginx")
RETRIES = {"retries": 20, "ack_timeout": 5_000}


@pytest.fixture
async def nginx(folder):
    """nginx before a server, which refuses requests with a body of more than 4 KiB."""
    if not NGINX:
        pytest.skip("there is no nginx: `make environments` could not download it, and GATEWAY_NGINX names none")
    started = []

    async def start(server):
        place = folder / "nginx"
        place.mkdir()
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            port = taken.getsockname()[1]
        (place / "nginx.conf").write_text(f"""
            daemon off; master_process off; pid {place}/pid; error_log {place}/error.log;
            events {{}}
            http {{
              access_log {place}/access.log;
              client_body_temp_path {place}/body; proxy_temp_path {place}/proxy;
              fastcgi_temp_path {place}/fastcgi; uwsgi_temp_path {place}/uwsgi; scgi_temp_path {place}/scgi;
              client_max_body_size 4k;
              server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass {server.url}; proxy_buffering off; }} }}
            }}""")
        started.append(await processes.spawn(
            NGINX, "-c", place / "nginx.conf", "-p", place, "-e", place / "error.log"))
        return f"http://127.0.0.1:{port}", place / "access.log"

    yield start
    for process in started:
        await processes.kill(process)


async def losses(daemon):
    return (await daemon.connection())["reconnects"]


async def test_what_a_proxy_refuses_as_too_large_ends_as_refused(daemons, server, nginx):
    url, log = await nginx(server)
    daemon = await daemons(POLLING)
    client = await daemon.connected(url=url)
    await durable(client, url=url, event="big", args=["x" * 5_000], **RETRIES)
    (entry,) = await settled(client, 1, "refused")
    assert (entry["reason"], entry["attempts"]) == ("too_large", 1)
    # A request as well, though it is little smaller, and the next one before it is written.
    await client.call("request", url=url, event="echo", args=["small"])
    with pytest.raises(CallError) as failure:
        await client.call("request", url=url, event="echo", args=["x" * 4_990])
    assert failure.value.type == "PayloadTooLarge"
    with pytest.raises(CallError) as failure:
        await client.call("request", url=url, event="echo", args=["x" * 4_995])
    assert failure.value.type == "PayloadTooLarge"
    assert log.read_text().count(" 413 ") == 2


async def test_messages_that_are_too_large_only_together_are_sent_apart(daemons, server, nginx):
    url, log = await nginx(server)
    daemon = await daemons(POLLING)
    client = await daemon.connected(url=url)
    for _ in range(2):
        pending = [client.post("request", url=url, event="echo", args=[number, "x" * 3_000]) for number in range(40)]
        assert [(await client.result(one))["args"][0] for one in pending] == list(range(40))
        assert log.read_text().count(" 413 ") == 1 and await losses(daemon) == 0


async def test_the_one_of_several_that_is_too_large_is_found(daemons, server, nginx):
    url, log = await nginx(server)
    daemon = await daemons(POLLING)
    client = await daemon.connected(url=url)
    pending = [client.post("request", url=url, event="echo", args=[number, "x" * (5_000 if number == 12 else 100)])
               for number in range(16)]
    outcomes = [getattr(one, "type", "") for one in
                await asyncio.gather(*(client.result(one) for one in pending), return_exceptions=True)]
    assert outcomes[12] == "PayloadTooLarge"
    # What was under way with it is unknown.
    assert set(outcomes[:12] + outcomes[13:]) <= {"", "AckLost"}


@pytest.mark.parametrize("transports", [["websocket"], ["polling"]], ids=["websocket", "polling"])
async def test_a_server_of_the_old_line_is_not_broken_for_everybody(daemons, servers, transports):
    # By polling it answers what is too large with HTTP 400, by WebSocket with 1009.
    server = await servers("eio3", "--max-payload", 100_000)
    size = 4_200_000 if transports == ["websocket"] else 200_000
    daemon = await daemons({"defaults": {"transports": transports}, "limits": {"line": "16MiB"}})
    client, other = await daemon.client(), await daemon.client()
    await other.call("subscribe", url=server.url, events=["said"])
    await durable(client, url=server.url, event="big", args=["x" * size], **RETRIES)
    if transports == ["websocket"]:
        (entry,) = await settled(client, 1, "refused")
        assert entry["reason"] == "too_large" and await losses(daemon) <= 1
        with pytest.raises(CallError) as failure:
            await other.call("request", url=server.url, event="big", args=["x" * size])
        assert failure.value.type == "PayloadTooLarge"
        return
    await daemon.until(lambda s: s["connections"][0]["reconnects"] >= 2, "the links that it costs")
    (entry,) = await entries(client)
    assert (entry["state"], entry["reason"]) == ("queued", "suspected")
    for number in range(20):
        await other.call("request", url=server.url, event="echo", args=[number])
    assert await losses(daemon) <= 3


async def test_what_a_server_hangs_up_at_waits_until_others_have_gone(daemons, peer):
    daemon = await daemons()
    client, other = await daemon.client(), await daemon.client()
    links, others = [], []

    async def script(link):
        await link.session()
        links.append(link)
        while True:
            packet = await link.receive()
            if "poison" in packet:
                return link.abort()
            others.append(packet)
            ack = packet[2:].split("[")[0]
            if ack:
                await link.text(f"43{ack}[]")

    peer.script = script
    await durable(client, url=peer.url, event="poison", retries=3, ack_timeout=5_000)
    await daemon.until(lambda s: s["connections"][0]["reconnects"] == 2, "two links to break")
    await other.call("subscribe", url=peer.url, events=["said"])
    (entry,) = await entries(client)
    assert (entry["state"], entry["reason"], entry["attempts"]) == ("queued", "suspected", 2)
    for number in range(5):
        await other.call("request", url=peer.url, event="fine", args=[number])
    # Tried alone it is to blame for certain, and ends with its last try.
    (entry,) = await settled(client, 1, "lost")
    assert (entry["reason"], entry["attempts"]) == ("suspected", 4)
    assert len(links) <= 5 and len(others) == 5
