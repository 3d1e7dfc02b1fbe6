#!/usr/bin/env python3
"""Makes docs/picture.svg, with which README.md begins: a session at a terminal, as the programs show it.

The programs, the servers and what they say are real. A shell at a pseudo-terminal is typed to, a terminal emulator reads
what is shown, and its screen becomes an SVG, cell by cell, in the colours that the programs chose. The scene is always the
same: two servers that talk, and a third that is down. What is left to chance are ids, times, and figures of the moment.
"""

import argparse
import contextlib
import fcntl
import itertools
import json
import os
import pathlib
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from xml.sax.saxutils import escape

import pyte

ROOT = pathlib.Path(__file__).resolve().parent.parent
SERVER = ROOT / "Tests" / "servers" / "chat_server.py"
COLUMNS = 116
PATIENCE = 20
"""Seconds until something that should be shown counts as missing."""
PROMPT = "$ "

# How the picture looks, in pixels.
CELL, LINE, SIZE, MARGIN, BAR, BETWEEN = 8.43, 19, 14, 16, 34, 18
BACKGROUND, TEXT = "#15191f", "#d5dae1"
COLOURS = {
    "black": "#3b4252", "red": "#f07178", "green": "#9ece6a", "brown": "#e6c07b", "blue": "#7aa2f7", "magenta": "#c099ff",
    "cyan": "#7dcfff", "white": "#d5dae1", "brightblack": "#7d8590", "default": TEXT,
}


class Shell:
    """A shell at a terminal of its own, and the screen that a person would see."""

    def __init__(self, environment, rows):
        self.screen = pyte.Screen(COLUMNS, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.execve("/bin/sh", ["sh"], environment)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, COLUMNS, 0, 0))

    def text(self):
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip()

    def until(self, holds, what):
        """Reads until the screen fulfils a condition."""
        deadline = time.monotonic() + PATIENCE
        while not holds(self.text()):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.terminal], [], [], left)[0]:
                raise SystemExit(f"picture.py: no {what} within {PATIENCE} s; the screen has\n{self.text()}")
            self.stream.feed(os.read(self.terminal, 65536))

    def press(self, keys):
        os.write(self.terminal, keys.encode())

    def begin(self, line):
        """Types a command."""
        self.prompts = self._prompts()
        self.press(line + "\n")

    def end(self):
        """Waits until the command has ended and the shell asks for the next one."""
        self.until(lambda text: self._prompts() > self.prompts, "prompt behind the command")

    def type(self, line):
        self.begin(line)
        self.end()

    def _prompts(self):
        return sum(line.startswith(PROMPT) for line in self.screen.display)

    def rows(self):
        """The rows of the screen down to the last one with something in it, each as a list of cells."""
        rows = [[self.screen.buffer[row][column] for column in range(COLUMNS)] for row in range(self.screen.lines)]
        while rows and all(cell.data == " " and not cell.reverse for cell in rows[-1]):
            rows.pop()
        return rows

    def close(self):
        with contextlib.suppress(OSError):
            os.close(self.terminal)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


