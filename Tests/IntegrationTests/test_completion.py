"""The completion of command lines, as bash does it, against what the program itself says that it takes."""

import re
import subprocess

import pytest

from programs import GATEWAYCTL


def run(*words):
    return subprocess.run([GATEWAYCTL, *words], check=True, capture_output=True, text=True, timeout=10).stdout


def offered(*words):
    """What bash offers for the last of the words, which come apart as bash takes them apart."""
    script = 'source <("$0" completion bash); COMP_WORDS=(gatewayctl "$@"); COMP_CWORD=$#; _gatewayctl; ' \
             'printf "%s\\n" "${COMPREPLY[@]}"'
    outcome = subprocess.run(["bash", "--norc", "-c", script, GATEWAYCTL, *words], capture_output=True, text=True,
                             timeout=10)
    assert outcome.returncode == 0 and outcome.stderr == "", outcome
    return set(outcome.stdout.split())


def commands():
    return re.findall(r"^  ([a-z]+) {2,}", run("help").split("Options of every command")[0], re.MULTILINE)


def test_every_command_is_offered():
    assert len(commands()) > 15
    assert set(commands()) == {word for word in offered("") if not word.startswith("-")}
    assert offered("su") == {"subscribe"}


def test_every_option_of_every_command_is_offered():
    for command in commands():
        documented = set(re.findall(r"^  (?:-., )?(--[a-z-]+)", run("help", command), re.MULTILINE))
        assert documented == offered(command, "--"), command


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
    (("completion", ""), {"bash"}),
    (("send", "--ttl", ""), set()),
    (("serve", "chat", "e", "--", "--"), set()),
])
def test_what_is_offered_in_a_place(words, expected):
    found = offered(*words)
    assert expected == {word for word in found if not word.startswith("-") or word in expected}, found
