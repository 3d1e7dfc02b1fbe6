"""FAIR-busy: how long the daemon is busy between two looks at the kernel, beside a client that behaves badly."""

import contextlib
import mmap
from array import array
from statistics import median

from . import places
from .fairness import NEIGHBOURS, RATE, SUBSCRIBERS, Measured, neighbour, subscribers
from .fanout import PAYLOAD
from .peers import available
from .table import Table

EVENTS = 4_000
# Of all stretches, in the table.
SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "longest": 1.0}
WORD = 4


class NotingGatewayd(Measured):
    """Notes its stretches in a file, as `src/stretches.c` says."""

    def start_daemon(self, *arguments, env=None):
        self.noted = self.path("stretches")
        super().start_daemon(*arguments, env={**env, "LD_PRELOAD": places.program("stretches.so"), "STRETCHES": self.noted})

    def stretches(self, first=0):
        """Those noted so far, in µs, from the first that is wanted."""
        with open(self.noted, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as memory:
            count = int.from_bytes(memory[:WORD], "little")
            return [ns / 1000 for ns in array("I", memory[WORD * (1 + first) : WORD * (1 + count)])]


def one_round(kind):
    """The percentiles of a daemon's stretches, their number a second and the share of a CPU that they take."""
    with NotingGatewayd(PAYLOAD) as peer, contextlib.ExitStack() as life:
        tell = life.enter_context(neighbour(kind, peer)) if kind else lambda _: None
        window = life.enter_context(subscribers(peer, EVENTS))
        window()
        tell("go")
        before = len(peer.stretches())
        report = window()
        found = sorted(peer.stretches(before))
        tell("rest")
    if not found:
        raise RuntimeError("the daemon noted no stretch")
    times = {name: found[min(int(share * len(found)), len(found) - 1)] for name, share in SHARES.items()}
    return {**times, "looks": len(found) / report["seconds"], "busy": sum(found) / 1e6 / report["seconds"]}


def fair_busy(rounds):
    if not available([NotingGatewayd]):
        return None
    names = {None: "nobody", **NEIGHBOURS}
    runs = {kind: [] for kind in names}
    for number in range(rounds):
        for kind, found in runs.items():
            found.append(one_round(kind))
            shown = ", ".join(f"{key} {value:,.1f}" for key, value in found[-1].items())
            print(f"  round {number + 1}: {names[kind]}: {shown}", flush=True)
    table = Table(
        "FAIR-busy", f"CPU time of the daemon between two looks at the kernel, µs, {RATE:,} events/s to {SUBSCRIBERS} subscribers "
        f"beside a bad neighbour (medians of {rounds} interleaved runs of {EVENTS:,} events)",
        ["neighbour", *SHARES, "looks/s", "daemon's cores busy"],
    )  # fmt: skip
    mid = {kind: {key: median(one[key] for one in found) for key in found[0]} for kind, found in runs.items()}
    for kind, one in mid.items():
        table.add(names[kind], *(f"{one[key]:,.0f}" for key in SHARES), f"{one['looks']:,.0f}", f"{one['busy']:.2f}")
    table.headline = "p99 µs: " + ", ".join(f"{names[kind]} {one['p99']:.0f}" for kind, one in mid.items())
    table.note("So long others may have to wait for the daemon. Time in which it has no CPU is not in it; *longest* is a single stretch and differs "
               "widely from run to run.")  # fmt: skip
    return table
