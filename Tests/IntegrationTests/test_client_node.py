"""What is Node.js's own about its client library: the program of its README, its types, its payloads, and `io()`, the
surface of the Socket.IO client. The scenarios of all languages are those of test_clients.py."""

import re
import shutil

import pytest

from programs import ROOT

NODE = ROOT / "clients" / "node"

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="there is no node on this machine")


@pytest.fixture
def run(start_command, folder):
    """Runs a module that imports gatewayd to its end: `await run(daemon, text, …arguments)` returns its lines."""
    (folder / "node_modules").mkdir()
    (folder / "node_modules" / "gatewayd").symlink_to(NODE)

    async def run(daemon, text, *arguments):
        module = folder / "program.mjs"
        module.write_text(text)
        environment = {"GATEWAYD_SOCKET": daemon.socket} if daemon else {}
        command = await start_command("node", module, *arguments, env=environment)
        outcome = await command.outcome()
        assert outcome.code == 0, outcome
        assert not outcome.err, outcome
        return outcome.out.splitlines()

    return run


async def test_the_quick_start_of_the_readme_does_what_it_shows(daemons, server, run):
    program = re.search(r"```js\n(.*?)```", (NODE / "README.md").read_text(), re.DOTALL)[1]
    program = program.replace("http://localhost:3000", server.url)
    assert await run(await daemons(), program) == ["said hello", "the server answered how are you?"]


async def test_the_declarations_name_what_is_exported(run):
    for module, name in (("index", "gatewayd"), ("socketio", "gatewayd/socketio")):
        text = (NODE / f"{module}.d.ts").read_text()
        declared = set(re.findall(r"^export (?:class|function|const) (\w+)", text, re.MULTILINE))
        for names in re.findall(r"^export \{ (.*?) \}", text, re.MULTILINE):
            declared |= {one.split(" as ")[-1] for one in names.split(", ")}
        if "export default" in text:
            declared.add("default")
        (exported,) = await run(None, f'import * as all from "{name}"; console.log(Object.keys(all).join(" "));')
        assert set(exported.split()) == declared


async def test_payloads_are_what_the_protocol_says(run):
    assert await run(None, (NODE / "tests" / "payload.js").read_text().replace("../lib/", f"{NODE}/lib/")) == ["ok"]
