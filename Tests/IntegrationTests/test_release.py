"""A release has one version and one day, wherever they are written."""

import email.utils
import json
import re
import subprocess

from programs import GATEWAYCTL, GATEWAYD, ROOT

CHANGELOG = (ROOT / "CHANGELOG.md").read_text()
HEADINGS = re.findall(r"^## (.+)$", CHANGELOG, re.MULTILINE)
RELEASE, DAY = re.fullmatch(r"(\d+\.\d+\.\d+) \((\d{4}-\d\d-\d\d)\)", HEADINGS[1]).groups()
PACKAGES = (ROOT / "debian" / "changelog").read_text()


def found(path, pattern):
    """What the pattern's group is in a file, each value once."""
    return set(re.findall(pattern, (ROOT / path).read_text(), re.MULTILINE))


def test_the_changelog_begins_with_what_is_not_released():
    assert HEADINGS[0] == "Unreleased"


def test_the_programs_say_the_version_of_the_newest_release():
    for program in (GATEWAYD, GATEWAYCTL):
        told = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
        assert told == f"{program.name} {RELEASE}\n"


def test_the_packages_have_its_version_and_day():
    assert re.match(r"gatewayd \((\S+?)(?:-\d+)?\)", PACKAGES)[1] == RELEASE
    day = re.search(r"^ -- .*>  (.*)$", PACKAGES, re.MULTILINE)[1]
    assert email.utils.parsedate_to_datetime(day).date().isoformat() == DAY


def test_libraries_and_documents_name_its_version():
    assert json.loads((ROOT / "clients" / "node" / "package.json").read_text())["version"] == RELEASE
    for path, pattern in (("clients/python/pyproject.toml", r'^version = "(.*)"'),
                          ("clients/python/src/gatewayd/__init__.py", r'^__version__ = "(.*)"'),
                          ("docs/man/gatewayctl.1", r"^\.Os gatewayd (.*)"),
                          ("docs/man/gatewayctl-send.1", r"^\.Os gatewayd (.*)"),
                          ("docs/man/gatewayd-protocol.7", r'^\.TH .* "gatewayd (.*?)"'),
                          ("README.md", r"gatewayd_(.*?)_amd64\.deb"),
                          ("docs/operations.md", r"gatewayd_(.*?)_amd64\.deb")):
        assert found(path, pattern) == {RELEASE}, path


def test_what_it_leaves_on_the_disk_is_kept():
    assert (ROOT / "Tests" / "Versions" / RELEASE).is_dir()
