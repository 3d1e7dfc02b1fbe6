"""A local program that behaves badly, as a process of its own: neighbour.py KIND SOCKET [URL]; until it is killed.

It says `ready` when it has begun. `harness/fairness.py` says where it runs.
"""

import json
import sys
import time

from local import Local

# Calls at a time: fewer than a client may have open.
BATCH = 200
LARGE = 900_000
# Between two large messages, in seconds.
PAUSE = 0.05


def line(method, **params):
    return json.dumps({"jsonrpc": "2.0", "id": "%d", "method": method, "params": params}).replace('"%d"', "%d").encode()


def stopped(client, url):
    """Subscribes to the same events as everybody and never reads again."""
    client.call("subscribe", {"url": url})
    ready()
    time.sleep(3600)


def flood(client, call):
    """Calls as fast as it is answered, many calls at a time."""
    batch = b"".join(call % number + b"\n" for number in range(BATCH))
    ready()
    while True:
        client.socket.sendall(batch)
        for _ in range(BATCH):
            if not client.lines.readline():
                return


def status(client, url):
    flood(client, line("status"))


def requests(client, url):
    flood(client, line("request", url=url, event="echo", args=["x" * 200]))


def large_sends(client, url):
    """Sends a megabyte, twenty times a second."""
    call = line("send", url=url, event="large", args=["x" * LARGE]) % 1 + b"\n"
    client.call("send", {"url": url, "event": "first"})
    ready()
    while True:
        client.socket.sendall(call)
        client.lines.readline()
        time.sleep(PAUSE)


def large_events(client, url):
    """Subscribes to events of a megabyte, and reads them."""
    client.call("subscribe", {"url": url})
    ready()
    chunk = bytearray(1 << 20)
    while client.socket.recv_into(chunk):
        pass


def spinner(client, url):
    """Has nothing to do with any daemon: what it takes is only the CPU."""
    ready()
    while True:
        pass


def ready():
    print("ready", flush=True)


KINDS = {one.__name__: one for one in (stopped, status, requests, large_sends, large_events, spinner)}

if __name__ == "__main__":
    kind, path, *rest = sys.argv[1:]
    KINDS[kind](Local(path), rest[0] if rest else None)
