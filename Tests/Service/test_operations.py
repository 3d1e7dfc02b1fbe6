"""docs/operations.md, command by command."""

import re

from conftest import chat_in
from machine import ROOT


def test_every_command_of_the_document_works(machine, packages):
    text = (ROOT / "docs" / "operations.md").read_text()
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) > 8
    machine.run("useradd", "--create-home", "alice")
    machine.write("/usr/local/bin/sudo", '#!/bin/sh\nexec "$@"\n', mode=0o755)
    with chat_in(machine) as chat:
        for block in blocks:
            block = block.replace("https://chat.example", chat.url).replace("apt install", "apt install --yes")
            for deb in packages.inside():
                block = block.replace("./" + deb.split("/")[-1].replace(packages.version, "1.0.0"), deb)
            machine.run("sh", "-exc", "cd /root\n" + block, env={"DEBIAN_FRONTEND": "noninteractive"})
    assert machine.sh("ls /usr/sbin/gatewayd /var/lib/gatewayd /etc/gatewayd 2>/dev/null", check=False) == ""
