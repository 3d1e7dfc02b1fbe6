"""The short round of `make soak`."""

import pytest

import soak


@pytest.mark.slow
async def test_a_thousand_forced_reconnects_leave_memory_descriptors_and_threads_flat(folder):
    lines = []
    grown = await soak.run(folder, 1_000, lines.append)
    print("\n".join(lines))
    assert not grown, lines
