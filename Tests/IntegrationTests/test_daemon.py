"""The daemon as a process: its socket, its configuration, its signals, its manager."""

import asyncio
import grp
import os
import signal
import socket
import stat
import subprocess
import tomllib

import pytest

import processes
import toml
from local_client import LocalClient
from patience import QUIET, within
from programs import GATEWAYD, ROOT
from users import BOB, as_user


async def run(*arguments, env=None, wrapper=()):
    """Runs gatewayd to its end; returns its code and all that it said."""
    process = await processes.spawn(
        *wrapper, GATEWAYD, *arguments, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT)
    try:
        out, _ = await within(process.communicate(), "gatewayd to end")
        return process.returncode, out.decode()
    finally:
        await processes.kill(process)


def empty(folder):
    """A configuration file that says nothing."""
    path = folder / "empty.toml"
    path.write_text("")
    return path


async def test_version_and_help():
    code, out = await run("--version")
    assert code == 0 and out.startswith("gatewayd ")
    code, out = await run("--help")
    assert code == 0 and "--config" in out and "--socket" in out


@pytest.mark.parametrize("arguments", [["--bogus"], ["--config"], ["argument"]])
async def test_wrong_arguments_are_a_usage_error(arguments):
    code, out = await run(*arguments)
    assert code == 64 and out


# The socket

async def test_the_socket_has_its_default_mode_whatever_the_umask(daemons):
    for umask in ("000", "077"):
        daemon = await daemons(wrapper=["/bin/sh", "-c", f'umask {umask}; exec "$@"', "sh"])
        assert daemon.mode() == 0o660
        assert stat.S_ISSOCK(os.stat(daemon.socket).st_mode)


async def test_the_mode_of_the_socket_can_be_configured(daemons):
    assert (await daemons({"socket": {"mode": "0600"}})).mode() == 0o600


@pytest.mark.root
async def test_the_group_of_the_socket_can_be_configured(daemons):
    daemon = await daemons({"socket": {"group": "nogroup"}})
    assert os.stat(daemon.socket).st_gid == grp.getgrnam("nogroup").gr_gid


async def test_the_socket_goes_with_the_daemon(daemons):
    daemon = await daemons()
    await daemon.stop()
    assert not os.path.exists(daemon.socket)


async def test_a_stale_socket_is_replaced(daemons):
    daemon = await daemons()
    await daemon.crash()
    assert os.path.exists(daemon.socket)
    await daemon.start()
    assert await (await daemon.client()).call("ping") == {}


async def test_a_second_daemon_on_the_same_socket_is_refused_and_harms_nobody(daemons):
    daemon = await daemons()
    client = await daemon.client()
    code, out = await run("--config", daemon.config, "--socket", daemon.socket)
    assert code not in (0, -6, -4, -5) and daemon.socket in out
    assert await client.call("ping") == {}
    assert await (await daemon.client()).call("ping") == {}


async def test_a_file_that_is_no_socket_is_left_alone(folder):
    path = folder / "precious"
    path.write_text("data")
    code, out = await run("--config", empty(folder), "--socket", path)
    assert code != 0 and str(path) in out
    assert path.read_text() == "data"


async def test_a_socket_path_that_is_too_long_is_refused_with_a_reason(folder):
    code, out = await run("--config", empty(folder), "--socket", folder / ("x" * 200))
    assert code != 0 and out


async def test_the_command_line_wins_over_the_environment_and_that_over_the_configuration(daemons, folder):
    from_environment, from_arguments = str(folder / "env"), str(folder / "arg")
    daemon = await daemons(environment={"GATEWAYD_SOCKET": from_environment})
    assert os.path.exists(from_environment) and not os.path.exists(daemon.socket)
    assert "$GATEWAYD_SOCKET names another path" in daemon.text()
    daemon = await daemons(environment={"GATEWAYD_SOCKET": folder / "other"}, arguments=["--socket", from_arguments])
    assert os.path.exists(from_arguments) and not os.path.exists(folder / "other")


async def test_a_users_daemon_listens_in_the_runtime_folder(folder):
    receiver = folder / "notify"
    notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    notify.bind(str(receiver))
    process = await processes.spawn(
        GATEWAYD, "--user", "--config", empty(folder), env={
            "XDG_RUNTIME_DIR": str(folder), "XDG_STATE_HOME": str(folder), "NOTIFY_SOCKET": str(receiver)})
    try:
        await within(asyncio.get_running_loop().sock_recv(notify, 4096), "the user's daemon")
        client = await LocalClient.connect(str(folder / "gatewayd.sock"))
        assert await client.call("ping") == {}
        await client.close()
    finally:
        notify.close()
        await processes.kill(process)


