"""What can go wrong: one class for each error of the protocol, and a few for what happens between here and the daemon.

Every class is a `GatewayError`; its `advice` says what to do. Those that the daemon answered with are `CallError`s, with
`code`, `retry`, `reason` and the rest of the error's `data`.
"""

from __future__ import annotations

import json
from typing import Any, Dict, Optional, Type


class GatewayError(Exception):
    """The base of all errors of this package."""

    advice: Optional[str] = None
    """What to do about it, where that is not part of the message."""

    @property
    def type(self) -> str:
        """The name of the error: for those of the daemon its `data.type`."""
        return type(self).__name__


# Between this program and the daemon


class DaemonUnavailable(GatewayError):
    """Nothing answers at the socket, or not in time. Nothing was sent."""

    advice = (
        "start your own with 'systemctl --user start gatewayd.socket', or have the machine's started with "
        "'systemctl start gatewayd.socket', or name its socket in $GATEWAYD_SOCKET")


class SocketForbidden(DaemonUnavailable):
    """The socket may not be opened by this user."""

    advice = "ask the administrator for membership of the group that owns the socket"


class DaemonLost(GatewayError):
    """The daemon closed the connection before it answered. It may have carried the call out."""

    advice = "make the call again; give a send a 'key', and it arrives once"


class Kicked(DaemonLost):
    """An administrator has ended this connection, for good: the client does not come back by itself."""

    advice = "ask the administrator before connecting again"


class CallTimeout(GatewayError):
    """The daemon was reached and did not answer in time; it may still carry the call out."""

    advice = "give it more time"


class ProtocolMismatch(GatewayError):
    """What answers at the socket is not gatewayd, or speaks another version of the protocol."""

    advice = "install the same version of both, and check $GATEWAYD_SOCKET"


class Closed(GatewayError):
    """This client, or this subscription, was closed."""


# What the daemon answered


class CallError(GatewayError):
    """An error that the daemon answered with; the class itself stands for types that this version does not know."""

    code: int = 0
    """The number of the error in the protocol."""

    def __init__(self, message: str, data: Optional[Dict[str, Any]] = None, code: Optional[int] = None):
        super().__init__(message)
        self.message = message
        self.data: Dict[str, Any] = data or {}
        """Everything that the daemon said besides."""
        if code is not None:
            self.code = code

    @property
    def type(self) -> str:
        return str(self.data.get("type") or type(self).__name__)

    @property
    def retry(self) -> Optional[bool]:
        """Whether the same call may succeed later; None where only the caller can judge."""
        return self.data.get("retry")

    @property
    def reason(self) -> Optional[str]:
        """The word for why, where the error has one: why an upstream is down, what is wrong with the outbox."""
        return self.data.get("reason")

    @property
    def retry_after(self) -> Optional[float]:
        """In how many seconds the call may succeed, where the daemon knows that."""
        milliseconds = self.data.get("retry_after")
        return None if milliseconds is None else milliseconds / 1000


class ParseError(CallError):
    """The daemon could not read what was sent as JSON."""

    code = -32700


class InvalidRequest(CallError):
    """What was sent is no call."""

    code = -32600


class MethodNotFound(CallError):
    """The daemon has no such method."""

    code = -32601
    advice = "'gatewayctl introspect' lists the methods"


class InvalidParams(CallError):
    """A parameter is missing, unknown, of the wrong kind or out of its bounds; the message names it."""

    code = -32602


class InternalError(CallError):
    """The daemon failed; for a durable send `reason` says what is wrong with the disk."""

    code = -32603
    advice = "the daemon's log tells more: journalctl -u gatewayd"


class Cancelled(CallError):
    """The call was cancelled, and not written if it was not yet."""

    code = -32800


class PermissionDenied(CallError):
    """A right is missing; `data["need"]` names it."""

    code = -32001
    advice = "ask the administrator"


class UpstreamUnknown(CallError):
    """The configuration has no upstream of that name."""

    code = -32002
    advice = "write a URL with ://, or the name of an upstream in the daemon's configuration"


class UpstreamDown(CallError):
    """The upstream is not connected, and nothing was sent. `reason` says why it is down."""

    code = -32003
    advice = "'gatewayctl doctor' finds out why, and wait() waits for it"


class QueueFull(CallError):
    """Too many sends wait already."""

    code = -32004
    advice = "try again later"


class Expired(CallError):
    """The time was over before it happened; a send was never written."""

    code = -32005
    advice = "give it more time"


class AckTimeout(CallError):
    """It was written, and the server did not acknowledge it in time."""

    code = -32006
    advice = "give it more time, or ask the server what it has done"


class AckLost(CallError):
    """It was written, and then the link broke."""

    code = -32007
    advice = "ask the server what it has done before sending again"


class QuotaExceeded(CallError):
    """A limit of the daemon, or of this user's share, is reached; `data["quota"]` names it."""

    code = -32008
    advice = "try again later"


class Unrecoverable(CallError):
    """Not everything behind `since` is there any more, and `strict` asked for everything."""

    code = -32009
    advice = "subscribe without 'since'"


class Draining(CallError):
    """The daemon is about to stop."""

    code = -32010
    advice = "try again later"


class Conflict(CallError):
    """Another thing has that name: a `key` with other content, a URL of several upstreams."""

    code = -32011


class PayloadTooLarge(CallError):
    """The message is above a limit (`data["limit"]`, `data["size"]`), and did not arrive."""

    code = -32012
    advice = "send it in smaller parts"


class UpstreamRefused(CallError):
    """The server refuses the connection; `data["message"]` and `data["data"]` are its own words."""

    code = -32013
    advice = "check the credentials; 'gatewayctl doctor' finds out more"


class IllegalState(CallError):
    """The state of the connection does not allow it."""

    code = -32014
    advice = "'gatewayctl status' shows the state"


class AckGone(CallError):
    """Another program answered, or the server does not wait any more."""

    code = -32015


class RequestFailed(CallError):
    """The server's application answered with an error: `data["error"]` is its name, `data["args"]` what it said."""

    code = -32016

    def __str__(self) -> str:
        """The message, and behind it what the server said with its error, text as text."""
        said = [word if isinstance(word, str) else json.dumps(word, ensure_ascii=False)
                for word in [*(self.data.get("args") or []), *filter(None, [self.data.get("kwargs")])]]
        return f"{self.message.removesuffix('.')}: {', '.join(said)}" if any(said) else self.message


BY_TYPE: Dict[str, Type[CallError]] = {cls.__name__: cls for cls in CallError.__subclasses__()}
_BY_CODE: Dict[int, Type[CallError]] = {cls.code: cls for cls in BY_TYPE.values()}


def too_deep(limit: int) -> InvalidParams:
    """The error for what is nested deeper than a line may be."""
    return InvalidParams(f"this is nested deeper than the {limit} levels that a line may have",
                         {"type": "InvalidParams", "retry": False})


def from_answer(error: Dict[str, Any]) -> CallError:
    """The exception for the `error` member of an answer."""
    data = error.get("data") or {}
    code = error.get("code", 0)
    cls = BY_TYPE.get(data.get("type", "")) or _BY_CODE.get(code) or CallError
    return cls(str(error.get("message", "")), data, code)
