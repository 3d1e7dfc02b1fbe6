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
