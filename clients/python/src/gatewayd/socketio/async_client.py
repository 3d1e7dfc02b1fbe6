"""The drop-in for `socketio.AsyncClient`."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any, Callable, Optional, Union

from . import exceptions
from .base import FAILED, BaseClient, fitting
from .session import Session, arguments


class AsyncClient(BaseClient):
    """As `socketio.AsyncClient`, on the connection that the daemon shares between programs."""

    _session: Optional[Session] = None

    def is_asyncio_based(self) -> bool:
        return True

    async def connect(self, url: Any, headers: Any = {}, auth: Any = None, transports: Any = None, namespaces: Any = None,
                      socketio_path: str = "socket.io", wait: bool = True, wait_timeout: float = 1,
                      retry: bool = False) -> None:
        """Connects to a server by its URL, or to an upstream of the daemon's configuration by its name."""
        if self.connected:
            raise exceptions.ConnectionError("Already connected")
        self.connection_url, self.connection_headers, self.connection_auth = url, headers, auth
        url, headers, auth = [await _real(value) for value in (url, headers, auth)]
        targets = self._take(url, headers, auth, transports, namespaces, socketio_path)
        self._session = Session(self, self._trigger_event)
        await self._session.connect(targets, wait, wait_timeout, retry)

    async def wait(self) -> None:
        """Waits until the connection has ended for good."""
        if self._session:
            await self._session.ended.wait()

    async def emit(self, event: str, data: Any = None, namespace: Optional[str] = None,
                   callback: Optional[Callable[..., Any]] = None) -> None:
        """Emits an event; `callback` gets the arguments of the acknowledgement."""
        await self._present(namespace).emit(event, arguments(data), namespace or "/", callback)

    async def send(self, data: Any, namespace: Optional[str] = None, callback: Optional[Callable[..., Any]] = None) -> None:
        """Emits the event ``message``."""
        await self.emit("message", data=data, namespace=namespace, callback=callback)

    async def call(self, event: str, data: Any = None, namespace: Optional[str] = None,
                   timeout: Optional[float] = 60) -> Any:
        """Emits an event and returns the acknowledgement; `TimeoutError` when none comes."""
        return await self._present(namespace).call(event, arguments(data), namespace or "/", timeout)

    async def disconnect(self) -> None:
        """Disconnects this program. The shared connection stays as long as others use it."""
        if self._session:
            await self._session.disconnect()

    async def shutdown(self) -> None:
        """Disconnects, or stops waiting for a connection."""
        await self.disconnect()

    def start_background_task(self, target: Callable[..., Any], *args: Any, **kwargs: Any) -> "asyncio.Task[Any]":
        return asyncio.ensure_future(target(*args, **kwargs))

    async def sleep(self, seconds: float = 0) -> None:
        await asyncio.sleep(seconds)

    def _present(self, namespace: Optional[str]) -> Session:
        if not self._session or (namespace or "/") not in self.namespaces:
            raise exceptions.BadNamespaceError((namespace or "/") + " is not a connected namespace.")
        return self._session

    async def _trigger_event(self, event: Union[str, Callable[..., Any]], namespace: Optional[str], *args: Any) -> Any:
        """Calls the handler of an event, or a callback."""
        found = (event, args) if callable(event) else self._handler(event, namespace or "/", args)
        if found is None:
            return None
        handler, args = found
        try:
            result = handler(*fitting(handler, str(event), args))
            return await result if inspect.isawaitable(result) else result
        except Exception:
            self.logger.exception("the handler of %s failed", event)
            return FAILED


async def _real(value: Any) -> Any:
    """The value that a function gives, or the value itself."""
    value = value() if callable(value) else value
    return await value if inspect.isawaitable(value) else value
