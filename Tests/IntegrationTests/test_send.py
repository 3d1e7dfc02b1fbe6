"""Sends: when they are answered, how long they are kept, and that each ends in exactly one way."""

import asyncio
import signal

import pytest

from patience import QUIET, within


async def down(daemon, peer):
    """A client of an upstream that was connected once and is now gone."""
    client = await daemon.client()
    waiting = client.post("wait", url=peer.url, state="connected", timeout=5000)
    link = await peer.session()
    await client.result(waiting)
    await peer.refuse()
    link.abort()
    await daemon.until(lambda s: s["connections"][0]["state"] != "connected", "the loss to be noticed")
    return client


async def only_marker_arrives(peer, client, before=()):
    """After the upstream is back: what was queued before, a marker that is sent now, and nothing else."""
    await client.call("send", url=peer.url, event="marker")
    await peer.start()
    link = await peer.session()
    await link.expect(*before, '42["marker"]')
    return link


async def test_sent_is_answered_after_the_write(daemons, peer):
    client = await (await daemons()).client()
    pending = client.post("send", url=peer.url, event="e", args=[1], delivery="sent")
    link = await peer.link()
    await link.upgrade()
    await link.open()
    await link.expect("40")
    await asyncio.sleep(QUIET)
    assert not pending.done()
    await link.text('40{"sid":"s"}')
    await link.expect('42["e",1]')
    result = await client.result(pending)
    assert result["state"] == "sent" and result["id"] and "args" not in result


async def test_acked_is_answered_with_the_arguments_of_the_acknowledgement(daemons, server):
    client = await (await daemons()).client()
    result = await client.call("send", url=server.url, event="echo", args=[1, "x"], delivery="acked")
    assert result["state"] == "acked" and result["args"] == [1, "x"] and result["id"]


async def test_ids_of_sends_differ(daemons, chat):
    daemon = await daemons()
    clients = [await daemon.client(), await daemon.client()]
    ids = [(await client.call("send", url=chat.url, event="e"))["id"] for client in clients for _ in range(5)]
    assert len(set(ids)) == 10


async def test_sends_wait_for_their_upstream_whoever_leaves(daemons, peer):
    daemon = await daemons()
    client = await down(daemon, peer)
    leaving = await daemon.client()
    await leaving.call("send", url=peer.url, event="kept", args=[1])
    await leaving.close()
    await only_marker_arrives(peer, client, ['42["kept",1]'])


async def test_a_send_that_was_not_answered_leaves_with_its_client(daemons, peer):
    daemon = await daemons()
    client = await down(daemon, peer)
    leaving = await daemon.client()
    leaving.post("send", url=peer.url, event="unanswered", delivery="sent")
    leaving.post("request", url=peer.url, event="unanswered")
    await leaving.call("ping")
    await leaving.close()
    await daemon.until(lambda s: s["connections"][0]["queue"]["count"] == 0, "the sends to be taken back")
    await only_marker_arrives(peer, client)


async def test_a_cancelled_send_is_never_written(daemons, peer):
    daemon = await daemons()
    client = await down(daemon, peer)
    pending = client.post("request", url=peer.url, event="cancelled")
    await client.notify("rpc.cancel", id=pending.identity)
    await client.failure(pending, "Cancelled")
    await only_marker_arrives(peer, client)


async def test_cancelling_what_is_unknown_or_done_does_nothing(daemons, chat):
    client = await (await daemons()).client()
    await client.notify("rpc.cancel", id=999)
    done = client.post("request", url=chat.url, event="echo", args=[1])
    assert (await client.result(done))["args"] == [1]
    await client.notify("rpc.cancel", id=done.identity)
    await client.silence()
    assert client.strays == []


