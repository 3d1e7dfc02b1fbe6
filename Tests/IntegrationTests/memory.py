"""Whether a daemon's resident memory says anything about it, and how to read it."""

import os
import pathlib
import re

# A sanitizer keeps books beside every byte, and freed memory for a while.
COUNTS = not os.environ.get("GATEWAY_SANITIZE")


def _field(daemon, name):
    status = pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text()
    return int(re.search(rf"{name}:\s+(\d+)", status)[1]) << 10


def resident(daemon):
    """What a daemon's process has in memory now, in bytes."""
    return _field(daemon, "VmRSS")


def peak(daemon):
    """The most that it ever had."""
    return _field(daemon, "VmHWM")
