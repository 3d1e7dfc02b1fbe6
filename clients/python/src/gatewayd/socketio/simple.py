"""The drop-ins for `socketio.SimpleClient` and `socketio.AsyncSimpleClient`: no handlers, events are received one by one."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from typing import Any, List, Optional

from .async_client import AsyncClient
from .client import Client
from .exceptions import BadNamespaceError, ConnectionError, DisconnectedError, SocketIOError, TimeoutError


class SimpleClient:
    """As `socketio.SimpleClient`; one thread receives."""

    client_class = Client

    def __init__(self, *args: Any, **kwargs: Any):
        self.client_args, self.client_kwargs = args, kwargs
        self.client: Optional[Client] = None
        self.namespace = "/"
        self.connected = False
        self._up = threading.Event()
        self._events: "queue.Queue[Optional[List[Any]]]" = queue.Queue()

    def connect(self, url: Any, headers: Any = {}, auth: Any = None, transports: Any = None, namespace: str = "/",
                socketio_path: str = "socket.io", wait_timeout: float = 5) -> None:
        """Connects one namespace."""
        if self.connected:
            raise RuntimeError("Already connected")
        self.namespace = namespace
        self._events = queue.Queue()
        self.client = self.client_class(*self.client_args, **self.client_kwargs)
        _register(self, self.client)
        self.client.connect(url, headers=headers, auth=auth, transports=transports, namespaces=[namespace],
                            socketio_path=socketio_path, wait_timeout=wait_timeout)

    @property
    def sid(self) -> Optional[str]:
        return self.client.get_sid(self.namespace) if self.client else None

    @property
    def transport(self) -> str:
        return self.client.transport() if self.client else ""

    def emit(self, event: str, data: Any = None) -> None:
        """Emits an event, when the connection is there."""
        while True:
            try:
                return self._present().emit(event, data, namespace=self.namespace)
            except (DisconnectedError, TimeoutError):
                raise
            except SocketIOError as failure:
                time.sleep(_pause(failure))

    def call(self, event: str, data: Any = None, timeout: Optional[float] = 60) -> Any:
        """Emits an event and returns the acknowledgement."""
        while True:
            try:
                return self._present().call(event, data, namespace=self.namespace, timeout=timeout)
            except (DisconnectedError, TimeoutError):
                raise
            except SocketIOError as failure:
                time.sleep(_pause(failure))

    def receive(self, timeout: Optional[float] = None) -> List[Any]:
        """The next event: its name and its arguments, as a list."""
        if not self.connected and self._events.empty():
            raise DisconnectedError()
        try:
            event = self._events.get(timeout=timeout)
        except queue.Empty:
            raise TimeoutError() from None
        if event is None:
            raise DisconnectedError()
        return event

    def disconnect(self) -> None:
        """Disconnects."""
        client, self.client, self.connected = self.client, None, False
        if client:
            client.disconnect()
            if client._thread:
                client._thread.stop()

    def __enter__(self) -> "SimpleClient":
        return self

    def __exit__(self, *_: Any) -> None:
        self.disconnect()

    def _present(self) -> Client:
        self._up.wait()
        if not self.connected or not self.client:
            raise DisconnectedError()
        return self.client


class AsyncSimpleClient:
    """As `socketio.AsyncSimpleClient`."""

    client_class = AsyncClient

    def __init__(self, *args: Any, **kwargs: Any):
        self.client_args, self.client_kwargs = args, kwargs
        self.client: Optional[AsyncClient] = None
        self.namespace = "/"
        self.connected = False
        self._up: Any = None
        self._events: Any = None

    async def connect(self, url: Any, headers: Any = {}, auth: Any = None, transports: Any = None, namespace: str = "/",
                      socketio_path: str = "socket.io", wait_timeout: float = 5) -> None:
        """Connects one namespace."""
        if self.connected:
            raise RuntimeError("Already connected")
        self.namespace = namespace
        self._up, self._events = asyncio.Event(), asyncio.Queue()
        self.client = self.client_class(*self.client_args, **self.client_kwargs)
        _register(self, self.client)
        await self.client.connect(url, headers=headers, auth=auth, transports=transports, namespaces=[namespace],
                                  socketio_path=socketio_path, wait_timeout=wait_timeout)

    @property
    def sid(self) -> Optional[str]:
        return self.client.get_sid(self.namespace) if self.client else None

    @property
    def transport(self) -> str:
        return self.client.transport() if self.client else ""

    async def emit(self, event: str, data: Any = None) -> None:
        """Emits an event, when the connection is there."""
        while True:
            try:
                return await (await self._present()).emit(event, data, namespace=self.namespace)
            except (DisconnectedError, TimeoutError):
                raise
            except SocketIOError as failure:
                await asyncio.sleep(_pause(failure))

    async def call(self, event: str, data: Any = None, timeout: Optional[float] = 60) -> Any:
        """Emits an event and returns the acknowledgement."""
        while True:
            try:
                return await (await self._present()).call(event, data, namespace=self.namespace, timeout=timeout)
            except (DisconnectedError, TimeoutError):
                raise
            except SocketIOError as failure:
                await asyncio.sleep(_pause(failure))

    async def receive(self, timeout: Optional[float] = None) -> List[Any]:
        """The next event: its name and its arguments, as a list."""
        if not self._events or not self.connected and self._events.empty():
            raise DisconnectedError()
        try:
            event: Optional[List[Any]] = await asyncio.wait_for(self._events.get(), timeout)
        except asyncio.TimeoutError:
            raise TimeoutError() from None
        if event is None:
            raise DisconnectedError()
        return event

    async def disconnect(self) -> None:
        """Disconnects."""
        client, self.client, self.connected = self.client, None, False
        if client:
            await client.disconnect()

    async def __aenter__(self) -> "AsyncSimpleClient":
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.disconnect()

    async def _present(self) -> AsyncClient:
        if self._up:
            await self._up.wait()
        if not self.connected or not self.client:
            raise DisconnectedError()
        return self.client


def _register(simple: Any, client: Any) -> None:
    """The handlers that feed a simple client; they do not wait, and so run in the order of the events."""

    def connected() -> None:
        simple.connected = True
        simple._up.set()

    def ended() -> None:
        simple.connected = False
        simple._up.set()
        simple._events.put_nowait(None)

    def heard(event: str, *args: Any) -> None:
        simple._events.put_nowait([event, *args])

    handlers = {"connect": connected, "disconnect": lambda reason: simple._up.clear(), "__disconnect_final": ended, "*": heard}
    for event, handler in handlers.items():
        setattr(handler, "does_not_wait", True)
        client.on(event, handler, namespace=simple.namespace)


def _pause(failure: SocketIOError) -> float:
    """Before the next try, if the failure is that the connection is away; any other is raised."""
    if not isinstance(failure, (BadNamespaceError, ConnectionError)):
        raise failure
    return 0.05

