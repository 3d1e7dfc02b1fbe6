"""The Python client apart from the scenarios that all languages share: its documents, its package, its corners."""

import ast
import asyncio
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import signal
import sys
import time

import pytest

import client_loop
import processes
from patience import SOON, within
from programs import ROOT

HOME = ROOT / "clients" / "python"
sys.path.insert(0, str(HOME / "src"))

import gatewayd  # noqa: E402
from gatewayd import aio, errors, link, messages, subscription  # noqa: E402

README = (HOME / "README.md").read_text()
SNIPPETS = [text for text in re.findall(r"```python\n(.*?)```", README, re.DOTALL)]


@pytest.mark.parametrize("number", range(len(SNIPPETS)))
async def test_what_the_readme_shows_runs(number, folder, daemons, chat, start_command):
    daemon = await daemons()
    # Another program that says something, for the snippet that only listens.
    client = await daemon.client()
    await client.call("subscribe", url=chat.url)
    program = folder / "snippet.py"
    program.write_text(SNIPPETS[number].replace("https://chat.example", chat.url))
    command = await start_command(sys.executable, "-u", program, env={
        "PYTHONPATH": HOME / "src", "GATEWAYD_SOCKET": daemon.socket})
    outcome = await command.outcome()
    assert outcome.code == 0, outcome
    assert outcome.out, outcome


