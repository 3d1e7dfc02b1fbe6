"""Kills the daemon at random moments and looks at what subscribers were given.

Two servers count, one with connection state recovery and one without; programs subscribe, among them gatewayctl, and go on
where they left off after their own restarts and the daemon's, which is killed as the kernel would kill it, or stopped in
order, over and over; now and then a server dies too. In the end each subscriber has every number once and in order, or
inside a gap that it was told of, and no (epoch, seq) ever stood for two events.

`python subscriber_loop.py --rounds 500` is the long form; the test suite runs a short one.
"""

import asyncio
import contextlib
import json
import random
import time

import kill_loop
import processes
from chat import VENVS
from daemon import Daemon
from local_client import connected_socket
from patience import SOON, end, within
from programs import GATEWAYCTL, GATEWAYD, ROOT


class CountingServer:
    """A server that counts; `kill` and `start` keep its port and its ledger."""

    def __init__(self, folder, name, arguments=()):
        self.ledger = folder / f"{name}.ledger"
        self.arguments = arguments
        self.port = 0
        self.process = None
        self.kills = 0

    async def start(self):
        self.process = await processes.spawn(
            VENVS / "eio4" / "bin" / "python", ROOT / "Tests" / "servers" / "numbering_server.py", "--port", self.port,
            "--ledger", self.ledger, *self.arguments, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
        line = await within(self.process.stdout.readline(), "the counting server to start", 4 * SOON)
        self.port = json.loads(line)["port"]

    async def kill(self):
        self.kills += 1
        await processes.kill(self.process)

    async def finish(self):
        """Ends the counting; returns the last number."""
        self.process.stdin.close()
        line = await within(self.process.stdout.readline(), "the counting server to end counting", 4 * SOON)
        return json.loads(line)["last"]

    def count(self, word):
        return self.ledger.read_text().split().count(word)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"


class Account:
    """What one subscriber was given, judged as it comes."""

    def __init__(self, name, meanings):
        self.name = name
        self.meanings = meanings
        self.position = None
        self.last = None
        self.behind_gap = False
        self.events = self.gaps = self.missed = self.lost = self.doubled = 0
        self.epochs = set()
        self.faults = []

    def fault(self, text):
        self.faults.append(f"{self.name}: {text}")

    def event(self, epoch, seq, event, args):
        self.epochs.add(epoch)
        if self.meanings.setdefault((epoch, seq), (event, args[0])) != (event, args[0]):
            self.fault(f"{epoch}:{seq} stands for {event} {args[0]} and for {self.meanings[epoch, seq]}")
        if self.position and self.position["epoch"] == epoch and seq <= self.position["seq"]:
            self.fault(f"{epoch}:{seq} came after {self.position}")
        self.position = {"epoch": epoch, "seq": seq}
        if event != "tick":
            return
        self.events += 1
        number = args[0]
        if self.last is not None:
            if number <= self.last:
                self.doubled += 1
                self.fault(f"{number} came after {self.last}")
            elif number > self.last + 1:
                self.missed += number - self.last - 1
                if not self.behind_gap:
                    self.lost += number - self.last - 1
                    self.fault(f"{self.last + 1} to {number - 1} were lost without a gap, at {epoch}:{seq}")
        self.last = number
        self.behind_gap = False

    def gap(self, params):
        self.gaps += 1
        self.behind_gap = True
        self.position = {"epoch": params["epoch"],
                         "seq": params.get("to", params.get("seq", self.position and self.position["seq"]))}


class Subscriber:
    """A program that follows the protocol, and ends itself now and then."""

    def __init__(self, account, daemon, upstream, patience):
        self.account, self.daemon, self.upstream, self.patience = account, daemon, upstream, patience
        self.restarts = 0

    async def run(self):
        """Until it is cancelled."""
        while True:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                await self.once()
            self.restarts += 1
            await asyncio.sleep(0.01)

    async def once(self):
        reader, writer = await asyncio.open_unix_connection(sock=connected_socket(self.daemon.socket), limit=1 << 24)
        try:
            params = {"upstream": self.upstream, "subscription": "s"}
            if self.account.position:
                params["since"] = self.account.position
            writer.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "subscribe", "params": params}).encode() + b"\n")
            left = random.randrange(1, 2 * self.patience)
            while left := left - 1:
                # A line that the daemon did not live to end says nothing.
                message = json.loads(await reader.readuntil(b"\n"))
                self.take(message)
        finally:
            writer.close()

    def take(self, message):
        if "error" in message:
            assert message["error"]["data"]["retry"], message
            raise ConnectionError("the daemon is about to stop")
        params = message.get("params")
        if message.get("method") == "event":
            self.account.event(self.account.position["epoch"], params["seq"], params["event"], params["args"])
        elif message.get("method") == "gap":
            self.account.gap(params)
        elif "result" in message and not self.account.position:
            self.account.position = {"epoch": message["result"]["epoch"], "seq": message["result"]["seq"]}


