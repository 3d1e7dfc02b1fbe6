"""P6: messages that are on disk before they are answered. P9: the start with a full outbox."""

import contextlib
import json
import os
import socket
import time
from statistics import median

from . import places
from .paired import RATIOS, SPREAD, Paired
from .peers import Gatewayd, Redis, available
from .process import Program
from .table import Table

CLIENTS = {1: 3_000, 50: 30_000}
# So often in the life of a peer.
TURNS = 4
ENTRIES = 100_000
DOWN = "http://127.0.0.1:9"


class DurableRedis(Redis):
    """A stream whose every entry is synced before the answer."""

    name = "redis XADD, appendfsync always"
    # More of its settings.
    settings = ()

    def start(self):
        self.start_daemon(
            *(places.redis_server(), "--port", 0, "--unixsocket", self.socket, "--save", ""),
            *("--dir", self.folder.name, "--appendonly", "yes", "--appendfsync", "always", *self.settings),
        )


def save(peer, clients, count):
    saver = Program(
        [places.program("saver"), "--protocol", "redis" if peer.feed == "redis" else "gatewayd", "--socket", peer.socket,
         "--url", peer.url, "--clients", clients, "--count", count]
    )  # fmt: skip
    try:
        return saver.report()
    finally:
        saver.end()


def one_life(kinds):
    """All peers at the same time, and one after the other at work; the reports of each, in turns."""
    runs = {(clients, kind): [] for clients in CLIENTS for kind in kinds}
    with contextlib.ExitStack() as life:
        peers = {kind: life.enter_context(kind()) for kind in kinds}
        for turn in range(TURNS):
            for clients, kind in runs if turn % 2 else reversed(runs):
                runs[clients, kind].append(save(peers[kind], clients, CLIENTS[clients]))
    return runs


def rate(reports):
    return median(report["messages_per_second"] for report in reports)


def p6(rounds):
    kinds = available([Gatewayd, DurableRedis])
    runs = {(clients, kind): [] for clients in CLIENTS for kind in kinds}
    for number in range(rounds):
        for case, reports in one_life(kinds).items():
            runs[case] += reports
        shown = ", ".join(f"{kind.name} ({clients}) {rate(reports):,.0f}" for (clients, kind), reports in runs.items())
        print(f"  round {number + 1}, messages/s: {shown}", flush=True)
    table = Table(
        "P6", f"durable messages, 200 B, answered when synced (medians of {rounds * TURNS} runs of each, in turns)",
        ["peer", "clients", "messages/s", "p50 µs", "p99 µs", "gatewayd's rate ÷ its"],
    )  # fmt: skip
    ratios = {}
    for (clients, kind), reports in runs.items():
        if kind is not Gatewayd and Gatewayd in kinds:
            ratios[clients, kind] = Paired.ratio(runs[clients, Gatewayd], reports, "messages_per_second")
    for (clients, kind), reports in runs.items():
        times = [median(report["times"][key] for report in reports) for key in ("p50", "p99")]
        share = ratios.get((clients, kind), "1.00" if kind is Gatewayd else "–")
        table.add(kind.name, str(clients), f"{rate(reports):,.0f}", *(f"{one:,.0f}" for one in times), share)
    if len(kinds) == 2:
        table.headline = ", ".join(
            f"{rate(runs[clients, Gatewayd]):,.0f}/s with {clients} ({share.middle:.2f} of redis)" for (clients, _), share in ratios.items()
        )
        for (clients, _), share in ratios.items():
            table.target(f"≥ redis with {clients}", share, share.at_least(1))
        table.note(RATIOS)
        table.note(SPREAD)
    table.note("gatewayd also sends each message to its upstream and notes that on the disk.")
    return table


def fill(peer, count):
    """Durable sends to an upstream that is down."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(peer.socket)
        lines = client.makefile("rb")
        for first in range(0, count, 200):
            batch = [
                json.dumps({"jsonrpc": "2.0", "id": number, "method": "send", "params": {
                    "url": DOWN, "event": "save", "delivery": "durable", "args": ["x" * 100]}}) + "\n"
                for number in range(first, first + 200)
            ]  # fmt: skip
            client.sendall("".join(batch).encode())
            for _ in batch:
                line = lines.readline()
                if b'"durable"' not in line:
                    raise RuntimeError(f"refused: {line}")


def start_time(peer):
    """Seconds from the start of the program to READY, and to its end the same peer runs."""
    path = peer.path("notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.bind(path)
        notify.settimeout(60)
        began = time.monotonic()
        peer.start_daemon(
            places.gatewayd(), "--config", peer.path("gatewayd.toml"),
            env={"STATE_DIRECTORY": peer.path("state"), "NOTIFY_SOCKET": path},
        )  # fmt: skip
        while b"READY=1" not in notify.recv(4096):
            pass
        taken = time.monotonic() - began
    os.unlink(path)
    return taken


class FilledGatewayd(Gatewayd):
    """Nothing upstream, room for everything in the outbox."""

    def start(self):
        self.write(
            "gatewayd.toml", f'[socket]\npath = "{self.socket}"\n[log]\nlevel = "error"\n'
            '[outbox]\nentries = 1000000\nbytes = "1GiB"\ntotal_entries = 2000000\ntotal_bytes = "2GiB"\n')  # fmt: skip
        start_time(self)


def p9(rounds):
    if not available([Gatewayd]):
        return None
    table = Table("P9", f"start to READY, ms (medians of {rounds} starts)", ["sends in the outbox", "ms", "RSS MiB"])
    for count in (0, ENTRIES):
        with FilledGatewayd() as peer:
            fill(peer, count)
            found = []
            for _ in range(rounds):
                peer.daemon.end()
                found.append(start_time(peer))
            table.add(f"{count:,}", f"{median(found) * 1000:,.0f}", f"{peer.daemon.memory()['Rss'] / 1024:,.0f}")
            table.headline = f"{table.rows[-1][1]} ms with {count:,}"
    table.target(f"≤ 1,000 ms with {ENTRIES:,}", table.rows[-1][1], median(found) <= 1, rounds)
    return table
