"""The client libraries of `clients/`: each runs the scenarios of `clients/scenarios.json` by a small runner of its own.

The runner takes one step per line and answers each with a line, when it is done; the world around it (the server, the
daemon) is in the hands of this file. A new language is a row in LANGUAGES.
"""

import asyncio
import collections
import itertools
import json
import os
import re
import shutil
import sys

import pytest

import processes
import swift_client
from daemon import Daemon
from patience import SOON, end, within
from programs import ROOT
from service_manager import ManagedDaemon
from users import ALICE, as_user

CLIENTS = ROOT / "clients"
SCENARIOS = json.loads((CLIENTS / "scenarios.json").read_text())["scenarios"]
PYTHON = str(CLIENTS / "python" / "src")

Language = collections.namedtuple("Language", "name command environment without build", defaults=({}, (), None))

LANGUAGES = [
    Language("python-asyncio", [sys.executable, CLIENTS / "python/tests/runner.py"], {"PYTHONPATH": PYTHON}),
    Language("python-sync", [sys.executable, CLIENTS / "python/tests/runner.py", "--sync"], {"PYTHONPATH": PYTHON},
             ("cancel",)),
    Language("node", ["node", CLIENTS / "node/tests/runner.js"]),
    Language("swift", [swift_client.BINARIES / "Scenarios"], build=swift_client.build),
]


def test_every_library_says_how_ones_own_daemon_is_started_and_the_machines():
    advice = ("start your own with 'systemctl --user start gatewayd.socket', or have the machine's started with "
              "'systemctl start gatewayd.socket', or name its socket in $GATEWAYD_SOCKET")
    for file in ("python/src/gatewayd/errors.py", "node/lib/errors.js",
                 "swift/Sources/GatewayClient/Messages/GatewayError.swift"):
        # A long text stands there in pieces.
        assert advice in re.sub(r'"\s*\+?\s*"', "", (CLIENTS / file).read_text()), file


class Runner:
    """A runner: `begin` writes a step, `finish` waits for its answer."""

    def __init__(self, language, process):
        self.language, self.process = language, process
        self.ids = itertools.count(1)
        self.waiting = {}
        self.reader = asyncio.ensure_future(self._read())

    async def _read(self):
        while line := await self.process.stdout.readline():
            answer = json.loads(line)
            self.waiting[answer["id"]].set_result(answer)
        for future in self.waiting.values():
            if not future.done():
                future.set_exception(AssertionError(f"the runner of {self.language.name} ended"))

    def begin(self, op, parameters):
        identity = next(self.ids)
        self.waiting[identity] = asyncio.get_running_loop().create_future()
        step = json.dumps({"id": identity, "op": op, "with": parameters})
        self.process.stdin.write(step.encode() + b"\n")
        return identity

    async def finish(self, identity):
        return await within(self.waiting[identity], f"an answer of the runner of {self.language.name}", 2 * SOON)

    async def close(self):
        self.process.stdin.close()
        await processes.kill(self.process)
        await end([self.reader])


def missing(language):
    """Why a language cannot be tested here."""
    program = "swift" if language.build else str(language.command[0])
    return None if os.path.exists(program) or shutil.which(program) else f"there is no {program} on this machine"


def parameter(language):
    """A language whose runner has to be built first gets the time for it."""
    marks = [pytest.mark.timeout(swift_client.BUILD_TIME)] if language.build else []
    return pytest.param(language, marks=marks, id=language.name)


