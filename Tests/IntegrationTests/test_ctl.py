"""gatewayctl as a script sees it: stdout is data, stderr is one line, and the exit code says which kind of failure."""

import asyncio
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import time

import pytest

import processes
from patience import QUIET, within
from programs import GATEWAYCTL
from terminal import on_terminal
from users import ALICE, as_user


def lines(outcome):
    return [json.loads(line) for line in outcome.out.splitlines()]


def check_failure(outcome, code):
    """One line on stderr, nothing on stdout."""
    assert outcome.code == code, outcome
    assert outcome.out == "" and len(outcome.err.strip().splitlines()) == 1, outcome


# Sending

@pytest.mark.parametrize("text, value", [
    ("hello", "hello"), ("3", 3), ("-1.5e3", -1.5e3), ("true", True), ("null", None), ('"3"', "3"),
    ('{"a":[1]}', {"a": [1]}), ("[]", []), ("3 apples", "3 apples"), ("", ""), ("é 😀", "é 😀"), ("tru", "tru")])
async def test_an_argument_is_json_if_it_parses_and_text_if_not(daemons, chat, ctl, text, value):
    outcome = await ctl(await daemons(), "send", chat.url, "line", text)
    assert outcome.code == 0 and outcome.err == "", outcome
    assert (await chat.received(1, "line"))[0]["args"] == [value]


@pytest.mark.parametrize("text", ["{bad", '{"a":}', "[1,", '"unfinished'])
async def test_an_argument_that_looks_like_json_but_is_not_is_65(daemons, chat, ctl, text):
    check_failure(await ctl(await daemons(), "send", chat.url, "line", text), 65)
    assert (await chat.counters())["received"] == 0


async def test_raw_takes_every_argument_as_text(daemons, chat, ctl):
    await ctl(await daemons(), "send", "--raw", chat.url, "line", "3", "{bad", "@nowhere")
    assert (await chat.received(1, "line"))[0]["args"] == ["3", "{bad", "@nowhere"]


async def test_text_comes_from_stdin_and_from_files_as_it_is(daemons, chat, ctl, folder):
    (folder / "note").write_text('{"no": JSON}\n\ttwo lines é 😀 \x1b[31m\n')
    outcome = await ctl(await daemons(), "send", "--raw", chat.url, "line", "3", "-", "--text", folder / "note",
                        stdin="first\nsecond\n")
    assert outcome.code == 0, outcome
    args = (await chat.received(1, "line"))[0]["args"]
    assert args == ["3", "first\nsecond\n", '{"no": JSON}\n\ttwo lines é 😀 \x1b[31m\n']


async def test_a_text_that_is_no_utf8_is_an_input_error_and_nothing_is_sent(daemons, chat, ctl, folder):
    daemon = await daemons()
    (folder / "latin").write_bytes(b"caf\xe9")
    for arguments, stdin in ((("--text", folder / "latin"), None), (("--raw", "-"), b"\xff"), (("--text", "-"), b"a\xc0\x80")):
        outcome = await ctl(daemon, "send", chat.url, "line", *arguments, stdin=stdin)
        check_failure(outcome, 65)
        assert "UTF-8" in outcome.err
    check_failure(await ctl(daemon, "send", "--raw", chat.url, "line", "-", "--text", "-", stdin=b""), 64)
    assert (await chat.counters())["received"] == 0


async def test_arguments_come_from_files_and_from_stdin(daemons, chat, ctl, folder):
    (folder / "a.json").write_text(' {"from":\n "file"} \n')
    outcome = await ctl(await daemons(), "send", chat.url, "line", f"@{folder}/a.json", "-", stdin='["from stdin"]\n')
    assert outcome.code == 0, outcome
    assert (await chat.received(1, "line"))[0]["args"] == [{"from": "file"}, ["from stdin"]]


async def test_a_file_that_is_not_there_or_no_json_is_an_input_error(daemons, chat, ctl, folder):
    daemon = await daemons()
    (folder / "bad").write_text("not json")
    check_failure(await ctl(daemon, "send", chat.url, "line", f"@{folder}/bad"), 65)
    outcome = await ctl(daemon, "send", chat.url, "line", f"@{folder}/nowhere")
    assert outcome.code != 0 and "nowhere" in outcome.err


async def test_a_file_is_sent_as_binary(daemons, chat, ctl, folder):
    (folder / "blob").write_bytes(bytes(range(256)))
    outcome = await ctl(await daemons(), "request", chat.url, "echo", "x", "--binary", folder / "blob")
    assert outcome.code == 0, outcome
    assert lines(outcome)[0] == "x" and set(lines(outcome)[1]) == {"$bin"}
    assert len((await chat.received(1))[0]["args"][1]["$bin"]) == 344


async def test_lines_sends_one_event_per_line(daemons, chat, ctl):
    outcome = await ctl(await daemons(), "send", "--lines", chat.url, "line", stdin='[1]\n["two",{}]\n[]\n')
    assert outcome.code == 0, outcome
    assert [one["args"] for one in await chat.received(3, "line")] == [[1], ["two", {}], []]


async def test_a_bad_line_is_65_and_named(daemons, chat, ctl):
    outcome = await ctl(await daemons(), "send", "--lines", chat.url, "line", stdin="[1]\n{}\n[3]\n")
    assert outcome.code == 65 and "2" in outcome.err


