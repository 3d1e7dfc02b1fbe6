"""A short tour of a fleet: three hosts, each a folder with a daemon of its own, share one connection to a real
python-socketio server, over a real Redis; and go on when the host that has the connection dies.

Every step says what it shows, shows it, and checks it; the exit code is 0 only if all of it was true.
"""

import json
import pathlib
import socket
import subprocess
import sys
import time

import demo
from demo import Missing, until

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "Tests" / "IntegrationTests"))
import redis_server  # noqa: E402

NAMES = ("edge-1", "edge-2", "edge-3")
LEASE = 1


class Host:
    """A folder, the daemon in it, and a subscriber beside that."""

    def __init__(self, tour, name):
        self.tour, self.name = tour, name
        self.folder = tour.folder / name
        self.folder.mkdir()
        self.socket = self.folder / "socket"
        self.config = self.folder / "gatewayd.toml"
        self.config.write_text(
            f'[socket]\npath = "{self.socket}"\n\n[state]\npath = "{self.folder}/state"\n\n'
            f'[fleet]\nname = "demo"\nredis = ["redis://127.0.0.1:{tour.redis_port}"]\nhost = "{name}"\nlease = "{LEASE}s"\n\n'
            f'[upstream.chat]\nurl = "http://127.0.0.1:{tour.port}"\nfleet = true\n')

    def start(self):
        """The daemon, once it answers."""
        with open(self.tour.folder / "log", "a") as log:
            self.daemon = self.tour.start(self.tour.programs / "gatewayd", "--config", self.config, stdout=log, stderr=log)
        until(lambda: self.ctl("ping", show=False).returncode == 0, f"the daemon of {self.name} answers")

    def subscribe(self):
        self.reader = self.tour.start(
            self.tour.programs / "gatewayctl", "--socket", self.socket, "subscribe", "chat", "said",
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def event(self):
        """The next one that the subscriber prints."""
        return json.loads(self.reader.stdout.readline())

    def warning(self):
        """Its subscriber was warned that events may be missing, for another reason than that it began before its host had read
        anything."""
        while "gap:" not in (line := self.reader.stderr.readline()) or "has just begun" in line:
            pass
        return line.strip()

    def die(self):
        """As a machine does that loses its power: no process of it says a last word."""
        self.tour.end(self.daemon)
        self.tour.end(self.reader)

    def ctl(self, *arguments, show=True):
        """`gatewayctl` on this host."""
        return self.tour.ctl_on(self, *arguments, show=show)

    def links(self):
        """Role → state of what this host has of the upstream."""
        status = json.loads(self.ctl("status", "--json", show=False).stdout)
        return {one["fleet"]["role"]: one["state"] for one in status["connections"]}

    @property
    def is_connected(self):
        return self.links().get("follower") == "connected"

    @property
    def holds(self):
        return self.links().get("holder") == "connected"


class Tour(demo.Demo):
    def ctl_on(self, host, *arguments, show=True):
        if show:
            self.say(f"{host.name}$ gatewayctl " + " ".join(
                one if one.replace("-", "").isalnum() else repr(one) for one in arguments))
        done = subprocess.run([self.programs / "gatewayctl", "--socket", host.socket, *arguments],
                              capture_output=True, text=True, timeout=demo.PATIENCE)
        if show:
            for line in (done.stdout + done.stderr).splitlines():
                self.say("  " + line)
        return done

    def start_redis(self):
        """On a port that is free; under the name by which the program knows what it is to be."""
        folder = self.folder / "redis"
        folder.mkdir()
        program = folder / "redis-server"
        program.symlink_to(pathlib.Path(redis_server.program()).resolve())
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.redis_port = free.getsockname()[1]
        redis = self.start(program, "--bind", "127.0.0.1", "--port", str(self.redis_port), "--dir", folder, "--save", "",
                           "--appendonly", "yes", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        for line in redis.stdout:
            if "Ready to accept connections" in line:
                return
        raise Missing("Redis did not start")

    def holder(self, hosts):
        return until(lambda: next((host for host in hosts if host.holds), None), "one host has the connection")

    def heard(self, hosts, text, show=True):
        """The same event, from each host's subscriber."""
        events = []
        for host in hosts:
            event = host.event()
            if show:
                self.say(f"the subscriber on {host.name} printed {json.dumps(event)}")
            if event["args"] != [text]:
                raise Missing(f"“{text}” on {host.name}")
            events.append(event)
        return events

    def run(self):
        self.step("A chat server, a Redis, and three hosts, each with a daemon of its own.")
        self.start_server()
        self.start_redis()
        hosts = [Host(self, name) for name in NAMES]
        for line in hosts[0].config.read_text().splitlines():
            self.say(line)
        self.say("…and the same on edge-2 and edge-3, each under its own name.")
        for host in hosts:
            host.start()
            host.subscribe()
        holder = self.holder(hosts)
        until(lambda: all(host.is_connected for host in hosts), "all hosts are connected")
        self.say(f"{holder.name} has the connection to the server, the others use it by way of Redis")
        counters = self.counters()
        self.check((counters["links"], counters["links_ever"]) == (1, 1),
                   "three daemons are connected; the server counts 1 connection")

        self.step("Whatever a program on any host says leaves by that one connection, and all hear the answer.")
        other = next(host for host in hosts if host is not holder)
        other.ctl("send", "chat", "say", "hello from a host without a connection")
        events = self.heard(hosts, "hello from a host without a connection")
        self.check(events[0] == events[1] == events[2], "each host has it with the same number, epoch and time")
        done = other.ctl("request", "chat", "echo", "ping")
        self.check(done.stdout == '"ping"\n', "a request is answered on the host that asked")

        self.step("A program goes on at another host, behind what it has seen.")
        seen = []
        for text in ("one", "two"):
            other.ctl("send", "chat", "say", text, show=False)
            seen += self.heard(hosts, text, show=False)[:1]
        first = seen[0]
        self.say(f"the subscriber on {holder.name} printed {json.dumps(first)} and ended")
        done = other.ctl("subscribe", "--since", f"{first['epoch']}:{first['seq']}", "-n", "1", "chat", "said")
        self.check(json.loads(done.stdout)["args"] == ["two"], "it saw “one” elsewhere, and is given “two” here")

        self.step(f"{holder.name}, which has the connection, loses its power.")
        living = [host for host in hosts if host is not holder]
        began = time.monotonic()
        holder.die()
        done = other.ctl("send", "--delivery", "durable", "chat", "say", "sent while no host had a connection")
        self.check(done.returncode == 0, "what is sent now is kept on the disk of its host")
        heir = self.holder(living)
        took = time.monotonic() - began
        for host in living:
            self.say(f"the subscriber on {host.name} was warned: {host.warning()}")
        self.heard(living, "sent while no host had a connection")
        self.check(took < 2 * LEASE + 5, f"{heir.name} has noticed it, and has a connection of its own after {took:.1f} s")
        counters = until(lambda: (now := self.counters())["links"] == 1 and now, "the old connection to end")
        self.check((counters["links"], counters["links_ever"], counters["received"]) == (1, 2, 5),
                   "the server counts 1 connection again, the second one ever, and got each message once")

        self.step(f"{holder.name} comes back, and joins the others.")
        holder.start()
        done = holder.ctl("request", "chat", "echo", "I am back")
        self.check(done.stdout == '"I am back"\n' and not holder.holds and self.counters()["links"] == 1,
                   f"its programs are served by the connection of {heir.name}; the server counts 1")


if __name__ == "__main__":
    if redis_server.program() is None:
        sys.exit(redis_server.MISSING)
    sys.exit(demo.main(Tour, __doc__))