# The configuration

async def test_a_valid_configuration_passes_the_check(folder):
    path = folder / "good.toml"
    path.write_text('[upstream.chat]\nurl = "https://chat.example.com/admin"\nlinger = "5s"\n')
    code, out = await run("--check-config", "--config", path)
    assert code == 0, out


async def test_the_check_names_every_problem_with_file_and_line(folder):
    path = folder / "bad.toml"
    path.write_text('[socket]\nmode = "0999"\n\n[defaults]\nlingr = "5s"\nretain = "soon"\n\n'
                    '[upstream.chat]\nurl = "ftp://x"\n\n[upstream.other]\nkeep = "sometimes"\n\n[bogus]\nx = 1\n')
    code, out = await run("--check-config", "--config", path)
    assert code == 78
    for line in (2, 5, 6, 9, 12):
        assert f"{path}:{line}:" in out, out
    assert f"{path}:14:" in out or f"{path}:15:" in out
    assert "linger" in out and "always" in out
    assert not os.path.exists(folder / "socket")


async def test_a_syntax_error_is_named_with_its_line(folder):
    path = folder / "bad.toml"
    path.write_text('[socket]\n\npath = "unfinished\n')
    code, out = await run("--check-config", "--config", path)
    assert code == 78 and f"{path}:3" in out


@pytest.mark.parametrize("setting, name", [
    ('auth_file = "{}"', "auth_file"), ('tls = {{ ca = "{}" }}', "tls.ca"),
    ('headers = {{ Authorization = {{ file = "{}" }} }}', "headers"),
])
async def test_the_check_names_a_file_that_is_not_there(folder, setting, name):
    path, secret = folder / "chat.toml", folder / "token"
    path.write_text('[upstream.chat]\nurl = "https://chat.example.com"\n' + setting.format(secret) + "\n")
    code, out = await run("--check-config", "--config", path)
    assert code == 78 and f'{path}:3: upstream.chat.{name} names "{secret}", which cannot be read: No such file' in out, out
    secret.write_text("x")
    secret.chmod(0o600)
    code, out = await run("--check-config", "--config", path)
    assert code == 0, out


async def test_the_daemon_does_not_start_with_an_invalid_configuration(folder):
    path = folder / "bad.toml"
    path.write_text("[limits]\nline = 0\n")
    code, out = await run("--config", path, "--socket", folder / "socket")
    assert code == 78 and f"{path}:2" in out


async def test_a_configuration_file_that_is_not_there_is_named(folder):
    code, out = await run("--config", folder / "nowhere.toml", "--socket", folder / "socket")
    assert code == 78 and "nowhere.toml" in out


@pytest.mark.root
async def test_a_configuration_file_that_may_not_be_read_says_who_should(folder):
    folder.chmod(0o755)
    file = folder / "closed.toml"
    file.write_text("")
    file.chmod(0o600)
    _, out = await run("--check-config", "--config", file, wrapper=as_user(BOB))
    assert f"{file}: cannot be opened: Permission denied; let the user read it that gatewayd runs as" in out


@pytest.mark.root
async def test_a_socket_of_somebody_else_says_what_to_do(daemons, folder):
    daemon = await daemons()
    folder.chmod(0o755)
    config = empty(folder)
    config.chmod(0o644)
    code, out = await run("--config", config, "--socket", daemon.socket, wrapper=as_user(BOB))
    assert code == 77
    assert "an ordinary user starts with --user or --socket PATH" in out


async def test_a_check_never_shows_a_secret(folder):
    path = folder / "bad.toml"
    path.write_text('[upstream.chat]\nurl = 5\nauth = "marker-secret"\n')
    code, out = await run("--check-config", "--config", path)
    assert code == 78 and "marker-secret" not in out


async def test_the_shipped_configuration_is_valid():
    code, out = await run("--check-config", "--config", ROOT / "config" / "gatewayd.toml")
    assert code == 0, out


async def test_the_block_for_a_shared_host_is_a_configuration(folder):
    text = (ROOT / "config" / "gatewayd.toml").read_text()
    block = text.split("# A shared host, for example")[1].split("\n\n")[0]
    lines = [line.removeprefix("#  ") for line in block.splitlines() if line.startswith("#  ")]
    assert "[quota.group.adm]" in lines
    shared = folder / "shared.toml"
    shared.write_text("\n".join(["[quota]", *lines]))
    code, out = await run("--check-config", "--config", shared)
    assert code == 0, out


# Reload

