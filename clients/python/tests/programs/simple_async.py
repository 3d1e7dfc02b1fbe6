"""The simple client for asyncio."""
import asyncio
import sys

import socketio


async def main():
    async with socketio.AsyncSimpleClient() as sio:
        await sio.connect(sys.argv[1], namespace="/chat")
        print(sio.connected, bool(sio.sid))
        print(await sio.call("burst", (3, "tock")))
        await sio.emit("say")
        print([await sio.receive(timeout=5) for _ in range(4)])
        try:
            await sio.call("hold", "never", timeout=0.2)
        except socketio.exceptions.TimeoutError:
            print("timed out")
    print("end", sio.connected)


asyncio.run(main())
