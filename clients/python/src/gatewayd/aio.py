"""The client for asyncio: reaches the daemon, comes back to it, and makes calls."""

from __future__ import annotations

import asyncio
import os
import random
import sys
from typing import Any, Callable, Dict, Iterable, Optional, Set, Tuple, Union

from . import errors
from .link import GRACE, Link, NotYet, socket_path
from .messages import (Answer, AnyMessage, AnyTarget, Event, History, Position, Sent, Target, event_of, from_wire,
                       names, to_messages, to_wire)
from .subscription import AsyncSubscription

_PAUSES = (0.02, 1.0)
"""The shortest and the longest time between two attempts to reach the daemon."""
_REPEATABLE = {"ping", "status", "stats", "clients.list", "upstreams.list", "history", "wait", "rpc.discover",
               "outbox.list", "metrics"}
"""Methods that may be called again when the daemon went away in the middle."""
_DRAIN_PAUSE = 0.25
"""How often a daemon that is about to stop is asked again: it may go on without stopping."""
_ANNOUNCED = 60.0
"""The longest time for which a daemon that said when it will be back is left alone."""


class AsyncClient:
    """The daemon, for programs on asyncio::

        async with gatewayd.AsyncClient() as gateway:
            answer = await gateway.request("https://chat.example", "say", "hello")
            async for event in gateway.subscribe("https://chat.example", ["said"]):
                print(event.args)

    It connects when it is first needed and comes back whenever the daemon does. `socket` is the daemon's socket, found as
    gatewayctl finds it unless given; `name` is shown in ``gatewayctl status``; `timeout` says for how many seconds a call
    waits for a daemon that is just restarting, and for answers that take no time.

    A *target* is a URL, the name of an upstream in the daemon's configuration, or a `Target` with a namespace or an auth
    object. Times are in seconds. Cancelling a task takes its call back.
    """

    def __init__(self, socket: Union[str, "os.PathLike[str]", None] = None, *, name: Optional[str] = None,
                 timeout: float = 5.0):
        self.socket = os.fspath(socket) if socket else None
        self.name = name or (os.path.basename(sys.argv[0])[:100] if sys.argv and sys.argv[0] else "python")
        self.timeout = timeout
        self._link: Optional[Link] = None
        self._was_connected = False
        self._opening: Optional[asyncio.Lock] = None
        self._subscriptions: Dict[str, AsyncSubscription] = {}
        self._tasks: Set["asyncio.Task[None]"] = set()
        self._closed = False

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()

    @property
    def instance(self) -> Optional[str]:
        """Which run of the daemon this client talks to, as far as it is connected. Another one has forgotten what was only
        accepted by the one before, if that crashed."""
        return self._link.hello.get("instance") if self._link and self._link.is_open else None

    async def close(self) -> None:
        """Ends every subscription and the connection."""
        self._closed = True
        for subscription in list(self._subscriptions.values()):
            subscription.fail(errors.Closed("the client was closed"))
        self._subscriptions.clear()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._link:
            self._link.close()
            await asyncio.sleep(0)

    # Messages

    def subscribe(self, target: AnyTarget, events: Optional[Iterable[str]] = None, *, since: Optional[Position] = None,
                  last: Optional[int] = None, strict: bool = False, answer: bool = False, gaps: bool = False,
                  states: bool = False, window: Optional[int] = 256, queue: Optional[int] = None,
                  on_slow: Optional[str] = None, enter: Iterable[AnyMessage] = (),
                  leave: Iterable[Optional[AnyMessage]] = ()) -> AsyncSubscription:
        """The server's events: those with one of the names or patterns `events`, or all.

        since, last
            begin behind a position, or with the last n events; `strict` fails rather than begin with a gap.
        gaps, states
            also hand out a `Gap` where events are missing, and a `State` for each change of the connection.
        window
            how many events may be here that the program has not taken; others wait at the daemon, whose `queue` and
            `on_slow` say how many and what happens then. None: no bound here.
        answer
            events whose server waits for an answer come with a token for `respond`.
        enter, leave
            messages that the daemon says to the server at every connect, as for a room or a feed, once for all programs;
            and what undoes each (None: nothing), said when no program holds it any more: ``enter=[("join", "ops")]``.
        """
        options: Dict[str, Any] = {}
        if strict:
            options["strict"] = True
        if answer:
            options["answer"] = True
        if queue is not None:
            options["queue"] = queue
        if on_slow is not None:
            options["on_slow"] = on_slow
        for name, messages in (("enter", to_messages(enter)), ("leave", to_messages(leave))):
            if messages:
                options[name] = messages
        return AsyncSubscription(self, target, events, options, since, last, window, gaps, states)

    async def send(self, target: AnyTarget, event: str, *args: Any, delivery: str = "accepted",
                   timeout: Optional[float] = None, key: Optional[str] = None, ttl: Optional[float] = None,
                   retries: Optional[int] = None, ack_timeout: Optional[float] = None, coalesce: Optional[str] = None,
                   no_queue: bool = False, volatile: bool = False, compress: Optional[bool] = None,
                   kwargs: Optional[Dict[str, Any]] = None) -> Sent:
        """Sends an event. `delivery` says when that is done: `accepted` by the daemon, `durable` on its disk, `sent` to the
        server, or `acked` by it. A durable send with a `key` is repeated by itself when the daemon goes away in the
        middle, and is kept once."""
        params = self._message(target, event, args, kwargs, key, ttl, retries, ack_timeout, coalesce, no_queue, compress)
        params["delivery"] = delivery
        if volatile:
            params["volatile"] = True
        result = await self._call("send", params, timeout=timeout, is_open_ended=delivery in ("sent", "acked"),
                                  is_repeatable=bool(key) and delivery == "durable")
        return Sent(result["id"], result["state"], bool(result.get("duplicate")),
                    from_wire(result["args"]) if "args" in result else None, result.get("upstream"))

    async def request(self, target: AnyTarget, event: str, *args: Any, timeout: Optional[float] = 10.0,
                      progress: Optional[Callable[[Answer], None]] = None, key: Optional[str] = None,
                      ttl: Optional[float] = None, retries: Optional[int] = None, ack_timeout: Optional[float] = None,
                      coalesce: Optional[str] = None, no_queue: bool = False, compress: Optional[bool] = None,
                      kwargs: Optional[Dict[str, Any]] = None) -> Answer:
        """Sends an event and waits for the server's answer; `progress` gets what a server answers in parts before, and what
        it raises is the event loop's to report. None as `timeout` waits for ever."""
        params = self._message(target, event, args, kwargs, key, ttl, retries, ack_timeout, coalesce, no_queue, compress)
        params["timeout"] = _LONGEST if timeout is None else round(timeout * 1000)

        def told(part: Dict[str, Any]) -> None:
            if progress:
                _tell(progress, Answer(from_wire(part["args"]), from_wire(part.get("kwargs"))))

        result = await self._call("request", params, timeout=timeout, has_deadline=True, is_open_ended=timeout is None,
                                  progress=told)
        return Answer(from_wire(result.get("args", [])), from_wire(result.get("kwargs")), result.get("state"))

    async def respond(self, event: Union[Event, str], *args: Any, error: Optional[str] = None,
                      kwargs: Optional[Dict[str, Any]] = None) -> None:
        """Answers an event that came with a token, or that token. The first answer wins; later ones are `AckGone`."""
        token = event.ack if isinstance(event, Event) else event
        if token is None:
            raise errors.AckGone("this event waits for no answer, or the subscription did not ask for tokens")
        params: Dict[str, Any] = {"ack": token, "args": to_wire(args)}
        if error is not None:
            params["error"] = error
        if kwargs is not None:
            params["kwargs"] = to_wire(kwargs)
        await self._call("respond", params)

    # The upstream and the daemon

    async def wait(self, target: AnyTarget, state: str = "connected", timeout: float = 60.0) -> None:
        """Waits until the connection is in a state; `Expired` when the time is up."""
        await self._call("wait", {**_target(target), "state": state, "timeout": round(timeout * 1000)}, timeout=timeout,
                         has_deadline=True)

    async def history(self, target: AnyTarget, events: Optional[Iterable[str]] = None, *,
                      since: Optional[Position] = None, limit: int = 100) -> History:
        """Past events: the first behind `since`, or the newest."""
        params: Dict[str, Any] = {**_target(target), "limit": limit}
        if events is not None:
            params["events"] = names(events)
        if since:
            params["since"] = {"epoch": since[0], "seq": since[1]}
        result = await self._call("history", params)
        return History([event_of(one, result["epoch"]) for one in result["events"]],
                       Position(result["epoch"], result["seq"]), result["complete"], result["more"])

    async def status(self, target: Optional[AnyTarget] = None) -> Dict[str, Any]:
        """The daemon's own account: its connections and clients, or what concerns one target."""
        return await self._call("status", _target(target) if target else {})

    async def state(self, target: AnyTarget) -> str:
        """The state of the connection to an upstream: `released` where there is none."""
        # A link that this host has for its fleet is not what its programs use.
        found = [one for one in (await self.status(target))["connections"]
                 if (one.get("fleet") or {}).get("role") != "holder"]
        return found[0]["state"] if found else "released"

    async def ping(self) -> None:
        """Returns when the daemon answers."""
        await self._call("ping", {})

    async def call(self, method: str, params: Optional[Dict[str, Any]] = None, *,
                   timeout: Optional[float] = None) -> Dict[str, Any]:
        """Any method of the protocol, with its params and its result as they are in JSON."""
        return await self._call(method, dict(params or {}), timeout=timeout)

    # Calls

    @staticmethod
    def _message(target: AnyTarget, event: str, args: Tuple[Any, ...], kwargs: Optional[Dict[str, Any]],
                 key: Optional[str], ttl: Optional[float], retries: Optional[int], ack_timeout: Optional[float],
                 coalesce: Optional[str], no_queue: bool, compress: Optional[bool]) -> Dict[str, Any]:
        params: Dict[str, Any] = {**_target(target), "event": event, "args": to_wire(args)}
        given = {"kwargs": None if kwargs is None else to_wire(kwargs), "key": key, "ttl": _milliseconds(ttl),
                 "retries": retries, "ack_timeout": _milliseconds(ack_timeout), "coalesce": coalesce,
                 "no_queue": no_queue or None, "compress": compress}
        params.update({name: value for name, value in given.items() if value is not None})
        return params

    async def _call(self, method: str, params: Dict[str, Any], *, timeout: Optional[float] = None,
                    has_deadline: bool = False, is_open_ended: bool = False, is_repeatable: bool = False,
                    progress: Callable[[Dict[str, Any]], None] = lambda params: None) -> Dict[str, Any]:
        """A call and its result. `timeout` is the daemon's own deadline where the method has one (`has_deadline`), and
        otherwise how long its answer is waited for."""
        loop = asyncio.get_running_loop()
        patience: Optional[float] = self.timeout if timeout is None else timeout + GRACE
        if timeout is None and is_open_ended:
            patience = None
        has_deadline = timeout is not None and (has_deadline or method == "send")
        end = None if patience is None else loop.time() + patience
        drained: Optional[Link] = None
        drain_end = 0.0
        while True:
            link = await self._reach(self.timeout if end is None else max(0.0, min(self.timeout, end - loop.time())))
            try:
                return await link.call(method, params, None if end is None else max(0.0, end - loop.time()),
                                       progress=progress, has_deadline=has_deadline)
            except errors.Kicked:
                raise
            except errors.DaemonLost:
                if not (is_repeatable or method in _REPEATABLE):
                    raise
                # Also of a deadline that the program wrote itself only the rest is left.
                has_deadline = has_deadline or "timeout" in params
            except errors.Draining:
                # The daemon is about to stop and has not taken the call: the next one gets it.
                if drained is not link:
                    drained, drain_end = link, loop.time() + self.timeout
                if loop.time() + _DRAIN_PAUSE > (drain_end if end is None else min(drain_end, end)):
                    raise
                await asyncio.sleep(_DRAIN_PAUSE)

    # Reaching the daemon

    async def _reach(self, patience: Optional[float]) -> Link:
        """The link to the daemon, which is waited for while it restarts. `patience` None waits for ever."""
        if self._link and self._link.is_open:
            return self._link
        loop = asyncio.get_running_loop()
        start = loop.time()
        pause = _PAUSES[0]
        self._opening = self._opening or asyncio.Lock()
        while True:
            if self._closed:
                raise errors.Closed("the client was closed")
            try:
                async with self._opening:
                    if self._link and self._link.is_open:
                        return self._link
                    return await self._open()
            except NotYet as problem:
                if patience is not None and loop.time() - start >= patience:
                    if isinstance(problem.__cause__, errors.GatewayError):
                        raise problem.__cause__
                    raise errors.DaemonUnavailable(
                        f"no daemon answers at {socket_path(self.socket)}: {problem}") from None
            left = pause if patience is None else max(0.0, patience - (loop.time() - start))
            await asyncio.sleep(min(left, pause / 2 + random.random() * pause / 2))
            pause = min(pause * 2, _PAUSES[1])

    async def _open(self) -> Link:
        try:
            link = await Link.open(socket_path(self.socket), self.name, max(self.timeout, 1.0), self._hear, self._lost)
        except errors.SocketForbidden as refusal:
            # A socket that was usable before may be closed for the moment in which its daemon makes it.
            if not self._was_connected:
                raise
            raise NotYet(str(refusal)) from refusal
        if not link.is_open:
            raise NotYet("the daemon closed the connection")
        self._link = link
        self._was_connected = True
        for subscription in list(self._subscriptions.values()):
            if subscription.began:
                self._spawn(self._resume(subscription, link))
        return link

    def _hear(self, method: str, params: Dict[str, Any]) -> None:
        subscription = self._subscriptions.get(params.get("subscription", ""))
        if subscription:
            subscription.hear(method, params)

    def _lost(self, link: Link) -> None:
        """The link is over: the subscriptions look for the daemon again."""
        if link is not self._link:
            return
        self._link = None
        fault = link._loss()
        for subscription in list(self._subscriptions.values()):
            subscription.lose()
            if subscription.began and isinstance(fault, (errors.Kicked, errors.ProtocolMismatch)):
                self._forget(subscription)
                subscription.fail(fault)
        if any(one.began for one in self._subscriptions.values()) and not self._closed:
            announced = min((link.goodbye or {}).get("reconnect_in") or 0, _ANNOUNCED * 1000) / 1000
            self._spawn(self._come_back(announced))

    async def _come_back(self, pause: float) -> None:
        try:
            await asyncio.sleep(pause * (1 + random.random() / 10) + random.random() * _PAUSES[0])
            await self._reach(None)
        except errors.GatewayError as failure:
            for subscription in list(self._subscriptions.values()):
                if subscription.began:
                    self._forget(subscription)
                    subscription.fail(failure)

    # Subscriptions

    async def _begin(self, subscription: AsyncSubscription) -> None:
        """Makes a subscription for the first time; whatever speaks against it is raised."""
        self._subscriptions[subscription.id] = subscription
        link: Optional[Link] = None
        try:
            while not subscription.began:
                link = await self._reach(self.timeout)
                try:
                    await subscription.subscribe(link)
                except errors.Kicked:
                    raise
                except errors.DaemonLost:
                    continue
                except errors.Draining:
                    await asyncio.sleep(_DRAIN_PAUSE)
        except BaseException:
            if not subscription.began:
                self._forget(subscription)
                if link:
                    link.post("unsubscribe", {"subscription": subscription.id})
            raise

    async def _resume(self, subscription: AsyncSubscription, link: Link) -> None:
        """Makes a subscription again on a new link."""
        pause = _PAUSES[0]
        while link.is_open and subscription.id in self._subscriptions:
            try:
                return await subscription.subscribe(link)
            except errors.CallError as refusal:
                if not refusal.retry:
                    self._forget(subscription)
                    return subscription.fail(refusal)
            except errors.GatewayError:
                return
            await asyncio.sleep(pause)
            pause = min(pause * 2, _PAUSES[1])

    def _forget(self, subscription: AsyncSubscription) -> None:
        self._subscriptions.pop(subscription.id, None)

    def _spawn(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


_LONGEST = 315_360_000_000
"""The longest time of the protocol, in milliseconds: ten years."""


def _target(target: AnyTarget) -> Dict[str, Any]:
    return (target if isinstance(target, Target) else Target(target)).params()


def _tell(told: Callable[[Answer], None], answer: Answer) -> None:
    """Calls a function of the program. What it raises says nothing about the daemon, and goes where the event loop reports
    what its callbacks raise."""
    try:
        told(answer)
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        asyncio.get_running_loop().call_exception_handler({
            "message": f"the progress function {told!r} failed", "exception": error})


def _milliseconds(seconds: Optional[float]) -> Optional[int]:
    return None if seconds is None else round(seconds * 1000)