@pytest.fixture(params=map(parameter, LANGUAGES))
async def runners(request):
    """Starts the runner of a language."""
    if reason := missing(request.param):
        pytest.skip(reason)
    if request.param.build:
        await asyncio.to_thread(request.param.build)
    made = []

    async def start(daemon, wrapper=()):
        process = await processes.spawn(
            *wrapper, *request.param.command, env={**os.environ, **request.param.environment, "GATEWAYD_SOCKET": daemon.socket},
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
        made.append(Runner(request.param, process))
        return made[-1]

    start.language = request.param
    yield start
    for runner in made:
        await runner.close()


def holds(expected, found):
    """Whether an answer contains what was expected: objects may have more members, "*" is anything but null."""
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(key in found and holds(one, found[key]) for key, one in expected.items())
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and all(map(holds, expected, found))
    return found is not None if expected == "*" else type(expected) is type(found) and expected == found


class Stage:
    """One performance of a scenario."""

    def __init__(self, runner, server, daemon, variables):
        self.runner, self.server, self.daemon = runner, server, daemon
        self.variables = variables
        self.open = {}

    def filled(self, value):
        return filled(value, self.variables)

    async def perform(self, step):
        if "server" in step:
            return await self.on_server(step)
        if "daemon" in step:
            return await getattr(self.daemon, step["daemon"])()
        if "cancel" in step:
            return await self.runner.finish(self.runner.begin("cancel", {"id": self.open[step["cancel"]]}))
        if "await" in step:
            return self.check(step, await self.runner.finish(self.open[step["await"]]))
        identity = self.runner.begin(step["client"], self.filled(step.get("with", {})))
        if "as" in step:
            self.open[step["as"]] = identity
            return None
        if "until" in step:
            return await within(self.until(step, identity), f"{step}")
        return self.check(step, await self.runner.finish(identity))

    async def until(self, step, identity):
        while not holds(step["until"], (await self.runner.finish(identity)).get("value")):
            await asyncio.sleep(0.01)
            identity = self.runner.begin(step["client"], self.filled(step.get("with", {})))

    async def on_server(self, step):
        if step["server"] == "restart":
            return await self.server.restart()
        value = await self.server.control(step["server"], **self.filled(step.get("with", {})))
        assert "expect" not in step or holds(step["expect"], value), f"{step} brought {value}"

    def check(self, step, answer):
        if "error" in step:
            assert holds(step["error"], answer.get("error")), f"{step} brought {answer}"
            return
        assert "error" not in answer, f"{step} brought {answer}"
        assert holds(self.filled(step.get("expect", {} if isinstance(answer["value"], dict) else answer["value"])),
                     answer["value"]), f"{step} brought {answer}"
        if "save" in step:
            self.variables["$" + step["save"]] = answer["value"]


def filled(value, variables):
    """The value with `$NAME` replaced."""
    if isinstance(value, dict):
        return {key: filled(one, variables) for key, one in value.items()}
    if isinstance(value, list):
        return [filled(one, variables) for one in value]
    if isinstance(value, str) and value in variables:
        return variables[value]
    if isinstance(value, str) and value.startswith("$URL/"):
        return variables["$URL"] + value[4:]
    return value


async def test_what_is_longer_than_a_line_arrives_whole(runners, servers, daemons):
    """In parts: text with everything that a string escapes, and binary data."""
    text = ('é😀"\\\n\u0001' + "x" * 50) * 25_000
    binary = {"$bin": "AAECAwQF" * 150_000}
    server = await servers("eio4", "--max-payload", 20 << 20)
    daemon = await daemons({"upstream": {"chat": {"url": server.url}}})
    await daemon.connected(upstream="chat")
    runner = await runners(daemon)
    sends = [runner.begin("send", {"target": "chat", "event": "long", "args": args, "timeout": 30_000})
             for args in ([text], [1, binary], ["short"])]
    request = runner.begin("request", {"target": "chat", "event": "nothing", "args": [text], "timeout": 30_000})
    for one in sends:
        assert (await runner.finish(one)).get("value", {}).get("state") == "accepted"
    assert (await runner.finish(request)).get("value") == {"args": []}
    events = await server.received(3, "long")
    # Programs with threads begin them in any order.
    lengths = [len(str(one["args"])) for one in events]
    assert all(any(one["args"] == args for one in events) for args in ([text], [1, binary], ["short"])), lengths
    memory = (await daemon.status())["daemon"]["memory"]
    assert memory["receive"] == 0, memory


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario["name"])
async def test_every_client_performs(scenario, runners, servers, daemons):
    if set(scenario.get("needs", ())) & set(runners.language.without):
        pytest.skip(f"the runner of {runners.language.name} has no {scenario['needs']}")
    if "as" in scenario and os.geteuid() != 0:
        pytest.skip("needs root: it acts as another user")
    restarted = any(step.get("daemon") == "restart" for step in scenario["steps"])
    daemon = await daemons(start=False, kind=ManagedDaemon if restarted else Daemon)
    server, runner = await asyncio.gather(
        servers("eio4"), runners(daemon, as_user(ALICE) if "as" in scenario else ()))
    variables = {"$URL": server.url, "$LONG": "x" * (2 << 20), "$USER": ALICE}
    # By its name the server has another URL, so that "$URL" does not mean the configured upstream.
    chat = {"url": server.url.replace("127.0.0.1", "localhost"), **scenario.get("upstream", {})}
    daemon.configure({"upstream": {"chat": chat}, **filled(scenario.get("daemon", {}), variables)})
    await daemon.start()
    stage = Stage(runner, server, daemon, variables)
    for step in scenario["steps"]:
        await stage.perform(step)
