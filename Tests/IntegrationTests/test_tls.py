"""TLS to the upstream: what is trusted, and how it shows when it is not."""


async def secure(servers, authority, name="server", *arguments):
    server = await servers("eio4", "--cert", authority / f"{name}.pem", "--key", authority / f"{name}.key", *arguments)
    return server, f"https://127.0.0.1:{server.port}"


async def reason(daemon):
    client = await daemon.client()
    await client.call("subscribe", upstream="chat", state=True)
    return (await client.state_until("disconnected"))[-1]


async def test_a_certificate_of_the_configured_authority_is_trusted(daemons, servers, authority):
    server, url = await secure(servers, authority)
    daemon = await daemons({"upstream": {"chat": {"url": url, "tls": {"ca": str(authority / "ca.pem")}}}})
    client = await daemon.client()
    await client.call("subscribe", upstream="chat")
    assert (await client.call("request", upstream="chat", event="echo", args=["x" * 100_000]))["args"] == ["x" * 100_000]
    await server.burst("tick", 200)
    await client.events(200)
    connection = await daemon.connection()
    assert connection["tls"] == "TLSv1.3" and connection["verified"] is True


async def test_an_unknown_authority_is_the_reason_tls(daemons, servers, authority):
    server, url = await secure(servers, authority)
    for ca in ({}, {"tls": {"ca": str(authority / "stranger.pem")}}):
        daemon = await daemons({"upstream": {"chat": {"url": url, **ca}}})
        state = await reason(daemon)
        assert state["reason"] == "tls" and state["detail"]
    assert (await server.counters())["links_ever"] == 0


async def test_a_certificate_of_another_host_is_the_reason_tls(daemons, servers, authority):
    server, url = await secure(servers, authority, "elsewhere")
    daemon = await daemons({"upstream": {"chat": {"url": url, "tls": {"ca": str(authority / "ca.pem")}}}})
    assert (await reason(daemon))["reason"] == "tls"


async def test_the_name_in_the_certificate_can_be_configured(daemons, servers, authority):
    server, url = await secure(servers, authority, "elsewhere")
    tls = {"ca": str(authority / "ca.pem"), "server_name": "elsewhere.example"}
    daemon = await daemons({"upstream": {"chat": {"url": url, "tls": tls}}})
    assert (await (await daemon.client()).call("request", upstream="chat", event="echo", args=[1]))["args"] == [1]


async def test_verification_that_is_off_shows(daemons, servers, authority):
    server, url = await secure(servers, authority)
    daemon = await daemons({"upstream": {"chat": {"url": url, "tls": {"verify": False}}}})
    assert (await (await daemon.client()).call("request", upstream="chat", event="echo", args=[1]))["args"] == [1]
    connection = await daemon.connection()
    assert connection["verified"] is False and connection["tls"]


async def test_a_client_certificate_is_shown_to_a_server_that_wants_one(daemons, servers, authority):
    server, url = await secure(servers, authority, "server", "--client-ca", authority / "ca.pem")
    ca = {"ca": str(authority / "ca.pem")}
    own = {"cert": str(authority / "client.pem"), "key": str(authority / "client.key")}
    daemon = await daemons({"upstream": {"chat": {"url": url, "tls": {**ca, **own}}}})
    assert (await (await daemon.client()).call("request", upstream="chat", event="echo", args=[1]))["args"] == [1]
    daemon = await daemons({"upstream": {"chat": {"url": url, "tls": ca}}})
    assert (await reason(daemon))["reason"] in ("tls", "closed")


async def test_a_plain_server_behind_https_is_the_reason_tls(daemons, chat):
    daemon = await daemons({"upstream": {"chat": {"url": chat.url.replace("http", "https")}}})
    assert (await reason(daemon))["reason"] in ("tls", "closed")


async def test_a_tls_server_behind_http_is_no_handshake(daemons, servers, authority):
    server, url = await secure(servers, authority)
    daemon = await daemons({"upstream": {"chat": {"url": url.replace("https", "http")}}})
    assert (await reason(daemon))["reason"] in ("http", "closed", "protocol", "incompatible")


async def test_a_tls_connection_survives_a_restart_of_the_server(daemons, servers, authority):
    server, url = await secure(servers, authority)
    daemon = await daemons({"upstream": {"chat": {"url": url, "tls": {"ca": str(authority / "ca.pem")}}}})
    client = await daemon.client()
    await client.call("request", upstream="chat", event="echo")
    await server.stop()
    pending = client.post("request", upstream="chat", event="echo", args=["late"])
    await server.start()
    message = await pending
    if "error" in message:
        assert message["error"]["data"]["type"] == "AckLost"
    assert (await client.call("request", upstream="chat", event="echo", args=[2]))["args"] == [2]
