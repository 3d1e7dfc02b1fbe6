"""The completion of command lines, as the shells do it, against what the program itself says that it takes."""

import asyncio
import os
import pty
import re
import shutil
import subprocess

import pytest

from patience import within
from programs import GATEWAYCTL

NO_DAEMON = "/dev/null"
"""A socket behind which no daemon can ever be: none is waited for."""

PATH = {**os.environ, "PATH": f"{GATEWAYCTL.parent}:{os.environ['PATH']}", "GATEWAYD_SOCKET": NO_DAEMON}


def run(*words):
    return subprocess.run([GATEWAYCTL, *words], check=True, capture_output=True, text=True, timeout=10).stdout


def offered_by_bash(*words, socket=NO_DAEMON):
    """What bash offers for the last of the words, which come apart as bash takes them apart."""
    script = 'source <("$0" completion bash); COMP_WORDS=(gatewayctl "$@"); COMP_CWORD=$#; _gatewayctl; ' \
             'printf "%s\\n" "${COMPREPLY[@]}"'
    outcome = subprocess.run(["bash", "--norc", "-c", script, GATEWAYCTL, *words], capture_output=True, text=True,
                             timeout=20, env={**PATH, "GATEWAYD_SOCKET": socket})
    assert outcome.returncode == 0 and outcome.stderr == "", outcome
    return set(outcome.stdout.split())


def needed(shell):
    if not shutil.which(shell):
        pytest.skip(f"there is no {shell} here; packaging/install-debian-packages installs it")


def offered_by_zsh(*words, socket=NO_DAEMON):
    """What the script tells zsh to offer; the words come as zsh has them, an option and its value in one."""
    needed("zsh")
    script = '''compdef() { }; source <("$0" completion zsh)
compset() { }; _files() { }
compadd() { shift; print -rl -- "$@"; }
_describe() { local one name=${@[-1]}; for one in "${(@P)name}"; do print -r -- "${one%%:*}"; done; }
words=(gatewayctl "$@"); CURRENT=$(($# + 1)); _gatewayctl'''
    outcome = subprocess.run(["zsh", "-f", "-c", script, GATEWAYCTL, *words], capture_output=True, text=True,
                             timeout=20, env={**PATH, "GATEWAYD_SOCKET": socket})
    assert outcome.returncode == 0 and outcome.stderr == "", outcome
    return {word for word in outcome.stdout.split() if word.startswith(words[-1].split("=")[-1])}


def offered_by_fish(*words, socket=NO_DAEMON):
    """What fish offers for the last of the words."""
    needed("fish")
    script = f"{GATEWAYCTL} completion fish | source; complete -C $LINE"
    outcome = subprocess.run(["fish", "--no-config", "-c", script], capture_output=True, text=True, timeout=20, env={
        **PATH, "GATEWAYD_SOCKET": socket, "LINE": " ".join(["gatewayctl", *words])})
    assert outcome.returncode == 0 and outcome.stderr == "", outcome
    return {line.split("\t")[0] for line in outcome.stdout.splitlines()}


SHELLS = {"bash": offered_by_bash, "zsh": offered_by_zsh, "fish": offered_by_fish}


def commands():
    return re.findall(r"^  ([a-z]+) {2,}", run("help").split("Options of every command")[0], re.MULTILINE)


@pytest.fixture(params=SHELLS)
def offered(request):
    """What one of the shells offers for the last of these words."""
    return SHELLS[request.param]


def test_every_command_is_offered(offered):
    assert len(commands()) > 15
    assert set(commands()) == {word for word in offered("") if not word.startswith("-")}
    assert {word for word in offered("subs") if word.startswith("subs")} == {"subscribe"}


def test_every_option_of_every_command_is_offered(offered):
    for command in commands():
        documented = set(re.findall(r"^  (?:-., )?(--[a-z-]+)", run("help", command), re.MULTILINE))
        assert documented == {word for word in offered(command, "--") if word.startswith("--")}, command


