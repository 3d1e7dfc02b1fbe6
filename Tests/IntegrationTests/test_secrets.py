"""What a program tells the daemon in confidence is shown to nobody: not in status, errors, logs or the tools."""

import pytest

MARKERS = {
    "auth": "marker-auth-1f3a", "header": "marker-header-77c0", "query": "marker-query-0b9d",
    "user": "marker-user-a5e2", "password": "marker-password-c411", "adhoc": "marker-adhoc-9e08",
    "file": "marker-file-5d5d", "payload": "marker-payload-e3b1",
}


@pytest.fixture
async def secretive(daemons, chat, folder):
    """A daemon at its most talkative, with every kind of secret, that has met success, refusal and loss."""
    (folder / "token").write_text(MARKERS["file"])
    userinfo = f"{MARKERS['user']}:{MARKERS['password']}@"
    daemon = await daemons({
        "log": {"level": "debug"},
        "upstream": {
            "good": {"url": chat.url, "auth": {"token": MARKERS["auth"]}, "headers": {"X-Key": MARKERS["header"]},
                     "query": {"key": MARKERS["query"]}},
            "refused": {"url": chat.url + "/auth", "auth_file": str(folder / "token")},
            "dead": {"url": "http://127.0.0.1:1", "auth": {"token": MARKERS["auth"]},
                     "query": {"key": MARKERS["query"]}}}})
    client = await daemon.client()
    adhoc = chat.url.replace("//", "//" + userinfo) + f"/chat?key={MARKERS['query']}"
    for target in ({"upstream": "good"}, {"url": adhoc, "auth": {"token": MARKERS["adhoc"]}}):
        await client.call("subscribe", **target)
        await client.call("request", **target, event="echo", args=[MARKERS["payload"]])
    lines = list(client.lines)
    for target in ({"upstream": "refused"}, {"upstream": "dead"},
                   {"url": chat.url + "/refused", "auth": {"token": MARKERS["adhoc"]}},
                   {"url": "nonsense://" + userinfo + "x"}, {"url": "http://" + userinfo + "[bad"}):
        await client.post("request", **target, event="echo", args=[MARKERS["payload"]], timeout=500)
    await chat.cut()
    for name in ("good", "refused", "dead"):
        await client.post("reconnect", upstream=name)
    await client.raw(f'{{"jsonrpc":"2.0","id":0,"method":"send","params":{{"token":"{MARKERS["auth"]}"\n'.encode())
    await client.call("status")
    await client.call("clients.list")
    daemon.configure(daemon.settings | {"upstream": daemon.settings["upstream"] | {"good": {
        "url": chat.url, "auth": {"token": MARKERS["auth"] + "2"}}}})
    await client.call("reload")
    await client.call("status")
    daemon.said = [line for line in client.lines if line not in lines]
    return daemon


async def test_the_secrets_do_reach_the_server(secretive, chat):
    joined = await chat.joined(3)
    assert any(one["auth"] == {"token": MARKERS["auth"]} and one["headers"].get("x_key") == MARKERS["header"]
               and MARKERS["query"] in one["query"] for one in joined)
    assert any(one["auth"] == {"token": MARKERS["adhoc"]} for one in joined)
    assert any(one["auth"] == {"token": MARKERS["file"]} for one in joined)


@pytest.mark.parametrize("kind", MARKERS)
async def test_no_reply_and_no_notification_shows_a_secret(secretive, kind):
    for line in secretive.said:
        assert MARKERS[kind].encode() not in line


@pytest.mark.parametrize("kind", MARKERS)
async def test_no_log_line_shows_a_secret(secretive, kind):
    await secretive.stop()
    text = secretive.text()
    assert text, "the log is empty, so that this test would prove nothing"
    assert MARKERS[kind] not in text


@pytest.mark.parametrize("kind", ["auth", "header", "query", "user", "password", "adhoc", "file"])
async def test_no_output_of_the_tools_and_no_notification_of_the_manager_shows_a_secret(secretive, ctl, kind):
    for arguments in (["status"], ["connections"], ["clients"], ["status", "good"], ["request", "dead", "e", "--no-queue"]):
        outcome = await ctl(secretive, *arguments)
        assert MARKERS[kind] not in outcome.out + outcome.err
    assert MARKERS[kind] not in "\n".join(secretive.notifications.messages)


async def test_no_secret_is_on_the_command_line_or_in_the_environment(secretive):
    for name in ("cmdline", "environ"):
        with open(f"/proc/{secretive.process.pid}/{name}", "rb") as file:
            text = file.read()
        for marker in MARKERS.values():
            assert marker.encode() not in text
