"""Brings about what `docs/fleet.md` has under "What happens when something fails", one fault after the other, with the
defaults of `[fleet]`, and measures what a program sees of it.

As root, because hosts are in network namespaces. `python fleet_failures.py --times 3` prints the table, `--only` selects
rows by a word of their name; `make fleet-failures ONLY=Sentinel` runs it with the release build.
"""

import argparse
import asyncio
import collections
import contextlib
import io
import json
import os
import pathlib
import shutil
import sys
import tempfile

from fleet_redis import FleetRedis
from fleet_scene import HOLDER, OTHER, PATIENCE, THIRD, Apart, Cluster, Scene
from patience import within
from test_fleet_redis_cluster import move, name, node_of, until

ROWS = {}


def row(title, at=OTHER, **place):
    """A fault: `at` is the host whose program watches it; the rest says which Redis the fleet has."""
    def add(befall):
        ROWS[title] = (befall, at, place)
        return befall
    return add


@row("the holder dies")
async def holder_dies(scene):
    await scene.place.kill_host(HOLDER, 8)


@row("the holder's daemon is stopped in order")
async def holder_stopped(scene):
    await scene.place.stop_host(HOLDER, 4)


@row("another host dies")
async def other_dies(scene):
    await scene.place.kill_host(THIRD, 4)


# Another host that took the link meanwhile would count from then on.
@row("another host dies, which has durable sends that wait", **{"yield": "5m"})
async def other_dies_with_sends(scene):
    # Without a link to the server they wait, and no other host may find one.
    holder = await scene.hosts[HOLDER].client()
    for number in (OTHER, THIRD):
        scene.network.cut(number, "server")
    await holder.call("disconnect", upstream="chat")
    client = await scene.hosts[THIRD].client()
    await client.call("send", upstream="chat", event="e", args=["left"], delivery="durable")

    async def rows(count):
        while await scene.redis.master.command("HLEN", f"gw:loop:{{chat}}:box:h{THIRD}") != count:
            await asyncio.sleep(0.05)

    await within(rows("1"), "the send to be in Redis")
    scene.begins()
    await scene.hosts[THIRD].crash()
    await within(rows("0"), "the send to be adopted", PATIENCE)
    scene.mark("the holder has them")
    for number in (OTHER, THIRD):
        scene.network.mend(number, "server")
    await holder.call("reconnect", upstream="chat")
    await scene.hosts[THIRD].start()


@row("the holder does not reach the server, for 75 s")
async def holder_without_server(scene):
    await scene.place.cut_server(HOLDER, 75)


async def restart(scene, seconds):
    await scene.redis.kill([scene.redis.master], seconds)
    scene.mark("Redis is back")


@row("Redis restarts, after 2 s")
async def redis_short(scene):
    await restart(scene, 2)


@row("Redis restarts, after 11 s: longer than grace")
async def redis_grace(scene):
    await restart(scene, 11)


@row("Redis restarts, after 16 s: longer than lease and grace")
async def redis_long(scene):
    await restart(scene, 16)


async def restart_out_of_reach(scene, numbers):
    """Some hosts reach it a second after it is back."""
    master = scene.redis.master
    await master.kill()
    await asyncio.sleep(15)
    for number in numbers:
        scene.network.cut(number, "redis")
    await asyncio.sleep(1)
    await FleetRedis.restart(master)
    scene.mark("Redis is back")
    await asyncio.sleep(1)
    for number in numbers:
        scene.network.mend(number, "redis")


@row("Redis restarts, after 16 s, and the holder reaches it last")
async def redis_long_holder_last(scene):
    await restart_out_of_reach(scene, [HOLDER])


@row("Redis restarts, after 16 s, and the holder reaches it first")
async def redis_long_holder_first(scene):
    await restart_out_of_reach(scene, [OTHER, THIRD])


@row("Redis cannot be reached by a host that does not hold, for 14 s")
async def follower_without_redis(scene):
    await scene.place.cut_redis(OTHER, 14)


@row("Redis cannot be reached by the holder, for 16 s")
async def holder_without_redis(scene):
    await scene.place.cut_redis(HOLDER, 16)


@row("the same, seen at the host that held", at=HOLDER)
async def holder_without_redis_there(scene):
    await scene.place.cut_redis(HOLDER, 16)


@row("Redis has lost everything")
async def redis_emptied(scene):
    await scene.place.empty_redis(None, 2)


async def failover(scene, silence):
    """The master dies, and Sentinel makes a replica the master."""
    one = await scene.sentinel(silence)
    await one.command("DEBUG", "INFO-PERIOD", "300")
    for replica in scene.redis.replicas:
        await one.says("+slave", str(replica.port))
    old = scene.redis.master
    scene.begins()
    await old.kill()
    await one.says("+promoted-slave")
    scene.mark("a replica is the master")
    await one.says("+switch-master")
    scene.mark("failover is over")
    await one.says("+slave ", str(old.port))
    await FleetRedis.restart(old)


@row("Redis fails over by Sentinel, copies = 1", copies=1)
async def sentinel_copies(scene):
    await failover(scene, 500)


@row("the same, longer than lease", copies=1)
async def sentinel_copies_late(scene):
    await failover(scene, 5_000)


@row("Redis fails over by Sentinel, copies = 0", replicas=1)
async def sentinel_alone(scene):
    await failover(scene, 500)


@row("a node of a cluster fails over to its replica", replicas=2, servers=Cluster)
async def node_fails(scene):
    slot = int(await scene.redis.master.command("CLUSTER", "KEYSLOT", "gw:loop:{chat}:L"))
    master, replica = await node_of(scene.redis.servers, slot), scene.redis.servers[3]
    assert await replica.command("CLUSTER", "REPLICATE", await name(master)) == "OK"
    await replica.until_linked()
    scene.begins()
    await master.kill()
    await until(replica, "role:master", "INFO", "replication")
    scene.mark("failover is over")


