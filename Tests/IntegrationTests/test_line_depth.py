"""How deeply what servers say may be nested, in the lines of the daemon and for those who read them."""

import asyncio

import pytest

from programs import GATEWAYCTL

# Levels of a notification and of an answer (docs/protocol.md, "Lines"), and those of one argument.
NOTIFICATION, ANSWER, ARGUMENT = 64, 68, 61


def nested(levels):
    return "[" * levels + "]" * levels


def depth(line):
    """How many levels a line has in whose strings no bracket stands."""
    level = most = 0
    for byte in line:
        level += (byte in b"[{") - (byte in b"]}")
        most = max(most, level)
    return most


async def control(daemon, *words):
    program = await asyncio.create_subprocess_exec(
        GATEWAYCTL, "--socket", daemon.socket, *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
    out, err = await program.communicate()
    return program.returncode, out.decode(), err.decode()


@pytest.mark.parametrize("levels", [ARGUMENT - 1, ARGUMENT])
async def test_the_deepest_event_comes_and_is_read_from_the_history(daemons, peer, levels):
    daemon = await daemons({"upstream": {"u": {"url": peer.url, "keep": "always", "history": {"events": 10}}}})
    link = await peer.session()
    client = await daemon.client()
    await client.call("subscribe", upstream="u")
    await link.text(f'42["e",{nested(levels)}]')
    await client.event()
    assert depth(client.lines[-1]) == levels + 3 <= NOTIFICATION
    await client.call("history", upstream="u")
    assert depth(client.lines[-1]) <= ANSWER
    code, out, err = await control(daemon, "history", "u")
    assert code == 0 and nested(levels) in out, err


async def test_the_deepest_answer_is_read_from_the_outbox(daemons, peer):
    daemon = await daemons({"upstream": {"u": {"url": peer.url, "keep": "always"}}})
    link = await peer.session()
    client = await daemon.client()
    await client.call("send", upstream="u", event="pay", delivery="durable", retries=2)
    message = await link.receive()
    await link.text(f'43{message[2:message.index("[")]}[{nested(ARGUMENT)}]')
    while (await client.call("outbox.list"))["entries"][0]["state"] != "acked":
        await asyncio.sleep(0.02)
    assert depth(client.lines[-1]) <= ANSWER
    code, out, err = await control(daemon, "outbox", "--json")
    assert code == 0 and nested(ARGUMENT) in out, err


async def test_an_event_of_a_plain_websocket_is_no_deeper_than_a_line_may_be(daemons, peer):
    daemon = await daemons()
    client = await daemon.client()
    url = peer.url.replace("http://", "raw+ws://") + "/"
    await client.call("subscribe", url=url)
    link = await peer.link()
    await link.upgrade()
    await client.call("wait", url=url, state="connected", timeout=5000)
    await link.text(nested(ARGUMENT), "1")
    await client.event()
    assert depth(client.lines[-2]) <= NOTIFICATION and depth(client.lines[-1]) <= NOTIFICATION
    await link.text(nested(ARGUMENT + 1))
    assert (await client.gap())["reason"] == "undecodable"
