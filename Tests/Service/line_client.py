"""A program inside a booted system that has one connection to the daemon."""

import contextlib
import json

SOCKET = "/run/gatewayd.sock"


class Client:
    """A program with one connection, which says lines and hears lines."""

    def __init__(self, process):
        self.process, self.identity = process, 0

    def say(self, text):
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def hear(self):
        """The next line; None at the end."""
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def call(self, method, **params):
        """The result of a call, whatever notifications come before it."""
        self.identity += 1
        self.say(json.dumps({"jsonrpc": "2.0", "id": self.identity, "method": method, "params": params}) + "\n")
        while (told := self.hear()) is None or "method" in told:
            assert told, self.process.stderr.read()
        assert told["id"] == self.identity and "result" in told, told
        return told["result"]

    def until(self, method, **members):
        """The notifications up to the first one like that."""
        heard = []
        while told := self.hear():
            heard.append((told.get("method"), told.get("params")))
            if told.get("method") == method and members.items() <= told["params"].items():
                return heard
        raise AssertionError(f"the connection ended before {method} {members}: {heard}")

    def handovers(self):
        """How often one daemon went on with the clients of the one before."""
        return self.call("status")["daemon"]["handover"]


@contextlib.contextmanager
def client_of(machine, user="alice"):
    with machine.start("nc", "-U", SOCKET, user=user) as process:
        yield Client(process)