async def test_many_lines_keep_their_order(daemons, chat, ctl):
    stdin = "".join(f"[{number}]\n" for number in range(2000))
    assert (await ctl(await daemons(), "send", "--lines", chat.url, "line", stdin=stdin)).code == 0
    assert [one["args"][0] for one in await chat.received(2000, "line")] == list(range(2000))


@pytest.mark.parametrize("level", ["accepted", "sent", "acked"])
async def test_a_send_can_wait_for_its_delivery(daemons, chat, ctl, level):
    outcome = await ctl(await daemons(), "send", "--delivery", level, chat.url, "echo", "x", "--json")
    assert outcome.code == 0, outcome
    (result,) = lines(outcome)
    assert result["state"] == level and result["id"]


async def test_options_may_stand_anywhere_and_two_dashes_end_them(daemons, chat, ctl):
    daemon = await daemons()
    outcome = await ctl(None, "request", chat.url, "--namespace", "/chat", "echo", "1", "--socket", daemon.socket,
                        "--timeout=5s", "--", "--raw", "-n")
    assert outcome.code == 0 and lines(outcome) == [1, "--raw", "-n"], outcome
    assert (await chat.received(1))[0]["namespace"] == "/chat"


async def test_a_configured_upstream_is_used_by_its_name(daemons, chat, ctl):
    daemon = await daemons({"upstream": {"chat": {"url": chat.url}}})
    assert lines(await ctl(daemon, "request", "chat", "echo", "5")) == [5]


async def test_a_path_in_the_url_is_the_namespace(daemons, chat, ctl):
    await ctl(await daemons(), "request", chat.url + "/admin", "echo")
    assert (await chat.received(1))[0]["namespace"] == "/admin"


async def test_a_key_sends_once(daemons, chat, ctl):
    daemon = await daemons()
    for _ in range(3):
        assert (await ctl(daemon, "send", "--key", "k", chat.url, "pay", "5")).code == 0
    assert (await ctl(daemon, "send", "--key", "k", chat.url, "pay", "6")).code == 1
    await ctl(daemon, "request", chat.url, "echo")
    assert len(await chat.received(1, "pay")) == 1


async def test_a_send_while_the_server_is_down_is_kept(daemons, chat, ctl):
    daemon = await daemons()
    await chat.stop()
    assert (await ctl(daemon, "send", chat.url, "line", "kept")).code == 0
    await chat.start()
    assert (await chat.received(1, "line"))[0]["args"] == ["kept"]


# Requests and their failures

async def test_a_request_prints_the_acknowledgement_one_value_per_line(daemons, server, ctl):
    outcome = await ctl(await daemons(), "request", server.url, "echo", "a", "2", '{"b":[1,2]}', "null")
    assert outcome.code == 0 and outcome.err == "", outcome
    assert outcome.out == '"a"\n2\n{"b":[1,2]}\nnull\n'


async def test_the_value_is_printed_verbatim(daemons, peer, start_ctl):
    command = await start_ctl(await daemons(), "request", peer.url, "e")
    link = await peer.session()
    await link.receive()
    await link.text('430[12345678901234567890,1.0e2,"\\u00e9"]')
    assert (await command.outcome()).out == '12345678901234567890\n1.0e2\n"\\u00e9"\n'


async def test_an_acknowledgement_without_arguments_prints_nothing(daemons, chat, ctl):
    outcome = await ctl(await daemons(), "request", chat.url, "nothing")
    assert (outcome.code, outcome.out) == (0, "")


async def test_a_request_that_is_not_answered_in_time_is_124(daemons, chat, ctl):
    daemon = await daemons()
    await daemon.connected(url=chat.url)
    check_failure(await ctl(daemon, "request", "--timeout", "1s", chat.url, "hold", "x"), 124)


async def test_a_key_whose_send_was_lost_is_no_success(daemons, chat, ctl):
    daemon = await daemons()
    await daemon.connected(url=chat.url)
    send = ("send", "--key", "k", "--delivery", "acked", "--timeout", "2s", chat.url, "hold", "x")
    assert (await ctl(daemon, *send)).code == 124
    again = await ctl(daemon, *send)
    check_failure(again, 74)
    assert "was not acknowledged" in again.err


async def test_a_request_repeated_with_its_key_says_that_answers_are_not_kept(daemons, chat, ctl):
    daemon = await daemons()
    request = ("request", "--key", "k", chat.url, "echo", "1")
    assert (await ctl(daemon, *request)).out == "1\n"
    again = await ctl(daemon, *request)
    check_failure(again, 1)
    assert "answers are not kept" in again.err


