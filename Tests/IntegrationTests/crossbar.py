"""Runs Crossbar.io, a WAMP router, and Autobahn clients on its other side."""

import asyncio
import contextlib
import fcntl
import hashlib
import hmac
import itertools
import json
import os
import signal
import socket
import subprocess
import tempfile
import threading

import processes
from chat import VENVS
from patience import SOON, within
from programs import ROOT

VENV = VENVS / "wamp" / "bin"
PEER = ROOT / "Tests" / "servers" / "wamp_peer.py"

KEY = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
"""A private key, of RFC 8032, that the router knows as dave's."""
PUBLIC_KEY = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"

ARGON2_SALT = "5b6d99689d12358eec284b1412368fa8"
ARGON2_HASH = b"zmrNU9tTGycOI2N+gHxqwwh9vUeK0Tu4epNuz2aqGng"
"""What Argon2id makes of the password with 64 passes over 512 KiB, as Autobahn writes it."""
PBKDF2_SALT = "2f4c2b0c1d3e4f50617283940a1b2c3d"
PASSWORD = "pencil"


def _scram(kdf, salt, iterations, memory, stored, server):
    return {"kdf": kdf, "salt": salt, "iterations": iterations, "memory": memory, "stored-key": stored,
            "server-key": server, "role": "user"}


def principals():
    """Those of the two SCRAM users, computed as Autobahn does."""
    keys = {}
    for name, secret in (("argon", ARGON2_HASH),
                         ("pb", hashlib.pbkdf2_hmac("sha256", PASSWORD.encode(), bytes.fromhex(PBKDF2_SALT), 4096, 32))):
        client = hmac.new(secret, b"Client Key", hashlib.sha256).digest()
        keys[name] = (hashlib.sha256(client).hexdigest(), hmac.new(secret, b"Server Key", hashlib.sha256).hexdigest())
    return {"erin": _scram("argon2id-13", ARGON2_SALT, 64, 512, *keys["argon"]),
            "frank": _scram("pbkdf2", PBKDF2_SALT, 4096, -1, *keys["pb"])}


AUTHENTICATION = {
    "anonymous": {"type": "static", "role": "anonymous"},
    "ticket": {"type": "static", "principals": {"alice": {"ticket": "wonder-ticket", "role": "user"}}},
    "wampcra": {"type": "static", "users": {
        "bob": {"secret": "bobs-secret", "role": "user"},
        # Of the first example of docs/wamp.md.
        "reader": {"secret": "…", "role": "user"},
        "carol": {"secret": "carols-secret", "role": "user", "salt": "salt123", "iterations": 1000, "keylen": 32}}},
    "scram": {"type": "static", "principals": principals()},
    "cryptosign": {"type": "static", "principals": {
        "dave": {"realm": "realm1", "role": "user", "authorized_keys": [PUBLIC_KEY]}}},
}
"""Every method, with one user or two each."""

ALL = {"call": True, "register": True, "publish": True, "subscribe": True}
NONE = {name: False for name in ALL}


class HeldPort:
    """A port that nobody else is given while this lives. Whoever also says SO_REUSEADDR, as Twisted does, may listen on it."""

    def __init__(self):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(("127.0.0.1", 0))
        self.number = self.socket.getsockname()[1]

    def release(self):
        self.socket.close()


