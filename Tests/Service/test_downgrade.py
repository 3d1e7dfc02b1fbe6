"""The last release, as it was packaged then: up to this version, back to it, and up again, under a program at work.

GATEWAY_OLD_DEB_DIR names the folder with its packages; docs/testing.md says how they are made."""

import hashlib
import os
import pathlib

import pytest

from conftest import chat_in, install
from line_client import client_of

OLD = os.environ.get("GATEWAY_OLD_DEB_DIR")
OUTBOX = "/var/lib/gatewayd/outbox.sqlite"

pytestmark = pytest.mark.skipif(not OLD, reason="GATEWAY_OLD_DEB_DIR names no folder with the packages of the last release")


class Program:
    """A program that follows the upstream `chat`, and comes back behind what it has when it is told goodbye."""

    def __init__(self, machine):
        self.machine, self.seen, self.gaps = machine, [], 0

    def __enter__(self):
        self.connect()
        return self

    def __exit__(self, *_):
        self.connection.__exit__(None, None, None)

    def connect(self, **since):
        self.connection = client_of(self.machine)
        self.client = self.connection.__enter__()
        result = self.client.call("subscribe", upstream="chat", events=["said"], state=True, **since)
        self.epoch = self.epoch if since else result["epoch"]

    def until_heard(self, number):
        """Until the event with this number has come, over however many connections; whether one was enough."""
        stayed = True
        while not self.seen or self.seen[-1] != number:
            told = self.client.hear()
            if told is None:
                stayed = False
                self.connection.__exit__(None, None, None)
                self.connect(since={"epoch": self.epoch, "seq": self.seq})
            elif told.get("method") == "gap":
                self.gaps += 1
                self.epoch, self.seq = told["params"]["epoch"], told["params"].get("to", told["params"].get("seq"))
            elif told.get("method") == "event":
                self.seq = told["params"]["seq"]
                self.seen += told["params"]["args"]
        return stayed


class Stage:
    """The machine, with a server that answers, and another one that is away."""

    def __init__(self, machine, chat, program):
        self.machine, self.chat, self.program = machine, chat, program
        self.number = 0

    def events_arrive(self):
        """The server says the next number, and the program hears it; whether its connection stayed."""
        self.machine.run("gatewayctl", "wait", "chat", "--timeout", "30s")
        self.number += 1
        self.chat.ask("emit", event="said", args=[self.number], namespace="/")
        stayed = self.program.until_heard(self.number)
        assert self.program.seen == list(range(1, self.number + 1))
        return stayed

    def remembered(self):
        """The events that the daemon has, of those that this program of the test made."""
        past = self.machine.run("gatewayctl", "call", "history", '{"upstream":"chat","events":["said"]}').json()
        return [event["args"][0] for event in past["events"]]

    def send(self, what, check=True):
        return self.machine.run("gatewayctl", "send", "later", "say", what, "--delivery", "durable", "--key", what,
                                check=check)

    def outbox(self):
        return hashlib.sha256(self.machine.path(OUTBOX).read_bytes()).hexdigest()


def test_an_upgrade_a_downgrade_and_an_upgrade_lose_nothing(machine, packages, record_property):
    old = packages.old(pathlib.Path(OLD))
    install(machine, old)
    machine.run("useradd", "--create-home", "--groups=gateway", "alice")
    with chat_in(machine) as away:
        port = away.port
    with chat_in(machine) as chat:
        machine.write("/etc/gatewayd/gatewayd.toml", f"""
[defaults]
reconnect.base = "50ms"
[upstream.chat]
url = "{chat.url}"
keep = "always"
[upstream.later]
url = "http://127.0.0.1:{port}"
""")
        machine.run("systemctl", "reload", "gatewayd.service")
        with Program(machine) as program:
            stage = Stage(machine, chat, program)
            assert stage.events_arrive()
            stage.send("one")

            install(machine, packages.inside())
            assert stage.events_arrive(), "an upgrade keeps the connection"
            assert program.client.handovers() == 1
            assert stage.remembered() == [1, 2]
            stage.send("two")

            install(machine, old)
            before = stage.outbox()
            stayed = stage.events_arrive()
            record_property("a downgrade keeps the connection", stayed)
            record_property("the older version remembers", stage.remembered())
            failed = stage.send("three", check=False)
            assert failed.code == 70 and "later version" in failed.err, failed
            assert "later version" in machine.run("gatewayctl", "status").out
            refused = machine.run("gatewayctl", "call", "request", f'{{"url":"{chat.url}","event":"echo","options":{{}}}}',
                                  check=False)
            assert "options" in refused.err, refused
            assert machine.run("gatewayctl", "request", "chat", "echo", "1").out == "1"
            machine.run("systemctl", "restart", "gatewayd.service")
            assert stage.send("three", check=False).code == 70
            assert stage.outbox() == before
            stage.events_arrive()

            install(machine, packages.inside())
            assert stage.events_arrive(), "an upgrade keeps the connection"
            assert stage.outbox() == before
            stage.send("three")
            # The key is still known.
            assert '"duplicate":true' in stage.send("one").out
            record_property("gaps of a program over the three", program.gaps)
        with chat_in(machine, port) as later:
            machine.run("gatewayctl", "outbox", "retry", "--upstream", "later")
            assert later.received("say", 3) == [["one"], ["two"], ["three"]]
            assert machine.run("gatewayctl", "request", "later", "echo", "1").out == "1"
            assert len(later.received("say", 3)) == 3
