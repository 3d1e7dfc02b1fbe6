"""Runs a real Redis server for a test, in memory or with its file, on a port of 127.0.0.1."""

import asyncio
import os
import pathlib
import signal
import socket

import processes
from patience import SOON, within

NAMES = ("/usr/bin/redis-server", "/usr/local/bin/redis-server", "/usr/bin/redis-check-rdb")

CLIENT = "redis-cli"


def program():
    """The program; None where there is none. Debian's `redis-tools` has it under another name, which starts no service;
    by the name that it is started with it knows what it is to be."""
    named = os.environ.get("GATEWAY_REDIS_SERVER")
    return named or next((name for name in NAMES if os.access(name, os.X_OK)), None)


MISSING = "there is no Redis: the package redis-tools is not installed, and GATEWAY_REDIS_SERVER names none"


class RedisServer:
    """One server with a folder of its own; `restart` brings it up on the same port."""

    def __init__(self, folder, arguments=()):
        self.folder = folder
        folder.mkdir()
        self.name = folder / "redis-server"
        self.name.symlink_to(pathlib.Path(program()).resolve())
        self.arguments = list(arguments)
        self.wrapper = []
        self.environment = {}
        self.host = "127.0.0.1"
        self.tls = None
        """Where its certificate and key are, without `.pem` and `.key`; then the port wants TLS."""
        self.port = 0
        self.process = None

    async def start(self):
        for _ in range(20):
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                self.port = free.getsockname()[1]
            if await self.restart():
                return self
        raise AssertionError("no Redis server could be started")

    async def restart(self):
        """False where somebody else has taken the port."""
        ports = ["--port", str(self.port)]
        if self.tls:
            ports = ["--port", "0", "--tls-port", str(self.port), "--tls-cert-file", f"{self.tls}.pem", "--tls-key-file",
                     f"{self.tls}.key", "--tls-ca-cert-file", self.tls.with_name("ca.pem"), "--tls-auth-clients", "no"]
        self.process = await processes.spawn(
            *self.wrapper, self.name, "--bind", self.host, *ports, "--dir", str(self.folder), "--save", "", *self.arguments,
            env=os.environ | self.environment, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE)

        async def ready():
            while line := await self.process.stdout.readline():
                if b"Ready to accept connections" in line:
                    return True
            return False

        isReady = await within(ready(), "Redis to start", SOON)
        if isReady:
            self.reader = asyncio.ensure_future(self._read(self.process.stdout))
        return isReady

    async def _read(self, stream):
        while await stream.readline():
            pass

    @property
    def url(self):
        return f"redis{'s' if self.tls else ''}://{self.host}:{self.port}"

    @property
    def client_options(self):
        return ["--tls", "--insecure"] if self.tls else []

    def pause(self):
        """Freezes the process: connections stay open and nothing answers."""
        os.killpg(self.process.pid, signal.SIGSTOP)

    def resume(self):
        os.killpg(self.process.pid, signal.SIGCONT)

    async def command(self, *words):
        """One command, from where the server is; returns the first line of its answer."""
        return (await self.lines(*words))[0]

    async def lines(self, *words):
        """The same with all lines."""
        process = await processes.spawn(
            *self.wrapper, CLIENT, "-h", self.host, "-p", str(self.port), *self.client_options, *words,
            stdout=asyncio.subprocess.PIPE)
        output, _ = await within(process.communicate(), f"Redis to {words[0]}")
        return output.decode().replace("\r", "").removesuffix("\n").split("\n")

    async def replication(self):
        """What it says of its replication."""
        return dict(line.split(":", 1) for line in await self.lines("INFO", "replication") if ":" in line)

    async def follow(self, master):
        """Becomes the replica of another server."""
        await self.command("REPLICAOF", master.host, str(master.port))

    async def until_linked(self):
        """Waits until it has the data of its master."""
        await self._until_link("up", "the replica to follow its master")

    async def until_unlinked(self):
        """Waits until it knows that it has lost its master."""
        await self._until_link("down", "the replica to lose its master")

    async def _until_link(self, state, what):
        async def ask():
            while (await self.replication()).get("master_link_status") != state:
                await asyncio.sleep(0.02)

        await within(ask(), what)

    async def kill(self):
        await processes.kill(self.process)

    async def close(self):
        if self.process:
            await processes.kill(self.process)
