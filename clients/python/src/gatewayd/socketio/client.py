"""The drop-in for `socketio.Client`."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any, Callable, Coroutine, Optional, Union

from ..sync import LoopThread
from . import exceptions
from .base import FAILED, BaseClient, fitting
from .session import Session, arguments


class Client(BaseClient):
    """As `socketio.Client`, on the connection that the daemon shares between programs. As there, each handler runs in a
    thread of its own, so that it may wait for what another one brings."""

    _session: Optional[Session] = None
    _thread: Optional[LoopThread] = None

    def connect(self, url: Any, headers: Any = {}, auth: Any = None, transports: Any = None, namespaces: Any = None,
                socketio_path: str = "socket.io", wait: bool = True, wait_timeout: float = 1, retry: bool = False) -> None:
        """Connects to a server by its URL, or to an upstream of the daemon's configuration by its name."""
        if self.connected:
            raise exceptions.ConnectionError("Already connected")
        self.connection_url, self.connection_headers, self.connection_auth = url, headers, auth
        url, headers, auth = (value() if callable(value) else value for value in (url, headers, auth))
        targets = self._take(url, headers, auth, transports, namespaces, socketio_path)
        self._thread = self._thread or LoopThread()

        async def begin() -> None:
            self._session = Session(self, self._trigger_event)
            await self._session.connect(targets, wait, wait_timeout, retry)

        self._run(begin())

    def wait(self) -> None:
        """Waits until the connection has ended for good."""
        session = self._session
        if not session:
            return

        async def ended() -> None:
            assert session
            await session.ended.wait()

        try:
            self._run(ended())
        except KeyboardInterrupt:
            if self.handle_sigint:
                self.disconnect()
            raise

    def emit(self, event: str, data: Any = None, namespace: Optional[str] = None,
             callback: Optional[Callable[..., Any]] = None) -> None:
        """Emits an event; `callback` gets the arguments of the acknowledgement."""
        self._run(self._present(namespace).emit(event, arguments(data), namespace or "/", callback))

    def send(self, data: Any, namespace: Optional[str] = None, callback: Optional[Callable[..., Any]] = None) -> None:
        """Emits the event ``message``."""
        self.emit("message", data=data, namespace=namespace, callback=callback)

    def call(self, event: str, data: Any = None, namespace: Optional[str] = None, timeout: Optional[float] = 60) -> Any:
        """Emits an event and returns the acknowledgement; `TimeoutError` when none comes."""
        return self._run(self._present(namespace).call(event, arguments(data), namespace or "/", timeout))

    def disconnect(self) -> None:
        """Disconnects this program. The shared connection stays as long as others use it."""
        if self._session:
            self._run(self._session.disconnect())

    def shutdown(self) -> None:
        """Disconnects, or stops waiting for a connection."""
        self.disconnect()

    def start_background_task(self, target: Callable[..., Any], *args: Any, **kwargs: Any) -> threading.Thread:
        thread = threading.Thread(target=target, args=args, kwargs=kwargs, daemon=True)
        thread.start()
        return thread

    def sleep(self, seconds: float = 0) -> None:
        time.sleep(seconds)

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        assert self._thread
        return self._thread.run(work)

    def _present(self, namespace: Optional[str]) -> Session:
        if not self._session or (namespace or "/") not in self.namespaces:
            raise exceptions.BadNamespaceError((namespace or "/") + " is not a connected namespace.")
        return self._session

    async def _trigger_event(self, event: Union[str, Callable[..., Any]], namespace: Optional[str], *args: Any) -> Any:
        """Calls the handler of an event, or a callback, in a thread of its own."""
        found = (event, args) if callable(event) else self._handler(event, namespace or "/", args)
        if found is None:
            return None
        handler, given = found[0], fitting(found[0], str(event), found[1])
        if getattr(handler, "does_not_wait", False):
            return handler(*given)
        loop = asyncio.get_running_loop()
        done: "asyncio.Future[Any]" = loop.create_future()

        def tell(result: Any) -> None:
            if not done.done():
                done.set_result(result)

        def run() -> None:
            result = FAILED
            try:
                result = handler(*given)
            except Exception:
                self.logger.exception("the handler of %s failed", event)
            finally:
                loop.call_soon_threadsafe(tell, result)

        self.start_background_task(run)
        return await done
