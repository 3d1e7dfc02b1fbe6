"""A class-based namespace in the client with threads."""
import queue
import sys

import socketio

lines = queue.Queue()


class Chat(socketio.ClientNamespace):
    def on_connect(self):
        print("connected to", self.namespace)

    def on_disconnect(self, reason):
        print("disconnected from", self.namespace, "because of", reason)

    def on_said(self, *args):
        lines.put(("said", args))

    def on_question(self, first, second):
        lines.put(("question", first, second))
        return second, first

    def on_plain(self):
        return "plain"


sio = socketio.Client()
chat = Chat("/chat")
sio.register_namespace(chat)
try:
    sio.register_namespace("no namespace")
except ValueError as error:
    print(error)
sio.connect(sys.argv[1])
chat.emit("say", ("hello", 1))
print(lines.get())
print(chat.call("echo", "again", timeout=10))
chat.send("message", callback=lambda *args: lines.put(args))
print(lines.get())
print("! ask question [1,{\"two\":2}] /chat", flush=True)
print("answered", input())
print(lines.get())
print("! ask plain [] /chat", flush=True)
print("answered", input())
chat.disconnect()
sio.wait()
