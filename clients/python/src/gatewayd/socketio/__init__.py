"""The client of python-socketio, on the connections that gatewayd shares: existing programs change one import.

    from gatewayd import socketio                 # instead of: import socketio
    from gatewayd.socketio import Client          # instead of: from socketio import Client

Handlers, namespaces, callbacks, `call`, `wait` and exceptions are the same. docs/migration.md lists what differs, most of it
because the session is shared: one id, and rooms that all programs of the connection are in.

Read in this order: `base` (handlers), `session` (what the daemon says becomes what a client tells), `client`, `async_client`, `simple`.
"""

from . import exceptions
from .async_client import AsyncClient
from .client import Client
from .namespace import AsyncClientNamespace, ClientNamespace
from .simple import AsyncSimpleClient, SimpleClient

__all__ = ["AsyncClient", "AsyncClientNamespace", "AsyncSimpleClient", "Client", "ClientNamespace", "SimpleClient",
           "exceptions"]
