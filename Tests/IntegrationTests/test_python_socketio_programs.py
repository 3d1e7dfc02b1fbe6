"""Programs for python-socketio's client run unchanged but for one import: the same programs, with the same real server,
once with python-socketio and once with the gateway's classes, print the same.

A line "! ask EVENT ARGS NAMESPACE", "! cut" or "! restart" is for this test, which does it to the server; the answer to a
question goes to the program's standard input.
"""

import asyncio
import importlib.util
import json
import os
import re
import sys

import pytest

import processes
from patience import SOON, within
from programs import ROOT

PROGRAMS = sorted((ROOT / "clients" / "python" / "tests" / "programs").glob("*.py"))
IMPORT = re.compile(r"^import socketio$", re.MULTILINE)


async def printed(program, text, server, environment):
    """What a program with this text prints; fails where it does not end well."""
    program.write_text(text)
    process = await processes.spawn(
        sys.executable, "-u", program, server.url, env={**os.environ, **environment},
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    lines = []
    try:
        while line := await within(process.stdout.readline(), f"a line behind {lines}", 2 * SOON):
            lines.append(line.decode().rstrip("\n"))
            if lines[-1].startswith("! "):
                await order(lines[-1], server, process)
        assert await processes.finish(process, program.name) == 0, lines
    finally:
        await processes.kill(process)
    return lines


async def order(line, server, process):
    _, what, *words = line.split(" ")
    if what == "restart":
        await server.restart()
    elif what == "cut":
        await server.cut()
    else:
        answer = await server.ask(words[0], *json.loads(words[1]), namespace=words[2])
        process.stdin.write(json.dumps(answer).encode() + b"\n")


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
async def test_a_program_prints_the_same_with_one_import_changed(path, folder, servers, daemons):
    text = path.read_text()
    if re.search(r"socketio\.(Simple)?Client\(", text) and not importlib.util.find_spec("websocket"):
        pytest.skip("python-socketio's client with threads needs websocket-client, which this environment does not have")
    assert len(IMPORT.findall(text)) == 1
    direct = await printed(folder / "direct.py", text, await servers("eio4"), {})
    daemon = await daemons()
    environment = {"PYTHONPATH": str(ROOT / "clients" / "python" / "src"), "GATEWAYD_SOCKET": daemon.socket}
    changed = IMPORT.sub("from gatewayd import socketio", text)
    assert await printed(folder / "gateway.py", changed, await servers("eio4"), environment) == direct
    assert len(direct) > 1
