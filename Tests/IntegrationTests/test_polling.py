"""Long-polling: alone, on the way to a WebSocket, and where a WebSocket is impossible."""

import asyncio
import base64

import pytest

from patience import within
from polling_peer import PollingPeer

POLLING = {"defaults": {"transports": ["polling"]}}
UPGRADING = {"defaults": {"transports": ["polling", "websocket"]}}
BOTH = {"defaults": {"transports": ["websocket", "polling"]}}
BINARY = {"$bin": base64.b64encode(bytes(range(256))).decode()}


@pytest.fixture
async def poller():
    """A scripted upstream for long-polling."""
    peer = await PollingPeer().start()
    yield peer
    await peer.close()
    assert not peer.overlaps, "two polls of one kind at once"


async def carried_by(daemon, transport):
    await daemon.until(lambda s: s["connections"][0]["transport"] == transport, f"the transport {transport}")


# Against real servers


@pytest.mark.parametrize("settings", [POLLING, UPGRADING], ids=["polling", "upgraded"])
async def test_the_main_job_is_done_by_long_polling(daemons, server, settings):
    daemon = await daemons(settings)
    client = await daemon.connected(url=server.url)
    await client.call("subscribe", url=server.url, events=["said"])
    await client.call("send", url=server.url, event="line", args=["x", 1, BINARY])
    assert (await server.received(1, "line"))[0]["args"] == ["x", 1, BINARY]
    assert (await client.call("request", url=server.url, event="echo", args=["é€😀", BINARY]))["args"] == ["é€😀", BINARY]
    await server.emit("said", "hi", BINARY, "😀")
    assert (await client.event())["args"] == ["hi", BINARY, "😀"]
    await carried_by(daemon, "polling" if settings is POLLING else "websocket")
    assert (await client.call("request", url=server.url, event="echo", args=["after", BINARY]))["args"] == ["after", BINARY]
    assert (await daemon.connection())["protocol"]["engineio"] == server.engineio


@pytest.mark.parametrize("settings", [POLLING, UPGRADING], ids=["polling", "upgraded"])
async def test_nothing_is_lost_or_reordered_while_both_sides_talk(daemons, server, settings):
    daemon = await daemons(settings)
    client = await daemon.client()
    await client.call("subscribe", url=server.url, events=["tick"])
    pending = [client.post("send", url=server.url, event="line", args=[number, BINARY if number % 7 == 0 else "x"])
               for number in range(200)]
    await server.present(1)
    await server.burst("tick", 500)
    assert [event["args"][0] for event in await client.events(500)] == list(range(500))
    for future in pending:
        await client.result(future)
    assert [one["args"][0] for one in await server.received(200, "line")] == list(range(200))


async def test_large_payloads_come_down_by_polling(daemons, server):
    daemon = await daemons(POLLING)
    client = await daemon.client()
    await client.call("subscribe", url=server.url)
    await server.present(1)
    text = "x" * 400_000
    await server.emit("large", text, BINARY)
    assert (await client.event())["args"] == [text, BINARY]


async def test_large_payloads_go_up_by_polling(daemons, servers):
    # python-engineio on aiohttp reads only the first piece of a body; on uvicorn it reads all of it.
    chat = await servers("eio4", "--stack", "uvicorn")
    client = await (await daemons(POLLING)).connected(url=chat.url)
    text = "x" * 400_000
    assert (await client.call("request", url=chat.url, event="echo", args=[text]))["args"] == [text]


async def test_a_message_above_the_servers_limit_is_refused_before_it_is_posted(daemons, servers):
    chat = await servers("eio4", "--max-payload", 1000)
    daemon = await daemons(POLLING)
    client = await daemon.connected(url=chat.url)
    fits, above = ({"$bin": base64.b64encode(b"x" * size).decode()} for size in (740, 750))
    error = await client.fails("PayloadTooLarge", "send", url=chat.url, event="line", args=[above])
    assert (error.data["limit"], error.data["size"]) == (1000, 1001)
    await client.call("send", url=chat.url, event="line", args=[fits])
    assert len(await chat.received(1, "line")) == 1
    assert (await daemon.connection())["reconnects"] == 0


async def test_namespaces_share_one_polling_link(daemons, server):
    daemon = await daemons(POLLING)
    client = await daemon.connected(url=server.url)
    await client.call("wait", url=server.url + "/chat", state="connected", timeout=5000)
    assert (await client.call("request", url=server.url + "/chat", event="echo", args=[1]))["args"] == [1]
    links = {connection["link"] for connection in (await daemon.status())["connections"]}
    assert len(links) == 1


