"""F7: a fleet of thousands of hosts, all but two of which are simulated: what the daemons, Redis and an event's way become.
F2-100: events in quick succession to a hundred."""

import contextlib
import hashlib
import os
import re
import resource
import time
from statistics import median

from . import places
from .arguments import at_most
from .fanout import reading
from .fleet import KEYS, Fleet
from .local import Local
from .peers import available
from .process import Program
from .table import Table

HOSTS = (1_000, 3_000, 10_000)
# Seconds in which nothing happens but what hosts do by themselves: some looks of every kind.
QUIET = 20
# Between two of the holder's looks at all hosts, and until the others have read what it says then.
LOOK = 8
RATE, EVENTS = 5, 100
MOST_ROUNDS = 1
# For how long one thing may make all others wait, in milliseconds.
TURN = 10


def most_hosts():
    """As many as the limit of open files lets Redis have: it needs two for each, and some for itself."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return min(HOSTS[-1], (limit - 100) // 2)


def script(step):
    """The script of a step, as the sources have it."""
    with open(os.path.join(places.PROJECT, "Sources", "GatewayCore", "Fleet", "Redis", "FleetScripts.swift")) as file:
        source = file.read()
    parts = {
        name: re.sub(r"(?m)^    ", "", text) for name, text in re.findall(r'static let (\w+) = """\n(.*?)\n    """', source, re.S)
    }
    words = re.search(rf"case \.{step}: (.*)", source).group(1).split(" + ")
    return "".join(parts[word] for word in words)


class Crowd(Fleet):
    """The last of its daemons follows; the others that do are simulated."""

    name = "a fleet of thousands"
    redis_options = ("--maxclients", 2 * HOSTS[-1] + 100)

    def redis_facts(self):
        return dict(line.split(":", 1) for line in self.ask_redis("INFO").splitlines() if ":" in line)

    @staticmethod
    def habits(hosts):
        """How often each does what, in milliseconds, with the usual lease and `adopt`, as `FleetPresence` and `FleetRoster` say."""
        return ["--beat", 10_000, "--lease", max(1_000, hosts)]

    def restart_last(self):
        last = self.hosts[-1]
        last.program.end()
        last.start()
        last.until_connected()
        self.daemon = last.program

    @contextlib.contextmanager
    def crowd(self, hosts, rest=0):
        """So many hosts more, which have joined; each asks for events no sooner than `rest` microseconds after the last time."""
        if self.ask_redis("SCRIPT", "EXISTS", hashlib.sha1(script("join").encode()).hexdigest()) != "1":
            raise RuntimeError("the daemon's scripts are not those of the sources")
        scripts = {step: self.ask_redis("SCRIPT", "LOAD", script(step)) for step in ("join", "alive")}
        details = self.ask_redis("HGET", KEYS + "hosts", "h1").split(":", 2)[2]
        load = Program(
            [places.program("followers"), "--port", self.port_of_redis, "--hosts", hosts, "--keys", KEYS, "--join", scripts["join"],
             "--alive", scripts["alive"], "--details", details, "--rest", rest, *self.habits(hosts)]
        )  # fmt: skip
        try:
            if load.line(120) != "ready":
                raise RuntimeError("the hosts are not ready")
            yield load
        finally:
            load.end()


def turns(host):
    """How many turns of its daemon's loop took how long, by steps."""
    client = Local(host.socket)
    try:
        return client.call("stats", {})["daemon"]["turns"]["steps"]
    finally:
        client.close()


def longest(before, after):
    """The longest turn between, as the upper end of its step, in milliseconds."""
    before = before + [0] * (len(after) - len(before))
    return max((2 ** (10 + i) / 1e6 for i, (a, b) in enumerate(zip(before, after)) if b > a), default=0)


