#!/usr/bin/python3
"""Holds `docs/architecture.md` to the sources: what its tables name as a file has to be one. With `--list` it shows how
many files and lines each way through the sources has."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Words in code type that are states, rules and members rather than files.
WORDS = {
    "connected", "disconnected", "reconnecting", "offline", "subscribe", "status", "time", "apply", "Stage",
    "Connection.observer", "OpenCall", "CommandName",
}


def main() -> int:
    text = (ROOT / "docs" / "architecture.md").read_text()
    section = text[text.index("## Read these ten files") : text.index("## What always holds")]
    files = list((ROOT / "Sources").rglob("*.swift"))
    lines = {path.stem: len(path.read_text().splitlines()) for path in files}
    paths = {str(path.with_suffix("")) for path in files} | {str(folder) for path in files for folder in path.parents}
    missing = []
    for way in re.split(r"\n(?=\*\*|## )", section):
        found = []
        for row in (row for row in way.splitlines() if row.startswith("|")):
            for name in re.findall(r"`([A-Za-z0-9+/.]+)`", row):
                name = name.removesuffix(".swift")
                stem = name.split("/")[-1]
                if any(path.endswith("/" + name) for path in paths):
                    found += [stem] if stem in lines else []
                elif name not in WORDS:
                    missing.append(name)
        if "--list" in sys.argv[1:] and found:
            title = way.splitlines()[0].strip("*# ").split("**")[0]
            print(f"{title:34}{len(set(found)):3} files {sum(lines[stem] for stem in set(found)):6} lines")
    for name in missing:
        print(f"docs/architecture.md names `{name}`, and there is no such file", file=sys.stderr)
    return 1 if missing else 0


sys.exit(main())
