"""P4: the one-way latency of an event at a low rate."""

from statistics import median

from .fanout import one_life, reading
from .paired import SPREAD, Paired
from .peers import (
    Gatewayd, Mosquitto, MosquittoFedByTCP, Nats, NotificationRelay, Redis, RedisFedByTCP, available,
)  # fmt: skip
from .placement import PLACEMENTS
from .table import Table

RATE = 1000
# Windows in the life of a peer, and the events of each.
TURNS, EVENTS = 4, 600
TIMES = ("min", "p50", "p90", "p99")


def p4(rounds):
    kinds = available([NotificationRelay, Gatewayd, MosquittoFedByTCP, RedisFedByTCP, Nats, Mosquitto, Redis])
    runs = {(placement, kind): [] for placement in PLACEMENTS for kind in kinds}
    for number in range(rounds):
        for placement, place in PLACEMENTS.items():
            with place():
                for kind, reports in one_life(kinds, TURNS, lambda peer: reading(peer, 1, EVENTS, rate=RATE)).items():
                    runs[placement, kind] += [report["latency"] for report in reports]
        shown = ", ".join(f"{kind.name} ({placement}) {mid(reports, 'p50')}" for (placement, kind), reports in runs.items())
        print(f"  round {number + 1}, p50 in µs: {shown}", flush=True)
    table = Table(
        "P4", f"one-way latency of an event, {RATE:,} events/s, 1 subscriber, µs "
        f"(medians of {rounds * TURNS} windows of {EVENTS} events for each, in turns)",
        ["peer", "placement", *TIMES],
    )  # fmt: skip
    for (placement, kind), reports in runs.items():
        table.add(kind.name, placement, *(mid(reports, key) for key in TIMES))
    if Gatewayd in kinds:
        table.headline = ", ".join(f"{kind.name} {mid(runs['any CPU', kind], 'p50')} µs" for kind in kinds)
    if Gatewayd in kinds and MosquittoFedByTCP in kinds:
        for placement in PLACEMENTS:
            for key in ("p50", "p99"):
                ratio = Paired.ratio(runs[placement, Gatewayd], runs[placement, MosquittoFedByTCP], key)
                table.target(f"{key} ≤ that of {MosquittoFedByTCP.name} ({placement})", f"{ratio} of it", ratio.at_most(1))
        table.note(SPREAD)
    table.note("Events come in over TCP, as from a server, except in the rows that say only mosquitto or redis: there they come through the Unix socket.")
    return table


def mid(reports, key):
    return f"{median(report[key] for report in reports):.0f}"
