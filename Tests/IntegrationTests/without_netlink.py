"""`without_netlink.py PROGRAM …`: runs a program that may not make netlink sockets, as in a sandbox that allows fewer
address families (seccomp(2))."""

import ctypes
import errno
import os
import platform
import struct
import sys

SOCKET = {"x86_64": 41, "aarch64": 198}
AF_NETLINK = 16
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def forbid():
    steps = [
        (LOAD, 0, 0, 0),  # the number of the system call
        (JUMP_IF_EQUAL, 0, 3, SOCKET[platform.machine()]),
        (LOAD, 0, 0, 16),  # its first argument
        (JUMP_IF_EQUAL, 0, 1, AF_NETLINK),
        (RETURN, 0, 0, ERRNO | errno.EAFNOSUPPORT),
        (RETURN, 0, 0, ALLOW),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = Program(len(steps), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "PR_SET_NO_NEW_PRIVS")
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), "PR_SET_SECCOMP")


if __name__ == "__main__":
    forbid()
    os.execv(sys.argv[1], sys.argv[1:])
