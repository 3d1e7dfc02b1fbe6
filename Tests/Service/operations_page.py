"""docs/operations.md as an administrator types it."""

import re

from machine import ROOT

TEXT = (ROOT / "docs" / "operations.md").read_text()


def blocks(heading=None):
    """The commands of the page, or of the section with this heading, block by block."""
    text = TEXT if heading is None else TEXT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def prepare(machine):
    """A user that the page names, and a root that needs no `sudo`."""
    machine.run("useradd", "--create-home", "alice")
    machine.write("/usr/local/bin/sudo", '#!/bin/sh\nexec "$@"\n', mode=0o755)


def perform(machine, block, packages, url="https://chat.example"):
    """Types a block in root's home; URL is the server, and each package the one under test."""
    block = block.replace("https://chat.example", url).replace("apt install", "apt install --yes")
    for deb in packages.inside():
        block = re.sub(rf"\./{deb.split('/')[-1].split('_')[0]}_[\d.]+_amd64\.deb", deb, block)
    machine.run("sh", "-exc", "cd /root\n" + block, env={"DEBIAN_FRONTEND": "noninteractive"})
