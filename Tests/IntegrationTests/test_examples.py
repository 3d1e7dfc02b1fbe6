"""Every script of `examples/`, run as it stands there, against a server of the kind that it is for. `any-server.sh` has
`test_any_server.py`."""

import contextlib
import os
import pathlib
import re
import shlex
import signal

import pytest

from example_servers import EXAMPLES, PASSWORD, PYTHON, TOKEN, Dashboard, HomeAssistant, Kuma, NicePage
from patience import SOON, within
from programs import GATEWAYCTL, ROOT

PATH = f"{GATEWAYCTL.parent}:{os.environ['PATH']}"
LOOPS = 20 if os.environ.get("GATEWAY_SANITIZE") else 200
"""With a sanitizer in each of them they take minutes to start."""
PAUSE, RESUME = ("pauseMonitor", 3), ("resumeMonitor", 3)


@pytest.fixture
def start_example(start_command):
    """Starts a script of `examples/` as an administrator would: `await start_example(daemon, name, …arguments)`."""

    async def start(daemon, name, *arguments, **options):
        environment = {"GATEWAYD_SOCKET": daemon.socket, "PATH": PATH}
        return await start_command(EXAMPLES / name, *arguments, env=environment, **options)

    return start


@pytest.fixture
async def started():
    """Starts servers that end with the test: `await started(Kuma())`."""
    made = []

    async def start(server):
        made.append(server)
        return await server.start()

    yield start
    for server in made:
        await server.close()


@pytest.fixture
async def kuma(started):
    return await started(Kuma())


@pytest.fixture
def pages(started):
    """Starts one of the pages, whose programs have an environment of their own."""
    if not PYTHON.exists():
        pytest.skip(f"no {PYTHON}: run `make environments`")
    return started


async def ending(command):
    return await within(command.outcome(), "the end of the script", 3 * SOON)


# backup.sh


async def keeping(daemons, kuma, password=PASSWORD):
    login = ["login", {"username": "backup", "password": password}]
    return await daemons({"upstream": {"kuma": {"url": kuma.url, "on_connect": [login]}}})


@pytest.mark.parametrize("code", [0, 7])
async def test_a_monitor_is_paused_for_a_backup_and_resumed_also_when_it_fails(daemons, kuma, start_example, code):
    daemon = await keeping(daemons, kuma)
    running = await start_example(daemon, "backup.sh", "kuma", "3", "sh", "-c", f"echo made; read -r _; exit {code}",
                                  stdin=True)
    assert await running.line() == "made"
    assert kuma.paused == {3}
    outcome = await running.outcome(b"go on\n")
    assert (outcome.code, outcome.err) == (code, ""), outcome
    await kuma.until_ordered(PAUSE, RESUME)


@pytest.mark.parametrize("number, code", [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)])
async def test_a_monitor_is_resumed_when_the_backup_is_interrupted(daemons, kuma, start_example, number, code):
    daemon = await keeping(daemons, kuma)
    running = await start_example(daemon, "backup.sh", "kuma", "3", "sh", "-c", "echo begun; exec sleep 1000")
    assert await running.line() == "begun"
    running.process.send_signal(number)
    # What it has started holds its stdout, so that this waits for that to end, too.
    assert (await ending(running)).code == code
    await kuma.until_ordered(PAUSE, RESUME)


async def test_a_monitor_is_resumed_later_where_its_server_is_away(daemons, kuma, start_example):
    daemon = await keeping(daemons, kuma)
    running = await start_example(daemon, "backup.sh", "kuma", "3", "sh", "-c", "echo begun; read -r _", stdin=True)
    assert await running.line() == "begun"
    await kuma.stop()
    await daemon.until(lambda status: status["connections"][0]["state"] != "connected", "the loss of the server")
    assert (await running.outcome(b"go on\n")).code == 0
    assert kuma.paused == {3}
    await kuma.start()
    await kuma.until_ordered(PAUSE, RESUME)


async def test_a_monitor_that_cannot_be_paused_stops_no_backup(daemons, kuma, start_example):
    daemon = await keeping(daemons, kuma, password="wrong")
    outcome = await ending(await start_example(daemon, "backup.sh", "kuma", "3", "echo", "made"))
    assert (outcome.code, outcome.out) == (0, "made\n"), outcome
    assert outcome.err == "monitor not paused: You are not logged in.\n"


# wait-for-event.sh


