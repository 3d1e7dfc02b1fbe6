"""P1 to P6 of two daemons, in turns: what a change has cost or gained."""

import os
from statistics import median

from . import durable, fanout, latency, memory, requests
from .paired import SPREAD, Paired
from .peers import Gatewayd
from .table import Table

# Subscribers of P1 and, around it, of P2.
FANS = (1, 10, 100, 1000)


def other(path):
    """The daemon at `path`, as a peer beside the one under test."""
    kind = type("OtherGatewayd", (Gatewayd,), {"name": path, "program": os.path.abspath(path)})
    fanout.EVENTS[kind] = fanout.EVENTS[Gatewayd]
    return kind


def fans(kinds, subscribers):
    """The reports of both, in turns, each life with a reader of its own."""
    runs = {kind: [] for kind in kinds}
    for turn in range(fanout.TURNS):
        for kind in kinds if turn % 2 else reversed(kinds):
            events = min(fanout.EVENTS[kind] * 100 // subscribers, 1_000_000) // fanout.PART
            runs[kind].append(fanout.measure(kind, subscribers, events))
    return runs


def round_trips(kinds, inflight):
    with kinds[0]() as first, kinds[1]() as second:
        peers = dict(zip(kinds, (first, second)))
        runs = {kind: [] for kind in kinds}
        for turn in range(requests.TURNS):
            for kind in kinds if turn % 2 else reversed(kinds):
                report = requests.through(peers[kind], inflight, requests.COUNTS[inflight])
                runs[kind].append({**report["times"], "cpu": report["cpu"]})
    return runs


def one_round(kinds):
    """Each figure of the round: its name, its unit, the key in the reports, and the reports of each kind."""
    for subscribers in FANS:
        runs = fanout.one_life(kinds, 100) if subscribers == 100 else fans(kinds, subscribers)
        name = "P1, 100 subscribers" if subscribers == 100 else f"P2, {subscribers:,} subscribers"
        yield name, "CPU ns/delivery", "cpu_ns", runs
        yield name, "deliveries/s", "rate", runs
    for name, inflight in (("P3, one at a time", 1), ("P3-64, 64 in flight", 64)):
        runs = round_trips(kinds, inflight)
        yield name, "p50 µs", "p50", runs
        yield name, "CPU µs/request", "cpu", runs
    runs = latency.one_life(kinds)
    yield "P4, latency of an event", "p50 µs", "p50", runs
    yield "P4, latency of an event", "p99 µs", "p99", runs
    runs = {kind: [memory.one_round(kind)] for kind in kinds}
    yield "P5, memory", "base KiB", "base", runs
    yield "P5, memory", "KiB/idle client", "client", runs
    yield "P5, memory", "KiB/subscription", "subscription", runs
    saved = durable.one_life(kinds)
    for clients in durable.CLIENTS:
        runs = {kind: saved[clients, kind] for kind in kinds}
        yield f"P6, {clients} clients", "durable messages/s", "messages_per_second", runs


def pairs(path, rounds):
    """The table of both; the ratio is the daemon under test divided by the other one."""
    kinds = [Gatewayd, other(path)]
    found = {}
    for number in range(rounds):
        for name, unit, key, runs in one_round(kinds):
            both = found.setdefault((name, unit, key), ([], []))
            for reports, kind in zip(both, kinds):
                reports.extend(runs[kind])
            print(f"  round {number + 1}: {name}, {unit}: {Paired.ratio(*both, key)}", flush=True)
    table = Table("pairs", f"this daemon and {path}, in turns ({rounds} rounds)", ["figure", "", "this one", "the other", "ratio"])
    for (name, unit, key), (own, others) in found.items():
        shown = (f"{median(report[key] for report in reports):,.2f}" for reports in (own, others))
        table.add(name, unit, *shown, Paired.ratio(own, others, key))
    table.note("A ratio is the median of those of runs that follow each other. Beside CPU, memory and times less is better, beside rates more.")
    table.note(SPREAD)
    return table
