"""A local program that behaves badly when it is told to, as a process of its own: neighbour.py KIND SOCKET URL SIZE RATE [CONTROL].

Says `ready`. On stdin `go` and `rest`; each is answered with the same word once it is so. SIZE and RATE are of the messages that it sends; at
CONTROL an upstream is told to send at that rate meanwhile. `harness/fairness.py` says where it runs.
"""

import json
import os
import select
import socket
import sys

from local import Local

# Calls at a time: fewer than a client may have open.
BATCH = 200
# Events that wait for one that does not read; older ones are dropped.
QUEUE = 10


def line(method, **params):
    return json.dumps({"jsonrpc": "2.0", "id": "%d", "method": method, "params": params}).replace('"%d"', "%d").encode()


class Feed:
    """The upstream's events, as long as this is open; nothing without a control socket."""

    def __init__(self, control, rate):
        self.socket = None
        if control:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(control)
            self.socket.sendall(f"start 100000000 100000000 {rate}\n".encode())

    def close(self):
        if self.socket:
            self.socket.close()


class Neighbour:
    """One kind: what it does once when it is told to go, again and again until it is told to rest, and then."""

    def __init__(self, path, url, size, rate, control):
        self.path, self.url, self.size, self.rate, self.control = path, url, size, rate, control
        self.client = Local(path)

    # What `step` waits for beside the next word, and how long at most.
    awaited = ()
    pause = 0.0

    def go(self):
        pass

    def step(self):
        pass

    def rest(self):
        pass


class Stopped(Neighbour):
    """Subscribes to the same events as everybody and never reads again: what it may leave unread is full at once."""

    pause = None

    def go(self):
        self.feed = Feed(self.control, self.rate)
        self.deaf = Local(self.path)
        self.deaf.call("subscribe", {"url": self.url, "last": 1000, "queue": QUEUE})

    def rest(self):
        self.deaf.close()
        self.feed.close()


class Flood(Neighbour):
    """Calls as fast as it is answered, many calls at a time."""

    def go(self):
        call = self.call()
        self.batch = b"".join(call % number + b"\n" for number in range(BATCH))

    def step(self):
        self.client.socket.sendall(self.batch)
        for _ in range(BATCH):
            if not self.client.lines.readline():
                sys.exit()


class Status(Flood):
    def call(self):
        return line("status")


class Requests(Flood):
    def call(self):
        return line("request", url=self.url, event="echo", args=["x" * 200])


class LargeSends(Neighbour):
    """Sends so many large messages a second."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.pause = 1 / self.rate
        self.call = line("send", url=self.url, event="large", args=["x" * self.size]) % 1 + b"\n"
        self.client.call("send", {"url": self.url, "event": "first"})

    def step(self):
        self.client.socket.sendall(self.call)
        self.client.lines.readline()


class LargeEvents(Neighbour):
    """Subscribes to large events, and reads them."""

    pause = None

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.client.call("subscribe", {"url": self.url})
        self.awaited = (self.client.socket,)
        self.chunk = bytearray(1 << 20)

    def go(self):
        self.feed = Feed(self.control, self.rate)

    def step(self):
        if select.select(self.awaited, (), (), 0)[0]:
            self.client.socket.recv_into(self.chunk)

    def rest(self):
        self.feed.close()
        while select.select(self.awaited, (), (), 0.02)[0]:
            self.client.socket.recv_into(self.chunk)


KINDS = {"stopped": Stopped, "status": Status, "requests": Requests, "large_sends": LargeSends, "large_events": LargeEvents}


def word(awaited, pause):
    """What it is told, or None when that is nothing yet."""
    if sys.stdin not in select.select((sys.stdin, *awaited), (), (), pause)[0]:
        return None
    told = os.read(sys.stdin.fileno(), 64).decode().strip()
    if not told:
        sys.exit()
    return told


def obey(neighbour):
    print("ready", flush=True)
    while True:
        told = word((), None)
        neighbour.go()
        print(told, flush=True)
        told = None
        while told is None:
            neighbour.step()
            told = word(neighbour.awaited, neighbour.pause)
        neighbour.rest()
        print(told, flush=True)


if __name__ == "__main__":
    kind, path, url, size, rate, *control = sys.argv[1:]
    obey(KINDS[kind](path, url, int(size), int(rate), control[0] if control else None))
