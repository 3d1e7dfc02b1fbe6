"""Several namespaces, handlers for every event and for every namespace, and one that is not connected."""
import asyncio
import sys

import socketio

sio = socketio.AsyncClient()
lines = asyncio.Queue()


@sio.on("*", namespace="/chat")
async def any_chat(event, *args):
    await lines.put(f"/chat any {event} {args}")


@sio.event(namespace="/chat")
async def said(*args):
    await lines.put(f"/chat said {args}")


@sio.on("said", namespace="*")
async def any_namespace(namespace, *args):
    await lines.put(f"any namespace {namespace} said {args}")


@sio.on("*", namespace="*")
def anything(event, namespace, *args):
    lines.put_nowait(f"anything {event} {namespace} {args}")


@sio.on("connect", namespace="/chat")
def chat_connected():
    print("/chat is connected")


async def main():
    await sio.connect(sys.argv[1], namespaces=["/chat", "/admin"])
    print(sorted(sio.namespaces), sio.connected)
    await sio.emit("say", ("first", 1), namespace="/chat")
    print(await lines.get())
    await sio.emit("burst", (2, "tock"), namespace="/chat")
    print(await lines.get())
    print(await lines.get())
    await sio.emit("say", "second", namespace="/admin")
    print(await lines.get())
    print(await sio.call("burst", (1, "tick"), namespace="/admin"))
    print(await lines.get())
    for name in (None, "/other"):
        try:
            await sio.emit("say", "lost", namespace=name)
        except socketio.exceptions.BadNamespaceError as error:
            print("not connected:", error)
    try:
        await sio.connect(sys.argv[1])
    except socketio.exceptions.ConnectionError as error:
        print(error)
    await sio.disconnect()
    print(sio.namespaces, sio.connected)


asyncio.run(main())
