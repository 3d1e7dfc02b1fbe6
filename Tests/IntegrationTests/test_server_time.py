"""The server's clock: what is known of it, and which time events have."""

import asyncio
import time
from email.utils import formatdate

import pytest

from patience import SOON, within

HOUR = 3_600_000


def local():
    return int(time.time() * 1_000)


def configuration(url, **server_time):
    return {"upstream": {"chat": {"url": url, "keep": "always", "reconnect": {"base": "10ms", "cap": "50ms"},
                                  "server_time": server_time}}}


async def clock_of(client, holds=lambda clock: clock is not None):
    """What `status` says of the one connection's server, once it is so."""
    async def look():
        while True:
            connections = (await client.call("status"))["connections"]
            if connections and holds(connections[0]["time"]):
                return connections[0]["time"]
            await asyncio.sleep(0.01)

    return await within(look(), "status to know the server's time")


async def following(daemon):
    """A client with a subscription on a connection that is up."""
    client = await daemon.client()
    await client.call("wait", upstream="chat", state="connected", timeout=int(SOON * 1_000))
    await client.call("subscribe", upstream="chat", subscription="s")
    return client


@pytest.mark.parametrize("transport", ["websocket", "polling"])
async def test_without_configuration_events_have_the_local_time(daemons, server, transport):
    settings = configuration(server.url)
    settings["upstream"]["chat"]["transports"] = [transport]
    daemon = await daemons(settings)
    client = await following(daemon)
    before = local()
    await server.emit("said", "hi")
    assert before <= (await client.event())["time"] <= local()
    clock = await clock_of(client)
    assert clock["source"] == "date" and clock["followed"] is False
    assert abs(clock["offset"]) <= clock["error"] + 10 and clock["error"] <= 1_100


@pytest.mark.parametrize("ahead", [3_600, -3_600])
async def test_an_acknowledgement_tells_the_time(daemons, servers, ahead):
    async def on(line):
        server = await servers(line, "--clock", ahead)
        daemon = await daemons(configuration(server.url, request="time", member="now"))
        client = await following(daemon)
        clock = await clock_of(client, lambda clock: clock and clock["samples"] >= 3)
        assert clock["source"] == "request" and clock["followed"] is True
        assert abs(clock["offset"] - ahead * 1_000) <= clock["error"] + 2 and clock["error"] < 100
        before = local()
        await server.emit("said", "hi")
        after = (await client.event())["time"] - ahead * 1_000
        assert before - clock["error"] - 2 <= after <= local() + clock["error"] + 2
        # Nobody subscribed to a question, and nobody is told of its answer.
        await client.silence()

    # At once, because each waits for three questions.
    await asyncio.gather(on("eio4"), on("eio3"))


async def test_an_event_tells_the_time_and_is_delivered_as_well(daemons, servers):
    server = await servers("eio4", "--clock", 3_600)
    daemon = await daemons(configuration(server.url, event="tick", member="now", tolerance="8760h"))
    client = await following(daemon)
    before = local()
    await server.emit("said", "early")
    assert before <= (await client.event())["time"] <= local()
    await server.control("announce", event="tick")
    told = await client.event()
    assert told["event"] == "tick" and set(told["args"][0]) == {"now"}
    clock = await clock_of(client, lambda clock: clock["source"] == "event")
    assert abs(clock["offset"] - HOUR) <= clock["error"] + 2
    assert abs(told["time"] - told["args"][0]["now"]) <= clock["error"] + 2
    await server.emit("said", "late")
    assert abs((await client.event())["time"] - local() - HOUR) < 1_000
    assert (await server.received(0)) == []


