"""A holder with long-polling that loses its link to another host, or gives it up, while a POST is under way: what of it the
server has not read by then must not arrive behind the messages of the next link."""

import asyncio
import json
import signal
import socket

import pytest

from fleet_hosts import holder, hosts, needs_redis, ready, redis  # noqa: F401
from patience import FACTOR, SOON, within
from scripted import Request

pytestmark = needs_redis

LEASE = max(1.0, FACTOR)
LARGE = 900_000
"""Of a message: more than two kernels keep for the connections of `SlowReader`, and no longer than a line."""


class SlowReader:
    """A server for long-polling that takes a large POST only as fast as the test lets it, and notes what came whole."""

    def __init__(self):
        self.notes, self.tasks, self.sessions = [], [], []
        self.changed = asyncio.Condition()
        self.begun, self.goes_on = asyncio.Event(), asyncio.Event()
        self.pause = None
        """Seconds between pieces; None: nothing is read."""

    async def start(self):
        listener = socket.socket()
        # Small segments and a small window: so the client's kernel keeps little.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 10)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
        listener.bind(("127.0.0.1", 0))
        self.server = await asyncio.start_server(self._connected, sock=listener, limit=4_096)
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        return self

    async def close(self):
        self.server.close()
        while pending := [task for task in self.tasks if not task.done()]:
            for task in pending:
                task.cancel()
            await asyncio.wait(pending, timeout=0.1)

    async def note(self, what):
        async with self.changed:
            self.notes.append(what)
            self.changed.notify_all()

    async def until(self, condition, what):
        async with self.changed:
            await within(self.changed.wait_for(lambda: condition(self.notes)), what, 8 * SOON)

    async def _connected(self, reader, writer):
        task = asyncio.current_task()
        self.tasks.append(task)
        try:
            while True:
                await self._answer(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.transport.abort()

    async def _answer(self, reader, writer):
        request = Request(await reader.readuntil(b"\r\n\r\n"))
        sid = request.query.get("sid")
        if request.method == "POST":
            await self._take(reader, sid, int(request.headers["content-length"]))
            answer = b"ok"
        elif sid is None:
            sid = f"s{len(self.sessions) + 1}"
            self.sessions.append(asyncio.Queue())
            answer = b"0" + json.dumps({"sid": sid, "upgrades": [], "pingInterval": 60_000, "pingTimeout": 60_000,
                                        "maxPayload": 2_000_000}).encode()
        else:
            answer = await self.sessions[int(sid[1:]) - 1].get()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s" % (len(answer), answer))
        await writer.drain()

    async def _take(self, reader, sid, count):
        if count < LARGE:
            body = await reader.readexactly(count)
        else:
            self.begun.set()
            body = b""
            try:
                while len(body) < count:
                    await self._may_read()
                    body += await reader.readexactly(min(4_096, count - len(body)))
            except (asyncio.IncompleteReadError, ConnectionError) as end:
                await self.note((sid, "broken", type(end).__name__))
                raise
        for packet in body.split(b"\x1e"):
            if packet.startswith(b"40"):
                self.sessions[int(sid[1:]) - 1].put_nowait(b'40{"sid":"socket-%s"}' % sid.encode())
            await self.note((sid, packet[:20].decode(), len(packet)))

    async def _may_read(self):
        if self.goes_on.is_set():
            return
        if self.pause is None:
            await self.goes_on.wait()
        else:
            await asyncio.sleep(self.pause)


@pytest.fixture
async def slow():
    server = await SlowReader().start()
    yield server
    await server.close()


async def nothing_arrived_late(slow):
    """The large POST of the first link, of which the rest could come when the second one was there, did not come whole."""
    await slow.until(lambda notes: any(sid == "s1" and (what == "broken" or what.startswith('42["large"'))
                                       for sid, what, _ in notes), "an end of the large POST")
    assert [what for sid, what, _ in slow.notes if sid == "s1"] == ["40", "broken"], slow.notes


@pytest.mark.parametrize("pause", [None, 0.1], ids=["which reads nothing", "which reads slowly"])
async def test_of_a_post_under_way_nothing_arrives_behind_the_next_link_from_a_host_that_was_stopped(slow, hosts, pause):
    slow.pause = pause
    both = await hosts(2, {"lease": f"{LEASE:g}s"}, url=slow.url, transports=["polling"])
    first = await holder(both)
    (other,) = (host for host in both if host is not first)
    client, later = await ready(first), await ready(other)
    await client.call("send", upstream="chat", event="large", args=["x" * LARGE], delivery="accepted")
    await within(slow.begun.wait(), "the server to get the head of the large POST")
    first.process.send_signal(signal.SIGSTOP)
    try:
        assert await holder([other]) is other
        await later.call("send", upstream="chat", event="after", args=[], delivery="sent")
        # What the first host's kernel has may come now, and what its process has when it goes on.
        slow.goes_on.set()
    finally:
        first.process.send_signal(signal.SIGCONT)
    await nothing_arrived_late(slow)
    # The host that was stopped uses the other one's link, once it knows that its own is lost.
    await first.until(lambda status: not any(one["fleet"]["holds"] for one in status["connections"]),
                      "the host that was stopped to give up its link")
    await client.call("send", upstream="chat", event="again", args=[], delivery="sent")
    assert slow.notes[-1][:2] == ("s2", '42["again"]'), slow.notes


async def test_of_a_post_under_way_nothing_arrives_behind_the_next_link_from_a_host_that_gave_up_its_own(slow, hosts):
    # Much longer than the host waits for the server to take what is under way.
    both = await hosts(2, {"lease": f"{10 * LEASE:g}s"}, url=slow.url, transports=["polling"])
    first = await holder(both)
    (other,) = (host for host in both if host is not first)
    client, later = await ready(first), await ready(other)
    await client.call("send", upstream="chat", event="large", args=["x" * LARGE], delivery="accepted")
    await within(slow.begun.wait(), "the server to get the head of the large POST")
    leaving = client.post("fleet.leave")
    assert await holder([other]) is other
    slow.goes_on.set()
    await later.call("send", upstream="chat", event="after", args=[], delivery="sent")
    await nothing_arrived_late(slow)
    await client.result(leaving)
