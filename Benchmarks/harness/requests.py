"""P3: the round trip of a request."""

from statistics import median

from . import places
from .peers import Courier, Gatewayd, available
from .placement import PLACEMENTS
from .process import Program
from .table import Table

COUNT = 20_000
WARM_UP = 2_000
DIRECT = "minimal C client, direct to the server"
PYTHON = "python-socketio, the server's own client, direct"
# What a user writes without the gateway. Fewer requests: it takes some ten times as long for each.
CLIENT = """
import asyncio, json, socketio, sys, time
async def main(url, count, warm_up):
    client = socketio.AsyncClient()
    await client.connect(url, transports=["websocket"])
    text, times = "x" * 198, []
    for _ in range(warm_up): await client.call("echo", text)
    began = time.perf_counter()
    for _ in range(count):
        asked = time.perf_counter()
        await client.call("echo", text)
        times.append((time.perf_counter() - asked) * 1e6)
    seconds = time.perf_counter() - began
    times.sort()
    shares = {"min": 0, "p50": 0.5, "p90": 0.9, "p99": 0.99}
    print(json.dumps({"times": {name: times[int(share * count)] for name, share in shares.items()},
                      "requests_per_second": count / seconds}), flush=True)
    await client.disconnect()
asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
"""
TIMES = ("min", "p50", "p90", "p99")


def ping(*arguments, count=COUNT):
    pinger = Program([places.program("pinger"), "--count", count, "--warm-up", WARM_UP, *arguments])
    try:
        return pinger.report()
    finally:
        pinger.end()


def python_direct(url):
    """One run of the server's own client in Python, one request at a time."""
    client = Program([places.python(), "-c", CLIENT, url, COUNT // 10, WARM_UP // 10])
    try:
        return client.report()
    finally:
        client.end()


def through(peer, inflight):
    """One run through a peer; the report with the peer's CPU per request, in µs, added."""
    before = sum(peer.daemon.cpu())
    report = ping("--socket", peer.socket, "--url", peer.url, "--inflight", inflight)
    report["cpu"] = (sum(peer.daemon.cpu()) - before) / (COUNT + WARM_UP) * 1e6
    return report


def one_round(inflight):
    """A report for each way: straight to the server, then through each process that can stand between."""
    reports = {}
    with Gatewayd() as peer:
        reports[DIRECT] = ping("--direct", peer.url.rsplit(":", 1)[1], "--inflight", inflight)
        reports[Gatewayd.name] = through(peer, inflight)
        if inflight == 1 and places.python():
            reports[PYTHON] = python_direct(peer.url)
    with Courier() as peer:
        reports[Courier.name] = through(peer, inflight)
    return reports


def middle(reports):
    """The medians of several runs' figures."""
    found = {key: median(report["times"][key] for report in reports) for key in TIMES}
    found["rate"] = median(report["requests_per_second"] for report in reports)
    found["cpu"] = median(report.get("cpu", 0) for report in reports)
    return found


def aim(result, runs, placements):
    """What is to be reached with one request at a time."""
    for placement in placements:
        own, direct = (middle(runs[placement, way]) for way in (Gatewayd.name, DIRECT))
        for key, most in (("p50", 40), ("p99", 150)):
            added = own[key] - direct[key]
            result.target(f"added {key} ≤ {most} µs ({placement})", f"{added:.1f}", added <= most)
        if (placement, PYTHON) in runs:
            python = middle(runs[placement, PYTHON])
            result.target(f"faster than python-socketio's client straight to the server ({placement})",
                          f"{own['p50']:.0f} against {python['p50']:.0f} µs", own["p50"] < python["p50"])  # fmt: skip


def table(name, rounds, inflight, placements):
    if not available([Gatewayd]):
        return None
    runs = {}
    for number in range(rounds):
        for placement in placements:
            with PLACEMENTS[placement]():
                for way, report in one_round(inflight).items():
                    runs.setdefault((placement, way), []).append(report)
        shown = ", ".join(f"{w} ({p}) {r[-1]['times']['p50']:.1f}" for (p, w), r in runs.items())
        print(f"  round {number + 1}, p50 in µs: {shown}", flush=True)
    flight = "one at a time" if inflight == 1 else f"{inflight} in flight"
    result = Table(
        name, f"request round trip, 200 B echoed, {flight}, µs (medians of {rounds} interleaved runs of {COUNT:,})",
        ["way", "placement", *TIMES, "added p50", "added p99", "requests/s", "CPU µs/request"],
    )  # fmt: skip
    for (placement, way), reports in runs.items():
        mid, direct = middle(reports), middle(runs[placement, DIRECT])
        added = [f"{mid[key] - direct[key]:.1f}" for key in ("p50", "p99")] if way != DIRECT else ["–", "–"]
        cpu = f"{mid['cpu']:.1f}" if mid["cpu"] else "–"
        result.add(way, placement, *(f"{mid[key]:.1f}" for key in TIMES), *added, f"{mid['rate']:,.0f}", cpu)
    if inflight == 1:
        aim(result, runs, placements)
    placement = placements[0]
    direct, own = (middle(runs[placement, way]) for way in (DIRECT, Gatewayd.name))
    result.headline = f"p50/p99 {own['p50']:.0f}/{own['p99']:.0f} µs, C client {direct['p50']:.0f}/{direct['p99']:.0f} µs; CPU {own['cpu']:.1f} µs"
    return result


def p3(rounds):
    result = table("P3", rounds, 1, list(PLACEMENTS))
    if result:
        result.note("Added: to what the minimal client in C takes. The C courier is the least that any process between can add.")
        result.note("Node's client is not measured: it comes from npm, which the suite does not ask for.")
    return result


def p3_many(rounds):
    return table("P3-64", rounds, 64, ["any CPU"])
