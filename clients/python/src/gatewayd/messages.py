"""What goes over the socket, as values: events, gaps, states and answers, and how Python's values become JSON.

`bytes` may stand anywhere in arguments and arrive as `bytes`: the protocol writes them as ``{"$bin": base64}``, and an
object of yours that looks like that is escaped.
"""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Union

from . import errors

_DEEPEST = 64
"""How deep a line may be nested."""
_ARGUMENTS = 3
"""The level of a line at which arguments stand, where they stand least deep: in the params of the call."""
_ESCAPED = re.compile(r"\$+bin\Z")


class Position(NamedTuple):
    """A place in the events of a connection: everything up to `seq` in `epoch`. Keep it to go on there later."""

    epoch: str
    seq: int


@dataclass(frozen=True)
class Target:
    """Which upstream a call is about. A plain string stands for a target too: with ``://`` it is a URL, otherwise the
    name of an upstream in the daemon's configuration."""

    address: str
    namespace: Optional[str] = None
    """Socket.IO: the namespace, where a URL has none as its path."""
    auth: Optional[Dict[str, Any]] = field(default=None, repr=False)
    """With a URL: what goes into the CONNECT packet."""
    options: Optional[Dict[str, Any]] = field(default=None, repr=False)
    """With a URL that the daemon's configuration does not have: any of ``path``, ``headers``, ``query``, and ``tls`` with
    ``ca`` (PEM text) and ``verify``."""

    def params(self) -> Dict[str, Any]:
        """As members of `params`."""
        found: Dict[str, Any] = {"url" if "://" in self.address else "upstream": self.address}
        if self.namespace is not None:
            found["namespace"] = self.namespace
        if self.auth is not None:
            found["auth"] = self.auth
        if self.options is not None:
            found["options"] = self.options
        return found


AnyTarget = Union[str, Target]
AnyMessage = Union[Sequence[Any], Dict[str, Any]]
"""What `enter` and `leave` hold: an event's name and its arguments, as in ``("join", {"room": "a"})``, or what the protocol
has for it: ``{"event": "join", "args": ["a"], "ack": True}``."""


@dataclass(frozen=True)
class Event:
    """An event of the server."""

    name: str
    args: List[Any]
    seq: int
    """Its number, which never repeats within an epoch."""
    epoch: str
    time: int
    """When it came, in milliseconds since 1970."""
    kwargs: Optional[Dict[str, Any]] = None
    """Keyword arguments, where the kind of upstream has such."""
    ack: Optional[str] = None
    """The token to answer with, where the server waits for an answer and the subscription asked for tokens."""

    @property
    def position(self) -> Position:
        return Position(self.epoch, self.seq)


@dataclass(frozen=True)
class Gap:
    """Events are missing here. Reasons: `slow_consumer`, `upstream`, `too_large`, `undecodable`, `expired`."""

    reason: str
    epoch: Optional[str] = None
    count: Optional[int] = None
    """How many were missed, where that is known."""
    first: Optional[int] = None
    last: Optional[int] = None
    """The missing numbers, where they are known."""
    seq: Optional[int] = None
    """Behind which number a new epoch begins."""
    detail: Optional[str] = None


@dataclass(frozen=True)
class State:
    """The connection to the upstream is in this state now: `created`, `connected`, `disconnected`, `reconnecting`,
    `released`; or, as `daemon_lost`, this program has lost the daemon and is looking for it."""

    state: str
    epoch: Optional[str] = None
    reason: Optional[str] = None
    detail: Optional[str] = None
    attempt: Optional[int] = None
    next_attempt: Optional[int] = None
    """Milliseconds to the next attempt."""
    recovered: bool = False
    """The server gave what was missed; the epoch goes on."""
    is_found: bool = False
    """It is not news: the subscription found the connection so when it was made."""


Item = Union[Event, Gap, State]


@dataclass(frozen=True)
class Sent:
    """What became of a send."""

    id: str
    state: str
    """`accepted`, `durable`, `sent`, `acked`, or, of a repeated `key`, what the first one is by now; `dropped`."""
    duplicate: bool = False
    args: Optional[List[Any]] = None
    """With `acked`: the arguments of the acknowledgement."""
    upstream: Optional[Dict[str, Any]] = None
    """Whether the connection is up, and why not."""


@dataclass(frozen=True)
class Answer:
    """The server's acknowledgement."""

    args: List[Any]
    kwargs: Optional[Dict[str, Any]] = None
    state: Optional[str] = None
    """Of a repeated `key`, whose answer is not kept: what the first request is by now."""

    @property
    def value(self) -> Any:
        """The one argument, None if there is none, all of them as a tuple if there are several."""
        return None if not self.args else self.args[0] if len(self.args) == 1 else tuple(self.args)


@dataclass(frozen=True)
class History:
    """Past events, oldest first."""

    events: List[Event]
    position: Position
    """Where the answer ends: the `since` of the next."""
    complete: bool
    more: bool


