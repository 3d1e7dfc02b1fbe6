"""Class-based namespaces."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any, Callable, Optional


class BaseClientNamespace:
    """An object whose methods ``on_…`` are the handlers of a namespace."""

    def __init__(self, namespace: Optional[str] = None):
        self.namespace = namespace or "/"
        self.client: Any = None

    def is_asyncio_based(self) -> bool:
        return False

    def _set_client(self, client: Any) -> None:
        self.client = client

    def _handles(self, event: str) -> bool:
        """Whether an event has a handler here; a class that overrides `trigger_event` handles everything."""
        own = type(self).trigger_event not in (ClientNamespace.trigger_event, AsyncClientNamespace.trigger_event)
        return own or hasattr(self, "on_" + (event or ""))

    def trigger_event(self, event: str, *args: Any) -> Any:
        raise NotImplementedError


def _called(handler: Callable[..., Any], event: str, args: Any) -> Any:
    from .base import fitting
    return handler(*fitting(handler, event, args))


class ClientNamespace(BaseClientNamespace):
    """For `Client`."""

    def trigger_event(self, event: str, *args: Any) -> Any:
        """Finds the method for an event and calls it."""
        handler = getattr(self, "on_" + (event or ""), None)
        return _called(handler, event, args) if handler else None

    def emit(self, event: str, data: Any = None, namespace: Optional[str] = None, callback: Any = None) -> Any:
        return self.client.emit(event, data=data, namespace=namespace or self.namespace, callback=callback)

    def send(self, data: Any, room: Any = None, namespace: Optional[str] = None, callback: Any = None) -> Any:
        return self.client.send(data, namespace=namespace or self.namespace, callback=callback)

    def call(self, event: str, data: Any = None, namespace: Optional[str] = None, timeout: Optional[float] = None) -> Any:
        return self.client.call(event, data=data, namespace=namespace or self.namespace, timeout=timeout)

    def disconnect(self) -> Any:
        return self.client.disconnect()


class AsyncClientNamespace(BaseClientNamespace):
    """For `AsyncClient`; handlers may be coroutines or plain functions."""

    def is_asyncio_based(self) -> bool:
        return True

    async def trigger_event(self, event: str, *args: Any) -> Any:
        """Finds the method for an event and calls it."""
        handler = getattr(self, "on_" + (event or ""), None)
        if handler is None:
            return None
        try:
            result = _called(handler, event, args)
            return await result if inspect.isawaitable(result) else result
        except asyncio.CancelledError:
            return None

    async def emit(self, event: str, data: Any = None, namespace: Optional[str] = None, callback: Any = None) -> Any:
        return await self.client.emit(event, data=data, namespace=namespace or self.namespace, callback=callback)

    async def send(self, data: Any, namespace: Optional[str] = None, callback: Any = None) -> Any:
        return await self.client.send(data, namespace=namespace or self.namespace, callback=callback)

    async def call(self, event: str, data: Any = None, namespace: Optional[str] = None,
                   timeout: Optional[float] = None) -> Any:
        return await self.client.call(event, data=data, namespace=namespace or self.namespace, timeout=timeout)

    async def disconnect(self) -> Any:
        return await self.client.disconnect()
