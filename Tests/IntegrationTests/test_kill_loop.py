"""The short form of the kill loop; `make kill-loop` runs the long one."""

import kill_loop


async def test_nothing_promised_is_lost_when_daemon_and_server_are_killed(folder):
    result = await kill_loop.rounds(folder, 15, tell=print)
    print(result)
    result.check()
    assert result.promised
