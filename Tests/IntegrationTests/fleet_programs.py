"""The programs of the fleet's loop: they send and subscribe on hosts that die, and write down what they were promised and
given."""

import asyncio
import collections
import contextlib
import json
import random
import time

from local_client import CallError, LocalClient, connected_socket
from subscriber_loop import Account, Subscriber

ONCE = ("sent", "accepted", "request")
"""What is written at most once; "durable" and "retried" may come twice."""


class Send:
    """One send of a host, what was promised of it, and where it arrived."""

    def __init__(self, key, level, host):
        self.key, self.level, self.host = key, level, host
        self.made = time.monotonic()
        self.outcome = None
        self.arrivals = []
        self.is_judged = False

    def __str__(self):
        arrivals = ", ".join(f"{one['at']:.3f} on {one['link']}" for one in self.arrivals)
        return f"{self.made:.3f} {self.key} {self.level} {self.outcome}: {arrivals or 'never'}"

    @property
    def is_promised(self):
        return self.outcome == "done" and self.level != "accepted"


class Sender:
    """A program of one host that sends one message after the other, at a random rate. What it is not answered it does not
    send again."""

    def __init__(self, name, host, number, levels, rate):
        self.name, self.host, self.number, self.levels, self.rate = name, host, number, levels, rate
        self.sends = []
        self.open = set()
        self.going = asyncio.Event()
        self.going.set()
        self.quiet = asyncio.Event()
        self.faults = []

    async def run(self):
        """Until it is cancelled."""
        while True:
            try:
                client = await LocalClient.connect(self.host.socket)
            except OSError:
                if not self.going.is_set():
                    self.quiet.set()
                await asyncio.sleep(0.01)
                continue
            try:
                while not client.closed:
                    await self.one(client)
                    await asyncio.sleep(random.expovariate(self.rate))
            except OSError:
                pass
            finally:
                await self.left(client)

    async def left(self, client):
        """A line that the daemon did not live to end says nothing; any other that is wrong is a fault."""
        failure = client.task.done() and not client.task.cancelled() and client.task.exception()
        if isinstance(failure, AssertionError) and not isinstance(failure.args[:1] and failure.args[0], bytes):
            self.faults.append(f"{self.name} was told {failure}")
        with contextlib.suppress(OSError):
            await client.close()

    async def one(self, client):
        if not self.going.is_set():
            await asyncio.gather(*self.open, return_exceptions=True)
            self.quiet.set()
            await self.going.wait()
        if len(self.open) > 200:
            return
        send = Send(f"{self.name}-{len(self.sends)}", random.choice(self.levels), self.number)
        self.sends.append(send)
        future = client.post(*self.words(send))
        self.open.add(future)
        future.add_done_callback(lambda done: self.ended(send, done))
        if send.level not in ("sent", "request"):
            # It is accepted before the next one is sent.
            with contextlib.suppress(OSError, CallError):
                await client.result(asyncio.shield(future), 120)

    def words(self, send):
        params = {"upstream": "chat", "event": "e", "args": [send.key, "x" * random.randrange(400)], "timeout": 20_000}
        if send.level == "request":
            return "request", params
        del params["timeout"]
        if send.level == "retried":
            return "send", {**params, "delivery": "durable", "retries": 100, "ack_timeout": 20_000}
        return "send", {**params, "delivery": send.level}

    def ended(self, send, future):
        self.open.discard(future)
        if future.cancelled() or future.exception():
            send.outcome = "unknown"
            return
        reply = future.result()
        send.outcome = reply["error"]["data"]["type"] if "error" in reply else "done"
        if send.level == "request" and send.outcome == "done" and reply["result"]["args"] != [send.key]:
            self.faults.append(f"the request {send.key} was answered with {reply['result']['args']}")

    def pause(self):
        """Sends nothing more; `quiet` is set when it knows what became of everything."""
        self.quiet.clear()
        self.going.clear()

    def go_on(self):
        self.going.set()


class Handler:
    """A program of one host that answers the server's questions, each with its number and the host."""

    def __init__(self, host):
        self.host, self.name = host, host.folder.name
        self.asked = []

    async def run(self):
        """Until it is cancelled."""
        while True:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                await self.once()
            await asyncio.sleep(0.01)

    async def once(self):
        reader, writer = await asyncio.open_unix_connection(sock=connected_socket(self.host.socket), limit=1 << 24)

        def call(number, method, params):
            writer.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n")

        try:
            call(0, "subscribe", {"upstream": "chat", "events": ["ask"], "answer": True})
            while True:
                message = json.loads(await reader.readuntil(b"\n"))
                if "error" in message and message["id"] == 0:
                    raise ConnectionError(f"there is no subscription: {message}")
                params = message.get("params", {})
                if "ack" in params:
                    (number,) = params["args"]
                    self.asked.append(number)
                    call(number, "respond", {"ack": params["ack"], "args": [[number, self.name]]})
        finally:
            writer.close()


class SharedAccount(Account):
    """What a subscriber was given, and whether it was the same as everywhere else."""

    def __init__(self, name, meanings):
        super().__init__(name, meanings)
        self.reasons = {}
        self.recent = collections.deque(maxlen=8)

    def fault(self, text):
        super().fault(f"{text}; it was told last: {'; '.join(self.recent)}")

    def given(self, params):
        self.event(self.position["epoch"], params["seq"], params["event"], params["args"])
        place = (self.position["epoch"], params["seq"], "whole")
        whole = (params["time"], params["args"])
        if self.meanings.setdefault(place, whole) != whole:
            self.fault(f"{place} is {whole} here and {self.meanings[place]} elsewhere")

    def gap(self, params):
        super().gap(params)
        self.reasons[params["reason"]] = self.reasons.get(params["reason"], 0) + 1


class Follower(Subscriber):
    """A program that subscribes behind what it was given last. One of several hosts changes them as long as it `may_move`."""

    def __init__(self, account, hosts, patience, may_move):
        super().__init__(account, hosts[0], "chat", patience)
        self.hosts, self.may_move = hosts, may_move

    async def once(self):
        if self.may_move.is_set():
            self.daemon = random.choice(self.hosts)
        await super().once()

    def take(self, message):
        self.account.recent.append(f"{self.daemon.folder.name} {json.dumps(message)[:200]}")
        if message.get("method") == "event":
            self.account.given(message["params"])
        else:
            super().take(message)