@pytest.mark.parametrize("closed, code", [("<&-", 0), (">&-", 74), ("2>&-", 0), ("<&- >&- 2>&-", 74)])
async def test_a_closed_stream_never_becomes_the_connection(daemons, chat, ctl, closed, code):
    daemon = await daemons()
    injected = json.dumps({"jsonrpc": "2.0", "id": 9, "method": "send", "params": {
        "url": chat.url, "event": "line", "args": ["injected"]}})
    process = await asyncio.create_subprocess_exec(
        "/bin/sh", "-c", f'exec "$0" "$@" {closed}', GATEWAYCTL, "--socket", daemon.socket,
        "request", "--raw", chat.url, "echo", injected,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
    _, errors = await within(process.communicate(), "the end of gatewayctl")
    assert process.returncode == code, errors
    assert (await ctl(daemon, "send", chat.url, "line", "last")).code == 0
    assert [one["args"] for one in await chat.received(1, "line")] == [["last"]]


async def test_a_refused_request_is_73_with_the_servers_words(daemons, chat, ctl):
    outcome = await ctl(await daemons(), "request", chat.url + "/refused", "echo")
    check_failure(outcome, 73)
    assert "this room is closed" in outcome.err


async def test_an_upstream_that_is_down_is_69_with_no_queue(daemons, peer, ctl):
    await peer.refuse()
    outcome = await ctl(await daemons(), "request", "--no-queue", peer.url, "echo")
    check_failure(outcome, 69)
    assert "refused" in outcome.err


async def test_an_unknown_upstream_is_69(daemons, ctl):
    check_failure(await ctl(await daemons(), "send", "nosuchupstream", "e"), 69)


async def test_a_link_that_breaks_is_74(daemons, chat, start_ctl):
    command = await start_ctl(await daemons(), "request", chat.url, "hold", "door")
    assert await chat.control("held", name="door", timeout=5)
    await chat.cut()
    check_failure(await command.outcome(), 74)


async def test_a_full_queue_is_75(daemons, peer, ctl):
    await peer.refuse()
    daemon = await daemons({"limits": {"send_queue": 1}})
    assert (await ctl(daemon, "send", peer.url, "e")).code == 0
    check_failure(await ctl(daemon, "send", peer.url, "e"), 75)


async def test_a_message_that_is_too_large_is_65(daemons, servers, ctl):
    server = await servers("eio4", "--max-payload", 1000)
    daemon = await daemons()
    await daemon.connected(url=server.url)
    check_failure(await ctl(daemon, "send", server.url, "e", "x" * 2000), 65)


async def test_a_file_that_fits_into_no_line_is_named_before_anything_is_sent(daemons, ctl, folder):
    daemon = await daemons({"limits": {"line": "8KiB"}})
    (folder / "words").write_text(json.dumps({"w": "d" * 9000}))
    outcome = await ctl(daemon, "send", "http://127.0.0.1:9", "line", "--kwargs", f"@{folder}/words")
    check_failure(outcome, 65)
    assert f"the file '{folder}/words' has 9009 bytes" in outcome.err and "limits.line" in outcome.err, outcome
    assert not (await daemon.status())["connections"]


async def test_arguments_that_fit_into_no_line_are_sent_in_parts(daemons, servers, ctl, folder):
    server = await servers("eio4", "--max-payload", 20 << 20)
    daemon = await daemons({"limits": {"line": "8KiB"}})
    await daemon.connected(url=server.url)
    text = 'é😀"\\\n' * 2_000
    (folder / "notes").write_text(text)
    (folder / "draft").write_text(json.dumps([text]))
    for words in (["--text", folder / "notes"], [f"@{folder}/draft"], ["--raw", "-"]):
        outcome = await ctl(daemon, "send", server.url, "line", *words, stdin=text)
        assert outcome.code == 0, outcome
    outcome = await ctl(daemon, "request", server.url, "nothing", "--binary", folder / "notes")
    assert outcome.code == 0, outcome
    assert [one["args"] for one in await server.received(3, "line")] == [[text], [[text]], [text]]


async def test_five_megabytes_arrive_whole(daemons, servers, ctl, folder):
    server = await servers("eio4", "--max-payload", 20 << 20)
    daemon = await daemons()
    await daemon.connected(url=server.url)
    text = ("0123456789abcdef" * 64) * 5 * 1024
    (folder / "notes").write_text(text)
    outcome = await ctl(daemon, "send", server.url, "line", "--text", folder / "notes")
    assert outcome.code == 0, outcome
    assert (await server.received(1, "line"))[0]["args"] == [text]


async def test_what_no_server_takes_is_refused_whatever_its_parts(daemons, chat, ctl, folder):
    daemon = await daemons()
    (folder / "notes").write_text("n" * (17 << 20))
    outcome = await ctl(daemon, "send", chat.url, "line", "--text", folder / "notes")
    check_failure(outcome, 65)
    assert "message_limit" in outcome.err, outcome


async def test_a_message_to_enter_that_fits_into_no_line_is_named_before_anything_is_sent(
        daemons, chat, ctl, start_ctl, folder):
    daemon = await daemons({"limits": {"line": "8KiB"}})
    room = folder / "room"
    for option in (["--enter", f"@{room}"], ["--enter", '["join"]', "--leave", f"@{room}"]):
        room.write_text(json.dumps(["join", "r" * 9000]))
        outcome = await ctl(daemon, "subscribe", "-n", "1", *option, chat.url)
        check_failure(outcome, 65)
        assert f"the file '{room}' has 9012 bytes" in outcome.err and "limits.line" in outcome.err, outcome
    assert not (await daemon.status())["connections"]
    room.write_text(json.dumps(["join", "r" * 7000]))
    await start_ctl(daemon, "subscribe", "--enter", f"@{room}", chat.url)
    assert (await chat.received(1, "join"))[0]["args"] == ["r" * 7000]


@pytest.mark.parametrize("words", [
    ["sned", "URL", "e"], ["send", "--bogus", "URL", "e"], ["send", "URL"], ["status", "a", "b"],
    ["send", "--ttl", "soon", "URL", "e"], ["send", "--ttl", "5", "URL", "e"], ["send", "--retries", "x", "URL", "e"],
    ["send", "--retries", "1000000", "URL", "e"],
    ["send", "--delivery", "perhaps", "URL", "e"], ["subscribe", "--since", "e7", "URL"], ["send", "-q", "-v", "URL", "e"],
    ["wait", "--state", "bogus", "URL"], ["outbox", "cancel"], ["outbox", "lsit"], ["send", "URL", "e", "-", "-"],
    ["serve", "URL", "e", "--", "/nowhere/command"], ["subscribe", "-n", "-1", "URL"], ["config"],
])
async def test_what_is_wrong_in_the_words_alone_is_64_and_asks_nobody(ctl, folder, words):
    check_failure(await ctl(None, "--socket", folder / "nobody", *words), 64)


@pytest.mark.parametrize("words, message", [
    (["subscribe", "-n", "-1", "chat"], "--count: '-1' is not accepted; write a whole number, at least 1"),
    (["send", "--retries", "x", "chat", "e"], "--retries: 'x' is not accepted; write a whole number, 0 to 100"),
    (["subscribe", "--since", "foo", "chat"], "--since: 'foo' is not EPOCH:SEQ; write epoch and seq of an event that "
     "was printed, such as e7:4101"),
])
async def test_a_wrong_value_is_named_with_its_option_and_what_to_write(ctl, folder, words, message):
    outcome = await ctl(None, "--socket", folder / "nobody", *words)
    assert outcome.err == f"gatewayctl: {message}\n"


@pytest.mark.parametrize("words", [
    ["send", "URL", "e", "{bad"], ["send", "URL", "e", "@/nowhere"], ["send", "--binary", "/nowhere", "URL", "e"],
    ["send", "--kwargs", "[1]", "URL", "e"], ["call", "hello", "{bad"], ["call", "hello", '{"bogus":1}'],
    ["send", "ftp://h.example", "e"], ["send", "http://", "e"], ["send", "URL", "connect"],
    ["send", "--namespace", "/b", "http://h.example/a", "e"],
])
async def test_what_is_wrong_in_the_data_or_for_the_daemon_is_65(daemons, ctl, words):
    daemon = await daemons()
    outcome = await ctl(daemon, *["http://127.0.0.1:9" if word == "URL" else word for word in words])
    check_failure(outcome, 65)
    assert "param" not in outcome.err or words[0] == "call", outcome


async def test_a_reserved_event_name_is_65(daemons, chat, ctl):
    check_failure(await ctl(await daemons(), "send", chat.url, "connect"), 65)


@pytest.mark.root
async def test_a_missing_right_is_77(daemons, chat, ctl, folder):
    daemon = await daemons({"socket": {"mode": "0666"}})
    command = [*as_user(ALICE), GATEWAYCTL, "--socket", daemon.socket]
    process = await processes.spawn(*command, "reload", stdout=-1, stderr=-1)
    out, err = await within(process.communicate(), "gatewayctl")
    assert process.returncode == 77 and out == b"" and b"admin" in err
    os.chmod(daemon.socket, 0o600)
    process = await processes.spawn(*command, "ping", stdout=-1, stderr=-1)
    out, err = await within(process.communicate(), "gatewayctl")
    assert process.returncode == 77 and daemon.socket.encode() in err


# Reaching the daemon

async def test_a_daemon_that_is_not_there_is_69(folder, ctl):
    outcome = await ctl(None, "--socket", folder / "nowhere", "--timeout", "200ms", "ping")
    check_failure(outcome, 69)
    assert "nowhere" in outcome.err


async def test_a_daemon_that_does_not_answer_is_unreachable_or_timed_out(folder, ctl):
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(folder / "silent"))
        silent.listen()
        outcome = await ctl(None, "--socket", folder / "silent", "--timeout", "300ms", "ping")
    assert outcome.code in (69, 124)
    check_failure(outcome, outcome.code)


