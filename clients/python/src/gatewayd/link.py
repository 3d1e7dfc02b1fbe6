"""One connection to the daemon: lines in both directions, and calls that wait for their answers.

A link lives until the daemon or this program closes it and is never used again; `aio.AsyncClient` makes the next one.
"""

from __future__ import annotations

import asyncio
import errno
import itertools
import os
import socket
from typing import Any, Callable, Dict, Optional

from . import errors, messages

PROTOCOL = 1
"""The version of the local protocol that is spoken."""
GRACE = 0.5
"""Seconds by which the daemon's answer may come after its own deadline, so that its precise error wins."""
_LINE = 256 << 20
"""A longer line can only come from something that is not the daemon."""
_FUTILE = (errno.EPROTOTYPE, errno.ENOTSOCK, errno.ENAMETOOLONG, errno.EINVAL)


class NotYet(Exception):
    """This attempt failed; a later one may succeed."""


def socket_path(chosen: Optional[str] = None) -> str:
    """Where the daemon is, by the rules of gatewayctl: the path given, $GATEWAYD_SOCKET, the user's socket if there is
    one, the system's."""
    if chosen:
        return os.fspath(chosen)
    if named := os.environ.get("GATEWAYD_SOCKET"):
        return named
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if not runtime and os.geteuid() != 0:
        runtime = f"/run/user/{os.geteuid()}"  # where systemd has it, as in cron, which has no such variable
    if runtime:
        own = os.path.join(runtime, "gatewayd.sock")
        if os.path.exists(own):
            return own
    return "/run/gatewayd.sock"


