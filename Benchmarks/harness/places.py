"""Where things are, and building what has to be built."""

import os
import shutil
import subprocess

BENCHMARKS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROJECT = os.path.dirname(BENCHMARKS)
PROGRAMS = os.path.join(PROJECT, ".build", "benchmarks")
RESULTS = os.path.join(BENCHMARKS, "RESULTS.md")


def program(name):
    return os.path.join(PROGRAMS, name)


def gatewayd():
    """The daemon under test: $GATEWAYD, else the release build."""
    return os.environ.get("GATEWAYD") or os.path.join(PROJECT, ".build", "release", "gatewayd")


def build(daemon):
    """Builds the load programs, and the daemon as it is released unless $GATEWAYD names one."""
    subprocess.run(["make", "-s", "-C", BENCHMARKS, f"OUT={PROGRAMS}"], check=True)
    if daemon and "GATEWAYD" not in os.environ:
        subprocess.run(
            ["swift", "build", "-c", "release", "--static-swift-stdlib", "--product", "gatewayd"],
            cwd=PROJECT,
            check=True,
        )


def found(command):
    """The path of a peer's program; None when it is not installed."""
    return shutil.which(command, path=os.environ.get("PATH", "") + ":/usr/sbin")


def install_peers():
    """Installs the peers' Debian packages that are missing."""
    packages = {"redis-server": "redis-server", "mosquitto": "mosquitto"}
    missing = [package for command, package in packages.items() if not found(command)]
    if missing:
        subprocess.run(["apt-get", "install", "-y", "-q", "--no-install-recommends", *missing], check=True)
