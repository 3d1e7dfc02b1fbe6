"""Short rounds of `make hostile`."""

import os

import pytest

import hostile_load
import memory
from hostile_place import ATTACKERS
from patience import FACTOR
from programs import GATEWAYD

IS_OPTIMISED = "release" in GATEWAYD.parts
LONGEST_TURN = (hostile_load.TURN_LIMIT * 1e6 if IS_OPTIMISED
                else (2_500_000 if os.environ.get("GATEWAY_SANITIZE") else 1_000_000) * FACTOR)
"""Microseconds of processor time: of the release build what `make hostile` allows, too; a debug build needs thirty times as much."""
MEMORY = 256 << 20
"""Bytes that a daemon may take beside what it tells as the limit of its buffers."""

LARGE = 3 << 20
"""Bytes of a large message: an unoptimised daemon is busy with those of `make hostile` for seconds."""

SHORT = [name for name, attacker in ATTACKERS.items() if attacker.is_short]


def check(report):
    print("\n".join(report.lines()))
    assert report.ordinary.lost == []
    assert report.longest_turn < LONGEST_TURN
    assert report.resident < report.memory_limit + MEMORY or not memory.COUNTS


@pytest.mark.slow
@pytest.mark.timeout(300 * FACTOR)
async def test_hostile_servers_and_programs_all_at_once_cost_ordinary_ones_nothing(folder):
    report = await hostile_load.run(folder, 6, SHORT, longer=0, large=LARGE)
    check(report)
    assert list(report.outcomes) == SHORT and hostile_load.NO_END not in report.outcomes.values()


@pytest.mark.slow
@pytest.mark.timeout(300 * FACTOR)
@pytest.mark.parametrize("names", hostile_load.groups(SHORT), ids=lambda names: f"{names[0]} and others")
async def test_every_attacker_gets_what_it_has_to_get(folder, names):
    report = await hostile_load.run(folder, 1, names, large=LARGE)
    check(report)
    assert list(report.surprises()) == []
