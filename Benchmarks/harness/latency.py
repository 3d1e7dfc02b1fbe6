"""P4: the one-way latency of an event at a low rate."""

from statistics import median

from .fanout import PAYLOAD, read
from .peers import (
    Gatewayd, Mosquitto, MosquittoFedByTCP, Nats, NotificationRelay, Redis, RedisFedByTCP, available,
)  # fmt: skip
from .placement import PLACEMENTS
from .table import Table

RATE = 1000


def p4(rounds):
    kinds = available([NotificationRelay, Gatewayd, MosquittoFedByTCP, RedisFedByTCP, Nats, Mosquitto, Redis])
    runs = {}
    for _ in range(rounds):
        for placement, place in PLACEMENTS.items():
            for kind in kinds:
                with place(), kind(PAYLOAD) as peer:
                    read(peer, 1, 500, rate=RATE)
                    runs.setdefault((placement, kind.name), []).append(read(peer, 1, 2000, rate=RATE)["latency"])
    table = Table(
        "P4", f"one-way latency of an event, {RATE:,} events/s, 1 subscriber, µs (medians of {rounds} interleaved runs)",
        ["peer", "placement", "min", "p50", "p90", "p99"],
    )  # fmt: skip
    for (placement, name), reports in runs.items():
        table.add(name, placement, *(f"{median(run[key] for run in reports):.0f}" for key in ("min", "p50", "p90", "p99")))
    table.note("To reach: no more than mosquitto's.")
    table.note("Events come to the first five over TCP, as from a server; to the last two through the Unix socket.")
    one = {kind.name: median(run["p50"] for run in runs["any CPU", kind.name]) for kind in kinds}
    if Gatewayd.name in one:
        table.headline = ", ".join(f"{name} {p50:.0f} µs" for name, p50 in one.items())
    return table
