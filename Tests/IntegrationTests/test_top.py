"""The live view of the daemon, at a real terminal and as plain pages."""

import asyncio
import contextlib
import fcntl
import json
import os
import pty
import re
import signal
import struct
import termios

import pytest

import processes
from patience import within
from programs import GATEWAYCTL

ENTERED, LEFT = "\x1b[?1049h", "\x1b[?1049l"


class Terminal:
    """A program at a terminal of its own, whose keys and screen are the test's."""

    def __init__(self, *command, rows=24, columns=100):
        self.shown = ""
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            processes.begin()
            os.execve("/bin/sh", ["sh", "-c", 'while [ "$(stty size)" = "0 0" ]; do :; done; exec "$@"', "sh",
                                  *map(str, command)], {**os.environ, "TERM": "xterm"})
        self.resize(rows, columns)
        self.modes = termios.tcgetattr(self.terminal)[3]

    def resize(self, rows, columns):
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys):
        os.write(self.terminal, keys.encode())

    def signal(self, number):
        os.kill(self.pid, number)

    async def until(self, holds, what):
        """Reads until what is shown from now on fulfils a condition, and returns that."""
        start = len(self.shown)

        def read():
            while not holds(self.shown[start:]):
                self.shown += os.read(self.terminal, 65536).decode(errors="replace")
            return self.shown[start:]

        return await within(asyncio.to_thread(read), what, 30)

    async def page(self, *texts):
        """The first page that has all of these."""

        def pages(shown):
            return [page for page in shown.split("\x1b[H") if "\x1b[J" in page and all(text in page for text in texts)]

        return pages(await self.until(pages, f"a page with {texts}"))[0]

    async def end(self):
        """Reads to the end, and returns the exit code, negative for a signal."""
        def read():
            try:
                while data := os.read(self.terminal, 65536):
                    self.shown += data.decode(errors="replace")
            except OSError:
                pass
            return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

        code = await within(asyncio.to_thread(read), "the end of gatewayctl", 30)
        self.pid = None
        return code

    def close(self):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.kill(self.pid, signal.SIGCONT)
            # What waited for its end in vain may still get it.
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self.pid, 0)
        os.close(self.terminal)


@pytest.fixture
def terminals():
    made = []

    def make(*command, **options):
        made.append(Terminal(*command, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


def top(daemon, *words):
    return GATEWAYCTL, "--socket", daemon.socket, "top", *words


async def busy(daemons, chat):
    """A daemon with a named connection, and one by URL."""
    daemon = await daemons({"upstream": {"chat": {"url": chat.url}}})
    client = await daemon.connected(upstream="chat")
    await client.call("subscribe", upstream="chat")
    await daemon.connected(url=chat.url, namespace="/chat")
    return daemon


async def test_plain_pages_have_no_escapes_and_rates(daemons, chat, ctl):
    daemon = await busy(daemons, chat)
    outcome = await ctl(daemon, "top", "-n", "2", env={"FORCE_COLOR": "1"})
    assert outcome.code == 0 and outcome.err == "" and "\x1b" not in outcome.out, outcome
    first, second = outcome.out.strip().split("\n\ngatewayd ")
    assert re.match(r"gatewayd \d+\.\d+\.\d+  up .*  busy [\d.]+ %  longest delay [\d.]+ ms .* clients", first), first
    for page in (first, second):
        assert re.search(r"UPSTREAM +STATE +IN/s +OUT/s +PING +QUEUE +HISTORY +RECONNECTS +SUBS +DROPPED", page)
        assert re.search(r"^ +chat +connected +[\d.]+ +[\d.]+ ", page, re.MULTILINE)
        assert "/chat" in page


async def test_into_a_pipe_one_page_is_shown_and_as_json_one_line(daemons, chat, ctl):
    daemon = await busy(daemons, chat)
    assert (await ctl(daemon, "top")).out.count("UPSTREAM") == 1
    (line,) = (await ctl(daemon, "top", "--json")).out.splitlines()
    assert len(json.loads(line)["connections"]) == 2


async def test_the_view_is_drawn_sorted_resized_and_left_by_q(daemons, chat, terminals):
    daemon = await busy(daemons, chat)
    view = terminals(*top(daemon, "--no-color"))
    page = await view.page("chat", "UPSTREAM", "DROPPED", "q quit")
    assert page.count("\r\n") <= 23 and ENTERED in view.shown and LEFT not in view.shown
    assert len(re.findall(r"^>", page, re.MULTILINE)) == 1
    assert re.search(r"^> +chat +connected", page, re.MULTILINE)
    view.press("rn\x1b[B\x1b[B")
    await view.until(lambda shown: re.search(r"\n> +chat /chat +connected", shown), "another selection")
    view.resize(10, 44)
    await view.until(lambda shown: any("UPSTREAM" in page and "DROPPED" not in page and page.count("\r\n") <= 9
                                       for page in shown.split("\x1b[H")), "a smaller page")
    view.press("q")
    assert await view.end() == 0
    assert view.shown.endswith("\x1b[?25h" + LEFT) and termios.tcgetattr(view.terminal)[3] == view.modes


async def test_it_ends_after_so_many_pages(daemons, chat, terminals):
    view = terminals(*top(await busy(daemons, chat), "-n", "2"))
    assert await view.end() == 0
    assert view.shown.endswith("\x1b[?25h" + LEFT) and view.shown.count("\x1b[J") >= 2


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, -15), (signal.SIGHUP, -1)])
async def test_a_signal_leaves_the_terminal_as_it_was(daemons, chat, terminals, number, code):
    view = terminals(*top(await busy(daemons, chat)))
    await view.page("chat")
    assert termios.tcgetattr(view.terminal)[3] != view.modes
    view.signal(number)
    assert await view.end() == code
    assert view.shown.endswith("\x1b[?25h" + LEFT) and termios.tcgetattr(view.terminal)[3] == view.modes


