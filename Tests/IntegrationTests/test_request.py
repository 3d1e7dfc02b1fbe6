"""Requests: one answer each, and every failure says whether the message was written."""

import pytest


async def test_no_answer_in_time_is_an_ack_timeout(daemons, server):
    client = await (await daemons()).connected(url=server.url)
    error = await client.fails("AckTimeout", "request", url=server.url, event="hold", args=["door"], timeout=1_000)
    assert "retry" not in error.data or error.data["retry"] is not True
    await server.control("release", name="door", value="late")
    assert (await client.call("request", url=server.url, event="echo", args=[1]))["args"] == [1]
    await client.silence()
    assert client.strays == []


async def test_a_link_that_breaks_after_the_write_is_an_ack_lost_at_once(daemons, server):
    client = await (await daemons()).client()
    pending = client.post("request", url=server.url, event="hold", args=["door"], timeout=60_000)
    assert await server.control("held", name="door", timeout=5)
    await server.cut()
    await client.failure(pending, "AckLost", seconds=5)


async def test_a_server_that_dies_after_the_write_is_an_ack_lost(daemons, server):
    client = await (await daemons()).client()
    pending = client.post("request", url=server.url, event="hold", args=["door"], timeout=60_000)
    assert await server.control("held", name="door", timeout=5)
    await server.stop()
    await client.failure(pending, "AckLost", seconds=5)


async def test_a_namespace_that_is_closed_after_the_write_is_an_ack_lost(daemons, server):
    client = await (await daemons()).client()
    pending = client.post("request", url=server.url, event="hold", args=["door"], timeout=60_000)
    assert await server.control("held", name="door", timeout=5)
    await server.kick()
    await client.failure(pending, "AckLost", seconds=5)


async def test_a_deadline_before_the_write_is_upstream_down(daemons, peer):
    await peer.refuse()
    client = await (await daemons()).client()
    error = await client.fails("UpstreamDown", "request", url=peer.url, event="e", timeout=200)
    assert error.data["reason"] == "unreachable" and "refused" in error.data["detail"]


async def test_a_deadline_during_the_first_handshake_is_upstream_down(daemons, peer):
    client = await (await daemons()).client()
    await client.fails("UpstreamDown", "request", url=peer.url, event="e", timeout=200)


async def test_a_request_whose_deadline_passed_is_never_written(daemons, peer):
    client = await (await daemons()).client()
    await client.fails("UpstreamDown", "request", url=peer.url, event="late", timeout=50)
    await client.call("send", url=peer.url, event="marker")
    link = await peer.session()
    await link.expect('42["marker"]')


@pytest.mark.parametrize("method, more", [
    ("request", {}), ("send", {"delivery": "acked"}), ("send", {"delivery": "sent"})])
async def test_a_refused_namespace_fails_a_waiting_call_at_once_with_the_servers_words(daemons, server, method, more):
    client = await (await daemons()).client()
    error = await client.fails(
        "UpstreamRefused", method, url=server.url + "/refused", event="e", timeout=60_000, seconds=5, **more)
    assert "this room is closed" in str(error) and "4711" in str(error)


async def test_answers_may_come_in_any_order(daemons, peer):
    client = await (await daemons()).client()
    pending = [client.post("request", url=peer.url, event="e", args=[number]) for number in range(3)]
    link = await peer.session()
    ids = []
    for number in range(3):
        packet = await link.receive()
        assert packet.endswith(f'["e",{number}]')
        ids.append(packet[2:packet.index("[")])
    assert len(set(ids)) == 3
    for number in (2, 0, 1):
        await link.text(f"43{ids[number]}[{number}]")
    assert [(await client.result(one))["args"] for one in pending] == [[0], [1], [2]]


async def test_a_repeated_or_unknown_answer_is_ignored(daemons, peer):
    client = await (await daemons()).client()
    pending = client.post("request", url=peer.url, event="e")
    link = await peer.session()
    identity = (await link.receive())[2:].removesuffix('["e"]')
    await link.text(f"43{identity}[1]", f"43{identity}[2]", "43999[3]")
    assert (await client.result(pending))["args"] == [1]
    await client.call("send", url=peer.url, event="marker")
    await link.expect('42["marker"]')
    assert client.strays == []


async def test_an_ack_id_is_not_used_again_on_the_same_link(daemons, peer):
    client = await (await daemons()).client()
    await client.call("subscribe", url=peer.url, state=True)
    link = await peer.session()
    await client.state_until("connected")
    first = client.post("request", url=peer.url, event="e", timeout=1_000)
    used = (await link.receive())[2:].removesuffix('["e"]')
    await client.failure(first, "AckTimeout")
    second = client.post("request", url=peer.url, event="e")
    fresh = (await link.receive())[2:].removesuffix('["e"]')
    assert fresh != used
    await link.text(f'43{used}["late"]', f'43{fresh}["right"]')
    assert (await client.result(second))["args"] == ["right"]


async def test_an_answer_to_another_namespace_is_not_taken(daemons, peer):
    client = await (await daemons()).client()
    root = client.post("request", url=peer.url, event="e")
    link = await peer.session()
    identity = (await link.receive())[2:].removesuffix('["e"]')
    other = client.post("request", url=peer.url + "/chat", event="e")
    await link.accept(namespace="/chat")
    head = await link.receive()
    assert head.startswith("42/chat,")
    other_identity = head.removeprefix("42/chat,").removesuffix('["e"]')
    await link.text(f'43/chat,{other_identity}["chat"]', f'43{identity}["root"]')
    assert (await client.result(other))["args"] == ["chat"]
    assert (await client.result(root))["args"] == ["root"]


async def test_a_handler_with_several_values_acknowledges_several_arguments(daemons, server):
    client = await (await daemons()).client()
    assert (await client.call("request", url=server.url, event="echo", args=[[1, 2], "x"]))["args"] == [[1, 2], "x"]
    assert (await client.call("request", url=server.url, event="one", args=[[1, 2], "x"]))["args"] == [[1, 2]]
