"""Compressed WebSocket messages (permessage-deflate), against real servers and against ones that lie."""

import random
import zlib

import memory
import pytest

from patience import within
from scripted import BINARY, CONTINUATION, PING, PONG, TEXT, Closed, frame

COMPRESSED = 4
OFFERED = "permessage-deflate; client_no_context_takeover; server_no_context_takeover; client_max_window_bits"
AGREED = "permessage-deflate; server_no_context_takeover"


def deflated(text, window=15):
    """As a server that forgets its context writes it."""
    packer = zlib.compressobj(6, zlib.DEFLATED, -window)
    return (packer.compress(text.encode()) + packer.flush(zlib.Z_SYNC_FLUSH))[:-4]


def inflated(payload, window=15):
    return zlib.decompressobj(-window).decompress(payload + b"\x00\x00\xff\xff").decode()


async def compressed_session(peer, answer=AGREED):
    link = await peer.link()
    await link.upgrade(extensions=answer)
    await link.open()
    await link.accept()
    return link


async def test_a_real_server_and_the_daemon_compress_both_ways(daemons, server):
    client = await (daemon := await daemons()).client()
    await client.call("subscribe", url=server.url)
    text = "grüße " * 20_000
    noise = random.Random(7).randbytes(30_000).hex()
    for value in (text, noise, "small"):
        assert (await client.call("request", url=server.url, event="echo", args=[value]))["args"] == [value]
        assert (await client.call("request", url=server.url, event="echo", args=[value], compress=False))["args"] == [value]
    assert (await daemon.connection())["compression"] is True


async def test_compression_can_be_switched_off_and_on_by_reload(daemons, server):
    daemon = await daemons({"upstream": {"chat": {"url": server.url, "compression": {"enabled": False}}}})
    client = await daemon.client()
    await client.call("subscribe", upstream="chat")
    assert (await client.call("request", upstream="chat", event="echo", args=["x" * 5_000]))["args"] == ["x" * 5_000]
    assert (await daemon.connection())["compression"] is False
    daemon.configure({"upstream": {"chat": {"url": server.url}}})
    assert "chat" in (await client.call("reload"))["changed"]


async def test_the_offer_and_the_threshold(daemons, peer):
    daemon = await daemons({"upstream": {"chat": {"url": peer.url, "compression": {"threshold": 100}}}})
    client = await daemon.client()
    await client.call("subscribe", upstream="chat")
    link = await compressed_session(peer)
    assert link.request.headers["sec-websocket-extensions"] == OFFERED
    for size, flags, is_compressed in ((10, {}, False), (200, {}, True), (200, {"compress": False}, False), (200, {"compress": True}, True)):
        await client.call("send", upstream="chat", event="e", args=["x" * size], **flags)
        first, payload = await within(link.frame(), "a frame")
        assert first == (0xC1 if is_compressed else 0x81), (size, flags)
        assert (inflated(payload) if is_compressed else payload.decode()) == '42["e","' + "x" * size + '"]'


async def test_our_window_is_not_larger_than_the_server_wants(daemons, peer):
    client = await (await daemons()).client()
    await client.call("subscribe", url=peer.url)
    link = await compressed_session(peer, AGREED + "; client_max_window_bits=9")
    text = random.Random(1).randbytes(1_000).hex() * 3
    await client.call("send", url=peer.url, event="e", args=[text])
    first, payload = await within(link.frame(), "a frame")
    assert first == 0xC1 and inflated(payload, window=9) == f'42["e","{text}"]'


async def test_fragments_of_a_compressed_message_with_a_ping_between(daemons, peer):
    client = await (await daemons()).client()
    await client.call("subscribe", url=peer.url)
    link = await compressed_session(peer)
    payload = deflated('42["news","' + "grüße " * 100 + '"]')
    await link.raw(frame(TEXT, payload[:9], final=False, reserved=COMPRESSED) + frame(PING, b"p")
                   + frame(CONTINUATION, b"", final=False) + frame(CONTINUATION, payload[9:]))
    assert (await client.event())["args"] == ["grüße " * 100]
    assert await within(link.frame(), "a frame") == (0x80 | PONG, b"p")


async def test_a_server_that_keeps_its_context(daemons, peer):
    client = await (await daemons()).client()
    await client.call("subscribe", url=peer.url)
    link = await compressed_session(peer, "permessage-deflate")
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    sizes = []
    for number in range(3):
        data = packer.compress(b'42["news","' + b"Lorem ipsum dolor sit amet" + b'"]') + packer.flush(zlib.Z_SYNC_FLUSH)
        sizes.append(len(data))
        await link.raw(frame(TEXT, data[:-4], reserved=COMPRESSED))
        assert (await client.event())["args"] == ["Lorem ipsum dolor sit amet"]
    assert sizes[2] < sizes[0] / 2


@pytest.mark.parametrize("answer", [
    "permessage-deflate; server_max_window_bits=16", "permessage-deflate; client_max_window_bits",
    "permessage-deflate; unknown", "permessage-deflate, permessage-deflate", "permessage-foo"])
async def test_an_answer_that_was_not_offered_is_a_protocol_failure(daemons, peer, answer):
    client = await (await daemons()).client()
    await client.call("subscribe", url=peer.url, state=True)
    await (await peer.link()).upgrade(extensions=answer)
    state = (await client.state_until("disconnected"))[-1]
    assert state["reason"] == "protocol" and "not offered" in state["detail"]


@pytest.mark.parametrize("name, data, reason, words, code", [
    ("garbage", frame(TEXT, b"\xff\xff\xff", reserved=COMPRESSED), "protocol", "decompressed", 1007),
    ("cut short", frame(TEXT, deflated('42["e"]')[:-3], reserved=COMPRESSED), "protocol", "decompressed", 1007),
    ("not UTF-8", frame(TEXT, b"\x00\x01\x00\xfe\xff\xff\x00",
                        reserved=COMPRESSED), "protocol", "UTF-8", 1007),
    ("on a ping", frame(PING, b"", reserved=COMPRESSED), "protocol", "frames", 1002),
    ("on a continuation", frame(TEXT, b"4", final=False) + frame(CONTINUATION, b"2", reserved=COMPRESSED), "protocol",
     "frames", 1002),
    ("a bomb", frame(BINARY, deflated("x" * (64 << 20)), reserved=COMPRESSED), "too_large", "16777216", 1009),
])
async def test_bad_compressed_data_ends_the_link(daemons, peer, name, data, reason, words, code):
    client = await (daemon := await daemons()).client()
    await client.call("subscribe", url=peer.url, state=True)
    link = await compressed_session(peer)
    await client.state_until("connected")
    before = (await daemon.status())["daemon"]["rss"]
    await link.raw(data)
    with pytest.raises(Closed) as closed:
        await link.receive()
    assert closed.value.code == code, name
    state = (await client.state_until("disconnected"))[-1]
    assert state["reason"] == reason and words in state["detail"], state
    assert (await daemon.status())["daemon"]["rss"] < before + (8 << 20) or not memory.COUNTS


async def test_the_mark_without_agreement_ends_the_link(daemons, peer):
    client = await (await daemons({"upstream": {"c": {"url": peer.url, "compression": {"enabled": False}}}})).client()
    await client.call("subscribe", upstream="c", state=True)
    link = await (await peer.link()).session()
    assert "sec-websocket-extensions" not in link.request.headers
    await link.raw(frame(TEXT, deflated('42["e"]'), reserved=COMPRESSED))
    state = (await client.state_until("disconnected"))[-1]
    assert state["reason"] == "protocol"
