"""The sandbox of the unit, option by option: what each refuses in force, and lets through when it is left out."""

import json
import re
import struct

import pytest

BOUND = 1.3
"""The exposure by `systemd-analyze security` that the unit must not exceed."""

# Those whose absence is told apart: with the others an unprivileged process has nothing that they would take from it.
OPTIONS = ("ProtectSystem ProtectHome PrivateTmp PrivateDevices ProtectProc ProcSubset ProtectControlGroups NoNewPrivileges "
           "CapabilityBoundingSet LockPersonality MemoryDenyWriteExecute RestrictNamespaces RestrictSUIDSGID "
           "RestrictAddressFamilies RestrictRealtime SystemCallFilter SystemCallFilter=~@aio SystemCallArchitectures "
           "PrivateIPC NoExecPaths LimitCORE UMask").split()
# What stands behind them refuses the same, and has to be left out with them for the one to be seen.
BEHIND = {
    # All filters of system calls imply it for a service with a user of its own.
    "NoNewPrivileges": ("Lock", "MemoryDeny", "Restrict", "SystemCall", "PrivateDevices", "Protect", "CapabilityBoundingSet"),
    "RestrictRealtime": ("SystemCallFilter",),
    "PrivateIPC": ("SystemCallFilter",),
}

# What some hosts have nothing for.
ABSENT = {
    "RestrictAddressFamilies": "this kernel has no other kind of socket that an unprivileged process may open",
    "RestrictRealtime": "this host gives no process the right to a real-time priority",
    "SystemCallArchitectures": "this kernel runs no programs of another architecture",
}


def foreign_call():
    """A program of some bytes that asks the kernel for its process number as programs of 32 bits do, and ends with 0."""
    code = bytes.fromhex("b814000000" "cd80" "31db" "b801000000" "cd80")  # getpid; exit(0)
    start, head = 0x400000, 0x34 + 0x20
    header = struct.pack("<16sHHIIIIIHHHHHH", b"\x7fELF\x01\x01\x01", 2, 3, 1, start + head, 0x34, 0, 0, 0x34, 0x20, 1, 0, 0, 0)
    segment = struct.pack("<IIIIIIII", 1, 0, start, start, head + len(code), head + len(code), 5, 0x1000)
    return header + segment + code


@pytest.fixture(scope="module")
def try_out(shared):
    """Runs inside/sandbox.py under the service's settings without some of them."""
    shared.sh("""
        install -d -m 1777 /srv/open
        install -m 4755 /usr/bin/id /srv/id-of-root
        touch /tmp/of-others /dev/of-others
        python3 -c 'import ctypes; assert ctypes.CDLL(None).shmget(0x6777, 4096, 0o1666) >= 0'
        chmod 755 /home/alice && touch /home/alice/readable""")
    shared.path("/srv/foreign-call").write_bytes(foreign_call())
    shared.path("/srv/foreign-call").chmod(0o755)
    unit = shared.path("/lib/systemd/system/gatewayd.service").read_text()

    def run(*without):
        lines = [line for line in unit.splitlines()
                 if not re.match("|".join(["Restart=", "RestartSec=", "WatchdogSec=", "Requires=", "Exec", *without]), line)]
        text = "\n".join(lines).replace("Type=notify", "Type=oneshot\nLimitRTPRIO=10\nStandardOutput=file:/run/said\n"
                                        "ExecStart=/usr/bin/python3 -B /tests/inside/sandbox.py")
        shared.write("/run/systemd/system/attacker.service", text)
        shared.run("systemctl", "daemon-reload")
        shared.run("systemctl", "start", "attacker.service")
        return json.loads(shared.path("/run/said").read_text())

    return run


@pytest.fixture(scope="module")
def confined(try_out):
    return try_out()


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_refuses_what_is_possible_without_it(option, confined, try_out):
    assert confined[option] == "refused"
    without = try_out(option if "=" in option else f"{option}=", *BEHIND.get(option, ()))
    if option in ABSENT and without[option] == "refused":
        pytest.skip(ABSENT[option])
    assert without[option] == "allowed"


def test_shared_memory_that_a_service_leaves_goes_with_it(shared, try_out):
    # It goes with the last service of the user.
    shared.run("systemctl", "stop", "gatewayd.socket", "gatewayd.service")
    # In the sandbox it has no place for any.
    behind = ("PrivateDevices=", "PrivateIPC=", "ProtectSystem=")
    try_out(*behind)
    # A moment after the service has ended.
    shared.sh("while [ -e /dev/shm/left ]; do sleep 0.02; done")
    try_out("RemoveIPC=", *behind)
    assert shared.path("/dev/shm/left").exists()


def test_the_exposure_stays_within_its_bound(service, record_property):
    told = service.run("systemd-analyze", "security", "--no-pager", "gatewayd.service").out.splitlines()[-1]
    exposure = float(re.search(r"\d+\.\d+", told)[0])
    record_property("exposure", exposure)
    assert exposure <= BOUND, told


def test_addresses_can_be_denied_to_the_daemon(service, chat):
    service.override("gatewayd.service", "[Service]\nIPAddressDeny=any\n")
    service.run("systemctl", "restart", "gatewayd.service")
    assert service.run("gatewayctl", "--timeout", "1s", "request", chat.url, "echo", "1", check=False).code in (69, 124)
    service.override("gatewayd.service", "[Service]\nIPAddressDeny=any\nIPAddressAllow=localhost\n")
    service.run("systemctl", "restart", "gatewayd.service")
    assert service.run("gatewayctl", "request", chat.url, "echo", "1").out == "1"


def test_the_daemon_has_a_user_no_capabilities_and_a_filter(service):
    pid = service.show("gatewayd.service", "MainPID")
    status = dict(line.split(":\t", 1) for line in service.path(f"/proc/{pid}/status").read_text().splitlines()
                  if ":\t" in line)
    assert status["Uid"].split()[0] == service.sh("id -u gatewayd")
    assert int(status["CapEff"], 16) == int(status["CapBnd"], 16) == 0
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
