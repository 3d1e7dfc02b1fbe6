"""How gatewayctl prints events: formats, indented JSON, the past of a connection, recordings and their replay."""

import asyncio
import json
import re
import time

import pytest

from patience import within
from programs import GATEWAYCTL
from terminal import on_terminal


async def subscribed(daemon, chat, start_ctl, *arguments, **options):
    """A running `subscribe`, once the server would reach it."""
    command = await start_ctl(daemon, "subscribe", chat.url, *arguments, **options)
    await chat.present(1)
    await daemon.until(lambda status: any(one["subscriptions"] for one in status["connections"]), "the subscription")
    return command


async def past(daemon, chat, *events):
    """A connection whose past are these events."""
    client = await daemon.connected(url=chat.url)
    result = await client.call("subscribe", url=chat.url)
    for name, *args in events:
        await chat.emit(name, *args)
    received = await client.events(len(events))
    return result["epoch"], received


# Formats

async def test_a_format_chooses_what_is_printed_of_an_event(daemons, chat, start_ctl):
    daemon = await daemons()
    command = await subscribed(daemon, chat, start_ctl, "-n2", "--format", r"%e|%a|%j|%k|%s|%E|%u|100%%\t.")
    await chat.emit("said", "hi \"you\"\n", {"a": 1})
    await chat.emit("none")
    outcome = await command.outcome()
    connection = await daemon.connection()
    epoch = connection["epoch"]
    assert outcome.code == 0 and outcome.err == "", outcome
    assert outcome.out == (
        f'said|hi "you"\n|["hi \\"you\\"\\n",{{"a":1}}]||1|{epoch}|{chat.url}|100%\t.\n'
        f'none||[]||2|{epoch}|{chat.url}|100%\t.\n')


async def test_times_of_a_format_are_the_events(daemons, chat, start_ctl):
    command = await subscribed(await daemons(), chat, start_ctl, "-n1", "--format", "%t %U %J", env={"TZ": "Asia/Kolkata"})
    await chat.emit("said", 12345678901234567890)
    instant, seconds, line = (await command.outcome()).out.rstrip("\n").split(" ", 2)
    stamp = json.loads(line)["time"]
    assert "12345678901234567890" in line
    assert seconds == f"{stamp // 1000}.{stamp % 1000:03}"
    local = time.gmtime(stamp // 1000 + 19_800)
    assert instant == time.strftime("%Y-%m-%dT%H:%M:%S", local) + f".{stamp % 1000:03}+05:30"


@pytest.mark.parametrize("text, wrong", [("%x", "%x"), ("%e %", "%"), (r"\q", r"\q"), ("a\\", "\\")])
async def test_an_unknown_letter_of_a_format_is_64_and_the_known_ones_are_listed(ctl, text, wrong):
    outcome = await ctl(None, "subscribe", "http://localhost", "--format", text, env={"GATEWAYD_SOCKET": "/nowhere"})
    assert outcome.code == 64 and outcome.out == "" and len(outcome.err.splitlines()) == 1
    assert f"'{wrong}'" in outcome.err
    assert "%e %j" in outcome.err or r"\n \t" in outcome.err


@pytest.mark.parametrize("options", [
    ["--format", "%e", "--args-only"], ["--format", "%e", "--pretty"], ["--pretty", "--json"],
    ["--exec", "cat", "--format", "%e"], ["--exec", "cat", "--pretty"]])
async def test_forms_that_contradict_each_other_are_64(ctl, options):
    outcome = await ctl(None, "subscribe", "http://localhost", *options, env={"GATEWAYD_SOCKET": "/nowhere"})
    assert outcome.code == 64 and "contradict" in outcome.err


async def test_pretty_json_is_indented_and_its_numbers_and_strings_are_untouched(daemons, peer, start_ctl):
    daemon = await daemons()
    command = await start_ctl(daemon, "subscribe", peer.url, "-n1", "--args-only", "--pretty")
    link = await peer.session()
    await link.text(r'42["said",1.50,{"b":"\u00e9 \"x\" , : {","a":[ ],"a":{}},[-0.0,12345678901234567890123],null,true]')
    assert (await command.outcome()).out == r"""[
  1.50,
  {
    "b": "\u00e9 \"x\" , : {",
    "a": [],
    "a": {}
  },
  [
    -0.0,
    12345678901234567890123
  ],
  null,
  true
]
"""


@pytest.mark.parametrize("options", [["--format", "%e %a %j"], ["--pretty"], ["--time"], []])
async def test_control_characters_of_a_server_never_reach_a_terminal(daemons, chat, options):
    daemon = await daemons()
    await past(daemon, chat, ("ev\u202eil", "\x1b]0;title\x07 \x9b31m \u200b"))
    shown = await within(asyncio.to_thread(
        on_terminal, GATEWAYCTL, "--no-color", "--socket", daemon.socket, "history", chat.url, *options,
        env={"TZ": "UTC"}), "the terminal")
    assert "title" in shown and r"\u001b]0;title\u0007" in shown.lower().replace(r"\\u", r"\u")
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u202e]", shown), repr(shown)