async def test_a_daemon_that_is_just_starting_is_waited_for(daemons, start_ctl):
    daemon = await daemons(start=False)
    command = await start_ctl(daemon, "ping", "--timeout", "10s")
    await asyncio.sleep(QUIET)
    await daemon.start()
    assert (await command.outcome()).code == 0


async def test_the_socket_comes_from_the_environment(daemons, ctl, folder):
    daemon = await daemons()
    assert (await ctl(None, "ping", env={"GATEWAYD_SOCKET": daemon.socket})).code == 0
    assert (await ctl(daemon, "ping", env={"GATEWAYD_SOCKET": "/nowhere"})).code == 0
    daemon = await daemons(arguments=["--socket", str(folder / "gatewayd.sock")])
    assert (await ctl(None, "ping", env={"XDG_RUNTIME_DIR": folder})).code == 0


# Usage

@pytest.mark.parametrize("arguments", [
    [], ["bogus"], ["send"], ["send", "http://x"], ["ping", "--bogus"], ["ping", "--timeout"],
    ["ping", "--timeout", "soon"], ["send", "http://x", "e", "--delivery", "maybe"], ["subscribe", "http://x", "-n", "x"],
    ["wait", "http://x", "--state", "happy"], ["subscribe", "http://x", "--on-gap", "panic"], ["ping", "extra"]])
