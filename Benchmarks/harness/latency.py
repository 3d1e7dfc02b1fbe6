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
    mid = {case: {key: median(run[key] for run in reports) for key in ("p50", "p99")} for case, reports in runs.items()}
    for placement in PLACEMENTS:
        own, broker = (mid.get((placement, kind.name)) for kind in (Gatewayd, MosquittoFedByTCP))
        for key in own if own and broker else ():
            table.target(f"{key} ≤ mosquitto's with events in by TCP ({placement})", f"{own[key]:.0f} against {broker[key]:.0f} µs",
                         own[key] <= broker[key])  # fmt: skip
    table.note("Events come to the first five over TCP, as from a server; to the last two through the Unix socket.")
    if Gatewayd in kinds:
        table.headline = ", ".join(f"{kind.name} {mid['any CPU', kind.name]['p50']:.0f} µs" for kind in kinds)
    return table
