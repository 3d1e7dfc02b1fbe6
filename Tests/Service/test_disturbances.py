"""What programs at work notice of everything that can happen to the service, under the real systemd.

Each row is a disturbance. The same programs are at work in all of them (inside/programs.py); what each noticed is compared
with what is promised, and all rows are kept as a table in build/disturbances.md, from which that of docs/operations.md
is made by hand."""

import contextlib
import json
import shutil
import struct
import subprocess

import pytest

from conftest import install
from machine import ROOT, SOON

CONFIGURATION = "/etc/gatewayd/gatewayd.toml"
STATE = "/var/lib/gatewayd"
TABLE = ROOT / "build" / "disturbances.md"
CLOCK = ROOT / "Tests" / "IntegrationTests" / "turned_clock.c"
UNIT = "gatewayd.service"
SECOND = 1_000_000_000
HOUR = 3_600 * SECOND

# What programs may notice, and with no question mark must. Only `gap` says that events are missing; `lost` is how many
# those were, by the server's count, and what is lost without a gap or comes twice stands in no row.
HANDED_OVER = {"subscriber": "gap, lost", "subscriber_with_since": "gap, lost", "handler": "unanswered?, AckGone?",
               "request": "AckLost?, UpstreamDown?, Draining?", "durable_send": "Draining?, arrived twice?"}
STOPPED = {name: f"goodbye (stopping), connection ended, {more}" for name, more in {
    "subscriber": "lost, gap?", "subscriber_with_since": "gap, lost", "handler": "unanswered?, AckGone?, Draining?",
    "request": "AckLost?, UpstreamDown?, Draining?", "durable_send": "Draining?, arrived twice?", "wait": "Draining?"}.items()}
CRASHED = {"subscriber": "connection ended, lost, gap?", "subscriber_with_since": "connection ended, gap, lost",
           "handler": "connection ended, unanswered?, AckGone?", "request": "connection ended, AckLost?",
           "durable_send": "connection ended, arrived twice?", "wait": "connection ended"}

ROWS = {}
"""The disturbances by what the table says of them: a generator and what programs notice. The generator prepares, yields,
disturbs, yields when the disturbance is over, and tidies up."""


def row(title, **noticed):
    def keep(function):
        ROWS[title] = (function, {name.replace("_", " "): text.split(", ") for name, text in noticed.items()})
        return function
    return keep