async def deploying(daemons, chat):
    """A daemon that listens to the server also while no job runs."""
    daemon = await daemons({"upstream": {"deployments": {"url": chat.url, "keep": "always"}}})
    await daemon.until(lambda status: status["connections"][0]["state"] == "connected", "the connection")
    return daemon


@pytest.mark.parametrize("state, code", [("succeeded", 0), ("failed", 1)])
async def test_a_job_ends_as_the_deployment_that_it_waits_for(daemons, chat, start_example, state, code):
    daemon = await deploying(daemons, chat)
    running = await start_example(daemon, "wait-for-event.sh", "deployments", "4f1c", "1m")
    await daemon.until(lambda status: status["connections"][0]["subscriptions"] == 1, "the subscription")
    await chat.emit("deployed", {"commit": "0000", "state": "failed" if code == 0 else "succeeded"})
    await chat.emit("deployed", {"commit": "4f1c", "state": state})
    outcome = await ending(running)
    assert (outcome.code, outcome.out, outcome.err) == (code, state + "\n", "")


async def test_a_job_knows_of_a_deployment_that_was_told_before_it_began(daemons, chat, start_example):
    daemon = await deploying(daemons, chat)
    await chat.emit("deployed", {"commit": "4f1c", "state": "succeeded"})
    await daemon.until(lambda status: status["connections"][0]["history"]["events"] == 1, "the event")
    outcome = await ending(await start_example(daemon, "wait-for-event.sh", "deployments", "4f1c", "1m"))
    assert (outcome.code, outcome.out) == (0, "succeeded\n"), outcome


async def test_a_job_gives_up_after_its_time(daemons, chat, start_example):
    daemon = await deploying(daemons, chat)
    outcome = await ending(await start_example(daemon, "wait-for-event.sh", "deployments", "4f1c", "100ms"))
    assert (outcome.code, outcome.out) == (124, "not told within 100ms\n"), outcome


# dashboard


async def as_cron(daemon, start_command, url):
    """Runs the line of the crontab as cron does: by /bin/sh, with next to nothing in the environment."""
    *_, line = (EXAMPLES / "dashboard" / "crontab").read_text().splitlines()
    installed, words = re.fullmatch(r"(?:\S+ ){5}(/usr/share/doc/gatewayd/examples)(/\S+ .*)", line).groups()
    command = (str(EXAMPLES) + words).replace("http://localhost:8080", url)
    assert installed and command.endswith(url)
    running = await start_command("/bin/sh", "-c", command, env={"PATH": PATH, "GATEWAYD_SOCKET": daemon.socket})
    outcome = await ending(running)
    assert (outcome.code, outcome.out, outcome.err) == (0, "", ""), outcome


async def test_cron_feeds_a_dashboard_of_flask_socketio_without_a_word(daemons, pages, start_command):
    dashboard = await pages(Dashboard())
    daemon = await daemons()
    browser = await daemon.connected(url=dashboard.url)
    await browser.call("subscribe", url=dashboard.url, events=["measured"])
    await as_cron(daemon, start_command, dashboard.url)
    host = os.uname().nodename
    (measured,) = (await browser.event())["args"]
    assert list(measured) == [host] and re.fullmatch(r"[\d.]+", str(measured[host]))
    assert await dashboard.latest() == measured


async def test_the_newest_value_alone_waits_while_the_dashboard_is_away(daemons, pages, start_command):
    dashboard = await pages(Dashboard())
    daemon = await daemons()
    browser = await daemon.connected(url=dashboard.url)
    await browser.call("subscribe", url=dashboard.url, events=["measured"])
    await dashboard.stop()
    await daemon.until(lambda status: status["connections"][0]["state"] != "connected", "the loss of the dashboard")
    for _ in range(3):
        await as_cron(daemon, start_command, dashboard.url)
    assert (await daemon.connection())["queue"]["count"] == 1
    await dashboard.start()
    while not (measured := (await browser.event())["args"][0]):
        pass  # what it greets with
    assert list(measured) == [os.uname().nodename]
    assert (await daemon.connection())["queue"]["count"] == 0


# nicegui


