"""FAIR: what a client that behaves badly does to the latency of the others."""

import sys
import threading
from contextlib import contextmanager
from statistics import median

from .fanout import PAYLOAD, read
from .local import Local
from .peers import Gatewayd, available
from .process import Program
from .table import Table

RATE = 1000
SUBSCRIBERS = 10
EVENTS = 3000


@contextmanager
def nobody(peer):
    yield


@contextmanager
def stopped_reader(peer):
    """Subscribes to the same events and never reads again."""
    client = Local(peer.socket)
    client.call("subscribe", {"url": peer.url})
    yield
    client.close()


@contextmanager
def busy_machine(peer):
    """Has nothing to do with the daemon: what it takes is only the CPU."""
    spinner = Program([sys.executable, "-c", "while True: pass"])
    yield
    spinner.process.kill()
    spinner.end()


@contextmanager
def flood(peer):
    """Calls as fast as it is answered, 200 calls at a time."""
    client = Local(peer.socket)
    over = threading.Event()
    line = b'{"jsonrpc":"2.0","id":%d,"method":"status"}\n'

    def call():
        batch = b"".join(line % number for number in range(200))
        while not over.is_set():
            client.socket.sendall(batch)
            for _ in range(200):
                if not client.lines.readline():
                    return

    thread = threading.Thread(target=call)
    thread.start()
    yield
    over.set()
    thread.join()
    client.close()


@contextmanager
def large_sends(peer):
    """Sends a megabyte at a time, twenty times a second."""
    client = Local(peer.socket)
    over = threading.Event()
    line = b'{"jsonrpc":"2.0","id":1,"method":"send","params":{"url":"%s","event":"large","args":["%s"]}}\n' % (
        peer.url.encode(), b"x" * 900_000,
    )  # fmt: skip

    def send():
        while not over.wait(0.05):
            client.socket.sendall(line)
            client.lines.readline()

    thread = threading.Thread(target=send)
    thread.start()
    yield
    over.set()
    thread.join()
    client.close()


WAYS = {
    "nobody else": nobody, "one that keeps a CPU busy and leaves the daemon alone": busy_machine, "one that subscribes and stops reading": stopped_reader,
    "one that asks for the status as fast as it can": flood, "one that sends 1 MB 20 times a second": large_sends,
}  # fmt: skip


def latency(way):
    with Gatewayd(PAYLOAD) as peer:
        read(peer, SUBSCRIBERS, 500, rate=RATE)
        with way(peer):
            return read(peer, SUBSCRIBERS, EVENTS, rate=RATE)["latency"]


def fair(rounds):
    if not available([Gatewayd]):
        return None
    runs = {name: [] for name in WAYS}
    for _ in range(rounds):
        for name, way in WAYS.items():
            runs[name].append(latency(way))
    table = Table(
        "FAIR", f"latency of {RATE:,} events/s to {SUBSCRIBERS} subscribers beside a bad neighbour, µs "
        f"(medians of {rounds} interleaved runs)",
        ["neighbour", "p50", "p90", "p99", "p99 ÷ without"],
    )  # fmt: skip
    mid = {name: {key: median(run[key] for run in reports) for key in ("p50", "p90", "p99")} for name, reports in runs.items()}
    alone = mid["nobody else"]["p99"]
    for name, one in mid.items():
        table.add(name, *(f"{one[key]:.0f}" for key in one), f"{one['p99'] / alone:.2f}")
    table.note("What a neighbour takes of the CPU is no affair of the daemon's: the second row shows it.")
    table.note("To reach: the p99 of the others changes by less than a tenth.")
    return table
