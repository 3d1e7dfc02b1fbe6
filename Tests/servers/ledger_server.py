"""A Socket.IO server that writes down what it receives before it acknowledges, so that its own death loses nothing.

Each event "paid" appends its first argument as a line to the ledger.
"""

import argparse
import asyncio
import json
import os

import socketio
from aiohttp import web


async def serve(options):
    ledger = os.open(options.ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    server = socketio.AsyncServer(async_mode="aiohttp", cors_allowed_origins="*")

    async def paid(sid, key, *rest):
        os.write(ledger, key.encode() + b"\n")
        return key

    server.on("paid", paid)
    app = web.Application()
    server.attach(app)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", options.port, reuse_address=True)
    await site.start()
    print(json.dumps({"port": site._server.sockets[0].getsockname()[1]}), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--ledger", required=True)
    asyncio.run(serve(parser.parse_args()))
