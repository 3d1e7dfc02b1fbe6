"""The short form of the fleet's loop; `make fleet-loop` runs the long one."""

import pytest

import fleet_loop
import redis_server
from fleet_place import LEASE

pytestmark = [pytest.mark.slow, pytest.mark.skipif(redis_server.program() is None, reason=redis_server.MISSING)]


@pytest.mark.timeout(600)
async def test_a_fleet_keeps_its_promises_when_hosts_and_redis_are_killed_paused_and_cut_off(folder):
    # One short fault at a time, and none with which Redis forgets everything: a durable send that was under way when its
    # conversation ended twice lets others pass, as if it had broken the link. The long form shows it.
    kinds = fleet_loop.KINDS.keys() - {"Redis emptied"}
    result = await fleet_loop.rounds(
        folder, 15, tell=print, kinds=kinds, longest=2.5 * LEASE, together=1, silence=10 * LEASE)
    print(result)
    result.check()
