"""Where on the machine the programs of the harness run, and how they stand against whatever else runs there."""

import atexit
import contextlib
import os

NICE = -15
# Where the kernel groups processes by session, a nice value counts only inside its group.
GROUP = "/proc/self/autogroup"


def raise_priority():
    """All the programs alike get a better place among other work, if we may."""
    try:
        os.nice(NICE)
        with open(GROUP) as file:
            before = file.read().split()[-1]
        set_group(NICE)
        atexit.register(set_group, before)
    except OSError:
        pass


def set_group(nice):
    with open(GROUP, "w") as file:
        file.write(str(nice))


@contextlib.contextmanager
def anywhere():
    """The kernel chooses."""
    yield


@contextlib.contextmanager
def one_cpu():
    """Programs started meanwhile share one CPU: no wake-up crosses to another one, so that only the path counts."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


PLACEMENTS = {"any CPU": anywhere, "one CPU": one_cpu}
