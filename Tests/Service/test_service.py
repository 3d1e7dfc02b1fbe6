"""The installed service under systemd: how it begins, ends, reloads, and comes back."""

import json

from conftest import chat_in

CONFIGURATION = "/etc/gatewayd/gatewayd.toml"
BROKEN = "nonsense = 1\n"


def upstream(chat, name="chat", more=""):
    return f'[upstream.{name}]\nurl = "{chat.url}"\n{more}'


def main_pid(service):
    return service.show("gatewayd.service", "MainPID")


def subscriber(service, name="chat"):
    """A program that stays: `with subscriber(service) as process`, once its subscription lives."""
    return service.start("gatewayctl", "subscribe", "--state", name, "said")


def until_connected(process):
    while '"connected"' not in (line := process.stdout.readline()):
        assert line, process.stderr.read()


def test_a_client_starts_the_service_through_the_socket(service):
    service.run("systemctl", "stop", "gatewayd.service")
    assert (service.active("gatewayd.socket"), service.active("gatewayd.service")) == ("active", "inactive")
    service.run("gatewayctl", "ping", user="alice")
    assert service.active("gatewayd.service") == "active"


def test_the_service_is_ready_when_systemctl_start_returns(service):
    service.run("systemctl", "restart", "gatewayd.service")
    assert "rtt" in service.run("gatewayctl", "--timeout", "30s", "ping").out
    assert service.show("gatewayd.service", "StatusText") != ""


def test_stopping_service_and_socket_leaves_nothing_that_listens(service):
    service.run("systemctl", "stop", "gatewayd.socket", "gatewayd.service")
    assert not service.path("/run/gatewayd.sock").exists()
    assert service.show("gatewayd.service", "Result", "ExecMainStatus") == ["success", "0"]
    assert service.run("gatewayctl", "--timeout", "1s", "ping", check=False).code == 69


def test_disabled_units_stay_down_and_enabled_ones_come_with_the_targets(service):
    service.run("systemctl", "disable", "--now", "gatewayd.service", "gatewayd.socket")
    assert service.active("gatewayd.socket") == "inactive"
    assert "gatewayd" not in service.show("sockets.target", "Wants") + service.show("multi-user.target", "Wants")
    service.run("systemctl", "enable", "--now", "gatewayd.service")
    assert (service.enabled("gatewayd.socket"), service.active("gatewayd.socket")) == ("enabled", "active")
    assert "gatewayd.socket" in service.show("sockets.target", "Wants")


def test_a_restart_refuses_no_connection(service, record_property):
    with service.start("python3", "/tests/inside/visitors.py", "/run/gatewayd.sock", 0, user="alice") as visitors:
        assert visitors.stdout.readline() == "ready\n"
        for _ in range(5):
            service.run("systemctl", "restart", "gatewayd.service")
        told = json.loads(visitors.communicate()[0])
    # Who is connected at the moment of the stop is told so; no one is refused or reset.
    assert set(told["outcomes"]) <= {"answered", "closed without an answer"}, told
    record_property("visits over five restarts", told)


def test_a_reload_takes_a_new_upstream_and_keeps_the_process(service, chat):
    pid = main_pid(service)
    service.write(CONFIGURATION, upstream(chat))
    service.run("systemctl", "reload", "gatewayd.service")
    assert service.run("gatewayctl", "request", "chat", "echo", "1").out == "1"
    assert main_pid(service) == pid


def test_a_reload_of_a_broken_configuration_fails_and_changes_nothing(service, chat):
    service.write(CONFIGURATION, upstream(chat))
    service.run("systemctl", "reload", "gatewayd.service")
    service.write(CONFIGURATION, BROKEN + upstream(chat))
    assert service.run("systemctl", "reload", "gatewayd.service", check=False).code != 0
    assert service.active("gatewayd.service") == "active"
    assert service.run("gatewayctl", "request", "chat", "echo", "1").out == "1"
    assert any("nonsense" in record["MESSAGE"] or "nonsense" in record.get("GATEWAY_DETAIL", "")
               for record in service.journal("--unit=gatewayd.service"))


def test_a_broken_configuration_and_a_restart_keep_the_socket_and_its_clients(service):
    service.write(CONFIGURATION, BROKEN)
    assert service.run("systemctl", "restart", "gatewayd.service", check=False).code != 0
    with service.start("gatewayctl", "--timeout", "1m", "ping", user="alice") as waiting:
        # More failures than the start limit of systemd would allow within its interval.
        service.sh("until [ $(systemctl show gatewayd.service -p NRestarts --value) -ge 7 ]; do sleep 0.1; done")
        assert service.active("gatewayd.socket") == "active"
        assert service.show("gatewayd.service", "ActiveState") == "activating"
        assert waiting.poll() is None
        service.path(CONFIGURATION).unlink()
        assert "rtt" in waiting.communicate()[0] and waiting.returncode == 0


