"""FAIR: what a client that behaves badly does to the latency of the others. FAIR-asleep: the same where CPUs may go to sleep."""

import contextlib
import os
import sys
from statistics import fmean, median

from . import places
from .fanout import PAYLOAD, reading
from .paired import RATIOS, SPREAD, Paired
from .peers import Gatewayd, Peer, available
from .process import Program
from .table import Table

RATE = 1000
SUBSCRIBERS = 10
# A window is so short that what changes slowly changes little within a cycle …
WINDOW = 300
# … of three windows, of which there are so many in the life of a daemon.
CYCLES = 14
# Of a neighbour's large messages.
LARGE = 900_000
LARGE_RATE = 20
NEIGHBOURS = {
    "stopped": "one that subscribes and stops reading",
    "status": "one that asks for the status as fast as it can",
    "requests": "one that makes requests as fast as it can",
    "large_sends": "one that sends 0.9 MB 20 times a second",
    "large_events": "one that gets 0.9 MB 20 times a second",
}
# Gives way at once to whoever else wants the CPU, and leaves it to nobody else.
AWAKE = "import os\nprint('ready', flush=True)\nwhile True: os.sched_yield()"


@contextlib.contextmanager
def on_cpu(cpu):
    """Programs started meanwhile run there."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def beside():
    """The CPU of everything but the daemon that is measured."""
    return on_cpu(min(os.sched_getaffinity(0)))


def yielding(program):
    """It gets only the CPU that nobody else wants."""
    os.sched_setscheduler(program.pid, os.SCHED_IDLE, os.sched_param(0))
    return program


@contextlib.contextmanager
def ended(program):
    """A program that has said that it is ready, and is killed in the end."""
    try:
        if program.line() != "ready":
            raise RuntimeError(f"{program.name} is not ready")
        yield program
    finally:
        program.process.kill()
        program.end()


@contextlib.contextmanager
def awake():
    """No CPU that is used goes to sleep: waking it would take longer than what is measured, and differently long."""
    with contextlib.ExitStack() as both:
        for cpu in {min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0))}:
            with on_cpu(cpu):
                yielding(both.enter_context(ended(Program([sys.executable, "-c", AWAKE]))))
        yield


class Measured(Gatewayd):
    """The daemon has a CPU for itself; the server and the subscribers share the other one with the neighbours."""

    def start_daemon(self, *arguments, env=None):
        with on_cpu(max(os.sched_getaffinity(0))):
            super().start_daemon(*arguments, env=env)

    def start_blaster(self, *more):
        with beside():
            return super().start_blaster(*more)


class Other(Gatewayd):
    """A second daemon, which only a neighbour uses."""

    def start(self):
        with beside():
            super().start()
        yielding(self.daemon)


class Server(Peer):
    """A neighbour's own upstream."""

    feed = "socketio"

    def start(self):
        with beside():
            self.url = f"http://127.0.0.1:{self.start_blaster()}"
        yielding(self.blaster)


@contextlib.contextmanager
def neighbour(kind, peer):
    """The named neighbour of a daemon, at rest, as a function that tells it to go or to rest; it has a server of its own."""
    large = kind.startswith("large")
    with Server(LARGE if kind == "large_events" else PAYLOAD) as server:
        arguments = [peer.socket, server.url, LARGE if large else PAYLOAD, LARGE_RATE if large else RATE]
        if kind == "large_events":
            arguments.append(server.control)
        if kind == "stopped":
            # The events that everybody gets; where there is nobody else, it has to ask for them.
            arguments[1] = peer.url
            arguments += [peer.control] if isinstance(peer, Other) else []
        with beside():
            program = Program([sys.executable, places.harness("neighbour.py"), kind, *arguments])
        with ended(yielding(program)):

            def tell(word):
                program.tell(word)
                if program.line() != word:
                    raise RuntimeError(f"the neighbour does not {word}")

            yield tell