class Window:
    """What everybody does from here to `end`."""

    def __init__(self, peer, load):
        self.peer, self.load = peer, load
        self.programs = {"holder": peer.hosts[0].program, "follower": peer.hosts[-1].program, "redis": peer.redis}
        load.tell("begin")
        load.report()
        self.cpu, self.commands, self.turns = self.used(), self.said(), turns(peer.hosts[0])
        self.began = time.monotonic()

    def used(self):
        return {name: program.cpu_time() for name, program in self.programs.items()}

    def said(self):
        return int(self.peer.redis_facts()["total_commands_processed"])

    def end(self):
        seconds = time.monotonic() - self.began
        found = {f"{name} cpu": (after - self.cpu[name]) / seconds for name, after in self.used().items()}
        found["commands"] = (self.said() - self.commands) / seconds
        found["longest"] = longest(self.turns, turns(self.peer.hosts[0]))
        self.load.tell("end")
        found["crowd"] = self.load.report()
        if found["crowd"]["refusals"]:
            raise RuntimeError("Redis refused what the simulated hosts say")
        return found


def measured(hosts):
    """What a fleet of so many is, first while nothing happens, then with events."""
    with Crowd() as peer:
        alone = [host.program.anonymous() for host in peer.hosts]
        with peer.crowd(hosts - len(peer.hosts)) as load:
            # The holder has looked at them, and said how many there are, before the last one comes.
            time.sleep(LOOK)
            peer.restart_last()
            with reading(peer, 1, EVENTS, rate=RATE) as run:
                window = Window(peer, load)
                time.sleep(QUIET)
                quiet = window.end()
                window = Window(peer, load)
                run()
                busy = window.end()
                facts = peer.redis_facts()
                memory = [host.program.anonymous() for host in peer.hosts]
    return {
        "quiet": quiet, "busy": busy, "holder": memory[0], "follower": memory[1],
        "holder each": (memory[0] - alone[0]) / hosts * 1024, "follower each": (memory[1] - alone[1]) / hosts * 1024,
        "redis": int(facts["used_memory"]) / 1e6, "redis rss": int(facts["used_memory_rss"]) / 1e6,
    }  # fmt: skip


def f7(rounds):
    at_most(MOST_ROUNDS, rounds)
    if not available([Crowd]):
        return None
    table = Table(
        "F7", f"a fleet of thousands, all but two of them simulated, on one machine ({QUIET} s in which nothing happens, then {EVENTS} events, {RATE}/s)",
        ["hosts", "holder KiB", "of it B for each host", "holder's CPU", "its longest turn, ms", "follower KiB", "Redis: commands/s", "its CPU",
         "its memory, MB", "resident", "an event to all: p50 ms", "p99 ms", "Redis' CPU then"])  # fmt: skip
    for hosts in (*HOSTS[:-1], most_hosts()):
        found = measured(hosts)
        quiet, busy = found["quiet"], found["busy"]
        delay, (least, most), holes = busy["crowd"]["latency"], busy["crowd"]["events"], busy["crowd"]["holes"]
        table.add(
            f"{hosts:,}", f"{found['holder']:,}", f"{found['holder each']:,.0f}", f"{quiet['holder cpu']:.1%}", f"≤ {quiet['longest']:.1f}",
            f"{found['follower']:,}", f"{quiet['commands']:,.0f}", f"{quiet['redis cpu']:.0%}", f"{found['redis']:,.0f}",
            f"{found['redis rss']:,.0f}", f"{delay['p50'] / 1e3:,.1f}", f"{delay['p99'] / 1e3:,.1f}", f"{busy['redis cpu']:.0%}",
        )  # fmt: skip
        print(f"  {table.rows[-1]}", flush=True)
    table.headline = f"{hosts:,} hosts: {found['holder each']:,.0f} B for each at the holder, {quiet['commands']:,.0f} commands/s and {quiet['redis cpu']:.0%} of a core at Redis"
    table.target("every host has every event, without a hole", f"{least} to {most} of {EVENTS}, {holes} holes", least == most == EVENTS and not holes, 1)
    table.target("≤ 1 KiB for each host at the holder", f"{found['holder each']:,.0f} B", found["holder each"] <= 1024, 1)
    table.target("none at a host that follows", f"{found['follower each']:,.0f} B", found["follower each"] <= 64, 1)
    # A step of the histogram ends at 8.4 ms, the next one at 16.8.
    table.target(f"no turn of the holder > {TURN} ms", f"≤ {quiet['longest']:.1f} ms", quiet["longest"] <= TURN or (None if quiet["longest"] < 2 * TURN else False), 1)
    table.target("≤ 0.8 GB at Redis", f"{found['redis']:,.0f} MB", found["redis"] <= 800, 1)
    table.note("CPU is a share of one core. Turns are by the clock: what else runs on the machine is in them.")
    table.note("All simulated hosts are one program on one of the two CPUs, which is part of an event's way. Each says every 10 s that it lives, and looks "
               "at the lease and its own row every second, from 1,000 hosts on so that all together do it 1,000 times a second.")  # fmt: skip
    if hosts < HOSTS[-1]:
        table.note(f"{hosts:,} hosts are as many as the limit of open files allows here: two connections for each, of one Redis.")
    return table


