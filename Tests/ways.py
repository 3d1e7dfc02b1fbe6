#!/usr/bin/python3
"""Holds `docs/architecture.md` to the sources: what its tables name as a file has to be one, and what it says of how many
files and lines a way through the sources has is right to a tenth, and so is what `docs/upstreams.md` says of the lines in
a folder. `--write` counts them anew, `--list` shows them."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "architecture.md"
UPSTREAMS = ROOT / "docs" / "upstreams.md"
CORE = ROOT / "Sources" / "GatewayCore"
# How many lines a folder of the core has, without its own folders.
FOLDER = re.compile(r"([\d,]+) in `((?:Kinds|Link)/[\w/]*)`")
# What a way says of itself, on a line of its own.
SIZE = re.compile(r"^([\d,]+) files, ([\d,]+) lines$", re.M)
# How far it may be from the truth, so that not every change has to touch it.
TOLERANCE = 0.1
# Words in code type that are states, rules and members rather than files.
WORDS = {
    "connected", "disconnected", "reconnecting", "offline", "subscribe", "status", "time", "apply", "Durability", "Stage",
    "Connection.observer", "OpenCall", "CommandName", "GapReason", "LogField", "redirects", "keyHours", "takeSignals",
    "clients/", "Tests/Versions", "ChannelFacts", "ConnectionCounters.add", "Gateway.tick", "ReconnectSettings",
    "Subscription.options", "hello", "you", "drop", "refusal", "kicked", "reconnect", "nameRange", "place", "RemoteError",
    "error", "tcp", "tls",
}


def size(files: int, lines: int) -> str:
    return f"{files} files, {lines:,} lines"


def is_stale(said: re.Match, files: int, lines: int) -> bool:
    counts = zip((int(text.replace(",", "")) for text in said.groups()), (files, lines))
    return any(abs(count - truth) > TOLERANCE * truth for count, truth in counts)


def folders() -> list[str]:
    """What is wrong with the lines of folders that docs/upstreams.md tells."""
    text = UPSTREAMS.read_text()

    def lines(folder: str) -> int:
        return sum(len(path.read_text().splitlines()) for path in (CORE / folder).glob("*.swift"))

    if "--write" in sys.argv[1:]:
        UPSTREAMS.write_text(FOLDER.sub(lambda match: f"{lines(match[2]):,} in `{match[2]}`", text))
        return []
    return [
        f"says {said[0]}, and there are {lines(said[2]):,}: Tests/ways.py --write" for said in FOLDER.finditer(text)
        if abs(int(said[1].replace(",", "")) - lines(said[2])) > TOLERANCE * lines(said[2])
    ]


def main() -> int:
    text = DOCUMENT.read_text()
    begin, end = text.index("## Read these ten files"), text.index("## What always holds")
    files = list((ROOT / "Sources").rglob("*.swift"))
    lines = {path.stem: len(path.read_text().splitlines()) for path in files}
    paths = {str(path.with_suffix("")) for path in files} | {str(folder) for path in files for folder in path.parents}
    mistakes, ways = [], []
    for way in re.split(r"\n(?=\*\*|## )", text[begin:end]):
        found = set()
        for row in (row for row in way.splitlines() if row.startswith("|")):
            for name in re.findall(r"`([A-Za-z0-9+/.]+)`", row):
                name = name.removesuffix(".swift")
                stem = name.split("/")[-1]
                if any(path.endswith("/" + name) for path in paths):
                    found |= {stem} & lines.keys()
                elif name not in WORDS:
                    mistakes.append(f"names `{name}`, and there is no such file")
        title = way.splitlines()[0].strip("*# ").split("**")[0]
        total = sum(lines[stem] for stem in found)
        if "--list" in sys.argv[1:] and found:
            print(f"{title:34}{len(found):3} files {total:6} lines")
        said = SIZE.search(way)
        if said and "--write" in sys.argv[1:]:
            way = SIZE.sub(size(len(found), total), way)
        elif said and is_stale(said, len(found), total):
            mistakes.append(
                f"says {said[0]} of \u201c{title}\u201d, and there are {size(len(found), total)}: Tests/ways.py --write")
        elif not said and way.startswith("**") and title != "Others":
            mistakes.append(f"lacks how much there is to read of \u201c{title}\u201d: a line \u201c0 files, 0 lines\u201d, then --write")
        ways.append(way)
    if "--write" in sys.argv[1:]:
        DOCUMENT.write_text(text[:begin] + "\n".join(ways) + text[end:])
    for mistake in mistakes:
        print(f"docs/architecture.md {mistake}", file=sys.stderr)
    stale = folders()
    for mistake in stale:
        print(f"docs/upstreams.md {mistake}", file=sys.stderr)
    return 1 if mistakes or stale else 0


sys.exit(main())