async def test_wrong_usage_is_64_and_reaches_no_daemon(ctl, arguments):
    outcome = await ctl(None, "--socket", "/nowhere/socket", *arguments)
    assert outcome.code == 64 and outcome.out == "" and outcome.err, outcome


async def test_a_misspelt_command_is_corrected(ctl):
    assert "subscribe" in (await ctl(None, "subscrbe", "http://x")).err


async def test_version_and_help_need_no_daemon(ctl):
    for arguments in (["version"], ["--version"]):
        outcome = await ctl(None, *arguments)
        assert outcome.code == 0 and re.search(r"\d+\.\d+\.\d+", outcome.out), outcome
    for arguments in (["help"], ["--help"], ["help", "send"], ["send", "--help"]):
        outcome = await ctl(None, *arguments)
        assert outcome.code == 0 and "send" in outcome.out and outcome.err == "", outcome


# Subscribing

async def test_subscribe_prints_one_event_per_line_and_ends_after_the_count(daemons, chat, start_ctl):
    daemon = await daemons()
    command = await start_ctl(daemon, "subscribe", "-n", "2", chat.url, "sa*")
    await daemon.until(lambda s: any(one["subscriptions"] for one in s["connections"]), "the subscription")
    await chat.present(1)
    await chat.emit("said", "hi", {"from": "ann"})
    await chat.emit("other")
    await chat.emit("sang", 2)
    outcome = await command.outcome()
    assert outcome.code == 0, outcome
    first, second = lines(outcome)
    assert set(first) >= {"event", "args", "seq", "epoch", "time"}
    assert (first["event"], first["args"]) == ("said", ["hi", {"from": "ann"}])
    assert (second["event"], second["args"], second["seq"]) == ("sang", [2], first["seq"] + 2)
    assert first["epoch"] == second["epoch"] == (await daemon.connection())["epoch"]


async def subscribed(daemon, chat, start_ctl, *arguments, **options):
    """A running `subscribe`, once the server would reach it."""
    command = await start_ctl(daemon, "subscribe", chat.url, *arguments, **options)
    await daemon.until(lambda s: any(one["subscriptions"] and one["state"] == "connected" for one in s["connections"]),
                       "the subscription")
    return command


async def test_each_event_is_written_at_once(daemons, chat, start_ctl):
    command = await subscribed(await daemons(), chat, start_ctl)
    for number in range(3):
        await chat.emit("said", number)
        assert json.loads(await command.line())["args"] == [number]


async def test_args_only_prints_the_array_of_arguments(daemons, chat, start_ctl):
    command = await subscribed(await daemons(), chat, start_ctl, "--args-only", "-n", "1")
    await chat.emit("said", 1, "two")
    assert (await command.outcome()).out == '[1,"two"]\n'


async def test_a_count_that_is_not_reached_in_time_is_124(daemons, chat, ctl):
    daemon = await daemons()
    # Long enough for the daemon to have answered on a machine that is busy.
    counted, timed = await asyncio.gather(
        ctl(daemon, "subscribe", "-n", "5", "--for", "2s", chat.url), ctl(daemon, "subscribe", "--for", "2s", chat.url))
    assert (counted.code, timed.code) == (124, 0), (counted, timed)


async def test_states_are_printed_when_asked_for(daemons, chat, start_ctl):
    command = await subscribed(await daemons(), chat, start_ctl, "--state")
    await chat.cut()
    states = []
    while states[-1:] != ["connected"] or "disconnected" not in states:
        states.append(json.loads(await command.line()).get("state"))
    assert "reconnecting" in states


async def test_an_interrupt_is_130(daemons, chat, start_ctl):
    command = await subscribed(await daemons(), chat, start_ctl)
    command.process.send_signal(signal.SIGINT)
    outcome = await command.outcome()
    assert outcome.code in (130, -signal.SIGINT), outcome


async def test_a_reader_that_goes_away_ends_it_quietly(daemons, chat, start_command):
    daemon = await daemons()
    script = f'{GATEWAYCTL} --socket {daemon.socket} subscribe {chat.url} | head -n 1; echo "${{PIPESTATUS[0]}}"'
    command = await start_command("/bin/bash", "-c", script)
    await daemon.until(lambda s: any(one["subscriptions"] and one["state"] == "connected" for one in s["connections"]),
                       "the subscription")

    async def keep_emitting():
        while True:
            await chat.emit("said", 1)
            await asyncio.sleep(0.02)

    emitting = asyncio.ensure_future(keep_emitting())
    outcome = await command.outcome()
    emitting.cancel()
    assert outcome.out.splitlines()[-1] == "0" and outcome.err == "", outcome


async def test_exec_runs_a_command_for_each_event(daemons, chat, start_ctl, folder):
    command = await subscribed(await daemons(), chat, start_ctl, "-n", "2", "--exec", f"cat >> {folder}/out")
    await chat.emit("said", 1)
    await chat.emit("said", 2)
    assert (await command.outcome()).code == 0
    written = [json.loads(line) for line in (folder / "out").read_text().splitlines() if line]
    assert [one["args"] for one in written] == [[1], [2]]


