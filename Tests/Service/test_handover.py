"""What connected programs notice when the installed service is restarted, stopped, or killed."""

import json

import pytest

from conftest import install
from line_client import SOCKET, client_of

CONFIGURATION = "/etc/gatewayd/gatewayd.toml"


@pytest.fixture
def configured(service, chat):
    service.write(CONFIGURATION, f'[upstream.chat]\nurl = "{chat.url}"\nkeep = "always"\nreconnect.base = "50ms"\n')
    service.run("systemctl", "reload", "gatewayd.service")
    service.run("gatewayctl", "wait", "chat", "--timeout", "30s")
    return service


def emit(chat, argument):
    chat.ask("emit", event="said", args=[argument], namespace="/")


def stored(service):
    return service.show("gatewayd.service", "NFileDescriptorStore")


def test_a_restart_is_not_noticed(configured, chat):
    with client_of(configured) as client:
        client.call("subscribe", upstream="chat", events=["said"], state=True)
        client.say('{"jsonrpc":"2.0","id":"half","meth')
        configured.run("systemctl", "restart", "gatewayd.service")
        client.say('od":"ping"}\n')
        heard = client.until("state", state="connected")
        emit(chat, "after")
        heard += client.until("event", args=["after"])
        # One answer, to the line of which each daemon read a half.
        methods = [method for method, _ in heard]
        assert (methods.count("goodbye"), methods.count("gap"), methods.count(None)) == (0, 1, 1), heard
        configured.run("systemctl", "try-restart", "gatewayd.service")
        assert client.handovers() == 2
    assert stored(configured) == "0"


def test_many_connections_outlive_restarts(configured, record_property):
    with configured.start("python3", "/tests/inside/visitors.py", SOCKET, 500, user="alice") as visitors:
        assert visitors.stdout.readline() == "ready\n"
        for _ in range(3):
            configured.run("systemctl", "restart", "gatewayd.service")
        told = json.loads(visitors.communicate()[0])
    assert told["kept"] == 500, told
    record_property("500 clients over three restarts", told)


def test_an_upgrade_is_not_noticed(configured, packages):
    newer = packages.newer()
    with client_of(configured) as client:
        client.call("ping")
        install(configured, newer)
        assert client.handovers() == 1
        install(configured, packages.inside())
        assert client.handovers() == 2


def test_a_stop_is_told_and_a_kill_ends_the_connection(configured):
    with client_of(configured) as client:
        client.call("ping")
        configured.run("systemctl", "stop", "gatewayd.service")
        assert client.until("goodbye")[-1][1]["reason"] == "stopping"
        assert client.hear() is None
    configured.run("systemctl", "start", "gatewayd.service")
    with client_of(configured) as client:
        client.call("ping")
        configured.run("systemctl", "kill", "--signal=KILL", "gatewayd.service")
        assert client.hear() is None


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_who_comes_back_after_a_kill_or_a_stop_gets_what_was_missed(configured, chat, how):
    with client_of(configured) as client:
        epoch = client.call("subscribe", upstream="chat", events=["said"])["epoch"]
        for number in range(3):
            emit(chat, number)
        first = client.until("event")[-1][1]
        client.until("event", args=[2])
    if how == "kill":
        configured.run("systemctl", "kill", "--signal=KILL", "gatewayd.service")
    else:
        configured.run("systemctl", "stop", "gatewayd.service")
        configured.run("systemctl", "start", "gatewayd.service")
    with client_of(configured) as client:
        client.call("subscribe", upstream="chat", events=["said"], since={"epoch": epoch, "seq": first["seq"]})
        assert [params["args"] for _, params in client.until("event", args=[2])] == [[1], [2]]
    assert "history" not in configured.sh("ls /var/lib/gatewayd")


def test_a_broken_configuration_and_a_restart_keep_the_connections(configured):
    good = configured.path(CONFIGURATION).read_text()
    with client_of(configured) as client:
        client.call("ping")
        configured.write(CONFIGURATION, "nonsense = 1\n")
        assert configured.run("systemctl", "restart", "gatewayd.service", check=False).code != 0
        configured.sh("until [ $(systemctl show gatewayd.service -p NRestarts --value) -ge 3 ]; do sleep 0.1; done")
        configured.write(CONFIGURATION, good)
        assert client.handovers() == 1
