"""examples/systemd/strict.conf, the drop-in for stricter machines: what the daemon does under it, and what it does not see."""

import json
import re
import subprocess

import pytest

from conftest import chat_in
from line_client import Client

EXAMPLE = "/usr/share/doc/gatewayd/examples/systemd/strict.conf"
DROPINS = "/run/systemd/system/gatewayd.service.d"
CONFIGURATION = "/etc/gatewayd/gatewayd.toml"
RECONNECT = 'keep = "always"\nreconnect.base = "50ms"\n'


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for localhost that signed itself, and its key: their texts."""
    place = tmp_path_factory.mktemp("tls")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
                    "30", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout",
                    "key.pem", "-out", "cert.pem"], check=True, capture_output=True, cwd=place)
    return (place / "cert.pem").read_text(), (place / "key.pem").read_text()


@pytest.fixture
def strict(service):
    """The service under the drop-in as the package installs it, with the addresses of the example set to this machine."""
    service.sh(f"""
        mkdir -p {DROPINS} /var/lib/gatewayd-root
        sed 's/^#IPAddress/IPAddress/; s,192[.]0[.]2[.]0/24,,' {EXAMPLE} > {DROPINS}/strict.conf
        systemctl daemon-reload
        systemctl restart gatewayd.service""")
    return service


@pytest.fixture
def secure(strict, certificate):
    """The chat server with TLS."""
    strict.write("/etc/gatewayd/ca.pem", certificate[0])
    strict.write("/root/key.pem", certificate[1])
    with chat_in(strict, 0, "--cert", "/etc/gatewayd/ca.pem", "--key", "/root/key.pem") as server:
        server.url = f"https://localhost:{server.port}"
        yield server


def configure(service, text):
    service.write(CONFIGURATION, text)
    service.run("systemctl", "reload", "gatewayd.service")


def echo(service, upstream, user=None):
    return service.run("gatewayctl", "request", upstream, "echo", "1", user=user).out


def exposure(service):
    told = service.run("systemd-analyze", "security", "--no-pager", "gatewayd.service").out.splitlines()[-1]
    return float(re.search(r"\d+\.\d+", told)[0])


def test_the_exposure_is_1_2_and_1_1_with_addresses(strict, record_property):
    with_addresses = exposure(strict)
    strict.sh(f"cp {EXAMPLE} {DROPINS}/strict.conf; systemctl daemon-reload")
    record_property("exposure with strict.conf", f"{exposure(strict)}, with addresses {with_addresses}")
    assert (exposure(strict), with_addresses) == (1.2, 1.1)


def test_websockets_polling_and_tls_work_for_a_user_of_the_group(strict, chat, secure):
    configure(strict, f'''
[upstream.websocket]
url = "{chat.url}"
transports = ["websocket"]
[upstream.polling]
url = "{chat.url}"
transports = ["polling"]
upgrade = false
[upstream.secure]
url = "{secure.url}"
tls.ca = "/etc/gatewayd/ca.pem"
[upstream.doubtful]
url = "{secure.url}"
''')
    assert [echo(strict, name, user="alice") for name in ("websocket", "polling", "secure")] == ["1", "1", "1"]
    refused = strict.run("gatewayctl", "--timeout", "3s", "request", "doubtful", "echo", "1", check=False)
    assert refused.code != 0 and "certificate" in refused.err
    assert strict.run("gatewayctl", "ping", user="bob", check=False).code == 77


def test_credentials_come_from_systemd_from_files_and_from_commands(strict, chat):
    strict.write("/root/token", "let-me-in", mode=0o600)
    strict.write("/etc/gatewayd/credentials/auth", json.dumps({"token": "let-me-in"}))
    strict.write(f"{DROPINS}/credential.conf", "[Service]\nLoadCredential=token:/root/token\n")
    commands = {"shell": ["/bin/sh", "-c", 'echo "{\\"token\\":\\"$(echo let-me-in)\\"}"'],
                "python": ["python3", "-c", 'print("{\\"token\\":\\"let-me-in\\"}")']}
    ways = {"systemd": 'query.token = { credential = "token" }', "file": 'auth_file = "/etc/gatewayd/credentials/auth"',
            **{name: f"auth_command = {json.dumps(words)}" for name, words in commands.items()}}
    strict.write(CONFIGURATION, "".join(
        f'[upstream.{name}]\nurl = "{chat.url}/auth"\n{setting}\n' for name, setting in ways.items()))
    strict.run("systemctl", "daemon-reload")
    strict.run("systemctl", "restart", "gatewayd.service")
    assert {name: echo(strict, name) for name in ways} == dict.fromkeys(ways, "1")


def test_a_good_reload_is_taken_and_a_bad_one_refused(strict, chat):
    configure(strict, f'[upstream.chat]\nurl = "{chat.url}"\n')
    assert echo(strict, "chat") == "1"
    strict.write(CONFIGURATION, "nonsense = 1\n")
    assert strict.run("systemctl", "reload", "gatewayd.service", check=False).code != 0
    assert echo(strict, "chat") == "1"


def test_clients_go_on_over_a_restart_and_get_what_came_before_a_kill(strict, chat):
    configure(strict, f'[upstream.chat]\nurl = "{chat.url}"\n{RECONNECT}')
    strict.run("gatewayctl", "wait", "chat", "--timeout", "30s")
    with strict.start("nc", "-U", "/run/gatewayd.sock", user="alice") as process:
        client = Client(process)
        before = client.call("status")["daemon"]["handover"]
        strict.run("systemctl", "restart", "gatewayd.service")
        assert client.call("status")["daemon"]["handover"] == before + 1
        strict.run("gatewayctl", "wait", "chat", "--timeout", "30s")
        epoch = client.call("subscribe", upstream="chat", events=["said"])["epoch"]
        chat.ask("emit", event="said", args=[1], namespace="/")
        seq = client.until("event", args=[1])[-1][1]["seq"]
        chat.ask("emit", event="said", args=[2], namespace="/")
        client.until("event", args=[2])
    strict.run("systemctl", "kill", "--signal=KILL", "gatewayd.service")
    with strict.start("nc", "-U", "/run/gatewayd.sock", user="alice") as process:
        client = Client(process)
        client.call("subscribe", upstream="chat", events=["said"], since={"epoch": epoch, "seq": seq})
        assert client.until("event")[-1][1]["args"] == [2]


def test_durable_sends_outlive_a_kill(strict, chat):
    configure(strict, f'[upstream.chat]\nurl = "{chat.url}"\n{RECONNECT}')
    port = chat.port
    chat.process.kill()
    chat.process.wait()
    for number in range(3):
        strict.run("gatewayctl", "send", "chat", "say", number, "--delivery", "durable", user="alice")
    strict.run("systemctl", "kill", "--signal=KILL", "gatewayd.service")
    with chat_in(strict, port) as again:
        assert again.received("say", 3) == [[0], [1], [2]]


def test_the_watchdog_is_fed_and_the_journal_has_the_fields(strict):
    strict.write(f"{DROPINS}/watchdog.conf", "[Service]\nWatchdogSec=2s\n")
    strict.run("systemctl", "daemon-reload")
    strict.run("systemctl", "restart", "gatewayd.service")
    pid = strict.show("gatewayd.service", "MainPID")
    # Nothing is to happen: so long would three watchdogs take.
    strict.run("gatewayctl", "subscribe", "http://127.0.0.1:9", "--for", "6s", check=False)
    assert strict.show("gatewayd.service", "MainPID") == pid
    assert any("GATEWAY_PATH" in record for record in strict.journal("--unit=gatewayd.service", f"_PID={pid}"))


def test_what_is_not_bound_is_not_seen(strict, chat):
    strict.write("/opt/auth", json.dumps({"token": "let-me-in"}))
    configure(strict, f'[upstream.auth]\nurl = "{chat.url}/auth"\nauth_file = "/opt/auth"\n')
    refused = strict.run("gatewayctl", "--timeout", "2s", "request", "auth", "echo", "1", check=False)
    assert refused.code != 0 and "/opt/auth" in strict.run("gatewayctl", "status", "auth").out + refused.err
    strict.write(f"{DROPINS}/more.conf", "[Service]\nBindReadOnlyPaths=/opt\n")
    strict.run("systemctl", "daemon-reload")
    strict.run("systemctl", "restart", "gatewayd.service")
    assert echo(strict, "auth") == "1"
    pid = strict.show("gatewayd.service", "MainPID")
    assert strict.sh(f"ls /proc/{pid}/root").split() == sorted(
        "bin dev etc lib lib64 opt proc root run sbin sys tmp usr var".split())
    assert strict.sh(f"cd /proc/{pid}/root; ls -d opt/* run/* var/lib/*").split() == sorted(
        "opt/auth run/dbus run/gatewayd run/gatewayd.sock run/systemd var/lib/gatewayd".split())
