"""docs/security.md against what it counts and names."""

import re

import hostile_load
from programs import ROOT
from test_hostile_upstreams import KEYS
from test_secrets import MARKERS

DOCUMENT = (ROOT / "docs/security.md").read_text()


def counted(words):
    """The number that the document says before these words."""
    return int(re.search(rf"(\d+) {words}", DOCUMENT)[1])


def test_what_is_counted_is_as_many():
    assert counted("attackers") == len(hostile_load.ATTACKERS)
    assert counted("faults of a server") == len(KEYS)
    assert counted("kinds of secret") == len(MARKERS)
    fuzz = ROOT / "Tests/Fuzz"
    assert counted("targets") == len([path for path in (fuzz / "corpus").iterdir() if path.is_dir()])
    assert counted("so far") == len([path for path in (fuzz / "findings").rglob("*") if path.is_file()])
    sandbox = (ROOT / "Tests/Service/test_sandbox.py").read_text()
    assert counted("options of the unit") == len(re.search(r'OPTIONS = \((.*?)\)\.split', sandbox, re.S)[1].replace('"', "").split())
    assert f"exposure of {re.search(r'^BOUND = (.*)$', sandbox, re.M)[1]} by" in DOCUMENT


def test_every_link_leads_somewhere():
    for path, anchor in re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", DOCUMENT):
        target = (ROOT / "docs" / path).resolve()
        assert target.is_file(), path
        headings = [re.sub(r"[^\w -]", "", line.lstrip("# ").lower()).replace(" ", "-")
                    for line in target.read_text().splitlines() if line.startswith("#")]
        assert not anchor or anchor in headings, f"{path}#{anchor}"


def test_what_is_named_exists():
    documents = (ROOT / "docs/configuration.md").read_text() + (ROOT / "docs/protocol.md").read_text()
    names = set(re.findall(r"`([a-z]+\.[a-z_]+)`", DOCUMENT)) - {"strict.conf"}
    assert "history.disk" in names
    for name in names:
        table, member = name.split(".")
        assert f"`{name}`" in documents or f"`[{table}]`" in documents and f"| `{member}` |" in documents, name
    units = "".join(path.read_text() for path in (ROOT / "systemd").glob("gatewayd.s*"))
    # What an administrator may add to the units.
    added = {"IPAddressDeny", "CPUQuota", "IOWeight", "MemoryMax", "LoadCredentialEncrypted", "PrivateUsers", "RootDirectory"}
    for option in set(re.findall(r"`([A-Z]\w+)=`", DOCUMENT)) - added:
        assert f"{option}=" in units, option


def test_each_option_of_the_sandbox_is_in_its_table():
    unit = (ROOT / "systemd/gatewayd.service").read_text()
    options = set(re.findall(r"^(\w+)=", unit.partition("\nUMask=")[2].partition("[Install]")[0], re.MULTILINE))
    table = DOCUMENT.partition("### The sandbox of the unit")[2].partition("\n## ")[0]
    # How a refusal of the filter looks is no confinement.
    assert options - {"SystemCallErrorNumber"} <= set(re.findall(r"`(\w+)=", table))