class Ctl:
    """`gatewayctl subscribe`, which lives through the daemon's deaths and is killed itself now and then. Its gaps are on
    another stream; a change of the epoch tells where they were."""

    def __init__(self, account, daemon, upstream):
        self.account, self.daemon, self.upstream = account, daemon, upstream
        self.restarts = 0

    async def run(self):
        while True:
            since = []
            if position := self.account.position:
                since = ["--since", f"{position['epoch']}:{position['seq']}"]
            process = await processes.spawn(
                GATEWAYCTL, "--socket", self.daemon.socket, "--timeout", "60s", "subscribe", *since, self.upstream,
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL)
            try:
                left = random.randrange(1, 20_000)
                while (left := left - 1) and (line := await process.stdout.readline()).endswith(b"\n"):
                    event = json.loads(line)
                    if self.account.position and self.account.position["epoch"] != event["epoch"]:
                        self.account.behind_gap = True
                        self.account.gaps += 1
                    self.account.event(event["epoch"], event["seq"], event["event"], event["args"])
            finally:
                await processes.kill(process)
            self.restarts += 1


class Result:
    """What the rounds showed."""

    def __init__(self, rounds, servers, accounts, last, seconds):
        self.rounds, self.accounts, self.seconds = rounds, accounts, seconds
        self.servers = servers
        self.last = last
        self.faults = [fault for account in accounts for fault in account.faults]
        for account in accounts:
            wanted = last[account.name.partition("/")[0]]
            if account.last != wanted:
                self.faults.append(f"{account.name}: ends with {account.last} instead of {wanted}")
        # An epoch ends only where the server could not go on.
        epochs = {epoch for account in accounts if account.name.startswith("recovering/") for epoch in account.epochs}
        self.epochs = len(epochs)
        self.fresh = servers["recovering"].count("fresh")
        if self.epochs > self.fresh:
            self.faults.append(f"{self.epochs} epochs of a server that began afresh {self.fresh} times")

    def __str__(self):
        accounts = "; ".join(f"{one.name} {one.events} events, {one.missed} inside {one.gaps} gaps" for one in self.accounts)
        kills = ", ".join(f"{name} {server.kills}" for name, server in self.servers.items())
        return (f"{self.rounds} rounds, numbers up to {self.last}; server deaths: {kills}; the recovering one began afresh "
                f"{self.fresh} times, recovered {self.servers['recovering'].count('recovered')} times: {self.epochs} epochs"
                f"; {accounts}; {len(self.faults)} faults; {self.seconds:.0f} s")

    def check(self):
        assert not self.faults, f"{self}: {self.faults[:20]}"
        assert all(account.events for account in self.accounts), str(self)


async def rounds(folder, count, seed=None, tell=lambda text: None):
    """Runs the loop; returns a `Result`."""
    seed = seed if seed is not None else random.randrange(1 << 32)
    random.seed(seed)
    tell(f"seed {seed}")
    started = time.monotonic()
    servers = {"plain": CountingServer(folder, "plain"),
               "recovering": CountingServer(folder, "recovering", ["--recovery"])}
    for server in servers.values():
        await server.start()
    place = folder / "daemon"
    place.mkdir()
    history = {"disk": True, "events": 20_000, "bytes": "16MiB"}
    reconnect = {"base": "10ms", "cap": "50ms"}
    daemon = Daemon(GATEWAYD, place, {"upstream": {
        name: {"url": server.url, "keep": "always", "history": history, "reconnect": reconnect}
        for name, server in servers.items()}})
    programs = []
    for name in servers:
        meanings = {}
        programs += [Subscriber(Account(f"{name}/{number}", meanings), daemon, name, patience)
                     for number, patience in enumerate((30, 3_000, 1_000_000))]
        programs.append(Ctl(Account(f"{name}/ctl", meanings), daemon, name))
    accounts = [program.account for program in programs]
    try:
        await daemon.start()
        tasks = [asyncio.ensure_future(program.run()) for program in programs]
        for number in range(count):
            await one_round(daemon, servers)
            failed = [task for task in tasks if task.done()]
            assert not failed, failed
            if number % 25 == 24:
                tell(f"{number + 1} rounds, {sum(account.events for account in accounts)} events, "
                     f"{sum(len(account.faults) for account in accounts)} faults")
        last = await quiesce(daemon, servers, accounts)
        await end(tasks)
        return Result(count, servers, accounts, last, time.monotonic() - started)
    finally:
        await daemon.close()
        for server in servers.values():
            await processes.kill(server.process)


async def quiesce(daemon, servers, accounts):
    """Lets everybody connect and the counting end; returns the last numbers, which everybody should have by then."""
    await daemon.until(
        lambda status: len(up := status["connections"]) == len(servers) and all(
            one["state"] == "connected" for one in up), "the upstreams to be up", patience=6 * SOON)
    await asyncio.sleep(0.5)
    last = {name: await server.finish() for name, server in servers.items()}
    deadline = time.monotonic() + 6 * SOON
    while time.monotonic() < deadline and any(
            account.last != last[account.name.partition("/")[0]] for account in accounts):
        await asyncio.sleep(0.05)
    return last


async def one_round(daemon, servers):
    """The daemon lives for a random moment; now and then a server dies with it, before it, or after it."""
    fate = random.random()
    victim = random.choice(list(servers.values()))
    if fate < 0.05:
        await victim.kill()
    await asyncio.sleep(random.choice((0.005, 0.05, 0.3, 0.8)) * random.random())
    if random.random() < 0.1:
        await daemon.stop()
    else:
        await daemon.crash()
    if 0.05 <= fate < 0.1:
        await victim.kill()
    await daemon.start()
    if fate < 0.1:
        await asyncio.sleep(random.random() * 0.2)
        await victim.start()


if __name__ == "__main__":
    kill_loop.main(rounds, __doc__)
