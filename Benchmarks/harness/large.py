"""P11: events of a megabyte to many subscribers."""

import threading

from . import fanout, places
from .peers import Gatewayd, Mosquitto, Nats, NotificationRelay, Redis, available
from .process import Program
from .table import Table

SUBSCRIBERS = 100
PAYLOAD = 1_000_000
EVENTS = 40


class WithoutHistory(Gatewayd):
    """Nothing is kept for later subscribers."""

    name = "gatewayd without history"
    settings = "[defaults]\nhistory.events = 0\n"


class ShortHistory(Gatewayd):
    """Keeps what is small."""

    name = "gatewayd, history.bytes = 64 KiB"
    settings = '[defaults]\nhistory.bytes = "64KiB"\n'


class Watch(threading.Thread):
    """The most anonymous memory that a program has while this runs, looked at a thousand times a second."""

    def __init__(self, program):
        super().__init__()
        self.program, self.most, self.over = program, 0, threading.Event()

    def run(self):
        while not self.over.wait(0.001):
            self.most = max(self.most, self.program.anonymous())

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()


def with_subscribers(peer):
    """Its anonymous memory with all subscribers, before the first event."""
    reader = Program(
        [places.program("reader"), "--protocol", peer.protocol, "--socket", peer.socket, "--url", peer.url,
         "--clients", SUBSCRIBERS]
    )  # fmt: skip
    try:
        reader.line()
        return peer.daemon.anonymous()
    finally:
        reader.end()


def measure(kind):
    with kind(PAYLOAD) as peer:
        base = with_subscribers(peer)
        fanout.read(peer, SUBSCRIBERS, 4, window=1, chunk=4 << 20)
        with Watch(peer.daemon) as watch:
            report = fanout.read(peer, SUBSCRIBERS, EVENTS, window=1, chunk=4 << 20)
        report["peak"] = (watch.most - base) * 1024 / PAYLOAD
        return report


def p11(rounds):
    kinds = available([NotificationRelay, Gatewayd, ShortHistory, WithoutHistory, Redis, Nats, Mosquitto])
    runs = {kind: [] for kind in kinds}
    for number in range(rounds):
        for kind in kinds:
            runs[kind].append(measure(kind))
            last = runs[kind][-1]
            print(f"  round {number + 1}: {kind.name}: {last['rate']:.0f}/s, peak {last['peak']:.1f} payloads", flush=True)
    table = Table(
        "P11", f"events of 1 MB to {SUBSCRIBERS} subscribers, one at a time (medians of {rounds} interleaved runs)",
        ["peer", "deliveries/s", "GB/s", "CPU µs/delivery", "of it user", "peak anonymous memory above the base, in payloads"],
    )  # fmt: skip
    table.headline = ", ".join(f"{kind.name} {fanout.mid(reports, 'peak'):.1f} payloads" for kind, reports in runs.items())
    for kind, reports in runs.items():
        rate, cpu, user, peak = (fanout.mid(reports, key) for key in ("rate", "cpu_ns", "user_ns", "peak"))
        table.add(
            kind.name, f"{rate:,.0f}", f"{rate * PAYLOAD / 1e9:.2f}", f"{cpu / 1000:,.0f}", f"{user / 1000:,.0f}", f"{peak:.1f}"
        )
    for kind in (Gatewayd, WithoutHistory):
        if kind in runs:
            peak = fanout.mid(runs[kind], "peak")
            table.target(f"peak memory ≤ 3 × the payload ({kind.name})", f"{peak:.1f}", peak <= 3, rounds)
    table.note("Memory is the daemon's own, without the sockets' buffers, which are the kernel's. One event is encoded once.")
    table.note("The history keeps 4 MiB of each connection's last events unless it is configured otherwise: four of these payloads.")
    return table
