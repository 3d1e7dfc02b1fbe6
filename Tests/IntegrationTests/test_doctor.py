"""Each broken set-up has its own verdict, and an advice; nothing of it disturbs the shared connection."""

import asyncio
import contextlib
import json
import pathlib
import re
import subprocess

import pytest
from relay import Relay


@pytest.fixture
async def speaker():
    """Makes servers that say what the test wants: `await speaker(script)`, where script takes reader and writer."""
    made = []

    async def make(script):
        async def serve(reader, writer):
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                await script(reader, writer)
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        made.append(server)
        return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    yield make
    for server in made:
        server.close()


def answering(response):
    """Answers every HTTP request alike; `response` may be a function of the request's head."""
    async def script(reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        status, headers, body = response(head.decode()) if callable(response) else response
        writer.write(f"HTTP/1.1 {status}\r\n{headers}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode())
        await writer.drain()
    return script


async def examine(daemon, **params):
    """The result of `doctor`, with what came as progress on the way checked against it."""
    client = await daemon.client()
    pending = client.post("doctor", **params)
    result = await client.result(pending, seconds=30)
    told = []
    with contextlib.suppress(IndexError):
        while any(name == "progress" for name, _ in client.notes):
            told += (await client.note("progress"))[1]["args"]
    assert told == result["steps"]
    for step in result["steps"]:
        assert step["code"].split(".")[0] == step["step"] and step["seen"].endswith("."), step
        assert step["verdict"] in ("ok", "warning", "failed", "skipped"), step
        assert step["advice"] or step["verdict"] in ("ok", "skipped"), step
    return result


def ending(result):
    """The code of the last step, which is the first that failed."""
    assert result["verdict"] == "failed", result
    assert [step["verdict"] for step in result["steps"]].count("failed") == 1, result
    return next(step for step in result["steps"] if step["verdict"] == "failed")["code"]


def codes(result):
    return [step["code"] for step in result["steps"]]


async def test_a_sound_server_is_sound_all_the_way(daemons, chat):
    daemon = await daemons()
    result = await examine(daemon, url=chat.url)
    assert result["verdict"] == "ok"
    assert codes(result) == ["name.ok", "tcp.ok", "proxy.none", "tls.none", "http.ok", "engine.ok", "websocket.ok",
                             "sticky.ok", "namespace.ok", "auth.none", "round_trip.ok"]


async def test_an_old_server_is_fine_but_said(daemons, servers):
    server = await servers("eio3")
    result = await examine(await daemons(), url=server.url)
    assert result["verdict"] == "ok" and "engine.three" in codes(result), result
    assert "Socket.IO 1 or 2" in result["steps"][5]["advice"]


async def test_a_name_that_does_not_exist(daemons):
    assert ending(await examine(await daemons(), url="http://no-such-host.invalid")) == "name.unknown"


async def test_a_closed_port(daemons, peer):
    await peer.refuse()
    assert ending(await examine(await daemons(), url=peer.url)) == "tcp.refused"


async def test_a_plain_websocket_server_is_told_its_scheme(daemons, speaker, ctl):
    daemon = await daemons()
    url = await speaker(answering(("426 Upgrade Required", "", "Upgrade, please.\r\n")))
    result = await examine(daemon, url=url)
    assert ending(result) == "http.unexpected"
    advice = "For a plain WebSocket write raw+ws:// in the URL, with TLS raw+wss://."
    assert result["steps"][-1]["advice"].endswith(advice)
    outcome = await ctl(daemon, "doctor", url)
    assert outcome.code == 76 and advice.removesuffix(".") in outcome.err


async def test_something_that_speaks_no_http(daemons, speaker):
    async def greet(reader, writer):
        writer.write(b"SSH-2.0-OpenSSH_9.2\r\n")
        await writer.drain()
        await reader.read(1_000)
    assert ending(await examine(await daemons(), url=await speaker(greet))) == "http.foreign"


@pytest.mark.parametrize("response, code", [
    (("200 OK", "Content-Type: text/html\r\n", "<!DOCTYPE html><p>hello"), "http.web_page"),
    (("302 Found", "Location: https://login.example/in?next=secret\r\n", ""), "http.redirect"),
    (("401 Unauthorized", "", "who are you"), "http.forbidden"),
    (("404 Not Found", "", "nothing here"), "http.path"),
    (("503 Service Unavailable", "", ""), "http.busy"),
    (("502 Bad Gateway", "", "<html>"), "http.server_error"),
    (("200 OK", "", "hello"), "http.unexpected"),
    (("403 Forbidden", "", '{"code":4,"message":"not from there"}'), "http.forbidden"),
    (("400 Bad Request", "", '{"code":5,"message":"Unsupported protocol version"}'), "engine.none"),
])
async def test_answers_that_are_no_handshake(daemons, speaker, response, code):
    result = await examine(await daemons(), url=await speaker(answering(response)))
    assert ending(result) == code
    assert "secret" not in json.dumps(result)


async def test_a_wrong_path(daemons, chat):
    daemon = await daemons({"upstream": {"chat": {"url": chat.url, "path": "/elsewhere/"}}})
    assert ending(await examine(daemon, upstream="chat")) == "http.path"


def expired(authority):
    """A certificate for 127.0.0.1 that has expired."""
    (authority / "index.txt").write_text("")
    (authority / "number.txt").write_text("1000\n")
    (authority / "expired.cnf").write_text(
        "[ca]\ndefault_ca=d\n[d]\ndatabase=index.txt\nserial=number.txt\nnew_certs_dir=.\ndefault_md=sha256\npolicy=p\n"
        "x509_extensions=e\n[p]\ncommonName=supplied\n[e]\nsubjectAltName=IP:127.0.0.1\n")

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=authority)

    openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=expired",
            "-keyout", "expired.key", "-out", "expired.csr")
    openssl("ca", "-batch", "-config", "expired.cnf", "-cert", "ca.pem", "-keyfile", "ca.key", "-in", "expired.csr", "-out",
            "expired.pem", "-startdate", "20200101000000Z", "-enddate", "20210101000000Z", "-notext")


