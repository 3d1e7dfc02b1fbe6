"""Proxies on the way to a server: what goes through them, and what is said when nothing does."""


import pytest

LOGIN = ("us-er", "p4ss-w0rd")
KINDS = ["http", "socks5", "socks5h"]
TRANSPORTS = ["websocket", "polling"]


async def down(daemon):
    """The reason and the detail of a failed attempt."""
    client = await daemon.client()
    await client.call("subscribe", upstream="chat", state=True)
    state = (await client.state_until("disconnected"))[-1]
    return state["reason"], state["detail"]


async def works(daemon):
    client = await daemon.client()
    assert (await client.call("request", upstream="chat", event="echo", args=[1]))["args"] == [1]
    return await daemon.connection()


def upstream(url, **settings):
    return {"upstream": {"chat": {"url": url, **settings}}}


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("tls", ["no", "yes"])
@pytest.mark.parametrize("kind", KINDS)
async def test_everything_goes_through_the_proxy(daemons, servers, proxies, authority, kind, tls, transport):
    arguments, settings = [], {}
    if tls == "yes":
        arguments = ["--cert", authority / "server.pem", "--key", authority / "server.key"]
        settings = {"tls": {"ca": str(authority / "ca.pem")}}
    chat = await servers("eio4", *arguments)
    proxy = await proxies(kind, login=LOGIN)
    url = f"{'https' if tls == 'yes' else 'http'}://localhost:{chat.port}"
    daemon = await daemons(upstream(url, proxy=proxy.url(scheme=kind), transports=[transport], **settings))
    connection = await works(daemon)
    assert connection["proxy"] == proxy.place and connection["transport"] == transport
    host = "localhost" if kind != "socks5" else proxy.targets[0][0]
    assert proxy.targets[0] == (host, chat.port) and proxy.bytes > 300 and not proxy.refused
    assert LOGIN[1] not in daemon.text() and LOGIN[0] not in daemon.text()


async def test_without_a_proxy_none_is_shown(daemons, chat):
    daemon = await daemons(upstream(chat.url, proxy="none"), environment={"http_proxy": "http://127.0.0.1:1"})
    assert (await works(daemon))["proxy"] is None


async def test_the_environment_names_the_proxy(daemons, chat, proxies):
    proxy = await proxies("http", login=LOGIN)
    daemon = await daemons(upstream(chat.url), environment={"http_proxy": proxy.url(), "no_proxy": "elsewhere"})
    assert (await works(daemon))["proxy"] == proxy.place
    assert proxy.targets == [("127.0.0.1", chat.port)]


async def test_the_environment_names_what_needs_no_proxy(daemons, chat, proxies):
    proxy = await proxies("http")
    daemon = await daemons(upstream(chat.url), environment={"http_proxy": proxy.url(), "no_proxy": "127.0.0.0/8"})
    assert (await works(daemon))["proxy"] is None
    assert proxy.targets == []


async def test_the_configuration_names_what_needs_no_proxy(daemons, chat, proxies):
    proxy = await proxies("http")
    daemon = await daemons({"defaults": {"proxy": proxy.url()},
                            **upstream(chat.url, no_proxy=["127.0.0.1"])})
    assert (await works(daemon))["proxy"] is None
    assert proxy.targets == []


async def test_the_password_in_a_file_is_read_at_each_connect(daemons, chat, proxies, folder):
    proxy = await proxies("http", login=LOGIN)
    file = folder / "password"
    file.write_text("old\n")
    file.chmod(0o644)
    daemon = await daemons(upstream(chat.url, proxy=f"http://{LOGIN[0]}@{proxy.place}", proxy_password_file=str(file)))
    reason, detail = await down(daemon)
    assert reason == "unreachable" and "HTTP 407" in detail
    file.write_text(LOGIN[1] + "\n")
    await works(daemon)