async def test_pretty_json_is_coloured_on_a_terminal_only(daemons, chat, ctl):
    daemon = await daemons()
    await past(daemon, chat, ("said", "x"))
    words = ["--socket", daemon.socket, "history", chat.url, "--pretty"]
    assert "\x1b[32m\"x\"\x1b[0m" in await within(asyncio.to_thread(on_terminal, GATEWAYCTL, *words, env={"TZ": "UTC"}), "the terminal")
    assert "\x1b" not in (await ctl(None, *words)).out


async def test_the_time_of_day_stands_in_front(daemons, chat, ctl):
    daemon = await daemons()
    _, events = await past(daemon, chat, ("said", "x"))
    outcome = await ctl(daemon, "history", chat.url, "--time", "--args-only", env={"TZ": "UTC"})
    stamp = events[0]["time"]
    assert outcome.out == time.strftime("%H:%M:%S", time.gmtime(stamp // 1000)) + f'.{stamp % 1000:03} ["x"]\n'


async def test_with_states_a_gap_is_a_line_too(daemons, chat, start_ctl):
    daemon = await daemons()
    command = await subscribed(daemon, chat, start_ctl, "--state")
    await command.line()
    await chat.emit("said", 1)
    while "event" not in json.loads(await command.line()):
        pass
    await chat.cut()
    while "gap" not in (line := json.loads(await command.line())):
        assert "state" in line
    assert line["gap"]["reason"] == "upstream" and "subscription" not in line["gap"]
    assert (await command.error_line()).startswith("gatewayctl: gap: ")


# The past

async def test_history_prints_what_subscribe_printed_and_ends(daemons, chat, start_ctl, ctl):
    daemon = await daemons()
    command = await subscribed(daemon, chat, start_ctl, "-n4")
    for name in ("said", "other", "said", "said"):
        await chat.emit(name, name)
    printed = (await command.outcome()).out
    outcome = await ctl(daemon, "history", chat.url)
    assert (outcome.code, outcome.out, outcome.err) == (0, printed, "")
    assert (await ctl(daemon, "history", chat.url, "--last", "2", "s*")).out.splitlines() == printed.splitlines()[2:]
    epoch = json.loads(printed.splitlines()[0])["epoch"]
    assert (await ctl(daemon, "history", chat.url, "--since", f"{epoch}:3")).out.splitlines() == printed.splitlines()[3:]
    assert (await ctl(daemon, "history", chat.url, "--since", f"{epoch}:4")).out == ""


async def test_history_goes_on_where_an_answer_was_full(daemons, chat, ctl):
    daemon = await daemons({"limits": {"line": "64KiB"}, "defaults": {"history": {"events": 5000}}})
    client = await daemon.connected(url=chat.url)
    epoch = (await client.call("subscribe", url=chat.url, queue=10_000))["epoch"]
    await chat.burst("tick", 2500, padding=100)
    await client.events(2500)
    for options, first in (([], 0), (["--last", "2200"], 300), (["--since", f"{epoch}:100"], 100)):
        outcome = await ctl(daemon, "history", chat.url, "--format", "%a", *options)
        assert outcome.code == 0 and outcome.err == "", outcome.err
        assert outcome.out.split() == [str(number) for number in range(first, 2500)]


async def test_history_says_what_is_no_longer_remembered(daemons, chat, ctl):
    daemon = await daemons({"defaults": {"history": {"events": 2}}})
    epoch, _ = await past(daemon, chat, *[("said", number) for number in range(5)])
    outcome = await ctl(daemon, "history", chat.url, "--args-only", "--since", f"{epoch}:1")
    assert outcome.code == 0 and outcome.out == "[3]\n[4]\n"
    assert outcome.err.startswith("gatewayctl: gap: ") and len(outcome.err.splitlines()) == 1
    outcome = await ctl(daemon, "history", chat.url, "--since", f"{epoch}:1", "--on-gap", "fail")
    assert outcome.code == 74 and "gap" in outcome.err
    outcome = await ctl(daemon, "history", chat.url, "--args-only")
    assert (outcome.out, outcome.err) == ("[3]\n[4]\n", "")


async def test_history_says_that_an_event_on_its_first_page_is_too_long(daemons, chat, ctl):
    daemon = await daemons({"limits": {"line": "64KiB"}})
    client = await daemon.connected(url=chat.url)
    epoch = (await client.call("subscribe", url=chat.url))["epoch"]
    for size in (1, 70_000, 2):
        await chat.emit("said", "x" * size)
    await client.events(2)
    for options in ([], ["--last", "3"], ["--since", f"{epoch}:0"]):
        outcome = await ctl(daemon, "history", chat.url, "--args-only", *options)
        assert outcome.code == 0 and outcome.out == '["x"]\n["xx"]\n', outcome.out
        assert outcome.err == "gatewayctl: gap: events may have been missed: larger than the daemon's line limit\n", options
        assert (await ctl(daemon, "history", chat.url, "--on-gap", "fail", *options)).code == 74
    # What is not asked for is not missed.
    for options in (["--last", "1"], ["--since", f"{epoch}:2"]):
        assert (await ctl(daemon, "history", chat.url, *options)).err == "", options


async def test_history_connects_to_nothing(daemons, chat, ctl):
    daemon = await daemons({"upstream": {"chat": {"url": chat.url}}})
    outcome = await ctl(daemon, "history", "chat")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
    assert (await daemon.connection())["generation"] == 0


# Recordings

async def test_a_recording_is_what_was_printed_and_can_be_sent_again(daemons, servers, start_ctl, ctl, folder):
    one, other = await servers(), await servers()
    daemon = await daemons()
    file = folder / "recording"
    command = await subscribed(daemon, one, start_ctl, "--record", file, "-n3", "--format", "%e")
    for number in range(3):
        await one.emit("line", number, {"deep": [number]})
    outcome = await command.outcome()
    assert outcome.out == "line\nline\nline\n", outcome
    assert file.read_text() == (await ctl(daemon, "history", one.url)).out
    outcome = await ctl(daemon, "replay", file, other.url, "--speed", "0")
    assert (outcome.code, json.loads(outcome.out)) == (0, {"sent": 3}), outcome
    assert [event["args"] for event in await other.received(3, "line")] == [[n, {"deep": [n]}] for n in range(3)]


async def test_a_second_recording_is_appended(daemons, chat, ctl, folder, start_ctl):
    daemon = await daemons()
    for number in range(2):
        command = await subscribed(daemon, chat, start_ctl, "--record", folder / "file", "-n1", "--exec", "true")
        await chat.emit("line", number)
        assert (await command.outcome()).code == 0
        await daemon.until(lambda status: not any(one["subscriptions"] for one in status["connections"]), "its end")
    assert [json.loads(line)["args"] for line in (folder / "file").read_text().splitlines()] == [[0], [1]]


async def test_a_file_that_cannot_be_recorded_to_is_said_before_anything_happens(ctl, folder):
    outcome = await ctl(None, "subscribe", "http://localhost", "--record", folder, env={"GATEWAYD_SOCKET": "/nowhere"})
    assert outcome.code == 65 and str(folder) in outcome.err


async def test_a_full_disk_ends_a_recording_with_74(daemons, chat, start_ctl):
    command = await subscribed(await daemons(), chat, start_ctl, "--record", "/dev/full")
    await chat.emit("line")
    outcome = await command.outcome()
    assert outcome.code == 74 and "/dev/full" in outcome.err and "No space left" in outcome.err


def recorded(*times):
    return "".join(json.dumps({"event": "line", "args": [one], "seq": 1, "epoch": "e", "time": one}) + "\n" for one in times)


async def test_a_replay_keeps_the_pauses_divided_by_its_speed(daemons, chat, ctl):
    daemon = await daemons()
    await daemon.connected(url=chat.url)
    start = time.monotonic()
    outcome = await ctl(daemon, "replay", "-", chat.url, "--speed", "10", stdin=recorded(1000, 3000, 2000, 5000))
    assert outcome.code == 0 and time.monotonic() - start >= 0.4
    assert [event["args"] for event in await chat.received(4, "line")] == [[1000], [3000], [2000], [5000]]


@pytest.mark.parametrize("line", ["{", "[]", '{"event":"e","args":[]}', '{"state":"connected"}', '{"event":1,"args":[],"time":1}'])
async def test_what_is_no_recorded_line_is_65_with_its_number(daemons, chat, ctl, line):
    outcome = await ctl(await daemons(), "replay", "-", chat.url, "--speed", "0", stdin=recorded(1) + "\n" + line + "\n")
    assert outcome.code == 65 and "line 3:" in outcome.err and "(1 sent before it)" in outcome.err, outcome
    assert outcome.out == ""


@pytest.mark.parametrize("speed", ["-1", "fast", "nan", "inf"])
async def test_a_speed_that_is_none_is_64(ctl, speed):
    outcome = await ctl(None, "replay", "-", "http://localhost", f"--speed={speed}", env={"GATEWAYD_SOCKET": "/nowhere"})
    assert outcome.code == 64 and speed in outcome.err


async def test_a_replay_whose_words_are_swapped_is_told_their_order(daemons, chat, ctl):
    outcome = await ctl(await daemons(), "replay", chat.url, "day.jsonl")
    assert outcome.code == 64
    assert outcome.err == f"gatewayctl: replay: '{chat.url}' is the address of a server; FILE comes first, then URL\n"


async def test_whoever_takes_the_time_limit_for_that_of_events_is_told_the_other(daemons, chat, start_ctl):
    waiting = await start_ctl(await daemons(), "subscribe", "-n", "1", "--timeout", "10s", chat.url, "said")
    assert "--for limits how long events are waited for" in await waiting.error_line()
