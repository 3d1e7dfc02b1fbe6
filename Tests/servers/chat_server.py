"""A small chat server on python-socketio, the same behaviour over Engine.IO 3 and 4.

Which revision it speaks is decided by the python-socketio that is installed where it runs. It prints one JSON line with
its port, then takes one JSON command per line on stdin and answers each with one line: that is how a test looks inside
and makes the server act. It ends when stdin does, so that no server outlives its test.

    GET /counters      how many Engine.IO connections there are and were, for people and for the demo
"""

import argparse
import asyncio
import json
import ssl
import sys
import time
from importlib.metadata import version

import socketio
from aiohttp import web
from socketio.exceptions import ConnectionRefusedError as Refused

from bin_json import from_json, to_json

ENGINE_REVISION = 4 if int(version("python-socketio").split(".")[0]) >= 5 else 3
AIOHTTP = tuple(int(number) for number in version("aiohttp").split(".")[:2])
NAMESPACES = ("/", "/chat", "/admin", "/auth", "/refused", "/wordless", "/name with space")
TOKEN = "let-me-in"
"""What namespace /auth wants to be told, as `token` of the auth object or of the query."""

if ENGINE_REVISION == 3:
    # python-socketio 4 hands coroutines to asyncio.wait, which Python 3.11 no longer takes.
    _wait = asyncio.wait

    def _wait_for_coroutines(awaitables, **options):
        return _wait([asyncio.ensure_future(one) for one in awaitables], **options)

    asyncio.wait = _wait_for_coroutines


class Facts:
    """What happened so far, and a bell that rings whenever it changes."""

    def __init__(self):
        self.received = []
        self.joined = []
        self.present = {}
        self.links = {}
        self.links_ever = 0
        self.held = {}
        self.clock = 0
        """By how many seconds this server's clock is ahead."""
        self.bell = asyncio.Condition()

    def now(self):
        """The time on this server's clock, in milliseconds."""
        return int((time.time() + self.clock) * 1_000)

    def ring(self):
        asyncio.ensure_future(self._ring())

    async def _ring(self):
        async with self.bell:
            self.bell.notify_all()

    async def until(self, holds, timeout):
        """Waits until `holds()`; returns whether it does."""
        async with self.bell:
            try:
                await asyncio.wait_for(self.bell.wait_for(holds), timeout)
            except asyncio.TimeoutError:
                return False
        return True


class Room(socketio.AsyncNamespace):
    """One namespace. Every event is recorded; those named below also do something."""

    def __init__(self, namespace, facts):
        super().__init__(namespace)
        self.facts = facts

    async def trigger_event(self, event, *args):
        if event == "connect":
            return await self.connected(*args)
        if event == "disconnect":
            self.facts.present.pop((self.namespace, args[0]), None)
            self.facts.ring()
            return None
        sid, values = args[0], args[1:]
        record = {"namespace": self.namespace, "event": event, "args": to_json(values)}
        self.facts.received.append(record)
        self.facts.ring()
        handler = getattr(self, "do_" + str(event).replace("-", "_"), None)
        return await handler(sid, *values) if handler else "seen"

    async def connected(self, sid, environ, auth=None):
        headers = {key[5:].lower(): value for key, value in environ.items() if key.startswith("HTTP_")}
        query = environ.get("QUERY_STRING", "")
        self.facts.joined.append(
            {"namespace": self.namespace, "sid": sid, "auth": auth, "query": query, "headers": headers}
        )
        self.facts.ring()
        if self.namespace == "/refused":
            raise Refused("this room is closed", {"code": 4711})
        if self.namespace == "/wordless":
            return False
        if self.namespace == "/auth" and (auth or {}).get("token") != TOKEN and f"token={TOKEN}" not in query:
            raise Refused("auth required", {"code": 401})
        self.facts.present[(self.namespace, sid)] = True
        self.facts.ring()
        return None

    # What a client can make the server do. The returned value is the ack.

    async def do_echo(self, sid, *values):
        return tuple(values)

    async def do_give(self, sid, count):
        return "x" * count

    async def do_one(self, sid, *values):
        return values[0] if values else None

    async def do_nothing(self, sid, *values):
        return None

    async def do_say(self, sid, *values):
        await self.emit("said", tuple(values))
        return "said"

    async def do_join(self, sid, room):
        entered = self.server.enter_room(sid, room, namespace=self.namespace)
        if asyncio.iscoroutine(entered):
            await entered
        return "joined"

    async def do_leave(self, sid, room):
        left = self.server.leave_room(sid, room, namespace=self.namespace)
        if asyncio.iscoroutine(left):
            await left
        return "left"

    async def do_whisper(self, sid, room, *values):
        await self.emit("whispered", tuple(values), room=room)
        return "whispered"

    async def do_hold(self, sid, name):
        """Acknowledged when the test says `release`, or never."""
        self.facts.held[name] = asyncio.get_running_loop().create_future()
        self.facts.ring()
        return await self.facts.held[name]

    async def do_time(self, sid, *values):
        return {"now": self.facts.now()}

    async def do_kick(self, sid, *values):
        await self.server.disconnect(sid, namespace=self.namespace)

    async def do_burst(self, sid, count, event="tick"):
        for number in range(count):
            await self.emit(event, number, room=sid)
        return count