@pytest.mark.parametrize("certificate, trust, code", [
    ("server", "ca", "tls.ok"), ("server", "stranger", "tls.untrusted"), ("elsewhere", "ca", "tls.name"),
    ("expired", "ca", "tls.expired"),
])
async def test_certificates(daemons, servers, authority, certificate, trust, code):
    if certificate == "expired":
        expired(authority)
    server = await servers(
        "eio4", "--cert", authority / f"{certificate}.pem", "--key", authority / f"{certificate}.key")
    tls = {"ca": str(authority / f"{trust}.pem")}
    daemon = await daemons({"upstream": {"chat": {"url": f"https://127.0.0.1:{server.port}", "tls": tls}}})
    result = await examine(daemon, upstream="chat")
    found = next(step for step in result["steps"] if step["step"] == "tls")
    assert found["code"] == code, found
    # What the certificate says is shown, whether it was accepted or not.
    assert f"CN = {certificate}" in found["seen"] and "valid until" in found["seen"], found
    assert result["verdict"] == ("ok" if code == "tls.ok" else "failed")


async def test_plain_http_where_tls_is_expected(daemons, chat):
    assert ending(await examine(await daemons(), url=chat.url.replace("http", "https"))) == "tls.plain"


async def test_tls_where_plain_http_is_expected(daemons, servers, authority):
    server = await servers("eio4", "--cert", authority / "server.pem", "--key", authority / "server.key")
    assert ending(await examine(await daemons(), url=f"http://127.0.0.1:{server.port}")) in ("http.tls", "http.closed")


