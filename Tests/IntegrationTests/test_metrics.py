"""`metrics` and `[metrics] listen`: what monitoring systems see."""

import asyncio
import json
import re
import socket
import subprocess

import pytest

from patience import within
from programs import ROOT, debian_program

EXAMPLES = ROOT / "examples/prometheus"
PROMTOOL = debian_program("prometheus/usr/bin/promtool")
needs_promtool = pytest.mark.skipif(
    not PROMTOOL,
    reason="there is no promtool: `make environments` could not download it, and GATEWAY_PROMTOOL names none")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def http(address, request=b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"):
    """Status, header and body of the answer to one request."""
    if isinstance(address, int):
        reader, writer = await asyncio.open_connection("127.0.0.1", address)
    else:
        reader, writer = await asyncio.open_unix_connection(str(address))
    writer.write(request)
    answer = await asyncio.wait_for(reader.read(), 20)
    writer.close()
    head, body = answer.split(b"\r\n\r\n", 1)
    status, *fields = head.decode().split("\r\n")
    fields = dict(field.split(": ", 1) for field in fields)
    assert int(fields["Content-Length"]) == len(body) and fields["Connection"] == "close"
    return status, fields, body.decode()


async def listening(daemons, address):
    return await daemons({"metrics": {"listen": str(address)}})


def names(text):
    return set(re.findall(r"^# TYPE (\w+)", text, re.MULTILINE))


async def test_it_is_read_over_tcp_in_the_format_that_is_asked_for(daemons, server):
    port = free_port()
    daemon = await listening(daemons, f"127.0.0.1:{port}")
    client = await daemon.connected(url=server.url)
    await client.call("subscribe", url=server.url)
    status, fields, text = await http(port)
    assert status == "HTTP/1.1 200 OK" and fields["Content-Type"].startswith("text/plain; version=0.0.4")
    assert 'gatewayd_upstream_connections{upstream="(url)",state="connected"} 1\n' in text
    assert server.url not in text and "127.0.0.1" not in text
    accept = b"GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n\r\n"
    status, fields, text = await http(port, accept)
    assert fields["Content-Type"].startswith("application/openmetrics-text; version=1.0.0") and text.endswith("# EOF\n")
    assert names(text) == names((await client.call("metrics"))["text"])


async def test_a_unix_socket_comes_and_goes_with_the_configuration(daemons, folder):
    path = folder / "m"
    daemon = await listening(daemons, path)
    assert (await http(path))[0] == "HTTP/1.1 200 OK" and path.stat().st_mode & 0o777 == 0o660
    client = await daemon.client()
    daemon.configure({})
    await client.call("reload")
    assert not path.exists()
    daemon.configure({"metrics": {"listen": str(path)}})
    await client.call("reload")
    assert (await http(path))[0] == "HTTP/1.1 200 OK"


async def test_an_address_that_is_taken_is_told_and_stops_nothing(daemons):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        daemon = await listening(daemons, f"127.0.0.1:{other.getsockname()[1]}")
        assert await (await daemon.client()).call("ping") == {}
        assert "cannot offer metrics" in daemon.text()


@pytest.mark.parametrize("request_, status", [
    (b"GET / HTTP/1.1\r\n\r\n", "404"), (b"POST /metrics HTTP/1.1\r\n\r\n", "405"), (b"hello\r\n\r\n", "400"),
    (b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 20_000, "431"),
])
async def test_other_requests_are_refused(daemons, request_, status):
    port = free_port()
    await listening(daemons, f"127.0.0.1:{port}")
    assert (await http(port, request_))[0].split()[1] == status


async def test_clients_that_do_nothing_hold_up_nobody(daemons):
    port = free_port()
    daemon = await listening(daemons, f"127.0.0.1:{port}")
    idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(40)]
    for _, writer in idle:
        writer.write(b"GET /metrics HTT")
    client = await daemon.client()
    for _ in range(100):
        await client.call("ping")
    turn = (await client.call("status"))["daemon"]["longest_turn"]
    # Those who have not asked give way, long before their ten seconds are over.
    assert (await within(http(port), "the metrics", 5))[0] == "HTTP/1.1 200 OK"
    for _, writer in idle:
        writer.close()
    assert turn < 1_000_000


async def test_clients_that_hang_up_leave_no_work_behind(daemons, folder):
    path = folder / "m"
    daemon = await listening(daemons, path)
    for _ in range(500):
        with socket.socket(socket.AF_UNIX) as hasty:
            hasty.connect(str(path))
            hasty.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
    assert (await http(path))[0] == "HTTP/1.1 200 OK"
    assert await (await daemon.client()).call("ping") == {}


@needs_promtool
async def test_promtool_finds_nothing_to_complain_of(daemons, server):
    daemon = await daemons()
    client = await daemon.connected(url=server.url)
    await client.call("subscribe", url=server.url)
    await client.call("request", url=server.url, event="echo", args=["x"])
    text = (await client.call("metrics", format="prometheus"))["text"]
    checked = subprocess.run([PROMTOOL, "check", "metrics"], input=text, capture_output=True, text=True)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


@needs_promtool
@pytest.mark.parametrize("words", [
    ["check", "config", "prometheus.yml"], ["check", "rules", "alerts.yml"], ["test", "rules", "alerts_test.yml"]])
def test_the_examples_work(words):
    checked = subprocess.run([PROMTOOL, *words], cwd=EXAMPLES, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


async def test_the_examples_name_metrics_that_there_are(daemons):
    text = (await (await (await daemons()).client()).call("metrics", format="prometheus"))["text"]
    known = names(text)
    known |= {f"{name}_{part}" for name in known for part in ("bucket", "sum", "count")}
    for name in ("alerts.yml", "grafana.json"):
        used = set(re.findall(r"\bgatewayd_\w+", (EXAMPLES / name).read_text()))
        assert used and used <= known, used - known
    json.loads((EXAMPLES / "grafana.json").read_text())