@pytest.mark.parametrize("words, expected", [
    (("send", "--delivery", ""), {"accepted", "durable", "sent", "acked"}),
    (("send", "--delivery", "=", "du"), {"durable"}),
    (("subscribe", "--on-gap", ""), {"warn", "fail"}),
    (("wait", "chat", "--state", "re"), {"reconnecting", "released"}),
    (("outbox", "list", "--state", "ex"), {"expired"}),
    (("outbox", "re"), {"retry"}),
    (("outbox", "list", "re"), set()),
    (("--timeout", "5s", "outbox", "ca"), {"cancel"}),
    (("--timeout", "=", "5s", "outbox", "ca"), {"cancel"}),
    (("subscribe", "--state", "chat", "--arg"), {"--args-only"}),
    (("help", "int"), {"introspect"}),
    (("completion", ""), {"bash", "zsh", "fish"}),
    (("send", "--ttl", ""), set()),
    (("serve", "chat", "e", "--", "--"), set()),
])
def test_what_is_offered_in_a_place(offered, words, expected):
    if offered is not offered_by_bash:
        # Only bash takes the two sides of = apart.
        words = " ".join(words).replace(" = ", "=").split(" ")
    found = {word.removeprefix(f"{words[-1].split('=')[0]}=") for word in offered(*words)}
    if words[-2] == "--ttl":
        # Files, which the shells list in their own ways.
        found = {word for word in found if word in commands()}
    assert expected == {word for word in found if not word.startswith("-") or word in expected}, found


async def test_the_upstreams_of_the_daemon_are_offered(offered, daemons, chat):
    daemon = await daemons({"upstream": {"chat-one": {"url": chat.url}}})
    await daemon.connected(upstream="chat-one")
    await daemon.connected(url=chat.url + "/admin")
    for words in (("subscribe", "ch"), ("trace", "-n", "3", "ch"), ("replay", "file", "ch")):
        found = await asyncio.to_thread(offered, *words, socket=daemon.socket)
        assert "chat-one" in {word for word in found if word.startswith("ch")}, words
    for words in (("subscribe", "chat-one", "ch"), ("call", "ch"), ("send", "--ttl", "ch")):
        found = await asyncio.to_thread(offered, *words, socket=daemon.socket)
        assert "chat-one" not in found, words
    found = await asyncio.to_thread(offered, "--socket", daemon.socket, "status", "http")
    assert chat.url + "/admin" in found or chat.url in found


async def test_configured_upstreams_are_offered_without_a_connection(offered, daemons):
    daemon = await daemons({"upstream": {name: {"url": f"http://127.0.0.1:1/{name}"} for name in ("far", "further")}})
    found = await asyncio.to_thread(offered, "subscribe", "f", socket=daemon.socket)
    assert {word for word in found if word.startswith("f")} == {"far", "further"}
    assert not (await daemon.status())["connections"]


@pytest.mark.parametrize("target", ["name", "address"])
async def test_the_names_of_past_events_are_offered_behind_an_upstream(offered, daemons, chat, target):
    daemon = await daemons({"upstream": {"chat-one": {"url": chat.url}}})
    client = await daemon.connected(upstream="chat-one")
    await client.call("subscribe", upstream="chat-one")
    names = ["nudged", "news.local", "never mind", "$(echo nasty)", "-new"]
    for name in [*names, *names]:
        await chat.emit(name, 1)
    await client.events(10)
    url = "chat-one" if target == "name" else chat.url
    words = [url]
    if offered is offered_by_bash:
        # The colons of an address come apart there.
        words = [word for word in re.split("(:)", url) if word]

    async def found(*words):
        return {word for word in await asyncio.to_thread(offered, *words, socket=daemon.socket) if word.startswith("n")}

    for command in ("subscribe", "history", "serve", "send", "request", "access"):
        assert await found(command, *words, "n") == {"nudged", "news.local"}, command
    for command in ("subscribe", "history"):
        assert await found(command, *words, "nudged", "n") == {"nudged", "news.local"}, command
    for others in (("send", *words, "nudged", "n"), ("trace", *words, "n"), ("subscribe", "n")):
        assert await found(*others) == set(), others


