"""One line about the machine and the build that were measured."""

import os
import platform
import subprocess
import time

from . import places


def described():
    with open("/proc/cpuinfo") as file:
        model = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "unknown CPU")
    with open("/proc/meminfo") as file:
        gigabytes = int(file.readline().split()[1]) / 2**20
    with open("/etc/os-release") as file:
        system = next((line.split("=", 1)[1].strip().strip('"') for line in file if line.startswith("PRETTY_NAME")), "")
    commit = subprocess.run(
        ["git", "-C", places.PROJECT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True
    ).stdout.strip()
    return (
        f"{time.strftime('%Y-%m-%d')}, commit {commit}, {os.cpu_count()} × {model}, {gigabytes:.0f} GB, "
        f"{system}, Linux {platform.release()}, load at the end {os.getloadavg()[0]:.1f}"
    )
