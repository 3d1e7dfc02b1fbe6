"""P7: many programs that want the same events, through the gateway and with a client each."""

import socket
import subprocess
from statistics import median

from . import places
from .peers import Gatewayd, Peer, available
from .process import Program
from .table import Table

PROGRAMS = 100
EVENTS = 200
RATE = 50

# What a user writes in Python without the gateway …
CLIENT = """
import asyncio, sys, socketio
async def main(url, events):
    client = socketio.AsyncClient()
    left, over = events, asyncio.Event()
    @client.on("blast")
    def took(text):
        nonlocal left
        left -= 1
        if left == 0: over.set()
    await client.connect(url, transports=["websocket"])
    print("ready", flush=True)
    await over.wait()
    print("done", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""
# … and with it.
LINES = """
import json, socket, sys
lines = socket.socket(socket.AF_UNIX)
lines.connect(sys.argv[1])
lines = lines.makefile("rw")
print(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "subscribe", "params": {"url": sys.argv[2]}}), file=lines, flush=True)
lines.readline()
print("ready", flush=True)
for _ in range(int(sys.argv[3])):
    json.loads(lines.readline())["params"]["args"]
print("done", flush=True)
sys.stdin.read()
"""


class Upstream(Peer):
    """No daemon: every program goes to the server by itself."""

    feed = "socketio"

    def start(self):
        port = self.start_blaster("--to-links", "all")
        self.url = f"http://127.0.0.1:{port}"


class SharedUpstream(Gatewayd):
    def start_blaster(self, *more):
        return super().start_blaster("--to-links", "all", *more)


def python_client(peer):
    return [places.python(), "-c", CLIENT, peer.url, EVENTS]


def python_lines(peer):
    return [places.python(), "-c", LINES, peer.socket, peer.url, EVENTS]


def c_lines(peer):
    return [places.program("listener"), "--socket", peer.socket, "--url", peer.url, "--events", EVENTS]


WAYS = {
    "python-socketio, a client each": (Upstream, python_client),
    "gatewayd, and Python programs that read lines": (SharedUpstream, python_lines),
    "gatewayd, and C programs that read lines": (SharedUpstream, c_lines),
}


def connections(port):
    """How many are established to a port of this machine."""
    with open("/proc/net/tcp") as file:
        rows = [line.split() for line in file][1:]
    return sum(row[2].endswith(f":{int(port):04X}") and row[3] == "01" for row in rows)


def one_round(kind, command):
    with kind() as peer:
        programs = [Program(command(peer)) for _ in range(PROGRAMS)]
        try:
            for program in programs:
                if program.line(120) != "ready":
                    raise RuntimeError("a program is not ready")
            everything = programs + ([peer.daemon] if peer.daemon else [])
            links = connections(peer.url.rsplit(":", 1)[1])
            before = [program.cpu_time() for program in everything]
            with socket.socket(socket.AF_UNIX) as control:
                control.connect(peer.control)
                control.sendall(f"start {EVENTS} {EVENTS} {RATE}\n".encode())
                for program in programs:
                    if program.line(120) != "done":
                        raise RuntimeError("a program did not get its events")
            cpu = [program.cpu_time() - start for program, start in zip(everything, before)]
            memory = [program.memory()["Pss"] for program in everything]
        finally:
            for program in programs:
                program.process.kill()
                program.end()
    return {
        "links": links, "cpu": sum(cpu), "memory": sum(memory) / 1024,
        "daemon cpu": cpu[-1] if peer.daemon else 0, "daemon memory": memory[-1] / 1024 if peer.daemon else 0,
    }  # fmt: skip


def p7(rounds):
    if not places.python():
        print("left out: P7 (`make environments` makes the Python that has python-socketio)")
        return None
    if not available([Gatewayd]):
        return None
    subprocess.run([places.python(), "-c", "import socketio"], check=True)
    runs = {way: [] for way in WAYS}
    for number in range(rounds):
        for way, (kind, command) in WAYS.items():
            runs[way].append(one_round(kind, command))
            print(f"  round {number + 1}: {way}: {runs[way][-1]}", flush=True)
    mid = {way: {key: median(run[key] for run in reports) for key in reports[0]} for way, reports in runs.items()}
    alone = mid[next(iter(WAYS))]
    table = Table(
        "P7", f"{PROGRAMS} programs that want the same events, {RATE} events/s of 200 B (medians of {rounds} interleaved runs)",
        ["way", "upstream connections", "CPU ms in all", "of it gatewayd", "CPU µs per event and program",
         "memory MiB in all (PSS)", "of it gatewayd", "CPU: times less", "memory: times less"],
    )  # fmt: skip
    for way, one in mid.items():
        table.add(
            way, f"{one['links']:.0f}", f"{one['cpu'] * 1000:,.0f}", f"{one['daemon cpu'] * 1000:,.0f}",
            f"{one['cpu'] / EVENTS / PROGRAMS * 1e6:.1f}", f"{one['memory']:,.0f}", f"{one['daemon memory']:,.1f}",
            f"{alone['cpu'] / one['cpu']:.1f}", f"{alone['memory'] / one['memory']:.1f}",
        )  # fmt: skip
    table.headline = "; ".join(
        f"{way}: CPU ÷ {alone['cpu'] / one['cpu']:.1f}, memory ÷ {alone['memory'] / one['memory']:.1f}" for way, one in list(mid.items())[1:]
    )
    for way, one in list(mid.items())[1:]:
        table.target(f"{way}: 1 upstream connection", f"{one['links']:.0f}", one["links"] == 1, rounds)
        for key, name in (("cpu", "CPU"), ("memory", "memory")):
            table.target(f"{way}: ≥ 20 × less {name} in all", f"{alone[key] / one[key]:.1f}", alone[key] >= 20 * one[key], rounds)
    table.note("A Python program that only reads lines is mostly the interpreter: what the gateway takes away is the client in it.")
    table.note("Node's client is not measured: it comes from npm, which the suite does not ask for.")
    return table