def to_wire(value: Any, level: int = _ARGUMENTS) -> Any:
    """A value of Python as JSON can hold it. Raises InvalidParams for what is nested too deeply, or without end."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"$bin": base64.b64encode(value).decode()}
    if isinstance(value, (list, tuple, dict)) and level > _DEEPEST:
        raise errors.too_deep(_DEEPEST)
    if isinstance(value, (list, tuple)):
        return [to_wire(one, level + 1) for one in value]
    if isinstance(value, dict):
        if len(value) == 1:
            (key,) = value
            if isinstance(key, str) and _ESCAPED.match(key):
                return {"$" + key: to_wire(value[key], level + 1)}
        return {key: to_wire(one, level + 1) for key, one in value.items()}
    return value


def to_messages(messages: Iterable[Optional[AnyMessage]]) -> List[Optional[Dict[str, Any]]]:
    """`enter` and `leave` as JSON can hold them; None, for what nothing undoes, stays."""
    return [None if one is None
            else {**one, **{name: to_wire(one[name]) for name in ("args", "kwargs") if name in one}} if isinstance(one, dict)
            else {"event": one[0], "args": to_wire(one[1:])} for one in messages]


def from_wire(value: Any) -> Any:
    """The reverse of `to_wire`."""
    if isinstance(value, list):
        return [from_wire(one) for one in value]
    if isinstance(value, dict):
        if len(value) == 1:
            (key,) = value
            if key == "$bin" and isinstance(value[key], str):
                return base64.b64decode(value[key])
            if _ESCAPED.match(key) and key != "$bin":
                return {key[1:]: from_wire(value[key])}
        return {key: from_wire(one) for key, one in value.items()}
    return value


def names(events: Optional[Iterable[str]]) -> Optional[List[str]]:
    """Names of events as a list: a text is one name."""
    return [events] if isinstance(events, str) else list(events) if events is not None else None


def check_depth(value: Any, level: int = 1) -> None:
    """Raises InvalidParams for a line that is nested too deeply: the daemon could not tell which call it belongs to."""
    if not isinstance(value, (list, tuple, dict)):
        return
    if level > _DEEPEST:
        raise errors.too_deep(_DEEPEST)
    for one in value.values() if isinstance(value, dict) else value:
        check_depth(one, level + 1)


def encode(message: Dict[str, Any]) -> bytes:
    """One line. Raises TypeError or ValueError for what JSON does not have, NaN among it, and InvalidParams for what is
    nested too deeply."""
    check_depth(message)
    return json.dumps(message, separators=(",", ":"), allow_nan=False).encode() + b"\n"


_PART = 128 << 10
"""Most bytes of one part of a message, as the protocol has it."""
_ALLOWANCE = 512
"""What a line has around the params and its part, at most."""


def encode_parts(number: int, method: str, params: Dict[str, Any], limit: int) -> Optional[bytes]:
    """The lines of a call that is longer than one: the text of its `args` in parts, of which the last is answered. None
    where the method takes no parts, or its other params are too long."""
    if method not in ("send", "request") or "args" not in params:
        return None
    text = _plain(params["args"])
    others = {name: value for name, value in params.items() if name != "args"}
    # A quote or a backslash of the text takes two bytes in a string.
    room = min(_PART, (limit - len(encode(others)) - _ALLOWANCE) // 2)
    if room < 4:
        return None
    lines = []
    at = 0
    while at < len(text):
        end = min(at + room, len(text))
        # A character is not cut.
        while end < len(text) and text[end] & 0xC0 == 0x80:
            end -= 1
        part = {"id": number, "at": at, "of": len(text), "data": text[at:end].decode()}
        call: Dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": {**others, "part": part}}
        if end == len(text):
            call["id"] = number
        lines.append(_plain(call) + b"\n")
        at = end
    return b"".join(lines)


def _plain(value: Any) -> bytes:
    """JSON in which characters stand as they are. Raises ValueError for half a character, too."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=False).encode()


def decode(line: bytes) -> Any:
    """The message in a line. Integers too long for `int` become `Decimal`."""
    try:
        return json.loads(line)
    except json.JSONDecodeError:
        raise
    except ValueError:
        # Python reads no integer of more than 4,300 digits.
        return json.loads(line, parse_int=lambda digits: int(digits) if len(digits) < 4_300 else Decimal(digits))


def event_of(params: Dict[str, Any], epoch: str) -> Event:
    kwargs = params.get("kwargs")
    return Event(params["event"], from_wire(params["args"]), params["seq"], epoch, params["time"],
                 from_wire(kwargs) if kwargs is not None else None, params.get("ack"))


def gap_of(params: Dict[str, Any]) -> Gap:
    return Gap(params["reason"], params.get("epoch"), params.get("count"), params.get("from"), params.get("to"),
               params.get("seq"), params.get("detail"))


def state_of(params: Dict[str, Any]) -> State:
    return State(params["state"], params.get("epoch"), params.get("reason"), params.get("detail"),
                 params.get("attempt"), params.get("in"), bool(params.get("recovered")), bool(params.get("is_found")))
