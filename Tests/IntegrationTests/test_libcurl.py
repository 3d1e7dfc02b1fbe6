"""libcurl and libcrypto, which are loaded when they are first needed; and a libcurl that is there for a start, and not
when a URL is named: as while a system is upgraded."""

import pathlib

import pytest


@pytest.fixture
def broken(folder):
    """A folder with a libcurl that cannot be loaded, before the system's."""
    place = folder / "libraries"
    place.mkdir()
    (place / "libcurl.so.4").touch()
    return place


async def test_a_daemon_without_connections_takes_the_memory_of_libraries_that_it_does_not_need(daemons, chat):
    daemon = await daemons()
    client = await daemon.client()
    loaded = pathlib.Path(f"/proc/{daemon.process.pid}/maps").read_text
    assert "libsqlite3.so" in loaded() and "libcurl.so" not in loaded() and "libcrypto.so" not in loaded()
    assert (await client.call("request", url=chat.url, event="echo", args=["x"]))["args"] == ["x"]
    assert "libcurl.so" in loaded() and "libcrypto.so" in loaded()


async def test_a_url_is_not_to_blame_while_libcurl_cannot_be_loaded(daemons, chat, broken):
    daemon = await daemons(environment={"LD_LIBRARY_PATH": broken})
    client = await daemon.client()
    error = await client.fails("InternalError", "request", url=chat.url, event="echo", args=["x"])
    assert "libcurl.so.4" in error.message and error.data["retry"], error
    (broken / "libcurl.so.4").unlink()
    assert (await client.call("request", url=chat.url, event="echo", args=["x"]))["args"] == ["x"]


async def test_what_is_stored_for_a_url_waits_for_libcurl(daemons, closed_port, broken):
    daemon = await daemons()
    client = await daemon.client()
    await client.call("send", url=f"http://127.0.0.1:{closed_port}", event="e", args=[1], delivery="durable", key="k")
    await daemon.stop()
    daemon.environment = {"LD_LIBRARY_PATH": broken}
    with pytest.raises(AssertionError, match="the outbox has sends to URLs, and no URL can be read: .*libcurl.so.4"):
        await daemon.start()
    daemon.environment = {}
    await daemon.start()
    client = await daemon.client()
    again = await client.call(
        "send", url=f"http://127.0.0.1:{closed_port}", event="e", args=[1], delivery="durable", key="k")
    assert again["duplicate"], again
