"""The short form of the subscribers' kill loop; `make kill-loop` runs the long one."""

import subscriber_loop


async def test_subscribers_have_each_event_once_or_inside_a_gap_when_daemon_and_servers_are_killed(folder):
    result = await subscriber_loop.rounds(folder, 12, tell=print)
    print(result)
    result.check()
