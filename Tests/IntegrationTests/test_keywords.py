"""What other upstreams have and Socket.IO has not is refused before it is sent, with advice."""

import asyncio

import pytest


@pytest.mark.parametrize("method, more", [("send", {}), ("request", {}), ("send", {"delivery": "durable"})])
async def test_socketio_has_no_keyword_arguments(daemons, chat, method, more):
    client = await (await daemons()).client()
    error = await client.fails("InvalidParams", method, url=chat.url, event="e", kwargs={"a": 1}, **more)
    assert "`kwargs`" in error.message and "`args`" in error.message
    assert (await chat.counters())["received"] == 0


async def test_socketio_has_no_errors_in_answers(daemons, chat):
    daemon = await daemons()
    client = await daemon.connected(url=chat.url)
    await client.call("subscribe", url=chat.url, answer=True)
    await chat.emit("ready")
    await client.event()
    asking = asyncio.ensure_future(chat.ask("question", 1))
    token = (await client.event())["ack"]
    error = await client.fails("InvalidParams", "respond", ack=token, error="no.way")
    assert "`error`" in error.message
    await client.call("respond", ack=token, args=["yes"])
    assert await asking == ["yes"]


async def test_keyword_arguments_are_an_object(daemons, chat):
    client = await (await daemons()).client()
    await client.fails("InvalidParams", "send", url=chat.url, event="e", kwargs=[1])


async def test_exit_codes_and_advice_of_the_shell(daemons, chat, ctl):
    outcome = await ctl(await daemons(), "send", "--kwargs", '{"a":1}', chat.url, "e")
    assert outcome.code == 65 and "kwargs" in outcome.err
