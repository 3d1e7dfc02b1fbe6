"""P5: resident memory: base, per idle local client, per subscription, per upstream over TLS."""

import time
from statistics import median

from . import places
from .peers import Gatewayd, Mosquitto, Nats, Redis, Relay, available
from .process import Program
from .table import Table

CLIENTS = 10_000
UPSTREAMS = 100


def settled(program):
    """The memory once it does not change any more."""
    last = program.memory()
    for _ in range(20):
        time.sleep(0.1)
        now = program.memory()
        if now == last:
            break
        last = now
    return last


def with_clients(kind, clients, subscriptions):
    """Memory of a fresh peer before and with so many clients."""
    with kind() as peer:
        base = settled(peer.daemon)
        reader = Program(
            [places.program("reader"), "--protocol", peer.protocol, "--socket", peer.socket, "--url", peer.url,
             "--clients", clients, "--subscriptions", subscriptions]
        )  # fmt: skip
        try:
            if reader.line(120) != "ready":
                raise RuntimeError("the reader is not ready")
            return base, settled(peer.daemon)
        finally:
            reader.end()


def one_round(kind):
    base, idle = with_clients(kind, CLIENTS, 0)
    _, subscribed = with_clients(kind, CLIENTS, 1)
    found = {"base": base["Rss"], "base_pss": base["Pss"], "base_anonymous": base["Anonymous"]}
    found["client"] = (idle["Rss"] - base["Rss"]) / CLIENTS
    found["subscriber"] = (subscribed["Rss"] - base["Rss"]) / CLIENTS
    found["subscription"] = found["subscriber"] - found["client"]
    found["total"] = idle["Rss"]
    return found


def per_upstream():
    """What an upstream connection keeps, without and with TLS; only gatewayd has any."""
    from .scale import Links, SecureLinks

    return [kind(UPSTREAMS).measure()["memory"] for kind in (Links, SecureLinks)]


def p5(rounds):
    kinds = available([Gatewayd, Redis, Nats, Mosquitto, Relay])
    runs = {kind: [] for kind in kinds}
    for _ in range(rounds):
        for kind in kinds:
            runs[kind].append(one_round(kind))
            print(f"  {kind.name}: {runs[kind][-1]}", flush=True)
    table = Table(
        "P5", f"memory, KiB resident (medians of {rounds} interleaved runs, {CLIENTS:,} clients)",
        ["peer", "base RSS", "base PSS", "base anonymous", "per idle client", "per client with a subscription",
         "per subscription", f"RSS with {CLIENTS:,} idle clients", "per ws upstream", "per wss upstream"],
    )  # fmt: skip
    upstreams = [f"{median(each):.0f}" for each in zip(*(per_upstream() for _ in range(rounds)))] if Gatewayd in kinds else []
    for kind, reports in runs.items():
        mid = {key: median(run[key] for run in reports) for key in reports[0]}
        table.add(
            kind.name, *(f"{mid[key]:,.0f}" for key in ("base", "base_pss", "base_anonymous")),
            *(f"{mid[key]:.2f}" for key in ("client", "subscriber", "subscription")), f"{mid['total']:,.0f}",
            *(upstreams if kind is Gatewayd else ["–", "–"]),
        )  # fmt: skip
    if Gatewayd in kinds:
        own = runs[Gatewayd]
        base, client = (median(run[key] for run in own) for key in ("base", "client"))
        table.headline = f"base {base / 1024:.1f} MiB, {client:.2f} KiB per idle client, {upstreams[1]} KiB per wss upstream"
        table.target("base ≤ 13 MiB", f"{base / 1024:.1f}", base <= 13 * 1024, rounds)
        table.target("≤ 1 KiB per idle client", f"{client:.2f}", client <= 1, rounds)
        table.target("≤ 90 KiB per wss upstream, its subscription included", upstreams[1], float(upstreams[1]) <= 90, rounds)
    return table
