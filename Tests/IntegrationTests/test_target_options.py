"""What a program says of a URL that the configuration does not have: path, headers, query, TLS."""

import pathlib
from urllib.parse import parse_qs

import pytest

from users import ALICE, client_as

OPTIONS = {"path": "/chat/", "headers": {"X-Team": "red-team"}, "query": {"room": "blue room"}}


async def test_path_headers_and_query_of_a_url_reach_the_server(daemons, servers):
    server = await servers("eio4", "--path", "chat")
    client = await (await daemons()).client()
    reply = await client.call("request", url=server.url, options=OPTIONS, event="echo", args=[1])
    assert reply["args"] == [1]
    joined = (await server.joined())[0]
    assert joined["headers"]["x_team"] == "red-team"
    assert parse_qs(joined["query"])["room"] == ["blue room"]


async def test_equal_options_share_a_connection_and_others_do_not(daemons, servers):
    server = await servers("eio4", "--path", "chat")
    daemon = await daemons()
    for options in (OPTIONS, dict(reversed(OPTIONS.items())), {**OPTIONS, "tls": None}):
        await (await daemon.client()).call("request", url=server.url, options=options, event="echo")
    assert (await server.counters())["links"] == 1
    await (await daemon.client()).call(
        "request", url=server.url, options={**OPTIONS, "headers": {"X-Team": "blue"}}, event="echo")
    assert (await server.counters())["links"] == 2


async def test_options_are_shown_without_secrets(daemons, servers, authority):
    server = await servers("eio4", "--path", "chat")
    daemon = await daemons()
    client = await daemon.client()
    pem = pathlib.Path(authority / "ca.pem").read_text()
    await client.call("subscribe", url=server.url, options={**OPTIONS, "tls": {"ca": pem, "verify": False}})
    connection = await daemon.connection()
    assert connection["options"] == {
        "path": "/chat/", "headers": {"X-Team": "***"}, "query": {"room": "***"},
        "tls": {"ca": f"PEM text of {len(pem)} bytes", "verify": False}}
    assert "red-team" not in daemon.text() and "blue room" not in daemon.text()


@pytest.mark.parametrize("options, words", [
    ({"path": "chat"}, 'options.path must be the path of a request such as "/socket.io/", not "chat".'),
    ({"pth": "/chat/"}, 'options has no setting "pth", did you mean "path"?.'),
    ({"proxy": "none"}, 'options has no setting "proxy", it belongs to [defaults] or [upstream.NAME].'),
    ({"headers": {"Host": "a"}}, "options.headers.Host is a header that the connection itself sets."),
    ({"headers": {"A": {"file": "/etc/shadow"}}}, "options.headers.A must be a string, not a table."),
    ({"query": {"a": {"command": ["id"]}}}, "options.query.a must be a string, not a table."),
    ({"tls": {"ca": "/etc/shadow"}},
     "options.tls.ca must be the text of a PEM file with certificates, and not its path or anything else."),
    ({"tls": {"key": "/etc/key"}}, 'options.tls has no setting "key".'),
    ({"headers": {"A": "x" * 20_000}}, 'The param "options" may have 16384 bytes at most.'),
    ({"query": {"EIO": "4"}}, "The upstream cannot be used: the query parameter EIO is used by the connection itself."),
])
async def test_options_are_refused_in_the_words_of_the_configuration(daemons, peer, options, words):
    client = await (await daemons()).client()
    error = await client.fails("InvalidParams", "subscribe", url=peer.url, options=options)
    assert error.message == words


async def test_options_mean_nothing_for_a_configured_upstream(daemons, peer):
    client = await (await daemons({"upstream": {"chat": {"url": peer.url}}})).client()
    error = await client.fails("InvalidParams", "subscribe", upstream="chat", options={"path": "/chat/"})
    assert error.message == 'The param "options" goes with "url" only; "chat" has its settings in the configuration.'
    error = await client.fails("InvalidParams", "subscribe", url=peer.url, options={"path": "/chat/"})
    assert error.message == ("`options` is not allowed here: the URL is that of the configured upstream 'chat', "
                             "which has settings of its own; leave it out.")


async def test_a_setting_of_another_kind_of_upstream_is_refused(daemons, peer):
    client = await (await daemons()).client()
    error = await client.fails("InvalidParams", "subscribe", url="raw+" + peer.url.replace("http", "ws", 1),
                               options={"path": "/chat/"})
    assert error.message == "options.path means nothing for an upstream of raw+ws://; leave it out."


