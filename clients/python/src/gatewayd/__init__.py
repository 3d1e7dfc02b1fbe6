"""A client of `gatewayd`, the daemon that keeps one connection per server for all programs of a machine.

`Client` waits, `AsyncClient` is for asyncio. Both find the daemon as gatewayctl does, come back to it by themselves, and
make their subscriptions again behind the last event, so that none is lost and none comes twice; where something is
missing all the same there is a `Gap`. `gatewayd.socketio` has the classes of python-socketio's client.

Read in this order: `messages` (the values), `errors`, `link` (one connection to the daemon), `subscription` (what outlives
it), `aio` (the client), `sync` (the same, waiting).
"""

from .aio import AsyncClient
from .errors import *  # noqa: F401,F403
from .errors import CallError, GatewayError
from .messages import Answer, Event, Gap, History, Position, Sent, State, Target
from .subscription import AsyncSubscription
from .sync import Client, Subscription

__version__ = "1.1.0"
__all__ = ["Answer", "AsyncClient", "AsyncSubscription", "CallError", "Client", "Event", "Gap", "GatewayError", "History",
           "Position", "Sent", "State", "Subscription", "Target", "errors"]
