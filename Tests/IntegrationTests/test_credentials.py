"""Credentials from files, from systemd and from commands: read at each connect, again after a refusal, and before a token
expires."""

import asyncio
import base64
import json
import os
import time
from urllib.parse import unquote

import pytest

from patience import FACTOR, within

TOKEN = "let-me-in"


def command(folder, text, name="token.sh"):
    """A program that is run by /bin/sh."""
    path = folder / name
    path.write_text("#!/bin/sh\n" + text + "\n")
    path.chmod(0o755)
    return str(path)


def web_token(seconds, **claims):
    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()
    return ".".join([part({"alg": "none"}), part({"exp": time.time() + seconds, **claims}), "x"])


def wants(server, **source):
    """Settings of an upstream whose namespace wants TOKEN, with the source that it is read from. Servers of Engine.IO 3
    look for it in the query of the request: this one forgets the query of a namespace."""
    ((kind, where),) = source.items()
    if server.engineio == 3:
        return {"url": server.url + "/auth", "query": {"token": {kind: where}}}
    return {"url": server.url + "/auth", "auth_" + kind: where}


def runs(folder):
    path = folder / "runs"
    return path.read_text().count("\n") if path.exists() else 0


async def until(holds, what):
    async def ask():
        while not holds():
            await asyncio.sleep(0.02)
    await within(ask(), what)


async def test_a_command_prints_the_auth_payload(daemons, chat, folder):
    program = command(folder, f'echo run >> {folder}/runs; printf "%s" "$1"')
    daemon = await daemons({"upstream": {"auth": {
        "url": chat.url + "/auth", "auth_command": [program, json.dumps({"token": TOKEN})]}}})
    await daemon.connected(upstream="auth")
    assert runs(folder) == 1


async def test_a_command_that_prints_a_plain_token_and_runs_at_each_connect(daemons, server, folder):
    program = command(folder, f"echo run >> {folder}/runs; echo {TOKEN}")
    daemon = await daemons({"upstream": {"auth": wants(server, command=[program])}})
    client = await daemon.connected(upstream="auth")
    await client.call("disconnect", upstream="auth")
    await client.call("reconnect", upstream="auth")
    await client.call("wait", upstream="auth", state="connected", timeout=10_000)
    assert runs(folder) == 2


async def test_a_credential_of_the_service_manager(daemons, server, folder):
    (folder / "credentials").mkdir()
    (folder / "credentials" / "chat").write_text(TOKEN + "\n")
    daemon = await daemons(
        {"upstream": {"auth": wants(server, credential="chat")}},
        environment={"CREDENTIALS_DIRECTORY": folder / "credentials"})
    await daemon.connected(upstream="auth")


async def test_a_credential_without_a_service_manager(daemons, chat):
    daemon = await daemons({"upstream": {"auth": {"url": chat.url, "auth_credential": "chat", "keep": "always"}}})
    await failed(daemon, "there is no credential chat: the service manager passes none ($CREDENTIALS_DIRECTORY is not set)")


async def failed(daemon, detail):
    def holds(status):
        (one,) = status["connections"]
        return one.get("reason") == "auth" and one.get("detail") == detail
    await daemon.until(holds, f"the failure {detail}")


@pytest.mark.parametrize("text, problem", [
    ("exit 7", "ended with exit status 7"),
    ("kill -TERM $$", "was ended by signal 15"),
    ("sleep 300", "did not end within 300 ms"),
    ("exec cat /dev/zero", "printed more than 64 KiB"),
    (":", "printed nothing"),
])
async def test_a_command_that_fails_says_why(daemons, chat, folder, text, problem):
    program = command(folder, text)
    limit = "300ms" if "300 ms" in problem else "30s"
    daemon = await daemons({"upstream": {"auth": {
        "url": chat.url, "auth_command": [program], "auth_timeout": limit, "keep": "always"}}})
    await failed(daemon, f"the command {program} {problem}")


@pytest.mark.parametrize("text, problem", [
    ("echo '{\"token\":'", "is not well-formed JSON"),
    ("echo '[1]'", "holds JSON that is not an object"),
    ("printf '\\377'", "is not UTF-8"),
    ("echo", "is empty"),
])
async def test_output_that_is_no_payload_says_why(daemons, chat, folder, text, problem):
    program = command(folder, text)
    daemon = await daemons({"upstream": {"auth": {"url": chat.url, "auth_command": [program], "keep": "always"}}})
    await failed(daemon, f"what the command {program} prints {problem}")


async def test_a_command_that_is_missing_or_no_program(daemons, chat, folder):
    (folder / "plain").write_text("x")
    for program, problem in ((folder / "plain", "is not executable"), (folder / "missing", "was not found")):
        daemon = await daemons({"upstream": {"auth": {"url": chat.url, "auth_command": [str(program)], "keep": "always"}}})
        await failed(daemon, f"the command {program} {problem}")


