"""What one event, one delivery, one request, one durable send and one `gatewayctl send` cost in instructions, allocations and
system calls: counted, not timed, so that other work on the machine does not matter. The costs of the start cancel out between a shorter
and a longer run."""

import os
import re
import signal
import subprocess

from . import places
from .durable import DurableRedis, save
from .fanout import PAYLOAD
from .fleet import KEYS, Fleet
from .peers import Courier, Gatewayd, NotificationRelay, available
from .process import Program
from .requests import ping
from .shell import sending

# Names of glibc's allocator, and the calls that end in one allocation each.
ALLOCATORS = ("malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc")
SUBSCRIBERS = 100
# As many as a history keeps and some more, so that what is counted is what comes when it is full.
EVENTS = 1024
# All of them that wait are written in one go.
SAVERS = 50


def without_debug_information(program):
    """A copy that Debian 12's valgrind can read: the programs' debug information is too new for it."""
    copy = places.program(f"{os.path.basename(program)}-counted")
    subprocess.run(["objcopy", "--strip-debug", program, copy], check=True)
    return copy


class CountedGatewayd(Gatewayd):
    program = property(lambda self: places.program("gatewayd-counted"))


class Tool:
    """Mixed into a peer: it runs under a tool that writes what it counted to a file when the daemon has ended."""

    preloaded = ("even_clock.so",)

    @property
    def wrapper(self):
        # How much a turn of the loop does would depend on how slow it is under the tool, and on the other programs.
        return ["env", f"LD_PRELOAD={':'.join(map(places.program, self.preloaded))}", *self.over(self.path("counts"))]

    def counts(self):
        """Ends the daemon; what the tool counted, by name."""
        os.kill(self.counted_process, signal.SIGTERM)
        self.daemon.process.wait(60)
        return self.read(self.path("counts"))


class Callgrind(Tool):
    # How many sends share a write to the disk would depend on how fast it is.
    preloaded = (*Tool.preloaded, "even_disk.so")
    # valgrind becomes the program.
    counted_process = property(lambda self: self.daemon.pid)

    @staticmethod
    def over(path):
        """What stands before a command that is counted into that file."""
        return [places.found("valgrind"), "-q", "--tool=callgrind", f"--callgrind-out-file={path}"]

    @staticmethod
    def read(path):
        """The instructions in user mode, without those of what is preloaded, and the calls of the allocator."""
        counts = {"instructions": 0, "allocations": 0}
        names, objects = {}, {}
        called = None
        is_preloaded = is_of_call = False
        with open(path) as file:
            for line in file:
                key, _, value = line.rstrip("\n").partition("=")
                number, _, name = value.partition(" ")
                if key in ("ob", "cob"):
                    found = objects.setdefault(number, name)
                    if key == "ob":
                        is_preloaded = os.path.basename(found) in Callgrind.preloaded
                elif key in ("fn", "cfn"):
                    found = names.setdefault(number, name)
                    if key == "cfn":
                        called = found
                elif key == "calls":
                    is_of_call = True
                    if called in ALLOCATORS:
                        counts["allocations"] += int(number)
                elif line.startswith(("summary:", "totals:")):
                    total = int(line.split(":")[1].split()[0])
                elif line[0] in "0123456789+-*":
                    if is_preloaded and not is_of_call:
                        counts["instructions"] -= int(line.split()[1])
                    is_of_call = False
        counts["instructions"] += total
        return counts


class Strace(Tool):
    @property
    def counted_process(self):
        with open(f"/proc/{self.daemon.pid}/task/{self.daemon.pid}/children") as children:
            return int(children.read().split()[0])

    @staticmethod
    def over(path):
        return [places.found("strace"), "-f", "-c", "-o", path]

    @staticmethod
    def read(path):
        with open(path) as file:
            found = re.search(r"^\s*100\.00\s+\S+\s+(?:\S+\s+)?(\d+)\s+(?:\d+\s+)?total$", file.read(), re.M)
        if not found:
            raise RuntimeError(f"strace counted nothing: {open(path).read()}")
        return {"system calls": int(found.group(1))}


