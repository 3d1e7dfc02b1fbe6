"""Thousands of programs that follow one counting upstream, in one process: followers.py SOCKET COUNT UPSTREAM

Each is a connection of its own with a subscription to "tick", whose first argument is a number that only counts up. Prints
"ready" when each has heard one. Then a line on standard input is a question: "for COUNT" is answered when each has heard so
many numbers more, "until NUMBER" when each has heard that one. The answer is a line of JSON: the longest
time in which one of them heard nothing since the answer before, and what all have heard since the beginning. A connection
that ends is the end of it all."""

import collections
import gc
import json
import re
import select
import socket
import sys
import time

TICK = re.compile(rb'"event":"tick","args":\[(\d+)[],]')


class Follower:
    """One program: the last number that it has heard, and when."""

    __slots__ = ("socket", "rest", "last", "heard")

    def __init__(self, path, upstream):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.socket.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "subscribe", "params": {
            "upstream": upstream, "events": ["tick"]}}).encode() + b"\n")
        self.socket.setblocking(False)
        self.rest, self.last, self.heard = b"", 0, time.monotonic()


class Followers:
    """All of them."""

    def __init__(self, path, count, upstream):
        self.poll = select.epoll()
        self.members = {}
        self.totals = collections.Counter()
        self.silence = 0
        # The number that each is to hear, and how many have not.
        self.goal, self.missing = 1, count
        for _ in range(count):
            one = Follower(path, upstream)
            self.members[one.socket.fileno()] = one
            self.poll.register(one.socket, select.EPOLLIN)

    def read(self, one):
        try:
            data = one.socket.recv(32_768)
        except BlockingIOError:
            return
        if not data:
            raise SystemExit(f"a connection ended; before that: {dict(self.totals)}")
        text, newline, one.rest = (one.rest + data).rpartition(b"\n")
        if not newline:
            return
        numbers = list(map(int, TICK.findall(text)))
        if len(numbers) != text.count(b"\n") + 1:
            self.look(text)
        if numbers:
            self.take(one, numbers)

    def take(self, one, numbers):
        now = time.monotonic()
        if one.last:
            self.silence = max(self.silence, now - one.heard)
            if numbers != list(range(one.last + 1, one.last + 1 + len(numbers))):
                self.judge(one.last, numbers)
        before, one.last, one.heard = one.last, max(one.last, *numbers), now
        self.totals["events"] += len(numbers)
        if before < self.goal <= one.last:
            self.missing -= 1

    def judge(self, last, numbers):
        """Tells what is wrong with numbers that do not simply go on."""
        for number in numbers:
            if number <= last:
                self.totals["doubled"] += 1
            else:
                self.totals["lost"] += number - last - 1
                last = number

    def look(self, text):
        """Counts what is no event: the first answer, and what should not come."""
        for line in text.split(b"\n"):
            message = json.loads(line)
            if "error" in message:
                raise SystemExit(f"a call failed: {message}")
            if message.get("method") != "event" and "method" in message:
                self.totals[message["method"]] += 1

    def told(self):
        totals = {name: self.totals[name] for name in ("events", "lost", "doubled", "gap")}
        return json.dumps({"silence": round(self.silence, 3), **totals})

    def ask(self, word, number):
        last = [one.last for one in self.members.values()]
        self.goal = int(number) + (max(last) if word == "for" else 0)
        self.missing = sum(one < self.goal for one in last)

    def run(self):
        asked = "ready"
        self.poll.register(0, select.EPOLLIN)
        while True:
            for number, _ in self.poll.poll():
                if number:
                    self.read(self.members[number])
                elif asked := sys.stdin.readline():
                    self.ask(*asked.split())
                else:
                    return
            if asked and not self.missing:
                print("ready" if asked == "ready" else self.told(), flush=True)
                asked, self.silence = "", 0


if __name__ == "__main__":
    gc.disable()
    Followers(sys.argv[1], int(sys.argv[2]), sys.argv[3]).run()
