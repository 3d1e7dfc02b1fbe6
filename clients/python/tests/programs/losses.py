"""What the handlers are told when the link is cut, the server restarts, and the server sends the client away."""
import asyncio
import sys

import socketio

sio = socketio.AsyncClient(reconnection_delay=0.1, reconnection_delay_max=0.2, randomization_factor=0)
up, down, joined = asyncio.Event(), asyncio.Event(), asyncio.Queue()


@sio.event
async def connect():
    print("connected")
    await sio.emit("join", "room", callback=joined.put_nowait)
    down.clear()
    up.set()


@sio.event
async def disconnect(reason):
    print("disconnected:", reason)
    up.clear()
    down.set()


@sio.event
async def whispered(text):
    print("whispered", text)


async def main():
    await sio.connect(sys.argv[1])
    print(await joined.get(), sio.connected)
    for what in ("cut", "restart"):
        print("!", what, flush=True)
        await down.wait()
        await up.wait()
        print(await joined.get())
        print(await sio.call("whisper", ("room", f"after {what}")))
    await sio.emit("kick")
    await sio.wait()
    print("the end", sio.connected, sio.namespaces)
    try:
        await sio.emit("say", "lost")
    except socketio.exceptions.BadNamespaceError as error:
        print(error)
    await sio.connect(sys.argv[1])
    print(await joined.get())
    await sio.disconnect()


asyncio.run(main())
