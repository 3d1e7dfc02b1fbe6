"""P6-cost: what durable sends cost the requests of others meanwhile."""

import time
from statistics import median

from . import places
from .peers import Gatewayd, available
from .process import Program
from .requests import ping
from .table import Table

ENDLESS = 100_000_000
TIMES = ("p50", "p90", "p99", "max")
CASES = {
    "nothing else": (0, False),
    "1 durable sender, same connection": (1, False),
    "50 durable senders, same connection": (50, False),
    "1 durable sender, another connection": (1, True),
    "50 durable senders, another connection": (50, True),
}


def elsewhere(url):
    """The same server under another name, which is another connection."""
    return url.replace("127.0.0.1", "localhost")


def one(senders, apart):
    """Round trips of a request, while so many clients send durably, each as fast as it is answered."""
    with Gatewayd() as peer:
        saver = senders and Program(
            [places.program("saver"), "--protocol", "gatewayd", "--socket", peer.socket, "--clients", senders,
             "--url", elsewhere(peer.url) if apart else peer.url, "--count", ENDLESS, "--warm-up", 1])  # fmt: skip
        try:
            if senders:
                time.sleep(1)
            return ping("--socket", peer.socket, "--url", peer.url, "--inflight", 1)
        finally:
            if senders:
                saver.end()


def p6_cost(rounds):
    if not available([Gatewayd]):
        return None
    runs = {}
    for number in range(rounds):
        for case, (senders, apart) in CASES.items():
            runs.setdefault(case, []).append(one(senders, apart)["times"])
        shown = ", ".join(f"{case}: {times[-1]['p50']:.0f}/{times[-1]['p99']:.0f}" for case, times in runs.items())
        print(f"  round {number + 1}, p50/p99 in µs: {shown}", flush=True)
    table = Table(
        "P6-cost", f"request round trip while others send durably, µs (medians of {rounds} interleaved runs)",
        ["meanwhile", *TIMES],
    )  # fmt: skip
    mid = {case: {key: median(time[key] for time in times) for key in TIMES} for case, times in runs.items()}
    for case, times in mid.items():
        table.add(case, *(f"{times[key]:,.0f}" for key in TIMES))
    table.headline = "p50/p99 µs: " + ", ".join(f"{case} {times['p50']:,.0f}/{times['p99']:,.0f}" for case, times in mid.items())
    table.note("A request does not wait for what other programs want on the disk (decision 0047).")
    return table
