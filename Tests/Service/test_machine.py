"""The systems of these tests: they leave nothing behind, and several live beside each other."""

import json
import os
import pathlib
import select
import subprocess
import sys

from boot import hierarchies
from machine import HERE

DRIVER = """
import json, sys
from machine import Machine
with Machine(sys.argv[1]) as machine:
    print(json.dumps([machine.name, machine.boot.pid, machine.leader]), flush=True)
    machine.run("sleep", "infinity", timeout=None)
"""


def ended(pid):
    """Waits for the end of a process that is no child."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], 30)[0])
    finally:
        os.close(handle)


def test_a_test_that_is_killed_leaves_no_process_no_mount_and_no_control_group(machine):
    locks = set(pathlib.Path(machine.folder).parent.iterdir())
    mounts = pathlib.Path("/proc/self/mountinfo").read_text()
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, machine.folder], cwd=HERE, stdout=subprocess.PIPE, text=True)
    name, boot, leader = json.loads(driver.stdout.readline())
    driver.kill()
    driver.wait()
    driver.stdout.close()
    assert ended(boot) and ended(leader)
    for group in hierarchies():
        assert not (group / name).exists()
    assert pathlib.Path("/proc/self/mountinfo").read_text() == mounts
    assert not pathlib.Path("/run/systemd/nspawn/propagate", name).exists()
    assert set(pathlib.Path(machine.folder).parent.iterdir()) == locks
    left = subprocess.run(["pgrep", "--full", name], capture_output=True, text=True)
    assert left.stdout == ""


def test_a_killed_boot_takes_its_system_along_and_the_next_one_cleans_up(boot_machine):
    with boot_machine() as killed:
        killed.boot.kill()
        assert ended(killed.leader)
    with boot_machine():
        for group in hierarchies():
            assert not (group / killed.name).exists()


def test_several_systems_live_beside_each_other(boot_machine):
    with boot_machine() as one, boot_machine() as other:
        one.write("/etc/mark", "one")
        assert not other.path("/etc/mark").exists()
        for machine in (one, other):
            machine.run("systemctl", "restart", "dbus.service")
            assert machine.run("systemctl", "is-system-running").out == "running"
        assert one.sh("cat /proc/sys/kernel/random/boot_id; hostname") != "" != other.sh("hostname")


def test_nothing_that_a_system_writes_reaches_the_next_one(boot_machine):
    with boot_machine() as one:
        one.sh("echo mark > /etc/mark; rm /etc/debian_version")
    with boot_machine() as next_one:
        assert next_one.sh("[ ! -e /etc/mark ] && ls /etc/debian_version") == "/etc/debian_version"
