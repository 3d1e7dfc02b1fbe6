"""A WAMP router whose every message is decided by the test."""

import base64
import hashlib
import json

from scripted import WEBSOCKET_GUID, Closed, ScriptedUpstream

(HELLO, WELCOME, ABORT, CHALLENGE, AUTHENTICATE, GOODBYE, ERROR, PUBLISH, PUBLISHED, SUBSCRIBE, SUBSCRIBED, UNSUBSCRIBE,
 UNSUBSCRIBED, EVENT, CALL, CANCEL, RESULT, REGISTER, REGISTERED, UNREGISTER, UNREGISTERED, INVOCATION, INTERRUPT,
 YIELD) = (1, 2, 3, 4, 5, 6, 8, 16, 17, 32, 33, 34, 35, 36, 48, 49, 50, 64, 65, 66, 67, 68, 69, 70)

FEATURES = {"broker": {"features": {"pattern_based_subscription": True}}, "dealer": {"features": {"call_canceling": True}}}


class Session:
    """One link that speaks WAMP."""

    def __init__(self, link):
        self.link = link
        self.hello = None

    async def upgrade(self, protocol="wamp.2.json"):
        """Answers the WebSocket's request; a protocol of None chooses none."""
        request = self.link.request or await self.link.read_request()
        key = request.headers["sec-websocket-key"]
        accept = base64.b64encode(hashlib.sha1((key + WEBSOCKET_GUID).encode()).digest()).decode()
        await self.link.raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                            f"Sec-WebSocket-Accept: {accept}\r\n"
                            + (f"Sec-WebSocket-Protocol: {protocol}\r\n" if protocol else "") + "\r\n")
        return request

    async def join(self, session=7, **details):
        """Every stage of an ordinary session's beginning; returns itself."""
        await self.upgrade()
        self.hello = await self.receive(HELLO)
        await self.send(WELCOME, session, {"roles": FEATURES, **details})
        return self

    async def send(self, *message):
        await self.link.text(json.dumps(message))

    async def raw(self, *texts):
        """Whole messages, as they are."""
        await self.link.text(*texts)

    async def receive(self, code=None):
        """The next message, which must be of this type."""
        message = json.loads(await self.link.receive())
        assert code in (None, message[0]), f"expected {code}, received {message}"
        return message

    async def subscribed(self, subscription=70, topic=None):
        """Takes one SUBSCRIBE and agrees."""
        message = await self.receive(SUBSCRIBE)
        assert topic in (None, message[3]), message
        await self.send(SUBSCRIBED, message[1], subscription)
        return message

    async def registered(self, registration=90):
        message = await self.receive(REGISTER)
        await self.send(REGISTERED, message[1], registration)
        return message

    async def until_closed(self):
        """Reads on until gatewayd ends the link; returns the messages that came before."""
        messages = []
        while True:
            try:
                messages.append(await self.receive())
            except Closed:
                return messages

    async def close(self):
        await self.link.close()


class ScriptedRouter(ScriptedUpstream):
    """A listening port that speaks WAMP as the test says."""

    @property
    def url(self):
        return f"wamp+ws://127.0.0.1:{self.port}/ws#realm1"

    async def session(self):
        """The next link that gatewayd opens."""
        return Session(await self.link())

    async def joined(self, **details):
        """The same, with its session begun."""
        return await (await self.session()).join(**details)

    async def serve(self, subscription=70):
        """The same, with one subscription that was agreed to."""
        session = await self.joined()
        await session.subscribed(subscription)
        return session