def two_upstreams(one, two, **changed):
    return {"upstream": {"one": {"url": one.url}, "two": {"url": two.url, **changed}}}


@pytest.mark.parametrize("by_signal", [False, True])
async def test_a_reload_touches_only_the_changed_connections(daemons, servers, by_signal):
    one, two = await servers(), await servers()
    daemon = await daemons(two_upstreams(one, two))
    client = await daemon.client()
    for name in ("one", "two"):
        await client.call("subscribe", upstream=name, subscription=name)
    await one.present(1)
    await two.present(1)
    daemon.configure(two_upstreams(one, two, headers={"X-New": "yes"}))
    if by_signal:
        daemon.send_signal(signal.SIGHUP)
    else:
        result = await client.call("reload")
        assert len(result["changed"]) == 1 and "two" in str(result["changed"])
    assert (await two.joined(2))[1]["headers"]["x_new"] == "yes"
    await two.present(1)
    assert (await one.counters())["links_ever"] == 1
    for server, name in ((one, "one"), (two, "two")):
        await server.emit("said", name)
        assert (await client.event(name))["args"] == [name]


ADMINISTRATOR = {"uid": 54001, "allow": ["admin"]}
EVERYBODY = {"gid": 54101, "allow": ["status", "subscribe", "send"]}


async def test_the_check_and_a_reload_warn_of_an_administrator_who_takes_everything_from_everybody_else(daemons, ctl):
    daemon = await daemons({"upstream": {"chat": {"url": "http://127.0.0.1:1"}}})
    client = await daemon.client()
    daemon.configure({"upstream": {"chat": {"url": "http://127.0.0.1:1"}}, "access": [ADMINISTRATOR]})
    result = await client.call("reload")
    (warning,) = result["warnings"]
    assert result["changed"] == ["[access]"] and '"chat", upstreams by URL' in warning["message"], result
    place = f"{warning['file']}:{warning['line']}: warning: {warning['message']}"
    code, out = await run("--check-config", "--config", warning["file"])
    assert code == 0 and place in out, out
    outcome = await ctl(daemon, "reload")
    assert outcome.code == 0 and outcome.err == f"gatewayctl: {place}\n", outcome
    daemon.configure({"upstream": {"chat": {"url": "http://127.0.0.1:1"}}, "access": [ADMINISTRATOR, EVERYBODY]})
    assert "warnings" not in await client.call("reload")


async def test_a_reload_without_a_change_changes_nothing(daemons, chat):
    daemon = await daemons({"upstream": {"chat": {"url": chat.url}}})
    client = await daemon.connected(upstream="chat")
    assert await client.call("reload") == {"changed": []}
    assert (await chat.counters())["links_ever"] == 1


async def test_a_reload_can_bring_a_new_upstream(daemons, chat):
    daemon = await daemons()
    client = await daemon.client()
    await client.fails("UpstreamUnknown", "subscribe", upstream="chat")
    daemon.configure({"upstream": {"chat": {"url": chat.url, "keep": "always"}}})
    await client.call("reload")
    await chat.present(1)
    await client.call("subscribe", upstream="chat")


async def test_an_upstream_that_a_reload_removes_is_gone(daemons, chat):
    daemon = await daemons({"upstream": {"chat": {"url": chat.url, "keep": "always"}}})
    await chat.present(1)
    daemon.configure({})
    client = await daemon.client()
    await client.call("reload")
    await client.fails("UpstreamUnknown", "request", upstream="chat", event="echo")
    await chat.links(0)


async def test_a_bad_reload_is_refused_and_the_old_configuration_stays(daemons, chat):
    daemon = await daemons({"upstream": {"chat": {"url": chat.url}}})
    client = await daemon.connected(upstream="chat")
    daemon.config.write_text("[upstream.chat]\nurll = 5\n")
    reply = await client.exchange(b'{"jsonrpc":"2.0","id":0,"method":"reload"}')
    assert "gatewayd.toml" in str(reply["error"]) and "urll" in str(reply["error"])
    assert (await client.call("request", upstream="chat", event="echo", args=[1]))["args"] == [1]
    before = len(daemon.notifications.lines())
    daemon.send_signal(signal.SIGHUP)
    await daemon.notifications.line("READY=1", after=before)
    assert (await client.call("request", upstream="chat", event="echo", args=[2]))["args"] == [2]
    assert (await chat.counters())["links_ever"] == 1


async def test_a_changed_limit_holds_from_the_reload_on(daemons, chat):
    daemon = await daemons()
    client = await daemon.client()
    daemon.configure({"limits": {"subscriptions": 1}})
    await client.call("reload")
    assert (await client.call("hello"))["limits"]["subscriptions"] == 1
    await client.call("subscribe", url=chat.url)
    await client.fails("QuotaExceeded", "subscribe", url=chat.url)


