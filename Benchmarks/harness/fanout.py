"""P1 and P2: one upstream event to many local subscribers, saturated."""

import contextlib
from statistics import median

from . import places
from .paired import RATIOS, SPREAD, Paired
from .peers import Gatewayd, Mosquitto, Nats, NotificationRelay, Redis, Relay, available
from .process import Program
from .table import Table

PAYLOAD = 200
# Events per run at 100 subscribers, chosen so that every run lasts a second or more.
EVENTS = {Relay: 150_000, NotificationRelay: 150_000, Gatewayd: 150_000, Redis: 40_000, Nats: 20_000, Mosquitto: 6_000}
# Runs of P1 in the life of a peer, each of a third of those events.
TURNS, PART = 6, 3


def usual_window(subscribers):
    """Events on their way at most, the same for every peer; fewer where so many subscribers would fill the memory."""
    return 1024 if subscribers <= 1000 else 128


@contextlib.contextmanager
def reading(peer, subscribers, events, rate=0, window=None, chunk=256 << 10):
    """A reader with all its clients subscribed, as a function: one run and its report. A chunk has to hold the largest line."""
    reader = Program(
        [places.program("reader"), "--protocol", peer.protocol, "--socket", peer.socket, "--url", peer.url,
         "--clients", subscribers, "--control", peer.control, "--events", events,
         "--window", window or usual_window(subscribers), "--rate", rate, "--chunk", chunk]
    )  # fmt: skip
    try:
        if reader.line() != "ready":
            raise RuntimeError("the reader is not ready")
        yield lambda: run(reader, peer)
    finally:
        reader.end()


def read(*arguments, **more):
    """One run of a reader of its own."""
    with reading(*arguments, **more) as once:
        return once()


def run(reader, peer):
    """One run of the reader; returns its report with the daemon's CPU added."""
    before = peer.daemon.cpu()
    reader.tell("go")
    report = reader.report()
    after = peer.daemon.cpu()
    if not report["complete"] or report["lost"] or (report["others"] and not peer.chats):
        print(f"  {peer.name}: incomplete run, not a fair one: {report}")
    deliveries = max(report["deliveries"], 1)
    report["rate"] = deliveries / report["seconds"]
    report["user_ns"] = (after[0] - before[0]) / deliveries * 1e9
    report["cpu_ns"] = report["user_ns"] + (after[1] - before[1]) / deliveries * 1e9
    report["reader_ns"] = (report["user"] + report["system"]) / deliveries * 1e9
    report["busy"] = (sum(after) - sum(before)) / report["seconds"]
    report["line"] = report["bytes"] / deliveries
    return report


