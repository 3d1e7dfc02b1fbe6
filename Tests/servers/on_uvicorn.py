"""The chat server as an ASGI application under uvicorn, as many installations run it."""

import asyncio
import socket

import socketio
import uvicorn


async def start(server, facts, options):
    """Serves in the background; returns the port. Links are counted, but cannot be cut from here."""
    chat = socketio.ASGIApp(server, socketio_path=options.path)

    async def count_links(scope, receive, send):
        if scope["type"] != "websocket":
            return await chat(scope, receive, send)
        facts.links_ever += 1
        number = facts.links_ever
        facts.links[number] = None
        facts.ring()
        try:
            await chat(scope, receive, send)
        finally:
            del facts.links[number]
            facts.ring()

    listener = socket.create_server((options.host, options.port))
    config = uvicorn.Config(
        count_links, lifespan="off", log_level="critical", ssl_certfile=options.cert, ssl_keyfile=options.key)
    start.task = asyncio.ensure_future(uvicorn.Server(config).serve(sockets=[listener]))
    return listener.getsockname()[1]
