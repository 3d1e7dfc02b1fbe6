"""What both drop-in clients have: the registered handlers, and what of a client's options the daemon decides."""

from __future__ import annotations

import inspect
import logging
from typing import Any, Callable, Dict, List, Optional, Tuple, Type
from urllib.parse import urlsplit, urlunsplit

from ..messages import Target
from .exceptions import UnsupportedError
from .namespace import BaseClientNamespace

_IGNORED = {"engineio_logger", "request_timeout", "timestamp_requests", "randomization_factor", "reconnection_delay",
            "reconnection_delay_max"}
"""Options about a link, which is the daemon's."""
_ELSEWHERE = {"http_session": "proxy and tls", "websocket_extra_options": "headers, proxy and tls",
              "json": "its own JSON", "serializer": "parser"}
"""Options whose place is an upstream of the daemon's configuration, and which settings those are."""


FAILED = object()
"""What a handler that raised has returned: nothing that answers the server."""


class Reason:
    """Why a client was disconnected, as the `disconnect` handler is told."""

    CLIENT_DISCONNECT = "client disconnect"
    SERVER_DISCONNECT = "server disconnect"
    TRANSPORT_ERROR = "transport error"


class BaseClient:
    """The handlers, and how one is found for an event."""

    reserved_events = ["connect", "connect_error", "disconnect", "__disconnect_final"]
    reason = Reason
    _namespace_class: Type[BaseClientNamespace]

    def __init__(self, reconnection: bool = True, reconnection_attempts: int = 0, logger: Any = False,
                 handle_sigint: bool = True, ssl_verify: bool = True, gateway_socket: Optional[str] = None, **options: Any):
        """The options of python-socketio's client. Those about the link (`reconnection_delay`, `request_timeout` …) are the
        daemon's business and are ignored; those that would change what is sent and that a program cannot tell the daemon
        (`http_session`, `serializer` …) are an `UnsupportedError`. `gateway_socket` is the daemon's socket, found as gatewayctl finds it unless given."""
        for name, value in options.items():
            if name in _ELSEWHERE and value not in (None, "default", True):
                raise UnsupportedError(f"{name} cannot be given here: the connection is the daemon's; configure an upstream "
                                       f"with it ({_ELSEWHERE[name]}) and connect to that by its name")
            if name not in _IGNORED and name not in _ELSEWHERE:
                raise TypeError(f"unexpected keyword argument '{name}'")
        self.reconnection = reconnection
        self.reconnection_attempts = reconnection_attempts
        self.handle_sigint = handle_sigint
        self.ssl_verify = ssl_verify
        self.gateway_socket = gateway_socket
        self.logger = logging.getLogger("gatewayd.socketio") if isinstance(logger, bool) else logger
        if logger is True:
            self.logger.setLevel(logging.INFO)
            self.logger.addHandler(logging.StreamHandler())
        self.handlers: Dict[str, Dict[str, Callable[..., Any]]] = {}
        self.namespace_handlers: Dict[str, BaseClientNamespace] = {}
        self.namespaces: Dict[str, Optional[str]] = {}
        """The connected namespaces and their ids."""
        self.connected = False
        self.sid: Optional[str] = None
        self.connection_url: Any = None
        self.connection_headers: Any = None
        self.connection_auth: Any = None
        self.connection_transports: Any = None
        self.connection_namespaces: List[str] = []
        self.socketio_path: Optional[str] = None
        self._transport = "websocket"

    def is_asyncio_based(self) -> bool:
        return False

    def on(self, event: str, handler: Optional[Callable[..., Any]] = None, namespace: Optional[str] = None) -> Any:
        """Registers a handler, also as a decorator; ``*`` stands for every event or every namespace that has none."""
        place = self.handlers.setdefault(namespace or "/", {})

        def set_handler(handler: Callable[..., Any]) -> Callable[..., Any]:
            place[event] = handler
            return handler

        if handler is None:
            return set_handler
        set_handler(handler)
        return None

    def event(self, *args: Any, **kwargs: Any) -> Any:
        """Registers a function for the event of its name, with or without ``namespace``."""
        if len(args) == 1 and not kwargs and callable(args[0]):
            return self.on(args[0].__name__)(args[0])

        def set_handler(handler: Callable[..., Any]) -> Callable[..., Any]:
            self.on(handler.__name__, *args, **kwargs)(handler)
            return handler

        return set_handler

    def register_namespace(self, namespace_handler: BaseClientNamespace) -> None:
        """Registers an object whose methods ``on_…`` are the handlers of a namespace."""
        if not isinstance(namespace_handler, BaseClientNamespace):
            raise ValueError("Not a namespace instance")
        if self.is_asyncio_based() != namespace_handler.is_asyncio_based():
            raise ValueError("Not a valid namespace class for this client")
        namespace_handler._set_client(self)
        self.namespace_handlers[namespace_handler.namespace] = namespace_handler

    def get_sid(self, namespace: Optional[str] = None) -> Optional[str]:
        """The id of the connection in a namespace: that of the shared one."""
        return self.namespaces.get(namespace or "/")

    def transport(self) -> str:
        """What carries the shared connection: ``websocket`` or ``polling``."""
        return self._transport

    # Finding handlers

    def _handler(self, event: str, namespace: str, args: Tuple[Any, ...]) -> Optional[Tuple[Callable[..., Any], Tuple[Any, ...]]]:
        """What to call for an event, and with what."""
        may_be_any = event not in self.reserved_events
        if namespace in self.handlers:
            own = self.handlers[namespace]
            if event in own:
                return own[event], args
            if may_be_any and "*" in own:
                return own["*"], (event, *args)
        elif "*" in self.handlers:
            every = self.handlers["*"]
            if event in every:
                return every[event], (namespace, *args)
            if may_be_any and "*" in every:
                return every["*"], (event, namespace, *args)
        handler = self.namespace_handlers.get(namespace)
        if handler is None and "*" in self.namespace_handlers:
            handler, args = self.namespace_handlers["*"], (namespace, *args)
        if handler is None or not handler._handles(event):
            return None
        return handler.trigger_event, (event, *args)

    # What connect() was given

    def _take(self, url: Any, headers: Any, auth: Any, transports: Any, namespaces: Any, socketio_path: str) -> List[Target]:
        """Makes the targets of it, one for each namespace."""
        self.connection_transports, self.socketio_path = transports, socketio_path
        if namespaces is None:
            namespaces = sorted({*self.handlers, *self.namespace_handlers} - {"*"}) or ["/"]
        self.connection_namespaces = [namespaces] if isinstance(namespaces, str) else list(namespaces)
        options = self._target_options(headers, socketio_path)
        if auth is not None and not isinstance(auth, dict):
            raise UnsupportedError("auth has to be a dictionary")
        if "://" not in url:
            given = [name for name, value in {"auth": auth, **options}.items() if value]
            if given:
                raise UnsupportedError(f"{' and '.join(given)} cannot be given here: '{url}' is an upstream of the daemon's "
                                       "configuration, which has its own")
            return [Target(url, None if one == "/" else one) for one in self.connection_namespaces]
        # As with python-socketio the path of the URL says nothing; the namespaces are named.
        parts = urlsplit(url)
        place = urlunsplit((parts.scheme, parts.netloc, "", parts.query, ""))
        return [Target(place, one, auth or None, options or None) for one in self.connection_namespaces]

    def _target_options(self, headers: Any, socketio_path: str) -> Dict[str, Any]:
        """What the daemon is told of the server besides, in the words of its protocol."""
        options: Dict[str, Any] = {}
        if headers:
            options["headers"] = {name: str(value) for name, value in headers.items()}
        path = f"/{socketio_path.strip('/')}/"
        if path != "/socket.io/":
            options["path"] = path
        if not self.ssl_verify:
            options["tls"] = {"verify": False}
        return options


def fitting(handler: Callable[..., Any], event: str, args: Tuple[Any, ...]) -> Tuple[Any, ...]:
    """Older `disconnect` handlers take no reason."""
    if event == "disconnect":
        try:
            inspect.signature(handler).bind(*args)
        except (TypeError, ValueError):
            return args[:-1]
    return args
