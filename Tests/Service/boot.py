#!/usr/bin/python3
"""Boots a Debian that is thrown away: boot.py ROOT [BIND…]

ROOT is never written to: what changes is an overlay in memory. A line of JSON on stdout, `{"name": "gw-…", "leader": PID}`,
says that the system runs and which process is its first; the system ends with this program's stdin, so whatever becomes of the test that
started it, even SIGKILL, nothing of the system is left: processes, mounts and files of its own are in namespaces that end
with it, and this program takes its control groups away, or the next one if this one is killed. `boot.py --reason` says why that is not possible here, if so."""

import contextlib
import ctypes
import json
import os
import pathlib
import selectors
import shutil
import signal
import subprocess
import sys
import time

PATIENCE = 30 * float(os.environ.get("GATEWAY_TEST_PATIENCE", "1"))
LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_PDEATHSIG = 1
PREFIX = "gw-"
# What `IPAddressDeny=` needs in order to be in force, and all that systemd asks the kernel for.
PRIVILEGES = ["--capability=all", "--system-call-filter=bpf"]
NAMESPACES = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc"]


def reason():
    """Why no system can be booted here, or None."""
    if os.geteuid() != 0:
        return "needs root: systemd-nspawn cannot boot a system without it"
    for program, package in (("systemd-nspawn", "systemd-container"), ("nsenter", "util-linux"),
                             ("unshare", "util-linux"), ("mmdebstrap", "mmdebstrap"), ("dpkg-deb", "dpkg")):
        if not shutil.which(program):
            return f"needs {program} (Debian's package {package})"
    probe = subprocess.run([*NAMESPACES, "true"], capture_output=True, text=True)
    if probe.returncode:
        return f"namespaces are not permitted here: {probe.stderr.strip()}"
    groups = [folder for folder in hierarchies() if not os.access(folder, os.W_OK)]
    if groups or not hierarchies():
        return "no control groups can be made here"
    return None


def hierarchies():
    """The hierarchies of control groups in which a system needs a place of its own: two in one see each other's processes
    as PID 0 and fail to stop their services."""
    base = pathlib.Path("/sys/fs/cgroup")
    if (base / "cgroup.controllers").exists():
        return [base]
    return [base / name for name in ("systemd", "unified") if (base / name).is_dir()]


def remove(group):
    """Takes a control group and those in it away, as far as the kernel has ended what was in them."""
    for folder, _, _ in list(os.walk(group, topdown=False)):
        with contextlib.suppress(OSError):
            os.rmdir(folder)


class System:
    """A booted system and what it occupies on the host."""

    def __init__(self, root, binds):
        self.root, self.name, self.binds = root, f"{PREFIX}{os.getpid()}", binds
        # Where systemd runs the host, it makes the place: it would not suffer groups that it does not know.
        self.host_has_systemd = os.path.isdir("/run/systemd/system")
        self.groups = [] if self.host_has_systemd else [folder / self.name for folder in hierarchies()]
        self.process = None

    def start(self):
        for group in self.groups:
            for old in group.parent.glob(f"{PREFIX}*"):
                if not pathlib.Path("/proc", old.name.removeprefix(PREFIX)).exists():
                    remove(old)
            group.mkdir()
        # nspawn cannot ask for a scope itself: it would name a PID of its own namespace.
        scope = ["systemd-run", "--scope", "--quiet", f"--unit={self.name}", "-p", "Delegate=yes"]
        # What nspawn leaves in /run is in a file system of its own.
        private_run = ["sh", "-c", 'mount -t tmpfs tmpfs /run && exec "$@"', "sh"]
        command = [
            *(scope if self.host_has_systemd else []), *NAMESPACES, *private_run,
            "systemd-nspawn", "--quiet", f"--directory={self.root}", f"--machine={self.name}", "--volatile=overlay",
            "--register=no", "--keep-unit", "--private-users=no", "--private-network", "--resolv-conf=off",
            "--console=pipe", *PRIVILEGES, *(f"--bind-ro={bind}" for bind in self.binds), "--boot"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=self.enter)

    def enter(self):
        """In the child: ends with this program, and enters the control groups."""
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        for group in self.groups:
            (group / "cgroup.procs").write_text(str(os.getpid()))
        os.environ["SYSTEMD_NSPAWN_UNIFIED_HIERARCHY"] = "1"

    def leader(self):
        """The system's first process as the host counts, or None: it is the systemd among the descendants."""
        todo = [self.process.pid]
        while todo:
            pid = todo.pop()
            try:
                if pathlib.Path(f"/proc/{pid}/comm").read_text() == "systemd\n":
                    return pid
                todo += map(int, pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
            except OSError:
                continue
        return None

    def booted(self, leader):
        asked = subprocess.run(["nsenter", "--target", str(leader), "--all", "systemctl", "is-system-running"],
                               stdin=subprocess.DEVNULL, capture_output=True, text=True)
        return asked.stdout.strip() in ("running", "degraded")

    def close(self):
        """Nothing here has to end in order: the kernel takes everything in the namespaces away."""
        if self.process:
            self.process.kill()
            self.process.wait()
        end = time.monotonic() + PATIENCE
        while any(group.exists() for group in self.groups) and time.monotonic() < end:
            for group in self.groups:
                remove(group)
            time.sleep(0.01)


def run(system):
    """Boots, then waits for the end of stdin while it reads what the console says."""
    ready = selectors.DefaultSelector()
    ready.register(sys.stdin, selectors.EVENT_READ)
    ready.register(system.process.stdout, selectors.EVENT_READ)
    leader = announced = None
    console = b""
    end = time.monotonic() + PATIENCE
    while True:
        # No event tells from outside that a system is up.
        for key, _ in ready.select(0.01 if not announced else None):
            text = os.read(key.fd, 65536)
            if key.fileobj is sys.stdin and not text:
                return
            if key.fileobj is not sys.stdin:
                console = (console + text)[-4096:]
                if not text:
                    ready.unregister(key.fileobj)
        if announced:
            continue
        if system.process.poll() is not None or time.monotonic() > end:
            print(json.dumps({"error": console.decode(errors="replace")}), flush=True)
            return
        leader = leader or system.leader()
        if leader and system.booted(leader):
            announced = True
            print(json.dumps({"name": system.name, "leader": leader}), flush=True)


def main():
    if sys.argv[1:] == ["--reason"]:
        print(reason() or "", end="")
        return
    system = System(sys.argv[1], sys.argv[2:])
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    try:
        system.start()
        run(system)
    finally:
        system.close()


if __name__ == "__main__":
    main()
