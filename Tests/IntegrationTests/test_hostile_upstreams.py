"""Every stage of a connection cut, delayed, garbled, oversized, or answered by something else.

Each ends the attempt with its own reason and sentence, and costs nobody else anything.
"""

import collections
import contextlib
import itertools
import socket

import pytest

import hostile
import hostile_polling
from programs import ROOT

TABLES = {"websocket": hostile, "polling": hostile_polling}
KEYS = [(transport, *key) for transport, table in TABLES.items() for key in table.CELLS]
SETTINGS = {"message_limit": "64KiB", "reconnect": {"base": "1h", "cap": "1h"}}
# Only where a peer keeps us waiting: elsewhere a busy machine must not turn its fault into a timeout. A machine so busy that
# the limit runs out before the peer has come to its fault is given the next one.
LIMITS = (250, 2_000, 10_000)


@contextlib.contextmanager
def full_queue():
    """A port whose queue of connections is full: what connects to it waits."""
    with contextlib.ExitStack() as open_ones:
        listener = open_ones.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            waiting = open_ones.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


@pytest.mark.parametrize("transport, stage, fault, variant", KEYS)
async def test_a_hostile_upstream_is_named_and_harms_nobody(daemons, scripted, transport, stage, fault, variant):
    cell = TABLES[transport].CELLS[stage, fault, variant]
    waits = cell.reason == "timeout" or fault == "delayed"
    for limit in LIMITS if waits else (None,):
        bad, good = await scripted(), await scripted()
        bad.script = cell.script
        patience = {"handshake": f"{limit}ms", "attachment_timeout": f"{limit}ms"} if waits else {}
        daemon = await daemons({"defaults": SETTINGS | patience | {"transports": [transport]},
                                "upstream": {"good": {"url": good.url, "transports": ["websocket"]}}})
        client = await daemon.client()
        with contextlib.ExitStack() as held:
            port = bad.port
            if fault == "delayed" and stage == "accept":
                port = held.enter_context(full_queue())
            elif not cell.script:
                await bad.refuse()
            await client.call("subscribe", url=f"{cell.scheme}://127.0.0.1:{port}", state=True)
            state = (await client.state_until("disconnected"))[-1]
        sentence = cell.detail.format(place=f"127.0.0.1:{port}").replace("within 250 ms", f"within {limit} ms")
        if state["reason"] != "timeout" or state["detail"] == sentence:
            break
    assert state["reason"] == cell.reason, state
    if "…" in sentence:
        assert state["detail"].startswith(sentence.removesuffix("…")), state
    else:
        assert state["detail"] == sentence
    pending = client.post("request", upstream="good", event="e")
    link = await good.session()
    await link.expect('420["e"]')
    await link.text('430["served"]')
    assert (await client.result(pending))["args"] == ["served"]


def test_every_fault_of_every_stage_is_tried_or_impossible():
    tried = {(stage, fault) for stage, fault, _ in hostile.CELLS}
    possible = set(itertools.product(hostile.STAGES, hostile.FAULTS)) - set(hostile.IMPOSSIBLE)
    assert tried == possible and set(hostile.IMPOSSIBLE).isdisjoint(tried)
    polled = {(stage, fault) for stage, fault, _ in hostile_polling.CELLS}
    assert polled == set(itertools.product(hostile_polling.STAGES, hostile.FAULTS))


@pytest.mark.parametrize("transport", TABLES)
def test_what_means_something_else_is_said_otherwise(transport):
    sentences = collections.Counter(cell.detail for cell in TABLES[transport].CELLS.values())
    assert {sentence for sentence, count in sentences.items() if count > 1} == set(TABLES[transport].SHARED)


def test_every_sentence_is_documented():
    page = (ROOT / "docs" / "failures.md").read_text()
    for transport, *key in KEYS:
        words = TABLES[transport].CELLS[tuple(key)].detail.removesuffix("…").format(place="HOST:PORT")
        assert words in page, words
