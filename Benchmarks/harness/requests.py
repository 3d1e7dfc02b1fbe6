"""P3: the round trip of a request."""

from statistics import median

from . import places
from .paired import SPREAD, Paired
from .peers import Courier, Gatewayd, available
from .placement import PLACEMENTS
from .process import Program
from .table import Table

COUNT = 20_000
WARM_UP = 1_000
# Runs of each way in the life of a daemon, and the requests of each run, by how many are in flight.
TURNS = 4
COUNTS = {1: 5_000, 64: 40_000}
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


def ping(*arguments, count=COUNT, warm_up=WARM_UP):
    pinger = Program([places.program("pinger"), "--count", count, "--warm-up", warm_up, *arguments])
    try:
        return pinger.report()
    finally:
        pinger.end()


def direct(peer, inflight, count):
    """One run of the minimal client, straight to the server."""
    return ping("--direct", peer.url.rsplit(":", 1)[1], "--inflight", inflight, count=count)


def python_direct(peer, inflight, count):
    """One run of the server's own client in Python, one request at a time."""
    client = Program([places.python(), "-c", CLIENT, peer.url, count // 5, count // 20])
    try:
        return client.report()
    finally:
        client.end()


def through(peer, inflight, count):
    """One run through a peer; the report with the peer's CPU per request, in µs, added."""
    before = peer.daemon.cpu_time()
    report = ping("--socket", peer.socket, "--url", peer.url, "--inflight", inflight, count=count)
    return {**report, "cpu": (peer.daemon.cpu_time() - before) / (count + WARM_UP) * 1e6}


def one_life(inflight):
    """The reports of each way, in turns: straight to the server, and through each process that can stand between."""
    with Gatewayd() as gateway, Courier() as courier:
        ways = {DIRECT: (direct, gateway), Gatewayd.name: (through, gateway), Courier.name: (through, courier)}
        if inflight == 1 and places.python():
            ways[PYTHON] = (python_direct, gateway)
        found = {way: [] for way in ways}
        for turn in range(TURNS):
            for way in ways if turn % 2 else reversed(ways):
                run, peer = ways[way]
                report = run(peer, inflight, COUNTS[inflight])
                found[way].append({**report["times"], "rate": report["requests_per_second"], "cpu": report.get("cpu")})
    return found


def table(name, rounds, inflight, placements):
    """The table, and the reports by placement and way."""
    runs = {}
    for number in range(rounds):
        for placement in placements:
            with PLACEMENTS[placement]():
                for way, reports in one_life(inflight).items():
                    runs.setdefault((placement, way), []).extend(reports)
        shown = ", ".join(f"{way} ({placement}) {mid(reports, 'p50'):.1f}" for (placement, way), reports in runs.items())
        print(f"  round {number + 1}, p50 in µs: {shown}", flush=True)
    flight = "one at a time" if inflight == 1 else f"{inflight} in flight"
    result = Table(
        name, f"request round trip, 200 B echoed, {flight}, µs (medians of {rounds * TURNS} runs of {COUNTS[inflight]:,}, in turns)",
        ["way", "placement", *TIMES, "added p50", "added p99", "requests/s", "CPU µs/request"],
    )  # fmt: skip
    for (placement, way), reports in runs.items():
        added = [Paired.difference(reports, runs[placement, DIRECT], key) if way != DIRECT else "–" for key in ("p50", "p99")]
        cpu = f"{mid(reports, 'cpu'):.1f}" if reports[0]["cpu"] else "–"
        result.add(way, placement, *(f"{mid(reports, key):.1f}" for key in TIMES), *added, f"{mid(reports, 'rate'):,.0f}", cpu)
    straight, own = (runs[placements[0], way] for way in (DIRECT, Gatewayd.name))
    result.headline = (
        f"p50/p99 {mid(own, 'p50'):.0f}/{mid(own, 'p99'):.0f} µs, C client {mid(straight, 'p50'):.0f}/{mid(straight, 'p99'):.0f} µs; "
        f"CPU {mid(own, 'cpu'):.1f} µs"
    )
    result.note(SPREAD)
    return result, runs


def mid(reports, key):
    return median(report[key] for report in reports)


def p3(rounds):
    if not available([Gatewayd]):
        return None
    result, runs = table("P3", rounds, 1, list(PLACEMENTS))
    for placement in PLACEMENTS:
        own = runs[placement, Gatewayd.name]
        for key, most in (("p50", 40), ("p99", 150)):
            added = Paired.difference(own, runs[placement, DIRECT], key)
            result.target(f"added {key} ≤ {most} µs ({placement})", added, added.at_most(most))
        if (placement, PYTHON) in runs:
            ratio = Paired.ratio(own, runs[placement, PYTHON], "p50")
            result.target(f"faster than python-socketio's client, direct ({placement})", f"{ratio} of its p50", ratio.at_most(1))
    result.note("Added: to what the minimal C client takes, in runs that follow each other. The C courier is the least that any process between can add.")
    result.note("Node's client is not measured: it comes from npm, which the suite does not ask for.")
    return result


def p3_many(rounds):
    return table("P3-64", rounds, 64, ["any CPU"])[0] if available([Gatewayd]) else None
