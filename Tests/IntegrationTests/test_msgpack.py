"""Servers with the msgpack parser: local programs see JSON as ever."""

import msgpack
import pytest

from scripted import TEXT, frame


def upstream(url, **settings):
    return {"upstream": {"chat": {"url": url, "parser": "msgpack", **settings}}}


async def session(peer):
    """A handshake by hand, and the CONNECT packet."""
    link = await peer.link()
    await link.upgrade()
    await link.open()
    packet = msgpack.unpackb(await link.receive())
    await link.binary(msgpack.packb({"type": 0, "nsp": "/", "data": {"sid": "socket-sid"}}))
    return link, packet


VALUES = [
    None, True, 0, -1, 2**53 + 1, 2**63 - 1, -2**63, 2**64 - 1, 1.5, 1e300, -0.1, "grüße 😀\n\u2028\x00", [], {}, [[[]]],
    {"a": {"b": [1, None]}, "": "x"}, {"_placeholder": True, "num": 0}, {"$bin": "AAEC"}, {"$$bin": "x"}, "x" * 70_000,
]


async def test_every_kind_of_value_comes_back_from_a_real_server(daemons, servers):
    server = await servers("eio4", "--serializer", "msgpack")
    daemon = await daemons(upstream(server.url))
    client = await daemon.client()
    for value in VALUES:
        answer = await client.call("request", upstream="chat", event="echo", args=[value])
        assert answer["args"] == [value]
    assert (await client.call("request", upstream="chat", event="echo", args=VALUES))["args"] == VALUES
    await client.call("subscribe", upstream="chat")
    await server.burst("tick", 200)
    assert len(await client.events(200)) == 200


async def test_namespaces_refusals_and_requests_of_a_real_server(daemons, servers):
    server = await servers("eio4", "--serializer", "msgpack")
    daemon = await daemons({"defaults": {"parser": "msgpack"}})
    client = await daemon.client()
    assert (await client.call("request", url=server.url + "/chat", event="echo", args=[1]))["args"] == [1]
    await client.fails("UpstreamRefused", "request", url=server.url + "/auth", event="echo")


async def test_the_wire_form_is_that_of_the_reference_parser(daemons, peer):
    client = await (await daemons(upstream(peer.url, auth={"token": "t"}))).client()
    future = client.post("request", upstream="chat", event="ask", args=[1, {"$bin": "AAE="}, 1.0])
    link, connect = await session(peer)
    assert connect == {"type": 0, "nsp": "/", "data": {"token": "t"}}
    assert msgpack.unpackb(await link.receive()) == {"type": 2, "nsp": "/", "data": ["ask", 1, b"\x00\x01", 1.0], "id": 0}
    await link.binary(msgpack.packb({"type": 3, "nsp": "/", "data": [b"\xff", {1: 2}, msgpack.Timestamp(0, 0)], "id": 0}))
    assert (await client.result(future))["args"] == [{"$bin": "/w=="}, {"1": 2}, "1970-01-01T00:00:00.000Z"]


async def test_what_cannot_be_sent_is_refused_before_it_is_written(daemons, peer):
    client = await (await daemons(upstream(peer.url))).client()
    for raw in ("18446744073709551616", "1e999", r'"\ud800"'):
        line = '{"jsonrpc":"2.0","id":"x","method":"send","params":{"upstream":"chat","event":"e","args":[' + raw + "]}}"
        answer = await client.exchange(line.encode())
        assert answer["error"]["data"]["type"] == "InvalidParams", answer


async def test_an_event_that_cannot_be_shown_is_a_gap_of_one(daemons, peer):
    client = await (await daemons(upstream(peer.url))).client()
    await client.call("subscribe", upstream="chat")
    link, _ = await session(peer)
    await link.binary(msgpack.packb({"type": 2, "nsp": "/", "data": ["e", msgpack.ExtType(42, b"?")]}))
    assert (await client.gap())["reason"] == "undecodable"
    await link.binary(msgpack.packb({"type": 2, "nsp": "/", "data": ["e", 1]}))
    assert (await client.event())["args"] == [1]


@pytest.mark.parametrize("name", ["connect", "disconnect"])
async def test_an_event_with_a_reserved_name_of_a_real_server_costs_no_link(daemons, servers, name):
    server = await servers("eio4", "--serializer", "msgpack")
    daemon = await daemons(upstream(server.url))
    client = await daemon.connected(upstream="chat")
    await client.call("subscribe", upstream="chat")
    await server.present(1)
    await server.emit(name, 1)
    await server.emit("said", 2)
    gap = await client.gap()
    assert (gap["reason"], gap["detail"]) == ("undecodable", "the server sent an event with a reserved name")
    assert (await client.event())["args"] == [2]
    assert (await daemon.connection())["reconnects"] == 0


@pytest.mark.parametrize("data", [None, [], {}, [True, 1]])
async def test_an_event_that_is_none_is_a_gap_of_one(daemons, peer, data):
    client = await (await daemons(upstream(peer.url))).client()
    await client.call("subscribe", upstream="chat")
    link, _ = await session(peer)
    await link.binary(msgpack.packb({"type": 2, "nsp": "/", "data": data}))
    assert (await client.gap())["reason"] == "undecodable"
    await link.binary(msgpack.packb({"type": 2, "nsp": "/", "data": ["e", 1]}))
    assert (await client.event())["args"] == [1]


@pytest.mark.parametrize("data, words", [
    (b"\xc1", "MessagePack"), (msgpack.packb([1]), "MessagePack"), (msgpack.packb({"type": 2}), "namespace"),
    (msgpack.packb({"type": 9, "nsp": "/"}), "unknown"), (None, "JSON"),
])
async def test_what_is_no_packet_ends_the_link(daemons, peer, data, words):
    client = await (await daemons(upstream(peer.url))).client()
    await client.call("subscribe", upstream="chat", state=True)
    link, _ = await session(peer)
    await client.state_until("connected")
    if data is None:
        await link.raw(frame(TEXT, b'42["e"]'))
    else:
        await link.binary(data)
    state = (await client.state_until("disconnected"))[-1]
    assert state["reason"] == "protocol" and words in state["detail"], state
