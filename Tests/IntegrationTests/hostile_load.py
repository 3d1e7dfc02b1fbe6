"""Hostile servers and hostile local programs, all at once against one daemon, while ordinary programs do their work.

As a program: `hostile_load.py [SECONDS [ATTACKER …]]` lets all loose at once for so many seconds, and then a few at a time until each
got what it has to get: all at once the daemon has too much to do for that. Attackers that are named are let loose once. It prints
a table of each round, and ends with 1 where an ordinary program lost something, an attacker did not get what it has to get, or a
bound was passed. `--list` names the attackers. Everything stays on the loopback device, and every attacker is bounded in time and
number.
"""

import argparse
import asyncio
import contextlib
import json
import os
import pathlib
import re
import socket
import sys
import tempfile
import time

import hostile_crowds  # pylint: disable=unused-import
import hostile_programs  # pylint: disable=unused-import
import hostile_servers  # pylint: disable=unused-import
import memory
import processes
import users
from chat import ChatServer
from daemon import FAST, Daemon
from hostile_place import ATTACKERS, LARGE, LONGER, MEBI, PORTS, SIZE, Place
from local_client import CallError
from patience import FACTOR
from programs import GATEWAYD

TURN_LIMIT = 0.01 * FACTOR
"""Seconds of processor time for which the release build may hold its loop while it serves."""

WAIT_LIMIT = 0.5 * FACTOR
"""Seconds that 99 of 100 requests and events of ordinary programs may take, on two cores that the attackers fill."""

PROCESSES = 4
"""The attackers are spread over so many, so that those that compute much do not keep the others from attacking."""

ENDING = 4 * FACTOR
"""Seconds beyond its time after which an attacker that nobody waits for leaves what it has asked for unanswered."""

NO_END = "did not come to its end"
"""What became of an attacker whose process says nothing of it."""

GROUPS = 13
"""In so many rounds those attack that are not let loose at once."""


# ---------------------------------------------------------------------------------------------------------------------
# Ordinary programs


