"""A Debian that really boots, for tests: `with Machine(root()) as machine: machine.run("systemctl", "is-system-running")`."""

import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import boot

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
BUILD = ROOT / "build" / "service"
SUITE = "bookworm"
# Beside what the packages depend on: a system, users that log in, and the servers and tools of the tests.
PACKAGES = ("systemd systemd-sysv dbus dbus-user-session libpam-systemd init-system-helpers passwd procps util-linux "
            "netcat-openbsd needrestart python3 python3-aiohttp python3-socketio").split()
# What apt says of a mirror that it does not reach.
UNREACHABLE = "Could not (resolve|connect)|Temporary failure resolving|Unable to connect"
FACTOR = float(os.environ.get("GATEWAY_TEST_PATIENCE", "1"))
SOON = 30 * FACTOR
"""Seconds until a thing that must happen counts as missing. Never waited for in full by a passing test."""


def packages_for(debs):
    """What a system needs in which these packages are to be installed without a network."""
    names = set(PACKAGES)
    for deb in debs:
        for relation in subprocess.run(["dpkg-deb", "-f", str(deb), "Depends"], check=True, capture_output=True,
                                       text=True).stdout.split(","):
            name = re.match(r"\s*([a-z0-9.+-]*)", relation)[1]
            if name and not name.startswith("gateway"):
                names.add(name)
    return sorted(names)


class NoMirror(Exception):
    """The root cannot be made, because no mirror of Debian answers."""


def root(packages):
    """The folder of the system with these packages. It is made once, and that alone needs a network."""
    key = hashlib.sha256(" ".join([SUITE, *packages]).encode()).hexdigest()[:12]
    made = BUILD / f"{SUITE}-{key}"
    BUILD.mkdir(parents=True, exist_ok=True)
    with open(BUILD / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            part = BUILD / "part"
            shutil.rmtree(part, ignore_errors=True)  # of a test that was killed
            part.mkdir()
            debootstrap(packages, part)
            for old in BUILD.glob(f"{SUITE}-*"):
                shutil.rmtree(old)  # of another list
            (part / "root").rename(made)
            shutil.rmtree(part)
    return made


def debootstrap(packages, folder):
    """Makes `folder`/root. All that is done for it ends with this process, whatever ends that."""
    done = subprocess.run(
        ["setpriv", "--pdeathsig=KILL", *boot.NAMESPACES, "mmdebstrap", "--variant=minbase",
         f"--include={','.join(packages)}", "--customize-hook=echo 127.0.0.1 localhost > $1/etc/hosts", SUITE,
         str(folder / "root")],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, env={**os.environ, "TMPDIR": str(folder)})
    if done.returncode:
        if unreachable := re.search(f"^E: .*({UNREACHABLE}).*", done.stderr, re.MULTILINE):
            raise NoMirror(unreachable[0])
        raise RuntimeError(done.stderr[-2000:])


class Outcome:
    """What a command left behind."""

    def __init__(self, command, code, out, err):
        self.command, self.code, self.out, self.err = command, code, out.strip(), err.strip()

    def __repr__(self):
        return f"{shlex.join(self.command)}: exit {self.code}\nstdout: {self.out}\nstderr: {self.err}"

    def json(self):
        return json.loads(self.out)


class Machine:
    """A system that lives as long as the `with`."""

    def __init__(self, folder, binds=()):
        self.folder, self.binds = folder, binds

    def __enter__(self):
        self.boot = subprocess.Popen(
            [sys.executable, HERE / "boot.py", self.folder, *self.binds], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, start_new_session=True)
        said = json.loads(self.boot.stdout.readline() or '{"error": "boot.py ended"}')
        if "error" in said:
            self.__exit__()
            raise RuntimeError(f"the system did not boot: {said['error']}")
        self.name, self.leader = said["name"], said["leader"]
        return self

    def __exit__(self, *_):
        self.boot.stdin.close()
        self.boot.wait()
        self.boot.stdout.close()

    def path(self, inside):
        """Where a file of the system is, seen from the host."""
        return pathlib.Path(f"/proc/{self.leader}/root") / str(inside).lstrip("/")

    def command(self, *words, user=None, env=None):
        """How the host starts a command inside, as root or as a user with their groups."""
        base = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "HOME": "/root",
                **({"HOME": f"/home/{user}", "USER": user, "LOGNAME": user} if user else {}), **(env or {})}
        # nsenter starts it as a child, which must not outlive it.
        become = ["setpriv", "--pdeathsig=KILL",
                  *([f"--reuid={user}", f"--regid={user}", "--init-groups"] if user else [])]
        return ["nsenter", "--target", str(self.leader), "--all", "--wdns=/", "env", "-i",
                *(f"{key}={value}" for key, value in base.items()), *become, *map(str, words)]

    def run(self, *words, user=None, env=None, check=True, stdin="", timeout=4 * SOON):
        done = subprocess.run(self.command(*words, user=user, env=env), input=stdin, capture_output=True, text=True,
                              timeout=timeout)
        outcome = Outcome([str(word) for word in words], done.returncode, done.stdout, done.stderr)
        assert not check or outcome.code == 0, outcome
        return outcome

    def sh(self, text, **options):
        """What a line of shell prints."""
        return self.run("sh", "-ec", text, **options).out

    def subscribe(self, upstream, **options):
        """Ends as soon as the daemon has taken a subscription (exit 0), or said why it does not."""
        return self.run("gatewayctl", "--timeout", f"{SOON:.0f}s", "call", "subscribe", json.dumps({"upstream": upstream}),
                        **options)

    @contextlib.contextmanager
    def start(self, *words, user=None, env=None):
        """A command that runs beside the test and is ended with it."""
        process = subprocess.Popen(self.command(*words, user=user, env=env), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    def write(self, inside, text, mode=0o644):
        path = self.path(inside)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)

    def show(self, unit, *properties):
        """Properties of a unit: one as text, several as a list."""
        values = [self.run("systemctl", "show", unit, f"--property={name}", "--value").out for name in properties]
        return values[0] if len(values) == 1 else values

    def active(self, unit):
        return self.run("systemctl", "is-active", unit, check=False).out

    def enabled(self, unit):
        return self.run("systemctl", "is-enabled", unit, check=False).out

    def override(self, unit, text):
        """A drop-in of the administrator's, in force at once."""
        self.write(f"/run/systemd/system/{unit}.d/test.conf", text)
        self.run("systemctl", "daemon-reload")

    def journal(self, *matches):
        """The records of the journal, as dictionaries."""
        self.run("journalctl", "--sync")
        text = self.run("journalctl", "--output=json", "--all", "--no-pager", *matches).out
        return [json.loads(line) for line in text.splitlines()]
