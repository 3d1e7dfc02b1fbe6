"""Bytes in both directions, alone and inside of other values."""
import asyncio
import sys

import socketio


async def main():
    sio = socketio.AsyncClient()
    got = asyncio.Queue()
    sio.on("said", lambda *args: got.put_nowait(args))
    await sio.connect(sys.argv[1])
    print(await sio.call("echo", b"\x00\xff bytes"))
    print(await sio.call("echo", {"picture": b"\x89PNG", "list": [1, bytes(3)], "$bin": "no bytes"}))
    print(await sio.call("echo", {"$$bin": "AAA="}))
    await sio.emit("say", ("text", bytearray(b"array"), {"deep": {"deeper": [b"", b"x" * 1000]}}))
    print(await got.get())
    await sio.emit("echo", b"acknowledged", callback=lambda data: got.put_nowait(data))
    print(await got.get())
    await sio.disconnect()


asyncio.run(main())
