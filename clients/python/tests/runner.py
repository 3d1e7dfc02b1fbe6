"""Performs the steps of clients/scenarios.json with the Python client: JSON lines in, JSON lines out.

`{"id":1,"op":"request","with":{…}}` is answered with `{"id":1,"value":…}` or `{"id":1,"error":{"type":…}}`, each when it is
done. `--sync` uses `gatewayd.Client`, one thread for each step, otherwise `gatewayd.AsyncClient`.
"""

import asyncio
import inspect
import json
import sys
import threading

import gatewayd


class Operations:
    """The steps. With the waiting client `_now` has nothing to wait for any more."""

    def __init__(self, gateway):
        self.gateway = gateway
        self.subscriptions = {}

    async def subscribe(self, name, target, events=None, **options):
        self.subscriptions[name] = await _now(self.gateway.subscribe(target, events, **_positions(options)))
        return {}

    async def next(self, name, count):
        return [_shown(await _now(self.subscriptions[name].next())) for _ in range(count)]

    async def unsubscribe(self, name):
        subscription = self.subscriptions.pop(name)
        await _now(getattr(subscription, "aclose", None) and subscription.aclose() or subscription.close())
        return {}

    async def position(self, name):
        return self.subscriptions[name].position._asdict()

    async def send(self, target, event, args=(), **options):
        sent = await _now(self.gateway.send(target, event, *args, **_seconds(options)))
        return {"state": sent.state, "duplicate": sent.duplicate}

    async def request(self, target, event, args=(), **options):
        return {"args": (await _now(self.gateway.request(target, event, *args, **_seconds(options)))).args}

    async def wait(self, target, state, timeout):
        await _now(self.gateway.wait(target, state, timeout / 1000))
        return {"state": state}

    async def state(self, target):
        return {"state": await _now(self.gateway.state(target))}

    async def history(self, target, events=None, **options):
        past = await _now(self.gateway.history(target, events, **_positions(options)))
        return {"events": [_shown(event) for event in past.events], "complete": past.complete}

    async def call(self, method, params=None):
        return await _now(self.gateway.call(method, params or {}))


async def _now(value):
    return await value if inspect.isawaitable(value) else value


def _seconds(options):
    return {key: value / 1000 if key in ("timeout", "ttl", "ack_timeout") else value for key, value in options.items()}


def _positions(options):
    return {key: gatewayd.Position(**value) if key == "since" else value for key, value in options.items()}


def _shown(item):
    if isinstance(item, gatewayd.Event):
        return {"event": item.name, "args": item.args}
    return {"gap": item.reason} if isinstance(item, gatewayd.Gap) else {"state": item.state}


def _tell(identity, **result):
    sys.stdout.write(json.dumps({"id": identity, **result}) + "\n")
    sys.stdout.flush()


def _fault(error):
    return {"type": error.type, "code": getattr(error, "code", None), "retry": getattr(error, "retry", None),
            "reason": getattr(error, "reason", None), "advice": error.advice}


async def _perform(operations, step):
    try:
        _tell(step["id"], value=await getattr(operations, step["op"])(**step.get("with", {})))
    except gatewayd.GatewayError as error:
        _tell(step["id"], error=_fault(error))
    except asyncio.CancelledError:
        _tell(step["id"], error={"type": "Cancelled"})


async def main():
    reader = asyncio.StreamReader(limit=1 << 26)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async with gatewayd.AsyncClient(name="scenarios") as gateway:
        operations, tasks = Operations(gateway), {}
        while line := await reader.readline():
            step = json.loads(line)
            if step["op"] == "cancel":
                tasks[step["with"]["id"]].cancel()
                _tell(step["id"], value={})
            else:
                tasks[step["id"]] = asyncio.ensure_future(_perform(operations, step))


def main_sync():
    with gatewayd.Client(name="scenarios") as gateway:
        operations = Operations(gateway)
        for line in sys.stdin:
            step = json.loads(line)
            threading.Thread(target=lambda: asyncio.run(_perform(operations, step)), daemon=True).start()


if __name__ == "__main__":
    main_sync() if "--sync" in sys.argv else asyncio.run(main())