async def test_a_polling_link_comes_back_after_the_servers_restart(daemons, server):
    daemon = await daemons(POLLING)
    client = await daemon.connected(url=server.url)
    await server.restart()
    await client.call("send", url=server.url, event="line", args=["late"])
    assert (await server.received(1, "line"))[0]["args"] == ["late"]


async def test_leaving_ends_the_session_at_the_server(daemons, server):
    daemon = await daemons({"defaults": {"transports": ["polling"], "linger": "0s"}})
    client = await daemon.client()
    await client.call("subscribe", url=server.url)
    await server.present(1)
    await client.close()
    await server.present(0)


async def test_polling_takes_over_where_a_websocket_is_refused(daemons, servers):
    for line in ("eio4", "eio3"):
        server = await servers(line, "--transports", "polling")
        daemon = await daemons(BOTH)
        client = await daemon.connected(url=server.url)
        assert (await daemon.connection())["transport"] == "polling"
        assert (await client.call("request", url=server.url, event="echo", args=[1]))["args"] == [1]
        assert (await daemon.connection())["attempt"] == 0, "within one attempt"


async def test_a_request_succeeds_behind_a_proxy_that_never_answers_an_upgrade(daemons, chat):
    async def proxy(reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        if b"transport=websocket" in head:
            return await reader.read()
        to, on = await asyncio.open_connection("127.0.0.1", chat.port)
        on.write(head)

        async def pipe(source, sink):
            while data := await source.read(65_536):
                sink.write(data)
            sink.close()

        await asyncio.gather(pipe(reader, on), pipe(to, writer), return_exceptions=True)

    server = await asyncio.start_server(proxy, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    # As by default, but in less than a third of the time: a request waits as long as one phase of a handshake.
    daemon = await daemons({"defaults": {"transports": ["websocket", "polling"], "handshake": "3s"}})
    client = await daemon.client()
    assert (await client.call("request", url=url, event="echo", args=[1], timeout=3_000))["args"] == [1]
    assert (await daemon.connection())["transport"] == "polling"
    server.close()


async def test_a_websocket_takes_over_where_polling_is_refused(daemons, servers):
    server = await servers("eio4", "--transports", "websocket")
    daemon = await daemons(UPGRADING)
    await daemon.connected(url=server.url)
    assert (await daemon.connection())["transport"] == "websocket"


async def test_without_upgrade_a_session_stays_with_polling(daemons, chat):
    daemon = await daemons({"defaults": {"transports": ["polling", "websocket"], "upgrade": False}})
    client = await daemon.connected(url=chat.url)
    await client.call("request", url=chat.url, event="echo", args=[1])
    assert (await daemon.connection())["transport"] == "polling"
    assert (await chat.counters())["links_ever"] == 0


async def test_an_upgrade_that_worked_is_remembered(daemons, chat):
    daemon = await daemons(UPGRADING)
    client = await daemon.connected(url=chat.url)
    await carried_by(daemon, "websocket")
    await chat.restart()
    await client.call("request", url=chat.url, event="echo", args=[1])
    (joined,) = await chat.joined(1)
    assert "transport=websocket" in joined["query"], "the second session began with a WebSocket"


async def test_a_cookie_of_the_server_comes_back_on_every_request(daemons, servers):
    chat = await servers("eio4", "--cookie", "io")
    daemon = await daemons({"upstream": {"chat": {
        "url": chat.url, "transports": ["polling"], "headers": {"Cookie": "mine=1"}}}})
    client = await daemon.connected(upstream="chat")
    await client.call("request", upstream="chat", event="echo", args=[1])
    (joined,) = await chat.joined(1)
    assert joined["headers"]["cookie"] == "mine=1"
    await chat.restart()
    await client.call("request", upstream="chat", event="echo", args=[1])
    (joined,) = await chat.joined(1)
    assert joined["headers"]["cookie"].startswith("mine=1; io=")
    secret = joined["headers"]["cookie"].split("io=")[1]
    assert secret not in str(await daemon.status()) + daemon.text()


# Against scripted ones


async def test_requests_name_the_session_and_are_never_the_same_twice(daemons, poller):
    daemon = await daemons(POLLING)
    client = await daemon.client()
    await client.call("subscribe", url=poller.url + "?user=a")
    opening = await poller.get()
    assert {"EIO": "4", "transport": "polling", "user": "a"}.items() <= opening.query.items()
    opening.answer(poller.open_packet(), headers="Set-Cookie: lb=node1; Path=/\r\n")
    connect, pending = await poller.post(), await poller.get()
    assert connect.request.headers["content-type"] == "text/plain;charset=UTF-8" and connect.body == b"40"
    stamps = {one.query["t"] for one in (opening, connect, pending)}
    assert len(stamps) == 3
    for one in (connect, pending):
        assert one.query["sid"] == "engine-sid" and one.query["user"] == "a"
        assert one.request.headers["cookie"] == "lb=node1"
    assert "accept-encoding" not in opening.request.headers
    connect.answer()


async def test_a_binary_event_split_over_two_polls_arrives_whole(daemons, poller):
    client = await (await daemons(POLLING)).client()
    await client.call("subscribe", url=poller.url)
    (await poller.session()).answer('452-["pic",{"_placeholder":true,"num":0},{"_placeholder":true,"num":1}]\x1ebAQI=')
    (await poller.get()).answer("bAwQ=\x1e42[\"next\"]")
    assert (await client.event())["args"] == [{"$bin": "AQI="}, {"$bin": "AwQ="}]
    assert (await client.event())["event"] == "next"


async def test_sends_wait_for_the_post_that_is_under_way_and_then_go_sixteen_at_a_time(daemons, poller):
    client = await (await daemons(POLLING)).client()
    await client.call("subscribe", url=poller.url)
    await poller.session()
    await client.call("send", url=poller.url, event="n", args=[0])
    first = await poller.post()
    for number in range(1, 40):
        await client.call("send", url=poller.url, event="n", args=[number])
    assert poller.posts.empty()
    batches = []
    while sum(batches) < 40:
        packets = first.body.decode().split("\x1e")
        assert packets == [f'42["n",{number}]' for number in range(sum(batches), sum(batches) + len(packets))]
        batches.append(len(packets))
        first.answer("OK", kind="text/html")
        if sum(batches) < 40:
            first = await poller.post()
    assert batches == [1, 16, 16, 7]


async def test_an_old_server_that_ignores_the_revision_is_spoken_to_in_its_own(daemons, poller):
    daemon = await daemons(POLLING)
    client = await daemon.client()
    await client.call("subscribe", url=poller.url)
    packet = poller.open_packet(payload=None)
    (await poller.get()).answer(f"{len(packet)}:{packet}2:40")
    pending = await poller.get()
    await client.raw(f'{{"jsonrpc":"2.0","method":"send","params":{{"url":"{poller.url}","event":"e",'
                     '"args":["😀",{"$bin":"AQI="}]}}\n'.encode())
    post = await poller.post()
    text = '451-["e","😀",{"_placeholder":true,"num":0}]'.encode()
    assert post.request.headers["content-type"] == "application/octet-stream"
    assert post.body == bytes([0, *map(int, str(len(text))), 255]) + text + bytes([1, 3, 255, 4, 1, 2])
    pending.answer('15:42["echo","😀"]')
    assert (await client.event())["args"] == ["😀"]
    assert (await daemon.connection())["protocol"] == {"engineio": 3, "socketio": 4}
    post.answer()


async def test_what_the_last_poll_brings_during_the_upgrade_is_not_lost(daemons, poller):
    daemon = await daemons(UPGRADING)
    client = await daemon.client()
    await client.call("subscribe", url=poller.url)
    pending = await poller.session(upgrades=["websocket"])
    link = await poller.socket()
    assert link.request.query["sid"] == "engine-sid"
    await link.upgrade()
    await link.expect("2probe")
    await client.call("send", url=poller.url, event="n", args=[1])
    post = await poller.post()
    await link.text("3probe")
    # The answer to a ping shows that the probe's was read.
    pending.answer("2\x1e42[\"last\",1]")
    assert (await client.event())["args"] == [1]
    await client.call("send", url=poller.url, event="n", args=[2])
    assert poller.gets.empty() and poller.posts.empty()
    post.answer()
    await link.expect("5", "3", '42["n",2]')
    await link.text('42["first",2]')
    assert (await client.event())["args"] == [2]
    assert (await daemon.connection())["transport"] == "websocket"


async def test_a_probe_that_fails_leaves_the_session_with_polling(daemons, poller):
    daemon = await daemons(UPGRADING)
    client = await daemon.client()
    await client.call("subscribe", url=poller.url)
    pending = await poller.session(upgrades=["websocket"])
    link = await poller.socket()
    await link.upgrade()
    await link.expect("2probe")
    await link.text("3nonsense")
    assert await link.until_closed() == 1000
    pending.answer('42["still",1]')
    assert (await client.event())["args"] == [1]
    await client.call("send", url=poller.url, event="n", args=[1])
    assert (await poller.post()).body == b'42["n",1]'
    assert (await daemon.connection())["transport"] == "polling"


async def test_a_kicked_session_ends_with_the_close_packet(daemons, poller):
    daemon = await daemons(POLLING)
    client = await daemon.client()
    await client.call("subscribe", url=poller.url, state=True)
    (await poller.session()).answer("1")
    assert (await client.state_until("disconnected"))[-1]["reason"] == "closed"
    await within(poller.get(), "the next attempt")
    assert poller.posts.empty(), "no goodbye to who has left"


OPENINGS = {
    "transport unknown": ("400 Bad Request", '{"code":0,"message":"Transport unknown"}', "http", "long-polling"),
    "session unknown": ("400 Bad Request", '{"code":1,"message":"Session ID unknown"}', "http", "sticky"),
    "bad handshake": ("400 Bad Request", '{"code":2,"message":"Bad handshake method"}', "http", "bad request"),
    "bad request": ("400 Bad Request", '{"code":3,"message":"Bad request"}', "http", "bad request"),
    "forbidden": ("403 Forbidden", '{"code":4,"message":"not you"}', "http", "not you"),
    "unsupported revision": ("400 Bad Request", '{"code":5,"message":"Unsupported protocol version"}', "incompatible",
                             "neither"),
    "python's words": ("400 Bad Request", '"Invalid transport"', "http", "long-polling"),
    "an empty 400": ("400 Bad Request", "", "http", "HTTP 400"),
    "404": ("404 Not Found", "no", "http", "HTTP 404"),
    "503": ("503 Service Unavailable", "", "http", "HTTP 503"),
    "a redirect": ("302 Found", "", "http", "redirects to http://login.example"),
    "a page": ("200 OK", "<!DOCTYPE html><title>Welcome</title>", "http", "web page"),
    "nothing": ("200 OK", "", "http", "with nothing"),
    "something": ("200 OK", "hello", "http", "something else"),
    "a broken open packet": ("200 OK", "0{", "protocol", "handshake"),
    "a message first": ("200 OK", "0\x1e42[1]", "protocol", "handshake"),
    "a broken payload": ("200 OK", "97:0{", "protocol", "within a packet"),
}


@pytest.mark.parametrize("name", OPENINGS)
async def test_a_polling_handshake_that_goes_wrong_is_named_by_its_reason(daemons, poller, name):
    status, body, reason, words = OPENINGS[name]
    client = await (await daemons(POLLING)).client()
    await client.call("subscribe", url=poller.url, state=True)

    async def answer():
        while True:
            (await poller.gets.get()).answer(body, status, headers="Location: http://login.example/?secret=1\r\n")

    task = asyncio.ensure_future(answer())
    state = (await client.state_until("disconnected"))[-1]
    task.cancel()
    assert state["reason"] == reason and words in state["detail"], state
    assert "secret" not in state["detail"]


LATER = {
    "session unknown": ("400 Bad Request", '{"code":1,"message":"Session ID unknown"}', "closed", "sticky"),
    "python's unknown session": ("400 Bad Request", '"Invalid session engine-sid"', "closed", "sticky"),
    "bad request": ("400 Bad Request", '{"code":3,"message":"Bad request"}', "protocol", "bad request"),
    "an empty 400": ("400 Bad Request", "", "closed", "without a word"),
    "413": ("413 Payload Too Large", "", "too_large", "too large"),
    "500": ("500 Internal Server Error", "", "http", "HTTP 500"),
    "a redirect": ("302 Found", "", "http", "redirects"),
    "a page": ("200 OK", "<html>Log in</html>", "http", "web page"),
}


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("name", LATER)
async def test_a_poll_that_goes_wrong_is_named_by_its_reason(daemons, poller, name, method):
    status, body, reason, words = LATER[name]
    client = await (await daemons(POLLING)).client()
    await client.call("subscribe", url=poller.url, state=True)
    poll = await poller.session()
    if method == "POST":
        await client.call("send", url=poller.url, event="e")
        poll = await poller.post()
    poll.answer(body, status)
    state = (await client.state_until("disconnected"))[-1]
    assert state["reason"] == reason and words in state["detail"], state
    assert "engine-sid" not in state["detail"]


async def test_when_every_transport_fails_each_is_named(daemons, peer):
    async def script(link):
        request = await link.read_request()
        await link.respond("404 Not Found" if "polling" in request.target else "502 Bad Gateway", "no")

    peer.script = script
    client = await (await daemons(BOTH)).client()
    await client.call("subscribe", url=peer.url, state=True)
    state = (await client.state_until("disconnected"))[-1]
    assert state["reason"] == "http"
    assert state["detail"] == (
        "websocket: the server answered HTTP 502 Bad Gateway instead of opening a WebSocket; "
        "polling: the server answered HTTP 404 instead of an Engine.IO handshake")


async def test_a_stopping_daemon_sends_its_goodbye_by_polling(daemons, poller):
    daemon = await daemons(POLLING)
    client = await daemon.client()
    await client.call("subscribe", url=poller.url)
    await poller.session()
    stopping = asyncio.ensure_future(daemon.stop())
    goodbye = await poller.post()
    assert goodbye.body == b"41\x1e1"
    goodbye.answer()
    await stopping
