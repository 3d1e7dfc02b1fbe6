"""Sends with retries arrive at least once and in order; sends that coalesce arrive once."""


async def test_one_is_in_flight_and_the_order_is_kept(daemons, peer):
    client = await (await daemons()).client()
    pending = [client.post("request", url=peer.url, event="echo", args=[number], retries=3) for number in (1, 2, 3)]
    link = await peer.session()
    for ack, number in enumerate((1, 2, 3)):
        await link.expect(f'42{ack}["echo",{number}]')
        await link.text(f"43{ack}[{number}]")
    assert [(await client.result(one))["args"] for one in pending] == [[1], [2], [3]]


async def test_without_an_acknowledgement_it_is_written_again_with_new_ids(daemons, peer):
    client = await (await daemons()).client()
    pending = client.post("request", url=peer.url, event="echo", args=[1], retries=3, ack_timeout=50)
    link = await peer.session()
    await link.expect('420["echo",1]', '421["echo",1]', '422["echo",1]', '423["echo",1]')
    await client.failure(pending, "AckTimeout")


async def test_a_late_acknowledgement_of_an_earlier_try_is_a_success(daemons, peer):
    client = await (await daemons()).client()
    pending = client.post("request", url=peer.url, event="echo", args=[1], retries=3, ack_timeout=1_000)
    link = await peer.session()
    await link.expect('420["echo",1]', '421["echo",1]')
    await link.text('430["first"]')
    assert (await client.result(pending))["args"] == ["first"]
    await link.text('431["second"]')
    await client.call("send", url=peer.url, event="marker")
    await link.expect('42["marker"]')


async def test_a_lost_link_does_not_lose_the_order(daemons, peer):
    client = await (await daemons()).client()
    first = client.post("request", url=peer.url, event="echo", args=[1], retries=3, timeout=60_000)
    second = client.post("request", url=peer.url, event="echo", args=[2], retries=3, timeout=60_000)
    link = await peer.session()
    await link.expect('420["echo",1]')
    link.abort()
    link = await peer.session()
    await link.expect('420["echo",1]')
    await link.text("430[]")
    await link.expect('421["echo",2]')
    await link.text("431[]")
    assert await client.result(first) == await client.result(second) == {"args": []}


async def test_the_line_does_not_move_while_disconnected(daemons, peer):
    await peer.refuse()
    client = await (await daemons()).client()
    await client.call("send", url=peer.url, event="a", retries=2)
    await client.call("send", url=peer.url, event="b", retries=2)
    await peer.start()
    link = await peer.session()
    await link.expect('420["a"]')
    await link.text("430[]")
    await link.expect('421["b"]')


async def test_a_real_server_gets_each_once_when_it_acknowledges(daemons, server):
    client = await (await daemons()).client()
    pending = [client.post("request", url=server.url, event="echo", args=[number], retries=5) for number in range(20)]
    assert [(await client.result(one))["args"] for one in pending] == [[number] for number in range(20)]
    assert len(await server.received(20, "echo")) == 20


async def test_a_real_server_that_is_cut_gets_it_again(daemons, server):
    client = await (await daemons()).client()
    pending = client.post("request", url=server.url, event="hold", args=["door"], retries=5, ack_timeout=30_000,
                          timeout=60_000)
    assert await server.control("held", name="door", timeout=5)
    await server.cut()
    await server.received(2, "hold")
    await server.control("release", name="door", value="open")
    assert (await client.result(pending))["args"] == ["open"]


async def test_the_newest_of_a_value_is_sent(daemons, peer):
    await peer.refuse()
    daemon = await daemons()
    client = await daemon.client()
    older = client.post("send", url=peer.url, event="load", args=[1], coalesce="load", delivery="acked", timeout=60_000)
    await client.call("send", url=peer.url, event="load", args=[2], coalesce="load")
    dropped = await client.result(older)
    assert (dropped["state"], dropped["reason"]) == ("dropped", "coalesced")
    await peer.start()
    link = await peer.session()
    await link.expect('42["load",2]')


async def test_gatewayctl_retries_and_coalesces(daemons, peer, start_ctl):
    daemon = await daemons()
    command = await start_ctl(daemon, "request", "--retries", "2", "--ack-timeout", "50ms", peer.url, "echo", "1")
    link = await peer.session()
    await link.expect('420["echo",1]', '421["echo",1]', '422["echo",1]')
    assert (await command.outcome()).code == 124
    command = await start_ctl(daemon, "send", "--coalesce", "k", "--retries", "0", peer.url, "plain")
    assert (await command.outcome()).code == 0
    await link.expect('423["plain"]')


async def test_a_window_is_in_flight_and_goes_again_in_order_after_a_lost_link(daemons, peer):
    client = await (await daemons({"defaults": {"retry_window": 3}})).client()
    pending = [client.post("request", url=peer.url, event="echo", args=[number], retries=3, timeout=60_000)
               for number in range(1, 6)]
    link = await peer.session()
    await link.expect('420["echo",1]', '421["echo",2]', '422["echo",3]')
    await link.text("431[2]")
    await link.expect('423["echo",4]')
    link.abort()
    link = await peer.session()
    await link.expect('420["echo",1]', '421["echo",3]', '422["echo",4]')
    for ack, number in enumerate((1, 3, 4)):
        await link.text(f"43{ack}[{number}]")
    await link.expect('423["echo",5]')
    await link.text("433[5]")
    assert [(await client.result(one))["args"] for one in pending] == [[1], [2], [3], [4], [5]]
