"""Child processes that cannot outlive the test that started them."""

import asyncio
import contextlib
import ctypes
import os
import signal

from patience import within

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1


def _start_afresh():
    """A shell's background job has the interrupt ignored, and its children inherit that: they begin like a user's."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def begin():
    """What a child does first: it ends with its parent."""
    _start_afresh()
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


async def spawn(*command, dies_with_parent=True, **options):
    """Starts a process as the leader of a group of its own."""
    return await asyncio.create_subprocess_exec(
        *map(str, command), start_new_session=True, limit=1 << 26,
        preexec_fn=begin if dies_with_parent else _start_afresh, **options)


async def finish(process, what):
    """Waits for the end of a process that was told to end; returns its code."""
    return await within(process.wait(), f"{what} to end")


async def kill(process):
    """Kills the whole group; never fails."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
