"""gatewayctl with URLs that the configuration does not have, and what a script in cron hears."""

import asyncio
import json
from urllib.parse import parse_qs

import pytest

from patience import within
from programs import GATEWAYCTL
from terminal import on_terminal


@pytest.fixture
async def behind(servers):
    """A server with a path of its own."""
    return await servers("eio4", "--path", "chat")


async def test_auth_path_headers_and_query_of_a_url_reach_the_server(daemons, behind, ctl, folder):
    secret = folder / "auth.json"
    secret.write_text('{"token":"let-me-in"}')
    daemon = await daemons()
    for auth in (f"@{secret}", '{"token":"let-me-in"}'):
        outcome = await ctl(
            daemon, "request", behind.url + "/auth", "echo", "7", "--auth", auth, "--path", "/chat/", "--header",
            "X-Team: red: team", "--header", "X-Empty:", "--query", "room=blue room", "--query", "a=b=c")
        assert (outcome.code, outcome.out) == (0, "7\n"), outcome
    (joined,) = await behind.joined()
    assert joined["auth"] == {"token": "let-me-in"}
    assert (joined["headers"]["x_team"], joined["headers"]["x_empty"]) == ("red: team", "")
    query = parse_qs(joined["query"])
    assert (query["room"], query["a"]) == (["blue room"], ["b=c"])


async def test_a_server_with_an_authority_of_its_own_needs_cacert(daemons, servers, ctl, authority):
    server = await servers("eio4", "--cert", authority / "server.pem", "--key", authority / "server.key")
    url = f"https://127.0.0.1:{server.port}"
    daemon = await daemons()
    for trust in (["--cacert", authority / "ca.pem"], ["--insecure"]):
        outcome = await ctl(daemon, "request", url, "echo", "7", *trust)
        assert (outcome.code, outcome.out) == (0, "7\n"), outcome
    (await daemon.client()).post("wait", url=url, state="connected", timeout=60_000)
    await daemon.until(lambda s: any(one["reason"] == "tls" for one in s["connections"]), "the failure")
    outcome = await ctl(daemon, "request", url, "echo", "7", "--no-queue")
    assert outcome.code == 69 and "--cacert FILE names the authority to trust" in outcome.err, outcome
    outcome = await ctl(daemon, "send", url, "echo", "7")
    assert outcome.code == 0 and "--cacert FILE names the authority to trust" in outcome.err, outcome


async def test_of_a_file_of_authorities_only_certificates_leave_it(daemons, servers, ctl, authority, folder):
    server = await servers("eio4", "--cert", authority / "server.pem", "--key", authority / "server.key")
    both = folder / "both.pem"
    both.write_text("# ours\n" + (authority / "server.key").read_text() + (authority / "ca.pem").read_text())
    daemon = await daemons()
    url = f"https://127.0.0.1:{server.port}"
    assert (await ctl(daemon, "request", url, "echo", "7", "--cacert", both)).out == "7\n"
    shown = (await daemon.connection())["options"]["tls"]["ca"]
    assert shown == f"PEM text of {len((authority / 'ca.pem').read_text())} bytes"


@pytest.mark.parametrize("arguments, code, words", [
    (["chat", "--path", "/chat/"], 64,
     "--path goes with a URL; 'chat' is the name of an upstream, which has its settings in the daemon's configuration"),
    (["http://h", "--header", "secret"], 64, "--header: this has no ':' behind a name; write 'Name: value'"),
    (["http://h", "--query", "=secret"], 64, "--query: this has no '=' behind a name; write name=value"),
    (["http://h", "--auth", "secret"], 65, "--auth is no JSON"),
    (["http://h", "--cacert", "/dev/null"], 65, "the file '/dev/null' holds no certificate in PEM form"),
    (["http://h", "--path", "chat"], 65, '--path must be the path of a request such as "/socket.io/", not "chat"'),
    (["http://h", "--header", "Host: a"], 65, "--header.Host is a header that the connection itself sets"),
])
async def test_what_is_wrong_with_the_options_of_a_url_is_said_in_their_words(daemons, ctl, arguments, code, words):
    url, *options = arguments
    outcome = await ctl(await daemons(), "send", url, "echo", *options)
    assert outcome.code == code and words in outcome.err, outcome
    assert "secret" not in outcome.err and outcome.err.count("\n") == 1


async def test_subscribe_and_outbox_take_the_options_of_a_url(daemons, behind, start_ctl, ctl):
    daemon = await daemons()
    options = ["--path", "/chat/"]
    command = await start_ctl(daemon, "subscribe", behind.url, "tick", "-n", "1", *options)
    await behind.joined()
    await behind.burst("tick", 1)
    assert (await command.outcome()).code == 0
    await behind.stop()
    await ctl(daemon, "send", behind.url, "echo", "--delivery", "durable", *options)
    listed = await ctl(daemon, "outbox", "list", "--upstream", behind.url, *options)
    assert json.loads(listed.out)["options"] == {"path": "/chat/"}


async def test_an_error_is_json_for_who_asks_for_json(daemons, ctl):
    for arguments, code in ((["wait", "nobody"], 69), (["send"], 64), (["call", "ping", "{"], 65)):
        outcome = await ctl(await daemons(), *arguments, "--json")
        assert outcome.code == code
        error = json.loads(outcome.err)["error"]
        assert error["exit"] == code and error["message"] and outcome.err.count("\n") == 1


async def test_a_script_in_cron_hears_nothing_of_success(daemons, behind, ctl):
    daemon = await daemons()
    options = ["-q", "--path", "/chat/"]
    for arguments in (["wait", behind.url], ["send", behind.url, "echo", "1", "--delivery", "acked"]):
        outcome = await ctl(daemon, *arguments, *options)
        assert (outcome.code, outcome.out, outcome.err) == (0, "", ""), outcome


async def test_who_waits_at_a_terminal_is_told_for_what(daemons, chat):
    daemon = await daemons()
    command = [GATEWAYCTL, "--socket", daemon.socket, "request", chat.url, "hold", "never", "--timeout", "3s"]
    shown = await within(asyncio.to_thread(on_terminal, *command), "gatewayctl on a terminal")
    assert shown.count("gatewayctl: waiting for the server's answer") == 1, shown


@pytest.mark.parametrize("folder, words", [
    ("/run/user/4711", "start it with 'systemctl --user start gatewayd.socket'"),
    ("/run", "start it with 'systemctl start gatewayd.socket'")])
async def test_who_asks_for_a_users_daemon_is_told_how_that_is_started(ctl, folder, words):
    outcome = await ctl(None, "ping", "--socket", f"{folder}/nobody.sock", "--timeout", "10ms")
    assert outcome.code == 69 and words in outcome.err, outcome