class Scene:
    """The servers, the daemon, and the folder in which all of it happens."""

    def __init__(self, programs):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gatewayd-picture-"))
        self.socket = self.folder / "socket"
        self.processes = []
        self.environment = {
            "PATH": f"{programs}:/usr/bin:/bin", "GATEWAYD_SOCKET": str(self.socket), "TERM": "xterm",
            "PS1": f"\033[1;36m{PROMPT}\033[0m", "LANG": "C.UTF-8", "STATE_DIRECTORY": str(self.folder / "state"),
        }
        self.programs = programs
        self.hush = threading.Event()
        self.talking = threading.Thread(target=self.talk)

    def start(self, *command, **options):
        process = subprocess.Popen(
            [str(one) for one in command], start_new_session=True, text=True, env=self.environment, **options)
        self.processes.append(process)
        return process

    def server(self):
        """A chat server; returns its port, and a function that lets it emit an event."""
        process = self.start(sys.executable, SERVER, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        port = json.loads(process.stdout.readline())["port"]

        def emit(event, *args):
            command = {"id": 0, "op": "emit", "with": {"event": event, "args": args, "namespace": "/"}}
            process.stdin.write(json.dumps(command) + "\n")
            process.stdin.flush()
            process.stdout.readline()

        return port, emit

    def ctl(self, *words):
        done = subprocess.run([self.programs / "gatewayctl", *words], env=self.environment, capture_output=True, text=True,
                              timeout=PATIENCE)
        if done.returncode:
            raise SystemExit(f"picture.py: gatewayctl {' '.join(words)}: {done.stderr}")
        return done.stdout

    def begin(self):
        chat, self.say = self.server()
        fleet, self.report = self.server()
        config = self.folder / "gatewayd.toml"
        # Nobody listens on the port of `discard`.
        config.write_text(f"""
[upstream.chat]
url = "http://127.0.0.1:{chat}"

[upstream.fleet]
url = "http://127.0.0.1:{fleet}"

[upstream.sensors]
url = "http://127.0.0.1:9"
reconnect = {{ base = "10m", cap = "10m" }}
""")
        log = open(self.folder / "log", "w")
        self.start(self.programs / "gatewayd", "--config", config, "--socket", self.socket, stdout=log, stderr=log)
        self.ctl("wait", "--timeout", "10s", "chat")
        for upstream in ("chat", "fleet", "fleet", "sensors"):
            self.start(self.programs / "gatewayctl", "subscribe", upstream, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE
        while not self.is_set() and time.monotonic() < deadline:
            time.sleep(0.05)

    def is_set(self):
        """Whether every program has its subscription, and every server that is up was measured."""
        connections = self.connections()
        return ([one["subscriptions"] for one in connections] == [1, 2, 1]
                and all(one["rtt"] or one["reason"] for one in connections))

    def connections(self):
        return json.loads(self.ctl("status", "--json"))["connections"]

    def talk(self):
        """Lets the servers talk at an even pace: ten and twenty events a second."""
        begun = time.monotonic()
        for number in itertools.count(1):
            self.report("position", {"truck": 7, "km": 1288})
            self.report("position", {"truck": 9, "km": 402})
            self.say("said", "on my way")
            if self.hush.wait(max(0, begun + number / 10 - time.monotonic())):
                return

    def end(self):
        self.hush.set()
        if self.talking.is_alive():
            self.talking.join()
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def session(scene):
    """What a person types and sees."""
    shell = Shell(scene.environment, rows=44)
    shell.until(lambda text: text == PROMPT.strip(), "prompt")
    shell.type("gatewayctl request chat echo ping '{\"n\": 12345678901234567890}'")
    shell.begin("gatewayctl subscribe -n 1 --pretty chat said")
    while scene.connections()[0]["subscriptions"] != 2:
        time.sleep(0.05)
    scene.say("said", "hello", {"from": "ann", "room": 7})
    shell.end()
    shell.type("gatewayctl send sensors measure 21.5")
    shell.type("gatewayctl status")
    rows = shell.rows()
    shell.close()
    return rows


def live_view(scene):
    """A page of `gatewayctl top`, while the servers talk."""
    shell = Shell(scene.environment, rows=10)
    shell.until(lambda text: text == PROMPT.strip(), "prompt")
    shell.press("exec gatewayctl top\n")
    # The first second is not a full one.
    shell.until(lambda text: re.search(r"chat +connected +([7-9]|1\d)\.", text), "page with traffic")
    rows = shell.rows()
    shell.close()
    return rows


def colour(name, otherwise):
    if name == "default":
        return otherwise
    return COLOURS.get(name) or f"#{name}"


def runs(row):
    """Neighbouring cells of the same looks, as (column, text, cell)."""
    found = []
    for column, cell in enumerate(row):
        looks = (cell.fg, cell.bg, cell.bold, cell.reverse)
        if found and found[-1][2] == looks:
            found[-1][1] += cell.data
        else:
            found.append([column, cell.data, looks])
    return found


def window(rows, top, title):
    """One terminal, as elements of SVG."""
    width, height = COLUMNS * CELL + 2 * MARGIN, BAR + len(rows) * LINE + MARGIN
    yield (f'<rect x="0.5" y="{top + 0.5}" width="{width:.0f}" height="{height}" rx="9" fill="{BACKGROUND}" '
           'stroke="#30363d"/>')
    for number, dot in enumerate(("#f07178", "#e6c07b", "#9ece6a")):
        yield f'<circle cx="{MARGIN + 6 + 20 * number}" cy="{top + BAR / 2}" r="5.5" fill="{dot}"/>'
    yield (f'<text x="{width / 2:.0f}" y="{top + BAR / 2 + 5}" text-anchor="middle" fill="#7d8590">{escape(title)}</text>')
    for number, row in enumerate(rows):
        bottom = top + BAR + (number + 1) * LINE - 5
        for column, text, (fore, back, bold, reverse) in runs(row):
            fore, back = colour(fore, TEXT), colour(back, BACKGROUND)
            if reverse:
                fore, back = back, fore
            x = MARGIN + column * CELL
            if back != BACKGROUND:
                yield (f'<rect x="{x:.2f}" y="{bottom - LINE + 5}" width="{len(text) * CELL:.2f}" height="{LINE}" '
                       f'fill="{back}"/>')
            if text.strip():
                left = len(text) - len(text.lstrip())
                words = text.strip()
                weight = ' font-weight="bold"' if bold else ""
                yield (f'<text x="{MARGIN + (column + left) * CELL:.2f}" y="{bottom}" textLength="{len(words) * CELL:.2f}" '
                       f'lengthAdjust="spacingAndGlyphs" fill="{fore}"{weight}>{escape(words)}</text>')


def picture(windows):
    """The SVG of some terminals, one below the other."""
    width = COLUMNS * CELL + 2 * MARGIN + 1
    top, body = 0, []
    for rows, title in windows:
        body += window(rows, top, title)
        top += BAR + len(rows) * LINE + MARGIN + BETWEEN
    height = top - BETWEEN + 1
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}" '
        'font-family="ui-monospace, \'DejaVu Sans Mono\', Menlo, Consolas, monospace" '
        f'font-size="{SIZE}" xml:space="preserve">',
        "<title>A session with gatewayctl: request, subscribe, status, and the live view top</title>",
        *body, "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / ".build" / "release", help="the folder of the programs")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "docs" / "picture.svg")
    options = parser.parse_args()
    scene = Scene(options.bin.resolve())
    try:
        scene.begin()
        windows = [(session(scene), "gatewayctl")]
        scene.talking.start()
        windows.append((live_view(scene), "gatewayctl top"))
    finally:
        scene.end()
    options.out.write_text(picture(windows))


if __name__ == "__main__":
    main()
