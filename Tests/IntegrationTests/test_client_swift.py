"""What is Swift's own about its client library: that other packages can depend on a version of it, and the program of its
README. The scenarios of all languages are those of test_clients.py."""

import asyncio
import json
import re
import shutil

import pytest

import client_loop
import swift_client
from programs import ROOT

pytestmark = [pytest.mark.skipif(shutil.which("swift") is None, reason="there is no swift on this machine"),
              pytest.mark.timeout(swift_client.BUILD_TIME)]


def text(program):
    """The source of a program of clients/swift/tests."""
    return (swift_client.PROGRAMS / "Sources" / program / "main.swift").read_text()


@pytest.fixture
async def run(start_command):
    """Runs a program of clients/swift/tests to its end: `await run(daemon, name, …arguments)` returns its lines."""
    await asyncio.to_thread(swift_client.build)

    async def run(daemon, name, *arguments):
        environment = {"GATEWAYD_SOCKET": daemon.socket} if daemon else {}
        command = await start_command(swift_client.BINARIES / name, *arguments, env=environment)
        outcome = await command.outcome()
        assert outcome.code == 0, outcome
        assert not outcome.err, outcome
        return outcome.out.splitlines()

    return run


async def test_a_package_depends_on_a_version_and_only_the_library_of_it_is_built(run):
    pins = json.loads((swift_client.FOLDER / "programs" / "Package.resolved").read_text())["pins"]
    assert [(pin["identity"], pin["location"]) for pin in pins] == [("gatewayd", str(swift_client.REPOSITORY))]
    assert pins[0]["state"]["version"].startswith("1.0.")
    modules = {path.stem for path in (swift_client.BINARIES / "Modules").glob("*.swiftmodule")}
    assert modules == {"GatewayClient", "Scenarios", "Follow", "QuickStart", "Example", "Tour"}


async def test_the_quick_start_of_the_readme_does_what_it_shows(daemons, server, run):
    assert f"```swift\n{text('QuickStart')}```" in (swift_client.SWIFT / "README.md").read_text()
    assert await run(await daemons(), "QuickStart", server.url) == ['said ["hello"]', "the server answered how are you?"]


def test_what_the_readme_shows_besides_compiles():
    swift_client.build()
    prelude, _, tour = text("Tour").partition("\n\n")[2].partition("\n\n")
    assert prelude == "let gateway = Gateway()"
    assert f"```swift\n{tour}```" in (swift_client.SWIFT / "README.md").read_text()


async def test_the_ten_lines_of_the_projects_readme_run(daemons, chat, start_command):
    assert f"```swift\n{text('Example')}```" in (ROOT / "README.md").read_text()
    await asyncio.to_thread(swift_client.build)
    daemon = await daemons({"upstream": {"chat": {"url": chat.url}}})
    command = await start_command("stdbuf", "-oL", swift_client.BINARIES / "Example", env={"GATEWAYD_SOCKET": daemon.socket})
    assert await command.line() == '["said"]'
    client = await daemon.client()
    await daemon.until(lambda status: any(one["subscriptions"] for one in status["connections"]), "the subscription")
    await client.call("send", upstream="chat", event="say", args=["again"])
    assert await command.line() == 'said ["again"]'


def test_there_is_a_kind_for_every_error_of_the_protocol():
    rows = re.findall(r"^\| −\d+ \| (\w+)", (ROOT / "docs" / "protocol.md").read_text(), re.MULTILINE)
    source = (swift_client.SWIFT / "Sources" / "GatewayClient" / "Messages" / "GatewayError.swift").read_text()
    assert len(rows) > 20 and set(rows) <= set(re.findall(r'static let \w+ = Kind\("(\w+)"\)', source))


@pytest.mark.slow
async def test_restarts_and_kills_of_the_daemon_lose_and_double_nothing(folder):
    result = await client_loop.rounds(folder, 8, tell=print, languages=["swift"])
    result.check()