async def test_the_address_of_a_connection_is_completed_behind_its_colons(daemons, chat):
    daemon = await daemons()
    await daemon.connected(url=chat.url)
    scheme, host, port = chat.url.split(":")
    for words, expected in (((scheme, ":", host[:4]), f"{host}:{port}"), ((scheme, ":"), f"{host}:{port}"),
                            ((scheme, ":", host, ":", port[:1]), port), ((scheme, ":", host, ":"), port)):
        for front in (("subscribe",), ("replay", "file"), ("subscribe", "--since", "e7", ":", "12")):
            found = await asyncio.to_thread(offered_by_bash, *front, *words, socket=daemon.socket)
            assert found == {expected}, (front, words)
    assert await asyncio.to_thread(offered_by_bash, "subscribe", "--since", "e7", ":", socket=daemon.socket) == set()


@pytest.mark.parametrize("command", ["call", "introspect"])
async def test_the_methods_of_the_daemon_are_offered(offered, daemons, command):
    daemon = await daemons()
    found = await asyncio.to_thread(offered, command, "outbox.", socket=daemon.socket)
    assert {word for word in found if word.startswith("outbox.")} == {
        "outbox.list", "outbox.cancel", "outbox.retry", "outbox.purge"}
    found = await asyncio.to_thread(offered, command, "outbox.list", "outbox.", socket=daemon.socket)
    assert not {word for word in found if word.startswith("outbox.")}


def test_bash_offers_commands_behind_serve():
    assert "printenv" in offered_by_bash("serve", "chat", "e", "--", "printe")
    assert offered_by_bash("send", "--", "printe") == offered_by_bash("serve", "c", "e", "--", "cat", "printe") == set()


def typed(shell, *setup, line):
    """Runs a shell at a terminal, types a line whose tabs complete, and returns all that it shows."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(shell[0], shell, {**PATH, "TERM": "dumb", "PS1": "$ "})
    shown = b""

    def until(mark):
        nonlocal shown
        while mark not in shown:
            shown += os.read(terminal, 65536)

    try:
        for number, command in enumerate([*setup, line]):
            # The quotes keep the mark out of what the terminal echoes.
            os.write(terminal, command.encode() + f'; echo "do"ne{number}\r'.encode())
            until(f"done{number}\r\n".encode())
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)
    return shown.decode()


async def test_zsh_completes_at_a_terminal():
    needed("zsh")
    shown = await within(asyncio.to_thread(
        typed, ["zsh", "-f", "-i"], "autoload -U compinit", "compinit -u -D", f"source <({GATEWAYCTL} completion zsh)",
        line="gatewayctl compl\tba\t | head -n 1"), "zsh at a terminal", 30)
    assert "Completes command lines of gatewayctl in bash" in shown, shown


async def test_bash_completes_addresses_and_files_at_a_terminal(daemons, chat, folder):
    daemon = await daemons()
    await daemon.connected(url=chat.url)
    for name in ("token.json", "day 1.jsonl"):
        (folder / name).write_text("{}")
    shown = await within(asyncio.to_thread(
        typed, ["bash", "--norc", "-i"], f"cd {folder}", f"export GATEWAYD_SOCKET={daemon.socket}",
        f"source <({GATEWAYCTL} completion bash)", "words() { printf '<%s>' \"$@\"; }", "complete -F _gatewayctl words",
        line=f"words replay day\t {chat.url[:-2]}\t --socket tok\t --auth @tok\t --header=@day\t"),
        "bash at a terminal", 30)
    expected = ["replay", "day 1.jsonl", chat.url, "--socket", "token.json", "--auth", "@token.json",
                "--header=@day 1.jsonl"]
    assert "".join(f"<{word}>" for word in expected) in shown, shown
