"""What the daemon is for: many local programs, one upstream connection, and nothing lost while it is down."""

import asyncio


async def test_two_subscribers_share_one_upstream_connection(daemons, server):
    daemon = await daemons()
    ann, bob = await daemon.client(), await daemon.client()
    for client in (ann, bob):
        await client.call("subscribe", url=server.url, events=["said"])
    await server.present(1)
    await server.emit("said", "hi", {"from": "carl"})
    for client in (ann, bob):
        event = await client.event()
        assert (event["event"], event["args"]) == ("said", ["hi", {"from": "carl"}])
    counters = await server.counters()
    assert (counters["links"], counters["namespaces"]) == (1, 1)


async def test_subscribing_requesting_and_sending_programs_share_one_connection(daemons, server):
    daemon = await daemons()
    clients = [await daemon.client() for _ in range(4)]
    await clients[0].call("subscribe", url=server.url)
    assert (await clients[1].call("request", url=server.url, event="echo", args=[1]))["args"] == [1]
    await clients[2].call("send", url=server.url, event="line", args=["x"])
    await clients[3].call("wait", url=server.url, state="connected", timeout=5000)
    await server.received(1, "line")
    assert (await server.counters())["links"] == 1
    assert len((await daemon.status())["connections"]) == 1


async def test_a_request_returns_the_acknowledgement_of_the_server(daemons, server):
    daemon = await daemons()
    client = await daemon.client()
    result = await client.call("request", url=server.url, event="echo", args=["a", 2, None, {"b": [True]}])
    assert result["args"] == ["a", 2, None, {"b": [True]}]


async def test_an_acknowledgement_without_arguments_is_an_empty_list(daemons, server):
    daemon = await daemons()
    client = await daemon.client()
    assert (await client.call("request", url=server.url, event="nothing"))["args"] == []


async def test_a_send_reaches_the_server(daemons, server):
    daemon = await daemons()
    client = await daemon.client()
    result = await client.call("send", url=server.url, event="line", args=["x", 1])
    assert result["state"] == "accepted" and result["id"]
    assert (await server.received(1, "line"))[0]["args"] == ["x", 1]


async def test_sends_made_while_the_server_is_down_arrive_in_order_after_its_restart(daemons, server):
    daemon = await daemons()
    client = await daemon.connected(url=server.url)
    await server.stop()
    await daemon.until(lambda s: s["connections"][0]["state"] != "connected", "the loss to be noticed")
    for number in range(20):
        result = await client.call("send", url=server.url, event="line", args=[number])
        assert result["state"] == "accepted"
    await daemon.until(lambda s: s["connections"][0]["queue"]["count"] == 20, "20 queued sends")
    await server.start()
    assert [one["args"][0] for one in await server.received(20, "line")] == list(range(20))
    await daemon.until(lambda s: s["connections"][0]["queue"]["count"] == 0, "an empty queue")


async def test_a_request_made_while_the_server_is_down_is_answered_after_its_restart(daemons, server):
    daemon = await daemons()
    client = await daemon.connected(url=server.url)
    await server.stop()
    await daemon.until(lambda s: s["connections"][0]["state"] != "connected", "the loss to be noticed")
    pending = client.post("request", url=server.url, event="echo", args=["late"])
    await server.start()
    assert (await client.result(pending))["args"] == ["late"]


async def test_a_subscriber_survives_a_server_restart_and_is_told_of_the_gap(daemons, server):
    daemon = await daemons()
    client = await daemon.client()
    snapshot = await client.call("subscribe", url=server.url, state=True)
    await client.call("wait", url=server.url, state="connected", timeout=5000)
    await server.emit("said", "before")
    assert (await client.event())["args"] == ["before"]
    if snapshot["state"] != "connected":
        await client.state_until("connected")
    await server.restart()
    await server.present(1)
    await server.emit("said", "after")

    notes = [await client.note()]
    while notes[-1][0] != "event":
        notes.append(await client.note())
    assert notes[-1][1]["args"] == ["after"]
    gaps = [params for method, params in notes if method == "gap"]
    assert [(gap["reason"], "from" in gap) for gap in gaps] == [("upstream", False)]
    assert gaps[0]["epoch"] != snapshot["epoch"]
    assert gaps[0]["epoch"] == (await daemon.connection())["epoch"]
    states = [params["state"] for method, params in notes if method == "state"]
    assert states[0] == "disconnected" and states[-1] == "connected" and "reconnecting" in states


