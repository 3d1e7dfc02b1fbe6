"""docs/man/gatewayd-protocol.7 against docs/protocol.md, docs/cli.md and the daemon, and the document's session as it goes."""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from local_client import connected_socket
from patience import within
from programs import ROOT

sys.path.insert(0, str(ROOT / "Tests"))
import protocol_page  # noqa: E402

PROTOCOL, CLI = ROOT / "docs/protocol.md", ROOT / "docs/cli.md"


async def described(daemons):
    return await (await (await daemons()).client()).call("rpc.discover")


async def test_the_manual_page_of_the_protocol_is_what_the_document_and_the_daemon_say(daemons):
    assert protocol_page.page(await described(daemons)) == protocol_page.PAGE.read_text(), "Tests/protocol_page.py --write"


async def test_a_change_of_the_document_is_a_change_of_the_page(daemons, tmp_path):
    description = await described(daemons)
    (tmp_path / "debian").mkdir()
    shutil.copy(ROOT / "debian/changelog", tmp_path / "debian/changelog")
    for path, words in ((PROTOCOL, "at most 64 levels deep"), (PROTOCOL, "the missing right"), (PROTOCOL, "AckGone;"),
                        (PROTOCOL, "there are no passwords"), (PROTOCOL, "name, route or port"), (CLI, "| 73 |")):
        shutil.copytree(ROOT / "docs", tmp_path / "docs", dirs_exist_ok=True, ignore=shutil.ignore_patterns("decisions"))
        text = path.read_text()
        assert words in text
        (tmp_path / "docs" / path.name).write_text(text.replace(words, words.replace("7", "4").replace("e", "a")))
        assert protocol_page.page(description, tmp_path) != protocol_page.PAGE.read_text(), words


async def test_the_errors_of_every_method_are_documented_and_there_are_no_others(daemons):
    description = await described(daemons)
    errors = protocol_page.method_errors(protocol_page.Document(PROTOCOL))
    assert set(errors) == {method["name"] for method in description["methods"]}
    types = {error["type"] for error in description["x-errors"]}
    for method, words in errors.items():
        assert set(re.findall(r"\b[A-Z]\w+", words)) <= types, method


def like(example, real):
    """Whether a reply is what an example shows: the same kinds of members, where the example tells them."""
    if isinstance(example, dict):
        return isinstance(real, dict) and all(name in real and like(each, real[name]) for name, each in example.items())
    return type(example) is type(real)


async def test_the_session_of_the_document_goes_as_it_is_shown(daemons, chat):
    text = protocol_page.Document(PROTOCOL).section("## A session")
    steps = re.findall(r"^([→←]) (.*)$", text, re.M)
    daemon = await daemons()
    reader, writer = await asyncio.open_unix_connection(sock=connected_socket(daemon.socket))
    awaited = []
    for index, (direction, line) in enumerate(steps):
        message = json.loads(line.replace(",…}", "}"))
        if direction == "→":
            if "url" in message["params"]:
                message["params"]["url"] = chat.url
            writer.write(json.dumps(message).encode() + b"\n")
            continue
        awaited.append(message)
        if [after for after, _ in steps[index + 1 : index + 2]] == ["←"]:
            continue
        # An answer may overtake a notification.
        while awaited:
            real = json.loads(await within(reader.readline(), "what the session shows"))
            shown = next(each for each in awaited if each.get("id", each.get("method")) == real.get("id", real.get("method")))
            assert like(shown, real), real
            awaited.remove(shown)
    writer.close()


@pytest.mark.parametrize("command", (
    ["groff", "-ww", "-man", "-Tutf8"], ["man", "--warnings", "-E", "UTF-8", "-Tutf8", "-Z", "-l"],
    ["mandoc", "-Tlint", "-Wwarning"]), ids=lambda command: command[0])
def test_the_page_formats_without_a_warning_on_a_narrow_terminal_too(command):
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")
    outcome = subprocess.run([*command, protocol_page.PAGE], capture_output=True, text=True,
                             env=os.environ | {"LC_ALL": "C.UTF-8", "MANROFFSEQ": "", "MANWIDTH": "60"})
    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert command[0] != "mandoc" or outcome.stdout == ""
