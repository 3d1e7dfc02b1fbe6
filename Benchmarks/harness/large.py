"""P11: events of a megabyte to many subscribers."""

from . import fanout
from .memory import settled
from .peers import Gatewayd, Mosquitto, NotificationRelay, Redis, available
from .table import Table

SUBSCRIBERS = 100
PAYLOAD = 1_000_000
EVENTS = 40


class WithoutHistory(Gatewayd):
    """Nothing is kept for later subscribers."""

    name = "gatewayd without history"
    settings = "[defaults]\nhistory.events = 0\n"


def measure(kind):
    with kind(PAYLOAD) as peer:
        base = settled(peer.daemon)["Rss"]
        fanout.read(peer, SUBSCRIBERS, 4, window=1, chunk=4 << 20)
        peer.daemon.forget_peak()
        report = fanout.read(peer, SUBSCRIBERS, EVENTS, window=1, chunk=4 << 20)
        report["peak"] = (peer.daemon.peak() - base) * 1024 / PAYLOAD
        return report


def p11(rounds):
    kinds = available([NotificationRelay, Gatewayd, WithoutHistory, Redis, Mosquitto])
    runs = {kind: [] for kind in kinds}
    for number in range(rounds):
        for kind in kinds:
            runs[kind].append(measure(kind))
            last = runs[kind][-1]
            print(f"  round {number + 1}: {kind.name}: {last['rate']:.0f}/s, peak {last['peak']:.1f} payloads", flush=True)
    table = Table(
        "P11", f"events of 1 MB to {SUBSCRIBERS} subscribers, one at a time (medians of {rounds} interleaved runs)",
        ["peer", "deliveries/s", "GB/s", "CPU µs/delivery", "of it user", "peak memory above the base, in payloads"],
    )  # fmt: skip
    for kind, reports in runs.items():
        rate, cpu, user, peak = (fanout.mid(reports, key) for key in ("rate", "cpu_ns", "user_ns", "peak"))
        table.add(
            kind.name, f"{rate:,.0f}", f"{rate * PAYLOAD / 1e9:.2f}", f"{cpu / 1000:,.0f}", f"{user / 1000:,.0f}", f"{peak:.1f}"
        )
    table.note("To reach: one encoding; peak memory ≤ 3 × the payload and the sockets' own buffers, which are the kernel's.")
    table.note("The history keeps 4 MiB of each connection's last events unless it is configured otherwise.")
    return table
