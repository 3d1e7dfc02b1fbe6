"""Programs that use the daemon all the time: visitors.py SOCKET KEPT

KEPT clients stay connected; others connect, ask and leave without a pause, until stdin ends. Prints "ready", and at the end
what happened as JSON: how often each outcome was, the longest visit in milliseconds, and how many of those kept are still
connected."""

import collections
import json
import selectors
import socket
import sys
import time

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'


def visit(path):
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(60)
        client.connect(path)
        client.sendall(PING)
        return "answered" if b'"result"' in client.recv(4096) else "closed without an answer"


def keep(path):
    client = socket.socket(socket.AF_UNIX)
    client.connect(path)
    client.sendall(PING)
    client.recv(4096)
    return client


def is_connected(client):
    client.setblocking(False)
    try:
        while client.recv(65536):
            pass
        return False
    except BlockingIOError:
        return True
    except OSError:
        return False


def main():
    path, kept = sys.argv[1], [keep(sys.argv[1]) for _ in range(int(sys.argv[2]))]
    print("ready", flush=True)
    outcomes, longest = collections.Counter(), 0
    ending = selectors.DefaultSelector()
    ending.register(sys.stdin, selectors.EVENT_READ)
    while not ending.select(0):
        began = time.monotonic()
        try:
            outcomes[visit(path)] += 1
        except OSError as problem:
            outcomes[str(problem)] += 1
        longest = max(longest, time.monotonic() - began)
    print(json.dumps({"outcomes": outcomes, "longest": round(longest * 1e3), "kept": sum(map(is_connected, kept))}))


main()
