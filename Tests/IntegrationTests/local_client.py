"""A client of the local protocol that watches over the contract while it talks.

Every reply and notification is checked for the shape that the protocol promises, whatever the test is about.
"""

import asyncio
import itertools
import json
import socket

from patience import QUIET, SOON, within

ERRORS = {
    "ParseError": (-32700, False),
    "InvalidRequest": (-32600, False),
    "MethodNotFound": (-32601, False),
    "InvalidParams": (-32602, False),
    "InternalError": (-32603, True),
    "Cancelled": (-32800, None),
    "PermissionDenied": (-32001, False),
    "UpstreamUnknown": (-32002, False),
    "UpstreamDown": (-32003, True),
    "QueueFull": (-32004, True),
    "Expired": (-32005, False),
    "AckTimeout": (-32006, None),
    "AckLost": (-32007, None),
    "QuotaExceeded": (-32008, True),
    "Unrecoverable": (-32009, False),
    "Draining": (-32010, True),
    "Conflict": (-32011, False),
    "PayloadTooLarge": (-32012, False),
    "UpstreamRefused": (-32013, False),
    "IllegalState": (-32014, False),
    "AckGone": (-32015, False),
    "RequestFailed": (-32016, False),
}
"""Type → code and `retry` (None: the caller decides, the member may be absent)."""

STATES = {"created", "connected", "disconnected", "reconnecting", "released"}

REASONS = {
    "idle", "requested", "offline", "unreachable", "tls", "http", "incompatible", "refused", "kicked", "closed",
    "heartbeat", "timeout", "protocol", "too_large", "auth", "fleet", "draining",
}

LAYERS = {"http", "engine", "socketio", "websocket", "lines", "wamp", "fleet"}

GAP_REASONS = {"slow_consumer", "upstream", "too_large", "undecodable", "expired"}


class CallError(Exception):
    """An error reply."""

    def __init__(self, error):
        super().__init__(json.dumps(error))
        self.error = error
        self.code = error["code"]
        self.message = error["message"]
        self.data = error["data"]
        self.type = error["data"]["type"]


def check_error(error):
    """An error has a known type, the code and `retry` that belong to it, and one sentence for a person."""
    assert set(error) == {"code", "message", "data"}, error
    kind = error["data"]["type"]
    assert kind in ERRORS, error
    code, retry = ERRORS[kind]
    assert error["code"] == code, error
    if retry is not None:
        assert error["data"]["retry"] is retry, error
    message = error["message"]
    assert message and "\n" not in message and message[0] not in "{[", error


def check_notification(method, params):
    """A notification has the members that the protocol promises, with the right kinds of value."""
    if method == "event":
        assert isinstance(params["subscription"], str), params
        assert isinstance(params["seq"], int) and params["seq"] > 0, params
        assert isinstance(params["time"], int) and params["time"] > 1_600_000_000_000, params
        assert isinstance(params["event"], str) and isinstance(params["args"], list), params
        assert isinstance(params.get("ack", ""), str), params
    elif method == "state":
        assert isinstance(params["subscription"], str), params
        assert params["state"] in STATES, params
        assert isinstance(params.get("epoch", ""), str), params
        if params.get("reason") is not None:
            assert params["reason"] in REASONS, params
        if params["state"] == "disconnected":
            assert params["reason"] in REASONS, params
    elif method == "gap":
        assert params["reason"] in GAP_REASONS, params
        assert isinstance(params["epoch"], str), params
        assert ("from" in params) == ("to" in params), params
        if "from" in params:
            assert params["from"] <= params["to"], params
            assert 0 < params["count"] <= params["to"] - params["from"] + 1, params
    elif method == "trace":
        assert isinstance(params["trace"], str) and isinstance(params["time"], int), params
        assert params["text"] and "\n" not in params["text"], params
        assert "dropped" in params or (params["direction"] in ("in", "out")
                                       and params["layer"] in LAYERS), params
    elif method == "progress":
        assert isinstance(params["id"], (int, str)) and isinstance(params["args"], list), params
    elif method == "goodbye":
        assert isinstance(params["reason"], str), params
    else:
        raise AssertionError(f"unknown notification {method} {params}")


def connected_socket(path):
    """A connected socket, ready for asyncio. Connecting waits, because asyncio takes the kernel's "the queue is full,
    try again" of a Unix-domain socket for a connection under way."""
    one = socket.socket(socket.AF_UNIX)
    try:
        one.connect(path)
        one.setblocking(False)
    except OSError:
        one.close()
        raise
    return one