async def test_the_first_connection_is_no_gap(daemons, chat):
    daemon = await daemons()
    client = await daemon.client()
    snapshot = await client.call("subscribe", url=chat.url)
    await chat.present(1)
    await chat.emit("said", 1)
    assert (await client.note())[0] == "event"
    assert (await daemon.connection())["epoch"] == snapshot["epoch"]


async def test_events_of_one_subscription_arrive_in_the_order_of_the_server(daemons, server):
    daemon = await daemons()
    client = await daemon.connected(url=server.url)
    await client.call("subscribe", url=server.url, events=["tick"])
    await server.burst("tick", 500)
    assert [event["args"][0] for event in await client.events(500)] == list(range(500))


async def test_a_broadcast_to_a_room_arrives(daemons, server):
    daemon = await daemons()
    client = await daemon.client()
    await client.call("subscribe", url=server.url)
    await client.call("request", url=server.url, event="join", args=["kitchen"])
    await client.call("request", url=server.url, event="whisper", args=["kitchen", "psst"])
    assert (await client.event())["args"] == ["psst"]


async def test_several_namespaces_share_one_link(daemons, server):
    daemon = await daemons()
    client = await daemon.client()
    for path in ("", "/chat", "/admin"):
        await client.call("subscribe", url=server.url + path, subscription="sub" + path)
    for namespace in ("/", "/chat", "/admin"):
        await server.present(1, namespace)
    assert (await server.counters())["links"] == 1
    connections = (await daemon.status())["connections"]
    assert {one["namespace"] for one in connections} == {"/", "/chat", "/admin"}
    assert len({one["connection"] for one in connections}) == 3
    assert len({one["link"] for one in connections}) == 1
    await server.emit("said", "to chat", namespace="/chat")
    event = await client.event()
    assert (event["subscription"], event["args"]) == ("sub/chat", ["to chat"])


async def test_requests_of_many_programs_find_their_way_back(daemons, server):
    daemon = await daemons()
    clients = [await daemon.client() for _ in range(20)]
    pending = [(client, number, client.post("request", url=server.url, event="echo", args=[index, number]))
               for index, client in enumerate(clients) for number in range(10)]
    for client, number, future in pending:
        assert (await client.result(future))["args"] == [clients.index(client), number]
    assert (await server.counters())["links"] == 1


async def test_a_thousand_subscribers_receive_everything_in_order_over_one_connection(daemons, chat):
    daemon = await daemons()
    clients = [await daemon.client() for _ in range(1000)]
    await asyncio.gather(*(client.call("subscribe", url=chat.url, seconds=30) for client in clients))
    await chat.present(1)
    await chat.burst("tick", 20)
    for client in clients:
        assert [event["args"][0] for event in await client.events(20)] == list(range(20))
    counters = await chat.counters()
    assert (counters["links_ever"], counters["namespaces"]) == (1, 1)


async def test_ten_thousand_sends_leave_in_the_order_they_were_accepted(daemons, peer):
    daemon = await daemons()
    client = await daemon.client()
    futures = [client.post("send", url=peer.url, event="n", args=[number]) for number in range(5000)]
    link = await peer.session()
    futures += [client.post("send", url=peer.url, event="n", args=[number]) for number in range(5000, 10_000)]
    for number in range(10_000):
        await link.expect(f'42["n",{number}]')
    for future in futures:
        assert (await client.result(future))["state"] == "accepted"
