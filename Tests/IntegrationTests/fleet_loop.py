"""Makes the life of a fleet hard and looks at what it promised.

Three hosts share one link over one Redis. Programs on each send durably, plainly with `sent`, and ask; others answer what the
server asks; others subscribe, and one of these changes hosts. In each round one fault or two befall the host that holds the
link, another one, or Redis: kill -9, a stop in order, a pause, a clock that is set, and, as root, cables that are cut. With
`--copies 1` Redis has two replicas, and is failed over. When all is up again, what `docs/fleet.md` promises has to be true of
everything until then.

`python fleet_loop.py --rounds 500` is the long form, `make fleet-loop` runs it; the test suite runs a short one.
"""

import argparse
import asyncio
import collections
import pathlib
import random
import shutil
import tempfile
import time

import fleet_place
import redis_server
from fleet_judge import Judge, some_of_each
from fleet_place import LEASE, Place
from fleet_programs import Follower, Handler, Sender, SharedAccount
from patience import FACTOR, end, within

PAUSES = (0.3, 0.9 * LEASE, 1.5 * LEASE, 2.5 * LEASE, 6.0)
ABSENCES = (0.0, 0.5, 2.0, 4.5)
# Longer than any host waits for Redis.
OUTAGES = (9.0, 12.0)


class Fault:
    """A kind of fault: whom it befalls, how long it lasts, and whether the link has to find another host."""

    def __init__(self, victim, act, durations, takes_over=None):
        self.victim, self.act, self.durations = victim, act, durations
        # From so many seconds on.
        self.takes_over = takes_over


ALONE = {
    "holder killed": Fault("holder", Place.kill_host, ABSENCES, 0),
    "holder stopped in order": Fault("holder", Place.stop_host, ABSENCES, 0),
    "holder paused": Fault("holder", Place.pause_host, PAUSES, 1.5 * LEASE),
    "other host killed": Fault("other", Place.kill_host, ABSENCES),
    "other host stopped in order": Fault("other", Place.stop_host, ABSENCES),
    "other host paused": Fault("other", Place.pause_host, PAUSES),
    "Redis killed": Fault("redis", Place.kill_redis, ABSENCES + OUTAGES),
    "all hosts killed": Fault("all", Place.kill_all, ABSENCES),
    "Redis emptied": Fault("redis", Place.empty_redis, (0.0,)),
    "Redis paused": Fault("redis", Place.pause_redis, (0.3, LEASE, 2.5 * LEASE, 4.5) + OUTAGES),
}
"""What can go wrong anywhere."""

CABLES = {
    "holder without Redis": Fault("holder", Place.cut_redis, PAUSES + OUTAGES, 1.5 * LEASE),
    "other host without Redis": Fault("other", Place.cut_redis, PAUSES + OUTAGES),
    "holder without Redis and server": Fault("holder", Place.cut_both, PAUSES, 1.5 * LEASE),
    # Nobody takes over then: the link outlives it, or is opened again.
    "holder without server": Fault("holder", Place.cut_server, PAUSES),
}
"""And what needs cables."""


CLOCKS = {"clocks set": Fault("clocks", Place.turn_clocks, (0.0, 2.0))}
"""And what needs clocks of their own."""

UNTIL_FAILOVER = (0.0, 0.3, LEASE, 2.5 * LEASE) + OUTAGES

COPIES = {
    "Redis fails over, and its master is dead": Fault("redis", Place.fail_over_dead, UNTIL_FAILOVER),
    "Redis fails over, and its master was paused": Fault("redis", Place.fail_over_paused, UNTIL_FAILOVER),
    # For so long there are two.
    "Redis fails over, and its master lives": Fault("redis", Place.fail_over_alive, ABSENCES + OUTAGES),
    "replica killed": Fault("redis", Place.kill_replica, ABSENCES),
    "replica paused": Fault("redis", Place.pause_replica, PAUSES),
    "all replicas paused": Fault("redis", Place.pause_replicas, PAUSES + OUTAGES),
}
"""And what needs replicas. No two of them befall Redis at once: the loss of one server is all that three of them outlast."""

KINDS = ALONE | CABLES | CLOCKS | COPIES


class Happening:
    """A fault that befell one host, or Redis, for a time."""

    def __init__(self, kind, fault, number, seconds, alone):
        self.kind, self.fault, self.number, self.seconds, self.alone = kind, fault, number, seconds, alone
        # For how long Redis could not be used, by the host or by all.
        self.away = seconds
        self.began = self.ended = None

    async def befall(self, place):
        self.began = time.monotonic()
        away = await self.fault.act(place, self.number, self.seconds)
        self.away = self.seconds if away is None else away
        self.ended = time.monotonic()

    def __str__(self):
        host = "" if self.number is None else f" (h{self.number})"
        return f"{self.kind}{host} for {self.seconds:g} s"


