"""Real users at the real socket."""

import pytest


def test_the_socket_belongs_to_the_daemon_and_is_open_to_its_group(service):
    assert service.sh("stat -c '%A %U:%G' /run/gatewayd.sock") == "srw-rw---- gatewayd:gateway"


def test_members_of_the_group_may_use_the_daemon_and_others_are_told_which_group_may(service):
    assert "rtt" in service.run("gatewayctl", "ping", user="alice").out
    refused = service.run("gatewayctl", "ping", user="bob", check=False)
    assert refused.code == 77 and "adduser USER gateway" in refused.err


def test_a_new_member_may_without_a_restart(service):
    service.run("useradd", "--groups=gateway", "carol")
    try:
        assert "rtt" in service.run("gatewayctl", "ping", user="carol").out
    finally:
        service.run("userdel", "carol")


def test_the_daemon_knows_its_clients_through_the_sandbox(service):
    you = service.run("gatewayctl", "call", "hello", "{}", user="alice", check=False).json()["you"]
    assert you["uid"] == int(service.sh("id -u alice"))
    assert "admin" not in you["rights"]


@pytest.mark.parametrize("user, may", [("root", True), ("gatewayd", True), ("alice", False)])
def test_root_and_the_daemons_user_administrate(service, user, may):
    assert service.run("gatewayctl", "reload", user=user, check=False).code == (0 if may else 77)


def test_a_rule_by_user_and_group_is_in_force_after_a_reload(service, chat):
    service.write("/etc/gatewayd/gatewayd.toml", f'''
[upstream.chat]
url = "{chat.url}"
[[access]]
user = "alice"
upstream = ["chat"]
allow = ["status", "subscribe"]
[[access]]
group = "gateway"
allow = ["status"]
''')
    service.run("systemctl", "reload", "gatewayd.service")
    assert service.run("gatewayctl", "send", "chat", "say", "x", user="alice", check=False).code == 77
    assert service.subscribe("chat", user="alice").code == 0
    assert service.run("gatewayctl", "request", "chat", "echo", "1").out == "1"


@pytest.mark.parametrize("path", ["/etc/gatewayd", "/var/lib/gatewayd", "/run/gatewayd"])
def test_other_users_cannot_look_into_the_daemons_folders(service, path):
    for user in ("alice", "bob"):
        assert "Permission denied" in service.run("ls", path, user=user, check=False).err


def test_files_of_the_state_are_the_daemons_alone(service):
    service.run("gatewayctl", "send", "http://127.0.0.1:9", "say", "x", "--delivery", "durable", user="alice")
    modes = service.sh("find /var/lib/gatewayd -type f -printf '%m %u\\n' | sort -u")
    assert modes == "600 gatewayd"


def test_alice_does_not_see_what_bob_sends(service):
    service.run("usermod", "--append", "--groups=gateway", "bob")
    try:
        service.run("gatewayctl", "send", "http://127.0.0.1:9", "say", "secret", "--delivery", "durable", user="bob")
        assert service.run("gatewayctl", "outbox", "list", user="alice").out == ""
        assert "127.0.0.1:9" in service.run("gatewayctl", "outbox", "list").out
    finally:
        service.run("usermod", "--groups=", "bob")
