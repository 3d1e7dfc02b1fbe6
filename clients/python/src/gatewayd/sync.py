"""The client for programs without asyncio: the same calls, which wait.

The connection is served by a thread of its own, so that it is kept and comes back while the program does something else.
Any thread may make calls. Interrupting a call (Ctrl-C) takes it back.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import threading
from typing import Any, Callable, Coroutine, Dict, Iterable, Iterator, Optional, TypeVar, Union

from . import errors
from .aio import AsyncClient
from .messages import Answer, AnyMessage, AnyTarget, Event, History, Position, Sent
from .subscription import AsyncSubscription, behind

T = TypeVar("T")


class LoopThread:
    """An event loop in a thread, and a way to run coroutines there and wait for them."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._serve, name="gatewayd", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
        self.loop.close()

    def run(self, work: Coroutine[Any, Any, T], timeout: Optional[float] = None) -> T:
        """The coroutine's result. It is cancelled when the caller is interrupted."""
        if self._process != os.getpid() or not self._thread.is_alive():
            work.close()
            raise errors.Closed("this client is closed, or was made before a fork: every process makes its own")
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("this is the client's own thread (a progress function runs in it), which must not wait")
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return future.result(timeout)
        except concurrent.futures.CancelledError:
            raise errors.Closed("the client was closed") from None
        except BaseException:
            future.cancel()
            raise

    def stop(self) -> None:
        if self._process == os.getpid() and self._thread.is_alive():
            self.loop.call_soon_threadsafe(self.loop.stop)
            if threading.current_thread() is not self._thread:
                self._thread.join()


class Client:
    """The daemon::

        with gatewayd.Client() as gateway:
            print(gateway.request("https://chat.example", "say", "hello").value)
            for event in gateway.subscribe("https://chat.example", ["said"]):
                print(event.args)

    The methods are those of `AsyncClient`, which explains them; here they wait, and `subscribe` gives a `Subscription`.
    """

    def __init__(self, socket: Union[str, "os.PathLike[str]", None] = None, *, name: Optional[str] = None,
                 timeout: float = 5.0):
        self._client = AsyncClient(socket, name=name, timeout=timeout)
        self._thread = LoopThread()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    @property
    def instance(self) -> Optional[str]:
        """Which run of the daemon this client talks to, as far as it is connected."""
        return self._client.instance

    def close(self) -> None:
        """Ends every subscription and the connection."""
        try:
            self._thread.run(self._client.close())
        except errors.Closed:
            return
        self._thread.stop()

    def subscribe(self, target: AnyTarget, events: Optional[Iterable[str]] = None, *, since: Optional[Position] = None,
                  last: Optional[int] = None, strict: bool = False, answer: bool = False, gaps: bool = False,
                  states: bool = False, window: Optional[int] = 256, queue: Optional[int] = None,
                  on_slow: Optional[str] = None, enter: Iterable[AnyMessage] = (),
                  leave: Iterable[Optional[AnyMessage]] = ()) -> "Subscription":
        """The server's events; returns when the subscription is made. See `AsyncClient.subscribe`."""

        async def begin() -> AsyncSubscription:
            return await self._client.subscribe(
                target, events, since=since, last=last, strict=strict, answer=answer, gaps=gaps, states=states,
                window=window, queue=queue, on_slow=on_slow, enter=enter, leave=leave)

        return Subscription(self._thread, self._thread.run(begin()))

    def send(self, target: AnyTarget, event: str, *args: Any, delivery: str = "accepted", timeout: Optional[float] = None,
             key: Optional[str] = None, ttl: Optional[float] = None, retries: Optional[int] = None,
             ack_timeout: Optional[float] = None, coalesce: Optional[str] = None, no_queue: bool = False,
             volatile: bool = False, compress: Optional[bool] = None, kwargs: Optional[Dict[str, Any]] = None) -> Sent:
        """Sends an event; see `AsyncClient.send`."""
        return self._thread.run(self._client.send(
            target, event, *args, delivery=delivery, timeout=timeout, key=key, ttl=ttl, retries=retries,
            ack_timeout=ack_timeout, coalesce=coalesce, no_queue=no_queue, volatile=volatile, compress=compress,
            kwargs=kwargs))

    def request(self, target: AnyTarget, event: str, *args: Any, timeout: Optional[float] = 10.0,
                progress: Optional[Callable[[Answer], None]] = None, key: Optional[str] = None,
                ttl: Optional[float] = None, retries: Optional[int] = None, ack_timeout: Optional[float] = None,
                coalesce: Optional[str] = None, no_queue: bool = False, compress: Optional[bool] = None,
                kwargs: Optional[Dict[str, Any]] = None) -> Answer:
        """Sends an event and waits for the server's answer; see `AsyncClient.request`. `progress` is called in the
        client's own thread."""
        return self._thread.run(self._client.request(
            target, event, *args, timeout=timeout, progress=progress, key=key, ttl=ttl, retries=retries,
            ack_timeout=ack_timeout, coalesce=coalesce, no_queue=no_queue, compress=compress, kwargs=kwargs))

    def respond(self, event: Union[Event, str], *args: Any, error: Optional[str] = None,
                kwargs: Optional[Dict[str, Any]] = None) -> None:
        """Answers an event that came with a token."""
        self._thread.run(self._client.respond(event, *args, error=error, kwargs=kwargs))

    def wait(self, target: AnyTarget, state: str = "connected", timeout: float = 60.0) -> None:
        """Waits until the connection is in a state; `Expired` when the time is up."""
        self._thread.run(self._client.wait(target, state, timeout))

    def history(self, target: AnyTarget, events: Optional[Iterable[str]] = None, *, since: Optional[Position] = None,
                limit: int = 100) -> History:
        """Past events: the first behind `since`, or the newest."""
        return self._thread.run(self._client.history(target, events, since=since, limit=limit))

    def status(self, target: Optional[AnyTarget] = None) -> Dict[str, Any]:
        """The daemon's own account: its connections and clients, or what concerns one target."""
        return self._thread.run(self._client.status(target))

    def state(self, target: AnyTarget) -> str:
        """The state of the connection to an upstream: `released` where there is none."""
        return self._thread.run(self._client.state(target))

    def ping(self) -> None:
        """Returns when the daemon answers."""
        self._thread.run(self._client.ping())

    def call(self, method: str, params: Optional[Dict[str, Any]] = None, *,
             timeout: Optional[float] = None) -> Dict[str, Any]:
        """Any method of the protocol, with its params and its result as they are in JSON."""
        return self._thread.run(self._client.call(method, params, timeout=timeout))


