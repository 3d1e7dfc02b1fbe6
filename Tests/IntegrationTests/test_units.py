"""The unit files: well-formed, and as locked down as they claim."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

from programs import ROOT

UNITS = ROOT / "systemd"
SYSTEM = ("gatewayd.service", "gatewayd.socket")
USER = ("user/gatewayd.service", "user/gatewayd.socket")


def copy(names, place):
    """The units with every program replaced by one that exists on any machine."""
    copies = []
    for name in names:
        text = (UNITS / name).read_text()
        text = re.sub(r"^(Exec\w+=[-@:+!]*)\S+", r"\1/bin/true", text, flags=re.MULTILINE)
        target = place / pathlib.Path(name).name
        target.write_text(text)
        copies.append(str(target))
    return copies


@pytest.mark.parametrize("names, mode", [(SYSTEM, []), (USER, ["--user"])])
def test_the_units_are_well_formed(names, mode, folder):
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(folder)}
    outcome = subprocess.run(["systemd-analyze", *mode, "--man=no", "--recursive-errors=no", "verify",
                              *copy(names, folder)], capture_output=True, text=True, env=environment)
    assert outcome.returncode == 0 and outcome.stderr == "", outcome


def test_the_service_is_locked_down(folder):
    (service,) = copy(SYSTEM[:1], folder)
    outcome = subprocess.run(["systemd-analyze", "--offline=true", "--threshold=15", "security", service],
                             capture_output=True, text=True)
    assert outcome.returncode == 0, outcome.stdout


def test_peer_credentials_stay_visible():
    assert "PrivateUsers=yes" not in (UNITS / "gatewayd.service").read_text()


def test_the_socket_is_not_open_to_everybody():
    text = (UNITS / "gatewayd.socket").read_text()
    assert "SocketMode=0660" in text and "SocketGroup=gateway" in text
    assert "SocketMode=0600" in (UNITS / "user" / "gatewayd.socket").read_text()


def test_the_service_and_its_socket_share_one_path():
    (path,) = re.findall(r"^ListenStream=(.*)$", (UNITS / "gatewayd.socket").read_text(), re.MULTILINE)
    assert path == "/run/gatewayd.sock"


def test_an_installation_into_a_folder_has_everything_and_can_be_undone(tmp_path):
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("gatewayd", "gatewayctl"):
        (programs / name).write_text(f"#!/bin/sh\necho {name} $*\n")
        (programs / name).chmod(0o755)
    make = ["make", "-s", "-C", str(ROOT), f"DESTDIR={tmp_path}/root", "PREFIX=/usr", f"BINARIES={programs}"]
    subprocess.run([*make, "install-files"], check=True, capture_output=True)
    root = tmp_path / "root"
    for path, mode in (
            ("usr/sbin/gatewayd", 0o755), ("usr/bin/gatewayctl", 0o755),
            ("usr/lib/systemd/system/gatewayd.service", 0o644), ("usr/lib/systemd/system/gatewayd.socket", 0o644),
            ("usr/lib/systemd/user/gatewayd.service", 0o644), ("usr/lib/systemd/user/gatewayd.socket", 0o644),
            ("usr/lib/sysusers.d/gatewayd.conf", 0o644),
            ("usr/lib/systemd/catalog/gatewayd.catalog", 0o644), ("usr/lib/tmpfiles.d/gatewayd.conf", 0o644),
            ("usr/share/man/man8/gatewayd.8", 0o644), ("usr/share/man/man1/gatewayctl.1", 0o644),
            ("usr/share/man/man1/gatewayctl-send.1", 0o644), ("usr/share/man/man1/gatewayctl-admin.1", 0o644),
            ("usr/share/man/man5/gatewayd.toml.5", 0o644), ("usr/share/man/man7/gatewayd-protocol.7", 0o644),
            ("usr/share/bash-completion/completions/gatewayctl", 0o644), ("etc/gatewayd/gatewayd.toml", 0o640)):
        assert (root / path).is_file(), path
        assert (root / path).stat().st_mode & 0o777 == mode, path
    completion = root / "usr/share/bash-completion/completions/gatewayctl"
    assert completion.read_text() == "gatewayctl completion bash\n"
    service = (root / "usr/lib/systemd/system/gatewayd.service").read_text()
    assert "ExecStart=/usr/sbin/gatewayd\n" in service
    (root / "etc/gatewayd/gatewayd.toml").write_text("# edited\n")
    subprocess.run([*make, "install-files"], check=True, capture_output=True)
    assert (root / "etc/gatewayd/gatewayd.toml").read_text() == "# edited\n"
    subprocess.run([*make, "uninstall"], check=True, capture_output=True)
    left = [str(one.relative_to(root)) for one in root.rglob("*") if one.is_file()]
    assert left == ["etc/gatewayd/gatewayd.toml"]


def test_accounts_are_declared_as_systemd_wants_them(folder):
    text = (ROOT / "packaging" / "sysusers.conf").read_text()
    outcome = subprocess.run(["systemd-sysusers", "--dry-run", f"--root={folder}", "-"], input=text,
                             capture_output=True, text=True)
    assert "Failed" not in outcome.stderr, outcome.stderr


# Short fields that every record of a kind has, by what makes it (FactLog, Daemon, DaemonState). Not here are those that
# may be missing (an upstream's name, a client's, a reason), and those that may be long: journalctl shows neither.
CONNECTION = {"connection"}
CLIENT = {"client", "uid", "pid"}
SURE_FIELDS = {
    "started": {"version", "path"}, "stopping": {"reason"}, "sendsKept": {"sends"},
    "connectionUp": CONNECTION, "connectionDown": CONNECTION | {"from", "attempt"}, "connectionAttempt": CONNECTION,
    "connectionReleased": CONNECTION, "sendFailed": CONNECTION | {"command", "uid"}, "interestRefused": CONNECTION,
    "clientAttached": CLIENT, "clientDetached": CLIENT, "clientDropped": CLIENT | {"reason"},
    "quotaExceeded": {"uid", "quota"}, "restartNeeded": {"restart"},
    "outboxUnavailable": {"reason"}, "outboxRepaired": {"saved"}, "outboxFailing": {"reason"},
    "outboxUntidy": {"reason"}, "historyFailing": {"reason"},
    "clientsHandedOver": {"clients"}, "clientsTakenOver": {"clients"},
    "fleetLeaveOrdered": CLIENT, "fleetLeaveFailed": CLIENT,
}


def test_the_catalog_explains_every_kind_of_record():
    """What `journalctl -x` shows: as many entries as there are identifiers, each with facts that its records have."""
    sources = ROOT / "Sources/gatewayd/System"
    kinds = {identifier: kind for kind, identifier in
             re.findall(r'case \.(\w+): "([0-9a-f]{32})"', (sources / "LogKind.swift").read_text())}
    assert kinds and SURE_FIELDS.keys() <= set(kinds.values())
    journal_names = dict(
        re.findall(r'case \.(\w+): "(GATEWAY_\w+)"', (sources / "LogRecord.swift").read_text()))
    entries = re.split(r"^-- ", (ROOT / "systemd/gatewayd.catalog").read_text(), flags=re.MULTILINE)[1:]
    assert sorted(entry[:32] for entry in entries) == sorted(kinds)
    for entry in entries:
        head, text = entry.split("\n\n", 1)
        assert [line.split(":")[0] for line in head.splitlines()[1:]] == ["Subject", "Defined-By", "Documentation"]
        assert text.rstrip().endswith((".", "where."))
        sure = {journal_names.get(name, f"GATEWAY_{name.upper()}") for name in SURE_FIELDS.get(kinds[entry[:32]], ())}
        assert set(re.findall(r"@(\w+)@", entry)) <= sure, head


@pytest.mark.skipif(not shutil.which("journalctl"), reason="there is no journalctl")
def test_journalctl_reads_the_catalog(tmp_path):
    folder = tmp_path / "usr/lib/systemd/catalog"
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "systemd/gatewayd.catalog", folder)
    subprocess.run(["journalctl", f"--root={tmp_path}", "--update-catalog"], check=True)
    listed = subprocess.run(
        ["journalctl", f"--root={tmp_path}", "--list-catalog"], check=True, capture_output=True, text=True).stdout
    assert len(listed.splitlines()) == (ROOT / "systemd/gatewayd.catalog").read_text().count("\n-- ")
    assert all(": " in line and " gatewayd: " in line for line in listed.splitlines())
