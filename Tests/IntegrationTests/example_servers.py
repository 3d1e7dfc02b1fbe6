"""The servers that the examples are for: an Uptime Kuma and a Home Assistant as far as their programs see them, and the
two pages of `examples/` themselves, run by Flask-SocketIO and NiceGUI."""

import asyncio
import contextlib
import json
import re
import socket
import urllib.request

import socketio
import websockets
from aiohttp import web

import processes
from chat import VENVS
from patience import SOON, within
from programs import ROOT

EXAMPLES = ROOT / "examples"
PYTHON = VENVS / "examples" / "bin" / "python"
PASSWORD = "let-me-in"
TOKEN = "long-lived-token"


class Bell:
    """Rings whenever something has changed."""

    def __init__(self):
        self.condition = asyncio.Condition()

    async def ring(self):
        async with self.condition:
            self.condition.notify_all()

    async def until(self, holds, what):
        async with self.condition:
            await within(self.condition.wait_for(holds), what)


class Kuma:
    """Takes `login`, `pauseMonitor` and `resumeMonitor`, each answered by an object with `ok` and `msg`; a session that is
    not logged in may do nothing. `restart` comes back on the same port."""

    def __init__(self):
        self.port = 0
        self.paused = set()
        self.orders = []
        self.bell = Bell()

    async def start(self):
        server = socketio.AsyncServer(async_mode="aiohttp")
        self.known = set()
        server.on("login", self._log_in)
        for event in ("pauseMonitor", "resumeMonitor"):
            server.on(event, self._handler(event))
        self.links = set()
        app = web.Application(middlewares=[self._note_links])
        server.attach(app)
        self.runner = web.AppRunner(app, access_log=None, shutdown_timeout=0)
        await self.runner.setup()
        site = web.TCPSite(self.runner, "127.0.0.1", self.port, reuse_address=True)
        await site.start()
        self.port = site._server.sockets[0].getsockname()[1]
        return self

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    async def _log_in(self, session, data):
        if data != {"username": "backup", "password": PASSWORD}:
            return {"ok": False, "msg": "authIncorrectCreds"}
        self.known.add(session)
        return {"ok": True}

    def _handler(self, event):
        async def take(session, monitor):
            if session not in self.known:
                return {"ok": False, "msg": "You are not logged in."}
            self.orders.append((event, monitor))
            (self.paused.add if event == "pauseMonitor" else self.paused.discard)(monitor)
            await self.bell.ring()
            return {"ok": True, "msg": "successPaused" if event == "pauseMonitor" else "successResumed"}

        return take

    @web.middleware
    async def _note_links(self, request, handler):
        self.links.add(request.transport)
        try:
            return await handler(request)
        finally:
            self.links.discard(request.transport)

    async def until_ordered(self, *orders):
        await self.bell.until(lambda: self.orders == list(orders), f"{orders}, not {self.orders}")

    async def stop(self):
        """Takes it away, as a crash would."""
        for transport in list(self.links):
            transport.abort()
        await self.runner.cleanup()

    close = stop


class HomeAssistant:
    """Asks for a token, then takes orders whose numbers rise, and sends changes of states to who has ordered them."""

    def __init__(self):
        self.port = 0
        self.links = {}
        self.logins = 0
        self.refused = []
        self.bell = Bell()

    async def start(self):
        self.server = await websockets.serve(self._serve, "127.0.0.1", self.port)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    @property
    def url(self):
        return f"raw+ws://127.0.0.1:{self.port}/api/websocket"

    async def _serve(self, link):
        await link.send('{"type":"auth_required","ha_version":"2026.11.0"}')
        login = json.loads(await link.recv())
        if login != {"type": "auth", "access_token": TOKEN}:
            self.refused.append(login)
            await link.send('{"type":"auth_invalid","message":"Invalid access token or password"}')
            return
        self.logins += 1
        await link.send('{"type":"auth_ok","ha_version":"2026.11.0"}')
        orders, last = {}, 0
        self.links[link] = orders
        try:
            async for text in link:
                order = json.loads(text)
                rises = order["id"] > last
                last = max(last, order["id"])
                if rises and order["type"] == "subscribe_events":
                    orders[order["id"]] = order["event_type"]
                elif rises and order["type"] == "unsubscribe_events":
                    del orders[order["subscription"]]
                await link.send(json.dumps({"id": order["id"], "type": "result", "success": rises, "result": None}))
                await self.bell.ring()
        finally:
            del self.links[link]
            await self.bell.ring()

    async def until_ordered(self, *orders):
        def held():
            return [kind for kinds in self.links.values() for kind in kinds.values()]

        await self.bell.until(lambda: held() == list(orders), f"the orders {orders}, not {held()}")

    async def change(self, entity, state):
        for link, orders in self.links.items():
            for number, kind in orders.items():
                data = {"entity_id": entity, "new_state": {"state": state}}
                await link.send(json.dumps({"id": number, "type": "event", "event": {"event_type": kind, "data": data}}))

    async def stop(self):
        self.server.close()
        await self.server.wait_closed()

    close = stop


class Page:
    """One of the programs of `examples/` that serve a page; `restart` comes back on the same port."""

    def __init__(self):
        self.port = 0
        self.process = None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    async def get(self, path, method="GET"):
        def ask():
            request = urllib.request.Request(self.url + path, method=method)
            with urllib.request.urlopen(request, timeout=SOON) as reply:
                return reply.read().decode()

        return await asyncio.to_thread(ask)

    async def stop(self):
        await processes.kill(self.process)
        self.reader.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.reader

    async def restart(self):
        await self.stop()
        return await self.start()

    async def close(self):
        if self.process:
            await self.stop()

    async def _spawn(self, *arguments, **options):
        """Starts it, and reads what it says for as long as it runs; returns the first line that says where it listens."""
        self.process = await processes.spawn(
            PYTHON, *arguments, cwd=self.folder, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT, env={"PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"}, **options)
        running = asyncio.get_running_loop().create_future()

        async def read():
            async for line in self.process.stdout:
                text = line.decode()
                print(f"{self.folder.name}: {text}", end="")
                if "running on" in text.lower() and not running.done():
                    running.set_result(text)
            if not running.done():
                running.set_exception(AssertionError(f"{self.folder.name} ended"))

        self.reader = asyncio.ensure_future(read())
        return await within(running, f"{self.folder.name} to start", 3 * SOON)


class Dashboard(Page):
    """dashboard.py with the server that Flask-SocketIO brings."""

    folder = EXAMPLES / "dashboard"

    async def start(self):
        line = await self._spawn("dashboard.py", self.port)
        self.port = int(re.search(r"http://127\.0\.0\.1:(\d+)", line)[1])
        return self

    async def latest(self):
        return json.loads(await self.get("/latest"))


class NicePage(Page):
    """page.py under uvicorn, on a socket that the test has opened."""

    folder = EXAMPLES / "nicegui"

    async def start(self):
        with socket.create_server(("127.0.0.1", self.port)) as listening:
            self.port = listening.getsockname()[1]
            number = listening.fileno()
            await self._spawn("-m", "uvicorn", "page:app", "--fd", number, pass_fds=[number])
        return self

    async def order(self, count):
        await self.get(f"/order/{count}", "POST")