class Link(asyncio.Protocol):
    """`hear` gets each notification, `lost` the link once it is over. Both are called in the order of the lines."""

    def __init__(self, hear: Callable[[str, Dict[str, Any]], None], lost: Callable[["Link"], None]):
        self._hear = hear
        self._lost = lost
        self._ids = itertools.count(1)
        self._waiting: Dict[int, _Call] = {}
        self._input = bytearray()
        self._transport: Optional[asyncio.Transport] = None
        self._room: Optional[asyncio.Semaphore] = None
        self.is_open = False
        self.hello: Dict[str, Any] = {}
        """What the daemon said of itself."""
        self.goodbye: Optional[Dict[str, Any]] = None
        """Why the daemon is about to close the link, if it said so."""
        self.fault: Optional[errors.GatewayError] = None
        """What ended the link, where the daemon said it as an error without a call."""

    @classmethod
    async def open(cls, path: str, name: Optional[str], patience: float, hear: Callable[[str, Dict[str, Any]], None],
                   lost: Callable[["Link"], None]) -> "Link":
        """One attempt. Raises `NotYet` where a later one may succeed."""
        # To a Unix socket a connection is there at once or not at all.
        end = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            end.setblocking(False)
            end.connect(path)
        except OSError as problem:
            end.close()
            text = problem.strerror or str(problem)
            if problem.errno in (errno.EACCES, errno.EPERM):
                raise errors.SocketForbidden(f"{path} may not be opened: {text}") from None
            if problem.errno in _FUTILE or problem.errno is None:
                raise errors.DaemonUnavailable(f"{path} is no socket of gatewayd: {text}") from None
            raise NotYet(text) from None
        loop = asyncio.get_running_loop()
        _, link = await loop.create_unix_connection(lambda: cls(hear, lost), sock=end)
        try:
            await link._greet(path, name, patience)
        except BaseException:
            link.close()
            raise
        return link

    async def _greet(self, path: str, name: Optional[str], patience: float) -> None:
        params: Dict[str, Any] = {"protocol": PROTOCOL}
        if name:
            params["client"] = name
        try:
            self.hello = await self.call("hello", params, patience)
        except (errors.InvalidParams, errors.InvalidRequest) as refusal:
            raise errors.ProtocolMismatch(f"the daemon does not speak protocol {PROTOCOL}: {refusal}") from None
        except (errors.DaemonLost, errors.CallTimeout) as failure:
            raise NotYet(str(failure)) from None
        except errors.CallError as refusal:
            if not refusal.retry:
                raise
            raise NotYet(refusal.message) from refusal
        if "protocol" not in self.hello:
            raise errors.ProtocolMismatch(f"what answers at {path} is not gatewayd")
        # The daemon refuses more unanswered calls than these: the others wait here.
        self._room = asyncio.Semaphore(self.hello.get("limits", {}).get("inflight") or 256)

    # Calls

    async def call(self, method: str, params: Dict[str, Any], patience: Optional[float],
                   answered: Callable[[Dict[str, Any]], None] = lambda result: None,
                   progress: Callable[[Dict[str, Any]], None] = lambda params: None,
                   has_deadline: bool = False) -> Dict[str, Any]:
        """The result of a call. `answered` gets it first, before the next line is looked at; `progress` gets what comes
        before it. A caller that is cancelled, or has waited in vain for `patience` seconds, takes the call back. With
        `has_deadline` the daemon keeps that time too, as the call's own `timeout`, of which it is told what is left."""
        number = next(self._ids)
        loop = asyncio.get_running_loop()
        end = None if patience is None else loop.time() + patience
        late = errors.CallTimeout(f"the daemon did not answer '{method}' in time")
        if self._room:
            try:
                await (asyncio.wait_for(self._room.acquire(), patience) if self._room.locked() else self._room.acquire())
            except asyncio.TimeoutError:
                raise late from None
        call = _Call(answered, progress)
        try:
            if not self.is_open:
                raise self._loss()
            if has_deadline and end is not None:
                params = {**params, "timeout": max(0, round((end - GRACE - loop.time()) * 1000))}
            line = self._line(number, method, params)
            self._waiting[number] = call
            self._write(line)
            return await asyncio.wait_for(call.future, None if end is None else max(0.0, end - loop.time()))
        except asyncio.TimeoutError:
            self.post("rpc.cancel", {"id": number})
            raise late from None
        except asyncio.CancelledError:
            self.post("rpc.cancel", {"id": number})
            raise
        finally:
            self._waiting.pop(number, None)
            if self._room:
                self._room.release()

    def _line(self, number: int, method: str, params: Dict[str, Any]) -> bytes:
        """A call as it is written: in one line, or in parts."""
        line = messages.encode({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        limit = self.hello.get("limits", {}).get("line")
        if not limit or len(line) <= limit + 1:
            return line
        if parts := messages.encode_parts(number, method, params, limit) if self._takes_parts else None:
            return parts
        raise errors.PayloadTooLarge(f"the call has {len(line)} bytes, and a line of the daemon's at most {limit}",
                                     {"type": "PayloadTooLarge", "retry": False, "limit": limit, "size": len(line)})

    @property
    def _takes_parts(self) -> bool:
        return "parts" in self.hello.get("features", ())

    def post(self, method: str, params: Dict[str, Any]) -> None:
        """A call without an id, which the daemon does not answer."""
        if self.is_open:
            self._write(messages.encode({"jsonrpc": "2.0", "method": method, "params": params}))

    def _write(self, line: bytes) -> None:
        assert self._transport
        self._transport.write(line)

    def close(self) -> None:
        if self._transport:
            self._transport.close()

    def _loss(self) -> errors.GatewayError:
        if self.fault:
            return self.fault
        reason = (self.goodbye or {}).get("reason")
        if reason == "kicked":
            return errors.Kicked("an administrator has ended this connection to the daemon")
        return errors.DaemonLost("the daemon closed the connection" + (f" ({reason})" if reason else ""))

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self.is_open = True

    def data_received(self, data: bytes) -> None:
        self._input += data
        if b"\n" not in data:
            if len(self._input) > _LINE:
                self._fail(errors.ProtocolMismatch("what answers at the socket is not gatewayd: a line without end"))
            return
        lines = bytes(self._input).split(b"\n")
        self._input = bytearray(lines.pop())
        for line in lines:
            try:
                self._take(messages.decode(line))
            except (ValueError, KeyError, TypeError, AttributeError) as problem:
                return self._fail(errors.ProtocolMismatch(
                    f"what answers at the socket does not speak the protocol: {problem!r} in {line[:80]!r}"))

    def connection_lost(self, problem: Optional[Exception]) -> None:
        self.is_open = False
        for call in list(self._waiting.values()):
            call.fail(self._loss())
        self._lost(self)

    def _fail(self, fault: errors.GatewayError) -> None:
        self.fault = fault
        if self._transport:
            self._transport.abort()

    def _take(self, message: Dict[str, Any]) -> None:
        if "method" in message:
            params = message["params"]
            if message["method"] == "progress":
                if call := self._waiting.get(params["id"]):
                    call.progress(params)
            elif message["method"] == "goodbye":
                self.goodbye = params
            else:
                self._hear(message["method"], params)
            return
        number = message["id"]
        if number is None:
            # Said of a line, whose call waits in vain, or of the client as a whole: this link is over with it.
            self._fail(errors.from_answer(message["error"]))
        elif call := self._waiting.get(number):
            if "error" in message:
                call.fail(errors.from_answer(message["error"]))
            elif not call.future.done():
                call.answered(message["result"])
                call.future.set_result(message["result"])


class _Call:
    """A call that is not answered yet."""

    def __init__(self, answered: Callable[[Dict[str, Any]], None], progress: Callable[[Dict[str, Any]], None]):
        self.answered = answered
        self.progress = progress
        self.future: "asyncio.Future[Dict[str, Any]]" = asyncio.get_running_loop().create_future()

    def fail(self, error: Exception) -> None:
        if not self.future.done():
            self.future.set_exception(error)
            self.future.exception()