@contextlib.contextmanager
def turn():
    """One start at a time on a machine, however many test processes there are: each keeps several processors busy."""
    with open(os.path.join(tempfile.gettempdir(), f"gatewayd-crossbar-{os.getuid()}.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class Router:
    """One node of Crossbar.io with the realm `realm1`; started again it has the same port. With an `authority` it serves
    TLS too."""

    def __init__(self, folder, authority=None):
        self.folder = folder
        self.authority = authority
        self.ports = [HeldPort() for _ in range(2 if authority else 1)]
        self.port = self.ports[0].number
        self.secure_port = self.ports[1].number if authority else None
        self.process = None

    @property
    def host(self):
        return f"127.0.0.1:{self.port}"

    @property
    def url(self):
        """As gatewayd writes it."""
        return f"wamp+ws://{self.host}/ws#realm1"

    def config(self):
        permissions = [{"uri": "", "match": "prefix", "allow": ALL},
                       {"uri": "com.forbidden.", "match": "prefix", "allow": NONE}]
        roles = [{"name": name, "permissions": permissions} for name in ("anonymous", "user")]
        endpoint = {"type": "tcp", "interface": "127.0.0.1", "port": self.port}
        transport = {"type": "web", "endpoint": endpoint, "paths": {
            "/": {"type": "json", "value": {}},
            "ws": {"type": "websocket", "auth": AUTHENTICATION}}}
        transports = [transport]
        if self.authority:
            tls = {"key": str(self.authority / "server.key"), "certificate": str(self.authority / "server.pem")}
            transports.append({**transport, "endpoint": {**endpoint, "port": self.secure_port, "tls": tls}})
        router = {"type": "router", "realms": [{"name": "realm1", "roles": roles}], "transports": transports}
        return {"version": 2, "controller": {}, "workers": [router]}

    def start(self):
        """Waits until it serves, which takes some seconds; an asyncio test does that in a thread. What does not come up is
        tried once more: a machine may be busy with what another run left behind."""
        with turn():
            for _ in range(2):
                if self._start():
                    return self
        raise AssertionError("Crossbar.io did not start:\n" + "".join(self.log[-40:]))

    def _start(self):
        self.folder.mkdir(exist_ok=True)
        (self.folder / "config.json").write_text(json.dumps(self.config()))
        (self.folder / "node.pid").unlink(missing_ok=True)
        self.process = subprocess.Popen(
            [VENV / "crossbar", "start", "--cbdir", self.folder, "--color", "false"], start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=processes.begin)
        self.log = []
        # The whole group: a worker that lives on holds the pipe that is read here.
        overdue = threading.Timer(6 * SOON, self._kill)
        overdue.start()
        try:
            for line in self.process.stdout:
                self.log.append(line.decode(errors="replace"))
                if b"NODE_BOOT_COMPLETE" in line:
                    threading.Thread(target=self._read, args=[self.process.stdout], daemon=True).start()
                    return True
        finally:
            overdue.cancel()
        self.stop()
        return False

    def _read(self, stream):
        for line in stream:
            self.log.append(line.decode(errors="replace"))

    async def peer(self):
        """An Autobahn client in the same realm."""
        return await Peer(f"ws://{self.host}/ws").start()

    def stop(self):
        """Takes it away, as a crash would."""
        if self.process:
            self._kill()
            self.process.wait()

    def _kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def close(self):
        """Takes it away for good."""
        self.stop()
        for port in self.ports:
            port.release()


class RouterView:
    """A router as one test sees it, with names of its own and peers that end with the test."""

    ids = itertools.count(1)

    def __init__(self, router):
        self.router = router
        self.url = router.url
        self.host = router.host
        self.secure_url = f"wamp+wss://127.0.0.1:{router.secure_port}/ws#realm1"
        self.peers = []
        self.prefix = f"com.example.t{os.getpid()}x{next(self.ids)}"

    def name(self, suffix):
        """A name that no other test uses."""
        return f"{self.prefix}.{suffix}"

    async def peer(self):
        peer = await self.router.peer()
        self.peers.append(peer)
        return peer

    async def close(self):
        for peer in self.peers:
            await peer.close()


class Peer:
    """One Autobahn client."""

    def __init__(self, url):
        self.url = url
        self.ids = itertools.count(1)
        self.waiting = {}
        self.session = None

    async def start(self):
        self.process = await processes.spawn(
            VENV / "python", PEER, "--url", self.url, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
        line = await within(self.process.stdout.readline(), "the peer to join", 3 * SOON)
        assert line, "the peer did not start"
        self.session = json.loads(line)["session"]
        self.reader = asyncio.ensure_future(self._read())
        return self

    async def _read(self):
        while line := await self.process.stdout.readline():
            reply = json.loads(line)
            if "id" in reply:
                self.waiting.pop(reply["id"]).set_result(reply)

    async def control(self, op, **members):
        identity = next(self.ids)
        self.waiting[identity] = asyncio.get_running_loop().create_future()
        future = self.waiting[identity]
        self.process.stdin.write(json.dumps({"id": identity, "op": op, "with": members}).encode() + b"\n")
        reply = await within(future, f"the peer to {op}", 3 * SOON)
        assert "error" not in reply, reply["error"]
        return reply["value"]

    async def publish(self, topic, *args, **kwargs):
        return await self.control("publish", topic=topic, args=list(args), kwargs=kwargs)

    async def call(self, procedure, *args, progress=False, **kwargs):
        return await self.control("call", procedure=procedure, args=list(args), kwargs=kwargs, progress=progress)

    async def ask(self, procedure, *args):
        """The only result of a call, or None."""
        result = await self.call(procedure, *args)
        assert "error" not in result, result
        return result["args"][0] if result["args"] else None

    async def received(self, count, topic=None):
        events = await self.control("received", count=count, timeout=SOON, topic=topic)
        assert len(events) >= count, f"the peer received {len(events)} of {count} events: {events}"
        return events

    async def close(self):
        await processes.kill(self.process)
