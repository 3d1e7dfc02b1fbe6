"""Answers what the server asks: one value, several, none, from a coroutine and from a plain function."""
import asyncio
import sys

import socketio

sio = socketio.AsyncClient()


@sio.event
async def one(value):
    await asyncio.sleep(0)
    return value


@sio.event
def several(*values):
    return values


@sio.event
async def none():
    print("asked for nothing")


@sio.on("*")
def other(event, *args):
    return [event, *args]


async def main():
    await sio.connect(sys.argv[1])
    loop = asyncio.get_running_loop()
    for question in ("one [41]", "several [1,2,3]", "none []", "unheard-of [true]"):
        print("! ask", question, "/", flush=True)
        print("answered", await loop.run_in_executor(None, sys.stdin.readline), end="")
    await sio.disconnect()


asyncio.run(main())
