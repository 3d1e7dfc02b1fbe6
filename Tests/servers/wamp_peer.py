"""A WAMP client on Autobahn: the other side of a router, driven by a test.

It joins a realm, prints one JSON line, then takes one JSON command per line on stdin and answers each with one line. It
ends when stdin does, so that no peer outlives its test.
"""

import argparse
import asyncio
import json
import sys
import urllib.parse

from autobahn.asyncio.wamp import ApplicationSession
from autobahn.asyncio.websocket import WampWebSocketClientFactory
from autobahn.wamp.exception import ApplicationError
from autobahn.wamp.serializer import JsonSerializer
from autobahn.wamp.types import CallOptions, CallResult, ComponentConfig, PublishOptions, RegisterOptions, SubscribeOptions

from bin_json import from_json, to_json


class Peer(ApplicationSession):
    """One session and what came to it."""

    def onOpen(self, transport):
        self.events, self.hanging, self.interrupted, self.changed = [], 0, 0, asyncio.Condition()
        self.subscriptions, self.registrations = {}, {}
        # The loop alone would let them be collected.
        self.tasks = set()
        super().onOpen(transport)

    def onJoin(self, details):
        print(json.dumps({"session": details.session}), flush=True)
        self.start(self.serve())

    def onLeave(self, details):
        print(json.dumps({"left": details.reason, "message": details.message}), flush=True)
        self.disconnect()

    def onDisconnect(self):
        asyncio.get_event_loop().stop()

    def start(self, work):
        task = asyncio.ensure_future(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def onUserError(self, failure, message):
        """Procedures that fail on purpose are no news."""

    async def serve(self):
        reader = asyncio.StreamReader(limit=1 << 26)
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            self.start(self.answer(json.loads(line)))
        asyncio.get_running_loop().stop()

    async def answer(self, command):
        reply = {"id": command["id"]}
        try:
            reply["value"] = to_json(await getattr(self, "do_" + command["op"])(**from_json(command["with"])))
        except ApplicationError as error:
            reply["value"] = {"error": error.error, "args": to_json(error.args), "kwargs": to_json(error.kwargs)}
        except Exception as problem:
            reply["error"] = repr(problem)
        print(json.dumps(reply), flush=True)

    async def note(self, change):
        async with self.changed:
            change()
            self.changed.notify_all()

    # Commands

    async def do_subscribe(self, topic, match="exact"):
        async def heard(*args, details=None, **kwargs):
            event = {"topic": details.topic or topic, "args": args, "kwargs": kwargs}
            await self.note(lambda: self.events.append(event))

        options = SubscribeOptions(match=match, details=True)
        self.subscriptions[topic] = await self.subscribe(heard, topic, options=options)
        return self.subscriptions[topic].id

    async def do_relay(self, topic, to):
        def heard(*args, **kwargs):
            self.publish(to, *args, **kwargs)

        await self.subscribe(heard, topic)

    async def do_unsubscribe(self, topic):
        await self.subscriptions.pop(topic).unsubscribe()

    async def do_received(self, count, timeout, topic=None):
        def matching():
            return [event for event in self.events if topic in (None, event["topic"])]

        await self.until(lambda: len(matching()) >= count, timeout)
        return matching()

    async def do_publish(self, topic, args=(), kwargs=None):
        options = PublishOptions(acknowledge=True)
        return (await self.publish(topic, *args, **(kwargs or {}), options=options)).id

    async def do_burst(self, topic, count):
        for number in range(count):
            self.publish(topic, number)
        await self.publish(topic, "end", options=PublishOptions(acknowledge=True))

    async def do_call(self, procedure, args=(), kwargs=None, progress=False):
        parts = []
        options = CallOptions(on_progress=lambda *args, **kwargs: parts.append([args, kwargs])) if progress else None
        result = await self.call(procedure, *args, **(kwargs or {}), **({"options": options} if options else {}))
        if isinstance(result, CallResult):
            return {"args": result.results, "kwargs": result.kwresults or {}, "progress": parts}
        return {"args": [] if result is None else [result], "kwargs": {}, "progress": parts}

    async def do_register(self, procedure, behaviour, match="exact", invoke="single"):
        async def called(*args, details=None, **kwargs):
            return await getattr(self, "be_" + behaviour)(details, *args, **kwargs)

        options = RegisterOptions(match=match, invoke=invoke, details=True)
        self.registrations[procedure] = await self.register(called, procedure, options=options)
        return self.registrations[procedure].id

    async def do_unregister(self, procedure):
        await self.registrations.pop(procedure).unregister()

    async def do_hung(self, count, timeout):
        """How many calls of a procedure that hangs have begun, once there are so many."""
        await self.until(lambda: self.hanging >= count, timeout)
        return self.hanging

    async def do_interrupted(self, count, timeout):
        await self.until(lambda: self.interrupted >= count, timeout)
        return self.interrupted

    async def until(self, holds, timeout):
        async with self.changed:
            try:
                await asyncio.wait_for(self.changed.wait_for(holds), timeout)
            except asyncio.TimeoutError:
                pass

    async def do_leave(self):
        self.leave()

    # How procedures behave

    async def be_echo(self, details, *args, **kwargs):
        return CallResult(*args, **kwargs)

    async def be_nothing(self, details, *args, **kwargs):
        return None

    async def be_progress(self, details, count):
        for number in range(count):
            if details.progress:
                details.progress(number, of=count)
        return "done"

    async def be_fail(self, details, *args, **kwargs):
        raise ApplicationError("com.example.error.failed", *args, **kwargs)

    async def be_hang(self, details, *args, **kwargs):
        def begin():
            self.hanging += 1

        await self.note(begin)
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            def count():
                self.interrupted += 1

            await self.note(count)
            raise


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--realm", default="realm1")
    options = parser.parse_args()
    config = ComponentConfig(options.realm)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    place = urllib.parse.urlsplit(options.url)
    factory = WampWebSocketClientFactory(lambda: Peer(config), url=options.url, serializers=[JsonSerializer()], loop=loop)
    loop.run_until_complete(loop.create_connection(factory, place.hostname, place.port))
    loop.run_forever()


if __name__ == "__main__":
    main()
