"""From connect() to the end: the namespaces of a drop-in client, each a subscription at the daemon.

What the daemon says of a connection becomes what python-socketio would have told its program: connected, disconnected with
a reason, an attempt that failed. The session runs in an event loop; how handlers are called is the client's matter.
"""

from __future__ import annotations

import asyncio
from typing import Any, Awaitable, Callable, Dict, List, Optional, Set

from .. import errors
from ..aio import AsyncClient as Gateway
from ..messages import Event, State, Target
from ..subscription import AsyncSubscription
from . import exceptions
from .base import FAILED, BaseClient, Reason

HANDSHAKE = 5.0
"""Seconds for the daemon and the link, before `wait_timeout` counts; python-socketio has the same as `request_timeout`."""


class Session:
    """`trigger` calls the handlers of an event and returns what they returned."""

    def __init__(self, client: BaseClient, trigger: Callable[..., Awaitable[Any]]):
        self._client = client
        self._trigger = trigger
        self._gateway = Gateway(client.gateway_socket, timeout=HANDSHAKE)
        self._targets: Dict[str, Target] = {}
        self._subscriptions: Dict[str, AsyncSubscription] = {}
        self._readers: List["asyncio.Task[None]"] = []
        self._tasks: Set["asyncio.Future[Any]"] = set()
        self._failed: Dict[str, State] = {}
        self._ready: Set[str] = set()
        self._changed = asyncio.Event()
        self._attempts = 0
        self._over = False
        self.ended = asyncio.Event()
        """Set when the session is over for good."""

    # Beginning and ending

    async def connect(self, targets: List[Target], wait: bool, wait_timeout: float, retry: bool) -> None:
        """Makes the subscriptions; with `wait`, returns when every namespace is connected."""
        client = self._client
        try:
            for namespace, target in zip(client.connection_namespaces, targets):
                self._targets[namespace] = target
                self._subscriptions[namespace] = await self._subscribe(target)
        except errors.GatewayError as failure:
            for namespace in client.connection_namespaces:
                await self._trigger("connect_error", namespace, str(failure))
            await self._finish()
            raise exceptions.ConnectionError(str(failure)) from failure
        for namespace in self._targets:
            self._readers.append(asyncio.ensure_future(self._read(namespace)))
        if not wait:
            client.connected = True
            return
        patience = None if retry else HANDSHAKE + wait_timeout
        try:
            await asyncio.wait_for(self._until_connected(retry), patience)
        except asyncio.TimeoutError:
            await self._finish()
            raise exceptions.ConnectionError("One or more namespaces failed to connect") from None
        except BaseException:
            await self._finish()
            raise
        client.connected = True

    async def _until_connected(self, retry: bool) -> None:
        while self._ready != set(self._targets):
            if self._over:
                raise exceptions.ConnectionError("the connection ended while it was made")
            if self._failed and not retry:
                refused = [namespace for namespace, state in self._failed.items() if state.reason == "refused"]
                if refused and len(self._failed) + len(self._ready) < len(self._targets):
                    pass
                elif refused:
                    raise exceptions.ConnectionError("One or more namespaces failed to connect: " + ", ".join(refused))
                else:
                    raise exceptions.ConnectionError(next(iter(self._failed.values())).detail or "Connection error")
            self._changed.clear()
            await self._changed.wait()

    async def _subscribe(self, target: Target) -> AsyncSubscription:
        try:
            return await self._gateway.subscribe(target, answer=True, states=True)
        except errors.PermissionDenied:
            # A program that may only read gets no tokens.
            return await self._gateway.subscribe(target, states=True)

    async def disconnect(self, reason: str = Reason.CLIENT_DISCONNECT) -> None:
        """Tells the handlers, and leaves."""
        if self._over:
            return
        self._over = True
        for namespace in list(self._client.namespaces):
            await self._trigger("disconnect", namespace, reason)
        await self._finish()

    async def _finish(self) -> None:
        self._over = True
        for namespace in self._targets:
            await self._trigger("__disconnect_final", namespace)
        self._client.namespaces.clear()
        self._client.connected = False
        self._client.sid = None
        for reader in self._readers:
            if reader is not asyncio.current_task():
                reader.cancel()
        for task in list(self._tasks):
            if getattr(task, "is_callback", False):
                task.cancel()
        await self._gateway.close()
        self._changed.set()
        self.ended.set()

    # Messages

    async def emit(self, event: str, args: List[Any], namespace: str, callback: Optional[Callable[..., Any]]) -> None:
        """Hands an event to the daemon; `callback` gets the server's acknowledgement, if it comes."""
        target = self._target(namespace)
        if callback is None:
            try:
                await self._gateway.send(target, event, *args)
            except errors.GatewayError as failure:
                raise _translated(failure) from failure
            return
        task = asyncio.ensure_future(self._acknowledged(target, event, args, callback))
        setattr(task, "is_callback", True)
        self._hold(task)
        # The call has been written when this returns: what is sent next comes behind it.
        await asyncio.sleep(0)

    async def _acknowledged(self, target: Target, event: str, args: List[Any], callback: Callable[..., Any]) -> None:
        try:
            answer = await self._gateway.request(target, event, *args, timeout=None)
        except errors.GatewayError as failure:
            self._client.logger.warning("no acknowledgement of %s: %s", event, failure)
            return
        await self._trigger(callback, None, *answer.args)

    async def call(self, event: str, args: List[Any], namespace: str, timeout: Optional[float]) -> Any:
        """Emits and returns the acknowledgement."""
        try:
            return (await self._gateway.request(self._target(namespace), event, *args, timeout=timeout)).value
        except (errors.AckTimeout, errors.AckLost, errors.CallTimeout, errors.Expired, errors.UpstreamDown) as failure:
            raise exceptions.TimeoutError() from failure
        except errors.GatewayError as failure:
            raise _translated(failure) from failure

    def _target(self, namespace: str) -> Target:
        if namespace not in self._client.namespaces:
            raise exceptions.BadNamespaceError(namespace + " is not a connected namespace.")
        return self._targets[namespace]

    # What the daemon says

    async def _read(self, namespace: str) -> None:
        try:
            async for item in self._subscriptions[namespace]:
                if isinstance(item, Event):
                    self._hold(asyncio.ensure_future(self._hear(namespace, item)))
                else:
                    await self._take(namespace, item)
        except errors.GatewayError as failure:
            self._client.logger.error("%s ended: %s", namespace, failure)
            await self.disconnect(Reason.TRANSPORT_ERROR)

    async def _hear(self, namespace: str, event: Event) -> None:
        args = [*event.args, event.kwargs] if event.kwargs else event.args
        has_handler = self._client._handler(event.name, namespace, ()) is not None
        result = await self._trigger(event.name, namespace, *args)
        if event.ack is None or not has_handler or result is FAILED:
            # Without a handler: another program on this connection may have one.
            return
        answer = [] if result is None else list(result) if isinstance(result, tuple) else [result]
        try:
            await self._gateway.respond(event, *answer)
        except errors.GatewayError as failure:
            self._client.logger.info("the answer to %s is not wanted: %s", event.name, failure)

    async def _take(self, namespace: str, state: State) -> None:
        if state.state == "connected":
            await self._connected(namespace)
        elif state.state in ("disconnected", "released", "daemon_lost"):
            if namespace in self._client.namespaces:
                await self._disconnected(namespace, state)
            elif state.is_found and (
                    self._ready or state.next_attempt is not None and state.next_attempt < HANDSHAKE * 1000):
                # Another program's connection is between two attempts: the next one is ours as well.
                pass
            elif state.state == "disconnected" and state.reason not in (None, "idle"):
                await self._attempt_failed(namespace, state)

    async def _connected(self, namespace: str) -> None:
        client = self._client
        if namespace in client.namespaces:
            return
        sid = await self._sid(namespace)
        self._failed.pop(namespace, None)
        self._attempts = 0
        client.namespaces[namespace] = sid
        client.sid = client.sid or sid
        if self._ready >= set(self._targets):
            client.connected = True
        self._hold(asyncio.ensure_future(self._welcome(namespace)))

    async def _welcome(self, namespace: str) -> None:
        await self._trigger("connect", namespace)
        self._ready.add(namespace)
        self._changed.set()

    async def _sid(self, namespace: str) -> Optional[str]:
        try:
            found = (await self._gateway.status(self._targets[namespace]))["connections"]
        except errors.GatewayError:
            return None
        if not found:
            return None
        self._client._transport = found[0].get("transport") or "websocket"
        return str(found[0].get("sid") or found[0]["connection"])

    async def _disconnected(self, namespace: str, state: State) -> None:
        client = self._client
        # The handlers of what came before have begun by then.
        await asyncio.sleep(0)
        kicked = state.reason == "kicked"
        await self._trigger("disconnect", namespace, Reason.SERVER_DISCONNECT if kicked else Reason.TRANSPORT_ERROR)
        client.namespaces.pop(namespace, None)
        client.sid = next(iter(client.namespaces.values()), None)
        if not client.namespaces:
            client.connected = False
        if kicked:
            # As with python-socketio: whom the server sends away stays away.
            await self._subscriptions[namespace].aclose()
        if not client.connected and (kicked or not client.reconnection):
            await self._finish()

    async def _attempt_failed(self, namespace: str, state: State) -> None:
        said: Any = state.detail or "Connection error"
        if state.reason == "refused":
            prefix = f"the server refused the namespace {namespace}: "
            said = {"message": said[len(prefix):] if said.startswith(prefix) else said}
        await self._trigger("connect_error", namespace, said)
        self._failed[namespace] = state
        self._changed.set()
        self._attempts += 1
        limit = self._client.reconnection_attempts
        if self._ready and limit and self._attempts >= limit * len(self._targets):
            await self._finish()

    def _hold(self, task: "asyncio.Future[Any]") -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def arguments(data: Any) -> List[Any]:
    """Tuples are several arguments, None is none, everything else is one."""
    return list(data) if isinstance(data, tuple) else [] if data is None else [data]


def _translated(failure: errors.GatewayError) -> exceptions.SocketIOError:
    if isinstance(failure, (errors.UpstreamDown, errors.UpstreamRefused, errors.Draining)) \
            or not isinstance(failure, errors.CallError):
        return exceptions.ConnectionError(str(failure))
    return exceptions.SocketIOError(str(failure))