async def test_a_written_request_can_be_cancelled_and_its_late_answer_is_ignored(daemons, chat):
    client = await (await daemons()).client()
    pending = client.post("request", url=chat.url, event="hold", args=["door"])
    assert await chat.control("held", name="door", timeout=5)
    await client.notify("rpc.cancel", id=pending.identity)
    await client.failure(pending, "Cancelled")
    await chat.control("release", name="door", value=1)
    assert (await client.call("request", url=chat.url, event="echo", args=[2]))["args"] == [2]
    await client.silence()
    assert client.strays == []


async def test_a_call_of_another_client_cannot_be_cancelled(daemons, chat):
    daemon = await daemons()
    client, other = await daemon.client(), await daemon.client()
    pending = client.post("request", url=chat.url, event="hold", args=["door"])
    assert await chat.control("held", name="door", timeout=5)
    await other.notify("rpc.cancel", id=pending.identity)
    await other.call("ping")
    await chat.control("release", name="door", value=1)
    assert (await client.result(pending))["args"] == [1]


async def test_a_queued_send_whose_time_to_live_is_over_is_not_sent(daemons, peer):
    daemon = await daemons()
    client = await down(daemon, peer)
    await client.call("send", url=peer.url, event="stale", ttl=50)
    await client.call("send", url=peer.url, event="fresh", ttl=60_000)
    await daemon.until(lambda s: s["connections"][0]["queue"]["count"] == 1, "the first send to expire")
    await only_marker_arrives(peer, client, ['42["fresh"]'])


async def test_a_waiting_send_whose_time_to_live_is_over_is_told_so(daemons, peer):
    daemon = await daemons()
    client = await down(daemon, peer)
    await client.fails("Expired", "send", url=peer.url, event="stale", delivery="sent", ttl=50)
    await only_marker_arrives(peer, client)


async def test_the_default_time_to_live_can_be_configured(daemons, peer):
    daemon = await daemons({"defaults": {"ttl": "50ms"}})
    client = await down(daemon, peer)
    await client.call("send", url=peer.url, event="stale")
    await daemon.until(lambda s: s["connections"][0]["queue"]["count"] == 0, "the send to expire")
    await client.call("send", url=peer.url, event="fresh", ttl=60_000)
    await peer.start()
    await (await peer.session()).expect('42["fresh"]')


async def test_a_volatile_send_is_not_kept_for_later(daemons, peer):
    daemon = await daemons()
    client = await down(daemon, peer)
    await within(client.post("send", url=peer.url, event="gone", volatile=True), "a reply")
    link = await only_marker_arrives(peer, client)
    await client.call("wait", url=peer.url, state="connected", timeout=5000)
    await client.call("send", url=peer.url, event="there", volatile=True)
    await link.expect('42["there"]')


async def test_no_queue_fails_at_once_while_the_upstream_is_down(daemons, peer):
    daemon = await daemons()
    client = await down(daemon, peer)
    for method in ("send", "request"):
        error = await client.fails("UpstreamDown", method, url=peer.url, event="e", no_queue=True, seconds=2)
        assert error.data["reason"] in ("unreachable", "closed") and error.data["detail"]
    await only_marker_arrives(peer, client)


async def test_no_queue_gives_a_new_connection_its_first_attempt(daemons, chat):
    client = await (await daemons()).client()
    assert (await client.call("request", url=chat.url, event="echo", args=[1], no_queue=True))["args"] == [1]


async def test_no_queue_fails_with_the_first_attempt(daemons, peer):
    await peer.refuse()
    client = await (await daemons()).client()
    error = await client.fails("UpstreamDown", "request", url=peer.url, event="e", no_queue=True, timeout=60_000)
    assert error.data["reason"] == "unreachable" and "refused" in error.data["detail"]


async def test_a_full_queue_refuses_the_next_send(daemons, peer):
    daemon = await daemons({"limits": {"send_queue": 3}})
    client = await down(daemon, peer)
    for number in range(3):
        await client.call("send", url=peer.url, event="n", args=[number])
    error = await client.fails("QueueFull", "send", url=peer.url, event="n", args=[3])
    assert error.data["limit"] == 3 and error.data["retry_after"] >= 0
    await peer.start()
    link = await peer.session()
    await link.expect('42["n",0]', '42["n",1]', '42["n",2]')
    await client.call("send", url=peer.url, event="n", args=[3])
    await link.expect('42["n",3]')


