"""What the classes in place of python-socketio's client do where no client of its own could be compared: the daemon
restarts, several programs share a session, and what a shared connection cannot have."""

import asyncio
import sys

import pytest

from chat import LINES
from patience import QUIET, within
from programs import ROOT

sys.path.insert(0, str(ROOT / "clients" / "python" / "src"))

from gatewayd import socketio  # noqa: E402
from gatewayd.socketio import session  # noqa: E402


def recorder(sio, namespace=None):
    """Puts what the handlers of a client are told into a queue."""
    lines = asyncio.Queue()
    sio.on("connect", lambda: lines.put_nowait("connect"), namespace)
    sio.on("disconnect", lambda reason: lines.put_nowait(f"disconnect: {reason}"), namespace)
    sio.on("connect_error", lambda data: lines.put_nowait("connect_error"), namespace)
    sio.on("said", lambda *args: lines.put_nowait(("said", *args)), namespace)
    return lines


async def line(lines):
    return await within(lines.get(), "a handler to be called")


async def test_a_restart_of_the_daemon_is_told_as_a_loss_and_a_connection(daemons, chat):
    daemon = await daemons()
    sio = socketio.AsyncClient(gateway_socket=daemon.socket)
    lines = recorder(sio)
    await sio.connect(chat.url)
    assert await line(lines) == "connect"
    for end in (daemon.stop, daemon.crash):
        await end()
        # An orderly stop says first that the upstream is disconnected.
        assert await line(lines) == "disconnect: transport error"
        assert not sio.connected
        with pytest.raises(socketio.exceptions.BadNamespaceError):
            await sio.emit("say", "lost")
        await daemon.start()
        while (told := await line(lines)) != "connect":
            assert told == "connect_error"
        await sio.emit("say", "again")
        assert await line(lines) == ("said", "again")
    await sio.disconnect()
    assert await line(lines) == "disconnect: client disconnect"


async def test_programs_share_a_session_and_leave_it_one_by_one(daemons, chat):
    daemon = await daemons({"defaults": {"linger": "50ms"}})
    first, second = (socketio.AsyncClient(gateway_socket=daemon.socket) for _ in range(2))
    lines = recorder(first), recorder(second)
    for sio in (first, second):
        await sio.connect(chat.url)
    assert first.sid and first.sid == second.sid == first.get_sid("/")
    assert [await line(one) for one in lines] == ["connect", "connect"]
    await first.emit("say", "to both")
    assert [await line(one) for one in lines] == [("said", "to both")] * 2
    assert (await chat.counters())["links_ever"] >= 1 and (await chat.counters())["namespaces"] == 1
    await first.disconnect()
    assert await line(lines[0]) == "disconnect: client disconnect"
    assert await second.call("echo", "still here") == "still here"
    await second.disconnect()
    await chat.present(0)


async def test_only_a_program_with_a_handler_answers_the_server(daemons, chat):
    daemon = await daemons()
    deaf, able = (socketio.AsyncClient(gateway_socket=daemon.socket) for _ in range(2))
    able.on("question", lambda value: value + 1)
    for sio in (deaf, able):
        await sio.connect(chat.url, namespaces="/")
    assert [await chat.ask("question", number) for number in range(5)] == [[number + 1] for number in range(5)]
    for sio in (deaf, able):
        await sio.disconnect()


async def test_an_upstream_of_the_configuration_is_connected_by_its_name(daemons, servers):
    server = await servers("eio4", "--path", "elsewhere")
    daemon = await daemons({"upstream": {"hidden": {
        "url": f"{server.url}/auth", "path": "/elsewhere/", "auth": {"token": "let-me-in"}}}})
    sio = socketio.AsyncClient(gateway_socket=daemon.socket)
    recorder(sio, "/auth")
    await sio.connect("hidden")
    assert await sio.call("echo", 7, namespace="/auth") == 7
    await sio.disconnect()


@pytest.mark.parametrize("line", LINES)
async def test_headers_a_path_and_a_query_reach_the_server_and_are_shared(daemons, servers, line):
    server = await servers(line, "--path", "elsewhere")
    daemon = await daemons()
    programs = [socketio.AsyncClient(gateway_socket=daemon.socket) for _ in range(2)]
    for sio in programs:
        await sio.connect(f"{server.url}?room=blue", headers={"X-Team": "red", "X-Shift": 3}, socketio_path="/elsewhere/")
        assert await sio.call("one", 7) == 7
    (joined,) = await server.joined()
    assert (joined["headers"]["x_team"], joined["headers"]["x_shift"]) == ("red", "3") and "room=blue" in joined["query"]
    for sio in programs:
        await sio.disconnect()


async def test_headers_may_come_from_a_function_and_other_headers_are_another_connection(daemons, chat):
    daemon = await daemons()
    programs = [socketio.AsyncClient(gateway_socket=daemon.socket) for _ in range(2)]
    for sio, team in zip(programs, ("red", "blue")):
        await sio.connect(chat.url, headers=lambda: {"X-Team": team})
    assert [one["headers"]["x_team"] for one in await chat.joined(2)] == ["red", "blue"]
    for sio in programs:
        await sio.disconnect()


async def test_ssl_verify_false_takes_any_certificate_and_without_it_none(daemons, servers, authority):
    server = await servers("eio4", "--cert", authority / "server.pem", "--key", authority / "server.key")
    daemon = await daemons()
    url = server.url.replace("http:", "https:")
    with pytest.raises(socketio.exceptions.ConnectionError, match="certificate"):
        await socketio.AsyncClient(gateway_socket=daemon.socket).connect(url)
    sio = socketio.AsyncClient(gateway_socket=daemon.socket, ssl_verify=False)
    await sio.connect(url)
    assert await sio.call("one", 7) == 7
    await sio.disconnect()


