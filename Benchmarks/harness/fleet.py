"""F1 to F6: what a fleet costs beside a link of one's own, and how long another host takes to hold it."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from statistics import median

from . import places
from .durable import CLIENTS, one_life as durable_life, rate
from .fanout import one_life, reading
from .latency import EVENTS, RATE, TIMES
from .latency import mid as times_of
from .paired import RATIOS, SPREAD, Paired
from .peers import Gatewayd, available, free_port
from .process import Program, wait_for_socket
from .requests import COUNTS, through
from .table import Table

UPSTREAM = "chat"
# Of what the hosts have in Redis.
KEYS = f"gw:bench:{{{UPSTREAM}}}:"
# Windows in the life of a fleet.
TURNS = 4
SATURATED = 40_000
TAKEOVERS = 10


class Host:
    """One daemon of a fleet."""

    def __init__(self, peer, number, hold):
        self.command = peer.command(number)
        self.socket, self.number = peer.path(f"h{number}.sock"), number
        folder = peer.path(f"h{number}")
        os.makedirs(folder, exist_ok=True)
        scheme, trust = ("rediss", f'tls = {{ ca = "{peer.path("ca.pem")}" }}\n') if peer.tls else ("redis", "")
        self.configuration = peer.write(
            f"h{number}.toml",
            f'[socket]\npath = "{self.socket}"\n[log]\nlevel = "error"\n'
            f'[fleet]\nname = "bench"\nredis = ["{scheme}://127.0.0.1:{peer.port_of_redis}"]\nhost = "h{number}"\nhold = "{hold}"\n{trust}{peer.lines}'
            f'[upstream.{UPSTREAM}]\nurl = "{peer.server}"\nfleet = true\nkeep = "{peer.keep(number)}"\n',
        )
        self.environment = {"STATE_DIRECTORY": folder, "RUNTIME_DIRECTORY": folder}
        self.log = peer.log
        self.start()

    def start(self):
        self.program = Program([*self.command, "--config", self.configuration], env=self.environment, log=self.log)
        wait_for_socket(self.socket, self.program)

    @contextlib.contextmanager
    def watch(self):
        """The states of the upstream from now on, as they are told, each with its instant."""
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(self.socket)
            client.settimeout(60)
            lines = client.makefile("rwb")
            lines.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "subscribe", "params": {"upstream": UPSTREAM, "events": ["no such"], "state": True}}).encode() + b"\n")
            lines.flush()

            def states():
                while True:
                    line = json.loads(lines.readline())
                    if line.get("method") == "state":
                        yield time.monotonic(), line["params"]["state"]
                    elif "result" in line:
                        yield time.monotonic(), line["result"].get("state")

            yield states()

    def until_connected(self):
        with self.watch() as states:
            for _, state in states:
                if state == "connected":
                    return


class Fleet(Gatewayd):
    """A holder, a number of hosts that follow it, and their Redis. What is measured is the last of these."""

    name = "a fleet of 2 hosts"
    followers = 1
    tls = False
    # Of the [fleet] of every host.
    lines = ""
    redis_options = ()

    def start(self):
        self.hosts = []
        self.server = f"http://127.0.0.1:{self.start_blaster()}"
        self.start_redis()
        for number in range(self.followers + 1):
            self.hosts.append(Host(self, number, self.hold(number)))
        for host in self.hosts:
            if self.keep(host.number) == "always":
                host.until_connected()
        self.daemon, self.socket, self.url = self.hosts[-1].program, self.hosts[-1].socket, UPSTREAM

    def hold(self, number):
        return "may" if number == 0 else "never"

    def keep(self, number):
        return "always"

    def command(self, number):
        return [places.gatewayd()]

    def ask_redis(self, *words):
        done = subprocess.run(
            [places.found("redis-cli"), "-e", "-p", str(self.port_of_redis), *map(str, words)], capture_output=True, text=True, check=True
        )
        return done.stdout.rstrip("\n")

    def start_redis(self):
        self.port_of_redis = free_port()
        options = ["--port", self.port_of_redis]
        if self.tls:
            self.make_certificate()
            options = ["--port", 0, "--tls-port", self.port_of_redis, "--tls-cert-file", self.path("ca.pem"), "--tls-key-file",
                       self.path("key.pem"), "--tls-ca-cert-file", self.path("ca.pem"), "--tls-auth-clients", "no"]  # fmt: skip
        self.redis = Program(
            [places.redis_server(), "--bind", "127.0.0.1", "--save", "", "--dir", self.folder.name, *self.redis_options, *options], log=self.log
        )
        wait_for_socket(str(self.port_of_redis), self.redis)

    def make_certificate(self):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
             "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", self.path("key.pem"),
             "-out", self.path("ca.pem")], check=True, capture_output=True)  # fmt: skip

    def __exit__(self, *rest):
        for host in getattr(self, "hosts", []):
            host.program.end()
        self.daemon = None
        if hasattr(self, "redis"):
            self.redis.end()
        super().__exit__(*rest)

    @classmethod
    def missing(cls):
        programs = {"redis-server": places.redis_server(), "redis-cli": places.found("redis-cli")}
        gone = next((name for name, path in programs.items() if not path), None)
        return super().missing() or (f"{gone} is not installed; see --install" if gone else None)


class LargeFleet(Fleet):
    name = "a fleet of 11 hosts"
    followers = 10


class FleetOverTLS(Fleet):
    name = "a fleet of 2 hosts, Redis over TLS"
    tls = True


class WithoutFiles(Fleet):
    """Durable sends are in Redis, and in no file."""

    name = "a fleet of 2 hosts, durable = fleet"
    lines = 'durable = "fleet"\n'


class Alone(Gatewayd):
    name = "a link of its own"


def in_turns(kinds, measure, rounds, shown):
    kinds = available(kinds)
    runs = {kind: [] for kind in kinds}
    for number in range(rounds):
        for kind, reports in one_life(kinds, TURNS, measure).items():
            runs[kind] += reports
        print(f"  round {number + 1}: " + ", ".join(f"{kind.name} {shown(reports)}" for kind, reports in runs.items()), flush=True)
    return runs if Fleet in kinds else None


def latencies(peer):
    @contextlib.contextmanager
    def once():
        with reading(peer, 1, EVENTS, rate=RATE) as run:
            yield lambda: run()["latency"]

    return once()


def f1(rounds):
    kinds = [Alone, Fleet, FleetOverTLS, LargeFleet]
    runs = in_turns(kinds, latencies, rounds, lambda reports: f"{times_of(reports, 'p50')} µs")
    if not runs:
        return None
    table = Table(
        "F1", f"one-way latency of an event to a host that follows, {RATE:,} events/s, µs "
        f"(medians of {rounds * TURNS} windows of {EVENTS} events for each, in turns)", ["", *TIMES, "p50 more than a link of its own"])  # fmt: skip
    for kind, reports in runs.items():
        more = Paired.difference(reports, runs[Alone], "p50")
        table.add(kind.name, *(times_of(reports, key) for key in TIMES), "–" if kind is Alone else more)
        if kind in (Fleet, LargeFleet):
            limit = 100 if kind is Fleet else 300
            table.target(f"{kind.name}: ≤ {limit} µs more", f"{more} µs", more.at_most(limit))
    table.headline = ", ".join(f"{kind.name} {times_of(reports, 'p50')} µs" for kind, reports in runs.items())
    table.note(SPREAD)
    return table


def saturated(peer):
    return reading(peer, 1, SATURATED)


def f2(rounds):
    runs = in_turns([Alone, Fleet, FleetOverTLS, LargeFleet], saturated, rounds, lambda reports: f"{median(one['rate'] for one in reports):,.0f}/s")
    if not runs:
        return None
    table = Table(
        "F2", f"events/s to a host that follows, saturated (medians of {rounds * TURNS} runs of {SATURATED:,} events, in turns)",
        ["", "events/s", "its CPU per event, ns", "÷ a link of its own"])  # fmt: skip
    for kind, reports in runs.items():
        share = "1.00" if kind is Alone else Paired.ratio(reports, runs[Alone], "rate")
        table.add(kind.name, f"{median(one['rate'] for one in reports):,.0f}", f"{median(one['cpu_ns'] for one in reports):,.0f}", share)
    tls = Paired.ratio(runs[FleetOverTLS], runs[Fleet], "rate")
    table.headline = f"{median(one['rate'] for one in runs[Fleet]):,.0f}/s with 2 hosts, {median(one['rate'] for one in runs[LargeFleet]):,.0f}/s with 11; TLS {tls} of that"
    table.note(f"F6: over TLS {tls} of the rate without.")
    table.note("All hosts of a fleet read every event, on the two cores of one machine; a window of 1,024 events is under way at most.")
    table.note(RATIOS)
    table.note(SPREAD)
    return table


@contextlib.contextmanager
def asking(peer):
    yield lambda: (lambda report: {**report, **report["times"]})(through(peer, 1, COUNTS[1]))


def f3(rounds):
    runs = in_turns([Alone, Fleet], asking, rounds, lambda reports: f"{times_of(reports, 'p50')} µs")
    if not runs:
        return None
    table = Table("F3", f"round trip of a request, one at a time, µs (medians of {rounds * TURNS} runs of {COUNTS[1]:,}, in turns)", ["", *TIMES])
    for kind, reports in runs.items():
        table.add(kind.name, *(times_of(reports, key) for key in TIMES))
    more = Paired.difference(runs[Fleet], runs[Alone], "p50")
    table.headline = f"{times_of(runs[Fleet], 'p50')} µs, {more} more than with a link of its own"
    table.target("p50 ≤ 500 µs more than with a link of its own", f"{more} µs", more.at_most(500))
    table.note(SPREAD)
    return table


def f4(rounds):
    kinds = available([Alone, Fleet, WithoutFiles])
    if Fleet not in kinds:
        return None
    runs = {(clients, kind): [] for clients in CLIENTS for kind in kinds}
    for number in range(rounds):
        for case, reports in durable_life(kinds).items():
            runs[case] += reports
        print(f"  round {number + 1}: " + ", ".join(f"{kind.name} ({clients}) {rate(reports):,.0f}/s" for (clients, kind), reports in runs.items()), flush=True)
    table = Table(
        "F4", f"durable sends, answered when the disk of their host has them, or Redis (medians of {rounds * TURNS} runs, in turns)",
        ["", "clients", "messages/s", "p50 µs", "÷ a link of its own"])  # fmt: skip
    for (clients, kind), reports in runs.items():
        share = "1.00" if kind is Alone else Paired.ratio(reports, runs[clients, Alone], "messages_per_second")
        table.add(kind.name, str(clients), f"{rate(reports):,.0f}", f"{median(report['times']['p50'] for report in reports):,.0f}", share)
    table.headline = ", ".join(f"{rate(runs[clients, Fleet]):,.0f}/s with {clients}" for clients in CLIENTS)
    alone, many = (runs[clients, WithoutFiles] for clients in CLIENTS)
    wait, most = median(report["times"]["p50"] for report in alone), rate(many)
    table.target(f"{WithoutFiles.name}: p50 ≤ 600 µs with 1", f"{wait:,.0f} µs", wait <= 600, len(alone))
    table.target(f"{WithoutFiles.name}: ≥ 15,000/s with 50", f"{most:,.0f}/s", most >= 15_000, len(many))
    table.note(RATIOS)
    table.note(SPREAD)
    return table


class Twins(Fleet):
    """Both may hold; the last one follows at first."""

    def hold(self, number):
        return "may"


def takeover(peer, end):
    """Seconds from the end of the daemon that holds until the other one says that it is connected, after having said that it is not."""
    holder, other = sorted(peer.hosts, key=lambda host: not holds(host))
    with other.watch() as states:
        next(states)
        began = time.monotonic()
        end(holder)
        for instant, state in states:
            if state == "connected":
                break
    holder.start()
    holder.until_connected()
    return instant - began


def holds(host):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(host.socket)
        lines = client.makefile("rwb")
        lines.write(b'{"jsonrpc":"2.0","id":1,"method":"status"}\n')
        lines.flush()
        connections = json.loads(lines.readline())["result"]["connections"]
    return any((one.get("fleet") or {}).get("role") == "holder" and one["state"] == "connected" for one in connections)


def kill(host):
    host.program.process.send_signal(signal.SIGKILL)
    host.program.process.wait()
    host.program.end()


WAYS = {"killed (kill −9)": kill, "stopped in order": lambda host: host.program.end()}


def f5(rounds):
    if not available([Twins]):
        return None
    found = {way: [] for way in WAYS}
    for number in range(rounds):
        with Twins() as peer:
            for _ in range(max(1, TAKEOVERS // rounds)):
                for way, end in WAYS.items():
                    found[way].append(takeover(peer, end))
        print(f"  round {number + 1}: " + ", ".join(f"{way} {median(times):.2f} s" for way, times in found.items()), flush=True)
    table = Table(
        "F5", f"from the end of the host that holds until another host is connected, with the default lease of 3 s ({len(found['stopped in order'])} times each)",
        ["the daemon is", "median s", "longest s"])  # fmt: skip
    for way, times in found.items():
        table.add(way, f"{median(times):.2f}", f"{max(times):.2f}")
    killed, stopped = found.values()
    table.headline = f"killed {median(killed):.2f} s, stopped in order {median(stopped):.2f} s"
    table.target("killed: ≤ 1.1 lease + 1 s", f"{max(killed):.2f} s", max(killed) <= 4.3, len(killed))
    table.target("stopped in order: ≤ 0.2 s", f"{max(stopped):.2f} s", max(stopped) <= 0.2, len(stopped))
    return table