async def test_a_gap_is_told_on_stderr_or_ends_it_with_74(daemons, chat, start_ctl):
    daemon = await daemons()
    warning = await subscribed(daemon, chat, start_ctl)
    failing = await start_ctl(daemon, "subscribe", "--on-gap", "fail", chat.url)
    await daemon.until(lambda s: s["connections"][0]["subscriptions"] == 2, "the subscriptions")
    await chat.cut()
    assert (await failing.outcome()).code == 74
    assert await warning.error_line()
    await chat.present(1)
    await chat.emit("said", "after")
    assert json.loads(await warning.line())["args"] == ["after"]


async def test_subscribe_survives_a_restart_of_the_daemon(daemons, chat, start_ctl):
    daemon = await daemons()
    command = await subscribed(daemon, chat, start_ctl)
    await chat.emit("said", "before")
    assert json.loads(await command.line())["args"] == ["before"]
    await daemon.stop()
    await daemon.start()
    await daemon.until(lambda s: any(one["subscriptions"] and one["state"] == "connected" for one in s["connections"]),
                       "the subscription to come back")
    await chat.emit("said", "after")
    assert json.loads(await command.line())["args"] == ["after"]
    assert await command.error_line()


async def test_no_reconnect_ends_with_the_daemon(daemons, chat, start_ctl):
    daemon = await daemons()
    command = await subscribed(daemon, chat, start_ctl, "--no-reconnect")
    await daemon.stop()
    assert (await command.outcome()).code == 69


# Serving

async def serving(daemon, chat, start_ctl, *arguments):
    command = await start_ctl(daemon, "serve", *arguments)
    await daemon.until(lambda s: any(one["subscriptions"] and one["state"] == "connected" for one in s["connections"]),
                       "the subscription")
    return command


async def test_serve_answers_the_server_with_the_output_of_a_command(daemons, chat, start_ctl):
    await serving(await daemons(), chat, start_ctl, chat.url, "confirm", "--", "cat")
    assert await chat.ask("confirm", 1, "two") == [[1, "two"]]
    assert await chat.ask("confirm") == [[]]


async def test_serve_can_give_all_arguments(daemons, chat, start_ctl):
    await serving(await daemons(), chat, start_ctl, "--args", chat.url, "confirm", "--", "cat")
    assert await chat.ask("confirm", 1, "two") == [1, "two"]


async def test_a_command_that_fails_gives_no_answer_and_the_next_is_served(daemons, chat, start_ctl):
    script = 'read args; test "$args" = "[1]" || exit 3; echo \'"good"\''
    command = await serving(await daemons(), chat, start_ctl, chat.url, "confirm", "--", "/bin/sh", "-c", script)
    assert await chat.ask("confirm", 0, timeout=0.5) is None
    assert await command.error_line()
    assert await chat.ask("confirm", 1) == ["good"]


async def test_serve_can_run_several_commands_at_a_time(daemons, chat, start_ctl, folder):
    script = f"read args; if [ $args = [1] ]; then echo 1; touch {folder}/go; else until [ -e {folder}/go ]; do sleep 0.01; done; echo 2; fi"
    await serving(await daemons(), chat, start_ctl, "--parallel", "2", chat.url, "confirm", "--", "/bin/sh", "-c", script)
    slow = asyncio.ensure_future(chat.ask("confirm", 2))
    assert await chat.ask("confirm", 1) == [1]
    assert await slow == [2]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_what_ends_serve_ends_its_commands_and_what_they_have_started(daemons, chat, start_ctl, folder, number):
    script = f"sleep 1000 & echo $! > {folder}/new; mv {folder}/new {folder}/child; wait"
    command = await serving(await daemons(), chat, start_ctl, chat.url, "confirm", "--", "/bin/sh", "-c", script)
    asked = asyncio.ensure_future(chat.ask("confirm", 1, timeout=1))
    child = await within(text_of(folder / "child"), "the command to start")
    command.process.send_signal(number)
    assert (await command.outcome()).code == -number
    await within(end_of(int(child)), "the command's own child to end")
    assert await asked is None


async def text_of(path):
    while not path.exists():
        await asyncio.sleep(0.01)
    return path.read_text()


async def end_of(pid):
    while True:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            if state not in "ZX":
                await asyncio.sleep(0.01)
                continue
        return


@pytest.mark.parametrize("command", ["send", "request"])
@pytest.mark.parametrize("arguments", [["--raw", "a", "caf\udce9"], ["e\udcff"]])
async def test_words_that_are_no_utf_8_are_refused_and_never_changed(daemons, chat, ctl, command, arguments):
    daemon = await daemons()
    outcome = await ctl(daemon, command, chat.url, *arguments)
    check_failure(outcome, 65)
    assert "UTF-8" in outcome.err
    assert (await chat.counters())["received"] == 0


# Looking and steering

