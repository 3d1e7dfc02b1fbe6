"""A short tour of gatewayd: a real python-socketio server, the daemon, and gatewayctl as any shell would use it.

Every step says what it shows, shows it, and checks it; the exit code is 0 only if all of it was true.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
SERVER = HERE.parent / "Tests" / "servers" / "chat_server.py"
PATIENCE = 15
"""Seconds until something that should happen counts as missing."""


class Missing(Exception):
    """Something that the demo shows did not happen."""


def until(holds, what):
    """Asks again and again until the answer is true, and returns it."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            if answer := holds():
                return answer
        time.sleep(0.02)
    raise Missing(what)


class Demo:
    def __init__(self, programs):
        # What the user's own shell says about a gateway is not about this one.
        for name in [one for one in os.environ if one.startswith("GATEWAYD_") or one == "STATE_DIRECTORY"]:
            del os.environ[name]
        self.programs = pathlib.Path(programs).resolve()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gatewayd-demo-"))
        self.socket = self.folder / "socket"
        self.processes = []
        self.port = 0
        self.steps = 0
        self.colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ

    # Pieces

    def start(self, *command, **options):
        process = subprocess.Popen([str(one) for one in command], start_new_session=True, text=True, **options)
        self.processes.append(process)
        return process

    def end(self, process):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def start_server(self):
        self.server = self.start(sys.executable, SERVER, "--port", self.port, stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE)
        self.port = json.loads(self.server.stdout.readline())["port"]

    def counters(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/counters", timeout=PATIENCE) as reply:
            return json.load(reply)

    def ctl(self, *arguments, show=True):
        """Runs gatewayctl to its end; shows the command and its output."""
        if show:
            self.say("$ gatewayctl " + " ".join(one if one.isalnum() or "/" in one else repr(one) for one in arguments))
        done = subprocess.run([self.programs / "gatewayctl", "--socket", self.socket, *arguments],
                              capture_output=True, text=True, timeout=PATIENCE)
        if show:
            for line in (done.stdout + done.stderr).splitlines():
                self.say("  " + line)
        return done

    def status(self):
        return json.loads(self.ctl("status", "--json", show=False).stdout)

    def connection(self):
        return (self.status()["connections"] or [{}])[0]

    def say(self, text):
        print("    " + text, flush=True)

    def step(self, text):
        self.steps += 1
        title = f"{self.steps}. {text}"
        print(f"\n\033[1m{title}\033[0m" if self.colour else f"\n{title}", flush=True)

    def check(self, holds, what):
        if not holds:
            raise Missing(what)
        self.say(f"\N{CHECK MARK} {what}")

    # The tour

    def run(self):
        self.step("A chat server made with python-socketio, and the daemon with one upstream named “chat”.")
        self.start_server()
        config = self.folder / "gatewayd.toml"
        config.write_text(f'[socket]\npath = "{self.socket}"\n\n[state]\npath = "{self.folder}/state"\n\n'
                          f'[upstream.chat]\nurl = "http://127.0.0.1:{self.port}"\n'
                          'reconnect = { base = "100ms", cap = "500ms" }\n')
        for line in config.read_text().splitlines():
            self.say(line)
        log = open(self.folder / "log", "w")
        self.start(self.programs / "gatewayd", "--config", config, stdout=log, stderr=log)
        until(lambda: self.ctl("ping", show=False).returncode == 0, "the daemon answers")
        self.check(self.counters()["links_ever"] == 0, "nobody uses the upstream yet, so nothing is connected")

        self.step("Two programs subscribe, and share one connection to the server.")
        self.say("$ gatewayctl subscribe chat said &     (twice)")
        readers = [self.start(self.programs / "gatewayctl", "--socket", self.socket, "subscribe", "--args-only", "chat",
                              "said", stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
        until(lambda: self.connection().get("subscriptions") == 2 and self.connection()["state"] == "connected",
              "both subscriptions")
        self.ctl("send", "chat", "say", "hello, everybody")
        for number, reader in enumerate(readers, 1):
            line = reader.stdout.readline().strip()
            self.say(f"subscriber {number} printed {line}")
            if line != '["hello, everybody"]':
                raise Missing("the event at each subscriber")
        counters = self.counters()
        self.check((counters["links"], counters["links_ever"]) == (1, 1),
                   "both got the event; the server counts 1 connection")

        self.step("A request waits for the server's acknowledgement, like a call over HTTP.")
        done = self.ctl("request", "chat", "echo", "ping", '{"n": 12345678901234567890}')
        self.check(done.stdout == '"ping"\n{"n": 12345678901234567890}\n' or done.stdout ==
                   '"ping"\n{"n":12345678901234567890}\n', "the answer came back, the large number untouched")

        self.step("The server goes away. What is sent now is kept.")
        self.end(self.server)
        until(lambda: self.connection()["state"] != "connected", "the loss to be noticed")
        done = self.ctl("send", "chat", "say", "sent while the server was down")
        down = until(lambda: (now := self.connection())["state"] == "disconnected" and now, "the wait between attempts")
        self.say(f"state {down['state']}, reason {down['reason']}: {down['detail']}")
        self.check(done.returncode == 0 and down["queue"]["count"] == 1, "the send is accepted and waits in the queue")

        self.step("The server is back on its port, and the send arrives.")
        self.start_server()
        for number, reader in enumerate(readers, 1):
            self.say(f"subscriber {number} was warned: {reader.stderr.readline().strip()}")
            line = reader.stdout.readline().strip()
            self.say(f"subscriber {number} printed {line}")
            if line != '["sent while the server was down"]':
                raise Missing("the queued send, broadcast by the server")
        counters = self.counters()
        self.check((counters["links"], counters["received"]) == (1, 1),
                   "it was sent once, over the one new connection; both subscriptions were told of the gap and went on")

        self.step("What the daemon knows.")
        self.show_status()
        connection = self.connection()
        self.check(connection["state"] == "connected" and connection["reconnects"] == 1 and
                   connection["queue"]["count"] == 0, "connected, reconnected once, nothing queued")

    def show_status(self):
        """The status table, as on a terminal."""
        script = shutil.which("script")
        command = [self.programs / "gatewayctl", "--socket", self.socket, "status"]
        if script:
            line = " ".join(str(one) for one in command)
            done = subprocess.run([script, "-qec", f"stty cols 120; {line}", "/dev/null"], capture_output=True, text=True,
                                  env={**os.environ, **({} if self.colour else {"NO_COLOR": "1"})}, timeout=PATIENCE,
                                  stdin=subprocess.DEVNULL)
        else:
            done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        self.say("$ gatewayctl status")
        for text in done.stdout.splitlines():
            self.say("  " + text.rstrip())

    def close(self):
        for process in reversed(self.processes):
            self.end(process)
        shutil.rmtree(self.folder, ignore_errors=True)


def main(tour=Demo, description=__doc__):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--bin", required=True, help="the folder of gatewayd and gatewayctl")
    demo = tour(parser.parse_args().bin)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        demo.run()
    except (Missing, subprocess.TimeoutExpired) as failure:
        log = demo.folder / "log"
        print(f"\nthe demo failed: {failure}\n{log.read_text() if log.exists() else ''}", file=sys.stderr)
        return 1
    finally:
        demo.close()
    print("\nEverything shown was checked and true.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
