"""What a program that took the daemon over could do: tries each forbidden thing and prints {"thing": "refused"|"allowed"}.

It runs in the service's sandbox, and without one of the options. `systemd` names the option that refuses it."""

import contextlib
import ctypes
import json
import mmap
import os
import pathlib
import resource
import socket
import subprocess

LIBC = ctypes.CDLL(None, use_errno=True)
STATE = pathlib.Path(os.environ["STATE_DIRECTORY"])
# A segment of shared memory that everybody outside may use.
SHARED = 0x6777
TRIES = {}


def tries(option):
    def keep(function):
        TRIES[option] = function
        return function
    return keep


def call(number, *arguments):
    """A system call; an error is an OSError."""
    result = LIBC.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


@tries("ProtectSystem")
def write_where_everybody_may():
    pathlib.Path("/srv/open/mark").write_text("x")


@tries("ProtectHome")
def look_into_a_home():
    assert pathlib.Path("/home/alice/readable").exists()


@tries("PrivateTmp")
def see_the_files_of_others():
    assert pathlib.Path("/tmp/of-others").exists()


@tries("PrivateDevices")
def see_a_device():
    assert pathlib.Path("/dev/of-others").exists()


@tries("ProtectProc")
def see_the_processes_of_others():
    assert pathlib.Path("/proc/1/status").exists()


@tries("ProcSubset")
def read_about_the_machine():
    assert pathlib.Path("/proc/meminfo").exists()


@tries("ProtectControlGroups")
def write_control_groups():
    assert not os.statvfs("/sys/fs/cgroup").f_flag & os.ST_RDONLY


@tries("NoNewPrivileges")
def become_another_user():
    assert "euid=0" in subprocess.run(["/srv/id-of-root"], capture_output=True, text=True, check=True).stdout


@tries("CapabilityBoundingSet")
def keep_capabilities_for_a_child():
    assert int(pathlib.Path("/proc/self/status").read_text().split("CapBnd:")[1].split()[0], 16)


@tries("LockPersonality")
def change_the_personality():
    call(135, 0x0040000)


@tries("MemoryDenyWriteExecute")
def make_code_at_run_time():
    mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC).close()


@tries("RestrictNamespaces")
def make_a_namespace():
    call(272, 0x10000000)


@tries("RestrictSUIDSGID")
def make_a_program_that_is_somebody():
    mark = STATE / "mark"
    mark.write_text("x")
    mark.chmod(0o4755)


@tries("RestrictAddressFamilies")
def open_another_kind_of_socket():
    socket.socket(38, socket.SOCK_SEQPACKET).close()


@tries("RestrictRealtime")
def take_the_processor():
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))


@tries("SystemCallFilter")
def look_into_another_process():
    call(101, 0, 0, 0, 0)


@tries("SystemCallArchitectures")
def speak_to_the_kernel_as_another_processor():
    assert subprocess.run(["/srv/foreign-call"]).returncode == 0


@tries("SystemCallFilter=~@aio")
def hand_work_to_the_kernel():
    call(206, 1, ctypes.byref(ctypes.c_ulong()))


@tries("PrivateIPC")
def reach_the_memory_that_others_share():
    call(29, SHARED, 0, 0)


@tries("NoExecPaths")
def run_what_it_wrote():
    program = STATE / "program"
    program.unlink(missing_ok=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o700)
    subprocess.run([program], check=True)


@tries("LimitCORE")
def dump_the_memory():
    assert resource.getrlimit(resource.RLIMIT_CORE)[1]


@tries("UMask")
def leave_a_file_that_others_read():
    mark = STATE / "mark"
    mark.unlink(missing_ok=True)
    mark.write_text("x")
    assert mark.stat().st_mode & 0o077


def main():
    # Where that is possible: the service manager takes it away at the end, or does not.
    with contextlib.suppress(OSError):
        pathlib.Path("/dev/shm/left").touch()
    said = {}
    for option, function in TRIES.items():
        # In a child: what is done once, such as a namespace, must not help the next one.
        child = os.fork()
        if child == 0:
            try:
                function()
            except (OSError, AssertionError):
                os._exit(1)
            os._exit(0)
        said[option] = "allowed" if os.waitpid(child, 0)[1] == 0 else "refused"
    print(json.dumps(said))


main()