@contextlib.contextmanager
def subscribers(peer, events):
    """The others, as a function: one window and its report."""
    with beside(), reading(peer, SUBSCRIBERS, events, rate=RATE) as window:
        yield window


def one_life(kind):
    """A window's reports by who is beside the subscribers, in turns: nobody, a neighbour of another daemon, one of theirs."""
    found = {"nobody": [], "other": [], "this": []}
    with contextlib.ExitStack() as life:
        peer = life.enter_context(Measured(PAYLOAD))
        tell = {
            "other": life.enter_context(neighbour(kind, life.enter_context(Other(PAYLOAD)))),
            "this": life.enter_context(neighbour(kind, peer)),
        }
        window = life.enter_context(subscribers(peer, WINDOW))
        # Fills the history, which is what is measured then.
        for _ in range(4):
            window()
        for cycle in range(CYCLES):
            for who in list(found) if cycle % 2 else reversed(found):
                if who in tell:
                    tell[who]("go")
                found[who].append(window())
                if who in tell:
                    tell[who]("rest")
    return found


def ratio(above, below):
    """Of the p99 in windows that follow each other."""
    return Paired.ratio(*([report["latency"] for report in reports] for reports in (above, below)), "p99")


def mid(reports, key):
    return f"{median(report['latency'][key] for report in reports):.0f}"


def fair(rounds):
    return compared("FAIR", rounds, "CPUs stay awake", awake())


def fair_asleep(rounds):
    return compared("FAIR-asleep", rounds, "CPUs may sleep", contextlib.nullcontext())


def compared(title, rounds, how, cpus):
    if not available([Gatewayd]):
        return None
    runs = {kind: {"nobody": [], "other": [], "this": []} for kind in NEIGHBOURS}
    with cpus:
        for number in range(rounds):
            for kind, found in runs.items():
                for who, reports in one_life(kind).items():
                    found[who] += reports
                nobody, other = (ratio(found["this"], found[who]) for who in ("nobody", "other"))
                print(f"  round {number + 1}: {kind}: p99 {nobody} of nobody's, {other} of the other daemon's", flush=True)
    table = Table(
        title, f"latency of {RATE:,} events/s to {SUBSCRIBERS} subscribers beside a bad neighbour, {how}, µs "
        f"(medians of {rounds * CYCLES} windows of {WINDOW} events for each, in turns)",
        ["neighbour", "p50", "p90", "p99", "p99 without", "p99 ÷ without", "quartiles", "p99 where it uses another daemon",
         "p99 ÷ that", "quartiles of that", "daemon's cores busy"],
    )  # fmt: skip
    alone = [report for found in runs.values() for report in found["nobody"]]
    noise = ratio(alone[1:], alone)
    table.add("nobody", *(mid(alone, key) for key in ("p50", "p90", "p99")), mid(alone, "p99"), noise, noise.quartiles, "–", "–", "–",
              f"{fmean(report['busy'] for report in alone):.2f}")  # fmt: skip
    for kind, found in runs.items():
        this, nobody, other = found["this"], found["nobody"], found["other"]
        without, apart = ratio(this, nobody), ratio(this, other)
        table.add(
            NEIGHBOURS[kind], *(mid(this, key) for key in ("p50", "p90", "p99")), mid(nobody, "p99"), without, without.quartiles,
            mid(other, "p99"), apart, apart.quartiles, f"{fmean(report['busy'] for report in this):.2f}",
        )  # fmt: skip
        table.target(f"beside {NEIGHBOURS[kind]} p99 ≤ 1.1 × that beside one at another daemon", apart, apart.at_most(1.1))
    table.headline = "p99 ÷ that beside another daemon's: " + ", ".join(f"{row[0]} {row[8]}" for row in table.rows[1:])
    table.note("The daemon has a CPU for itself. Neighbours and their server run where server and subscribers run, with what these leave.")
    table.note(f"{RATIOS} Here they are of windows within one daemon's life. *nobody* compares two windows without a neighbour: what the "
               "measurement finds where there is nothing to find.")  # fmt: skip
    table.note(SPREAD)
    return table
