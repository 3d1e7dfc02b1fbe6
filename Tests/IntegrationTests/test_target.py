"""How a call names its upstream, and which calls end up on the same connection."""

from urllib.parse import parse_qs

import pytest


def configured(*servers, **settings):
    return {"upstream": {f"u{index}": {"url": server.url, **settings} for index, server in enumerate(servers)}}


@pytest.mark.parametrize("target", [
    {}, {"upstream": "u0", "url": "http://127.0.0.1:1"}, {"url": ""}, {"url": "nonsense"}, {"url": "ftp://127.0.0.1/"},
    {"url": "http://"}, {"url": "http://127.0.0.1:99999"}, {"url": "http://127.0.0.1/a", "namespace": "/b"},
    {"url": "http://127.0.0.1:1", "namespace": "chat"}, {"url": "http://127.0.0.1:1", "namespace": "/a,b"},
    {"url": "http://127.0.0.1:1", "auth": "token"}, {"url": "http://127.0.0.1:1", "auth": []},
    {"upstream": "u0", "auth": {"token": "x"}}, {"upstream": 5}])
@pytest.mark.parametrize("method", ["subscribe", "send", "wait"])
async def test_a_target_that_makes_no_sense_is_refused(daemons, peer, method, target):
    daemon = await daemons(configured(peer))
    client = await daemon.client()
    more = {"send": {"event": "e"}, "wait": {"state": "connected", "timeout": 10}}.get(method, {})
    await client.fails("InvalidParams", method, {**target, **more})


async def test_an_upstream_that_is_not_configured_is_unknown(daemons, peer):
    daemon = await daemons({"upstream": {"chat": {"url": peer.url}}})
    client = await daemon.client()
    error = await client.fails("UpstreamUnknown", "subscribe", upstream="chatt")
    assert error.message == "No upstream is called 'chatt'; did you mean 'chat'?"
    await client.fails("UpstreamUnknown", "status", upstream="chatt")


@pytest.mark.parametrize("name", [
    "localhost", "localhost:3000", "chat.example", "10.0.0.1", "[::1]:3000", "http:/localhost", "chat.example/admin"])
async def test_an_address_in_the_place_of_a_name_is_told_how_a_url_begins(daemons, name):
    client = await (await daemons()).client()
    error = await client.fails("UpstreamUnknown", "subscribe", upstream=name)
    assert error.message == f"No upstream is called '{name}'; give a configured name, or a URL with its scheme, as in http://localhost:3000."


async def test_a_configured_upstream_is_used_by_its_name(daemons, server):
    daemon = await daemons({"upstream": {"chat": {"url": server.url}}})
    client = await daemon.client()
    assert (await client.call("request", upstream="chat", event="echo", args=[1]))["args"] == [1]
    connection = await daemon.connection()
    assert (connection["upstream"], connection["namespace"]) == ("chat", "/")


async def test_the_url_of_a_configured_upstream_means_that_upstream(daemons, server):
    daemon = await daemons({"upstream": {"chat": {"url": server.url}}})
    client = await daemon.client()
    await client.call("request", url=server.url, event="echo", args=[1])
    await client.call("request", upstream="chat", event="echo", args=[1])
    assert (await daemon.connection())["upstream"] == "chat"
    assert (await server.counters())["links"] == 1


async def test_the_url_of_two_configured_upstreams_is_a_conflict(daemons, peer):
    daemon = await daemons(configured(peer, peer))
    client = await daemon.client()
    await client.fails("Conflict", "subscribe", url=peer.url)


async def test_the_path_of_a_url_is_the_namespace(daemons, server):
    daemon = await daemons()
    client = await daemon.client()
    await client.call("request", url=server.url + "/chat", event="echo")
    assert (await server.received(1))[0]["namespace"] == "/chat"
    assert (await daemon.connection())["namespace"] == "/chat"


async def test_the_path_of_a_configured_url_is_its_namespace(daemons, server):
    daemon = await daemons({"upstream": {"chat": {"url": server.url + "/chat"}}})
    client = await daemon.client()
    await client.call("request", upstream="chat", event="echo")
    assert (await server.received(1))[0]["namespace"] == "/chat"


async def test_a_namespace_may_be_named_beside_the_target(daemons, server):
    daemon = await daemons({"upstream": {"chat": {"url": server.url}}})
    client = await daemon.client()
    await client.call("request", upstream="chat", namespace="/admin", event="echo")
    await client.call("request", url=server.url, namespace="/chat", event="echo")
    assert (await server.counters())["links"] == 1
    await client.call("request", url=server.url + "/chat", namespace="/chat", event="echo")
    assert [one["namespace"] for one in await server.received(3)] == ["/admin", "/chat", "/chat"]


async def test_a_namespace_may_hold_spaces(daemons, server):
    client = await (await daemons()).client()
    await client.call("request", url=server.url, namespace="/name with space", event="echo")
    assert (await server.received(1))[0]["namespace"] == "/name with space"


async def test_equal_urls_written_differently_are_one_connection(daemons, chat):
    daemon = await daemons()
    client = await daemon.client()
    for url in (chat.url, chat.url + "/", chat.url.replace("http", "HTTP")):
        await client.call("request", url=url, event="echo")
    assert (await chat.counters())["links_ever"] == 1
    await daemon.connection()