class LocalClient:
    """One connection to the daemon's socket."""

    def __init__(self, reader, writer):
        self.reader = reader
        self.writer = writer
        self.ids = itertools.count(1)
        self.waiting = {}
        self.notes = []
        self.strays = []
        self.lines = []
        self.times = {}
        self.closed = False
        self.arrived = asyncio.Condition()
        self.task = asyncio.ensure_future(self._read())

    @classmethod
    async def connect(cls, path):
        return cls(*await asyncio.open_unix_connection(sock=connected_socket(path), limit=1 << 27))

    async def _read(self):
        try:
            while line := await self.reader.readline():
                await self._line(line)
        except ConnectionError:
            pass
        finally:
            self.closed = True
            for future in self.waiting.values():
                if not future.done():
                    future.set_exception(ConnectionError("the daemon closed the connection"))
            async with self.arrived:
                self.arrived.notify_all()

    async def _line(self, line):
        assert line.endswith(b"\n"), line
        self.lines.append(line)
        await self._take(json.loads(line))

    async def _take(self, message):
        assert message["jsonrpc"] == "2.0", message
        async with self.arrived:
            if "method" in message:
                assert set(message) == {"jsonrpc", "method", "params"}, message
                check_notification(message["method"], message["params"])
                self._check_time(message["method"], message["params"])
                self.notes.append((message["method"], message["params"]))
            else:
                assert set(message) in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"}), message
                if "error" in message:
                    check_error(message["error"])
                else:
                    assert isinstance(message["result"], dict), message
                future = self.waiting.pop(message["id"], None)
                if future is None:
                    self.strays.append(message)
                elif not future.done():
                    future.set_result(message)
            self.arrived.notify_all()

    def _check_time(self, method, params):
        """Within an epoch the time of a subscription's events never runs backwards."""
        subscription = params.get("subscription")
        if method == "gap" and params["reason"] == "upstream":
            self.times.pop(subscription, None)
        if method != "event":
            return
        seq, time = self.times.get(subscription, (0, 0))
        # A lower number is a replay that was asked for anew.
        assert params["seq"] < seq or params["time"] >= time, (seq, time, params)
        self.times[subscription] = (params["seq"], params["time"])

    # Speaking

    async def raw(self, data):
        """Writes bytes as they are."""
        self.writer.write(data)
        await self.writer.drain()

    def post(self, method, params=None, **members):
        """Sends a request; returns the future of its whole reply."""
        identity = next(self.ids)
        message = {"jsonrpc": "2.0", "id": identity, "method": method}
        params = members if params is None else params
        if params:
            message["params"] = params
        future = asyncio.get_running_loop().create_future()
        future.add_done_callback(lambda done: done.cancelled() or done.exception())
        self.waiting[identity] = future
        future.identity = identity
        self.writer.write(json.dumps(message, ensure_ascii=False).encode() + b"\n")
        return future

    async def result(self, future, seconds=SOON):
        """The result that a posted request ended with."""
        message = await within(asyncio.shield(future), "a reply", seconds)
        if "error" in message:
            raise CallError(message["error"])
        return message["result"]

    async def failure(self, future, kind, seconds=SOON):
        """The error that a posted request ended with, which must be of this type."""
        message = await within(asyncio.shield(future), f"a reply with {kind}", seconds)
        assert "error" in message, f"expected {kind}, got {message}"
        error = CallError(message["error"])
        assert error.type == kind, error
        return error

    async def call(self, method, params=None, seconds=SOON, **members):
        """Calls and returns the result; an error reply is raised as `CallError`."""
        return await self.result(self.post(method, params, **members), seconds)

    async def fails(self, kind, method, params=None, seconds=SOON, **members):
        """Calls and returns the error, which must be of this type."""
        return await self.failure(self.post(method, params, **members), kind, seconds)

    async def exchange(self, line):
        """Writes one raw line and returns the next reply that answers no posted request."""
        await self.raw(line if line.endswith(b"\n") else line + b"\n")
        return await self.stray()

    async def stray(self):
        """The next reply to a line that was written raw."""
        await self._until(lambda: self.strays, "a reply to a raw line")
        return self.strays.pop(0)

    async def notify(self, method, **params):
        """Sends a request without id, which nobody answers."""
        await self.raw(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode() + b"\n")

    # Listening

    async def _until(self, holds, what, seconds=SOON):
        async def wait():
            async with self.arrived:
                await self.arrived.wait_for(lambda: holds() or self.closed)

        await within(wait(), what, seconds)
        assert holds(), f"the daemon closed the connection before {what}"

    def _matching(self, method, subscription):
        for index, (name, params) in enumerate(self.notes):
            if method in (None, name) and subscription in (None, params.get("subscription")):
                return index
        return None

    async def note(self, method=None, subscription=None, seconds=SOON):
        """Takes the oldest unread notification (of a method, of a subscription) as (method, params)."""
        await self._until(lambda: self._matching(method, subscription) is not None, f"a {method or 'notification'}",
                          seconds)
        return self.notes.pop(self._matching(method, subscription))

    async def event(self, subscription=None):
        """The next event."""
        return (await self.note("event", subscription))[1]

    async def events(self, count, subscription=None):
        """The next `count` events, whose seq must rise."""
        events = [await self.event(subscription) for _ in range(count)]
        numbers = [event["seq"] for event in events]
        assert numbers == sorted(set(numbers)), numbers
        return events

    async def state(self, subscription=None):
        return (await self.note("state", subscription))[1]

    async def state_until(self, state, subscription=None):
        """Takes state notifications until this state; returns them all."""
        taken = [await self.state(subscription)]
        while taken[-1]["state"] != state:
            taken.append(await self.state(subscription))
        return taken

    async def gap(self, subscription=None):
        return (await self.note("gap", subscription))[1]

    async def silence(self, seconds=QUIET):
        """Nothing unread, and nothing comes for a while. A ping first, so that nothing can be on its way."""
        await self.call("ping")
        await asyncio.sleep(seconds)
        assert self.notes == [], self.notes

    async def end(self):
        """Half-closes: no more requests, but answers are still read."""
        self.writer.write_eof()

    async def until_closed(self, seconds=SOON):
        await within(asyncio.shield(self.task), "the daemon to close the connection", seconds)

    async def close(self):
        self.writer.close()
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
