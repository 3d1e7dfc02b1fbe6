"""The short round of `make flood`."""

import pytest

import flood


@pytest.mark.slow
async def test_a_flood_of_durable_sends_stays_within_the_limits(folder):
    lines = []
    rounds, passed = await flood.run(folder, 8_000, lines.append)
    print("\n".join(lines))
    assert not passed, lines
    by_name = {one.name: one for one in rounds}
    assert by_name["as delivered"].queued == by_name["all of them"].queued == 8_000
    rejecting, dropping = by_name["a hundredth, reject"], by_name["a hundredth, drop_oldest"]
    assert dict(rejecting.answers) == {"durable": 100, "QueueFull": 7_900}
    assert dict(dropping.answers) == {"durable": 8_000}
    assert (dropping.queued, dropping.finished) == (100, 7_900)
    assert by_name["64 KiB"].queued * 512 <= 64 << 10
