"""The same program against every kind of server: only the upstream's configuration differs."""

import os
import signal

import pytest

from lines_server import AUTH, PROFILE, LinesServer
from patience import within
from programs import GATEWAYCTL, ROOT

SCRIPT = ROOT / "examples" / "any-server.sh"


@pytest.fixture
async def servers_of_kinds(chat, crossbar):
    """By kind, the settings of an upstream and what the script sees of an application's error. Socket.IO knows none: there
    every answer is an answer."""
    lines = await LinesServer().start()
    peer = await crossbar.peer()
    await peer.control("relay", topic="say", to="said")
    await peer.control("register", procedure="echo", behaviour="echo", invoke="first")
    await peer.control("register", procedure="fail", behaviour="fail", invoke="first")
    yield {
        "socketio": ({"url": chat.url}, "no error"),
        "wamp": ({"url": crossbar.url, "auth": {"authid": "alice", "ticket": "wonder-ticket"}}, "error 1"),
        "lines": ({"url": lines.url, "auth": AUTH, "lines": PROFILE}, "error 1"),
    }
    await lines.close()


@pytest.mark.parametrize("number, code", [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)])
async def test_the_script_leaves_no_file_where_a_signal_ends_it(daemons, folder, start_command, number, code):
    daemon = await daemons({"upstream": {"chat": {"url": "http://127.0.0.1:1"}}})
    path = f"{GATEWAYCTL.parent}:{os.environ['PATH']}"
    running = await start_command("dash", SCRIPT, "chat", env={
        "GATEWAYD_SOCKET": daemon.socket, "PATH": path, "TMPDIR": folder})
    await daemon.until(lambda status: any(one["subscriptions"] for one in status["connections"]), "the listener")
    (file,) = folder.glob("tmp.*")
    running.process.send_signal(number)
    await within(running.process.wait(), "the end of the script")
    assert running.process.returncode == code and not file.exists()


@pytest.mark.parametrize("kind", ["socketio", "wamp", "lines"])
async def test_the_script_runs_unchanged(daemons, start_command, servers_of_kinds, kind):
    settings, error = servers_of_kinds[kind]
    daemon = await daemons({"upstream": {"chat": settings}})
    path = f"{GATEWAYCTL.parent}:{os.environ['PATH']}"
    running = await start_command("sh", SCRIPT, "chat", env={"GATEWAYD_SOCKET": daemon.socket, "PATH": path})
    outcome = await running.outcome()
    assert outcome.code == 0, outcome
    assert outcome.out.splitlines() == ['said ["hello"]', 'echo {"n":1}', error], outcome
