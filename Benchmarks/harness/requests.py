"""P3: the round trip of a request."""

from statistics import median

from . import places
from .peers import Gatewayd, available
from .process import Program
from .table import Table

COUNT = 20_000


def ping(*arguments):
    pinger = Program([places.program("pinger"), "--count", COUNT, "--warm-up", 2000, *arguments])
    try:
        return pinger.report()
    finally:
        pinger.end()


def p3(rounds):
    ways = {"C client, direct": [], "through gatewayd": [], "C client, direct, 64 in flight": [], "through gatewayd, 64 in flight": []}
    cpu = {name: [] for name in ways}
    if not available([Gatewayd]):
        return None
    for number in range(rounds):
        with Gatewayd() as peer:
            port = peer.url.rsplit(":", 1)[1]
            direct, through = ("--direct", port), ("--socket", peer.socket, "--url", peer.url)
            for name, arguments in zip(
                ways, (direct, through, (*direct, "--inflight", 64), (*through, "--inflight", 64)), strict=True
            ):
                before = sum(peer.daemon.cpu())
                ways[name].append(ping(*arguments))
                cpu[name].append((sum(peer.daemon.cpu()) - before) / (COUNT + 2000) * 1e6)
        print(f"  round {number + 1}: " + ", ".join(f"{n}: {w[-1]['times']['p50']:.1f} µs" for n, w in ways.items()), flush=True)
    table = Table(
        "P3", f"request round trip, 200 B echoed, µs (medians of {rounds} interleaved runs of {COUNT:,})",
        ["way", "min", "p50", "p90", "p99", "requests/s", "gatewayd's CPU µs/request"],
    )  # fmt: skip
    mid = {}
    for name, runs in ways.items():
        mid[name] = {key: median(run["times"][key] for run in runs) for key in ("min", "p50", "p90", "p99")}
        rate = median(run["requests_per_second"] for run in runs)
        own = f"{median(cpu[name]):.1f}" if "gatewayd" in name else "–"
        table.add(name, *(f"{value:.1f}" for value in mid[name].values()), f"{rate:,.0f}", own)
    direct, through = mid["C client, direct"], mid["through gatewayd"]
    added = {key: through[key] - direct[key] for key in direct}
    table.add("added by gatewayd", *(f"{value:.1f}" for value in added.values()), "", "")
    table.note("To reach: added p50 ≤ 40 µs, p99 ≤ 150 µs.")
    return table
