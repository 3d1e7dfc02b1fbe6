"""P10: one message from the shell, wall time of a whole program."""

import os
import subprocess
import time
from statistics import median

from . import places
from .peers import Gatewayd, Mosquitto, available
from .process import Program
from .table import Table

COUNT = 60
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
    """Seconds of wall time and of CPU of one program."""
    command = [str(part) for part in command]
    began = time.monotonic()
    process = os.posix_spawn(command[0], command, os.environ, file_actions=SILENT)
    _, status, use = os.wait4(process, 0)
    taken = time.monotonic() - began
    if status:
        raise RuntimeError(f"{command[0]} ended with {os.waitstatus_to_exitcode(status)}")
    return taken, use.ru_utime + use.ru_stime


SILENT = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]


def commands(gateway, broker):
    found = {"gatewayctl send": [places.gatewayctl(), "--socket", gateway.socket, "send", gateway.url, "note", "hi"]}
    if broker:
        found["mosquitto_pub"] = [places.found("mosquitto_pub"), "--unix", broker.socket, "-t", "note", "-m", "hi"]
    found["Python one-liner, to gatewayd"] = ["/usr/bin/python3", "-c", ONE_LINER, gateway.socket, gateway.url]
    if places.python():
        found["Python, python-socketio, to the server"] = [places.python(), "-c", CLIENT, gateway.url]
    return found


def p10(rounds):
    if not available([Gatewayd]):
        return None
    if not os.path.exists(places.gatewayctl()):
        print(f"left out: P10 ({places.gatewayctl()} does not exist)")
        return None
    has_broker = available([Mosquitto]) and places.found("mosquitto_pub")
    if not has_broker:
        print("left out: mosquitto_pub (mosquitto and mosquitto-clients are not both installed; see --install)")
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
                    # A second each: fewer tell enough.
                    if "python-socketio" not in way or number % 6 == 0:
                        found[way].append(timed(command))
        finally:
            reader.end()
    table = Table(
        "P10", f"a message from the shell, the connection warm, ms (medians of {COUNT} interleaved runs)",
        ["way", "wall p50", "wall p90", "CPU", "its wall ÷ gatewayctl's"],
    )  # fmt: skip
    own = median(wall for wall, _ in found["gatewayctl send"])
    for way, runs in found.items():
        walls = sorted(wall for wall, _ in runs)
        table.add(
            way, f"{median(walls) * 1000:.2f}", f"{walls[len(walls) * 9 // 10] * 1000:.2f}",
            f"{median(cpu for _, cpu in runs) * 1000:.2f}", f"{median(walls) / own:.2f}",
        )  # fmt: skip
    table.headline = ", ".join(f"{row[0]} {row[1]} ms" for row in table.rows)
    if has_broker:
        broker = median(wall for wall, _ in found["mosquitto_pub"])
        table.target("gatewayctl no slower than mosquitto_pub", f"{own / broker:.2f} of it", own <= broker)
    return table
