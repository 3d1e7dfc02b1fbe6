"""One program under test or of the harness: started, asked, looked at in /proc, ended."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time

TICK = os.sysconf("SC_CLK_TCK")


def environment():
    """This program's own, without what would make a daemon under test listen elsewhere."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GATEWAYD_")}


class Program:
    """A child process whose output is read line by line. Its stderr is the harness's own, or a file."""

    def __init__(self, arguments, env=None, log=None):
        self.name = os.path.basename(arguments[0])
        self.process = subprocess.Popen(
            [str(a) for a in arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log or sys.stderr,
            env={**environment(), **(env or {})},
        )

    @property
    def pid(self):
        return self.process.pid

    def line(self, timeout=30.0):
        """The next line of its output."""
        ready, _, _ = select.select([self.process.stdout], [], [], timeout)
        text = self.process.stdout.readline().decode() if ready else ""
        if not text:
            raise RuntimeError(f"{self.name} said nothing (status {self.process.poll()})")
        return text.strip()

    def report(self, timeout=600.0):
        """The next line as JSON."""
        return json.loads(self.line(timeout))

    def tell(self, text):
        self.process.stdin.write((text + "\n").encode())
        self.process.stdin.flush()

    def cpu(self):
        """Seconds of CPU so far, of all its threads: (user, system)."""
        with open(f"/proc/{self.pid}/stat", "rb") as stat:
            fields = stat.read().rsplit(b") ", 1)[1].split()
        return int(fields[11]) / TICK, int(fields[12]) / TICK

    def cpu_time(self):
        """Seconds of CPU so far, of all its present threads, finer than `cpu`."""
        total = 0
        for thread in os.listdir(f"/proc/{self.pid}/task"):
            with open(f"/proc/{self.pid}/task/{thread}/schedstat") as stat:
                total += int(stat.read().split()[0])
        return total / 1e9

    def wake_ups(self):
        """How often it went to sleep so far, of its own will."""
        total = 0
        for thread in os.listdir(f"/proc/{self.pid}/task"):
            with open(f"/proc/{self.pid}/task/{thread}/status") as status:
                total += int(next(line.split()[1] for line in status if line.startswith("voluntary_ctxt_switches")))
        return total

    def anonymous(self):
        """Resident KiB of its own data: without the pages of programs and libraries, which come as they are used."""
        with open(f"/proc/{self.pid}/status") as status:
            return int(next(line.split()[1] for line in status if line.startswith("RssAnon")))

    def memory(self):
        """Resident KiB: {'Rss':…, 'Pss':…, 'Anonymous':…}."""
        found = {}
        with open(f"/proc/{self.pid}/smaps_rollup") as rollup:
            for text in rollup:
                key, _, rest = text.partition(":")
                if key in ("Rss", "Pss", "Anonymous"):
                    found[key] = int(rest.split()[0])
        return found

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def wait_for_socket(path, program, timeout=60.0):
    """Waits until somebody listens at the path, or at the port of 127.0.0.1 that stands there."""
    family, address = (socket.AF_INET, ("127.0.0.1", int(path))) if path.isdigit() else (socket.AF_UNIX, path)
    limit = time.monotonic() + timeout
    while time.monotonic() < limit:
        with socket.socket(family) as probe:
            try:
                probe.connect(address)
                return
            except OSError:
                if program.process.poll() is not None:
                    break
                time.sleep(0.01)
    raise RuntimeError(f"{program.name} does not listen on {path} (status {program.process.poll()})")
