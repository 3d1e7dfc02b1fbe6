"""Acting as another user: a connection made while the effective ids are theirs carries their credentials."""

import asyncio
import contextlib
import os

from local_client import LocalClient, connected_socket

NOBODY = 65534
ALICE, BOB, OPS, STAFF = 54001, 54002, 54101, 54102
"""Numbers that no account of the machine has."""


@contextlib.contextmanager
def acting_as(uid, gid, groups=()):
    """Only for a block without await: the ids are the process's."""
    own = os.getgroups(), os.getegid(), os.geteuid()
    os.setgroups(list(groups))
    os.setegid(gid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(own[2])
        os.setegid(own[1])
        os.setgroups(own[0])


async def client_as(daemon, uid, gid=None, groups=()):
    """A client of the daemon that belongs to this user."""
    with acting_as(uid, uid if gid is None else gid, groups):
        one = connected_socket(daemon.socket)
    client = LocalClient(*await asyncio.open_unix_connection(sock=one, limit=1 << 26))
    daemon.clients.append(client)
    return client


def as_user(uid, gid=None):
    """What to put in front of a command to run it as this user."""
    return ["/usr/bin/setpriv", f"--reuid={uid}", f"--regid={uid if gid is None else gid}", "--clear-groups", "--"]