class Result:
    """What the rounds showed."""

    def __init__(self, rounds, kinds, judge, took, programs, place, seconds):
        self.rounds, self.kinds, self.judge, self.took, self.seconds = rounds, kinds, judge, took, seconds
        self.faults = judge.faults
        self.accounts = [program.account for program in programs]
        self.moves = sum(program.restarts for program in programs)
        self.links = len(judge.opens)
        self.without = {"cable was cut": place.without_network, "clock was set": place.without_clocks}
        self.questions, self.answers = judge.questions, judge.answers

    def __str__(self):
        lines = [f"{self.rounds} rounds, {self.links} links, {self.seconds:.0f} s; {len(self.faults)} broken promises"]
        lines += [f"no {what}: {reason}" for what, reason in self.without.items() if reason]
        lines += ["", "| fault | times | take-overs | median | p99 |", "|---|---|---|---|---|"]
        for kind, number in sorted(self.kinds.items()):
            took = sorted(self.took.get(kind, []))
            times = f"{took[len(took) // 2]:.1f} s | {took[len(took) * 99 // 100]:.1f} s" if took else "| "
            lines.append(f"| {kind} | {number} | {len(took) or ''} | {times} |")
        counts = self.judge.counts
        lines += ["", "| sends | made | promised | arrived | missing | doubled |", "|---|---|---|---|---|---|"]
        for level in sorted({level for level, _ in counts}):
            numbers = (counts[level, what] for what in ("made", "promised", "arrived", "missing", "doubled"))
            lines.append(f"| {level} | " + " | ".join(f"{number:,}" for number in numbers) + " |")
        events, lost, doubled, missed, gaps = (sum(getattr(one, name) for one in self.accounts)
                                               for name in ("events", "lost", "doubled", "missed", "gaps"))
        reasons = collections.Counter()
        for account in self.accounts:
            reasons.update(account.reasons)
        said = ", ".join(f"{number} {reason}" for reason, number in sorted(reasons.items()))
        lines += ["", "| events | lost | doubled | inside gaps | gaps | subscribers' restarts |", "|---|---|---|---|---|---|",
                  f"| {events:,} | {lost} | {doubled} | {missed:,} | {gaps} ({said}) | {self.moves} |",
                  "", f"{self.answers} of {self.questions} questions answered",
                  f"messages on an older link behind a newer one: {self.judge.overlaps}, of these in the one window "
                  f"that is named: {self.judge.in_window}"]
        return "\n".join(lines)

    def check(self):
        assert not self.faults, "\n".join([str(self), *some_of_each(self.faults)])
        assert all(account.events for account in self.accounts), str(self)
        assert self.answers, str(self)
        assert sum(number for (_, what), number in self.judge.counts.items() if what == "promised"), str(self)


class Rounds:
    """The fleet's life, a fault or two at a time."""

    def __init__(self, place, judge, calm, kinds, longest, together):
        self.place, self.judge, self.longest, self.together = place, judge, longest, together
        # All is up: a program may change hosts.
        self.calm = calm
        self.faults = ALONE | (CABLES if place.network else {}) | (CLOCKS if place.clocks else {})
        self.faults |= COPIES if place.copies else {}
        if not shutil.which(redis_server.CLIENT):
            del self.faults["Redis emptied"]
        if kinds is not None:
            self.faults = {kind: fault for kind, fault in self.faults.items() if kind in kinds}
        self.kinds = collections.Counter()
        self.took = {}
        self.happenings = []

    def choose(self):
        """One fault, or more, which befall different ones."""
        holder = int(self.judge.opens[-1]["open"][1:])
        other = random.choice([number for number in range(fleet_place.COUNT) if number != holder])
        kinds = random.sample(sorted(self.faults), min(len(self.faults), random.choice((1, self.together))))
        victims = {self.faults[kind].victim for kind in kinds}
        if "all" in victims or len(victims) < len(kinds):
            kinds = kinds[:1]
        chosen = []
        for kind in kinds:
            fault = self.faults[kind]
            seconds = random.choice([one for one in fault.durations if one <= self.longest])
            number = {"holder": holder, "other": other}.get(fault.victim)
            chosen.append(Happening(kind, fault, number, seconds, len(kinds) == 1))
        return chosen

    async def one(self, tell):
        chosen = self.choose()
        tell(" and ".join(map(str, chosen)))
        await asyncio.sleep(0.5 + random.random() * 0.5)
        self.calm.clear()
        self.happenings += chosen
        tasks = []
        for happening in chosen:
            tasks.append(asyncio.ensure_future(happening.befall(self.place)))
            await asyncio.sleep(random.random() * 1.5 if len(chosen) > 1 else 0)
        await asyncio.gather(*tasks)
        for happening in chosen:
            self.kinds[happening.kind] += 1
        await self.recover()
        for happening in chosen:
            self.note_takeover(happening)

    async def recover(self):
        """All is up again, the programs fall silent, and what they were promised has to be true."""
        patience = 45 * FACTOR
        await self.place.until_up(patience)
        self.calm.set()
        await asyncio.sleep(0.3)
        for sender in self.judge.senders:
            sender.pause()
        for sender in self.judge.senders:
            await within(sender.quiet.wait(), f"{sender.name} to hear what became of its sends", patience)
        await self.place.until_empty(patience)
        await self.place.until_up(patience)
        last = await self.place.server.last()

        async def told():
            while any((account.last or 0) < last for account in self.judge.accounts):
                await asyncio.sleep(0.01)

        behind = ", ".join(f"{account.name} has {account.last}" for account in self.judge.accounts)
        await within(told(), f"all subscribers to have event {last}: {behind}", patience)
        await within(self.answered(), "a question to be answered", patience)
        self.judge.hear(self.place.server.news(), self.happenings)
        self.judge.settle(self.happenings)
        for sender in self.judge.senders:
            sender.go_on()

    async def answered(self):
        """Until the server has an answer: what it asks before all hosts have said what they answer is declined."""
        while not await self.place.server.answer():
            pass

    def note_takeover(self, happening):
        """How long it took from the fault until the server was connected again."""
        if not happening.alone or happening.fault.takes_over is None or happening.seconds < happening.fault.takes_over:
            return
        opens = [note["at"] for note in self.judge.opens if note["at"] > happening.began]
        if opens:
            self.took.setdefault(happening.kind, []).append(opens[0] - happening.began)


