"""Compares what a fleet promised, as `docs/fleet.md` has it, with what its server noted and its subscribers were given."""

import collections

from fleet_place import Place
from fleet_programs import ONCE


class Judge:
    """Compares what was promised with what the server noted."""

    # After these a durable send may be written once more.
    ENDS = (Place.kill_host, Place.stop_host, Place.kill_all, Place.empty_redis)
    FAILOVERS = (Place.fail_over_dead, Place.fail_over_paused, Place.fail_over_alive)

    def __init__(self, senders, accounts, silence, handlers=()):
        self.senders, self.accounts, self.silence, self.handlers = senders, accounts, silence, handlers
        # Which hosts were asked each question, and which one answered it.
        self.asked = collections.defaultdict(list)
        self.answered = {}
        self.questions = self.answers = 0
        self.sends = {}
        self.looked = dict.fromkeys(senders, 0)
        # What came once more after it had been judged.
        self.again = []
        self.firsts = {}
        self.owners = {}
        self.opens = []
        self.top = 0
        # Links of terms that a failover has undone.
        self.undone = set()
        self.overlaps = 0
        self.in_window = 0
        self.counts = collections.Counter()
        self.faults = []

    def hear(self, notes, happenings):
        """Takes the server's notes: the order of each program, and no older link behind a newer one."""
        for sender in self.senders:
            self.sends |= {send.key: send for send in sender.sends[self.looked[sender]:]}
        for note in notes:
            if "open" in note:
                self.owners[note["link"]] = note["open"]
                self.opens.append(note)
            if "asked" in note:
                self.questions += 1
            if "answered" in note:
                self.answered[note["answered"]] = note["by"]
            if "key" not in note:
                continue
            is_excused = self.look_at_link(note, happenings)
            send = self.sends[note["key"]]
            send.arrivals.append(note)
            if send.is_judged:
                self.again.append(send)
            lane, _, number = note["key"].rpartition("-")
            if len(send.arrivals) == 1:
                before = self.firsts.get(lane, -1)
                if (int(number) < before and not is_excused
                        and not self.was_adopted(self.sends[f"{lane}-{before}"], note["at"], happenings)):
                    self.fault("out of order",
                               f"{note['key']} ({send.level}) arrived behind {lane}-{self.firsts[lane]}")
                self.firsts[lane] = max(self.firsts.get(lane, -1), int(number))

    def was_adopted(self, first, at, happenings):
        """Whether a durable send may have left before what its host still had: another host wrote it, because that one was
        taken for dead, and lived."""
        others = self.owners[first.arrivals[0]["link"]] != f"h{first.host}"
        return first.level not in ONCE and others and any(
            one.number in (None, first.host) and one.away >= self.silence - 1.5 and one.began <= at
            and (one.ended or at) >= first.made - 1 for one in happenings)

    def look_at_link(self, note, happenings):
        """A process that is stopped exactly between its look at the clock and the call writes that one call when it goes
        on, behind what the next link has: the one window that is named. Returns whether the note was such a call. A failover may
        undo a term: the host before goes on with its link, and the newer one is silent from then on."""
        if note["link"] >= self.top and note["link"] not in self.undone:
            self.top = note["link"]
            return False
        if note["link"] not in self.undone and self.failed_over(note["at"], happenings):
            self.undone.update(range(note["link"] + 1, self.top + 1))
            self.top = note["link"]
            return False
        self.overlaps += 1
        owner = self.owners[note["link"]]
        paused = [one for one in happenings if one.fault.act is Place.pause_host and f"h{one.number}" == owner
                  and one.ended and one.ended - 0.01 <= note["at"] < one.ended + 0.1]
        if paused:
            self.in_window += 1
        else:
            self.fault("two links", f"{note['key']} came on link {note['link']} of {owner}, behind one on link {self.top} of "
                                    f"{self.owners[self.top]}")
        return bool(paused)

    def failed_over(self, at, happenings):
        return any(one.fault.act in self.FAILOVERS and one.began <= at and (one.ended or at) >= at - self.silence
                   for one in happenings)

    def settle(self, happenings):
        """All is quiet: every send has its outcome and has arrived, or never will."""
        for sender in self.senders:
            for send in sender.sends[self.looked[sender]:]:
                self.judge(send, happenings)
            self.looked[sender] = len(sender.sends)
            for fault in sender.faults:
                self.fault("protocol", fault)
            sender.faults = []
        for send in self.again:
            self.judge_copies(send, happenings)
        self.again = []
        self.settle_questions()
        for account in self.accounts:
            for fault in account.faults:
                self.fault("events", fault)
            account.faults = []

    def settle_questions(self):
        """Each was asked of one host at most, and no other one has answered it."""
        for handler in self.handlers:
            for number in handler.asked:
                self.asked[number].append(handler.name)
                if len(self.asked[number]) > 1:
                    self.fault("asked twice", f"question {number} of {', '.join(self.asked[number])}")
            handler.asked = []
        for number, answer in self.answered.items():
            if answer != [number, *self.asked[number]]:
                self.fault("wrong answer", f"question {number} of {self.asked[number]} was answered with {answer}")
        self.answers += len(self.answered)
        self.answered = {}

    def judge(self, send, happenings):
        send.is_judged = True
        level, copies = send.level, len(send.arrivals)
        self.counts[level, "made"] += 1
        self.counts[level, "promised"] += send.is_promised
        self.counts[level, "arrived"] += copies > 0
        if send.is_promised and not copies:
            self.counts[level, "missing"] += 1
            self.fault("missing", f"{send.key} ({level}) was promised, and is missing")
        if copies > 1:
            self.judge_copies(send, happenings)

    def judge_copies(self, send, happenings):
        self.counts[send.level, "doubled"] += 1
        if send.level in ONCE:
            self.fault("more than once", str(send))
        elif not all(self.is_excused(send, first, second, happenings)
                     for first, second in zip(send.arrivals, send.arrivals[1:])):
            self.fault("twice without need", str(send))

    def is_excused(self, send, first, second, happenings):
        """Whether since the send was made the holder or the host itself died, Redis forgot everything, or the host was
        without it for too long: it takes a moment until that is found again, and the first arrival may be later. A host
        that Redis has forgotten hears so when it says the next time that it lives."""
        earliest = send.made - 1 - self.silence / 3
        if first["link"] != second["link"]:
            return True
        for one in happenings:
            if one.began > second["at"] or (one.ended or one.began) < earliest:
                continue
            is_own = one.number in (None, send.host)
            if is_own and (one.fault.act in self.ENDS or one.away >= self.silence - 1.5):
                return True
        return False

    def fault(self, promise, text):
        self.faults.append(f"{promise}: {text}")


def some_of_each(faults):
    """The first ones of each promise, and how many they are."""
    kinds = collections.defaultdict(list)
    for fault in faults:
        kinds[fault.partition(":")[0]].append(fault)
    return [text for some in kinds.values()
            for text in some[:3] + ([f"{some[0].partition(':')[0]}: {len(some)} in all"] if len(some) > 3 else [])]
