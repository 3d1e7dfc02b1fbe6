"""The main job in short, over every server, transport, with and without TLS, and through every kind of proxy.

`make matrix` runs this file alone. The table at the end of a run has a cell for each test.
"""

import asyncio

import pytest

import matrix

SERVERS = {
    "python-socketio 5 on aiohttp": ("eio4", []),
    "python-socketio 5 on uvicorn": ("eio4", ["--stack", "uvicorn"]),
    "python-socketio 4 on aiohttp": ("eio3", []),
}

TRANSPORTS = {
    "websocket": ({"transports": ["websocket"]}, "websocket"),
    "polling": ({"transports": ["polling"]}, "polling"),
    "upgraded": ({"transports": ["polling", "websocket"]}, "websocket"),
}
"""The settings, and what `status` shows in the end."""

PROXIES = {"none": None, "HTTP CONNECT": "http", "SOCKS 5": "socks5h"}
"""Those with a kind want a login."""

BINARY = {"$bin": "AAECA/8="}


@pytest.mark.parametrize("tls", ["no", "yes"])
@pytest.mark.parametrize("proxy", PROXIES)
@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("server", SERVERS)
async def test_the_main_job_works_everywhere(daemons, servers, proxies, authority, record_property, server, transport,
                                             proxy, tls):
    matrix.note(record_property, server=server, transport=transport, tls=tls, proxy=proxy)
    line, arguments = SERVERS[server]
    settings, shown = TRANSPORTS[transport]
    if tls == "yes":
        arguments = [*arguments, "--cert", authority / "server.pem", "--key", authority / "server.key"]
        settings = settings | {"tls": {"ca": str(authority / "ca.pem")}}
    way = await proxies(PROXIES[proxy], login=("user", "word")) if PROXIES[proxy] else None
    if way:
        settings = settings | {"proxy": way.url()}
    chat = await servers(line, *arguments)
    url = f"{'https' if tls == 'yes' else 'http'}://127.0.0.1:{chat.port}"
    daemon = await daemons({"upstream": {"chat": {"url": url, **settings}}})
    client = await daemon.connected(upstream="chat")
    await client.call("subscribe", upstream="chat", answer=True)

    def shows(status):
        (connection,) = status["connections"]
        return connection["transport"] == shown

    await daemon.until(shows, f"the transport {shown}")
    await events_come_down(client, chat)
    await sends_go_up(client, chat)
    await requests_are_answered(client)
    await the_server_is_answered(client, chat)
    connection = await daemon.connection()
    assert connection["protocol"]["engineio"] == chat.engineio and bool(connection["tls"]) == (tls == "yes")
    assert connection["reconnects"] == 0
    assert connection["proxy"] == (way and way.place) and (not way or way.bytes > 0)


async def events_come_down(client, chat):
    for args in (["text", {"n": 1}], ["binary", BINARY, {"deep": [BINARY]}]):
        await chat.emit("news", *args)
        event = await client.event()
        assert (event["event"], event["args"]) == ("news", args)


async def sends_go_up(client, chat):
    await client.call("send", upstream="chat", event="note", args=["text", 1], delivery="sent")
    await client.call("send", upstream="chat", event="note", args=[BINARY, {"deep": [BINARY]}])
    received = await chat.received(2, "note")
    assert [one["args"] for one in received] == [["text", 1], [BINARY, {"deep": [BINARY]}]]


async def requests_are_answered(client):
    for args in ([1, "€😀"], [BINARY, [BINARY]]):
        assert (await client.call("request", upstream="chat", event="echo", args=args))["args"] == args


async def the_server_is_answered(client, chat):
    asked = asyncio.ensure_future(chat.ask("confirm", BINARY))
    event = await client.event()
    assert event["args"] == [BINARY]
    await client.call("respond", ack=event["ack"], args=["yes", BINARY])
    assert await asked == ["yes", BINARY]


def test_a_cell_counts_as_well_only_when_everything_in_it_does():
    class Report:
        def __init__(self, transport):
            self.user_properties = [
                (matrix.PROPERTY, {"server": "s", "transport": transport, "tls": "no", "proxy": "none"})]

    reports = [("passed", Report("websocket")), ("failed", Report("websocket")), ("passed", Report("polling"))]
    assert matrix.table(matrix.cells(reports)) == [
        "server  TLS  proxy  websocket  polling", "s       no   none   FAILED     ok"]
