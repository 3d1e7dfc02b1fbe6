"""Other versions of the package, under clients; and libraries that are replaced below the daemon."""

import collections
import json
import os

import pytest

from conftest import chat_in, install
from line_client import SOCKET, client_of

VISITS = int(os.environ.get("GATEWAY_VISITS", "1"))
"""How many connections are made at least while the package is upgraded and downgraded over and over."""


@pytest.fixture(scope="module")
def newer(packages):
    """The files of a newer version: the same programs."""
    return packages.newer()


@pytest.fixture
def installed(service, packages):
    """The service in the version under test."""
    install(service, packages.inside())
    return service


def version(service):
    return service.run("dpkg-query", "--show", "--showformat=${Version}", "gatewayd").out


def test_upgrades_and_downgrades_refuse_no_connection(installed, packages, newer, record_property):
    outcomes, longest, changes = collections.Counter(), 0, 0
    while outcomes.total() < VISITS:
        with installed.start("python3", "/tests/inside/visitors.py", SOCKET, 20, user="alice") as visitors:
            assert visitors.stdout.readline() == "ready\n"
            for debs, becomes in ((newer, packages.newer_version), (packages.inside(), packages.version)):
                pid = installed.show("gatewayd.service", "MainPID")
                install(installed, debs)
                assert version(installed) == becomes
                assert installed.show("gatewayd.service", "MainPID") != pid
                changes += 1
            told = json.loads(visitors.communicate()[0])
        assert told["kept"] == 20, told
        outcomes.update(told["outcomes"])
        longest = max(longest, told["longest"])
        assert set(outcomes) <= {"answered", "closed without an answer"}, outcomes
        # Those who were being served at the very moment: one visitor for each restart.
        assert outcomes["closed without an answer"] <= changes, outcomes
    record_property("visits over upgrades and downgrades", f"{dict(outcomes)} over {changes}, the longest {longest} ms")


def test_the_socket_stays_the_same_over_an_upgrade(installed, newer):
    before = installed.path("/run/gatewayd.sock").stat().st_ino
    install(installed, newer)
    assert installed.path("/run/gatewayd.sock").stat().st_ino == before


def test_durable_sends_survive_an_upgrade_and_a_downgrade(installed, packages, newer):
    with chat_in(installed) as chat:
        port = chat.port
    installed.write("/etc/gatewayd/gatewayd.toml", f'[upstream.chat]\nurl = "http://127.0.0.1:{port}"\n')
    installed.run("systemctl", "reload", "gatewayd.service")
    for number, debs in enumerate((newer, packages.inside())):
        installed.run("gatewayctl", "send", "chat", "say", number, "--delivery", "durable", user="alice")
        install(installed, debs)
    with chat_in(installed, port) as chat:
        installed.run("gatewayctl", "outbox", "retry", "--upstream", "chat")
        assert chat.received("say", 2) == [[0], [1]]


def test_an_upgrade_asks_nothing_about_an_edited_configuration(installed, newer):
    edited = '[upstream.mine]\nurl = "http://127.0.0.1:9"\n'
    installed.write("/etc/gatewayd/gatewayd.toml", edited, mode=0o640)
    installed.run("chgrp", "gatewayd", "/etc/gatewayd/gatewayd.toml")
    install(installed, newer)
    assert installed.path("/etc/gatewayd/gatewayd.toml").read_text() == edited
    assert installed.path("/etc/gatewayd/gatewayd.toml").stat().st_mode & 0o777 == 0o640
    installed.subscribe("mine")


def test_an_upgrade_leaves_alone_what_was_disabled_or_masked(installed, packages, newer):
    installed.run("systemctl", "disable", "--now", "gatewayd.service", "gatewayd.socket")
    install(installed, newer)
    for unit in ("gatewayd.service", "gatewayd.socket"):
        assert (installed.enabled(unit), installed.active(unit)) == ("disabled", "inactive"), unit
    installed.run("systemctl", "mask", "gatewayd.service")
    install(installed, packages.inside())
    assert (installed.enabled("gatewayd.service"), installed.active("gatewayd.service")) == ("masked", "inactive")
    installed.run("systemctl", "unmask", "gatewayd.service")
    installed.run("systemctl", "enable", "gatewayd.service")


def test_a_replaced_library_makes_needrestart_restart_the_service_under_its_clients(installed):
    pid = installed.show("gatewayd.service", "MainPID")
    assert "gatewayd" not in installed.run("needrestart", "-b", "-r", "l").out
    library = installed.sh("readlink -f /usr/lib/*/libsqlite3.so.0")
    installed.run("cp", library, f"{library}.new")
    installed.run("mv", f"{library}.new", library)
    assert "NEEDRESTART-SVC: gatewayd.service" in installed.run("needrestart", "-b", "-r", "l").out
    with client_of(installed) as client:
        before = client.handovers()
        installed.run("needrestart", "-r", "a")
        assert client.handovers() == before + 1
    assert installed.show("gatewayd.service", "MainPID") != pid