async def test_a_queue_full_of_bytes_refuses_the_next_send(daemons, peer):
    daemon = await daemons({"limits": {"send_queue_bytes": "64KiB"}})
    client = await down(daemon, peer)
    for _ in range(3):
        await client.call("send", url=peer.url, event="n", args=["x" * 20_000])
    await client.fails("QueueFull", "send", url=peer.url, event="n", args=["x" * 20_000])
    await client.call("send", url=peer.url, event="n", args=["small"])


async def test_the_same_key_and_content_is_sent_once(daemons, chat):
    daemon = await daemons()
    client, other = await daemon.client(), await daemon.client()
    first = await client.call("send", url=chat.url, event="pay", args=[5], key="k1")
    assert not first.get("duplicate")
    for one in (client, other):
        again = await one.call("send", url=chat.url, event="pay", args=[5], key="k1")
        assert again["id"] == first["id"] and again["duplicate"] is True
    await client.call("send", url=chat.url, event="marker")
    await chat.received(1, "marker")
    assert len(await chat.received(1, "pay")) == 1


async def test_the_same_key_with_other_content_is_a_conflict(daemons, chat):
    client = await (await daemons()).client()
    await client.call("send", url=chat.url, event="pay", args=[5], key="k1")
    await client.fails("Conflict", "send", url=chat.url, event="pay", args=[6], key="k1")
    await client.fails("Conflict", "send", url=chat.url, event="play", args=[5], key="k1")
    await client.call("send", url=chat.url, event="pay", args=[6], key="k2")


async def test_the_same_key_on_another_connection_is_another_send(daemons, chat):
    client = await (await daemons()).client()
    for path in ("", "/chat"):
        assert not (await client.call("send", url=chat.url + path, event="pay", key="k1")).get("duplicate")
    assert len(await chat.received(2, "pay")) == 2


async def test_the_same_key_while_it_is_queued_is_sent_once(daemons, peer):
    daemon = await daemons()
    client = await down(daemon, peer)
    first = await client.call("send", url=peer.url, event="pay", key="k")
    assert (await client.call("send", url=peer.url, event="pay", key="k"))["id"] == first["id"]
    await only_marker_arrives(peer, client, ['42["pay"]'])


async def test_sends_of_several_programs_each_keep_their_order(daemons, chat):
    daemon = await daemons()
    clients = [await daemon.client() for _ in range(5)]
    for number in range(100):
        for index, client in enumerate(clients):
            client.post("send", url=chat.url, event="line", args=[index, number])
    received = [one["args"] for one in await chat.received(500, "line")]
    for index in range(5):
        assert [number for who, number in received if who == index] == list(range(100))


async def test_a_call_beyond_the_inflight_limit_is_refused(daemons, peer):
    daemon = await daemons({"limits": {"inflight": 4}})
    client, other = await daemon.client(), await daemon.client()
    for _ in range(4):
        client.post("wait", url=peer.url, state="connected", timeout=60_000)
    error = await client.fails("QuotaExceeded", "wait", url=peer.url, state="connected", timeout=60_000)
    assert error.data["quota"]
    assert await other.call("ping") == {}


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
async def test_what_was_accepted_is_flushed_by_an_orderly_stop(daemons, chat, stop):
    daemon = await daemons({"limits": {"stop": "5s"}})
    client = await daemon.connected(url=chat.url)
    for number in range(200):
        client.post("send", url=chat.url, event="line", args=[number])
    await client.call("ping")
    await daemon.stop(stop)
    assert [one["args"][0] for one in await chat.received(200, "line")] == list(range(200))