# Stopping

@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_an_orderly_stop_says_goodbye_and_ends_with_0(daemons, chat, number):
    daemon = await daemons()
    client = await daemon.connected(url=chat.url)
    await client.call("subscribe", url=chat.url)
    await daemon.stop(number)
    assert (await client.note("goodbye"))[1]["reason"]
    await client.until_closed()
    await chat.links(0)


async def test_while_it_stops_nothing_new_is_taken_and_looking_is_still_possible(daemons, peer):
    daemon = await daemons({"limits": {"stop": "2s"}})
    client, watcher = await daemon.client(), await daemon.client()
    await client.call("send", url=peer.url, event="stuck")
    await watcher.call("subscribe", url=peer.url)
    daemon.send_signal(signal.SIGTERM)
    await daemon.notifications.line("STOPPING=1")
    for method, params in (("send", {"event": "e"}), ("request", {"event": "e"}), ("subscribe", {})):
        await client.fails("Draining", method, url=peer.url, **params)
    assert (await client.call("status"))["daemon"]["state"] == "draining"
    goodbye = (await watcher.note("goodbye"))[1]
    assert goodbye["reason"] and goodbye["reconnect_in"] >= 0
    await watcher.until_closed()
    await processes.finish(daemon.process, "gatewayd")


async def test_a_queue_that_can_be_written_ends_the_stop_early(daemons, peer):
    daemon = await daemons({"limits": {"stop": "1h"}})
    client = await daemon.client()
    await client.call("send", url=peer.url, event="late", args=[1])
    daemon.send_signal(signal.SIGTERM)
    await daemon.notifications.line("STOPPING=1")
    await (await peer.session()).expect('42["late",1]')
    assert await processes.finish(daemon.process, "gatewayd") == 0


async def test_a_stop_takes_no_longer_than_its_limit(daemons, peer):
    daemon = await daemons({"limits": {"stop": "300ms"}})
    client = await daemon.client()
    for _ in range(10):
        await client.call("send", url=peer.url, event="stuck")
    begin = asyncio.get_running_loop().time()
    await daemon.stop()
    assert asyncio.get_running_loop().time() - begin < 3


async def test_a_second_signal_stops_at_once(daemons, peer):
    daemon = await daemons({"limits": {"stop": "1h"}})
    client = await daemon.client()
    await client.call("send", url=peer.url, event="stuck")
    daemon.send_signal(signal.SIGTERM)
    await daemon.notifications.line("STOPPING=1")
    daemon.send_signal(signal.SIGTERM)
    await processes.finish(daemon.process, "gatewayd")


async def test_a_broken_log_pipe_does_not_kill_the_daemon(daemons):
    daemon = await daemons(wrapper=["/bin/sh", "-c", 'exec "$@" 2>/dev/full >/dev/full', "sh"])
    client = await daemon.client()
    daemon.send_signal(signal.SIGHUP)
    assert await client.call("ping") == {}


# The service manager

async def test_the_manager_is_told_of_start_status_reload_and_stop(daemons, chat):
    daemon = await daemons({"upstream": {"chat": {"url": chat.url}}})
    await daemon.notifications.line("STATUS=")
    client = await daemon.connected(upstream="chat")
    def latest():
        return [line for line in daemon.notifications.lines() if line.startswith("STATUS=")][-1]
    await daemon.notifications.until(lambda: "1" in latest(), "a status with the connection")
    before = len(daemon.notifications.lines())
    daemon.send_signal(signal.SIGHUP)
    await daemon.notifications.line("READY=1", after=before)
    said = daemon.notifications.lines()[before:]
    assert "RELOADING=1" in said and said.index("RELOADING=1") < said.index("READY=1")
    (monotonic,) = [line for line in said if line.startswith("MONOTONIC_USEC=")]
    assert 0 < int(monotonic.split("=")[1])
    await client.close()
    await daemon.stop()
    assert "STOPPING=1" in daemon.notifications.lines()


async def test_ready_means_that_the_socket_accepts(daemons):
    daemon = await daemons()
    assert await (await daemon.client()).call("ping") == {}


async def test_an_upstream_that_is_down_does_not_hold_up_the_start(daemons, peer):
    await peer.refuse()
    daemon = await daemons({"upstream": {"chat": {"url": peer.url, "keep": "always"}}})
    assert await (await daemon.client()).call("ping") == {}