HUNDRED = 100
# Events/s, and for how many seconds.
RATES, SECONDS = (1_000, 2_000), 10
# How long a host of a hundred rests at most between two questions, in microseconds, as `RedisPace` says.
REST = 3_000


class Hundred(Crowd):
    name = "a fleet of 100 hosts"

    @staticmethod
    def habits(hosts):
        return ["--beat", 10_000, "--lease", 1_000]


def f2_hundred(rounds):
    if not available([Hundred]):
        return None
    table = Table(
        "F2-100", f"{HUNDRED} hosts, {HUNDRED - 2} of them simulated, and a steady stream of events (medians of {rounds} runs of {SECONDS} s)",
        ["events/s", "to all: p50 ms", "p99 ms", "to a program at a daemon: p50 ms", "p99 ms", "questions/s", "Redis' CPU", "the daemon's"])  # fmt: skip
    for rate in RATES:
        runs = [stream(rate) for _ in range(rounds)]
        lag = [f"{median(run[who][key] for run in runs) / 1e3:,.1f}" for who in ("all", "program") for key in ("p50", "p99")]
        busy = median(run["redis cpu"] for run in runs)
        table.add(f"{rate:,}", *lag, f"{median(run['reads'] for run in runs):,.0f}", f"{busy:.0%}", f"{median(run['follower cpu'] for run in runs):.0%}")
        print(f"  {table.rows[-1]}", flush=True)
    late = max(median(run[who]["p99"] for run in runs) for who in ("all", "program")) / 1e3
    holes = sum(run["holes"] for run in runs)
    table.headline = f"{rate:,} events/s to {HUNDRED} hosts: p99 {late:.1f} ms, Redis {busy:.0%} of a core"
    table.target("every host has every event, without a hole", f"{holes} holes or events that are missing", not holes, rounds)
    table.target(f"p99 ≤ 50 ms at {rate:,}/s", f"{late:.1f} ms", late <= 50, rounds)
    table.target(f"Redis ≤ 80 % of a core at {rate:,}/s", f"{busy:.0%}", busy <= 0.8, rounds)
    table.note("All simulated hosts are one program on one of the two CPUs, where server, Redis and daemons are too.")
    return table


def stream(rate):
    with Hundred() as peer, peer.crowd(HUNDRED - len(peer.hosts), REST) as load:
        time.sleep(LOOK)
        peer.restart_last()
        with reading(peer, 1, rate * SECONDS, rate=rate) as run:
            window = Window(peer, load)
            report = run()
            found = window.end()
    crowd = found["crowd"]
    missing = sum(rate * SECONDS - count for count in crowd["events"])
    return {
        "all": crowd["latency"], "program": report["latency"], "reads": crowd["reads"] / crowd["seconds"],
        "redis cpu": found["redis cpu"], "follower cpu": found["follower cpu"], "holes": crowd["holes"] + missing,
    }  # fmt: skip
