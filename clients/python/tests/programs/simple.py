"""The simple client: no handlers, events are received one by one."""
import sys

import socketio

with socketio.SimpleClient() as sio:
    sio.connect(sys.argv[1])
    print(sio.connected, bool(sio.sid))
    sio.emit("say", ("one", 1))
    print(sio.receive(timeout=5))
    print(sio.call("echo", {"an": "object"}, timeout=5))
    try:
        sio.receive(timeout=0.1)
    except socketio.exceptions.TimeoutError:
        print("nothing more")
    try:
        sio.connect(sys.argv[1])
    except RuntimeError as error:
        print(error)
print("end", sio.connected)