async def test_a_page_of_nicegui_is_watched_over_its_restart(daemons, pages, start_example):
    page = await pages(NicePage())
    daemon = await daemons()
    watching = await start_example(daemon, "nicegui/watch.sh", page.url)

    async def watched_until(text):
        while await watching.line() != text:
            pass

    await daemon.until(lambda status: any(one["state"] == "connected" for one in status["connections"]), "the page")
    await page.order(3)
    await watched_until("3 coffees")
    await page.restart()
    # Another client of the page is another connection.
    await daemon.until(lambda status: any(one["state"] == "connected" for one in status["connections"]), "the page again")
    await page.order(2)
    await watched_until("2 coffees")


async def test_what_is_no_page_of_nicegui_is_said(daemons, chat, start_example):
    outcome = await ending(await start_example(await daemons(), "nicegui/watch.sh", chat.url, "/counters"))
    assert (outcome.code, outcome.err) == (69, f"no page of NiceGUI at {chat.url}/counters\n"), outcome


# home-assistant.sh


async def test_states_of_a_home_assistant_are_printed_over_its_restart(daemons, started, folder, start_example):
    home = await started(HomeAssistant())
    token = folder / "token"
    token.write_text(TOKEN + "\n")
    daemon = await daemons()
    running = await start_example(daemon, "home-assistant.sh", home.url, token)
    await home.until_ordered("state_changed")
    await home.change("light.kitchen", "on")
    assert await running.line() == "light.kitchen on"
    await home.stop()
    await home.start()
    await home.until_ordered("state_changed")
    await home.change("light.kitchen", "off")
    assert await running.line() == "light.kitchen off"
    assert home.logins == 2 and home.refused == []


async def test_the_token_of_a_home_assistant_is_on_no_command_line(daemons, started, folder, start_example):
    home = await started(HomeAssistant())
    token = folder / "token"
    token.write_text(TOKEN + "\n")
    await start_example(await daemons(), "home-assistant.sh", home.url, token)
    await home.until_ordered("state_changed")
    lines = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            lines.append(path.read_bytes())
    assert any(b"home-assistant.sh" in line for line in lines)
    assert not any(TOKEN.encode() in line for line in lines)


async def test_the_token_of_a_home_assistant_is_left_in_no_file(daemons, started, folder, start_command):
    home = await started(HomeAssistant())
    token, temporary = folder / "token", folder / "temporary"
    token.write_text(TOKEN + "\n")
    temporary.mkdir()
    environment = {"GATEWAYD_SOCKET": (await daemons()).socket, "PATH": PATH, "TMPDIR": temporary}
    await start_command("dash", EXAMPLES / "home-assistant.sh", home.url, token, env=environment)
    await home.until_ordered("state_changed")
    assert list(temporary.iterdir()) == []


# two-hundred-loops.sh


async def test_two_hundred_shell_loops_are_one_client_to_the_server(daemons, chat, start_example):
    running = await start_example(await daemons(), "two-hundred-loops.sh", chat.url, "said", LOOPS)
    line = await within(running.process.stderr.readline(), "all the loops", 6 * SOON)
    assert line.decode() == f"{LOOPS} loops listen on 1 connection\n"
    assert (await chat.counters())["links_ever"] == 1
    await chat.emit("said", "good morning")
    outcome = await ending(running)
    assert sorted(outcome.out.splitlines()) == sorted(f'loop {one} heard ["good morning"]' for one in range(1, LOOPS + 1))
    assert (await chat.counters())["links_ever"] == 1


# All of them


async def test_every_command_line_of_the_readme_is_understood(folder, start_command):
    (folder / "token.json").write_text('{"token":"t"}')
    (folder / "day.jsonl").write_text('{"event":"said","args":[],"seq":1,"epoch":"e","time":1}\n')
    shell = re.search(r"## In the shell\n\n```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[1]
    lines = [shlex.split(line, comments=True) for line in shell.splitlines()]
    assert len(lines) >= 10
    for _, *words in lines:
        # Every one of them ends for want of a daemon, which is critical to a monitoring system.
        command = await start_command(GATEWAYCTL, "--socket", folder / "none", "--timeout", "50ms", *words, cwd=folder)
        outcome = await ending(command)
        assert outcome.code == (2 if "--check" in words else 69), (words, outcome)


def test_every_example_is_named_on_its_page_and_in_the_package():
    page = EXAMPLES / "README.md"
    packaged = (ROOT / "debian" / "gatewayd.examples").read_text().split()
    for path in EXAMPLES.iterdir():
        assert path == page or f"]({path.name})" in page.read_text(), f"examples/README.md does not name {path.name}"
        assert f"examples/{path.name}" in packaged, f"debian/gatewayd.examples does not name {path.name}"