async def test_an_interrupt_from_the_keyboard_ends_it(daemons, chat, terminals):
    view = terminals(*top(await busy(daemons, chat)))
    await view.page("chat")
    view.press("\x03")
    assert await view.end() == 130
    assert view.shown.endswith("\x1b[?25h" + LEFT) and termios.tcgetattr(view.terminal)[3] == view.modes


async def test_a_stop_gives_the_terminal_back_and_going_on_takes_it_again(daemons, chat, terminals):
    daemon = await busy(daemons, chat)
    view = terminals("bash", "--norc", "--noediting", "-i")
    view.press(" ".join(map(str, top(daemon))) + "\n")
    await view.page("chat")
    view.press("\x1a")
    await view.until(lambda shown: LEFT in shown and "Stopped" in shown.split(LEFT)[-1], "the stop")
    assert termios.tcgetattr(view.terminal)[3] & termios.ICANON
    view.press("fg\n")
    await view.until(lambda shown: "UPSTREAM" in shown.split(ENTERED)[-1] and ENTERED in shown, "the view")
    assert not termios.tcgetattr(view.terminal)[3] & termios.ICANON
    view.press("q")
    await view.until(lambda shown: LEFT in shown, "the end of the view")
    view.press("exit\n")
    assert await view.end() == 0


async def test_a_daemon_that_goes_away_is_waited_for(daemons, chat, terminals):
    daemon = await busy(daemons, chat)
    view = terminals(*top(daemon, "--no-color"))
    await view.page("chat")
    await daemon.stop()
    await view.page("waiting for it", "chat")
    await daemon.start()
    await view.until(lambda shown: any("\x1b[J" in page and "gatewayd " in page and "waiting for it" not in page
                                       for page in shown.split("\x1b[H")), "the daemon again")
    view.press("q")
    assert await view.end() == 0


async def test_a_trace_and_an_examination_come_back_by_a_key(daemons, chat, terminals):
    daemon = await busy(daemons, chat)
    view = terminals(*top(daemon, "--no-color"))
    await view.page("chat")
    for key, said in (("d", "namespace"), ("t", "tracing")):
        view.press(key)
        await view.until(lambda shown: LEFT in shown and said in shown.split(LEFT)[-1], said)
        view.press(" ")
        await view.until(lambda shown: ENTERED in shown and "UPSTREAM" in shown.split(ENTERED)[-1], "the view again")
    view.press("q")
    assert await view.end() == 0
    assert termios.tcgetattr(view.terminal)[3] == view.modes


async def test_a_connection_with_options_and_credentials_is_examined_and_traced_with_them(daemons, servers, terminals):
    server = await servers("eio4", "--path", "chat")
    daemon = await daemons()
    target = {"url": f"{server.url}/auth?room=blue", "auth": {"token": "let-me-in"}, "options": {"path": "/chat/"}}
    client = await daemon.connected(**target)
    await client.call("subscribe", **target)
    view = terminals(*top(daemon, "--no-color"))
    await view.page("UPSTREAM", "connected")
    view.press("d")
    shown = await view.until(lambda shown: re.search(r"/auth (works|does not work)", shown), "the verdict")
    assert "/auth works" in shown
    view.press(" ")
    await view.until(lambda shown: ENTERED in shown and "UPSTREAM" in shown.split(ENTERED)[-1], "the view again")
    view.press("t")
    await view.until(lambda shown: "tracing" in shown, "the trace")
    await client.call("request", **target, event="echo", args=["traced"])
    await view.until(lambda shown: "EVENT echo" in shown, "the packet")
    view.press(" ")
    await view.until(lambda shown: ENTERED in shown and "UPSTREAM" in shown.split(ENTERED)[-1], "the view again")
    view.press("q")
    assert await view.end() == 0