@pytest.mark.parametrize("kind, options, words", [
    ("http", {"login": LOGIN}, "wants a user and a password, or others than the configured ones (HTTP 407)"),
    ("http", {"refusal": "403 Forbidden"}, "refused to open the way to {server} (HTTP 403)"),
    ("socks5h", {"login": LOGIN}, "wants a user and a password"),
    ("socks5h", {"refusal": 2}, "did not open the way to {server}: its rules do not allow it"),
    ("socks5h", {"refusal": 5}, "did not open the way to {server}: the connection was refused"),
])
async def test_a_refusal_of_the_proxy_is_told_as_its_own(daemons, chat, proxies, kind, options, words):
    proxy = await proxies(kind, **options)
    daemon = await daemons(upstream(chat.url, proxy=f"{kind}://{proxy.place}"))
    server = f"127.0.0.1:{chat.port}"
    assert await down(daemon) == ("unreachable", f"the proxy {proxy.place} {words.format(server=server)}")
    assert (await chat.counters())["links_ever"] == 0


async def test_a_wrong_login_is_told_and_shows_no_password(daemons, chat, proxies):
    proxy = await proxies("socks5h", login=LOGIN)
    daemon = await daemons(upstream(chat.url, proxy=proxy.url(login=("us-er", "wr0ng"))))
    assert await down(daemon) == ("unreachable", f"the proxy {proxy.place} did not accept the user and the password")
    assert "wr0ng" not in daemon.text()


async def test_a_proxy_that_is_not_there_is_told(daemons, chat, closed_port):
    daemon = await daemons(upstream(chat.url, proxy=f"http://127.0.0.1:{closed_port}"))
    assert await down(daemon) == ("unreachable", f"no connection to the proxy 127.0.0.1:{closed_port}: connection refused")


async def test_a_proxy_that_is_silent_is_a_timeout_of_its_own(daemons, chat, peer):
    daemon = await daemons(upstream(chat.url, proxy=f"http://127.0.0.1:{peer.port}", handshake="300ms"))
    words = f"the proxy 127.0.0.1:{peer.port} did not open the way to 127.0.0.1:{chat.port} within 300 ms"
    assert await down(daemon) == ("timeout", words)


async def test_a_proxy_whose_answer_has_no_end_is_given_up_at_its_limit(daemons, chat, peer):
    async def endless(link):
        await link.read_request()
        await link.raw("HTTP/1.1 200 OK\r\n")
        while not link.writer.is_closing():
            await link.raw("X-Header: and more of it\r\n" * 1_000)

    peer.script = endless
    daemon = await daemons(upstream(chat.url, proxy=f"http://127.0.0.1:{peer.port}"))
    words = f"the proxy 127.0.0.1:{peer.port} answered with a header longer than 16 KiB"
    assert await down(daemon) == ("unreachable", words)


@pytest.mark.parametrize("transport", ["websocket", "polling"])
@pytest.mark.parametrize("length, piece", [
    ("Content-Length: 1000000000000", "x" * 65_536), ("Transfer-Encoding: chunked", "1\r\nx\r\n" * 10_000)])
async def test_a_proxy_whose_refusal_has_no_end_is_given_up_at_its_head(daemons, chat, peer, transport, length, piece):
    async def endless(link):
        await link.read_request()
        await link.raw(f"HTTP/1.1 407 Proxy Authentication Required\r\n{length}\r\n\r\n")
        while not link.writer.is_closing():
            await link.raw(piece)

    peer.script = endless
    daemon = await daemons(upstream(chat.url, proxy=f"http://127.0.0.1:{peer.port}", transports=[transport]))
    words = f"the proxy 127.0.0.1:{peer.port} wants a user and a password, or others than the configured ones (HTTP 407)"
    assert await down(daemon) == ("unreachable", words)


async def test_a_reload_that_changes_the_proxy_changes_the_way(daemons, chat, proxies):
    first, second = await proxies("http"), await proxies("socks5h")
    daemon = await daemons(upstream(chat.url, proxy=first.url()))
    await works(daemon)
    daemon.configure(upstream(chat.url, proxy=second.url()))
    await (await daemon.client()).call("reload")
    assert (await works(daemon))["proxy"] == second.place and second.targets == first.targets