async def test_the_ten_lines_of_the_projects_readme_run(folder, daemons, chat, start_command):
    text = (ROOT / "README.md").read_text()
    (program,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    daemon = await daemons()
    path = folder / "ten.py"
    path.write_text(program.replace("https://chat.example", chat.url))
    command = await start_command(sys.executable, "-u", path, env={
        "PYTHONPATH": HOME / "src", "GATEWAYD_SOCKET": daemon.socket})
    assert await command.line() == "said"
    client = await daemon.client()
    await daemon.until(lambda status: any(one["subscriptions"] for one in status["connections"]), "the subscription")
    await client.call("send", url=chat.url, event="say", args=["again"])
    assert await command.line() == "said ['again']"


def test_there_is_a_class_for_every_error_of_the_protocol():
    text = (ROOT / "docs" / "protocol.md").read_text()
    rows = re.findall(r"^\| −(\d+) \| (\w+)", text, re.MULTILINE)
    assert len(rows) > 20
    assert {name: -int(code) for code, name in rows} == {name: cls.code for name, cls in errors.BY_TYPE.items()}


def test_an_error_that_this_version_does_not_know_keeps_its_name():
    error = errors.from_answer({"code": -1, "message": "new", "data": {"type": "NewError", "retry": True}})
    assert (type(error), error.type, error.code, error.retry, str(error)) == (
        errors.CallError, "NewError", -1, True, "new")


def test_an_error_of_the_servers_application_says_what_the_server_said():
    def told(**data):
        return errors.from_answer({"code": -32016, "message": "It answered with e.", "data": {"error": "e", **data}})

    assert str(told(args=["5 needed", {"have": 3}], kwargs={"k": 1})) == (
        'It answered with e: 5 needed, {"have": 3}, {"k": 1}')
    assert str(told(args=["5 needed"])) == "It answered with e: 5 needed"
    assert str(told(args=[], kwargs={})) == str(told(limit=1, size=2)) == told(args=[1]).message == "It answered with e."


def test_only_a_gap_moves_a_position_into_another_epoch():
    here = gatewayd.Position("e", 8)
    assert subscription.behind(here, gatewayd.State("connected", epoch="f")) == here
    assert subscription.behind(here, gatewayd.Gap("upstream", epoch="f", seq=20)) == gatewayd.Position("f", 20)
    assert subscription.behind(here, gatewayd.Gap("too_large", epoch="e", first=9, last=10)) == gatewayd.Position("e", 10)


def test_the_daemon_is_looked_for_where_gatewayctl_looks(monkeypatch, folder):
    monkeypatch.delenv("GATEWAYD_SOCKET", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    assert link.socket_path() == "/run/gatewayd.sock"
    (folder / "gatewayd.sock").touch()
    assert link.socket_path() == str(folder / "gatewayd.sock")
    monkeypatch.setenv("GATEWAYD_SOCKET", "/named")
    assert link.socket_path() == "/named"
    assert link.socket_path("/given") == "/given"


def test_the_daemon_of_a_user_is_found_without_a_variable(monkeypatch):
    for name in ("GATEWAYD_SOCKET", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(link.os.path, "exists", {"/run/user/1000/gatewayd.sock", "/run/user/0/gatewayd.sock"}.__contains__)
    found = []
    for user in (1000, 1001, 0):
        monkeypatch.setattr(link.os, "geteuid", lambda: user)
        found.append(link.socket_path())
    assert found == ["/run/user/1000/gatewayd.sock", "/run/gatewayd.sock", "/run/gatewayd.sock"]


# Against a daemon whose every line is chosen

HELLO = {"server": "gatewayd", "protocol": {"min": 1, "max": 1}, "instance": "i"}
SUBSCRIBED = {"connection": "c", "epoch": "e", "seq": 0, "state": "connected"}


@contextlib.asynccontextmanager
async def pretended_daemon(folder, lines, inflight=256):
    """Answers `hello`, and each other call with the lines that `lines(message)` gives; None hangs up. What needs no answer
    it ignores."""
    async def serve(reader, writer):
        while line := await reader.readline():
            message = json.loads(line)
            if "id" not in message:
                continue
            hello = {"id": message["id"], "result": {**HELLO, "limits": {"line": 1 << 20, "inflight": inflight}}}
            answers = [hello] if message["method"] == "hello" else lines(message)
            if answers is None:
                break
            for answer in answers:
                writer.write(json.dumps({"jsonrpc": "2.0", **answer}).encode() + b"\n")
        writer.close()

    server = await asyncio.start_unix_server(serve, folder / "pretended")
    try:
        yield folder / "pretended"
    finally:
        server.close()


def failed(identity, kind, code, retry=False):
    return {"id": identity, "error": {"code": code, "message": kind, "data": {"type": kind, "retry": retry}}}


async def test_an_error_without_a_call_ends_the_calls_of_its_link_and_is_forgotten_with_it(folder):
    def lines(message):
        answers = {"unreadable": [failed(None, "ParseError", -32700)], "end": None, "held": []}
        return answers.get(message["params"].get("event"), [{"id": message["id"], "result": {}}])

    async with pretended_daemon(folder, lines) as path, gatewayd.AsyncClient(path) as gateway:
        calls = [gateway.send("chat", event, delivery="acked") for event in ("held", "unreadable")]
        ends = await within(asyncio.gather(*calls, return_exceptions=True), "both calls to end")
        assert [type(end) for end in ends] == [gatewayd.ParseError, gatewayd.ParseError]
        await gateway.ping()
        with pytest.raises(gatewayd.DaemonLost):
            await within(gateway.send("chat", "end", delivery="acked"), "the call to end")


async def test_a_daemon_that_is_about_to_stop_is_asked_again(folder, monkeypatch):
    monkeypatch.setattr(aio, "_DRAIN_PAUSE", 0.001)
    refusals = {"request": 3, "subscribe": 3}

    def lines(message):
        method = message["method"]
        if refusals.get(method, 0) > 0:
            refusals[method] -= 1
            return [failed(message["id"], "Draining", -32010, retry=True)]
        return [{"id": message["id"], "result": SUBSCRIBED if method == "subscribe" else {"args": [method]}}]

    async with pretended_daemon(folder, lines) as path, gatewayd.AsyncClient(path) as gateway:
        assert (await gateway.request("chat", "one")).value == "request"
        async with gateway.subscribe("chat") as said:
            assert said.began
        assert refusals == {"request": 0, "subscribe": 0}
    refusals["request"] = 1 << 30
    async with pretended_daemon(folder, lines) as path, gatewayd.AsyncClient(path, timeout=0.05) as gateway:
        with pytest.raises(gatewayd.Draining):
            await within(gateway.request("chat", "one"), "the call to end")


async def test_a_wait_outlives_one_daemon_that_stops_after_the_other(folder, monkeypatch):
    monkeypatch.setattr(aio, "_DRAIN_PAUSE", 0.001)
    asked = 0

    def lines(message):
        nonlocal asked
        asked += 1
        if asked == 2:
            return None
        if asked == 3:
            # The second daemon works for longer than one that is about to stop is waited for.
            time.sleep(0.1)
        return [failed(message["id"], "Draining", -32010, retry=True) if asked < 4 else {"id": message["id"], "result": {}}]

    async with pretended_daemon(folder, lines) as path, gatewayd.AsyncClient(path, timeout=0.05) as gateway:
        await within(gateway.wait("chat"), "the wait to end")
    assert asked == 4


@pytest.mark.parametrize("problem", [KeyError, RuntimeError, asyncio.CancelledError])
async def test_a_progress_function_that_fails_ends_no_call(folder, problem):
    held = []

    def lines(message):
        if message["method"] == "send":
            held.append(message["id"])
            return []
        return [{"method": "progress", "params": {"id": message["id"], "args": ["part"]}},
                {"id": message["id"], "result": {"args": ["whole"]}},
                {"id": held[0], "result": {"id": "s", "state": "acked"}}]

    def fail(part):
        raise problem(part.value)

    reported = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: reported.append(context["exception"]))
    async with pretended_daemon(folder, lines) as path, gatewayd.AsyncClient(path) as gateway:
        await gateway._reach(None)
        other = asyncio.ensure_future(gateway.send("chat", "one", delivery="acked"))
        await asyncio.sleep(0)
        assert (await gateway.request("chat", "parts", progress=fail)).value == "whole"
        assert (await within(other, "the other call")).state == "acked"
    assert [(type(one), one.args) for one in reported] == [(problem, ("part",))]


async def test_a_socket_that_was_usable_may_be_closed_to_the_user_for_a_moment(folder, monkeypatch):
    answers = {"subscribe": SUBSCRIBED, "ping": {}}
    refused = 0

    def lines(message):
        return None if message["method"] == "send" else [{"id": message["id"], "result": answers.get(message["method"], {})}]

    async def forbidden(*_):
        nonlocal refused
        refused += 1
        if refused > 3:
            monkeypatch.undo()
        raise gatewayd.SocketForbidden("closed to you")

    async with pretended_daemon(folder, lines) as path, gatewayd.AsyncClient(path) as gateway:
        said = await gateway.subscribe("chat", states=True)
        assert (await said.next()).state == "connected"
        monkeypatch.setattr(link.Link, "open", forbidden)
        with pytest.raises(gatewayd.DaemonLost):
            await gateway.send("chat", "end")
        assert [(await within(said.next(), "the daemon")).state for _ in range(2)] == ["daemon_lost", "connected"]
        assert refused == 4


async def test_a_call_says_that_the_socket_stays_closed_to_the_user(folder, monkeypatch):
    def lines(message):
        return None if message["method"] == "send" else [{"id": message["id"], "result": {}}]

    async def forbidden(*_):
        raise gatewayd.SocketForbidden("closed to you")

    async with pretended_daemon(folder, lines) as path:
        async with gatewayd.AsyncClient(path, timeout=0.05) as gateway:
            await gateway.ping()
            monkeypatch.setattr(link.Link, "open", forbidden)
            with pytest.raises(gatewayd.DaemonLost):
                await gateway.send("chat", "end")
            with pytest.raises(gatewayd.SocketForbidden):
                await within(gateway.ping(), "the call to end")
        # Who never had it hears so at once.
        async with gatewayd.AsyncClient(path, timeout=3600) as gateway:
            with pytest.raises(gatewayd.SocketForbidden):
                await within(gateway.ping(), "the call to end")


async def test_the_daemon_is_told_what_is_left_of_a_deadline(folder):
    told, held = {}, []

    def lines(message):
        told[message["params"].get("event", message["method"])] = message["params"].get("timeout")
        if message["params"].get("event") == "first":
            held.append(message["id"])
            return []
        return [{"id": message["id"], "result": {"args": []}}]

    async with gatewayd.AsyncClient(folder / "pretended", timeout=60) as gateway:
        # For want of a daemon, and then of a place among the calls that it takes at once.
        begun = [asyncio.ensure_future(one) for one in (
            gateway.request("chat", "late", timeout=60), gateway.wait("chat", timeout=60),
            gateway.call("request", {"event": "raw", "timeout": 70_000}, timeout=60))]
        await asyncio.sleep(0.2)
        async with pretended_daemon(folder, lines, inflight=1):
            await within(asyncio.gather(*begun), "the calls")
            assert 0 < told["late"] <= 59_801 and 0 < told["wait"] <= 59_801 and told["raw"] == 70_000, told
            first, second = [asyncio.ensure_future(gateway.request("chat", event, timeout=60)) for event in ("first", "second")]
            while not held:
                await asyncio.sleep(0.001)
            await asyncio.sleep(0.2)
            first.cancel()
            await within(second, "the second call")
            assert 0 < told["second"] <= 59_801, told


async def test_a_text_is_the_name_of_one_event(folder):
    asked = []

    def lines(message):
        asked.append(message["params"].get("events"))
        result = SUBSCRIBED if message["method"] == "subscribe" else {
            "events": [], "epoch": "e", "seq": 0, "complete": True, "more": False}
        return [{"id": message["id"], "result": result}]

    async with pretended_daemon(folder, lines) as path, gatewayd.AsyncClient(path) as gateway:
        for events in ("said", ["said", "left"], None):
            await gateway.history("chat", events)
        await gateway.subscribe("chat", "said")
    assert asked == [["said"], ["said", "left"], None, ["said"]]


# Python

OLDEST = (3, 9)
SOURCES = sorted((HOME / "src").rglob("*.py"))


def test_the_sources_are_of_the_oldest_python_that_the_package_takes():
    assert re.search(r'^requires-python = ">=(.*)"', (HOME / "pyproject.toml").read_text(), re.MULTILINE)[1] == "3.9"
    assert len(SOURCES) > 10
    for source in SOURCES:
        ast.parse(source.read_text(), str(source), feature_version=OLDEST)


def other_pythons():
    """The interpreters of other versions that are here: `python3.9` and so on, of PATH or of pyenv."""
    versions = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv")) / "versions"
    for minor in range(OLDEST[1], 16):
        if minor == sys.version_info.minor:
            continue
        name = f"python3.{minor}"
        found = [*sorted(versions.glob(f"3.{minor}.*/bin/{name}")), *filter(None, [shutil.which(name)])]
        # A shim of pyenv is there for versions that are not chosen as well, and fails.
        works = [one for one in found if subprocess.run([one, "-c", ""], capture_output=True).returncode == 0]
        yield pytest.param(works[0] if works else None, id=name)


@pytest.mark.parametrize("python", list(other_pythons()))
async def test_it_runs_with_other_versions_of_python(python, daemons, chat, folder, start_command):
    if python is None:
        pytest.skip("there is no such interpreter on this machine")
    daemon = await daemons()
    program = folder / "program.py"
    program.write_text(f"""
import asyncio, gatewayd, gatewayd.socketio
with gatewayd.Client() as client:
    print(client.request({chat.url!r}, "echo", 1, b"two").args)

async def main():
    async with gatewayd.AsyncClient() as client:
        async with client.subscribe({chat.url!r}, ["said"]) as said:
            await client.send({chat.url!r}, "say", "three", delivery="acked", timeout=10)
            async for event in said:
                print(event.args)
                break

asyncio.run(main())
""")
    command = await start_command(python, "-B", "-W", "error", program, env={
        "PYTHONPATH": HOME / "src", "GATEWAYD_SOCKET": daemon.socket})
    outcome = await command.outcome()
    assert (outcome.code, outcome.err) == (0, ""), outcome
    assert outcome.out == "[1, b'two']\n['three']\n", outcome


@pytest.mark.parametrize("value", [
    None, 1.5, "text", b"", b"\xff\x00", [b"x", {"deep": [b"y"]}], {"$bin": "no bytes"}, {"$bin": b"bytes"},
    {"$$bin": {"$$$bin": 1}}, {"$bin": 1, "other": 2}, 2**80, "\ud800"], ids=repr)
def test_a_value_comes_back_as_it_was(value):
    line = messages.encode({"args": messages.to_wire([value])})
    assert messages.from_wire(messages.decode(line)["args"]) == [value]


def nested(levels):
    return [nested(levels - 1)] if levels else 1


async def test_what_is_nested_too_deeply_is_refused_before_it_is_sent(daemons, chat):
    """The daemon could not tell which call a line that it cannot read belongs to."""
    daemon = await daemons()
    endless = []
    endless.append(endless)
    async with gatewayd.AsyncClient(daemon.socket) as gateway:
        assert (await gateway.request(chat.url, "echo", nested(61))).value == nested(61)
        own = gateway._link
        for name, call in {
                "request": lambda: gateway.request(chat.url, "echo", nested(62)),
                "a tuple": lambda: gateway.request(chat.url, "echo", (nested(61),)),
                "without end": lambda: gateway.request(chat.url, "echo", endless),
                "bytes": lambda: gateway.request(chat.url, "echo", deep_bytes(61)),
                "send": lambda: gateway.send(chat.url, "echo", nested(62), delivery="acked"),
                "kwargs": lambda: gateway.send(chat.url, "echo", kwargs={"a": nested(62)}),
                "respond": lambda: gateway.respond("token", nested(62)),
                "auth": lambda: gateway.status(gatewayd.Target(chat.url, auth={"a": nested(62)})),
                "options": lambda: gateway.status(gatewayd.Target(chat.url, options={"query": nested(62)})),
                "call": lambda: gateway.call("status", {"a": nested(63)})}.items():
            with pytest.raises(gatewayd.InvalidParams, match="64 levels") as caught:
                await within(call(), f"{name} to be refused")
            assert (caught.value.code, caught.value.retry, caught.value.type) == (-32602, False, "InvalidParams")
        for said in ({"enter": [("join", nested(60))]}, {"enter": [{"event": "join", "kwargs": {"a": nested(60)}}]},
                     {"enter": ["join"], "leave": [("leave", nested(60))]}):
            with pytest.raises(gatewayd.InvalidParams, match="64 levels"):
                await within(gateway.subscribe(chat.url, **said)._started(), "the subscription to be refused")
        assert gateway._link is own and own.is_open


def deep_bytes(levels):
    return [deep_bytes(levels - 1)] if levels else b"an object in the line"


def test_an_integer_that_python_does_not_read_does_not_end_the_connection():
    assert str(messages.decode(b'{"n":' + b"7" * 5000 + b"}")["n"]) == "7" * 5000


def test_nothing_at_the_socket_is_an_error_in_time(folder):
    with gatewayd.Client(folder / "nothing", timeout=0.05) as gateway:
        with pytest.raises(gatewayd.DaemonUnavailable, match="no daemon answers at .*nothing"):
            gateway.ping()
    (folder / "file").touch()
    with gatewayd.Client(folder / "file", timeout=0.05) as gateway:
        with pytest.raises(gatewayd.DaemonUnavailable):
            gateway.ping()
    with gatewayd.Client(folder / ("x" * 120), timeout=0.05) as gateway:
        with pytest.raises(gatewayd.DaemonUnavailable):
            gateway.ping()


async def test_an_administrator_who_ends_a_program_ends_its_subscriptions(daemons, chat):
    daemon = await daemons()
    admin = await daemon.client()
    async with gatewayd.AsyncClient(daemon.socket, name="guest") as gateway:
        said = await gateway.subscribe(chat.url)
        (guest,) = [one for one in (await admin.call("clients.list"))["clients"] if one["name"] == "guest"]
        await admin.call("clients.kick", client=guest["client"])
        with pytest.raises(gatewayd.Kicked):
            await said.next(timeout=10)


async def test_no_event_is_lost_or_doubled_when_the_daemon_is_restarted_or_killed(folder):
    result = await client_loop.rounds(folder, 6, tell=print, languages=["python-asyncio", "python-sync"])
    print(result)
    result.check()


INTERRUPTED = """
import sys, gatewayd
with gatewayd.Client(name="interrupted") as gateway:
    gateway.wait(sys.argv[1])
    try:
        gateway.request(sys.argv[1], "hold", "held", timeout=60)
    except KeyboardInterrupt:
        print("interrupted", gateway.request(sys.argv[1], "one", 1).value, flush=True)
    said = gateway.subscribe(sys.argv[1], ["said"])
    try:
        print("subscribed", flush=True)
        next(said)
    except KeyboardInterrupt:
        gateway.send(sys.argv[1], "say", "behind the interruption")
        print(next(said).args)
"""


async def test_an_interrupt_takes_a_waiting_call_back_and_loses_nothing(folder, daemons, chat, start_command):
    daemon = await daemons()
    program = folder / "interrupted.py"
    program.write_text(INTERRUPTED)
    command = await start_command(sys.executable, program, chat.url, env={
        "PYTHONPATH": HOME / "src", "GATEWAYD_SOCKET": daemon.socket})
    assert await chat.control("held", name="held", timeout=SOON)
    command.process.send_signal(signal.SIGINT)
    assert await command.line() == "interrupted 1"
    assert await command.line() == "subscribed"
    (client,) = [one for one in (await daemon.status())["clients"] if one["name"] == "interrupted"]
    assert client["requests"] == 0
    command.process.send_signal(signal.SIGINT)
    assert await command.line() == "['behind the interruption']"
    assert (await command.outcome()).code == 0


async def test_a_forked_process_is_told_to_make_a_client_of_its_own(daemons, start_command, folder):
    daemon = await daemons()
    program = folder / "forked.py"
    program.write_text("""
import os, gatewayd
gateway = gatewayd.Client()
gateway.ping()
if os.fork() == 0:
    try:
        gateway.ping()
    except gatewayd.Closed as error:
        print(error, flush=True)
    with gatewayd.Client() as own:
        own.ping()
    print("own", flush=True)
    os._exit(0)
os.wait()
gateway.ping()
# A program may end without closing.
""")
    command = await start_command(sys.executable, program, env={
        "PYTHONPATH": HOME / "src", "GATEWAYD_SOCKET": daemon.socket})
    outcome = await command.outcome()
    assert outcome.code == 0 and "before a fork" in outcome.out and outcome.out.endswith("own\n") and not outcome.err, outcome


async def test_a_daemon_that_does_not_answer_ends_a_call_in_time(daemons):
    daemon = await daemons()
    async with gatewayd.AsyncClient(daemon.socket, timeout=2) as gateway:
        await gateway.ping()
        daemon.send_signal(signal.SIGSTOP)
        try:
            with pytest.raises(gatewayd.CallTimeout):
                await gateway.ping()
        finally:
            daemon.send_signal(signal.SIGCONT)
        await gateway.ping()


async def test_what_is_no_daemon_is_told_from_one(folder):
    async def prattle(reader, writer):
        writer.write(b"220 mail.example ESMTP\n")
        await reader.read()
        writer.close()

    server = await asyncio.start_unix_server(prattle, folder / "other")
    async with gatewayd.AsyncClient(folder / "other", timeout=10) as gateway:
        with pytest.raises(gatewayd.ProtocolMismatch):
            await gateway.ping()
    server.close()


async def test_closing_a_subscription_ends_the_iteration_and_the_daemons_work(daemons, chat):
    daemon = await daemons()
    async with gatewayd.AsyncClient(daemon.socket) as gateway:
        said = await gateway.subscribe(chat.url)
        waiting = asyncio.ensure_future(anext_of(said))
        await asyncio.sleep(0)
        await said.aclose()
        assert await within(waiting, "the iteration to end") is None
        (client,) = (await gateway.status())["clients"]
        assert client["subscriptions"] == 0


async def test_more_calls_at_once_than_the_daemon_takes_wait_for_their_turn(daemons, chat):
    daemon = await daemons({"limits": {"inflight": 8}})
    async with gatewayd.AsyncClient(daemon.socket) as gateway:
        answers = await asyncio.gather(*(gateway.request(chat.url, "one", number) for number in range(100)))
        assert [answer.value for answer in answers] == list(range(100))


async def anext_of(subscription):
    async for item in subscription:
        return item
    return None


async def test_the_wheel_has_everything(folder, start_command):
    """Where setuptools and wheel are there; nothing is downloaded."""
    pytest.importorskip("wheel", reason="this environment has no wheel")
    copy = folder / "source"
    copy.mkdir()
    for name in ("pyproject.toml", "README.md", "src"):
        await processes.finish(await processes.spawn("/bin/cp", "-r", HOME / name, copy), "cp")
    command = await start_command(
        sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "-q", "--no-deps", "--no-index",
        "--no-build-isolation", "-w", folder, copy)
    outcome = await command.outcome()
    assert outcome.code == 0, outcome
    (wheel,) = folder.glob("*.whl")
    command = await start_command(
        sys.executable, "-c", "import gatewayd, gatewayd.socketio; print(gatewayd.__file__)", env={"PYTHONPATH": wheel})
    assert os.fspath(wheel) in (await command.outcome()).out


async def test_a_url_takes_what_the_configuration_would_say_of_it(daemons, servers):
    server = await servers("eio4", "--path", "chat")
    daemon = await daemons()
    options = {"path": "/chat/", "headers": {"X-Team": "red"}}
    target = gatewayd.Target(server.url, options=options)
    async with gatewayd.AsyncClient(daemon.socket) as client:
        assert (await client.request(target, "echo", 7)).args == [7]
    assert (await server.joined())[0]["headers"]["x_team"] == "red"
    assert "red" not in repr(target)
