"""Fixtures: `machine` is a fresh system, `service` one of the file's with the packages installed and running."""

import contextlib
import itertools
import json
import os
import pathlib
import shutil
import subprocess

import pytest

import boot
from machine import HERE, ROOT, Machine, NoMirror, packages_for, root

FOLDER = pathlib.Path(os.environ.get("GATEWAY_DEB_DIR", ROOT / "build" / "deb"))
REASON = boot.reason()
CHAT = "/tests/servers/chat_server.py"


LONG = ("test_disturbances", "test_installation", "test_upgrade", "test_service", "test_operations", "test_strict")
"""The files that take longest. They begin first, so that none of them is left alone in the end."""


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: LONG.index(item.path.stem) if item.path.stem in LONG else len(LONG))
    for item in items:
        if REASON:
            item.add_marker(pytest.mark.skip(reason=REASON))


def pytest_sessionstart(session):
    """Makes the root before the clock of any test runs."""
    if REASON or hasattr(session.config, "workerinput"):
        return
    try:
        root(packages_for(Packages.found()))
    except NoMirror:
        pass  # each test says so


def pytest_terminal_summary(terminalreporter):
    figures = [value for report in terminalreporter.getreports("passed") for value in report.user_properties]
    if figures:
        terminalreporter.section("figures")
        for name, value in figures:
            terminalreporter.line(f"{name}: {value}")


class Packages:
    """The packages under test, and the same programs under other versions."""

    def __init__(self, folder):
        self.folder = folder
        self.debs = self.found()
        self.version = self.debs[1].name.split("_")[1]
        self.newer_version = f"{self.version}+newer"

    @staticmethod
    def found(folder=FOLDER):
        """The files under test, or those of another folder."""
        debs = []
        for name in ("gatewayctl", "gatewayd"):
            found = sorted(folder.glob(f"{name}_*.deb"))
            if len(found) != 1:
                pytest.exit(f"{folder} has {len(found)} packages {name}: run `make deb`", returncode=2)
            debs += found
        return debs

    def copy(self):
        for deb in self.debs:
            shutil.copy(deb, self.folder)

    def newer(self):
        """The same programs under a newer version."""
        return self.inside(self.newer_version) or self.as_version(self.newer_version)

    def old(self, folder):
        """Names the files inside of a version that was packaged elsewhere."""
        place = self.folder / "old"
        place.mkdir(exist_ok=True)
        return [f"/tests/debs/old/{pathlib.Path(shutil.copy(deb, place)).name}" for deb in self.found(folder)]

    def as_version(self, version):
        """Makes the packages once more under another version, and names their files inside."""
        for deb in self.debs:
            name = deb.name.split("_")[0]
            tree = self.folder / "tree"
            subprocess.run(["dpkg-deb", "-R", deb, tree], check=True)
            control = tree / "DEBIAN" / "control"
            control.write_text(control.read_text().replace(f"Version: {self.version}\n", f"Version: {version}\n")
                               .replace(f"(= {self.version})", f"(= {version})"))
            subprocess.run(["dpkg-deb", "-Znone", "-b", tree, self.folder / f"{name}_{version}_test.deb"], check=True,
                           capture_output=True)
            shutil.rmtree(tree)
        return self.inside(version)

    def inside(self, version=None):
        """The names of a version's files inside a system."""
        made = sorted(self.folder.glob(f"gateway*_{version or self.version}_*.deb"))
        return [f"/tests/debs/{deb.name}" for deb in made]


@pytest.fixture(scope="session")
def packages(tmp_path_factory):
    made = Packages(tmp_path_factory.mktemp("debs"))
    made.copy()
    return made


@pytest.fixture(scope="session")
def boot_machine(packages):
    """Boots systems: `with boot_machine() as machine:`."""
    try:
        folder = root(packages_for(packages.debs))
    except NoMirror as problem:
        pytest.skip(f"the system of the tests is not made yet, and no mirror of Debian answers: {problem}")
    binds = [f"{packages.folder}:/tests/debs", f"{HERE}/inside:/tests/inside", f"{ROOT}/Tests/servers:/tests/servers",
             f"{ROOT}/debian/tests:/tests/debian"]
    return lambda: Machine(folder, binds)


@pytest.fixture
def machine(boot_machine):
    with boot_machine() as made:
        yield made


def install(machine, debs, *options):
    """As an unattended upgrade does it: no question can be answered."""
    return machine.run("apt-get", "install", "--yes", "--quiet", "--allow-downgrades", *options, *debs,
                       env={"DEBIAN_FRONTEND": "noninteractive"})


@pytest.fixture(scope="module")
def shared(boot_machine, packages):
    with boot_machine() as made:
        install(made, packages.inside())
        # alice may use the daemon, bob may not.
        for name, groups in (("alice", "gateway"), ("bob", "")):
            made.run("useradd", "--create-home", "--shell=/bin/sh", f"--groups={groups}", name)
        yield made


@pytest.fixture
def service(shared):
    """The file's system, with everything of the test before put away and the service up."""
    shared.sh("""
        rm -rf /run/systemd/system/gatewayd.service.d /run/systemd/system/gatewayd.socket.d
        rm -f /etc/gatewayd/gatewayd.toml /etc/gatewayd/gatewayd.d/* /etc/gatewayd/credentials/*
        systemctl daemon-reload
        systemctl stop gatewayd.service gatewayd.socket
        systemctl clean --what=state gatewayd.service
        systemctl reset-failed
        systemctl start gatewayd.socket gatewayd.service""")
    return shared


class Chat:
    """The chat server of Tests/servers inside a system, on the python-socketio of Debian."""

    def __init__(self, process, port):
        self.process, self.port, self.ids = process, port, itertools.count(1)
        self.url = f"http://127.0.0.1:{port}"

    def ask(self, op, **members):
        identity = next(self.ids)
        self.process.stdin.write(json.dumps({"id": identity, "op": op, "with": members}) + "\n")
        self.process.stdin.flush()
        reply = json.loads(self.process.stdout.readline())
        assert reply["id"] == identity and "error" not in reply, reply
        return reply["value"]

    def received(self, event, count, timeout=30):
        """The arguments with which the event came, once there are so many."""
        return [one["args"] for one in self.ask("received", count=count, event=event, timeout=timeout)]


@contextlib.contextmanager
def chat_in(machine, port=0, *arguments):
    with machine.start("python3", "-B", CHAT, "--port", port, *arguments) as process:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        yield Chat(process, json.loads(line)["port"])


@pytest.fixture
def chat(service):
    with chat_in(service) as server:
        yield server