class Scene:
    """The installed service, and the programs that use it."""

    def __init__(self, machine, process, packages):
        self.machine, self.process, self.packages = machine, process, packages
        self.run, self.sh = machine.run, machine.sh
        self.ports = json.loads(process.stdout.readline())

    def ask(self, op, **members):
        self.process.stdin.write(json.dumps({"op": op, "with": members}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        said = json.loads(line)
        assert "error" not in said, said
        return said["value"]

    def configure(self, more=""):
        self.machine.write(CONFIGURATION, f"""{more}
[upstream.chat]
url = "http://127.0.0.1:{self.ports["chat"]}"
keep = "always"
[upstream.later]
url = "http://127.0.0.1:{self.ports["later"]}"
reconnect.base = "50ms"
reconnect.cap = "100ms"
""")

    def systemctl(self, *words, check=True):
        return self.run("systemctl", *words, check=check)

    def pid(self):
        return self.machine.show(UNIT, "MainPID")

    def kill(self, signal, pid):
        self.run("kill", f"-{signal}", pid)

    @contextlib.contextmanager
    def settings(self, text):
        """The service runs with a setting of the administrator's."""
        self.set_up(text)
        try:
            yield
        finally:
            self.set_up("")

    def set_up(self, text):
        self.machine.override(UNIT, f"[Service]\n{text}\n")
        self.systemctl("restart", UNIT)

    def until_another_runs(self, pid):
        self.sh(f"""until now=$(systemctl show {UNIT} --property=MainPID --value); [ $now != 0 ] && [ $now != {pid} ] &&
                    systemctl is-active --quiet {UNIT}; do sleep 0.02; done""", timeout=SOON)


@pytest.fixture(scope="module")
def scene(shared, packages):
    packages.newer()
    shared.sh(f"""systemctl stop {UNIT}
        mount -t tmpfs -o size=64m,mode=700,uid=gatewayd,gid=gatewayd state {STATE}""")
    with shared.start("python3", "-B", "/tests/inside/programs.py", "/run/gatewayd.sock") as process:
        made = Scene(shared, process, packages)
        made.configure()
        shared.run("systemctl", "start", UNIT)
        made.ask("start")
        yield made


@row("nothing")
def nothing(scene):
    yield
    scene.ask("work", count=50)
    yield


@row("`systemctl reload`")
def reload(scene):
    yield
    scene.configure('[upstream.another]\nurl = "http://127.0.0.1:9"\n')
    scene.systemctl("reload", UNIT)
    scene.configure()
    scene.systemctl("reload", UNIT)
    yield


@row("`systemctl daemon-reload`, `daemon-reexec`")
def manager(scene):
    yield
    scene.systemctl("daemon-reload")
    scene.systemctl("daemon-reexec")
    yield


@row("`systemctl restart`", **HANDED_OVER)
def restart(scene):
    yield
    scene.systemctl("restart", UNIT)
    yield


@row("an upgrade of the package", **HANDED_OVER)
def upgrade(scene):
    yield
    install(scene.machine, scene.packages.newer())
    yield


@row("a downgrade of the package", **HANDED_OVER)
def downgrade(scene):
    yield
    install(scene.machine, scene.packages.inside())
    yield


@row("`systemctl stop`, then `start`", **STOPPED)
def stop(scene):
    yield
    scene.systemctl("stop", UNIT)
    scene.systemctl("start", UNIT)
    yield


@row("SIGTERM from elsewhere", **STOPPED)
def stray_signal(scene):
    pid = scene.pid()
    yield
    scene.kill("TERM", pid)
    scene.until_another_runs(pid)
    yield


@row("`kill -9`", **CRASHED)
def crash(scene):
    pid = scene.pid()
    yield
    scene.kill("KILL", pid)
    scene.until_another_runs(pid)
    yield


@row("a hang that the watchdog ends, with `WatchdogSec=1s`", **CRASHED)
def watchdog(scene):
    with scene.settings("WatchdogSec=1s"):
        pid = scene.pid()
        yield
        scene.kill("STOP", pid)
        scene.until_another_runs(pid)
        yield


@row("SIGSTOP, and SIGCONT 3 s later")
def freeze(scene):
    pid = scene.pid()
    yield
    scene.kill("STOP", pid)
    scene.run("sleep", 3)  # the disturbance itself
    scene.kill("CONT", pid)
    yield


@row("a mistake in the configuration and a restart, mended after three failed starts", **HANDED_OVER)
def broken(scene):
    yield
    scene.configure("nonsense = 1\n")
    assert scene.systemctl("restart", UNIT, check=False).code != 0
    scene.sh(f"until [ $(systemctl show {UNIT} --property=NRestarts --value) -ge 3 ]; do sleep 0.02; done", timeout=SOON)
    scene.configure()
    scene.until_another_runs(0)
    yield


def fill(scene, folder):
    scene.sh(f"dd if=/dev/zero of={folder}/filler bs=4k 2>/dev/null || :")


@contextlib.contextmanager
def small_run(scene):
    """/run has little more room than is used, as if it were on a small machine."""
    scene.sh("mount -o remount,size=$(($(df --output=used --block-size=1k /run | tail -n 1) + 512))k /run")
    try:
        yield
    finally:
        scene.sh("rm -f /run/filler; mount -o remount,size=20% /run")


def fill_run(scene):
    fill(scene, "/run")
    scene.sh("""until gatewayctl status chat | grep --quiet '"runtime":"failing"'; do sleep 0.02; done""", timeout=SOON)
    scene.ask("work")


@contextlib.contextmanager
def fresh_history(scene):
    """The daemon would look every half minute whether its history can be written again. The next one does at once."""
    try:
        yield
    finally:
        scene.systemctl("restart", UNIT)


@row("`/run` full for a while")
def full_run(scene):
    with fresh_history(scene):
        with small_run(scene):
            yield
            fill_run(scene)
        scene.ask("work")
        yield


@row("`/run` full, and a restart", **HANDED_OVER)
def full_run_restart(scene):
    with fresh_history(scene):
        with small_run(scene):
            yield
            fill_run(scene)
            scene.systemctl("restart", UNIT)
            scene.ask("work")
        yield


@row("`/run` full, and `kill -9`", **CRASHED)
def full_run_crash(scene):
    with fresh_history(scene):
        with small_run(scene):
            pid = scene.pid()
            yield
            fill_run(scene)
            scene.kill("KILL", pid)
            scene.until_another_runs(pid)
            scene.ask("work")
        yield


@row("`/var` full until durable sends fail", durable_send="InternalError")
def full_var(scene):
    yield
    fill(scene, STATE)
    # What is reserved for the outbox is used up, by sends that wait.
    big = json.dumps(["x" * 500_000])
    told = scene.run("gatewayctl", "send", "later", "say", "--namespace", "/later", "--lines", "--delivery", "durable",
                     stdin=f"{big}\n" * 200, check=False)
    assert told.code == 70, told
    scene.ask("noticed", program="durable send", what="InternalError")
    scene.ask("work")
    scene.run("rm", f"{STATE}/filler")
    scene.run("gatewayctl", "outbox", "cancel", "--upstream", "later", "--namespace", "/later")
    yield


class Clocks:
    """The clocks of the daemon alone, turned by a library that is preloaded into it. The machine's are the host's."""

    LIBRARY, FILE = "/usr/local/lib/turned_clock.so", "/run/turned-clock"

    def __init__(self, scene):
        self.file, self.bell = scene.machine.path(self.FILE), scene.machine.path(self.FILE + ".bell")
        compiler = shutil.which("clang") or shutil.which("cc")
        if not compiler:
            pytest.skip("no C compiler for the library that turns the clocks")
        subprocess.run([compiler, "-shared", "-fPIC", "-O", "-o", scene.machine.path(self.LIBRARY), CLOCK], check=True)
        self.file.write_bytes(bytes(16))
        self.file.chmod(0o644)
        scene.sh(f"rm -f {self.FILE}.bell; mkfifo --mode=666 {self.FILE}.bell")
        self.settings = f"Environment=LD_PRELOAD={self.LIBRARY} TURNED_CLOCK={self.FILE}"

    def turn(self, ahead, slept=0):
        """The daemon hears it as it hears from the kernel that the clock was set."""
        with open(self.file, "r+b") as file:
            file.write(struct.pack("qq", ahead, slept))
        with open(self.bell, "wb") as bell:
            bell.write(bytes(8))


def turned(scene, *turns):
    clocks = Clocks(scene)
    with scene.settings(clocks.settings):
        yield
        for turn in turns:
            clocks.turn(*turn)
            scene.ask("work", count=50)
        yield


@row("the clock is set an hour ahead, and back")
def clock_set(scene):
    return turned(scene, (HOUR,), (0,))


@row("the clock is set an hour back, and ahead")
def clock_set_back(scene):
    return turned(scene, (-HOUR,), (0,))


@row("a sleep of 20 s (played: of the daemon's clocks alone)", durable_send="arrived twice?")
def short_sleep(scene):
    return turned(scene, (20 * SECOND, 20 * SECOND))


@row("a sleep of ten minutes (played: of the daemon's clocks alone)", subscriber="gap, lost?", subscriber_with_since="gap, lost?",
     handler="unanswered?, AckGone?", request="AckTimeout?, AckLost?, UpstreamDown?", durable_send="arrived twice?")
def sleep(scene):
    return turned(scene, (600 * SECOND, 600 * SECOND))


def cell(told):
    seen = [what if count == 1 else f"{count} × {what}" for what, count in told["seen"].items() if count]
    return ", ".join(seen or ["nothing"]) + (f"; {told['silence']} ms" if told["silence"] else "")


@pytest.fixture(scope="module")
def table():
    """The rows as they were played; kept as a file at the end."""
    rows = {}
    yield rows
    if rows:
        names = list(next(iter(rows.values())))
        lines = [["disturbance", *names], ["---"] * (len(names) + 1)]
        lines += [[title, *(cell(report[name]) for name in names)] for title, report in rows.items()]
        TABLE.write_text("".join(f"| {' | '.join(line)} |\n" for line in lines))


@pytest.mark.parametrize("title", ROWS)
def test_programs_notice_what_is_promised_of(title, scene, table):
    function, noticed = ROWS[title]
    with contextlib.closing(function(scene)) as steps:
        next(steps)
        scene.ask("begin")
        next(steps)
        table[title] = report = scene.ask("settle")
        next(steps, None)
    for name, told in report.items():
        seen = {what for what, count in told["seen"].items() if count}
        words = noticed.get(name, [])
        must = {word for word in words if not word.endswith("?")}
        assert must <= seen <= {word.rstrip("?") for word in words}, (name, told)
