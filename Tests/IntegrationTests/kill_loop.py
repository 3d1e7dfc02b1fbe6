"""Kills the daemon at random moments and counts what it promised.

Programs send durable events with retries at random rates; the daemon is killed as the kernel would kill it, and started
again, over and over, and so is the server now and then. In the end every send that was answered has to be in the server's
ledger, in the order of each program, and no key may belong to two sends.

`python kill_loop.py --rounds 500` is the long form; the test suite runs a short one.
"""

import argparse
import asyncio
import contextlib
import json
import pathlib
import random
import shutil
import tempfile
import time

import processes
from chat import VENVS
from daemon import Daemon
from local_client import CallError, LocalClient
from patience import SOON, end, within
from programs import GATEWAYD, ROOT


class LedgerServer:
    """The server; `kill` and `start` keep its port and its ledger."""

    def __init__(self, folder):
        self.ledger = folder / "ledger"
        self.port = 0
        self.process = None

    async def start(self):
        self.process = await processes.spawn(
            VENVS / "eio4" / "bin" / "python", ROOT / "Tests" / "servers" / "ledger_server.py", "--port", self.port,
            "--ledger", self.ledger, stdout=asyncio.subprocess.PIPE)
        line = await within(self.process.stdout.readline(), "the ledger server to start", 4 * SOON)
        self.port = json.loads(line)["port"]

    async def kill(self):
        await processes.kill(self.process)

    def lines(self):
        return self.ledger.read_text().split() if self.ledger.exists() else []


class Payer:
    """A program that sends one event after the other and writes down what was promised to it. What was not answered is
    sent again with the same key; a program without keys goes on with the next one."""

    def __init__(self, name, daemon, url, rate, keyed):
        self.name, self.daemon, self.url, self.rate, self.keyed = name, daemon, url, rate, keyed
        self.promised = []
        self.number = 0
        self.filling = self.next_filling()
        self.repeated = 0

    @staticmethod
    def next_filling():
        return "x" * random.randrange(400)

    async def run(self):
        """Until it is cancelled."""
        while True:
            try:
                client = await LocalClient.connect(self.daemon.socket)
            except OSError:
                await asyncio.sleep(0.01)
                continue
            try:
                while True:
                    await self.pay(client)
                    await asyncio.sleep(random.expovariate(self.rate))
            except (OSError, CallError):
                self.number += not self.keyed
            finally:
                with contextlib.suppress(OSError):
                    await client.close()

    async def pay(self, client):
        if client.closed:
            raise ConnectionError("the daemon is gone")
        key = f"{self.name}-{self.number}"
        keyed = {"key": key} if self.keyed else {}
        result = await client.call(
            "send", url=self.url, event="paid", args=[key, self.filling], delivery="durable", retries=100,
            ack_timeout=1_000, **keyed)
        self.repeated += result.get("duplicate", False)
        self.promised.append(key)
        self.number += 1
        self.filling = self.next_filling()


class Result:
    """What the rounds showed."""

    def __init__(self, payers, lines, entries, seconds):
        self.promised = [key for payer in payers for key in payer.promised]
        self.repeated = sum(payer.repeated for payer in payers)
        self.received = lines
        self.missing = sorted(set(self.promised) - set(lines))
        self.duplicates = len(lines) - len(set(lines))
        self.seconds = seconds
        self.disordered = [payer.name for payer in payers if not in_order(payer.name, lines)]
        keys = [entry["key"] for entry in entries if "key" in entry]
        self.doubled = sorted({key for key in keys if keys.count(key) > 1})

    def __str__(self):
        return (f"{len(self.promised)} promised, {len(set(self.received))} received, {len(self.missing)} missing, "
                f"{self.duplicates} received again with the same key, {self.repeated} repeated sends recognised, "
                f"{len(self.doubled)} keys with two sends, out of order: {self.disordered or 'none'}; "
                f"{self.seconds:.0f} s")

    def check(self):
        assert not self.missing, f"{self}: {self.missing[:20]}"
        assert not self.doubled, f"{self}: {self.doubled[:20]}"
        assert not self.disordered, str(self)


def in_order(name, lines):
    """Whether the first receipts of a program's events are in its order."""
    first = dict.fromkeys(int(line.rpartition("-")[2]) for line in lines if line.rpartition("-")[0] == name)
    return list(first) == sorted(first)


async def rounds(folder, count, seed=None, tell=lambda text: None):
    """Runs the loop; returns a `Result`."""
    seed = seed if seed is not None else random.randrange(1 << 32)
    random.seed(seed)
    tell(f"seed {seed}")
    started = time.monotonic()
    server = LedgerServer(folder)
    place = folder / "daemon"
    place.mkdir()
    window = random.choice((1, 1, 8))
    tell(f"retry_window {window}")
    daemon = Daemon(GATEWAYD, place, {
        "outbox": {"keep": "24h", "keep_entries": 1_000_000}, "defaults": {"retry_window": window}})
    await server.start()
    url = f"http://127.0.0.1:{server.port}"
    # A user has 10,000 keys a day.
    payers = [Payer(f"p{number}", daemon, url, rate, keyed=rate < 100)
              for number, rate in enumerate((20, 50, 400, 2_000))]
    try:
        await daemon.start()
        tasks = [asyncio.ensure_future(payer.run()) for payer in payers]
        for number in range(count):
            await one_round(daemon, server)
            assert not any(task.done() for task in tasks), tasks
            if number % 25 == 24:
                tell(f"{number + 1} rounds, {sum(len(payer.promised) for payer in payers)} promised")
        await end(tasks)
        await daemon.until(lambda status: status["daemon"]["outbox"]["queued"]["count"] == 0, "the outbox to empty",
                           patience=120)
        client = await daemon.client()
        entries = (await client.call("outbox.list", limit=10_000))["entries"]
        return Result(payers, server.lines(), entries, time.monotonic() - started)
    finally:
        await daemon.close()
        await server.kill()


async def one_round(daemon, server):
    """The daemon lives for a random moment; now and then the server dies with it, before it, or after it."""
    fate = random.random()
    if fate < 0.1:
        await server.kill()
    await asyncio.sleep(random.choice((0.005, 0.05, 0.3)) * random.random())
    await daemon.crash()
    if 0.1 <= fate < 0.2:
        await server.kill()
    await daemon.start()
    if fate < 0.2:
        await asyncio.sleep(random.random() * 0.2)
        await server.start()


def main(rounds=rounds, description=__doc__):
    """Runs `rounds` until it is done; the command line says how many."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gw-"))
    try:
        result = asyncio.run(rounds(folder, options.rounds, options.seed, lambda text: print(text, flush=True)))
        print(result)
        result.check()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