async def test_another_query_is_another_link(daemons, chat):
    daemon = await daemons()
    client = await daemon.client()
    for query in ("?room=1", "?room=2", "?room=1"):
        await client.call("request", url=chat.url + query, event="echo")
    assert (await chat.counters())["links"] == 2
    assert ["room=1" in one["query"] for one in await chat.joined(2)] == [True, False]


async def test_another_auth_is_another_connection(daemons, chat):
    daemon = await daemons()
    client = await daemon.client()
    for number in (1, 2, 1):
        await client.call("request", url=chat.url, auth={"user": number}, event="echo")
    await client.call("request", url=chat.url, event="echo")
    joined = await chat.joined(3)
    assert [one["auth"] for one in joined][:2] == [{"user": 1}, {"user": 2}]
    assert len(joined) == 3 and not joined[2]["auth"]


async def test_an_auth_object_goes_into_the_connect_packet(daemons, peer):
    client = await (await daemons()).client()
    await client.raw(b'{"jsonrpc":"2.0","id":0,"method":"subscribe","params":{"url":"%s/x","auth":{"b":1.50,"a":"\\u00e9"}}}\n'
                     % peer.url.encode())
    link = await peer.link()
    await link.upgrade()
    assert "token" not in link.request.target
    await link.open()
    assert await link.accept(namespace="/x") == '{"b":1.50,"a":"\\u00e9"}'


async def test_without_auth_the_connect_packet_is_bare(daemons, peer):
    client = await (await daemons()).client()
    await client.call("subscribe", url=peer.url)
    link = await peer.link()
    await link.upgrade()
    await link.open()
    assert await link.accept() in ("", "{}")


async def test_a_configured_upstream_brings_its_auth_headers_query_and_path(daemons, servers):
    server = await servers("eio4", "--path", "deep/er")
    daemon = await daemons({"upstream": {"chat": {
        "url": server.url + "/auth", "path": "/deep/er/", "auth": {"token": "let-me-in"},
        "headers": {"X-Team": "a b"}, "query": {"v": "2 &=?ä"}}}})
    client = await daemon.client()
    assert (await client.call("request", upstream="chat", event="echo", args=[1]))["args"] == [1]
    (joined,) = await server.joined()
    assert joined["auth"] == {"token": "let-me-in"}
    assert joined["headers"]["x_team"] == "a b"
    assert parse_qs(joined["query"])["v"] == ["2 &=?ä"]


@pytest.mark.parametrize("text, auth", [
    ('{"token":"let-me-in"}', {"token": "let-me-in"}), ("let-me-in\n", {"token": "let-me-in"})])
async def test_credentials_can_be_read_from_a_file(daemons, chat, folder, text, auth):
    secret = folder / "token"
    secret.write_text(text)
    daemon = await daemons({"upstream": {"chat": {"url": chat.url + "/auth", "auth_file": str(secret)}}})
    client = await daemon.client()
    await client.call("request", upstream="chat", event="echo")
    assert (await chat.joined())[0]["auth"] == auth


async def test_a_credentials_file_is_read_again_at_each_connect(daemons, chat, folder):
    secret = folder / "token"
    secret.write_text("wrong")
    daemon = await daemons({"upstream": {"chat": {"url": chat.url + "/auth", "auth_file": str(secret)}}})
    client = await daemon.client()
    await client.fails("UpstreamRefused", "request", upstream="chat", event="echo")
    secret.write_text("let-me-in")
    pending = client.post("request", upstream="chat", event="echo", args=[1])
    assert (await client.result(pending))["args"] == [1]


async def test_missing_credentials_are_the_reason_auth(daemons, chat, folder):
    daemon = await daemons({"upstream": {"chat": {"url": chat.url, "auth_file": str(folder / "nowhere")}}})
    client = await daemon.client()
    await client.call("subscribe", upstream="chat", state=True)
    assert (await client.state_until("disconnected"))[-1]["reason"] == "auth"
    assert (await chat.counters())["namespaces"] == 0


async def test_without_adhoc_only_configured_upstreams_are_used(daemons, chat):
    daemon = await daemons({"defaults": {"adhoc": False}, "upstream": {"chat": {"url": chat.url}}})
    client = await daemon.client()
    reply = await client.exchange(
        b'{"jsonrpc":"2.0","id":0,"method":"subscribe","params":{"url":"http://127.0.0.1:1"}}')
    assert reply["error"]["data"]["type"] in ("PermissionDenied", "UpstreamUnknown")
    await client.call("request", url=chat.url, event="echo")


async def test_the_name_localhost_works_as_an_address_does(daemons, chat):
    client = await (await daemons()).client()
    await client.call("request", url=chat.url.replace("127.0.0.1", "localhost"), event="echo")


async def test_an_ipv6_address_works_in_brackets(daemons, servers, ipv6):
    server = await servers("eio4", "--host", "::1")
    client = await (await daemons()).client()
    await client.call("request", url=f"http://[::1]:{server.port}", event="echo")
