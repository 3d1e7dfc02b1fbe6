"""A relay in front of servers: takes turns among them, and delays or holds what it passes on."""

import asyncio
import contextlib
import itertools
import socket


class Relay:
    """Passes each connection on to the next of some ports. `buffer`: bytes that its kernel takes of each before it reads them,
    as many as that likes by default."""

    def __init__(self, *ports, delay=0, buffer=None):
        self.ports = itertools.cycle(ports)
        self.delay = delay
        self.buffer = buffer
        self.tasks = set()
        self.carries = self._carrying()

    @staticmethod
    def _carrying():
        event = asyncio.Event()
        event.set()
        return event

    def hold(self):
        """Has the connections of now carry nothing, until the event that it returns is set. Later ones are not held."""
        held, self.carries = self.carries, self._carrying()
        held.clear()
        return held

    async def start(self):
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        if self.buffer:
            # Those that it accepts have as much as the one that listens.
            self.server.sockets[0].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.buffer)
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"
        return self

    async def _serve(self, reader, writer):
        self.tasks.add(asyncio.current_task())
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", next(self.ports))
            await asyncio.gather(self._pass(reader, far_writer), self._pass(far_reader, writer))

    async def _pass(self, reader, writer):
        carries = self.carries
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65_536):
                await asyncio.sleep(self.delay)
                await carries.wait()
                writer.write(data)
                await writer.drain()
            writer.close()

    async def close(self):
        self.server.close()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