async def test_time_stands_still_rather_than_run_backwards_until_the_epoch_ends(daemons, servers):
    server = await servers("eio4")
    daemon = await daemons(configuration(server.url, request="time", member="now", every="1s"))
    client = await following(daemon)
    await clock_of(client, lambda clock: clock and clock["source"] == "request")
    await server.emit("said", 1)
    first = await client.event()
    await server.control("clock", ahead=-3_600)
    clock = await clock_of(client, lambda clock: clock["offset"] < -HOUR // 2)
    assert abs(clock["offset"] + HOUR) <= clock["error"] + 2
    await server.burst("tick", 20)
    later = await client.events(20)
    assert {event["time"] for event in later} == {first["time"]}
    await server.control("clock", ahead=7_200)
    await clock_of(client, lambda clock: clock["offset"] > HOUR)
    await server.emit("said", 2)
    assert abs((await client.event())["time"] - local() - 2 * HOUR) < 1_000
    await server.control("clock", ahead=0)
    await server.cut()
    assert (await client.gap())["reason"] == "upstream"
    await clock_of(client, lambda clock: clock["offset"] < HOUR)
    await server.present(1)
    await server.emit("said", 3)
    assert abs((await client.event())["time"] - local()) < 1_000


async def session(peer, date, **members):
    link = await peer.link()
    await link.upgrade(headers=f"Date: {date}\r\n" if date else "")
    await link.open(**members)
    await link.accept()
    return link


async def test_the_date_of_the_handshake_overrules_a_local_clock_that_is_out_by_more_than_a_minute(daemons, peer):
    daemon = await daemons(configuration(peer.url))
    client = await daemon.client()
    link = await session(peer, formatdate(time.time() - 3_600, usegmt=True))
    await client.call("wait", upstream="chat", state="connected", timeout=int(SOON * 1_000))
    await client.call("subscribe", upstream="chat", subscription="s")
    clock = await clock_of(client)
    assert clock["source"] == "date" and clock["followed"] is True and clock["samples"] == 1
    assert abs(clock["offset"] + HOUR) <= clock["error"] <= 1_100
    await link.text('42["said"]')
    told = (await client.event())["time"]
    assert abs(told - local() + HOUR) < 2_000
    # The next link's date says that it is the other way round.
    await link.finish()
    await session(peer, formatdate(time.time() + 30, usegmt=True))
    clock = await clock_of(client, lambda clock: clock["offset"] > 0)
    assert clock["followed"] is False and abs(clock["offset"] - 30_000) <= clock["error"] + 10


@pytest.mark.parametrize("tolerance, ahead, followed", [
    ("1m", 50, False), ("1m", 70, True), ("5s", 50, True), ("0s", 5, True), ("8760h", 86_400, False)])
async def test_the_tolerance_decides_whether_a_date_is_followed(daemons, peer, tolerance, ahead, followed):
    daemon = await daemons(configuration(peer.url, tolerance=tolerance))
    client = await daemon.client()
    link = await session(peer, formatdate(time.time() + ahead, usegmt=True))
    clock = await clock_of(client)
    assert clock["followed"] is followed
    await client.call("subscribe", upstream="chat", subscription="s")
    await link.text('42["said"]')
    distance = (await client.event())["time"] - local()
    assert abs(distance - (ahead * 1_000 if followed else 0)) < 2_500


@pytest.mark.parametrize("date", [None, "", "yesterday", "Sat, 21 Nov 99999 16:00:00 GMT",
                                  "Thu, 01 Jan 1601 00:00:00 GMT"])
async def test_without_a_date_nothing_is_known(daemons, peer, date):
    daemon = await daemons(configuration(peer.url))
    client = await daemon.client()
    link = await session(peer, date)
    await client.call("wait", upstream="chat", state="connected", timeout=int(SOON * 1_000))
    await client.call("subscribe", upstream="chat", subscription="s")
    before = local()
    await link.text('42["said"]')
    assert before <= (await client.event())["time"] <= local()
    assert (await client.call("status"))["connections"][0]["time"] is None


@pytest.mark.parametrize("answer", ["", "null", '"later"', "-1", "1e300", '{"now":[]}', '{"now":1e99}', "[" * 60 + "]" * 60])
async def test_an_answer_without_a_time_is_passed_over(daemons, peer, answer):
    daemon = await daemons(configuration(peer.url, request="time"))
    client = await daemon.client()
    link = await session(peer, None)
    assert await link.receive() == '420["time"]'
    await link.text(f"430[{answer}]")
    request = client.post("request", upstream="chat", event="ask")
    assert await link.receive() == '421["ask"]'
    await link.text("431[7]")
    assert (await client.result(request))["args"] == [7]
    assert (await client.call("status"))["connections"][0]["time"] is None


async def test_a_reload_that_names_a_source_uses_it(daemons, servers):
    server = await servers("eio4", "--clock", 3_600)
    daemon = await daemons(configuration(server.url))
    client = await daemon.client()
    assert (await clock_of(client))["source"] == "date"
    daemon.configure(configuration(server.url, request="time", member="now"))
    assert (await client.call("reload"))["changed"] == ["chat"]
    clock = await clock_of(client, lambda clock: clock and clock["source"] == "request")
    assert abs(clock["offset"] - HOUR) <= clock["error"] + 2