class Ordinary:
    """Two programs: one says numbered things to the chat, both hear what is said."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.answers = []
        self.events = []
        self.lost = []
        self.numbers = set()
        self.sent = {}
        self.count = 0

    async def start(self):
        self.speaker, self.listener = await self.daemon.client(), await self.daemon.client()
        await self.listener.call("subscribe", upstream="chat", events=["said"])
        self.reading = asyncio.ensure_future(self._listen())
        return self

    async def _listen(self):
        while True:
            method, params = await self._next()
            if method == "event":
                number = params["args"][0]
                self.events.append(time.monotonic() - self.sent[number])
                self.numbers.add(number)
            elif method == "gap":
                self.lost.append(f"a gap: {params['reason']}")

    async def _next(self):
        client = self.listener
        async with client.arrived:
            await client.arrived.wait_for(lambda: client.notes or client.closed)
            if not client.notes:
                self.lost.append("the listener was thrown out")
                await asyncio.sleep(3_600)
            return client.notes.pop(0)

    async def speak(self, goes_on):
        while goes_on():
            number, self.count = self.count, self.count + 1
            self.sent[number] = time.monotonic()
            try:
                reply = await self.speaker.call("request", upstream="chat", event="say", args=[number], seconds=60)
                assert reply["args"] == ["said"], reply
                self.answers.append(time.monotonic() - self.sent[number])
            except (CallError, AssertionError, ConnectionError) as problem:
                self.lost.append(f"request {number}: {problem}")
            await asyncio.sleep(0.003)

    async def finish(self):
        deadline = time.monotonic() + 10
        while len(self.numbers) < self.count and time.monotonic() < deadline:
            await asyncio.sleep(0.05)
        self.reading.cancel()
        missing = sorted(set(range(self.count)) - self.numbers)
        if missing:
            self.lost.append(f"{len(missing)} events did not come, the first of them {missing[0]}")


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))] if values else float("nan")


# ---------------------------------------------------------------------------------------------------------------------
# The whole


class Report:
    """What came of it."""

    def __init__(self):
        self.outcomes = {}
        self.longest_turn = 0
        self.quiet_turn = 0
        self.resident = 0
        self.memory_limit = None
        self.ordinary = None
        self.quiet = None

    def surprises(self):
        """Attackers that did not get what they have to get, as sentences."""
        for name, outcome in self.outcomes.items():
            if not re.search(ATTACKERS[name].expected, outcome):
                yield f"{name}: {outcome!r} and not {ATTACKERS[name].expected!r}"

    def problems(self):
        """Which bounds were passed, as sentences."""
        if self.longest_turn > TURN_LIMIT * 1e6:
            yield f"a turn of {self.longest_turn / 1000:.1f} ms, which may take {TURN_LIMIT * 1000:.0f} ms"
        if self.memory_limit and self.resident > self.memory_limit and memory.COUNTS:
            yield f"more resident memory than the {self.memory_limit / MEBI:.0f} MiB that the settings allow for buffers"
        for name, values in (("requests", self.ordinary.answers), ("events", self.ordinary.events)):
            if percentile(values, 0.99) > WAIT_LIMIT:
                yield f"others' {name} took {percentile(values, 0.99) * 1000:.0f} ms, which may take {WAIT_LIMIT * 1000:.0f} ms"
        if self.ordinary.lost:
            yield f"{len(self.ordinary.lost)} ordinary losses"

    def lines(self):
        yield "attacker                           what became of it"
        for name, outcome in self.outcomes.items():
            yield f"{name:<34} {outcome}"
        yield ""
        yield f"longest turn        {self.longest_turn / 1000:10.1f} ms of processor time ({self.quiet_turn / 1000:.1f} ms before)"
        limit = f" (limit of its buffers {self.memory_limit / MEBI:.0f} MiB)" if self.memory_limit else ""
        yield f"largest RSS         {self.resident / MEBI:10.1f} MiB{limit}"
        for name, before, during in (("request", self.quiet.answers, self.ordinary.answers),
                                     ("event", self.quiet.events, self.ordinary.events)):
            yield (f"others' {name:<11} {percentile(during, 0.99) * 1000:10.1f} ms p99, {percentile(during, 0.5) * 1000:.1f} ms "
                   f"median of {len(during)} (alone {percentile(before, 0.99) * 1000:.1f} and "
                   f"{percentile(before, 0.5) * 1000:.1f} ms)")
        yield f"ordinary losses     {len(self.ordinary.lost):10}"
        for sentence in self.ordinary.lost[:10]:
            yield f"  {sentence}"


UPSTREAMS = {
    "packed0": ("http://127.0.0.1:{port}", {"parser": "msgpack"}),
    "packed1": ("http://127.0.0.1:{port}", {"parser": "msgpack"}),
    "long": ("http://127.0.0.1:{port}", {"history": {"events": 1_000_000, "bytes": "256MiB"}}),
    "rooms": ("http://127.0.0.1:{port}", {}),
    "disk": ("http://127.0.0.1:{port}", {"history": {"disk": True}}),
    "heartbeats": ("tcp://127.0.0.1:{port}", {"lines": {"heartbeat": {"type": "ping", "answer": "pong"}}}),
    "logins": ("tcp://127.0.0.1:{port}", {
        "auth": {"user": "ann"}, "lines": {"login": {"type": "login", "accepted": "welcome", "refused": "denied"}}}),
}
"""The configured upstreams whose servers are attackers: their URLs and settings."""


def groups(names):
    """The attackers of each round in which not all are let loose."""
    return [list(names)[number::GROUPS] for number in range(GROUPS)]


def free_port():
    """A port that nobody has at the moment."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


