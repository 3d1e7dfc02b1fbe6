"""A subscription that outlives its connections to the daemon.

It knows the last event that it received. When the daemon is back it is made again behind that one, so that none is lost
and none comes twice; what could not be kept is a `Gap`. The daemon sends at most `window` events that the
program has not taken; the others wait there.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from typing import TYPE_CHECKING, Any, AsyncIterator, Deque, Dict, Generator, Iterable, Optional

from . import errors
from .link import Link
from .messages import AnyTarget, Event, Gap, Item, Position, State, Target, event_of, gap_of, names, state_of

if TYPE_CHECKING:
    from .aio import AsyncClient

_numbers = itertools.count(1)


class AsyncSubscription:
    """Made by `AsyncClient.subscribe`; iterate it::

        async for event in gateway.subscribe("https://chat.example", ["said"]):
            print(event.name, event.args)

    It begins with the first step of the iteration, or with ``await``, or with ``async with``, which also ends it.
    """

    def __init__(self, client: "AsyncClient", target: AnyTarget, events: Optional[Iterable[str]], options: Dict[str, Any],
                 since: Optional[Position], last: Optional[int], window: Optional[int], gaps: bool, states: bool):
        self._client = client
        self._target = target if isinstance(target, Target) else Target(target)
        self._events = names(events)
        self._options = options
        self._since = since
        self._last = last
        self._window = window
        self._wants_gaps = gaps
        self._wants_states = states
        self._items: Deque[Item] = deque()
        self._arrived = asyncio.Event()
        self._reached: Optional[Position] = None
        self._granted = 0
        self._link: Optional[Link] = None
        self._end: Optional[Exception] = None
        self.id = f"py{next(_numbers)}"
        self.position: Optional[Position] = since
        """Behind the last item that was handed out: the `since` with which another program would go on."""
        self.began = False
        """It was made once, and comes back after every loss of the daemon."""
        self.upstream: Dict[str, Any] = {}
        """Whether the connection was up when the subscription was last made (`state`, `reason`, `detail`)."""
        self.recovered = True
        """The daemon had everything that `since` or `last` asked for."""

    # Iterating

    def __await__(self) -> Generator[Any, None, "AsyncSubscription"]:
        return self._started().__await__()

    async def __aenter__(self) -> "AsyncSubscription":
        return await self._started()

    async def __aexit__(self, *_: Any) -> None:
        await self.aclose()

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.next()
        except errors.Closed:
            raise StopAsyncIteration from None

    async def next(self, timeout: Optional[float] = None) -> Any:
        """The next item. Raises `asyncio.TimeoutError` when none came in `timeout` seconds, `Closed` after `aclose`."""
        await self._started()
        await asyncio.wait_for(self._available(), timeout)
        item = self._items.popleft()
        self.position = behind(self.position, item)
        self._grant()
        return item

    async def _available(self) -> None:
        """Returns when there is an item; raises why there will be none."""
        while not self._items:
            if self._end:
                raise self._end
            self._arrived.clear()
            await self._arrived.wait()

    async def aclose(self) -> None:
        """Ends it. What was received and not taken yet is dropped."""
        self._client._forget(self)
        link, self._link = self._link, None
        self._items.clear()
        self.fail(errors.Closed("this subscription was closed"))
        if link and link.is_open:
            try:
                await link.call("unsubscribe", {"subscription": self.id}, self._client.timeout)
            except errors.GatewayError:
                pass

    # With the daemon

    async def _started(self) -> "AsyncSubscription":
        if not self.began and not self._end:
            await self._client._begin(self)
        return self

    async def subscribe(self, link: Link) -> None:
        """Makes it on a link: at first as asked, later behind the last event that was received."""
        params: Dict[str, Any] = {**self._target.params(), **self._options, "subscription": self.id, "state": True}
        if self._events is not None:
            params["events"] = self._events
        if self.began and self._reached:
            # What is missing becomes a gap: the program has its strict beginning already.
            params.pop("strict", None)
            params["since"] = self._reached._asdict()
        elif self._since:
            params["since"] = {"epoch": self._since[0], "seq": self._since[1]}
        elif self._last is not None:
            params["last"] = self._last
        if self._window is not None:
            params["credit"] = max(0, self._window - len(self._items))
        asked: Optional[Position] = Position(**params["since"]) if "since" in params else None

        def answered(result: Dict[str, Any]) -> None:
            if self._end:
                # It was closed meanwhile.
                return link.post("unsubscribe", {"subscription": self.id})
            self._granted = params.get("credit", 0)
            self._link = link
            self.upstream = result.get("upstream") or {}
            self.recovered = result.get("recovered", True)
            # With `since`, events of its own epoch come first; a gap tells where another one begins.
            # As long as nothing of a replay is here, all of it would have to come again.
            self._reached = asked or Position(result.get("first_epoch") or result["epoch"],
                                              0 if result.get("replayed") else result["seq"])
            if not self.began:
                self.position = self._reached
            self.began = True
            if self._wants_states:
                self._put(state_of({**self.upstream, "state": result["state"], "epoch": result["epoch"],
                                    "is_found": True}))

        await link.call("subscribe", params, None, answered)

    def hear(self, method: str, params: Dict[str, Any]) -> None:
        """A notification of the present link."""
        assert self._reached
        if method == "event":
            item: Item = event_of(params, self._reached.epoch)
            self._granted -= 1
        elif method == "gap":
            item = gap_of(params)
        elif method == "state":
            item = state_of(params)
        else:
            return
        self._reached = behind(self._reached, item)
        if isinstance(item, Event) or self._wants_gaps and isinstance(item, Gap) \
                or self._wants_states and isinstance(item, State):
            self._put(item)

    def lose(self) -> None:
        """The daemon is gone."""
        self._link = None
        if self.began and self._wants_states:
            self._put(State("daemon_lost"))

    def fail(self, error: Exception) -> None:
        """Nothing follows what is there already."""
        self._end = self._end or error
        self._arrived.set()

    def _put(self, item: Item) -> None:
        self._items.append(item)
        self._arrived.set()

    def _grant(self) -> None:
        """Lets the daemon send more once half of the window is free."""
        if self._window is None or not self._link:
            return
        room = self._window - len(self._items) - self._granted
        if room * 2 >= self._window:
            self._granted += room
            self._link.post("credit", {"subscription": self.id, "n": room})


def behind(position: Optional[Position], item: Item) -> Optional[Position]:
    """Where a subscription is that was at `position` and has seen `item` besides."""
    if isinstance(item, Event):
        return item.position
    # A state that names another epoch comes before the gap that announces it: a position that it moved would hide that gap
    # from who comes back in between.
    if position is None or not isinstance(item, Gap):
        return position
    epoch, seq = item.epoch or position.epoch, position.seq
    if item.epoch is not None and item.seq is not None:
        seq = item.seq
    if item.last is not None:
        seq = max(seq, item.last)
    return Position(epoch, seq)