async def test_the_daemon_works_on_while_a_command_hangs_and_ends_it_at_its_end(daemons, chat, folder):
    program = command(folder, f"echo $$ > {folder}/pid; exec sleep 300")
    daemon = await daemons({"upstream": {
        "hangs": {"url": chat.url, "auth_command": [program], "keep": "always"}, "works": {"url": chat.url}}})
    client = await daemon.connected(upstream="works")
    assert await client.call("request", upstream="works", event="echo", args=[1]) is not None
    await until(lambda: (folder / "pid").exists() and (folder / "pid").read_text(), "the command")
    pid = int((folder / "pid").read_text())
    await daemon.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_headers_and_query_from_files_and_commands(daemons, server, folder):
    (folder / "key").write_text("a&b c\n")
    (folder / "key").chmod(0o600)
    (folder / "bearer").write_text("abc\r\n")
    daemon = await daemons({"upstream": {"chat": {
        "url": server.url + "/chat",
        "headers": {"Authorization": {"file": str(folder / "bearer"), "prefix": "Bearer "}, "X-Team": "ops"},
        "query": {"key": {"file": str(folder / "key")}, "run": {"command": ["printf", "it"]}}}}})
    await daemon.connected(upstream="chat")
    one = (await server.joined(1))[-1]
    assert one["headers"]["authorization"] == "Bearer abc" and one["headers"]["x_team"] == "ops"
    assert {"key=a&b c", "run=it"} <= {unquote(part) for part in one["query"].split("&")}
    assert str(folder / "bearer") in daemon.text(), "a secret that everybody can read is worth a warning"
    assert str(folder / "key") not in daemon.text()


async def test_a_value_that_would_inject_a_header(daemons, chat, folder):
    (folder / "key").write_text("hunter2\r\nX-Evil: 1\n")
    daemon = await daemons({"upstream": {"chat": {
        "url": chat.url, "headers": {"X-Key": {"file": str(folder / "key")}}, "keep": "always"}}})
    await failed(daemon, f"the credential file {folder / 'key'} holds a line break or another control character and "
                         "cannot be the value of a header or parameter")
    assert "hunter2" not in daemon.text()


async def test_a_refused_command_runs_once_more_and_the_waiting_request_succeeds(daemons, server, folder):
    program = command(folder, f'echo run >> {folder}/runs\n'
                              f'if [ $(wc -l < {folder}/runs) = 1 ]; then echo stale; else echo {TOKEN}; fi')
    daemon = await daemons({"upstream": {"auth": wants(server, command=[program])}})
    client = await daemon.client()
    assert await client.call("request", upstream="auth", event="echo", args=[5], timeout=10_000) is not None
    assert runs(folder) == 2


async def test_a_request_fails_after_the_second_refusal_and_no_third_attempt_follows_soon(daemons, server, folder):
    program = command(folder, f"echo run >> {folder}/runs; echo wrong")
    daemon = await daemons({"upstream": {"auth": wants(server, command=[program])}})
    client = await daemon.client()
    await client.fails("UpstreamRefused", "request", upstream="auth", event="echo", args=[5], timeout=10_000)
    connection = await daemon.connection(upstream="auth")
    assert "read again and refused again" in connection["detail"]
    assert runs(folder) == 2


async def test_a_changed_file_ends_the_refusal_at_once(daemons, server, folder):
    path = folder / "token"
    path.write_text("wrong")
    daemon = await daemons({"upstream": {"auth": wants(server, file=str(path)) | {
        "keep": "always",
        "reconnect": {"refused_base": "1h", "refused_cap": "1h"}}}})
    await daemon.until(lambda s: s["connections"] and s["connections"][0].get("reason") == "refused", "the refusal")
    fresh = folder / "fresh"
    fresh.write_text(TOKEN)
    fresh.rename(path)
    await daemon.connected(upstream="auth")


async def test_a_file_that_appears_ends_the_failure_at_once(daemons, server, folder):
    path = folder / "token"
    daemon = await daemons({"upstream": {"auth": wants(server, file=str(path)) | {
        "keep": "always",
        "reconnect": {"base": "1h", "cap": "1h"}}}})
    await daemon.until(lambda s: s["connections"] and s["connections"][0].get("reason") == "auth", "the failure")
    path.write_text(TOKEN)
    await daemon.connected(upstream="auth")


async def test_a_token_is_renewed_before_it_expires(daemons, server, folder):
    program = command(folder, f"echo run >> {folder}/runs; cat {folder}/current")
    ahead = f"{int(1000 * FACTOR)}ms"
    (folder / "current").write_text(web_token(4 * FACTOR, n=1))
    daemon = await daemons({"upstream": {"chat": {
        "url": server.url + "/chat", "auth_command": [program], "refresh": {"least": ahead, "most": ahead}}}})
    client = await daemon.connected(upstream="chat")
    await client.call("subscribe", upstream="chat", state=True)
    (folder / "current").write_text(web_token(3600, n=2))
    down = (await client.note("state"))[1]
    assert down["state"] == "disconnected"
    assert down["reason"] == "auth" and "expire soon" in down["detail"]
    while (await client.note("state"))[1]["state"] != "connected":
        pass
    assert await client.call("request", upstream="chat", event="echo", args=[1]) is not None
    await asyncio.sleep(1.5 * FACTOR)
    assert runs(folder) == 3, "one at the start, one before the end, one for the new connection"


async def test_percent_encoded_reserved_parameters_are_found_by_check_config(daemons):
    daemon = await daemons({"upstream": {"chat": {"url": "http://localhost/?%45IO=3"}}}, start=False)
    await daemon.launch()
    assert await within(daemon.process.wait(), "the end") == 78
    assert "EIO is used by the connection itself" in daemon.text()