async def test_the_watchdog_is_fed(daemons):
    daemon = await daemons(environment={"WATCHDOG_USEC": 200_000})
    await daemon.notifications.until(
        lambda: daemon.notifications.lines().count("WATCHDOG=1") >= 5, "five signs of life")


async def test_another_processs_watchdog_is_not_fed(daemons):
    daemon = await daemons(environment={"WATCHDOG_USEC": 100_000, "WATCHDOG_PID": 1})
    await asyncio.sleep(QUIET)
    assert "WATCHDOG=1" not in daemon.notifications.lines()


ACTIVATE = "/usr/bin/systemd-socket-activate"


@pytest.fixture
async def activated(daemons, folder):
    """A daemon that starts with the first connection to a socket of the service manager."""
    path = str(folder / "passed")
    daemon = await daemons(start=False, wrapper=[
        ACTIVATE, "-l", path, "--fdname=control", "-E", "NOTIFY_SOCKET", "-E", "STATE_DIRECTORY", "-E",
        f"LD_LIBRARY_PATH={os.environ.get('LD_LIBRARY_PATH', '')}", "-E",
        f"ASAN_OPTIONS={os.environ.get('ASAN_OPTIONS', '')}"])
    await daemon.launch()

    async def listening():
        # The file is there a moment before the socket listens; the word comes after both.
        while "Listening on" not in daemon.text():
            await asyncio.sleep(0.01)

    await within(listening(), "systemd-socket-activate")
    daemon.configured, daemon.socket = daemon.socket, path
    return daemon


async def test_a_passed_socket_is_used_and_its_first_client_is_served(activated):
    client = await activated.client()
    assert await client.call("ping") == {}
    await activated.notifications.line("READY=1")
    assert not os.path.exists(activated.configured)


async def test_a_passed_socket_is_not_removed_at_the_end(activated):
    client = await activated.client()
    await client.call("ping")
    await client.close()
    await activated.stop()
    assert os.path.exists(activated.socket)


# Its clients

async def test_no_more_clients_than_the_limit(daemons):
    daemon = await daemons({"limits": {"clients": 2}})
    clients = [await daemon.client(), await daemon.client()]
    for client in clients:
        await client.call("ping")
    refused = await daemon.client()
    await refused.until_closed()
    for message in refused.strays:
        assert message["id"] is None and message["error"]["data"]["type"] == "QuotaExceeded"
    await clients[0].close()

    async def admitted():
        while True:
            client = await daemon.client()
            try:
                return await client.call("ping")
            except (ConnectionError, AssertionError):
                await asyncio.sleep(0.01)

    assert await within(admitted(), "room for another client") == {}


async def test_no_more_connections_than_the_limit(daemons, peer):
    daemon = await daemons({"limits": {"connections": 4}})
    client = await daemon.client()
    for number in range(2):
        await client.call("subscribe", url=f"{peer.url}/{number}")
    error = await client.fails("QuotaExceeded", "subscribe", url=f"{peer.url}/2")
    assert error.data["quota"]


async def test_after_a_crash_the_next_daemon_is_another_instance(daemons):
    daemon = await daemons()
    first = (await (await daemon.client()).call("hello"))["instance"]
    await daemon.crash()
    await daemon.start()
    assert (await (await daemon.client()).call("hello"))["instance"] != first


async def test_descriptors_do_not_leak(daemons, chat):
    daemon = await daemons({"defaults": {"linger": "50ms", "retain": "50ms"}})

    def descriptors():
        return len(os.listdir(f"/proc/{daemon.process.pid}/fd"))

    async def use():
        clients = [await daemon.client() for _ in range(20)]
        for number, client in enumerate(clients):
            await client.call("request", url=f"{chat.url}?n={number}", event="echo")
            await client.close()
        await chat.links(0)
        await daemon.until(lambda s: s["connections"] == [] and len(s["clients"]) == 1, "everything to be closed")

    await use()
    before = descriptors()
    for _ in range(3):
        await use()
    assert descriptors() <= before + 2


def test_the_toml_writer_writes_what_it_should():
    config = {"socket": {"mode": "0600"}, "upstream": {"a b": {"url": "x", "tls": {"verify": False}}},
              "access": [{"user": 1, "allow": ["send"]}]}
    assert tomllib.loads(toml.document(config)) == config


async def test_an_idle_daemon_does_not_wake_up(daemons):
    daemon = await daemons()
    clients = [await daemon.client() for _ in range(100)]
    await clients[0].call("ping")

    def switches():
        with open(f"/proc/{daemon.process.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("voluntary_ctxt_switches"))

    await asyncio.sleep(QUIET)
    before = switches()
    await asyncio.sleep(1)
    assert switches() - before <= 3
