"""The packages: what they hold, what they do to a system, and what they leave."""

import os
import re
import subprocess
import time

from conftest import FOLDER, chat_in, install
from machine import FACTOR, ROOT

UNITS = ("gatewayd.service", "gatewayd.socket")


def contents(deb):
    return subprocess.run(["dpkg-deb", "-c", str(deb)], check=True, capture_output=True, text=True).stdout


def test_the_first_request_is_answered_within_a_minute(machine, packages, record_property):
    with chat_in(machine) as chat:
        began = time.monotonic()
        install(machine, packages.inside())
        assert machine.run("gatewayctl", "request", chat.url, "echo", "hi").out == '"hi"'
        seconds = time.monotonic() - began
    record_property("from apt install until a server has answered", f"{seconds:.1f} s")
    assert seconds < 60 * FACTOR


def test_after_the_installation_the_daemon_answers_and_nothing_has_to_be_configured(machine, packages):
    install(machine, packages.inside())
    for unit in UNITS:
        assert (machine.enabled(unit), machine.active(unit)) == ("enabled", "active"), unit
    machine.run("useradd", "--create-home", "--groups=gateway", "alice")
    with chat_in(machine) as chat:
        assert machine.run("gatewayctl", "request", chat.url, "echo", "hi", user="alice").out == '"hi"'
    assert machine.sh("cat /var/lib/dpkg/info/gateway*.conffiles", check=False) == ""
    assert machine.sh("stat -c '%a %U:%G' /etc/gatewayd /etc/gatewayd/credentials /var/lib/gatewayd").splitlines() == [
        "750 root:gatewayd", "750 root:gatewayd", "700 gatewayd:gatewayd"]
    assert machine.sh("systemctl --failed --no-legend") == ""


def test_the_packages_have_the_version_of_the_programs(machine, packages):
    machine.run("dpkg", "--install", *(deb for deb in packages.inside() if "gatewayctl" in deb))
    assert machine.run("gatewayctl", "--version").out.split()[-1] == packages.version.split("-")[0]


def test_no_user_gets_a_daemon_unasked(machine, packages):
    install(machine, packages.inside())
    for unit in UNITS:
        assert machine.run("systemctl", "--global", "is-enabled", unit, check=False).out == "disabled", unit


def test_the_packages_own_tests_pass(machine, packages):
    install(machine, packages.inside())
    machine.run("/tests/debian/service")


def test_the_command_line_is_installed_without_the_daemon(machine, packages):
    machine.run("dpkg", "--install", *(deb for deb in packages.inside() if "gatewayctl" in deb))
    assert machine.run("gatewayctl", "--timeout", "1s", "ping", check=False).code == 69
    assert "-F" in machine.sh("bash -c '. /usr/share/bash-completion/completions/gatewayctl; complete -p gatewayctl'")
    assert "#compdef" in machine.run("cat", "/usr/share/zsh/vendor-completions/_gatewayctl").out
    assert "complete" in machine.run("cat", "/usr/share/fish/vendor_completions.d/gatewayctl.fish").out


def test_removing_keeps_state_and_configuration(machine, packages):
    install(machine, packages.inside())
    machine.write("/etc/gatewayd/gatewayd.toml", '[upstream.later]\nurl = "http://127.0.0.1:9"\n')
    machine.run("systemctl", "reload", "gatewayd")
    machine.run("gatewayctl", "send", "later", "say", "kept", "--delivery", "durable")
    machine.run("apt-get", "remove", "--yes", "gatewayd", "gatewayctl")
    assert machine.sh("pgrep gatewayd; ls /run/gatewayd.sock /run/gatewayd 2>/dev/null", check=False) == ""
    for unit in UNITS:
        assert machine.show(unit, "LoadState", "ActiveState") == ["not-found", "inactive"], unit
    install(machine, packages.inside())
    (kept,) = machine.run("gatewayctl", "outbox", "list").out.splitlines()
    assert '"state":"queued"' in kept
    machine.subscribe("later")


def test_purging_leaves_the_accounts_and_foreign_files(machine, packages):
    install(machine, packages.inside())
    for name in ("gatewayd.toml", "gatewayd.d/own.toml", "credentials/token"):
        machine.write(f"/etc/gatewayd/{name}", "")
    machine.run("apt-get", "purge", "--yes", "gatewayd", "gatewayctl")
    assert machine.sh("find / -xdev -name '*gatewayd*' -not -path '/tests/*' -not -path '/proc/*' -not -path '/sys/*' "
                      "-not -path '/var/log/*'") == ""
    assert machine.sh("getent passwd gatewayd | cut -d: -f1; getent group gateway | cut -d: -f1") == "gatewayd\ngateway"
    install(machine, packages.inside())
    machine.write("/etc/gatewayd/notes", "mine")
    machine.run("apt-get", "purge", "--yes", "gatewayd")
    assert machine.sh("find /etc/gatewayd") == "/etc/gatewayd\n/etc/gatewayd/notes"


