"""Plays the service manager for a daemon that is restarted: it listens for it, and keeps what the daemon leaves in the fd
store for the next one, which systemd does the same (`make test-service` asks it)."""

import array
import asyncio
import contextlib
import os
import socket
import sys

import processes
from daemon import Daemon, Notifications

LAUNCH = """
import fcntl, os, sys
passed = [int(one) for one in sys.argv[1].split(",")]
# Out of the way, before they get their places behind the standard streams.
moved = [fcntl.fcntl(one, fcntl.F_DUPFD, 500) for one in passed]
for one in passed:
    os.close(one)
for place, one in enumerate(moved):
    os.dup2(one, 3 + place)
    os.close(one)
os.environ["LISTEN_PID"] = str(os.getpid())
os.execv(sys.argv[2], sys.argv[2:])
"""
"""Passes descriptors as systemd does, and becomes the daemon."""


class FDStore(Notifications):
    """NOTIFY_SOCKET with a store behind it."""

    def __init__(self, path):
        self.stored = {}
        super().__init__(path)

    async def _read(self):
        readable = asyncio.Event()
        asyncio.get_running_loop().add_reader(self.socket, readable.set)
        while True:
            await readable.wait()
            readable.clear()
            with contextlib.suppress(BlockingIOError):
                while True:
                    await self._take()

    async def _take(self):
        size = socket.CMSG_SPACE(253 * 4)
        message, control, _, _ = self.socket.recvmsg(4_096, size, socket.MSG_DONTWAIT | socket.MSG_CMSG_CLOEXEC)
        descriptors = array.array("i")
        for level, kind, part in control:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                descriptors.frombytes(part[:len(part) - len(part) % 4])
        lines = message.decode().split("\n")
        name = next((line.split("=", 1)[1] for line in lines if line.startswith("FDNAME=")), "stored")
        if "FDSTORE=1" in lines:
            self.stored.setdefault(name, []).extend(descriptors)
        else:
            # That of a barrier among them, whose sender waits for its end.
            for one in descriptors:
                os.close(one)
        if "FDSTOREREMOVE=1" in lines:
            self.drop(name)
        async with self.arrived:
            self.messages.append(message.decode())
            self.arrived.notify_all()

    def drop(self, *names):
        """Closes what is stored under these names, or all of it."""
        for name in names or list(self.stored):
            for one in self.stored.pop(name, []):
                os.close(one)

    def close(self):
        super().close()
        self.drop()


class ManagedDaemon(Daemon):
    """A daemon whose socket and whose fd store outlive it. What it is told of a SIGTERM is that it is restarted."""

    def __init__(self, program, folder, config, **options):
        super().__init__(program, folder, config, **options)
        self.environment = {
            "GATEWAYD_STOP_JOB": "restart", "RUNTIME_DIRECTORY": folder / "runtime", **self.environment}
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.socket)
        os.chmod(self.socket, 0o666)
        self.listener.listen(4_096)

    def configure(self, config):
        # The passed socket stands at the path that the configuration would take.
        super().configure({**config, "socket": {"path": str(self.folder / "unused"), **config.get("socket", {})}})

    async def launch(self):
        path = str(self.folder / "notify")
        if not self.notifications:
            self.notifications = FDStore(path)
        self.notifications.messages.clear()
        passed = [("control", self.listener.fileno())]
        passed += [(name, one) for name, some in self.notifications.stored.items() for one in some]
        numbers = [number for _, number in passed]
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith(("GATEWAYD_", "LISTEN_", "WATCHDOG_", "XDG_RUNTIME_DIR", "JOURNAL_"))}
        environment |= {"NOTIFY_SOCKET": path, "STATE_DIRECTORY": str(self.folder / "state"),
                        "LISTEN_FDS": str(len(passed)), "LISTEN_FDNAMES": ":".join(name for name, _ in passed)}
        environment |= {key: str(value) for key, value in self.environment.items()}
        with open(self.log, "ab") as log:
            self.process = await processes.spawn(
                sys.executable, "-c", LAUNCH, ",".join(map(str, numbers)), *self.command(), env=environment,
                pass_fds=numbers, stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log)

    async def restart(self, between=lambda: None):
        """Restarts it; `between` is called when there is no daemon."""
        await self.stop()
        between()
        await self.start()

    async def close(self):
        # The end of the test is the end of the service.
        try:
            await super().close()
        finally:
            self.listener.close()