async def test_options_that_the_daemon_does_not_take_are_a_connection_error(daemons, chat):
    daemon = await daemons({"upstream": {"chat": {"url": chat.url}}})
    for url, headers, words in ((f"{chat.url}?a=b", {"Host": "a"}, "options.headers.Host is a header"),
                                (chat.url, {"X-Team": "red"}, "configured upstream 'chat'")):
        with pytest.raises(socketio.exceptions.ConnectionError, match=words):
            await socketio.AsyncClient(gateway_socket=daemon.socket).connect(url, headers=headers)


@pytest.mark.parametrize("url, options", [
    ("http://127.0.0.1:1", {"auth": "no dictionary"}),
    ("configured", {"auth": {"token": "t"}}),
    ("configured", {"headers": {"X-Token": "t"}}),
    ("configured", {"socketio_path": "elsewhere"}),
], ids=str)
async def test_what_a_shared_connection_cannot_have_is_said_at_once(url, options):
    with pytest.raises(socketio.exceptions.UnsupportedError):
        await socketio.AsyncClient().connect(url, **options)


@pytest.mark.parametrize("options", [{"json": "a module"}, {"serializer": "msgpack"}, {"http_session": "a session"}], ids=str)
def test_options_that_are_the_daemons_are_said_at_once(options):
    with pytest.raises(socketio.exceptions.UnsupportedError, match="configure an upstream"):
        socketio.Client(**options)


async def test_url_and_credentials_may_come_from_functions(daemons, chat):
    async def credentials():
        return {"token": "let-me-in"}

    daemon = await daemons()
    sio = socketio.AsyncClient(gateway_socket=daemon.socket)
    await sio.connect(lambda: chat.url, auth=credentials, namespaces="/auth")
    assert sio.connected and sio.get_sid("/auth")
    await sio.disconnect()


async def test_a_handler_that_fails_answers_nothing(daemons, chat, caplog):
    def fail():
        raise ValueError("on purpose")

    daemon = await daemons()
    sio = socketio.AsyncClient(gateway_socket=daemon.socket)
    sio.on("question", fail)
    await sio.connect(chat.url)
    assert await chat.ask("question", timeout=QUIET) is None
    assert "on purpose" in caplog.text
    await sio.disconnect()


async def test_a_client_that_must_not_reconnect_ends_with_the_link(daemons, chat):
    daemon = await daemons()
    sio = socketio.AsyncClient(reconnection=False, gateway_socket=daemon.socket)
    lines = recorder(sio)
    await sio.connect(chat.url)
    assert await line(lines) == "connect"
    await chat.cut()
    await within(sio.wait(), "the end")
    assert await line(lines) == "disconnect: transport error"
    assert (sio.connected, sio.namespaces, lines.qsize()) == (False, {}, 0)


async def test_a_client_gives_up_after_its_attempts(daemons, chat):
    daemon = await daemons()
    sio = socketio.AsyncClient(reconnection_attempts=2, gateway_socket=daemon.socket)
    lines = recorder(sio)
    await sio.connect(chat.url)
    await chat.stop()
    await within(sio.wait(), "the end")
    told = [lines.get_nowait() for _ in range(lines.qsize())]
    assert told == ["connect", "disconnect: transport error", "connect_error", "connect_error"]


async def test_a_client_that_may_retry_waits_for_its_server(daemons, chat):
    daemon = await daemons()
    await chat.stop()
    sio = socketio.AsyncClient(gateway_socket=daemon.socket)
    lines = recorder(sio)
    connecting = asyncio.ensure_future(sio.connect(chat.url, retry=True))
    assert await line(lines) == "connect_error"
    await chat.start()
    await within(connecting, "the connection")
    assert sio.connected
    await sio.disconnect()


async def test_without_a_daemon_connecting_fails_in_words_that_say_so(folder, monkeypatch):
    monkeypatch.setattr(session, "HANDSHAKE", 0.1)
    sio = socketio.AsyncClient(gateway_socket=str(folder / "nothing"))
    lines = recorder(sio)
    with pytest.raises(socketio.exceptions.ConnectionError, match="no daemon answers"):
        await sio.connect("http://127.0.0.1:1")
    assert await line(lines) == "connect_error"


async def test_a_message_that_the_daemon_refuses_is_an_error(daemons, chat):
    daemon = await daemons()
    sio = socketio.AsyncClient(gateway_socket=daemon.socket)
    await sio.connect(chat.url)
    for event, data in (("connect", None), ("say", "x" * (2 << 20))):
        with pytest.raises(socketio.exceptions.SocketIOError):
            await sio.emit(event, data)
    assert await sio.call("one", 1) == 1
    await sio.disconnect()


async def test_servers_of_both_generations_are_the_same_to_a_program(daemons, server):
    daemon = await daemons()
    sio = socketio.AsyncClient(gateway_socket=daemon.socket)
    lines = recorder(sio)
    await sio.connect(server.url)
    assert await line(lines) == "connect"
    assert sio.sid and await sio.call("echo", ("one", b"two")) == ("one", b"two")
    sio.on("question", lambda value: value + 1)
    assert await server.ask("question", 1) == [2]
    await sio.emit("kick")
    assert await line(lines) == "disconnect: server disconnect"
    await within(sio.wait(), "the end")
