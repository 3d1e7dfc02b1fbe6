"""Credentials of an upstream stay on the hosts that may hold: they are never in Redis, and a host that never holds needs none."""

from fleet_hosts import another, holder, hosts, needs_redis, ready, redis  # pylint: disable=unused-import

pytestmark = needs_redis

MARKERS = {"auth": "let-me-in", "header": "marker-header-77c0", "query": "marker-query-0b9d", "file": "marker-file-5d5d"}


def credentials(folder):
    """Where an upstream's credentials may stand, `auth` being what the server wants."""
    (folder / "header").write_text(MARKERS["file"])
    (folder / "header").chmod(0o644)
    return {"auth": {"token": MARKERS["auth"]},
            "headers": {"X-Key": MARKERS["header"], "X-File": {"file": str(folder / "header")}},
            "query": {"key": MARKERS["query"]}}


async def test_nothing_that_was_ever_written_into_redis_has_a_credential_of_the_upstream(hosts, redis, chat, folder):
    two = await hosts(2, url=chat.url + "/auth", **credentials(folder))
    for host in two:
        await ready(host)
    first = await holder(two)
    client = await ready(another(two, first))
    await client.call("subscribe", upstream="chat", events=["e"])
    await client.call("send", upstream="chat", event="d", args=["marker-payload"], delivery="durable")
    await chat.received(1, "d")
    joined = await chat.joined(1)
    assert joined[-1]["auth"] == {"token": MARKERS["auth"]} and joined[-1]["headers"]["x_file"] == MARKERS["file"]
    # Another host takes the link, and says then that the server is away.
    await first.crash()
    await holder(two, without=first)
    await chat.stop()
    await another(two, first).until(
        lambda status: all(one["state"] != "connected" for one in status["connections"]), "the loss of the server")
    # All that Redis was ever told is in its file.
    written = b"".join(path.read_bytes() for path in (folder / "redis").rglob("*") if path.is_file() and not path.is_symlink())
    assert b"marker-payload" in written
    for name, marker in MARKERS.items():
        assert marker.encode() not in written, name


async def test_a_host_that_never_holds_takes_part_without_the_credentials_of_the_upstream(hosts, chat, folder):
    (first,) = await hosts(1, url=chat.url + "/auth", auth={"token": MARKERS["auth"]})
    await ready(first)
    (never,) = await hosts(1, {"hold": "never"}, url=chat.url + "/auth", auth_file=str(folder / "nothing"),
                           headers={"X-Key": {"file": str(folder / "nothing")}})
    client = await ready(never)
    assert (await client.call("request", upstream="chat", event="echo", args=["x"]))["args"] == ["x"]
    await client.call("send", upstream="chat", event="d", args=[1], delivery="durable")
    assert [one["args"] for one in await chat.received(1, "d")] == [[1]]
