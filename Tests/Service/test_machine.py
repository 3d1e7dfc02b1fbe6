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


WITHOUT_MIRROR = """
import pathlib, sys, machine
machine.BUILD = pathlib.Path(sys.argv[1])
try:
    machine.root(["systemd"])
except machine.NoMirror as problem:
    print(problem)
"""


def test_without_a_network_a_root_that_has_to_be_made_is_missing_and_one_that_exists_is_taken(machine, packages, tmp_path):
    # The one of before stays until there is another one.
    (tmp_path / "bookworm-before").mkdir()
    done = subprocess.run(["unshare", "--net", sys.executable, "-B", "-c", WITHOUT_MIRROR, tmp_path], cwd=HERE,
                          capture_output=True, text=True)
    assert "resolv" in done.stdout or "connect" in done.stdout, done
    assert (tmp_path / "bookworm-before").exists()
    taken = subprocess.run(["unshare", "--net", sys.executable, "-B", "-c",
                            "import sys, machine; print(machine.root(machine.packages_for(sys.argv[1:])))", *packages.debs],
                           cwd=HERE, capture_output=True, text=True)
    assert taken.stdout.strip() == str(machine.folder), taken