def test_an_installation_by_make_works_and_can_be_undone(machine, packages, tmp_path):
    programs = tmp_path / "programs"
    programs.mkdir()
    for deb in packages.debs:
        subprocess.run(["dpkg-deb", "-x", deb, tmp_path], check=True)
    for program in (tmp_path / "usr/bin/gatewayctl", tmp_path / "usr/sbin/gatewayd"):
        program.rename(programs / program.name)
    make = ["make", "-s", "-C", ROOT, f"DESTDIR={machine.path('/')}", "PREFIX=/usr/local", f"BINARIES={programs}"]
    subprocess.run([*make, "install-files"], check=True, capture_output=True)
    machine.run("systemd-sysusers", "/usr/local/lib/sysusers.d/gatewayd.conf")
    machine.run("systemd-tmpfiles", "--create", "/usr/local/lib/tmpfiles.d/gatewayd.conf")
    machine.run("systemctl", "daemon-reload")
    machine.run("systemctl", "enable", "--now", *UNITS)
    assert "rtt" in machine.run("gatewayctl", "ping").out
    machine.run("systemctl", "reload", "gatewayd.service")
    machine.run("systemctl", "disable", "--now", *UNITS)
    subprocess.run([*make, "uninstall"], check=True, capture_output=True)
    assert machine.sh("find /usr/local -type f") == ""


def test_packages_are_made_of_programs_in_a_folder_that_is_named_by_a_relative_path(packages, tmp_path):
    tree = tmp_path / "tree"
    tree.mkdir()
    copied = subprocess.run(["tar", "--create", "--exclude=./.git", "--exclude=./.build", "--exclude=./build", "."],
                            cwd=ROOT, check=True, capture_output=True)
    subprocess.run(["tar", "--extract", "-C", tree], input=copied.stdout, check=True)
    (tree / "build").mkdir()
    (tree / "build/packaging-tools.stamp").touch()
    # Beside the tree: one in it would be copied with the sources, and be found there.
    programs = tmp_path / "programs"
    programs.mkdir()
    for deb in packages.debs:
        subprocess.run(["dpkg-deb", "-x", deb, tmp_path], check=True)
    for program in (tmp_path / "usr/bin/gatewayctl", tmp_path / "usr/sbin/gatewayd"):
        program.rename(programs / program.name)
    # Packed quickly: what compression there is does not matter here.
    subprocess.run(["make", "-s", "-C", tree, "deb", "BINARIES=../programs"], check=True, capture_output=True,
                   env=os.environ | {"DPKG_DEB_COMPRESSOR_TYPE": "gzip", "DPKG_DEB_COMPRESSOR_LEVEL": "1"})
    assert {deb.name for deb in packages.debs} <= {deb.name for deb in (tree / "build/deb").glob("*.deb")}


def test_the_programs_are_stripped_and_their_symbols_are_packages_of_their_own(packages, tmp_path):
    for deb, program in zip(packages.debs, ("usr/bin/gatewayctl", "usr/sbin/gatewayd")):
        subprocess.run(["dpkg-deb", "-x", deb, tmp_path], check=True)
        told = subprocess.run(["readelf", "--wide", "--sections", "--notes", tmp_path / program], check=True,
                              capture_output=True, text=True).stdout
        assert ".debug_info" not in told and ".symtab" not in told
        build = re.search(r"Build ID: (\w\w)(\w+)", told)
        symbols = f"usr/lib/debug/.build-id/{build[1]}/{build[2]}.debug"
        assert symbols in contents(deb.with_name(deb.name.replace("_", "-dbgsym_", 1)))


def test_units_are_where_the_tools_of_debian_look(packages):
    listed = contents(packages.debs[1])
    for unit in UNITS:
        assert f" ./lib/systemd/system/{unit}\n" in listed and f" ./usr/lib/systemd/user/{unit}\n" in listed
    assert "/etc/" not in listed


def test_no_link_of_an_installed_document_leads_nowhere(packages, tmp_path):
    subprocess.run(["dpkg-deb", "-x", packages.debs[1], tmp_path], check=True)
    documents = sorted((tmp_path / "usr/share/doc/gatewayd").rglob("*.md"))
    links = [(document, link) for document in documents
             for link in re.findall(r"\]\(([^)#\s:]+)(?:#[^)]*)?\)", document.read_text())]
    assert len(links) > 100
    assert [(str(document), link) for document, link in links if not (document.parent / link).exists()] == []


def test_lintian_finds_no_errors(record_property):
    said = (FOLDER / "lintian.log").read_text().splitlines()
    assert not [line for line in said if line.startswith("E:")], said
    record_property("lintian", "; ".join(line for line in said if line[:2] in ("W:", "I:")) or "nothing")
