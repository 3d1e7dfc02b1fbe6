"""The exceptions of python-socketio's client, by the same names."""


class SocketIOError(Exception):
    """The base of all."""


class ConnectionError(SocketIOError):
    """The server, or the daemon, cannot be reached, or the server refuses a namespace."""


class TimeoutError(SocketIOError):
    """The server did not answer in time."""


class BadNamespaceError(SocketIOError):
    """The namespace is not connected."""


class DisconnectedError(SocketIOError):
    """The connection is over."""


class UnsupportedError(SocketIOError, ValueError):
    """Something that a program of its own connection can have, and one on a shared connection cannot: the message says
    where it is set instead. python-socketio has no such exception."""
