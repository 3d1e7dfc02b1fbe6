"""Where things are, and building what has to be built."""

import os
import shutil
import subprocess

BENCHMARKS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROJECT = os.path.dirname(BENCHMARKS)
PROGRAMS = os.path.join(PROJECT, ".build", "benchmarks")
RESULTS = os.path.join(BENCHMARKS, "RESULTS.md")
PROFILES = os.path.join(BENCHMARKS, "PROFILES.md")
COSTS = os.path.join(BENCHMARKS, "costs.json")
DOCUMENT = os.path.join(PROJECT, "docs", "performance.md")
PICTURE = os.path.join(PROJECT, "docs", "performance.svg")
# What the tools themselves write.
WRITTEN = (RESULTS, PROFILES, COSTS, DOCUMENT, PICTURE)


def program(name):
    return os.path.join(PROGRAMS, name)


def gatewayd():
    """The daemon under test: $GATEWAYD, else the release build."""
    return os.environ.get("GATEWAYD") or os.path.join(PROJECT, ".build", "release", "gatewayd")


def gatewayctl():
    """The command line program that belongs to the daemon under test."""
    return os.path.join(os.path.dirname(gatewayd()), "gatewayctl")


def python():
    """A Python with python-socketio: the one of the tests; None where `make environments` has not been run."""
    path = os.path.join(PROJECT, "build", "venv", "eio4", "bin", "python")
    return path if os.path.exists(path) else None


def build(daemon):
    """Builds the load programs, and the daemon as it is released unless $GATEWAYD names one."""
    subprocess.run(["make", "-s", "-C", BENCHMARKS, f"OUT={PROGRAMS}"], check=True)
    if daemon and "GATEWAYD" not in os.environ:
        subprocess.run(
            ["swift", "build", "-c", "release", "--static-swift-stdlib"], cwd=PROJECT, check=True
        )


def found(command):
    """The path of a peer's program; None when it is not installed."""
    return shutil.which(command, path=os.environ.get("PATH", "") + ":/usr/sbin")


def redis_server():
    """The path of Redis' server; Debian's `redis-tools` has it under another name, which starts no service, and by the name
    that it is started with it knows what it is to be. None where there is none."""
    other = found("redis-check-rdb")
    if found("redis-server") or not other:
        return found("redis-server")
    os.makedirs(PROGRAMS, exist_ok=True)
    path = program("redis-server")
    if not os.path.exists(path):
        os.symlink(os.path.realpath(other), path)
    return path


PEERS = {
    "redis-server": "redis-server", "mosquitto": "mosquitto", "mosquitto_pub": "mosquitto-clients", "nats-server": "nats-server",
}  # fmt: skip


def install(packages):
    """Installs the Debian packages of those commands that are missing; as root, or with sudo."""
    missing = [package for command, package in packages.items() if not found(command)]
    if missing:
        print(f"installing {' '.join(missing)}", flush=True)
        apt = [*([] if os.geteuid() == 0 else ["sudo"]), "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q"]
        subprocess.run([*apt, "update"], check=True)
        subprocess.run([*apt, "install", "-y", "--no-install-recommends", *missing], check=True)


def harness(name):
    """A program of this package."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