class CountedRedis(DurableRedis):
    """It tidies up once a second, not ten times: the slow disk has it write so rarely that each write would pay for that."""

    settings = ("--hz", 1)


class CountedFleet(CountedGatewayd, Fleet):
    """Two hosts, of which one is counted. Signs of life and looks at the others are so rare that they do not matter."""

    lines = 'lease = "1m"\nadopt = "1h"\n'

    def start_redis(self):
        super().start_redis()
        # As if a host had given the link back: it is taken at once.
        server = dict(line.split(":", 1) for line in self.ask_redis("INFO", "server").splitlines() if ":" in line)
        self.ask_redis("HSET", KEYS + "L", "own", "1@h0", "term", 1, "holder", "", "at", server["run_id"])

    def start(self):
        super().start()
        self.daemon = self.hosts[self.counted].program

    def command(self, number):
        return [*self.wrapper, self.program] if number == self.counted else super().command(number)


class Holder(CountedFleet):
    """Counted is the host that holds. Its own programs want nothing; the load is at the other one."""

    counted = 0

    def keep(self, number):
        return "always" if number else "on-demand"


class Follower(CountedFleet):
    """Counted is the host that follows, and has the load."""

    counted = 1


def counted(kind, tool):
    return type(f"{kind.__name__}Under{tool.__name__}", (tool, kind), {})


def fan_out(kind, subscribers, events, window):
    """What a daemon counts that delivers so many events, its start and end included."""
    with kind(PAYLOAD) as peer:
        reader = Program(
            [places.program("reader"), "--protocol", peer.protocol, "--socket", peer.socket, "--url", peer.url,
             "--clients", subscribers, "--control", peer.control, "--events", events, "--window", window]
        )  # fmt: skip
        try:
            reader.line(60)
            reader.tell("go")
            report = reader.report()
            if not report["complete"] or report["lost"]:
                raise RuntimeError(f"not all events arrived: {report}")
            return peer.counts()
        finally:
            reader.end()


def requests(kind, count):
    """What a daemon counts that carries so many requests, one at a time, its start and end included."""
    with kind(PAYLOAD) as peer:
        ping("--socket", peer.socket, "--url", peer.url, count=count, warm_up=100)
        return peer.counts()


def durable_sends(kind, count):
    """What a daemon counts that keeps so many sends on disk, of clients that each wait for the answer, its start and end included."""
    with kind(PAYLOAD) as peer:
        save(peer, SAVERS, count)
        return peer.counts()


def difference(longer, shorter, per):
    return {key: (longer[key] - shorter[key]) / per for key in longer}


def events_and_deliveries(kind, window, events):
    """Costs of an event for which nobody pays but the daemon, and of each of its deliveries."""
    one = difference(fan_out(kind, 1, 2 * events, window), fan_out(kind, 1, events, window), events)
    many = difference(fan_out(kind, SUBSCRIBERS, 2 * events, window), fan_out(kind, SUBSCRIBERS, events, window), events)
    delivery = {key: (many[key] - one[key]) / (SUBSCRIBERS - 1) for key in one}
    return {key: one[key] - delivery[key] for key in one}, delivery


def usable():
    """The tools that work here, and why the others do not."""
    tools, reasons = [], []
    for tool, trial in ((Callgrind, ["valgrind", "-q", "--tool=none", "true"]), (Strace, ["strace", "-f", "-c", "-o", "/dev/null", "true"])):
        if not places.found(trial[0]):
            reasons.append(f"{trial[0]} is not installed")
            continue
        done = subprocess.run(trial, capture_output=True, text=True)
        if done.returncode:
            reasons.append(f"{trial[0]} does not work here: {done.stderr.strip()}")
        else:
            tools.append(tool)
    return tools, reasons