async def test_the_authority_of_a_program_is_trusted_for_its_connection_alone(daemons, servers, authority):
    server = await servers("eio4", "--cert", authority / "server.pem", "--key", authority / "server.key")
    url = f"https://127.0.0.1:{server.port}"
    client = await (await daemons()).client()
    pem = pathlib.Path(authority / "ca.pem").read_text()
    assert (await client.call("request", url=url, options={"tls": {"ca": pem}}, event="echo", args=[1]))["args"] == [1]
    assert (await client.call("request", url=url, options={"tls": {"verify": False}}, event="echo", args=[2]))["args"] == [2]
    for options in ({}, {"tls": {"ca": pathlib.Path(authority / "stranger.pem").read_text()}}):
        await client.fails("UpstreamDown", "request", url=url, options=options, event="echo", no_queue=True)
        await client.call("subscribe", url=url, options=options, state=True, subscription="s")
        assert (await client.state_until("disconnected"))[-1]["reason"] == "tls"


async def test_the_configuration_takes_the_text_of_an_authority(daemons, servers, authority):
    server = await servers("eio4", "--cert", authority / "server.pem", "--key", authority / "server.key")
    pem = pathlib.Path(authority / "ca.pem").read_text()
    daemon = await daemons({"upstream": {"chat": {"url": f"https://127.0.0.1:{server.port}", "tls": {"ca": pem}}}})
    assert (await (await daemon.client()).call("request", upstream="chat", event="echo", args=[1]))["args"] == [1]


async def test_a_durable_send_comes_back_after_a_kill_with_its_options(daemons, servers):
    server = await servers("eio4", "--path", "chat")
    daemon = await daemons()
    client = await daemon.client()
    await server.stop()
    options = {"path": "/chat/", "tls": {"verify": False}}
    await client.call("send", url=server.url, options=options, event="echo", args=[7], delivery="durable")
    await daemon.crash()
    await daemon.start()
    client = await daemon.client()
    entry, = (await client.call("outbox.list", url=server.url))["entries"]
    assert entry["options"] == options
    assert (await client.call("outbox.list", url=server.url, options={"path": "/other/"}))["entries"] == []
    await server.start()
    assert (await server.received(1, "echo"))[0]["args"] == [7]


@pytest.mark.parametrize("secret", [{"headers": {"A": "b"}}, {"query": {"a": "b"}}])
async def test_a_durable_send_writes_no_secret_of_its_options_to_the_disk(daemons, peer, secret):
    client = await (await daemons()).client()
    error = await client.fails(
        "InvalidParams", "send", url=peer.url, options={"path": "/chat/", **secret}, event="e", delivery="durable")
    assert error.message == ("A durable send cannot have `headers` or `query` in its `options`, which would have to be "
                             "written to the disk; configure an upstream for it.")


async def test_options_of_a_url_outlive_a_reload(daemons, servers):
    server = await servers("eio4", "--path", "chat")
    daemon = await daemons({"defaults": {"linger": "1m"}})
    client = await daemon.client()
    await client.call("subscribe", url=server.url, options=OPTIONS)
    await client.call("wait", url=server.url, options=OPTIONS, state="connected", timeout=5_000)
    daemon.configure({"defaults": {"linger": "2m"}})
    await client.call("reload")
    assert [one["headers"]["x_team"] for one in await server.joined(2)] == ["red-team"] * 2


async def test_a_connection_is_looked_at_by_its_id_with_what_it_was_made_with(daemons, servers):
    server = await servers("eio4", "--path", "chat")
    daemon = await daemons()
    client = await daemon.client()
    target = {"url": server.url, "namespace": "/auth", "auth": {"token": "let-me-in"}, "options": OPTIONS}
    made = await client.call("subscribe", **target)
    report = await client.call("doctor", connection=made["connection"], timeout=20_000)
    assert report["verdict"] in ("ok", "warning"), report
    await client.call("trace", connection=made["connection"])
    await client.call("request", **target, event="echo", args=[1])
    while "EVENT echo" not in (await client.note("trace"))[1]["text"]:
        pass
    assert len((await daemon.status())["connections"]) == 1


@pytest.mark.parametrize("method", ["doctor", "trace"])
async def test_a_connection_that_is_not_there_cannot_be_looked_at(daemons, peer, method):
    client = await (await daemons()).client()
    error = await client.fails("InvalidParams", method, connection="none")
    assert error.message == "There is no connection with the id 'none'; `status` lists those that there are."
    error = await client.fails("InvalidParams", method, connection="none", url=peer.url)
    assert error.message == f'"{method}" takes either "connection" or what names an upstream, not both.'


@pytest.mark.root
async def test_a_connection_by_url_of_another_user_cannot_be_looked_at_by_its_id(daemons, peer):
    daemon = await daemons({"socket": {"mode": "0666"}})
    made = await (await client_as(daemon, ALICE)).call("subscribe", url=peer.url)
    administrator = await daemon.client()
    assert (await daemon.connection())["connection"] == made["connection"]
    error = await administrator.fails("InvalidParams", "doctor", connection=made["connection"])
    assert error.message == (
        f"The connection '{made['connection']}' is one by URL of another user, whose programs alone can look at it so.")
