"""One line about the machine and the build that were measured."""

import os
import platform
import subprocess
import time

from . import places


def git(*arguments):
    return subprocess.run(["git", "-C", places.PROJECT, *arguments], capture_output=True, text=True).stdout.strip()


def commit():
    """The commit that is measured, as far as that has one: `-dirty` where files differ from it, but for those that the tools write."""
    others = [f":(exclude){os.path.relpath(path, places.PROJECT)}" for path in places.WRITTEN]
    dirty = "-dirty" if git("status", "--porcelain", "--", ".", *others) else ""
    elsewhere = " (daemon named by $GATEWAYD)" if "GATEWAYD" in os.environ else ""
    return git("rev-parse", "--short", "HEAD") + dirty + elsewhere


def change(measured):
    """What that commit says that it does."""
    return ("files that are not committed, after: " if "-dirty" in measured else "") + git("log", "-1", "--format=%s")


def described(measured):
    """In a line, with the commit that was measured; the load is that of this moment."""
    with open("/proc/cpuinfo") as file:
        model = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "unknown CPU")
    with open("/proc/meminfo") as file:
        gigabytes = int(file.readline().split()[1]) / 2**20
    with open("/etc/os-release") as file:
        system = next((line.split("=", 1)[1].strip().strip('"') for line in file if line.startswith("PRETTY_NAME")), "")
    return (
        f"{time.strftime('%Y-%m-%d')}, commit {measured}, {os.cpu_count()} × {model}, {gigabytes:.0f} GB, "
        f"{system}, Linux {platform.release()}, load at the end {os.getloadavg()[0]:.1f}"
    )
