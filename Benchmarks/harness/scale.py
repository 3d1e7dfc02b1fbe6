"""SCALE: what one more subscriber, link, namespace or glob costs when there are many."""

import subprocess
import sys
from statistics import median

from . import places
from .arguments import at_most
from .local import Local
from .memory import settled
from .peers import Gatewayd, available
from .process import Program
from .table import Table

PER_CLIENT = 100
MOST_ROUNDS = 3


class ScaledGatewayd(Gatewayd):
    """With an upstream that can do more than blast, and room for everything."""

    settings = (
        "connections = 20000\nattempts = 100000\nattempts_burst = 100000\nsubscriptions = 20000\n"
        '[defaults]\nhistory.events = 0\nhandshake = "60s"\n'
    )
    scheme = "http"

    def start_blaster(self, *more):
        self.blaster = Program([sys.executable, places.harness("upstream.py"), *self.certificate()])
        return self.blaster.line()

    def start(self):
        super().start()
        self.url = self.url.replace("http:", self.scheme + ":")

    def certificate(self):
        return []


class SecureGatewayd(ScaledGatewayd):
    """The same over TLS, with a certificate of its own."""

    scheme = "https"

    @property
    def settings(self):
        return ScaledGatewayd.settings + f'tls.ca = "{self.path("cert.pem")}"\n'

    def certificate(self):
        paths = [self.path("cert.pem"), self.path("key.pem")]
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
             "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-out", paths[0], "-keyout", paths[1]],
            check=True, capture_output=True,
        )  # fmt: skip
        return paths


class Scaled:
    """One set-up of a size: what it takes to make it, what it keeps, and what an event costs in it."""

    kind = ScaledGatewayd

    def __init__(self, size):
        self.size = size

    def measure(self):
        with self.kind() as peer:
            warm = Local(peer.socket)
            self.warm_up(peer, warm)
            base, cpu = settled(peer.daemon)["Rss"], peer.daemon.cpu_time()
            clients = self.make(peer)
            made = peer.daemon.cpu_time() - cpu
            memory = settled(peer.daemon)["Rss"] - base
            event = self.events(peer, clients)
            for client in [warm, *clients]:
                client.close()
        return {"made": made / self.size * 1e6, "memory": memory / self.size, "event": event}

    def warm_up(self, peer, client):
        client.call("wait", {"url": peer.url + "/warm", "state": "connected", "timeout": 10000})

    def emit(self, peer, clients, count, deliveries, prefix="e", namespace=""):
        """The daemon's CPU in µs for each of the events."""
        before = peer.daemon.cpu_time()
        peer.blaster.tell(f"emit {count} {prefix} {namespace}")
        for client, awaited in zip(clients, deliveries):
            client.events(awaited)
        return (peer.daemon.cpu_time() - before) / count * 1e6


def spread(peer, params):
    """Subscribes with as many clients as it takes for a hundred subscriptions each."""
    clients = []
    for first in range(0, len(params), PER_CLIENT):
        clients.append(Local(peer.socket))
        clients[-1].calls("subscribe", params[first : first + PER_CLIENT])
    return clients


def connect(client, urls):
    client.calls("wait", [{"url": url, "state": "connected", "timeout": 60000} for url in urls])


class Subscribers(Scaled):
    name = "local subscribers of one event"
    sizes = (100, 1_000, 10_000)
    unit = "delivery"

    def make(self, peer):
        return spread(peer, [{"url": peer.url, "subscription": f"s{n}"} for n in range(self.size)])

    def events(self, peer, clients):
        connect(clients[0], [peer.url])
        count = max(200_000 // self.size, 20)
        per_client = min(PER_CLIENT, self.size)
        return self.emit(peer, clients, count, [count * per_client] * len(clients)) / self.size


class Links(Scaled):
    name = "upstream connections, one link each"
    sizes = (10, 100, 1_000)
    unit = "event of one link"

    def make(self, peer):
        self.urls = [f"{peer.url}/?n={n}" for n in range(self.size)]
        clients = spread(peer, [{"url": url} for url in self.urls])
        connect(clients[0], self.urls)
        return clients

    def events(self, peer, clients):
        count = 100
        return self.emit(peer, clients, count, [count * min(PER_CLIENT, self.size)] * len(clients)) / self.size


class SecureLinks(Links):
    kind = SecureGatewayd
    name = "the same over TLS"


class QuietSecureLinks(SecureLinks):
    """Each event comes alone, and the daemon has read all others before."""

    name = "the same over TLS, one event at a time"

    def events(self, peer, clients):
        count = max(2_000 // self.size, 10)
        deliveries = [min(PER_CLIENT, self.size)] * len(clients)
        self.emit(peer, clients, 1, deliveries)
        return sum(self.emit(peer, clients, 1, deliveries) for _ in range(count)) / count / self.size


class Namespaces(Scaled):
    name = "namespaces of one link"
    sizes = (10, 100, 1_000)
    unit = "event of the last one"

    def make(self, peer):
        self.urls = [f"{peer.url}/n{n}" for n in range(self.size)]
        clients = spread(peer, [{"url": url} for url in self.urls])
        connect(clients[0], self.urls)
        return clients

    def events(self, peer, clients):
        return self.emit(peer, clients[-1:], 5_000, [5_000], namespace=f"/n{self.size - 1}")


class Globs(Scaled):
    """Most match nothing; one of them gets all events. A user has at most 1,024 on a connection."""

    sizes = (10, 100, 1_000)
    name = "globs, events of ever new names"
    unit = "event"
    prefix = "e"

    def make(self, peer):
        per_subscription = min(100, self.size)
        params = [
            {"url": peer.url, "subscription": f"s{first}", "events": [f"room{first + n}.*" for n in range(per_subscription)]}
            for first in range(0, self.size, per_subscription)
        ]
        clients = spread(peer, params)
        clients[-1].call("subscribe", {"url": peer.url, "subscription": "all", "events": [f"{self.prefix}*"]})
        connect(clients[-1], [peer.url])
        return clients

    def events(self, peer, clients):
        return self.emit(peer, clients[-1:], 300, [300], prefix=self.prefix)


KINDS = [Subscribers, Links, SecureLinks, QuietSecureLinks, Namespaces, Globs]


def scale(rounds):
    if not available([ScaledGatewayd]):
        return None
    rounds = at_most(MOST_ROUNDS, rounds)
    table = Table(
        "SCALE", f"what one more costs (medians of {rounds} runs)",
        ["of what", "how many", "CPU µs to make one", "KiB for each", "CPU µs", "for each", "times that of the fewest"],
    )  # fmt: skip
    for kind in KINDS:
        first = None
        for size in kind.sizes:
            runs = [kind(size).measure() for _ in range(rounds)]
            made, memory, event = (median(run[key] for run in runs) for key in ("made", "memory", "event"))
            first = first or event
            table.add(
                kind.name, f"{size:,}", f"{made:,.1f}", f"{memory:,.2f}", f"{event:,.2f}", kind.unit, f"{event / first:.2f}"
            )
            print(f"  {table.rows[-1]}", flush=True)
    most = max(table.rows, key=lambda row: float(row[-1]))
    table.headline = f"at most {most[-1]} × the CPU per event of the fewest ({most[1]} {most[0]})"
    table.target("≤ 2 × the CPU per event of the fewest, 100 times as many", f"at most {most[-1]}", float(most[-1]) <= 2, rounds)
    table.note("Each line is a fresh daemon. What grows from line to line within a group is not linear.")
    return table
