"""P10: one message from the shell, wall time of a whole program."""

import os
import subprocess
import time
from statistics import median

from . import places
from .paired import RATIOS, SPREAD, Paired
from .peers import Gatewayd, Mosquitto, available
from .process import Program
from .table import Table

COUNT = 60
# A second each: one in so many runs is enough.
SLOW, SELDOM = "Python, python-socketio, to the server", 6
OWN = "gatewayctl send"
ONE_LINER = (
    "import socket,json,sys; s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); "
    's.sendall((json.dumps({"jsonrpc":"2.0","id":1,"method":"send","params":{"url":sys.argv[2],"event":"note","args":["hi"]}})+"\\n").encode()); '
    "s.makefile().readline()"
)
CLIENT = (
    "import socketio,sys,asyncio\n"
    "async def main():\n"
    " c=socketio.AsyncClient(); await c.connect(sys.argv[1],transports=['websocket']); await c.emit('note','hi'); await c.disconnect()\n"
    "asyncio.run(main())"
)


def timed(command):
    """One program's wall time and CPU time, in ms."""
    command = [str(part) for part in command]
    began = time.monotonic()
    process = os.posix_spawn(command[0], command, os.environ, file_actions=SILENT)
    _, status, use = os.wait4(process, 0)
    taken = time.monotonic() - began
    if status:
        raise RuntimeError(f"{command[0]} ended with {os.waitstatus_to_exitcode(status)}")
    return {"wall": taken * 1000, "cpu": (use.ru_utime + use.ru_stime) * 1000}


SILENT = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]


def sending(gateway, program):
    """The command by which gatewayctl sends the message."""
    return [program, "--socket", gateway.socket, "send", gateway.url, "note", "hi"]


def commands(gateway, broker):
    found = {OWN: sending(gateway, places.gatewayctl())}
    if broker:
        found["mosquitto_pub"] = [places.found("mosquitto_pub"), "--unix", broker.socket, "-t", "note", "-m", "hi"]
    found["Python one-liner, to gatewayd"] = ["/usr/bin/python3", "-c", ONE_LINER, gateway.socket, gateway.url]
    if places.python():
        found[SLOW] = [places.python(), "-c", CLIENT, gateway.url]
    return found


def p10(_):
    if not available([Gatewayd]):
        return None
    if not os.path.exists(places.gatewayctl()):
        print(f"left out: P10 ({places.gatewayctl()} does not exist)")
        return None
    has_broker = available([Mosquitto]) and places.found("mosquitto_pub")
    if not has_broker:
        print("left out: mosquitto_pub (mosquitto and mosquitto-clients are not both installed; see --install)")
    print(f"  {COUNT} runs, however many rounds", flush=True)
    with Gatewayd() as gateway, Mosquitto() if has_broker else gateway as broker:
        reader = Program(
            [places.program("reader"), "--protocol", "gatewayd", "--socket", gateway.socket, "--url", gateway.url]
        )
        try:
            reader.line()
            ways = commands(gateway, broker if has_broker else None)
            found = {way: [] for way in ways}
            for number in range(COUNT):
                for way, command in ways.items():
                    if way != SLOW or number % SELDOM == 0:
                        found[way].append(timed(command))
        finally:
            reader.end()
    seldom = f", {COUNT // SELDOM} of python-socketio" if SLOW in ways else ""
    table = Table(
        "P10", f"a message from the shell, the connection warm, ms (medians of {COUNT} interleaved runs{seldom})",
        ["way", "wall p50", "wall p90", "CPU", "its wall ÷ gatewayctl's"],
    )  # fmt: skip
    for way, runs in found.items():
        walls = sorted(run["wall"] for run in runs)
        own = found[OWN][:: SELDOM if way == SLOW else 1]
        table.add(
            way, f"{median(walls):.2f}", f"{walls[len(walls) * 9 // 10]:.2f}", f"{median(run['cpu'] for run in runs):.2f}",
            "1.00" if way == OWN else Paired.ratio(runs, own, "wall"),
        )  # fmt: skip
    table.headline = ", ".join(f"{row[0]} {row[1]} ms" for row in table.rows)
    if has_broker:
        share = Paired.ratio(found[OWN], found["mosquitto_pub"], "wall")
        table.target("gatewayctl in 0.6 of the time of mosquitto_pub", f"{share} of it", share.at_most(0.6))
    table.note(RATIOS)
    table.note(SPREAD)
    return table