async def run(folder, seconds, names=None, longer=LONGER, large=LARGE):
    """Lets the attackers loose on a daemon for so many seconds, and for up to `longer` more those that did not get what they have
    to get. Without `longer` all go soon after their time, in the midst of what they do. `large` is how many bytes a large message
    has. Returns the report."""
    names = list(names or ATTACKERS)
    report = Report()
    chat = ChatServer("eio4")
    folder.chmod(0o755)
    ports = {name: free_port() for name in UPSTREAMS}
    place = folder / "d"
    place.mkdir()
    place.chmod(0o777)
    try:
        await chat.start()
        daemon = Daemon(GATEWAYD, place, {
            "socket": {"mode": "0666"}, "log": {"level": "error"}, "limits": {"stop": "2s", "receive_bytes": 17 * large},
            "defaults": {"message_limit": large + MEBI, "transports": ["websocket", "polling"], "reconnect": FAST},
            "upstream": {"chat": {"url": chat.url, "history": {"events": 1_000}},
                         **{name: {"url": url.format(port=ports[name]), **more} for name, (url, more) in UPSTREAMS.items()}}},
            environment={"GATEWAYD_TURN_CLOCK": "processor"})
        try:
            await daemon.start()
            report.quiet = await Ordinary(daemon).start()
            end = time.monotonic() + min(3, seconds / 3)
            await report.quiet.speak(lambda: time.monotonic() < end)
            await report.quiet.finish()
            report.quiet_turn = (await daemon.status())["daemon"]["longest_turn"]
            report.ordinary = await Ordinary(daemon).start()
            attacks = [await processes.spawn(
                sys.executable, __file__, "--attack", daemon.socket, "--longer", longer, seconds, *names[number::PROCESSES],
                stdout=asyncio.subprocess.PIPE, stdin=asyncio.subprocess.DEVNULL,
                env=os.environ | {PORTS: json.dumps(ports), SIZE: str(large)}) for number in range(min(PROCESSES, len(names)))]
            try:
                reading = asyncio.gather(*(attack.stdout.read() for attack in attacks))
                limit = time.monotonic() + seconds + 3 * LONGER
                await report.ordinary.speak(lambda: not reading.done() and time.monotonic() < limit)
                outs = await asyncio.wait_for(reading, 1)
            finally:
                for attack in attacks:
                    await processes.kill(attack)
            await report.ordinary.finish()
            found = {name: outcome for out in outs for name, outcome in json.loads(out or b"{}").items()}
            report.outcomes = {name: found.get(name, NO_END) for name in names}
            own = (await daemon.status())["daemon"]
            report.longest_turn = own["longest_turn"]
            report.memory_limit = (own.get("memory") or {}).get("limit")
            report.resident = memory.peak(daemon)
        finally:
            await daemon.close()
    finally:
        await chat.close()
    return report


async def attack(path, seconds, longer, names):
    """The attackers, in a process of their own. Prints what became of each."""
    outcomes = {}

    async def one(name):
        # Where there are accounts to act as: three users, so that what one does must not cost another.
        uid = users.ALICE + list(ATTACKERS).index(name) % 3 if os.geteuid() == 0 else None
        place = Place(path, uid, seconds, ATTACKERS[name].expected, longer)
        try:
            outcomes[name] = await asyncio.wait_for(ATTACKERS[name].attack(place), seconds + (2 * longer or ENDING))
        except asyncio.TimeoutError:
            outcomes[name] = f"{place.outcome() if place.outcome else 'nothing yet'}, then cut off"
        except Exception as problem:  # pylint: disable=broad-except
            outcomes[name] = f"{type(problem).__name__}: {problem}"[:100]
        finally:
            await place.close()

    await asyncio.gather(*map(one, names))
    print(json.dumps(outcomes), flush=True)


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--attack")
    parser.add_argument("--longer", type=float, default=LONGER)
    parser.add_argument("seconds", nargs="?", type=float, default=30)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if options.list:
        print("\n".join(ATTACKERS))
        return 0
    if options.attack:
        await attack(options.attack, options.seconds, options.longer, options.names)
        os._exit(0)
    if options.names:
        rounds = [(options.names, options.seconds, LONGER)]
    else:
        rounds = [(list(ATTACKERS), options.seconds, 0)] + [(group, 2, LONGER) for group in groups(ATTACKERS)]
    problems = []
    for names, seconds, longer in rounds:
        with tempfile.TemporaryDirectory(prefix="gw-hostile-") as folder:
            report = await run(pathlib.Path(folder), seconds, names, longer)
        print("\n".join(report.lines()), end="\n\n", flush=True)
        problems += report.problems()
        if longer:
            problems += report.surprises()
    print(*(f"BEYOND ITS BOUND: {problem}" for problem in problems), sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