async def test_status_check_is_a_plugin_for_monitoring_systems(daemons, chat, ctl, closed_port):
    daemon = await daemons({"upstream": {"chat": {"url": chat.url, "keep": "always"}}})
    await daemon.connected(upstream="chat")

    async def check(*words):
        outcome = await ctl(daemon, "status", "--check", *words)
        assert outcome.err == "" and len(outcome.out.splitlines()) == 1, outcome
        return outcome.code, outcome.out.partition(":")[0]

    assert await check() == await check("chat", chat.url) == (0, "GATEWAYD OK")
    assert await check("nowhere") == (3, "GATEWAYD UNKNOWN")
    client = await daemon.client()
    url = f"http://127.0.0.1:{closed_port}"
    await client.call("subscribe", url=url, state=True)
    await client.state_until("disconnected")
    assert await check() == await check(url, "--max-down", "1h") == (1, "GATEWAYD WARNING")
    assert await check(url) == (2, "GATEWAYD CRITICAL")
    assert await check("chat") == (0, "GATEWAYD OK")
    await daemon.stop()
    assert await check() == (2, "GATEWAYD CRITICAL")
    assert (await ctl(daemon, "status", "--max-down", "1m")).code == 64


async def test_status_is_json_where_there_is_no_terminal(daemons, chat, ctl):
    daemon = await daemons({"upstream": {"chat": {"url": chat.url}}})
    await daemon.connected(upstream="chat")
    for arguments in (["status"], ["status", "--json"], ["status", "chat"]):
        outcome = await ctl(daemon, *arguments)
        assert outcome.code == 0 and outcome.err == "", outcome
        (status,) = lines(outcome)
        assert status["connections"][0]["upstream"] == "chat" and status["connections"][0]["state"] == "connected"


async def test_connections_and_clients_are_one_json_object_per_line(daemons, servers, ctl):
    one, two = await servers(), await servers()
    daemon = await daemons()
    for server in (one, two):
        await daemon.connected(url=server.url)
    assert len({each["url"] for each in lines(await ctl(daemon, "connections"))}) == 2
    assert len(lines(await ctl(daemon, "clients"))) == 3


async def test_wait_ends_when_the_state_is_reached(daemons, chat, ctl):
    daemon = await daemons()
    assert (await ctl(daemon, "wait", chat.url)).code == 0
    assert (await ctl(daemon, "wait", chat.url, "--state", "connected")).code == 0
    check_failure(await ctl(daemon, "wait", chat.url, "--state", "disconnected", "--timeout", "200ms"), 124)


async def test_disconnect_reconnect_and_release_steer_a_connection(daemons, chat, ctl):
    daemon = await daemons()
    await ctl(daemon, "wait", chat.url)
    assert (await ctl(daemon, "disconnect", chat.url)).code == 0
    assert (await daemon.connection())["reason"] == "requested"
    assert (await ctl(daemon, "reconnect", chat.url)).code == 0
    assert (await ctl(daemon, "wait", chat.url)).code == 0
    check_failure(await ctl(daemon, "reconnect", chat.url), 1)
    await ctl(daemon, "disconnect", chat.url)
    assert (await ctl(daemon, "release", chat.url)).code == 0
    assert (await daemon.status())["connections"] == []


async def test_reload_is_0_or_78_with_the_mistakes(daemons, ctl):
    daemon = await daemons()
    assert (await ctl(daemon, "reload")).code == 0
    daemon.config.write_text("[limits]\nline = 0\nbogus = 1\n")
    outcome = await ctl(daemon, "reload")
    assert outcome.code == 78 and outcome.out == "", outcome
    assert "gatewayd.toml:2" in outcome.err and "gatewayd.toml:3" in outcome.err
    assert (await ctl(daemon, "ping")).code == 0


async def test_ping_tells_how_long_it_took(daemons, ctl):
    outcome = await ctl(await daemons(), "ping")
    assert outcome.code == 0 and lines(outcome)[0], outcome


async def test_call_calls_any_method(daemons, ctl, folder):
    daemon = await daemons()
    assert lines(await ctl(daemon, "call", "hello"))[0]["server"].startswith("gatewayd/")
    outcome = await ctl(daemon, "call", "hello", '{"client":"me"}')
    assert lines(outcome)[0]["you"]["uid"] == os.geteuid()
    assert lines(await ctl(daemon, "call", "hello", "-", stdin='{"client":"me"}'))
    check_failure(await ctl(daemon, "call", "no.such.method"), 1)
    assert "'gatewayctl introspect' lists all" in (await ctl(daemon, "call", "no.such.method")).err
    check_failure(await ctl(daemon, "call", "hello", '{"bogus":1}'), 65)
    check_failure(await ctl(daemon, "call", "hello", "{bad"), 65)
    for method, params in (("status", "[1]"), ("outbox.cancel", "{}")):
        outcome = await ctl(daemon, "call", method, params)
        check_failure(outcome, 65)
        assert f"; 'gatewayctl introspect {method}' explains its params" in outcome.err


@pytest.mark.parametrize("words", [
    ("http://127.0.0.1:99999", "e"), ("", "e"), ("http://127.0.0.1:9", ""), ("http://127.0.0.1:9", "connect")])
async def test_nobody_is_sent_to_a_help_that_explains_nothing(daemons, ctl, words):
    outcome = await ctl(await daemons(), "send", *words)
    check_failure(outcome, 65)
    assert "help" not in outcome.err


async def test_introspect_explains_the_methods(daemons, ctl):
    daemon = await daemons()
    outcome = await ctl(daemon, "introspect")
    assert outcome.code == 0 and "subscribe" in outcome.out
    outcome = await ctl(daemon, "introspect", "send")
    assert outcome.code == 0 and "delivery" in outcome.out and "unsubscribe" not in outcome.out
    outcome = await ctl(daemon, "introspect", "nosuch")
    assert outcome.code != 0 and "nosuch" in outcome.err