async def test_a_proxy_that_lets_no_websocket_through(daemons, speaker):
    handshake = '0{"sid":"s","upgrades":["websocket"],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000}'

    def answer(head):
        if "upgrade: websocket" in head.lower():
            return "403 Forbidden", "", "blocked by policy"
        return "200 OK", "", "ok" if head.startswith("POST") else handshake

    result = await examine(await daemons(), url=await speaker(answering(answer)), timeout=8_000)
    blocked = next(step for step in result["steps"] if step["step"] == "websocket")
    assert (blocked["code"], blocked["verdict"]) == ("websocket.blocked", "warning")


async def test_two_servers_behind_a_balancer_that_is_not_sticky(daemons, servers):
    relay = await Relay(*[(await servers("eio4")).port for _ in range(2)]).start()
    result = await examine(await daemons(), url=relay.url)
    await relay.close()
    found = next(step for step in result["steps"] if step["step"] == "sticky")
    assert (found["code"], found["verdict"]) == ("sticky.lost", "warning"), found
    assert result["verdict"] == "warning"


def hanging_up(answer_of_closing):
    """A server as gevent's: it closes each connection behind its answer without having said so. `answer_of_closing` makes
    of how many sessions were opened the answer to the request that closes the newest."""
    opened = 0

    async def script(reader, writer):
        nonlocal opened
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        if "websocket" in head:
            return
        if head.startswith("GET"):
            opened += 1
            body = f'0{{"sid":"s{opened}","upgrades":["websocket"],"pingTimeout":20000,"pingInterval":25000}}'
            status = "200 OK"
        else:
            status, body = answer_of_closing(opened)
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        await writer.drain()
        await reader.read(1)
    return script


async def sticky_step(daemon, url):
    return next(step for step in (await examine(daemon, url=url))["steps"] if step["step"] == "sticky")


async def test_one_server_that_hangs_up_without_a_word_is_not_called_several(daemons, speaker):
    url = await speaker(hanging_up(lambda opened: ("200 OK", "ok")))
    found = await sticky_step(await daemons(), url)
    assert (found["code"], found["verdict"]) == ("sticky.ok", "ok"), found


@pytest.mark.parametrize("answer, word", [
    (("502 Bad Gateway", "<html>"), "502"), (("400 Bad Request", '{"code":1,"message":"Session ID unknown"}'), "know")])
async def test_sessions_that_no_answer_of_any_server_knows_prove_nothing(daemons, speaker, answer, word):
    url = await speaker(hanging_up(lambda opened: answer if opened == 2 else ("200 OK", "ok")))
    found = await sticky_step(await daemons(), url)
    assert (found["code"], found["verdict"]) == ("sticky.unsure", "warning"), found
    assert word in found["seen"] and "several servers behind a balancer" not in found["advice"], found


async def test_an_unknown_namespace(daemons, chat):
    assert ending(await examine(await daemons(), url=f"{chat.url}/nowhere")) == "namespace.unknown"


async def test_the_http_path_in_the_url_is_told_from_an_unknown_namespace(daemons, chat, ctl):
    daemon = await daemons()
    for path in ("/socket.io/", "/socket.io"):
        result = await examine(daemon, url=chat.url + path)
        assert ending(result) == "namespace.unknown"
        assert f"Leave {path} out of the URL" in result["steps"][-1]["advice"]
    outcome = await ctl(daemon, "request", f"{chat.url}/socket.io/", "echo")
    assert outcome.code == 73 and "leave /socket.io/ out of the URL" in outcome.err, outcome


async def test_a_server_with_another_parser(daemons, servers):
    daemon = await daemons({"defaults": {"handshake": "1s"}})
    server = await servers("eio4", "--serializer", "msgpack")
    result = await examine(daemon, url=server.url)
    assert ending(result).startswith("namespace.")
    assert '`parser` is "json" here' in result["steps"][-1]["advice"], result


