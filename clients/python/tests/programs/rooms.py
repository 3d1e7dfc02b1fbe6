"""A chat with rooms: joins one, talks to it and to everybody, prints what is said."""
import sys
import threading

import socketio

sio = socketio.Client()
heard = threading.Semaphore(0)


@sio.event
def connect():
    print("connected", sio.connected, bool(sio.get_sid()))
    sio.emit("join", "tea")


@sio.event
def disconnect(reason):
    print("disconnected:", reason)


@sio.on("said")
def said(*args):
    print("said", *args)
    heard.release()


@sio.event
def whispered(text, number):
    print("whispered", text, number)
    heard.release()


sio.connect(sys.argv[1])
print("join", sio.call("join", "cake"))
sio.emit("whisper", ("tea", "hello tea", 1))
heard.acquire()
sio.emit("whisper", ("cake", "hello cake", 2))
heard.acquire()
sio.emit("say", {"from": "me", "text": "hello all"})
heard.acquire()
sio.emit("whisper", ("elsewhere", "nobody hears", 3))
answer = sio.call("say", ("a", 2))
heard.acquire()
print("say", answer)
sio.sleep(0.01)
sio.disconnect()
sio.wait()
print("end", sio.connected, sio.namespaces)
