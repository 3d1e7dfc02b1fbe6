"""The short round of `make restart-load`."""

import restart_load


async def test_restarts_under_many_subscribers_lose_nothing_and_leave_memory_flat(folder):
    result = await restart_load.run(folder, clients=200, restarts=3, rate=50, tell=print)
    print(result)
    result.check()
    assert result.total["events"] >= 200 * 50 * 4