async def test_credentials_that_are_refused(daemons, chat):
    daemon = await daemons()
    assert ending(await examine(daemon, url=f"{chat.url}/auth")) == "auth.refused"
    result = await examine(daemon, url=f"{chat.url}/auth", auth={"token": "wrong-secret"})
    assert ending(result) == "auth.refused" and "wrong-secret" not in json.dumps(result)


async def test_credentials_that_an_old_server_is_not_told_in_the_main_namespace(daemons, servers):
    daemon, server = await daemons(), await servers("eio3")
    result = await examine(daemon, url=server.url, auth={"token": "secret"})
    assert result["verdict"] == "warning" and "auth.untold" in codes(result), result
    assert "`query`" in next(step for step in result["steps"] if step["code"] == "auth.untold")["advice"]
    assert "auth.none" in codes(await examine(daemon, url=server.url))


async def test_a_slow_server(daemons, servers):
    relay = await Relay((await servers("eio4")).port, delay=0.3).start()
    result = await examine(await daemons(), url=relay.url)
    await relay.close()
    assert result["verdict"] == "warning" and codes(result)[-1] == "round_trip.slow", result


async def test_a_server_that_hangs(daemons, peer):
    daemon = await daemons({"upstream": {"chat": {"url": peer.url, "handshake": "1s"}}})
    assert ending(await examine(daemon, upstream="chat")) == "http.slow"


async def test_the_time_for_all_of_it(daemons, peer):
    assert ending(await examine(await daemons(), url=peer.url, timeout=2_000)) == "http.time"


async def test_the_shared_connection_is_left_alone(daemons, chat):
    daemon = await daemons()
    client = await daemon.connected(url=chat.url)
    before = await daemon.connection()
    await examine(daemon, url=chat.url)
    after = await daemon.connection()
    assert (after["link"], after["reconnects"], after["sid"]) == (before["link"], 0, before["sid"])
    assert (await client.call("request", url=chat.url, event="echo", args=[1]))["args"] == [1]
    await chat.links(1)


async def test_a_client_has_one_examination_and_can_cancel_it(daemons, peer):
    client = await (await daemons()).client()
    pending = client.post("doctor", url=peer.url)
    await client.note("progress")
    await client.fails("QuotaExceeded", "doctor", url=peer.url)
    await client.notify("rpc.cancel", id=1)
    await client.failure(pending, "Cancelled")
    assert "verdict" in await client.call("doctor", url=peer.url, timeout=100)


async def test_gatewayctl_prints_findings_and_ends_with_their_code(daemons, chat, peer, ctl):
    daemon = await daemons()
    outcome = await ctl(daemon, "doctor", chat.url)
    assert outcome.code == 0
    steps = [json.loads(line) for line in outcome.out.splitlines()]
    assert steps[0]["code"] == "name.ok" and set(steps[0]) == {"step", "verdict", "code", "seen", "advice", "took"}
    assert (await ctl(daemon, "doctor", f"{chat.url}/auth")).code == 73
    outcome = await ctl(daemon, "doctor", "--timeout", "500ms", peer.url)
    assert outcome.code == 124 and outcome.err.count("\n") == 1
    await peer.refuse()
    outcome = await ctl(daemon, "doctor", peer.url)
    assert outcome.code == 69 and "no program listens" in outcome.err


def test_every_code_is_documented():
    root = pathlib.Path(__file__).parents[2]
    document = (root / "docs/doctor.md").read_text()
    found = set()
    for source in (root / "Sources/GatewayCore/Doctor").glob("*.swift"):
        found |= set(re.findall(r'"((?:name|tcp|proxy|tls|http|engine|websocket|sticky|namespace|auth|round_trip)\.[a-z_]+)"',
                                source.read_text()))
        found |= set(re.findall(r'"(fleet\.[a-z]+\.[a-z_0-9]+)"', source.read_text()))
    assert len(found) > 40
    documented = set(re.findall(r"`((?:fleet\.)?[a-z_]+\.[a-z_0-9]+)`", document))
    assert not found - documented, found - documented
