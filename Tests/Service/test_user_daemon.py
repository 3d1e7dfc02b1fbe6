"""A daemon of one's own, under the service manager of a user."""

import pytest

from line_client import Client

UNITS = ("gatewayd.socket", "gatewayd.service")


class Own:
    """Commands of alice in a session of hers."""

    def __init__(self, machine):
        self.machine = machine
        self.runtime = f"/run/user/{machine.sh('id -u alice')}"
        self.session = {"user": "alice", "env": {"XDG_RUNTIME_DIR": self.runtime}}

    def run(self, *words):
        return self.machine.run(*words, **self.session)

    def subscribe(self, upstream):
        return self.machine.subscribe(upstream, **self.session)

    def pid(self):
        return self.run("systemctl", "--user", "show", "gatewayd.service", "--property=MainPID", "--value").out


@pytest.fixture(scope="module")
def own(shared):
    made = Own(shared)
    shared.run("loginctl", "enable-linger", "alice")
    shared.run("systemctl", "start", f"user@{made.runtime.split('/')[-1]}.service")
    made.run("systemctl", "--user", "enable", "--now", *UNITS)
    return made


def test_a_user_enables_a_daemon_of_their_own(own, shared):
    assert "rtt" in own.run("gatewayctl", "ping").out
    assert own.run("gatewayctl", "call", "hello", "{}").json()["you"]["rights"].count("admin") == 1
    assert shared.sh(f"stat -c '%A %U' {own.runtime}/gatewayd.sock") == "srw------- alice"


def test_another_user_cannot_reach_it(own, shared):
    assert shared.run("gatewayctl", "--socket", f"{own.runtime}/gatewayd.sock", "ping", user="bob", check=False).code == 77


def test_it_reloads_its_own_configuration(own, shared):
    shared.write("/home/alice/.config/gatewayd/gatewayd.toml", '[upstream.mine]\nurl = "http://127.0.0.1:9"\n')
    shared.run("chown", "-R", "alice:", "/home/alice/.config")
    own.run("systemctl", "--user", "reload", "gatewayd.service")
    own.subscribe("mine")
    # The system's daemon does not know it.
    assert shared.subscribe("mine", check=False).code == 69


def test_its_state_is_not_beside_its_configuration(own, shared):
    own.run("gatewayctl", "send", "http://127.0.0.1:9", "say", "x", "--delivery", "durable")
    assert shared.sh("stat -c '%a %U' /home/alice/.local/state/gatewayd") == "700 alice"
    assert shared.sh("find /home/alice -name outbox.sqlite") == "/home/alice/.local/state/gatewayd/outbox.sqlite"


def test_it_comes_back_after_a_crash(own):
    pid = own.pid()
    own.run("systemctl", "--user", "kill", "--signal=KILL", "gatewayd.service")
    own.run("gatewayctl", "--timeout", "30s", "ping")
    assert own.pid() not in (pid, "0")


def test_its_restart_is_not_noticed(own, shared):
    with shared.start("nc", "-U", f"{own.runtime}/gatewayd.sock", user="alice") as process:
        client = Client(process)
        client.call("ping")
        own.run("systemctl", "--user", "restart", "gatewayd.service")
        assert client.call("status")["daemon"]["handover"] == 1
    assert shared.sh(f"ls -d {own.runtime}/gatewayd") == f"{own.runtime}/gatewayd"


def test_it_writes_into_the_journal_under_its_users_unit(own, shared):
    records = shared.journal("_SYSTEMD_USER_UNIT=gatewayd.service")
    assert {record["_UID"] for record in records} == {shared.sh("id -u alice")}
    assert any(record.get("GATEWAY_PATH") == "passed by systemd" for record in records)


def test_stopping_it_leaves_no_socket(own, shared):
    own.run("systemctl", "--user", "stop", *UNITS)
    assert not shared.path(f"{own.runtime}/gatewayd.sock").exists()
