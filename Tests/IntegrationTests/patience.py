"""How long a test waits for something that must happen, and how long it watches for something that must not."""

import asyncio
import os

FACTOR = float(os.environ.get("GATEWAY_TEST_PATIENCE", "1"))

SOON = 10 * FACTOR
"""Seconds until a thing that must happen counts as missing. Never waited for in full by a passing test."""

QUIET = 0.25 * FACTOR
"""Seconds to watch for a thing that must not happen."""


async def within(awaitable, what, seconds=SOON):
    """The awaitable's result, or a failure that says what was missing."""
    try:
        return await asyncio.wait_for(awaitable, seconds)
    except asyncio.TimeoutError:
        raise AssertionError(f"waited {seconds} s in vain for {what}") from None


async def end(tasks):
    """Cancels tasks until they are over, and raises what one of them failed with. `wait_for` of Python 3.11 may swallow a
    cancellation that comes at the same moment as what it waits for."""
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=0.1)
    for task in tasks:
        if not task.cancelled() and task.exception():
            raise task.exception()