def measure(kind, subscribers, events):
    """A fresh peer, warmed up, then one run."""
    with kind(PAYLOAD) as peer:
        read(peer, subscribers, max(events // 20, 128))
        return read(peer, subscribers, events)


def mid(runs, key):
    return median(run[key] for run in runs)


def one_life(kinds, turns, measure):
    """All peers at the same time, each with what measures it, and one after the other at work; the reports of each, in turns."""
    runs = {kind: [] for kind in kinds}
    with contextlib.ExitStack() as life:
        peers = {kind: life.enter_context(kind(PAYLOAD)) for kind in kinds}
        once = {kind: life.enter_context(measure(peer)) for kind, peer in peers.items()}
        for warm_up in once.values():
            warm_up()
        for turn in range(turns):
            for kind in kinds if turn % 2 else reversed(kinds):
                runs[kind].append(once[kind]())
    return runs


def p1(rounds):
    kinds = available([NotificationRelay, Relay, Gatewayd, Redis, Nats, Mosquitto])
    runs = {kind: [] for kind in kinds}
    for number in range(rounds):
        for kind, reports in one_life(kinds, TURNS, lambda peer: reading(peer, 100, EVENTS[type(peer)] // PART)).items():
            runs[kind] += reports
            print(f"  round {number + 1}: {kind.name}: {mid(reports, 'rate') / 1e6:.2f} M/s, {mid(reports, 'cpu_ns'):.0f} ns", flush=True)
    table = Table(
        "P1", f"fan-out to 100 subscribers, {PAYLOAD} B payload, saturated (medians of {rounds * TURNS} runs of each, in turns)",
        ["peer", "deliveries/s", "min … max", "CPU ns/delivery", "of it user", "cores busy", "line B", "gatewayd's rate ÷ its",
         "its CPU ÷ gatewayd's"],
    )  # fmt: skip
    own = runs.get(Gatewayd)
    ratios = {kind: Paired.ratio(own, reports, "rate") for kind, reports in runs.items()} if own else {}
    for kind, reports in runs.items():
        rates = sorted(run["rate"] for run in reports)
        table.add(
            kind.name, f"{mid(reports, 'rate') / 1e6:.2f} M", f"{rates[0] / 1e6:.2f} … {rates[-1] / 1e6:.2f} M",
            f"{mid(reports, 'cpu_ns'):.0f}", f"{mid(reports, 'user_ns'):.0f}", f"{mid(reports, 'busy'):.2f}",
            f"{mid(reports, 'line'):.0f}", "1.00" if kind is Gatewayd else ratios.get(kind, "–"),
            "1.00" if kind is Gatewayd else Paired.ratio(reports, own, "cpu_ns") if own else "–",
        )  # fmt: skip
    if own:
        shares = (f"{ratio.middle:.2f} of {kind.name}" for kind, ratio in ratios.items() if kind is not Gatewayd)
        table.headline = f"{mid(own, 'rate') / 1e6:.1f} M deliveries/s: " + ", ".join(shares)
        for kind, least in ((NotificationRelay, 0.8), (Mosquitto, 10), (Redis, 1)):
            if kind in ratios:
                table.target(f"rate ≥ {least} × that of {kind.name}", ratios[kind], ratios[kind].at_least(least))
        table.note(f"All peers are there at the same time, and work in turns. {RATIOS}")
        table.note(SPREAD)
    table.note(f"The reader, the same for all, used {mid(next(iter(runs.values())), 'reader_ns'):.0f} ns per delivery.")
    return table


def p2(rounds):
    kinds = available([NotificationRelay, Gatewayd, Redis, Nats, Mosquitto])
    table = Table(
        "P2", f"fan-out at other numbers of subscribers: deliveries/s and CPU ns per delivery (medians of {rounds} interleaved runs)",
        ["subscribers", *(f"{kind.name}: {what}" for kind in kinds for what in ("deliveries/s", "CPU ns"))],
    )  # fmt: skip
    found = {kind: {} for kind in kinds}
    for subscribers in (1, 10, 100, 1000, 10_000):
        runs = {kind: [] for kind in kinds}
        for _ in range(rounds):
            for kind in kinds:
                runs[kind].append(measure(kind, subscribers, min(EVENTS[kind] * 100 // subscribers, 1_000_000)))
        cells = []
        for reports in runs.values():
            cells += [f"{mid(reports, 'rate') / 1e6:.2f} M", f"{mid(reports, 'cpu_ns'):.0f}"]
        print(f"  {subscribers}: {cells}", flush=True)
        table.add(f"{subscribers:,}", *cells)
        for kind, reports in runs.items():
            found[kind][subscribers] = mid(reports, "cpu_ns")
    if Gatewayd in kinds:
        own, relay = found[Gatewayd], found[NotificationRelay]
        table.headline = "CPU ns per delivery: " + ", ".join(f"{ns:.0f} at {subscribers:,}" for subscribers, ns in own.items())
        for subscribers, ns in own.items():
            if subscribers != 100:
                share, its = ns / own[100], relay[subscribers] / relay[100]
                table.target(f"CPU per delivery at {subscribers:,} ≤ 2 × that at 100", f"{share:.1f} (the relay's {its:.1f})", share <= 2, rounds)
    table.note("Window 1,024 events, at 10,000 subscribers 128.")
    return table