async def test_a_command_is_quick(daemons, chat, ctl):
    daemon = await daemons()
    await daemon.connected(url=chat.url)
    took = []
    for _ in range(20):
        begin = time.monotonic()
        assert (await ctl(daemon, "send", chat.url, "line")).code == 0
        took.append(time.monotonic() - begin)
    # The quickest: the others may have waited for other work on the machine.
    assert min(took) < 0.15, took


# On a terminal

async def test_on_a_terminal_status_is_a_table_in_colour(daemons, chat):
    daemon = await daemons({"upstream": {"chat": {"url": chat.url}}})
    await daemon.connected(upstream="chat")
    command = [GATEWAYCTL, "--socket", daemon.socket, "status"]

    async def show(*more, **env):
        return await within(asyncio.to_thread(on_terminal, *command, *more, env=env), "gatewayctl on a terminal")

    shown = await show()
    assert "chat" in shown and "connected" in shown and "{" not in shown and "\x1b[" in shown
    for plain in (await show("--no-color"), await show(NO_COLOR="1"), await show(TERM="dumb")):
        assert "chat" in plain and "\x1b" not in plain
    assert json.loads((await show("--json", NO_COLOR="1")).strip())["connections"]


async def test_without_a_terminal_colour_comes_only_when_forced(daemons, ctl):
    daemon = await daemons()
    assert "\x1b" not in (await ctl(daemon, "status")).out


# What a script is told of an upstream that is down

async def test_a_script_that_subscribes_to_a_wrong_port_is_told_why_once(daemons, closed_port, start_ctl):
    daemon = await daemons({"defaults": {"reconnect": {"base": "10ms", "cap": "20ms"}}})
    url = f"http://127.0.0.1:{closed_port}"
    command = await start_ctl(daemon, "subscribe", url, "--for", "3s")
    line = await command.error_line()
    assert line.startswith(f"gatewayctl: {url} is ") and "unreachable" in line, line
    await daemon.until(lambda status: status["connections"][0]["attempt"] > 5, "more attempts")
    outcome = await command.outcome()
    assert (outcome.code, outcome.out, outcome.err) == (0, "", ""), outcome


@pytest.mark.parametrize("wrong, reason", [("port", "unreachable"), ("namespace", "refused")])
async def test_serve_for_a_wrong_port_or_namespace_is_told_why_once(daemons, chat, closed_port, start_ctl, wrong, reason):
    quick = {"base": "10ms", "cap": "20ms", "refused_base": "10ms", "refused_cap": "20ms"}
    daemon = await daemons({"defaults": {"reconnect": quick}})
    url = f"http://127.0.0.1:{closed_port}" if wrong == "port" else f"{chat.url}/nowhere"
    command = await start_ctl(daemon, "serve", url, "ask", "--", "cat")
    line = await command.error_line()
    assert line.startswith(f"gatewayctl: {url} is ") and reason in line, line
    await daemon.until(lambda status: status["connections"][0]["attempt"] > 5, "more attempts")
    command.process.terminate()
    outcome = await command.outcome()
    assert outcome.out == "" and reason not in outcome.err, outcome


async def test_a_script_that_subscribes_to_a_wrong_namespace_is_told_why_once(daemons, chat, start_ctl):
    daemon = await daemons({"defaults": {"reconnect": {"refused_base": "10ms", "refused_cap": "20ms"}}})
    command = await start_ctl(daemon, "subscribe", f"{chat.url}/nowhere", "--for", "3s")
    line = await command.error_line()
    assert line.startswith(f"gatewayctl: {chat.url}/nowhere is ") and "refused" in line, line
    await daemon.until(lambda status: status["connections"][0]["attempt"] > 5, "more attempts")
    outcome = await command.outcome()
    assert (outcome.code, outcome.out, outcome.err) == (0, "", ""), outcome


async def test_a_send_to_a_server_that_is_known_to_be_down_says_so(daemons, closed_port, ctl):
    daemon = await daemons({"upstream": {"chat": {"url": f"http://127.0.0.1:{closed_port}"}}})
    await ctl(daemon, "send", "chat", "say", "first")
    await daemon.until(lambda s: s["connections"][0]["reason"] == "unreachable", "the failure")
    outcome = await ctl(daemon, "send", "chat", "say", "second")
    assert outcome.code == 0 and "unreachable" in outcome.err, outcome
    (result,) = lines(outcome)
    assert result["state"] == "accepted" and result["upstream"]["reason"] == "unreachable", result
    quiet = await ctl(daemon, "send", "-q", "chat", "say", "third")
    assert quiet.err == "", quiet


async def test_a_subscriber_after_the_idle_close_misses_nothing(daemons, chat, start_ctl):
    daemon = await daemons({"upstream": {"chat": {"url": chat.url, "linger": "0ms", "retain": "1h"}}})
    for value in (1, 2):
        reader = await start_ctl(daemon, "subscribe", "chat", "said", "-n1", "--on-gap", "fail")
        await chat.present(1)
        await chat.emit("said", value)
        outcome = await reader.outcome()
        assert outcome.code == 0 and lines(outcome)[0]["args"] == [value], outcome
        await daemon.until(lambda s: s["connections"][0]["reason"] == "idle", "the idle close")
    assert (await daemon.connection())["reconnects"] == 1
