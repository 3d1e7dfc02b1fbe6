"""P8: what a daemon does when nothing happens."""

import time
from statistics import median

from . import places
from .arguments import at_most
from .peers import Gatewayd, Mosquitto, Redis, available
from .process import Program
from .table import Table

CLIENTS = 1_000
UPSTREAMS = 10
# Between two heartbeats of an upstream, and between two ticks of the daemon's keeper, in seconds.
HEARTBEAT, TICK = 25, 30
# Two heartbeats of each upstream.
SECONDS = 2 * HEARTBEAT
MOST_ROUNDS = 3


class IdleGatewayd(Gatewayd):
    """Ten upstreams, each in use by a tenth of the clients."""

    def start(self):
        super().start()
        self.others = []
        for number in range(1, UPSTREAMS):
            blaster = Program([places.program("blaster"), "--control", self.path(f"control{number}"), "--format", "socketio"])
            self.others.append(blaster)
        self.urls = [self.url] + [f"http://127.0.0.1:{blaster.line()}" for blaster in self.others]

    def __exit__(self, *_):
        for blaster in getattr(self, "others", []):
            blaster.end()
        super().__exit__()


def with_clients(peer):
    """Readers whose clients sit there with a subscription each."""
    urls = getattr(peer, "urls", [peer.url])
    readers = [
        Program(
            [places.program("reader"), "--protocol", peer.protocol, "--socket", peer.socket, "--url", url,
             "--clients", CLIENTS // len(urls)]
        )
        for url in urls
    ]  # fmt: skip
    for reader in readers:
        reader.line(60)
    return readers


def one_round(kinds):
    """All at the same time: they have nothing to do."""
    peers = [kind() for kind in kinds]
    readers = []
    try:
        for peer in peers:
            peer.__enter__()
            readers += with_clients(peer)
        # What follows an opening once is over then: the first measurement of the round trip, and that the link is stable.
        time.sleep(12)
        before = [(peer.daemon.cpu_time(), peer.daemon.wake_ups()) for peer in peers]
        time.sleep(SECONDS)
        after = [(peer.daemon.cpu_time(), peer.daemon.wake_ups()) for peer in peers]
    finally:
        for reader in readers:
            reader.end()
        for peer in peers:
            if peer.daemon:
                peer.__exit__()
    return {kind: [b - a for a, b in zip(*pair)] for kind, pair in zip(kinds, zip(before, after))}


def p8(rounds):
    kinds = available([IdleGatewayd, Redis, Mosquitto])
    if IdleGatewayd not in kinds:
        return None
    runs = [one_round(kinds) for _ in range(at_most(MOST_ROUNDS, rounds))]
    table = Table(
        "P8", f"nothing happens: {CLIENTS:,} local clients, {UPSTREAMS} upstreams, {SECONDS} s (medians of {len(runs)} runs)",
        ["peer", "wake-ups per minute", "CPU %", "CPU ms per minute"],
    )  # fmt: skip
    for kind in kinds:
        cpu, wake_ups = (median(run[kind][index] for run in runs) for index in (0, 1))
        table.add(
            kind.name, f"{wake_ups / SECONDS * 60:.0f}", f"{cpu / SECONDS * 100:.3f}", f"{cpu / SECONDS * 60_000:.2f}"
        )
    table.headline = ", ".join(f"{row[0]} {row[1]} wake-ups a minute, {row[2]} %" for row in table.rows)
    cpu, wake_ups = (median(run[IdleGatewayd][index] for run in runs) for index in (0, 1))
    most = 2 * SECONDS // HEARTBEAT * UPSTREAMS + -(-SECONDS // TICK)
    table.target(f"no wake-up but heartbeats and the keeper's tick, at most {most} in {SECONDS} s", f"{wake_ups:.0f}", wake_ups <= most, len(runs))
    table.target("0.0 % CPU", f"{cpu / SECONDS * 100:.3f}", cpu / SECONDS < 0.0005, len(runs))
    table.note(f"A heartbeat comes every {HEARTBEAT} s from each of the {UPSTREAMS} upstreams of gatewayd, and the answer to the ping that "
               "measures the round trip follows it; the others have none.")  # fmt: skip
    return table
