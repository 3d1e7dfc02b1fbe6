"""Threads: handlers that call the server themselves, a background task, several threads that emit."""
import queue
import sys
import threading

import socketio

sio = socketio.Client()
lines = queue.Queue()


@sio.event
def said(number):
    # A handler may wait for the server.
    lines.put((number, sio.call("echo", number * 2)))


def emit_some(first):
    for number in range(first, first + 5):
        sio.emit("say", number)


sio.connect(sys.argv[1], wait_timeout=5)
threads = [sio.start_background_task(emit_some, first) for first in (0, 100, 200)]
for thread in threads:
    thread.join()
print(sorted(lines.get() for _ in range(15)))
ended = threading.Event()
waiting = sio.start_background_task(lambda: (sio.wait(), ended.set()))
sio.disconnect()
waiting.join()
print(ended.is_set(), sio.transport() in ("websocket", "polling"))
