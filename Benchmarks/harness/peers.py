"""What is measured: gatewayd and its peers, each with the blaster as its source of events."""

import os
import socket
import tempfile

from . import places
from .process import Program, wait_for_socket


def free_port():
    """A TCP port that nobody listens at just now."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Peer:
    """A running peer: `daemon` is the process that is looked at, `socket` and `protocol` are for the reader."""

    name = ""
    protocol = ""
    feed = ""
    url = ""
    # It says more to a subscriber than events.
    chats = False
    # A program that runs the daemon, with its options.
    wrapper = ()

    def __init__(self, payload=200):
        self.payload = payload
        self.folder = tempfile.TemporaryDirectory(prefix="bench-")
        self.socket = self.path("peer.sock")
        self.control = self.path("control.sock")
        self.log = open(self.path("log"), "w+")
        self.daemon = self.blaster = None

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for program in (self.daemon, self.blaster):
            if program:
                program.end()
        self.log.close()
        self.folder.cleanup()

    def start(self):
        raise NotImplementedError

    def port(self):
        """The TCP port where a broker's events come in; None: through the Unix socket."""
        return None

    def start_blaster(self, *more):
        """Starts the source of events; returns its port."""
        self.blaster = Program(
            [places.program("blaster"), "--control", self.control, "--format", self.feed, "--payload", self.payload, *more]
        )
        return self.blaster.line()

    def start_daemon(self, *arguments, env=None):
        self.daemon = Program([*self.wrapper, *arguments], env=env, log=self.log)
        try:
            wait_for_socket(self.socket, self.daemon)
        except RuntimeError:
            self.log.seek(0)
            raise RuntimeError(f"{self.name} did not start:\n{self.log.read()}") from None

    @classmethod
    def missing(cls):
        """Why it cannot be measured here, or None."""
        return None


class Gatewayd(Peer):
    name = "gatewayd"
    protocol = "gatewayd"
    feed = "socketio"
    program = property(lambda self: places.gatewayd())
    # More lines of the configuration.
    settings = ""

    def start(self):
        port = self.start_blaster()
        self.url = f"http://127.0.0.1:{port}"
        configuration = self.write(
            "gatewayd.toml",
            f'[socket]\npath = "{self.socket}"\n[log]\nlevel = "warning"\n'
            f"[limits]\nclients = 20000\nclients_per_user = 20000\n{self.settings}",
        )
        self.start_daemon(
            self.program, "--config", configuration, env={"STATE_DIRECTORY": self.folder.name}
        )

    @classmethod
    def missing(cls):
        return None if os.path.exists(places.gatewayd()) else f"{places.gatewayd()} does not exist"


class Relay(Peer):
    """The practical limit: the payload's bare lines."""

    name = "C relay, bare lines"
    protocol = "relay"
    feed = "line"

    def start(self):
        port = self.start_blaster()
        self.start_daemon(places.program("relay"), "--upstream", port, "--socket", self.socket)


class NotificationRelay(Relay):
    """The practical limit for the bytes that gatewayd delivers: its own notifications."""

    name = "C relay, gatewayd's lines"
    protocol = "relay-notification"
    feed = "notification"


class Courier(Peer):
    """The practical limit of a request through a process: no more than two copies."""

    name = "through a C courier"
    feed = "socketio"

    def start(self):
        port = self.start_blaster()
        self.url = f"http://127.0.0.1:{port}"
        self.start_daemon(places.program("courier"), "--upstream", port, "--socket", self.socket)


class Redis(Peer):
    name = "redis"
    protocol = "redis"
    feed = "redis"

    def start(self):
        # The output limit would disconnect a subscriber that is a window behind; nothing is saved to disk.
        port = self.port()
        self.start_daemon(
            *(places.redis_server(), "--bind", "127.0.0.1", "--port", port or 0, "--unixsocket", self.socket),
            *("--save", "", "--maxclients", 15000, "--dir", self.folder.name),
            *("--client-output-buffer-limit", "pubsub 0 0 0"),
        )
        self.start_blaster("--to", port or self.socket)

    @classmethod
    def missing(cls):
        return None if places.redis_server() else "redis-server is not installed; see --install"


class Nats(Peer):
    """Over TCP: it has no Unix socket."""

    name = "nats (TCP)"
    protocol = "nats"
    feed = "nats"
    # It pings.
    chats = True

    def start(self):
        port = free_port()
        # A subscriber that is a window behind must not be let go.
        configuration = self.write(
            "nats.conf", f"host: 127.0.0.1\nport: {port}\nmax_pending: 1GB\nwrite_deadline: 60s\nmax_payload: 8MB\n"
        )
        self.socket = str(port)
        self.start_daemon(places.found("nats-server"), "-c", configuration)
        self.start_blaster("--to", port)

    @classmethod
    def missing(cls):
        return None if places.found("nats-server") else "nats-server is not installed; see --install"


class Mosquitto(Peer):
    name = "mosquitto"
    protocol = "mosquitto"
    feed = "mqtt"

    def start(self):
        # Unlimited queues, as for the others: the window bounds them.
        port = self.port()
        configuration = self.write(
            "mosquitto.conf",
            f"listener 0 {self.socket}\n" + (f"listener {port} 127.0.0.1\n" if port else "")
            + "allow_anonymous true\nlog_type error\nmax_queued_messages 0\nset_tcp_nodelay true\nuser root\n",
        )
        self.start_daemon(places.found("mosquitto"), "-c", configuration)
        self.start_blaster("--to", port or self.socket)

    @classmethod
    def missing(cls):
        return None if places.found("mosquitto") else "mosquitto is not installed; see --install"


class FedByTCP:
    """Mixed into a broker: its events come as gatewayd's do, over loopback TCP."""

    def port(self):
        return free_port()


class RedisFedByTCP(FedByTCP, Redis):
    name = "redis, events in by TCP"


class MosquittoFedByTCP(FedByTCP, Mosquitto):
    name = "mosquitto, events in by TCP"


def available(kinds):
    """Those that can be measured here; says why the others cannot."""
    usable = []
    for kind in kinds:
        reason = kind.missing()
        if reason:
            print(f"left out: {kind.name} ({reason})")
        else:
            usable.append(kind)
    return usable
