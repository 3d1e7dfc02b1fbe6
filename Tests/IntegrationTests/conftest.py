"""Fixtures: every test gets its own folder, socket, configuration, daemon and server; all end with the test.
Decision 0007."""

import asyncio
import os
import pathlib
import shutil
import signal
import socket
import tempfile

import pytest

import processes
from certificates import authority
from chat import LINES, ChatServer
from crossbar import Router, RouterView
from daemon import Daemon
from matrix import pytest_terminal_summary
from patience import SOON, within
from programs import GATEWAYCTL, GATEWAYD
from proxies import HTTPProxy, SocksProxy
from scripted import ScriptedUpstream
from wamp_router import ScriptedRouter


def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("root") and os.geteuid() != 0:
            item.add_marker(pytest.mark.skip(reason="needs root: it acts as other users"))


def pytest_sessionstart(session):
    # Whoever started the tests may ignore it, and what they start would inherit that.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    missing = [str(program) for program in (GATEWAYD, GATEWAYCTL) if not program.exists()]
    if missing:
        pytest.exit(f"no {' and no '.join(missing)}: run `make build`, or set GATEWAY_BIN_DIR", returncode=2)


@pytest.fixture
def folder():
    """A folder with a short path (socket paths end at 107 bytes) that other users may enter."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="gw-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
async def daemons(folder):
    """Makes daemons: `await daemons(config, …)` starts one; `start=False` leaves that to the test."""
    made = []

    async def make(config=None, start=True, kind=Daemon, **options):
        place = folder / f"d{len(made)}"
        place.mkdir()
        place.chmod(0o777)
        daemon = kind(GATEWAYD, place, config, **options)
        made.append(daemon)
        if start:
            await daemon.start()
        return daemon

    yield make
    failures = await asyncio.gather(*(daemon.close() for daemon in made), return_exceptions=True)
    for failure in failures:
        if failure:
            raise failure


@pytest.fixture
async def servers():
    """Makes chat servers: `await servers("eio4", …arguments)`."""
    made = []

    async def make(line="eio4", *arguments):
        server = ChatServer(line, arguments)
        made.append(server)
        return await server.start()

    yield make
    for server in made:
        await server.close()


@pytest.fixture(params=LINES)
async def server(request, servers):
    """A chat server; the test runs once for each line of servers."""
    return await servers(request.param)


@pytest.fixture
async def chat(servers):
    """A chat server of the current line."""
    return await servers("eio4")


@pytest.fixture
async def scripted():
    """Makes scripted upstreams."""
    made = []

    async def make():
        upstream = await ScriptedUpstream().start()
        made.append(upstream)
        return upstream

    yield make
    for upstream in made:
        await upstream.close()


@pytest.fixture
def closed_port():
    """A port that refuses connections: it is taken, but nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.fixture
def ipv6():
    """Skips where the loopback device has no address of IPv6, as in many containers."""
    try:
        with socket.socket(socket.AF_INET6) as one:
            one.bind(("::1", 0))
    except OSError as problem:
        pytest.skip(f"::1 cannot be used here: {problem}")


@pytest.fixture
async def proxies():
    """Makes proxies: `await proxies("http", …)` or `await proxies("socks5h", …)`; both may ask for a login."""
    made = []

    async def make(kind="http", **options):
        proxy = await {"http": HTTPProxy, "socks5": SocksProxy, "socks5h": SocksProxy}[kind](**options).start()
        made.append(proxy)
        return proxy

    yield make
    for proxy in made:
        await proxy.close()


@pytest.fixture
async def peer(scripted):
    """One scripted upstream."""
    return await scripted()


@pytest.fixture
async def router():
    """A scripted WAMP router."""
    router = await ScriptedRouter().start()
    yield router
    await router.close()


@pytest.fixture(scope="session")
def shared_crossbar(tmp_path_factory, authority):
    """A Crossbar.io for all tests of a process; it takes seconds to start."""
    router = Router(tmp_path_factory.mktemp("crossbar"), authority)
    try:
        router.start()
        yield router
    finally:
        router.close()


@pytest.fixture
async def crossbar(shared_crossbar):
    """A Crossbar.io, and `await crossbar.peer()` for Autobahn clients that end with the test."""
    view = RouterView(shared_crossbar)
    yield view
    await view.close()


class Outcome:
    """What a command left behind."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __repr__(self):
        return f"exit {self.code}\nstdout: {self.out}\nstderr: {self.err}"


class Command:
    """A gatewayctl that runs beside the test."""

    def __init__(self, process):
        self.process = process

    async def line(self):
        """The next line of stdout."""
        line = await within(self.process.stdout.readline(), "a line of gatewayctl")
        assert line.endswith(b"\n"), line
        return line.decode()[:-1]

    async def error_line(self):
        """The next line of stderr."""
        line = await within(self.process.stderr.readline(), "a line on gatewayctl's stderr")
        return line.decode().rstrip("\n")

    async def outcome(self, stdin=None):
        """Waits for its end."""
        out, err = await within(self.process.communicate(stdin), "gatewayctl to end", 2 * SOON)
        return Outcome(self.process.returncode, out.decode(), err.decode())


@pytest.fixture
async def start_command():
    """Starts a program: `await start_command(program, …arguments)`."""
    made = []

    async def start(*command, env=None, stdin=False, **options):
        environment = {key: value for key, value in os.environ.items()
                       if key not in ("GATEWAYD_SOCKET", "XDG_RUNTIME_DIR", "FORCE_COLOR", "NO_COLOR")}
        environment |= {key: str(value) for key, value in (env or {}).items()}
        pipe, none = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        process = await processes.spawn(
            *command, env=environment, stdin=pipe if stdin else none, stdout=options.pop("stdout", pipe), stderr=pipe,
            **options)
        made.append(process)
        return Command(process)

    yield start
    for process in made:
        await processes.kill(process)


@pytest.fixture
def start_ctl(start_command):
    """Starts gatewayctl: `await start_ctl(daemon, …arguments)`; a daemon of None passes no socket."""

    async def start(daemon, *arguments, **options):
        socket = ["--socket", daemon.socket] if daemon else []
        return await start_command(GATEWAYCTL, *socket, *arguments, **options)

    return start


@pytest.fixture
def ctl(start_ctl):
    """Runs gatewayctl to its end: `await ctl(daemon, …arguments, stdin=…)`."""

    async def run(daemon, *arguments, stdin=None, **options):
        command = await start_ctl(daemon, *arguments, stdin=stdin is not None, **options)
        return await command.outcome(stdin.encode() if isinstance(stdin, str) else stdin)

    return run
