"""FAIR: what a client that behaves badly does to the latency of the others."""

import contextlib
import os
import socket
import sys
from statistics import median

from . import places
from .fanout import PAYLOAD, read
from .peers import Gatewayd, Peer, available
from .process import Program
from .table import Table

RATE = 1000
SUBSCRIBERS = 10
EVENTS = 5000
# Of the neighbour's upstream.
LARGE = 900_000
LARGE_RATE = 20


@contextlib.contextmanager
def on_cpu(cpu):
    """Programs started meanwhile run there."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def yielding(program):
    """It gets only the CPU that nobody else wants."""
    os.sched_setscheduler(program.pid, os.SCHED_IDLE, os.sched_param(0))
    return program


class Measured(Gatewayd):
    """The daemon has a CPU for itself; the server and the subscribers share the other one with the neighbours."""

    def start_daemon(self, *arguments, env=None):
        with on_cpu(max(os.sched_getaffinity(0))):
            super().start_daemon(*arguments, env=env)

    def start_blaster(self, *more):
        with on_cpu(min(os.sched_getaffinity(0))):
            return super().start_blaster(*more)


class Other(Gatewayd):
    """A second daemon, which only the neighbour uses."""


class Server(Peer):
    """The neighbour's own upstream."""

    feed = "socketio"

    def start(self):
        self.url = f"http://127.0.0.1:{self.start_blaster()}"


@contextlib.contextmanager
def neighbour(kind, peer):
    """The named neighbour of a daemon, with a server of its own, beside the subscribers and behind them."""
    with on_cpu(min(os.sched_getaffinity(0))), Server(LARGE if kind == "large_events" else PAYLOAD) as server:
        yielding(server.blaster)
        url = peer.url if kind == "stopped" else server.url
        program = Program([sys.executable, places.harness("neighbour.py"), kind, peer.socket, url])
        try:
            if program.line() != "ready":
                raise RuntimeError("the neighbour is not ready")
            yielding(program)
            with socket.socket(socket.AF_UNIX) as control:
                if kind == "large_events":
                    control.connect(server.control)
                    control.sendall(f"start 1000000 1000000 {LARGE_RATE}\n".encode())
                yield
        finally:
            program.process.kill()
            program.end()


NEIGHBOURS = {
    "spinner": "one that keeps a CPU busy and leaves the daemon alone",
    "stopped": "one that subscribes and stops reading",
    "status": "one that asks for the status as fast as it can",
    "requests": "one that makes requests as fast as it can",
    "large_sends": "one that sends 0.9 MB 20 times a second",
    "large_events": "one that gets 0.9 MB 20 times a second",
}


def subscribers(peer):
    with on_cpu(min(os.sched_getaffinity(0))):
        return read(peer, SUBSCRIBERS, EVENTS, rate=RATE)


def run(kind, beside):
    """Latencies beside a neighbour of the same daemon, or of another one; without one for None."""
    with Measured(PAYLOAD) as peer:
        read(peer, SUBSCRIBERS, 500, rate=RATE)
        if kind is None:
            report = subscribers(peer)
        elif beside == "this":
            with neighbour(kind, peer):
                report = subscribers(peer)
        else:
            with on_cpu(min(os.sched_getaffinity(0))), Other(PAYLOAD) as other:
                yielding(other.daemon)
                with neighbour(kind, other):
                    report = subscribers(peer)
    return {**report["latency"], "busy": report["busy"]}


def fair(rounds):
    if not available([Gatewayd]):
        return None
    cases = [(None, "this"), *((kind, beside) for kind in NEIGHBOURS for beside in ("other", "this"))]
    cases.remove(("spinner", "other"))
    runs = {case: [] for case in cases}
    for number in range(rounds):
        for case in cases:
            runs[case].append(run(*case))
            print(f"  round {number + 1}: {case}: {runs[case][-1]}", flush=True)
    mid = {case: {key: median(one[key] for one in reports) for key in reports[0]} for case, reports in runs.items()}
    table = Table(
        "FAIR", f"latency of {RATE:,} events/s to {SUBSCRIBERS} subscribers beside a bad neighbour, µs "
        f"(medians of {rounds} interleaved runs)",
        ["neighbour", "p50", "p90", "p99", "p99 ÷ without", "p99 where it uses another daemon", "p99 ÷ that",
         "daemon's cores busy"],
    )  # fmt: skip
    alone = mid[None, "this"]["p99"]
    for kind, name in {None: "nobody", **NEIGHBOURS}.items():
        one, control = mid[kind, "this"], mid.get((kind, "other"))
        table.add(
            name, *(f"{one[key]:.0f}" for key in ("p50", "p90", "p99")), f"{one['p99'] / alone:.2f}",
            f"{control['p99']:.0f}" if control else "–", f"{one['p99'] / control['p99']:.2f}" if control else "–",
            f"{one['busy']:.2f}",
        )  # fmt: skip
    table.note("To reach: the p99 of the others changes by less than a tenth.")
    table.note("The daemon has a CPU for itself. Neighbours and their server run where server and subscribers run, with what these leave.")
    return table
