"""What a program tells the daemon in confidence is shown to nobody: not in status, errors, logs or the tools."""

import os

import pytest

MARKERS = {
    "auth": "marker-auth-1f3a", "header": "marker-header-77c0", "query": "marker-query-0b9d",
    "user": "marker-user-a5e2", "password": "marker-password-c411", "adhoc": "marker-adhoc-9e08",
    "file": "marker-file-5d5d", "payload": "marker-payload-e3b1",
    "output": "marker-output-28aa", "argument": "marker-argument-6e17", "complaint": "marker-complaint-4c09",
    "credential": "marker-credential-b3f2", "header_file": "marker-headerfile-90de",
    "query_output": "marker-queryoutput-17c4", "token": "bWFya2VyLXRva2VuLTczYWE",
}
"""`token` is the payload part of a JSON Web Token."""


def failing_sources(folder):
    """Every way in which a source can fail while it holds a secret, as settings of an upstream."""
    marker, complaint = MARKERS["output"], f"echo {MARKERS['complaint']} >&2"
    scripts = {
        "status": f"echo {marker}; {complaint}; exit 3", "signal": f"echo {marker}; {complaint}; kill -9 $$",
        "slow": f"echo {marker}; {complaint}; exec sleep 300", "long": f"while :; do echo {marker}; done",
        "broken": f"echo '{{\"token\": \"{marker}'", "list": f"echo '[\"{marker}\"]'",
        "binary": f"printf '{marker}\\377'"}
    upstreams = {}
    for name, script in scripts.items():
        program = folder / f"{name}.sh"
        program.write_text("#!/bin/sh\n" + script + "\n")
        program.chmod(0o755)
        upstreams[name] = {"auth_command": [str(program), MARKERS["argument"]], "auth_timeout": "100ms"}
    (folder / "injection").write_text(f"{MARKERS['header_file']}\r\nX: {MARKERS['header_file']}")
    upstreams["injection"] = {"headers": {"X-Key": {"file": str(folder / "injection"), "prefix": MARKERS["header"]}}}
    upstreams["absent"] = {"query": {"key": {"command": ["/no/such/program", MARKERS["argument"]]}}}
    upstreams["missing"] = {"auth_command": ["/no/such/program", MARKERS["argument"]]}
    return upstreams


@pytest.fixture
async def secretive(daemons, chat, folder):
    """A daemon at its most talkative, with every kind of secret, that has met success, refusal and loss."""
    (folder / "token").write_text(MARKERS["file"])
    (folder / "credential").write_text(MARKERS["credential"])
    (folder / "header").write_text(MARKERS["header_file"])
    (folder / "jwt").write_text(f"eyJhbGciOiJub25lIn0.{MARKERS['token']}.x")
    sources = failing_sources(folder)
    userinfo = f"{MARKERS['user']}:{MARKERS['password']}@"
    daemon = await daemons({
        "log": {"level": "debug"},
        "upstream": {
            "good": {"url": chat.url, "auth": {"token": MARKERS["auth"]}, "headers": {"X-Key": MARKERS["header"]},
                     "query": {"key": MARKERS["query"]}},
            "refused": {"url": chat.url + "/auth", "auth_file": str(folder / "token")},
            "dead": {"url": "http://127.0.0.1:1", "auth": {"token": MARKERS["auth"]},
                     "query": {"key": MARKERS["query"]}},
            "command": {
                "url": chat.url + "/chat", "auth_command": ["printf", "%s%.0s", MARKERS["output"], MARKERS["argument"]],
                "headers": {"X-Key": {"file": str(folder / "header")}},
                "query": {"key": {"command": ["echo", MARKERS["query_output"]]}}},
            "credential": {"url": chat.url + "/admin", "auth_credential": "credential"},
            "expired": {"url": chat.url + "/auth", "auth_file": str(folder / "jwt")},
            **{name: {"url": chat.url} | settings for name, settings in sources.items()}}},
        environment={"CREDENTIALS_DIRECTORY": folder})
    client = await daemon.client()
    adhoc = chat.url.replace("//", "//" + userinfo) + f"/chat?key={MARKERS['query']}"
    for target in ({"upstream": "good"}, {"upstream": "command"}, {"upstream": "credential"}, {"url": adhoc, "auth": {"token": MARKERS["adhoc"]}}):
        await client.call("subscribe", **target)
        await client.call("request", **target, event="echo", args=[MARKERS["payload"]])
    lines = list(client.lines)
    for target in ({"upstream": "refused"}, {"upstream": "dead"},
                   {"url": chat.url + "/refused", "auth": {"token": MARKERS["adhoc"]}},
                   {"url": "nonsense://" + userinfo + "x"}, {"url": "http://" + userinfo + "[bad"}):
        await client.post("request", **target, event="echo", args=[MARKERS["payload"]], timeout=500)
    for name in ["expired", *sources]:
        failure = (await client.post("request", upstream=name, event="echo", args=[1], no_queue=True))["error"]
        assert failure["data"]["type"] in ("UpstreamDown", "UpstreamRefused"), (name, failure)
    await chat.cut()
    for name in ("good", "refused", "dead"):
        await client.post("reconnect", upstream=name)
    await client.raw(f'{{"jsonrpc":"2.0","id":0,"method":"send","params":{{"token":"{MARKERS["auth"]}"\n'.encode())
    await client.call("status")
    await client.call("clients.list")
    await client.call("rpc.discover")
    daemon.configure(daemon.settings | {"upstream": daemon.settings["upstream"] | {"good": {
        "url": chat.url, "auth": {"token": MARKERS["auth"] + "2"}}}})
    await client.call("reload")
    await client.call("status")
    daemon.said = [line for line in client.lines if line not in lines]
    return daemon


