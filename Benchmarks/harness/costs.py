"""What one event, one delivery, one request and one durable send cost in instructions, allocations and system calls:
counted, not timed, so that other work on the machine does not matter. The costs of the start cancel out between a shorter
and a longer run."""

import os
import re
import signal
import subprocess

from . import places
from .fanout import PAYLOAD
from .peers import Gatewayd
from .process import Program

# Names of glibc's allocator, and the calls that end in one allocation each.
ALLOCATORS = ("malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc")
SUBSCRIBERS = 100
# So many that the disk has something new to write whenever it is done.
SAVERS = 50


def without_debug_information():
    """A copy of the daemon that Debian 12's valgrind can read: its debug information is too new for it."""
    copy = places.program("gatewayd-counted")
    subprocess.run(["objcopy", "--strip-debug", places.gatewayd(), copy], check=True)
    return copy


class CountedGatewayd(Gatewayd):
    """Under a tool that writes what it counted to a file when the daemon has ended."""

    program = property(lambda self: places.program("gatewayd-counted"))

    def counts(self):
        """Ends the daemon; what the tool counted, by name."""
        os.kill(self.counted_process, signal.SIGTERM)
        self.daemon.process.wait(60)
        return self.read(self.path("counts"))


class Callgrind(CountedGatewayd):
    # valgrind becomes the program.
    counted_process = property(lambda self: self.daemon.pid)

    @property
    def wrapper(self):
        return [places.found("valgrind"), "-q", "--tool=callgrind", f"--callgrind-out-file={self.path('counts')}"]

    @staticmethod
    def read(path):
        """The instructions in user mode, and the calls of the allocator."""
        counts = {"instructions": 0, "allocations": 0}
        names = {}
        called = None
        with open(path) as file:
            for line in file:
                if line.startswith("cfn="):
                    number, _, name = line[4:].rstrip("\n").partition(" ")
                    called = names.setdefault(number, name) if name else names.get(number, "")
                elif line.startswith("fn="):
                    number, _, name = line[3:].rstrip("\n").partition(" ")
                    if name:
                        names[number] = name
                elif line.startswith("calls="):
                    if called in ALLOCATORS:
                        counts["allocations"] += int(line[6:].split()[0])
                elif line.startswith(("summary:", "totals:")):
                    counts["instructions"] = int(line.split(":")[1].split()[0])
        return counts


class Strace(CountedGatewayd):
    @property
    def counted_process(self):
        with open(f"/proc/{self.daemon.pid}/task/{self.daemon.pid}/children") as children:
            return int(children.read().split()[0])

    @property
    def wrapper(self):
        return [places.found("strace"), "-f", "-c", "-o", self.path("counts")]

    @staticmethod
    def read(path):
        with open(path) as file:
            found = re.search(r"^\s*100\.00\s+\S+\s+(?:\S+\s+)?(\d+)\s+(?:\d+\s+)?total$", file.read(), re.M)
        if not found:
            raise RuntimeError(f"strace counted nothing: {open(path).read()}")
        return {"system calls": int(found.group(1))}


def fan_out(tool, subscribers, events, window):
    """What a daemon counts that delivers so many events, its start and end included."""
    with tool(PAYLOAD) as peer:
        reader = Program(
            [places.program("reader"), "--protocol", peer.protocol, "--socket", peer.socket, "--url", peer.url,
             "--clients", subscribers, "--control", peer.control, "--events", events, "--window", window]
        )  # fmt: skip
        try:
            reader.line(60)
            reader.tell("go")
            report = reader.report()
            if not report["complete"] or report["lost"]:
                raise RuntimeError(f"not all events arrived: {report}")
            return peer.counts()
        finally:
            reader.end()


def under(tool, program, *options):
    """What a daemon counts that a load program uses until it is done, its start and end included."""
    with tool(PAYLOAD) as peer:
        load = Program([places.program(program), "--socket", peer.socket, "--url", peer.url, *options])
        try:
            load.report()
            return peer.counts()
        finally:
            load.end()


def requests(tool, count):
    """What a daemon counts that carries so many requests, one at a time."""
    return under(tool, "pinger", "--count", count, "--warm-up", 100)


def durable_sends(tool, count):
    """What a daemon counts that keeps so many sends on disk, of clients that each wait for the answer."""
    return under(tool, "saver", "--protocol", "gatewayd", "--clients", SAVERS, "--count", count, "--warm-up", 500)


def difference(longer, shorter, per):
    return {key: (longer[key] - shorter[key]) / per for key in longer}


def events_and_deliveries(tool, window, events):
    """Costs of an event for which nobody pays but the daemon, and of each of its deliveries."""
    one = difference(fan_out(tool, 1, 2 * events, window), fan_out(tool, 1, events, window), events)
    many = difference(fan_out(tool, SUBSCRIBERS, 2 * events, window), fan_out(tool, SUBSCRIBERS, events, window), events)
    delivery = {key: (many[key] - one[key]) / (SUBSCRIBERS - 1) for key in one}
    return {key: one[key] - delivery[key] for key in one}, delivery


def usable():
    """The tools that work here, and why the others do not."""
    tools, reasons = [], []
    for tool, trial in ((Callgrind, ["valgrind", "-q", "--tool=none", "true"]), (Strace, ["strace", "-f", "-c", "-o", "/dev/null", "true"])):
        if not places.found(trial[0]):
            reasons.append(f"{trial[0]} is not installed")
            continue
        done = subprocess.run(trial, capture_output=True, text=True)
        if done.returncode:
            reasons.append(f"{trial[0]} does not work here: {done.stderr.strip()}")
        else:
            tools.append(tool)
    return tools, reasons


def measured(tools):
    """All the costs, by name."""
    without_debug_information()
    found = {}
    for how, window, events in (("one at a time", 1, 200), ("64 at a time", 64, 1024)):
        for tool in tools:
            event, delivery = events_and_deliveries(tool, window, events)
            for what in event:
                found[f"{what} per event, {how}"] = event[what]
                found[f"{what} per delivery, {how}"] = delivery[what]
    for tool in tools:
        for what, value in difference(requests(tool, 600), requests(tool, 300), 300).items():
            found[f"{what} per request"] = value
    # How many share a system call depends on the disk.
    if Callgrind in tools:
        for what, value in difference(durable_sends(Callgrind, 6_000), durable_sends(Callgrind, 3_000), 3_000).items():
            found[f"{what} per durable send, {SAVERS} clients"] = value
    return found