async def rounds(folder, count, seed=None, tell=lambda text: None, kinds=None, longest=6.0, together=2, silence=5 * LEASE,
                 rate=50, transport="websocket", copies=0):
    """Runs the loop; returns a `Result`. `kinds` names the faults, `longest` is how long one may last, and at most `together`
    come at a time. With `copies` Redis has as many replicas and one more."""
    seed = seed if seed is not None else random.randrange(1 << 32)
    random.seed(seed)
    tell(f"seed {seed}")
    started = time.monotonic()
    place = Place(folder, rate, silence, transport, copies)
    tasks = []
    try:
        await place.start()
        await place.until_up(30 * FACTOR)
        senders = []
        for number, host in enumerate(place.hosts):
            senders.append(Sender(f"mixed{number}", host, number, ("durable", "accepted", "sent", "request"), 40))
            senders.append(Sender(f"retried{number}", host, number, ("retried",), 15))
        meanings = {}
        calm = asyncio.Event()
        programs = [Follower(SharedAccount(f"on h{number}", meanings), [host], 1_000_000, calm)
                    for number, host in enumerate(place.hosts)]
        programs.append(Follower(SharedAccount("everywhere", meanings), place.hosts, 60, calm))
        handlers = [Handler(host) for host in place.hosts]
        judge = Judge(senders, [program.account for program in programs], silence, handlers)
        tasks = [asyncio.ensure_future(program.run()) for program in senders + programs + handlers]
        life = Rounds(place, judge, calm, kinds, longest, together)
        await life.recover()
        for number in range(count):
            before = len(judge.faults)
            await life.one(lambda text, number=number: tell(f"{number + 1}. {text}"))
            failed = [task for task in tasks if task.done()]
            assert not failed, failed
            for fault in some_of_each(judge.faults[before:]):
                tell(f"BROKEN, {fault}")
        await end(tasks)
        (folder / "sends").write_text("".join(f"{send}\n" for sender in senders for send in sender.sends))
        return Result(count, life.kinds, judge, life.took, programs, place, time.monotonic() - started)
    finally:
        for task in tasks:
            task.cancel()
        await place.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--only", action="append", choices=sorted(KINDS), help="a fault; may be repeated")
    parser.add_argument("--longest", type=float, default=12, help="how many seconds a fault may last")
    parser.add_argument("--rate", type=float, default=50, help="events a second")
    parser.add_argument("--transport", default="websocket", choices=("websocket", "polling"))
    parser.add_argument("--copies", type=int, default=0, help="how many replicas of Redis must confirm; it has one more")
    parser.add_argument("--keep", action="store_true", help="leave the folder with logs and ledger")
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gw-"))
    folder.chmod(0o755)
    try:
        result = asyncio.run(rounds(folder, options.rounds, options.seed, lambda text: print(text, flush=True),
                                    options.only, options.longest, rate=options.rate, transport=options.transport,
                                    copies=options.copies))
        print(result)
        result.check()
    finally:
        print(folder) if options.keep else shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