@row("no replica confirms, for 15 s", copies=1)
async def no_replica(scene):
    await scene.place.pause_replicas(None, 15)


async def split(scene):
    """The holder is alone with the master; on each machine is a Sentinel."""
    for server in scene.redis.servers:
        await scene.sentinel(500, 2, server)
    for one in scene.sentinels:
        await one.says("+sentinel", times=2)
    scene.begins()
    scene.network.cut(HOLDER, "redis")
    await scene.sentinels[OTHER].says("+switch-master")
    scene.mark("failover is over")
    await asyncio.sleep(20)
    scene.network.mend(HOLDER, "redis")
    scene.mark("split is over")


@row("the network splits, seen on the side with a replica", copies=1, servers=Apart)
async def split_there(scene):
    await split(scene)


@row("the network splits, seen on the other side", at=HOLDER, copies=1, servers=Apart)
async def split_here(scene):
    await split(scene)


@row("a slot of a cluster moves to another node", replicas=1, servers=Cluster)
async def slot_moves(scene):
    servers = scene.redis.servers
    slot = int(await servers[0].command("CLUSTER", "KEYSLOT", "gw:loop:{chat}:L"))
    source = await node_of(servers, slot)
    target = next(one for one in servers if one is not source)
    scene.begins()
    await move(servers, slot, source, target)
    scene.mark("move is over")


@row("Redis is full, for 5 s")
async def redis_full(scene):
    await scene.redis.master.command("CONFIG", "SET", "maxmemory", "1")
    await asyncio.sleep(5)
    await scene.redis.master.command("CONFIG", "SET", "maxmemory", "0")
    scene.mark("there is room")


@row("what `redis` names is a replica, for 5 s")
async def redis_is_replica(scene):
    await scene.redis.master.command("REPLICAOF", "127.0.0.1", "1")
    await asyncio.sleep(5)
    await scene.redis.master.command("REPLICAOF", "NO", "ONE")
    scene.mark("it is a master")


async def refuse(scene, *commands):
    master = scene.redis.master
    await master.command("ACL", "SETUSER", "default", *(f"-{one}" for one in commands))
    await asyncio.sleep(16)
    await master.command("ACL", "SETUSER", "default", *(f"+{one}" for one in commands))
    scene.mark("right is given")


@row("Redis refuses to publish (XADD), for 16 s")
async def refuses_events(scene):
    await refuse(scene, "xadd")


@row("Redis refuses scripts, for 16 s")
async def refuses_scripts(scene):
    await refuse(scene, "eval", "evalsha")


async def once(title, keep):
    """One fault; returns the times, and the rest."""
    befall, at, place = ROWS[title]
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gw-"))
    folder.chmod(0o755)
    scene = Scene(folder, **place)
    try:
        await scene.start()
        await scene.watch(at)
        await asyncio.sleep(1)
        scene.begins()
        await befall(scene)
        await scene.recover()
        return scene.seen()
    finally:
        try:
            # The daemons' logs are told at their end.
            with contextlib.redirect_stdout(io.StringIO()):
                await scene.close()
        finally:
            print(f"{title}: {folder}", file=sys.stderr) if keep else shutil.rmtree(folder, ignore_errors=True)


def spread(values):
    """Median, least and most, in seconds."""
    values = sorted(value for value in values if value is not None)
    if not values:
        return "–"
    return f"{values[len(values) // 2]:.2f} ({values[0]:.2f}–{values[-1]:.2f})"


def line(title, seen):
    """A row of the table."""
    times, rest = [one for one, _ in seen], [one for _, one in seen]
    marks = [mark for mark in times[0] if mark not in SEEN]
    cells = [title, *(spread([one[what] for one in times]) for what in SEEN)]
    cells.append(", ".join(f"{mark} {spread([one[mark] for one in times])}" for mark in marks))
    cells.append(", ".join(sorted({reason for one in rest for reason in one["reasons"]})))
    cells.append(f"{sum(one['epoch'] for one in rest)} of {len(rest)}")
    cells.append("; ".join(" + ".join(one["gaps"]) or "none" for one in rest))
    cells.append(f"{max(one['missed'] for one in rest)}, {max(one['doubled'] for one in rest)}")
    sums = collections.defaultdict(collections.Counter)
    for one in rest:
        for level, count in one["sends"].items():
            sums[level].update(count)
    cells.append("; ".join(f"{level} " + ", ".join(
        f"{number} {what}" for what, number in count.items() if number) for level, count in sorted(sums.items())))
    return "| " + " | ".join(cells) + " |"


SEEN = ("disconnected", "connected", "events", "written")
HEAD = ("fault", "disconnected", "connected", "events again", "written again", "besides", "reasons", "another epoch", "gaps",
        "events missed, doubled", "sends made meanwhile")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], help="a word of the names of rows; may be repeated")
    parser.add_argument("--times", type=int, default=3, help="how often each fault is brought about")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each fault")
    parser.add_argument("--keep", action="store_true", help="leave the folders with logs and ledgers")
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("fleet_failures.py needs root: it cuts cables of network namespaces")
    if not options.json:
        print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}", flush=True)
    failed = False
    for title in ROWS:
        if options.only and not any(word in title for word in options.only):
            continue
        seen = []
        for _ in range(options.times):
            try:
                seen.append(asyncio.run(once(title, options.keep)))
            except AssertionError as problem:
                failed = True
                print(f"{title}: {str(problem)[:600]}", file=sys.stderr, flush=True)
        if seen:
            print(json.dumps({"fault": title, "times": [{**one, **rest} for one, rest in seen]}) if options.json
                  else line(title, seen), flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
