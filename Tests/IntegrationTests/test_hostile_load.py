"""The short round of `make hostile`."""

import os

import pytest

import hostile_load
import memory

LONGEST_TURN = 10_000_000 if os.environ.get("GATEWAY_SANITIZE") else 1_000_000
"""Microseconds of processor time in a debug build, which needs ten to twenty times what the release build does; `make hostile` prints
that."""
MEMORY = 3 << 29
"""Bytes that a daemon may take where it tells no limit of its buffers, and beside them 256 MiB where it does."""

SHORT = [name for name in hostile_load.ATTACKERS if name not in hostile_load.BEYOND_A_SHORT_ROUND]


@pytest.mark.slow
async def test_hostile_servers_and_programs_all_at_once_cost_ordinary_ones_nothing(folder):
    report = await hostile_load.run(folder, 6, SHORT)
    print("\n".join(report.lines()))
    assert report.ordinary.lost == []
    assert set(report.outcomes) == set(SHORT), "an attacker did not come to its end"
    assert report.longest_turn < LONGEST_TURN
    if memory.COUNTS:
        limit = report.memory_limit
        assert report.resident < (limit + (256 << 20) if limit else MEMORY)


async def test_every_attacker_ends_with_a_reason(folder):
    """Each says what the daemon did about it."""
    report = await hostile_load.run(folder, 1, ["junk", "servers that hang up"])
    assert "closed" in report.outcomes["servers that hang up"], report.outcomes
    assert "ParseError" in report.outcomes["junk"], report.outcomes