def of_events(tools, kind):
    """The costs of a peer that fans out, by name."""
    found = {}
    for how, window in (("one at a time", 1), ("64 at a time", 64)):
        for tool in tools:
            event, delivery = events_and_deliveries(counted(kind, tool), window, EVENTS)
            for what in event:
                found[f"{what} per event, {how}"] = event[what]
                found[f"{what} per delivery, {how}"] = delivery[what]
    return found


def of_requests(tools, kind, where=""):
    found = {}
    for tool in tools:
        costs = difference(requests(counted(kind, tool), 600), requests(counted(kind, tool), 300), 300)
        found.update({f"{what} per request{where}": value for what, value in costs.items()})
    return found


def of_durable_sends(tools, kind, where=""):
    # How many share a system call depends on the other programs' turns.
    if Callgrind not in tools:
        return {}
    kind = counted(kind, Callgrind)
    costs = difference(durable_sends(kind, 6_000), durable_sends(kind, 3_000), 3_000)
    return {f"{what} per durable send{where}, {SAVERS} clients": value for what, value in costs.items()}


def of_a_message(tools):
    """What one `gatewayctl send` takes from its start to its end, the connection warm, by name."""
    if Callgrind not in tools:
        return {}
    if not os.path.exists(places.gatewayctl()):
        print(f"skipped: the costs of gatewayctl ({places.gatewayctl()} does not exist)")
        return {}
    program = without_debug_information(places.gatewayctl())
    with Gatewayd(PAYLOAD) as peer:
        reader = Program([places.program("reader"), "--protocol", peer.protocol, "--socket", peer.socket, "--url", peer.url])
        try:
            reader.line()
            counts = peer.path("counts")
            command = [*Callgrind.over(counts), *sending(peer, program)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            return {f"{what} per gatewayctl send": value for what, value in Callgrind.read(counts).items()}
        finally:
            reader.end()


def of_a_link(tools):
    """The costs of a daemon with a link of its own, and of the program that talks to it, by name."""
    kind = CountedGatewayd
    return {**of_events(tools, kind), **of_requests(tools, kind), **of_durable_sends(tools, kind), **of_a_message(tools)}


def of_a_fleet(tools):
    """The costs of hosts that share a link, by name."""
    found = {}
    for host, word in ((Holder, "published"), (Follower, "followed")):
        # How many of those that come together share a system call depends on the other programs' turns.
        for how, window, able in (("one at a time", 1, tools), ("64 at a time", 64, [tool for tool in tools if tool is Callgrind])):
            for tool in able:
                kind = counted(host, tool)
                costs = difference(fan_out(kind, 1, 2 * EVENTS, window), fan_out(kind, 1, EVENTS, window), EVENTS)
                found.update({f"{what} per event {word}, {how}": value for what, value in costs.items()})
    found.update(of_requests(tools, Follower, " of a host that follows"))
    found.update(of_durable_sends(tools, Follower, " of a host that follows"))
    return found


# What is counted of each: two programs that do as little as can be done in the daemon's place, and one that is known to be fast.
REFERENCES = {NotificationRelay: of_events, Courier: of_requests, CountedRedis: of_durable_sends}


def of_references(tools):
    """What other programs take in the daemon's place, by the names of its costs; why one is left out is said."""
    return {name: value for kind in available(REFERENCES) for name, value in REFERENCES[kind](tools, kind).items()}


GROUPS = {"link": of_a_link, "fleet": of_a_fleet}


def measured(tools, groups):
    """The costs of these groups, by name; why one is left out is said."""
    without_debug_information(places.gatewayd())
    found = {}
    for group in groups:
        missing = Fleet.missing() if group == "fleet" else None
        if missing:
            print(f"skipped: the costs of a fleet ({missing})")
        else:
            found.update(GROUPS[group](tools))
    return found
