"""docs/operations.md, command by command; and what a backup and a move are for."""

import contextlib
import json

import operations_page
from conftest import chat_in, install
from line_client import SOCKET

STATE = "/var/lib/gatewayd"
ARCHIVE = "/var/backups/gatewayd.tar.gz"


def test_every_command_of_the_document_works(machine, packages):
    operations_page.prepare(machine)
    blocks = operations_page.blocks()
    assert len(blocks) > 8
    with chat_in(machine) as chat:
        for block in blocks:
            operations_page.perform(machine, block, packages, chat.url)
    assert machine.sh("ls /usr/sbin/gatewayd /var/lib/gatewayd /etc/gatewayd 2>/dev/null", check=False) == ""


@contextlib.contextmanager
def visited(machine):
    """Programs connect all the time meanwhile."""
    with machine.start("python3", "/tests/inside/visitors.py", SOCKET, 0) as visitors:
        assert visitors.stdout.readline() == "ready\n"
        yield
        assert json.loads(visitors.communicate()[0])["outcomes"]["answered"]


def leave_sends(machine, packages):
    """Installs the packages and leaves three durable sends for a server that is away; its port."""
    operations_page.prepare(machine)
    install(machine, packages.inside())
    with chat_in(machine) as chat:
        port = chat.port
    machine.write("/etc/gatewayd/gatewayd.toml", f'[upstream.chat]\nurl = "http://127.0.0.1:{port}"\n')
    machine.run("systemctl", "reload", "gatewayd.service")
    for number in range(3):
        machine.run("gatewayctl", "send", "chat", "say", number, "--delivery", "durable")
    return port


def arrives_once(machine, chat):
    assert chat.received("say", 3) == [[0], [1], [2]]
    # What comes behind them on the same link shows that nothing more was before it.
    assert machine.run("gatewayctl", "request", "chat", "echo", "1").out == "1"
    assert machine.run("gatewayctl", "outbox", "list", "--state", "queued").out == ""
    assert len(chat.received("say", 3)) == 3


def test_durable_sends_of_a_backup_arrive_once_after_a_purge_and_a_restore(machine, packages):
    port = leave_sends(machine, packages)
    backup, restore = operations_page.blocks("Back up")
    with visited(machine):
        operations_page.perform(machine, backup, packages)
    # Only a daemon that runs, or was killed, has a log beside the outbox.
    copied = machine.run("tar", "-tf", ARCHIVE).out.splitlines()
    assert "var/lib/gatewayd/outbox.sqlite" in copied and "var/lib/gatewayd/outbox.sqlite-wal" not in copied
    assert machine.run("gatewayctl", "outbox", "list", "--state", "queued").out.count("\n") == 2
    machine.run("apt-get", "purge", "--yes", "gatewayd", "gatewayctl")
    assert not machine.path(STATE).exists()
    install(machine, packages.inside())
    # The log of a daemon that was killed, which must not be mixed with the outbox of the copy.
    machine.override("gatewayd.service", "[Service]\nRestart=no\n")
    machine.run("gatewayctl", "send", "http://127.0.0.1:9", "say", "not in the copy", "--delivery", "durable")
    machine.sh("systemctl kill --signal=KILL gatewayd.service; until systemctl is-failed gatewayd.service; do sleep 0.02; done")
    assert machine.path(f"{STATE}/outbox.sqlite-wal").exists()
    operations_page.perform(machine, restore, packages)
    with chat_in(machine, port) as chat:
        machine.run("gatewayctl", "outbox", "retry", "--upstream", "chat")
        arrives_once(machine, chat)


def test_durable_sends_arrive_once_from_the_host_to_which_the_service_moved(boot_machine, packages):
    leave, arrive = operations_page.blocks("Move to another host")
    with boot_machine() as old, boot_machine() as new:
        port = leave_sends(old, packages)
        with visited(old):
            operations_page.perform(old, leave, packages)
        assert old.active("gatewayd.socket") == old.active("gatewayd.service") == "inactive"
        copied = old.run("tar", "-tf", "/root/gatewayd.tar.gz").out
        assert "outbox.sqlite-wal" not in copied
        operations_page.prepare(new)
        install(new, packages.inside())
        new.path("/root/gatewayd.tar.gz").write_bytes(old.path("/root/gatewayd.tar.gz").read_bytes())
        with chat_in(new, port) as chat:
            operations_page.perform(new, arrive, packages)
            arrives_once(new, chat)