def test_the_watchdog_replaces_a_daemon_that_hangs(service):
    service.override("gatewayd.service", "[Service]\nWatchdogSec=2s\n")
    service.run("systemctl", "restart", "gatewayd.service")
    pid = main_pid(service)
    service.run("kill", "-STOP", pid)
    service.run("gatewayctl", "--timeout", "30s", "ping")
    assert main_pid(service) not in (pid, "0")
    assert any(record.get("UNIT_RESULT") == "watchdog" for record in service.journal("--unit=gatewayd.service"))


def test_a_daemon_that_is_idle_feeds_its_watchdog(service):
    service.override("gatewayd.service", "[Service]\nWatchdogSec=2s\n")
    service.run("systemctl", "restart", "gatewayd.service")
    pid = main_pid(service)
    # Nothing is to happen: so long would three watchdogs take.
    service.run("gatewayctl", "subscribe", "http://127.0.0.1:9", "--for", "6s", check=False)
    assert main_pid(service) == pid


def test_a_killed_daemon_comes_back_with_its_durable_sends(service, chat):
    port = chat.port
    service.write(CONFIGURATION, upstream(chat))
    service.run("systemctl", "reload", "gatewayd.service")
    chat.process.kill()
    chat.process.wait()
    for number in range(20):
        service.run("gatewayctl", "send", "chat", "say", number, "--delivery", "durable", user="alice")
    service.run("systemctl", "kill", "--signal=KILL", "gatewayd.service")
    with chat_in(service, port) as again:
        service.run("gatewayctl", "--timeout", "30s", "outbox", "retry", "--upstream", "chat", user="alice")
        assert again.received("say", 20) == [[number] for number in range(20)]
        service.run("gatewayctl", "request", "chat", "echo", "1")
        assert len(again.received("say", 20)) == 20


def test_a_killed_daemon_is_back_at_once(service, record_property):
    pid = main_pid(service)
    told = service.run("sh", "-c", "systemctl kill --signal=KILL gatewayd.service; a=$(date +%s%N); "
                       "gatewayctl --timeout 30s ping >&2; b=$(date +%s%N); echo $(((b - a) / 1000000))").out
    assert main_pid(service) not in (pid, "0")
    record_property("from kill -9 until the next daemon answers", f"{told} ms")


def test_a_stray_signal_does_not_end_the_service(service):
    pid = main_pid(service)
    service.run("sh", "-c", f"kill {pid}; tail --pid={pid} -f /dev/null")
    service.run("gatewayctl", "--timeout", "30s", "ping")
    service.run("systemctl", "start", "gatewayd.service")
    assert main_pid(service) not in (pid, "0")


def test_subscribers_come_back_after_a_restart_and_a_crash(service, chat):
    service.write(CONFIGURATION, upstream(chat, more="[upstream.chat.history]\ndisk = true\n"))
    service.run("systemctl", "restart", "gatewayd.service")
    with subscriber(service) as process:
        until_connected(process)
        for number, disturbance in enumerate(("restart", "kill --signal=KILL")):
            service.run("systemctl", *disturbance.split(), "gatewayd.service")
            until_connected(process)
            chat.ask("emit", event="said", args=[number], namespace="/")
            while '"event"' not in (line := process.stdout.readline()):
                assert line, process.stderr.read()
            assert json.loads(line)["args"] == [number]


def test_reloading_and_replacing_the_service_manager_changes_nothing(service, chat):
    pid = main_pid(service)
    with subscriber(service, chat.url) as process:
        until_connected(process)
        service.run("systemctl", "daemon-reload")
        service.run("systemctl", "daemon-reexec")
        assert main_pid(service) == pid
        chat.ask("emit", event="said", args=["still"], namespace="/")
        assert json.loads(process.stdout.readline())["args"] == ["still"]


def test_systemd_passes_a_credential(service, chat):
    service.write("/etc/gatewayd/credentials/token", "let-me-in", mode=0o600)
    service.override("gatewayd.service", "[Service]\nLoadCredential=token:/etc/gatewayd/credentials/token\n")
    service.write(CONFIGURATION, '[upstream.auth]\nurl = "%s/auth"\nquery.token = { credential = "token" }\n' % chat.url)
    service.run("systemctl", "restart", "gatewayd.service")
    assert service.run("gatewayctl", "request", "auth", "echo", "1").out == "1"


def test_a_command_that_fetches_a_credential_runs_in_the_sandbox(service, chat):
    service.write(CONFIGURATION, '[upstream.auth]\nurl = "%s/auth"\n'
                                 'auth_command = ["/bin/sh", "-c", "echo \'{\\"token\\":\\"let-me-in\\"}\'"]\n' % chat.url)
    service.run("systemctl", "restart", "gatewayd.service")
    assert service.run("gatewayctl", "request", "auth", "echo", "1").out == "1"
