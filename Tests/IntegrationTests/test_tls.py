"""TLS to the upstream: what is trusted, and how it shows when it is not."""

import asyncio
import base64
import contextlib
import hashlib
import os
import socket
import ssl
import subprocess

import pytest


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
    # The server hangs up behind the handshake of TLS 1.3, which the client has finished before it is looked at.
    assert (await reason(daemon))["reason"] == "closed"


async def test_a_plain_server_behind_https_is_the_reason_tls(daemons, chat):
    daemon = await daemons({"upstream": {"chat": {"url": chat.url.replace("http", "https")}}})
    state = await reason(daemon)
    words = f"127.0.0.1:{chat.port} does not speak TLS: use ws:// or http:// if that is meant"
    assert (state["reason"], state["detail"]) == ("tls", words)


async def test_a_tls_server_behind_http_hangs_up(daemons, servers, authority):
    server, url = await secure(servers, authority)
    daemon = await daemons({"upstream": {"chat": {"url": url.replace("https", "http")}}})
    state = await reason(daemon)
    words = "the server closed the connection before it answered the WebSocket handshake"
    assert (state["reason"], state["detail"]) == ("closed", words)


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


async def test_a_pipe_in_a_certificates_place_does_not_stop_the_daemon(daemons, servers, authority, folder):
    _, url = await secure(servers, authority)
    file = folder / "ca.pem"
    file.write_bytes((authority / "ca.pem").read_bytes())
    daemon = await daemons({"upstream": {"chat": {"url": url, "tls": {"ca": str(file)}}}})
    file.unlink()
    os.mkfifo(file)
    words = f"a certificate or key file cannot be used: {file} is not a regular file"
    state = await reason(daemon)
    assert (state["reason"], state["detail"]) == ("tls", words)
    await (await daemon.client()).call("ping")


# Each with a sentence of its own

def pin(certificate):
    """The hash of a certificate's public key as `tls.pins` wants it."""
    key = subprocess.run(["openssl", "x509", "-in", certificate, "-noout", "-pubkey"], check=True, capture_output=True)
    der = subprocess.run(["openssl", "pkey", "-pubin", "-outform", "der"], input=key.stdout, check=True,
                         capture_output=True)
    return "sha256//" + base64.b64encode(hashlib.sha256(der.stdout).digest()).decode()


@pytest.mark.parametrize("name, words", [
    ("expired", "the certificate of {place} was not accepted: certificate has expired"),
    ("alone", "the certificate of {place} was not accepted: self-signed certificate"),
])
async def test_what_is_wrong_with_a_certificate_is_told(daemons, servers, authority, name, words):
    server, url = await secure(servers, authority, name)
    daemon = await daemons({"upstream": {"chat": {"url": url, "tls": {"ca": str(authority / "ca.pem")}}}})
    state = await reason(daemon)
    assert (state["reason"], state["detail"]) == ("tls", words.format(place=f"127.0.0.1:{server.port}"))


async def test_the_host_that_a_certificate_is_not_for_is_told(daemons, servers, authority):
    _, url = await secure(servers, authority, "elsewhere")
    daemon = await daemons({"upstream": {"chat": {"url": url, "tls": {"ca": str(authority / "ca.pem")}}}})
    state = await reason(daemon)
    assert state["reason"] == "tls" and "matches target" in state["detail"], state["detail"]


async def test_a_pinned_key_is_accepted_and_another_one_told(daemons, servers, authority):
    server, url = await secure(servers, authority)
    tls = {"ca": str(authority / "ca.pem"), "pins": [pin(authority / "client.pem"), pin(authority / "server.pem")]}
    daemon = await daemons({"upstream": {"chat": {"url": url, "tls": tls}}})
    assert (await (await daemon.client()).call("request", upstream="chat", event="echo", args=[1]))["args"] == [1]
    tls["pins"].pop()
    daemon = await daemons({"upstream": {"chat": {"url": url, "tls": tls}}})
    state = await reason(daemon)
    words = f"the public key of 127.0.0.1:{server.port} is none of those in tls.pins"
    assert (state["reason"], state["detail"]) == ("tls", words)


async def test_a_key_with_a_password_is_opened_by_the_password_of_that_moment(daemons, servers, authority, folder):
    _, url = await secure(servers, authority, "server", "--client-ca", authority / "ca.pem")
    file = folder / "password"
    file.write_text("wrong\n")
    file.chmod(0o644)
    key = str(authority / "locked.key")
    tls = {"ca": str(authority / "ca.pem"), "cert": str(authority / "client.pem"), "key": key}
    daemon = await daemons({"upstream": {"chat": {"url": url, "tls": tls}}})
    state = await reason(daemon)
    words = f"the key file {key} needs a password: tls.key_password or tls.key_password_file"
    assert (state["reason"], state["detail"]) == ("tls", words)
    daemon = await daemons({"upstream": {"chat": {"url": url, "tls": {**tls, "key_password_file": str(file)}}}})
    state = await reason(daemon)
    assert (state["reason"], state["detail"]) == ("tls", f"the password does not open the key file {key}")
    file.write_text("open sesame\n")
    assert (await (await daemon.client()).call("request", upstream="chat", event="echo", args=[1]))["args"] == [1]
    daemon = await daemons({"upstream": {"chat": {"url": url, "tls": {**tls, "key_password": "open sesame"}}}})
    assert (await (await daemon.client()).call("request", upstream="chat", event="echo", args=[1]))["args"] == [1]
    assert "sesame" not in daemon.text()


async def test_a_version_of_tls_that_is_too_old_is_told(daemons, authority):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority / "server.pem", authority / "server.key")
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    listener = socket.create_server(("127.0.0.1", 0))

    def refuse():
        # Asyncio hangs up without the alert that says why.
        with contextlib.suppress(ssl.SSLError):
            context.wrap_socket(listener.accept()[0], server_side=True).close()

    refusing = asyncio.ensure_future(asyncio.to_thread(refuse))
    place = f"127.0.0.1:{listener.getsockname()[1]}"
    tls = {"ca": str(authority / "ca.pem"), "min_version": "1.3"}
    daemon = await daemons({"upstream": {"chat": {"url": f"https://{place}", "tls": tls}}})
    state = await reason(daemon)
    await refusing
    listener.close()
    words = f"{place} speaks no version of TLS that is allowed here, which is 1.3 or later"
    assert (state["reason"], state["detail"]) == ("tls", words)