class Control:
    """The commands on stdin."""

    def __init__(self, server, facts):
        self.server = server
        self.facts = facts

    async def run(self):
        reader = asyncio.StreamReader(limit=1 << 26)
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            asyncio.ensure_future(self.answer(json.loads(line)))

    async def answer(self, command):
        try:
            value = await getattr(self, "on_" + command["op"])(**command.get("with", {}))
            reply = {"id": command["id"], "value": to_json(value)}
        except Exception as error:  # reported to the test, which fails with it
            reply = {"id": command["id"], "error": repr(error)}
        print(json.dumps(reply), flush=True)

    def sids(self, namespace):
        return [sid for (name, sid) in self.facts.present if name == namespace]

    async def on_counters(self):
        return counters(self.facts)

    async def on_links(self, count, timeout):
        return await self.facts.until(lambda: len(self.facts.links) == count, timeout)

    async def on_present(self, namespace, count, timeout):
        return await self.facts.until(lambda: len(self.sids(namespace)) == count, timeout)

    async def on_joined(self, count, timeout):
        await self.facts.until(lambda: len(self.facts.joined) >= count, timeout)
        return self.facts.joined

    async def on_received(self, count, timeout, event=None):
        def matching():
            return [one for one in self.facts.received if event is None or one["event"] == event]

        await self.facts.until(lambda: len(matching()) >= count, timeout)
        return matching()

    async def on_emit(self, event, args, namespace, room=None):
        await self.server.emit(event, tuple(from_json(args)), namespace=namespace, room=room)

    async def on_burst(self, event, count, namespace, padding):
        text = "x" * padding
        for number in range(count):
            await self.server.emit(event, (number, text) if padding else number, namespace=namespace)

    async def on_ask(self, event, args, namespace, timeout):
        """Emits to the one client of the namespace and returns what it acknowledges; None when nobody does."""
        (sid,) = self.sids(namespace)
        answered = asyncio.get_running_loop().create_future()

        def callback(*values):
            if not answered.done():
                answered.set_result(list(values))

        await self.server.emit(event, tuple(from_json(args)), namespace=namespace, room=sid, callback=callback)
        try:
            return await asyncio.wait_for(answered, timeout)
        except asyncio.TimeoutError:
            return None

    async def on_kick(self, namespace):
        for sid in self.sids(namespace):
            await self.server.disconnect(sid, namespace=namespace)

    async def on_clock(self, ahead):
        self.facts.clock = ahead

    async def on_announce(self, event):
        """Tells the time to all."""
        await self.server.emit(event, {"now": self.facts.now()})

    async def on_cut(self):
        """Cuts every link as a broken network would."""
        for transport in list(self.facts.links.values()):
            transport.abort()

    async def on_held(self, name, timeout):
        return await self.facts.until(lambda: name in self.facts.held, timeout)

    async def on_release(self, name, value):
        self.facts.held[name].set_result(from_json(value))


def counters(facts):
    return {"engineio": ENGINE_REVISION, "links": len(facts.links), "links_ever": facts.links_ever,
            "namespaces": len(facts.present), "received": len(facts.received)}


def tls(options):
    if not options.cert:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(options.cert, options.key)
    if options.client_ca:
        context.load_verify_locations(options.client_ca)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


async def serve(options):
    facts = Facts()
    facts.clock = options.clock
    server = socketio.AsyncServer(
        async_mode="asgi" if options.stack == "uvicorn" else "aiohttp", ping_interval=options.ping_interval,
        ping_timeout=options.ping_timeout, max_http_buffer_size=options.max_payload, cors_allowed_origins="*",
        cookie=options.cookie, **({"serializer": options.serializer} if options.serializer else {}))
    for namespace in NAMESPACES:
        server.register_namespace(Room(namespace, facts))
    if options.stack == "uvicorn":
        import on_uvicorn
        port = await on_uvicorn.start(server, facts, options)
    else:
        port = await start_aiohttp(server, facts, options)
    print(json.dumps({"port": port, "engineio": ENGINE_REVISION}), flush=True)
    await Control(server, facts).run()


async def start_aiohttp(server, facts, options):
    @web.middleware
    async def count_links(request, handler):
        transport = request.query.get("transport", "polling")
        if transport not in options.transports.split(","):
            return web.json_response("Invalid transport", status=400)
        if transport != "websocket":
            return await handler(request)
        facts.links_ever += 1
        number = facts.links_ever
        facts.links[number] = request.transport
        facts.ring()
        try:
            return await handler(request)
        finally:
            del facts.links[number]
            facts.ring()

    app = web.Application(middlewares=[count_links])
    server.attach(app, socketio_path=options.path)

    async def show_counters(request):
        return web.json_response(counters(facts))

    app.router.add_get("/counters", show_counters)
    # Debian's aiohttp, which the service's tests use, does not know the time yet.
    at_once = {"shutdown_timeout": 0} if AIOHTTP >= (3, 9) else {}
    runner = web.AppRunner(app, access_log=None, **at_once)
    await runner.setup()
    site = web.TCPSite(runner, options.host, options.port, ssl_context=tls(options), reuse_address=True)
    await site.start()
    return site._server.sockets[0].getsockname()[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--stack", choices=["aiohttp", "uvicorn"], default="aiohttp")
    parser.add_argument("--path", default="socket.io")
    parser.add_argument("--max-payload", type=int, default=1_000_000)
    parser.add_argument("--ping-interval", type=float, default=25)
    parser.add_argument("--ping-timeout", type=float, default=20)
    parser.add_argument("--transports", default="websocket,polling")
    parser.add_argument("--cookie")
    parser.add_argument("--clock", type=float, default=0, help="by how many seconds the clock is ahead")
    parser.add_argument("--serializer", help="msgpack; servers of the current line only")
    parser.add_argument("--cert")
    parser.add_argument("--key")
    parser.add_argument("--client-ca")
    asyncio.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
