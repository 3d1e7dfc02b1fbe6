"""A server that refuses: a program of a fleet's host is told so in the server's own words, as it is with a link of its own."""

from fleet_hosts import hosts, needs_redis, ready, redis  # pylint: disable=unused-import
from patience import SOON

pytestmark = needs_redis


async def test_a_connection_that_the_server_refuses_is_refused_in_its_words_on_every_host(hosts, chat, daemons):
    alone = await (await daemons()).client()
    expected = await alone.fails("UpstreamRefused", "request", url=chat.url + "/refused", event="echo", args=[1])
    assert (expected.data["message"], expected.data["data"]) == ("this room is closed", {"code": 4711})
    for host in await hosts(2, url=chat.url + "/refused"):
        client = await host.client()
        error = await client.fails("UpstreamRefused", "request", upstream="chat", event="echo", args=[1], seconds=2 * SOON)
        assert (error.data["message"], error.data["data"]) == (expected.data["message"], expected.data["data"]), error.data


async def test_a_subscription_that_the_router_refuses_has_its_own_words_on_every_host(hosts, crossbar, daemons):
    name = "com.forbidden.x"
    alone = await (await daemons()).connected(url=crossbar.url)
    expected = await alone.fails("UpstreamRefused", "subscribe", url=crossbar.url, events=[name])
    assert expected.data["data"] == "wamp.error.not_authorized"
    for host in await hosts(2, url=crossbar.url):
        client = await ready(host)
        error = await client.fails("UpstreamRefused", "subscribe", upstream="chat", events=[name])
        assert error.data["data"] == expected.data["data"], error.data

