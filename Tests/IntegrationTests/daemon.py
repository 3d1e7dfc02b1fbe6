"""Runs a real gatewayd for a test."""

import asyncio
import contextlib
import os
import signal
import socket
import stat

import processes
import toml
from local_client import LocalClient
from patience import SOON, within

FAST = {"base": "50ms", "cap": "200ms"}
"""A back-off that does not make tests wait."""


class Notifications:
    """The receiving end of NOTIFY_SOCKET."""

    def __init__(self, path):
        self.path = path
        self.messages = []
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        self.socket.bind(path)
        os.chmod(path, 0o666)
        self.arrived = asyncio.Condition()
        self.task = asyncio.ensure_future(self._read())

    async def _read(self):
        loop = asyncio.get_running_loop()
        while True:
            message = await loop.sock_recv(self.socket, 65536)
            async with self.arrived:
                self.messages.append(message.decode())
                self.arrived.notify_all()

    def lines(self):
        return [line for message in self.messages for line in message.split("\n")]

    async def until(self, holds, what):
        async with self.arrived:
            await within(self.arrived.wait_for(holds), what)

    async def line(self, prefix, after=0):
        """Waits for a line with this prefix among those behind the first `after`; returns it."""
        def found():
            return [line for line in self.lines()[after:] if line.startswith(prefix)]

        await self.until(found, f"{prefix} on NOTIFY_SOCKET")
        return found()[0]

    def close(self):
        # The next socket may have its descriptor before the task ends, and would never be told of anything to read.
        if self.socket.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(self.socket)
        self.task.cancel()
        self.socket.close()


class Daemon:
    """One gatewayd with a folder of its own."""

    def __init__(self, program, folder, config, arguments=(), environment=None, wrapper=()):
        self.program = program
        self.folder = folder
        self.arguments = list(arguments)
        self.environment = environment or {}
        self.wrapper = list(wrapper)
        self.config = folder / "gatewayd.toml"
        self.socket = str(folder / "socket")
        self.log = folder / "log"
        self.settings = {}
        self.configure(config or {})
        self.notifications = None
        self.process = None
        self.clients = []

    def configure(self, config):
        """Writes the configuration file: where the test says nothing, a socket in its folder, no long waits, and
        WebSockets alone, so that a scripted upstream meets one attempt where the daemon would make two."""
        config = dict(config)
        config.setdefault("socket", {})
        config["socket"] = {"path": self.socket, **config["socket"]}
        config["defaults"] = {"reconnect": FAST, "transports": ["websocket"], **config.get("defaults", {})}
        config["limits"] = {"stop": "200ms", **config.get("limits", {})}
        self.settings = config
        self.config.write_text(toml.document(config))
        self.config.chmod(0o644)

    def command(self):
        return [*self.wrapper, str(self.program), "--config", str(self.config), *self.arguments]

    async def start(self):
        """Starts the process and waits until it says READY."""
        await self.launch()
        ready = asyncio.ensure_future(self.notifications.line("READY=1"))
        ended = asyncio.ensure_future(self.process.wait())
        await asyncio.wait([ready, ended], return_when=asyncio.FIRST_COMPLETED)
        ended.cancel()
        if not ready.done():
            ready.cancel()
            raise AssertionError(f"gatewayd ended with {self.process.returncode} instead of starting:\n{self.text()}")
        await ready
        return self

    async def launch(self):
        """Starts the process and waits for nothing."""
        if self.notifications:
            self.notifications.close()
        path = str(self.folder / "notify")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        self.notifications = Notifications(path)
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith(("GATEWAYD_", "LISTEN_", "WATCHDOG_", "XDG_RUNTIME_DIR", "RUNTIME_", "JOURNAL_"))}
        environment |= {"NOTIFY_SOCKET": path, "STATE_DIRECTORY": str(self.folder / "state")}
        environment |= {key: str(value) for key, value in self.environment.items()}
        with open(self.log, "ab") as log:
            self.process = await processes.spawn(
                *self.command(), env=environment, stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log)

    def text(self):
        """What the daemon wrote so far."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    async def client(self):
        client = await LocalClient.connect(self.socket)
        self.clients.append(client)
        return client

    async def connected(self, **target):
        """A client, once the connection to a target is up."""
        client = await self.client()
        await client.call("wait", state="connected", timeout=int(SOON * 1000), **target)
        return client

    async def status(self, **target):
        """The result of `status`, asked on a connection of its own."""
        client = await LocalClient.connect(self.socket)
        try:
            return await client.call("status", **target)
        finally:
            await client.close()

    async def connection(self, **target):
        """The one connection that `status` shows."""
        (only,) = (await self.status(**target))["connections"]
        return only

    async def until(self, holds, what, patience=SOON, **target):
        """Asks for `status` until it satisfies `holds`; returns it."""
        client = await LocalClient.connect(self.socket)

        async def ask():
            while not holds(status := await client.call("status", **target)):
                await asyncio.sleep(0.01)
            return status

        try:
            return await within(ask(), what, patience)
        finally:
            await client.close()

    def send_signal(self, number):
        self.process.send_signal(number)

    async def stop(self, number=signal.SIGTERM):
        """An orderly stop, which must succeed."""
        self.send_signal(number)
        code = await processes.finish(self.process, "gatewayd")
        assert code == 0, f"gatewayd ended with {code}:\n{self.text()}"

    async def crash(self):
        """Kills the process as the kernel would."""
        await processes.kill(self.process)

    async def close(self):
        """The end of the test: a daemon that still runs must stop in order."""
        for client in self.clients:
            await client.close()
        try:
            if self.process and self.process.returncode is None:
                await self.stop()
            elif self.process:
                assert self.process.returncode >= 0 or self.process.returncode == -signal.SIGKILL, self.text()
        finally:
            if self.process:
                await processes.kill(self.process)
            if self.notifications:
                self.notifications.close()
            print(f"--- {self.log}\n{self.text()}")

    def mode(self):
        return stat.S_IMODE(os.stat(self.socket).st_mode)