async def test_the_secrets_do_reach_the_server(secretive, chat):
    joined = await chat.joined(5)
    assert any(one["auth"] == {"token": MARKERS["auth"]} and one["headers"].get("x_key") == MARKERS["header"]
               and MARKERS["query"] in one["query"] for one in joined)
    assert any(one["auth"] == {"token": MARKERS["adhoc"]} for one in joined)
    assert any(one["auth"] == {"token": MARKERS["file"]} for one in joined)
    assert any(one["auth"] == {"token": MARKERS["credential"]} for one in joined)
    assert any(one["auth"] == {"token": MARKERS["output"]} and one["headers"].get("x_key") == MARKERS["header_file"]
               and MARKERS["query_output"] in one["query"] for one in joined)
    assert any(MARKERS["token"] in (one["auth"] or {}).get("token", "") for one in joined)


def shown(text):
    """The kinds of secrets that a text shows."""
    return {kind for kind, marker in MARKERS.items() if marker in text}


async def test_no_reply_and_no_notification_shows_a_secret(secretive):
    assert shown(b"\n".join(secretive.said).decode()) == set()


async def test_no_log_line_shows_a_secret(secretive):
    await secretive.stop()
    text = secretive.text()
    assert text, "the log is empty, so that this test would prove nothing"
    assert shown(text) == set()


async def test_no_output_of_the_tools_and_no_notification_of_the_manager_shows_a_secret(secretive, ctl):
    for arguments in (["status"], ["connections"], ["clients"], ["status", "good"], ["request", "dead", "e", "--no-queue"]):
        outcome = await ctl(secretive, *arguments)
        assert shown(outcome.out + outcome.err) == set(), arguments
    assert shown("\n".join(secretive.notifications.messages)) == set()


async def test_no_secret_is_on_the_command_line_or_in_the_environment(secretive):
    for name in ("cmdline", "environ"):
        with open(f"/proc/{secretive.process.pid}/{name}", "rb") as file:
            text = file.read()
        for marker in MARKERS.values():
            assert marker.encode() not in text


async def test_the_daemon_cannot_be_dumped_unless_it_is_allowed(daemons):
    def limits(daemon):
        with open(f"/proc/{daemon.process.pid}/limits") as file:
            (line,) = (line for line in file if line.startswith("Max core file size"))
        return line.split()[4]

    def owner(daemon):
        return os.stat(f"/proc/{daemon.process.pid}/environ").st_uid

    nobody = ["setpriv", "--reuid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    daemon = await daemons(wrapper=nobody)
    assert limits(daemon) == "0"
    assert owner(daemon) == 0, "a process that cannot be dumped belongs to root in /proc"
    daemon = await daemons(wrapper=nobody, arguments=["--core-dumps"])
    assert owner(daemon) == (65534 if nobody else os.geteuid())


async def test_a_query_without_a_value_is_as_secret_as_a_value(daemons, folder):
    marker = MARKERS["query"]
    daemon = await daemons({
        "log": {"level": "debug"}, "upstream": {"feed": {"url": f"raw+ws://127.0.0.1:1/feed?{marker}"}}})
    client = await daemon.client()
    await client.call("trace", upstream="feed", payloads=True)
    await client.call("subscribe", upstream="feed", state=True)
    await client.state_until("disconnected")
    await client.call("send", url=f"raw+ws://127.0.0.1:1/other?{marker}", event="message", args=[1],
                      delivery="durable")
    for method in ("status", "outbox.list"):
        await client.call(method)
    await client.call("doctor", upstream="feed")
    shown = b"".join(client.lines).decode()
    assert "feed?***" in shown and "other?***" in shown
    assert marker not in shown and marker not in daemon.text()
