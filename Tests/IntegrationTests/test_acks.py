"""A server that wants an acknowledgement gets exactly one, from a program that said it answers."""

import asyncio
import base64


async def answerer(daemon, server, **more):
    client = await daemon.connected(url=server.url)
    await client.call("subscribe", url=server.url, answer=True, **more)
    return client


async def test_the_answer_of_a_program_reaches_the_server(daemons, server):
    client = await answerer(await daemons(), server)
    asked = asyncio.ensure_future(server.ask("confirm", 7))
    event = await client.event()
    assert event["args"] == [7]
    assert await client.call("respond", ack=event["ack"], args=["yes", {"n": 1}]) == {}
    assert await asked == ["yes", {"n": 1}]


async def test_an_answer_without_arguments_is_an_empty_acknowledgement(daemons, server):
    client = await answerer(await daemons(), server)
    asked = asyncio.ensure_future(server.ask("confirm"))
    await client.call("respond", ack=(await client.event())["ack"])
    assert await asked == []


async def test_an_answer_may_be_binary(daemons, server):
    client = await answerer(await daemons(), server)
    asked = asyncio.ensure_future(server.ask("confirm"))
    blob = {"$bin": base64.b64encode(b"\0\1\2").decode()}
    await client.call("respond", ack=(await client.event())["ack"], args=[blob, 1])
    assert await asked == [blob, 1]


async def test_the_first_answer_wins(daemons, chat):
    daemon = await daemons()
    ann, bob = await answerer(daemon, chat), await answerer(daemon, chat)
    asked = asyncio.ensure_future(chat.ask("confirm"))
    tokens = [(await client.event())["ack"] for client in (ann, bob)]
    await bob.call("respond", ack=tokens[1], args=["bob"])
    await ann.fails("AckGone", "respond", ack=tokens[0], args=["ann"])
    await bob.fails("AckGone", "respond", ack=tokens[1], args=["bob again"])
    assert await asked == ["bob"]


async def test_only_answerers_get_a_token_and_everybody_gets_the_event(daemons, chat):
    daemon = await daemons()
    ann, bob = await answerer(daemon, chat), await daemon.client()
    await bob.call("subscribe", url=chat.url)
    asked = asyncio.ensure_future(chat.ask("confirm", 1))
    token = (await ann.event())["ack"]
    event = await bob.event()
    assert "ack" not in event and event["args"] == [1]
    await ann.call("respond", ack=token)
    assert await asked == []


async def test_an_event_that_wants_no_acknowledgement_has_no_token(daemons, chat):
    client = await answerer(await daemons(), chat)
    await chat.emit("said")
    assert "ack" not in await client.event()


async def test_a_token_that_never_was_is_gone(daemons):
    client = await (await daemons()).client()
    await client.fails("AckGone", "respond", ack="a0")


async def test_without_an_answerer_the_servers_own_time_out_decides(daemons, chat):
    daemon = await daemons()
    client = await daemon.connected(url=chat.url)
    await client.call("subscribe", url=chat.url)
    assert await chat.ask("confirm", timeout=0.3) is None
    assert "ack" not in await client.event()
    assert (await client.call("request", url=chat.url, event="echo"))["args"] == []


async def test_a_token_of_a_link_that_is_gone_is_gone(daemons, chat):
    daemon = await daemons()
    client = await answerer(daemon, chat)
    asked = asyncio.ensure_future(chat.ask("confirm", timeout=1))
    token = (await client.event())["ack"]
    await chat.cut()
    await client.gap()
    await client.call("wait", url=chat.url, state="connected", timeout=5000)
    await client.fails("AckGone", "respond", ack=token)
    assert await asked is None


async def test_another_answerer_can_answer_when_the_first_leaves(daemons, chat):
    daemon = await daemons()
    ann, bob = await answerer(daemon, chat), await answerer(daemon, chat)
    asked = asyncio.ensure_future(chat.ask("confirm"))
    await ann.event()
    token = (await bob.event())["ack"]
    await ann.close()
    await bob.call("respond", ack=token, args=["bob"])
    assert await asked == ["bob"]


async def test_acknowledgements_may_be_given_in_any_order(daemons, peer):
    client = await (await daemons()).client()
    await client.call("subscribe", url=peer.url, answer=True)
    link = await peer.session()
    await link.text('4217["a"]', '4242["b"]', '420["c"]')
    tokens = {event["event"]: event["ack"] for event in await client.events(3)}
    for name in ("c", "a", "b"):
        await client.call("respond", ack=tokens[name], args=[name])
    await link.expect('430["c"]', '4317["a"]', '4342["b"]')


async def test_an_answer_of_one_namespace_goes_to_that_namespace(daemons, peer):
    client = await (await daemons()).client()
    await client.call("subscribe", url=peer.url + "/chat", answer=True)
    link = await peer.link()
    await link.upgrade()
    await link.open()
    await link.accept(namespace="/chat")
    await link.text('42/chat,5["a"]')
    await client.call("respond", ack=(await client.event())["ack"], args=[1])
    await link.expect("43/chat,5[1]")
