"""Acknowledgements: callbacks, call, and a call whose answer does not come."""
import asyncio
import sys

import socketio


async def main():
    sio = socketio.AsyncClient(reconnection=True, logger=False)
    await sio.connect(sys.argv[1], transports=["websocket"])
    answers = asyncio.Queue()

    async def later(*args):
        await answers.put(("coroutine", args))

    await sio.emit("echo", ("one", 2, [3], {"four": None}), callback=lambda *args: answers.put_nowait(("function", args)))
    print(await answers.get())
    await sio.emit("nothing", callback=later)
    print(await answers.get())
    await sio.send("by the name of message", callback=later)
    print(await answers.get())
    for data in (None, "text", 1.5, True, ["a", "list"], ("a", "tuple"), (), {"an": "object"}, 2**53 + 1):
        print(repr(data), "->", repr(await sio.call("echo", data)))
    print([await one for one in [asyncio.ensure_future(sio.call("one", number)) for number in range(5)]])
    try:
        await sio.call("hold", "never", timeout=0.3)
    except socketio.exceptions.TimeoutError as error:
        print("timed out", isinstance(error, socketio.exceptions.SocketIOError))
    print(await sio.call("one", "still there"))
    await sio.disconnect()


asyncio.run(main())
