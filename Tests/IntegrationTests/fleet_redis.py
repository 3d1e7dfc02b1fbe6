"""The Redis of the fleet's loop: one server or, with copies, a master and its replicas, which are failed over."""

import asyncio
import random
import time

from redis_server import RedisServer


class FleetRedis:
    """So many servers as outlast the loss of one; without copies it is one."""

    LATER = (0.0, 0.3, 1.0, 1.5, 2.5)
    """How many leases after the new master the other replica is told. With a master that lives a host may take the link there
    until then, and a replica that is none soon confirms it."""
    UNTOLD = (0.0, 0.5, 2.0, 4.5)
    """How many seconds a master that is back goes on as one, until it is told that it was replaced."""

    def __init__(self, folder, copies, lease):
        self.lease = lease
        self.servers = [
            RedisServer(folder / f"redis{number}",
                        ["--appendonly", "yes", "--protected-mode", "no", "--repl-diskless-sync-delay", "0",
                         # Its threads do not rest where the wall clock is set back.
                         "--jemalloc-bg-thread", "no"])
            for number in range(copies + 2 if copies else 1)]
        self.master = self.servers[0]

    @property
    def replicas(self):
        return [one for one in self.servers if one is not self.master]

    @property
    def urls(self):
        return [one.url for one in self.servers]

    async def start(self):
        for one in self.servers:
            await one.start()
        for one in self.replicas:
            await one.follow(self.master)
        await self.until_linked()

    async def close(self):
        for one in self.servers:
            await one.close()

    async def until_linked(self):
        """Until all replicas have what the master has: then offsets can be compared, and the loss of one server is outlasted.
        """
        for one in self.replicas:
            await one.until_linked()

    # What befalls servers, and is over then. Each returns for how many seconds there may have been no master with a replica.

    async def kill(self, servers, seconds):
        """They come back as what they were."""
        began = time.monotonic()
        for one in servers:
            await one.kill()
        await asyncio.sleep(seconds)
        for one in servers:
            await self.restart(one)
            if one is not self.master:
                await one.follow(self.master)
        await self.until_linked()
        return time.monotonic() - began

    async def pause(self, servers, seconds):
        began = time.monotonic()
        for one in servers:
            one.pause()
        await asyncio.sleep(seconds)
        for one in servers:
            one.resume()
        await self.until_linked()
        return time.monotonic() - began

    @staticmethod
    async def restart(server):
        assert await server.restart(), "Redis did not start again"

    async def fail_over_dead(self, seconds):
        """The master dies, and a replica takes its place after a time. The old one comes back with what is in its file."""
        old, began = self.master, time.monotonic()
        await old.kill()
        await asyncio.sleep(seconds)
        # They have read to the end what it had sent them.
        for one in self.replicas:
            await one.until_unlinked()
        await self.promote()
        away = time.monotonic() - began
        await self.restart(old)
        await self.demote(old)
        return away

    async def fail_over_paused(self, seconds):
        """The master stands still, and a replica takes its place after a time. The old one goes on with what it was told
        when it stopped, and later, and does not know that it was replaced."""
        old, began = self.master, time.monotonic()
        old.pause()
        await asyncio.sleep(seconds)
        await self.promote()
        away = time.monotonic() - began
        old.resume()
        await self.demote(old)
        return away

    async def fail_over_alive(self, seconds):
        """A replica takes the place of a master that lives, is reached by all hosts, and is told that much later."""
        old, began = self.master, time.monotonic()
        await self.promote()
        away = time.monotonic() - began
        await asyncio.sleep(seconds)
        await old.follow(self.master)
        await self.until_linked()
        return away

    async def promote(self):
        """The most advanced replica becomes the master, and then the others follow it, in the order of Sentinel."""
        offsets = {}
        for one in self.replicas:
            # What had come before the first question was read before the second.
            await one.replication()
            offsets[one] = int((await one.replication())["slave_repl_offset"])
        best = max(offsets, key=offsets.get)
        await best.command("REPLICAOF", "NO", "ONE")
        await asyncio.sleep(random.choice(self.LATER) * self.lease)
        self.master = best
        del offsets[best]
        for one in offsets:
            await one.follow(best)
        for one in offsets:
            await one.until_linked()

    async def demote(self, old):
        await asyncio.sleep(random.choice(self.UNTOLD))
        await old.follow(self.master)
        await self.until_linked()
