"""What an administrator finds in the journal."""

STARTED = "110a38b3b8e644d5a4428a16a4595f55"
STOPPING = "08d02d3ba5634157a6ca282f429c1ffc"
CONNECTION_UP = "70323c2b4dd840eca3ae5b8a06890038"
CONNECTION_DOWN = "8f06a621e4d5462bbd166d554b776a39"


def own(record):
    return {name: value for name, value in record.items() if name.startswith("GATEWAY_")}


def latest(service, identifier):
    return service.journal("--unit=gatewayd.service", f"MESSAGE_ID={identifier}")[-1]


def test_a_start_is_a_record_with_version_and_path(service):
    record = latest(service, STARTED)
    assert own(record)["GATEWAY_PATH"] == "passed by systemd"
    assert own(record)["GATEWAY_VERSION"] == service.run("gatewayctl", "--version").out.split()[-1]
    assert record["_SYSTEMD_UNIT"] == "gatewayd.service" and record["SYSLOG_IDENTIFIER"] == "gatewayd"
    assert record["_PID"] == service.show("gatewayd.service", "MainPID")


def test_a_stop_is_a_record(service):
    pid = service.show("gatewayd.service", "MainPID")
    service.run("systemctl", "stop", "gatewayd.socket", "gatewayd.service")
    assert latest(service, STOPPING)["_PID"] == pid


def test_a_connection_that_goes_up_and_down_names_its_upstream_and_the_reason(service, chat):
    service.write("/etc/gatewayd/gatewayd.toml", f'[upstream.chat]\nurl = "{chat.url}"\n')
    service.run("systemctl", "reload", "gatewayd.service")
    with service.start("gatewayctl", "subscribe", "--state", "chat") as subscriber:
        while '"connected"' not in subscriber.stdout.readline():
            pass
        up = own(latest(service, CONNECTION_UP))
        assert (up["GATEWAY_UPSTREAM"], up["GATEWAY_NAMESPACE"]) == ("chat", "/")
        chat.process.kill()
        while '"connected"' in subscriber.stdout.readline():
            pass
        record = latest(service, CONNECTION_DOWN)
        assert own(record)["GATEWAY_UPSTREAM"] == "chat" and own(record)["GATEWAY_REASON"]
        assert record["PRIORITY"] == "4"


def test_no_secret_reaches_the_journal(service, chat):
    secret = "correct-horse-battery"
    service.write("/etc/gatewayd/gatewayd.toml",
                  f'[upstream.auth]\nurl = "{chat.url}/auth"\nauth.token = "{secret}"\n')
    service.run("systemctl", "restart", "gatewayd.service")
    assert service.run("gatewayctl", "--timeout", "30s", "request", "auth", "echo", "1", check=False).code == 73
    service.run("journalctl", "--sync")
    assert secret not in service.sh("journalctl --output=export --all --no-pager")