class Subscription:
    """Made by `Client.subscribe`; iterate it, in one thread at a time. ``with`` ends it."""

    def __init__(self, thread: LoopThread, subscription: AsyncSubscription):
        self._thread = thread
        self._subscription = subscription
        self._items = subscription._items
        self._portion = max(1, (subscription._window or 512) // 2)
        self._taken = 0
        self.position = subscription.position
        """Behind the last item that was handed out: the `since` with which another program would go on."""

    @property
    def recovered(self) -> bool:
        """The daemon had everything that `since` or `last` asked for."""
        return self._subscription.recovered

    def __enter__(self) -> "Subscription":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        try:
            return self.next()
        except errors.Closed:
            raise StopIteration from None

    def next(self, timeout: Optional[float] = None) -> Any:
        """The next item. Raises `TimeoutError` when none came in `timeout` seconds, `Closed` after `close`."""
        if not self._items:
            try:
                self._thread.run(self._available(timeout))
            except (asyncio.TimeoutError, concurrent.futures.TimeoutError):
                raise TimeoutError(f"no event within {timeout} s") from None
        # The loop's thread appends, this one takes: no item is lost where a call is interrupted.
        item = self._items.popleft()
        self.position = behind(self.position, item)
        self._taken += 1
        if not self._items or self._taken >= self._portion:
            self._taken = 0
            self._thread.loop.call_soon_threadsafe(self._subscription._grant)
        return item

    async def _available(self, timeout: Optional[float]) -> None:
        await asyncio.wait_for(self._subscription._available(), timeout)

    def close(self) -> None:
        """Ends the subscription."""
        try:
            self._thread.run(self._subscription.aclose())
        except errors.Closed:
            pass
