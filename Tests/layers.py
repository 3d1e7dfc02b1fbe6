#!/usr/bin/env python3
"""Holds the layers of the core: layers.py [--list]

The folders of Sources/GatewayCore stand in one order. What a file names has to stand in the same layer or below, a kind of
upstream names no other kind, and nothing is imported: the core is the standard library and itself. Decision 0100. `--list` shows how
large each layer is and how often it uses which other.
"""

import argparse
import collections
import pathlib
import re
import sys

CORE = pathlib.Path(__file__).resolve().parent.parent / "Sources/GatewayCore"

# Lowest first.
LAYERS = {
    "Base": "time, timers, tables, patterns, limits with shares",
    "JSON": "text of JSON: scanned, written, checked as it comes",
    "Payloads": "how arguments and binary values are written on both sides",
    "Msgpack": "MessagePack, and how it becomes JSON",
    "Upstream": "what everybody says about a server: URLs, failures, settings, and the seams to the world",
    "Configuration": "settings: their schema, and how files are read",
    "LocalProtocol": "lines, calls, replies, notifications and errors of the local socket",
    "Output": "what is written to a local client",
    "Events": "the stream of one connection's events: who gets them, what is kept, what time it was",
    "Connection": "the life of a connection: states, commands, keeper, outbox",
    "Link": "what every link to a server needs: its place, credentials, frames, liveness, words for a trace",
    "Kinds": "one folder for each kind of upstream",
    "Doctor": "examines a server step by step",
    "Gateway": "the one door: sessions of local clients, methods, status, rights",
}
ORDER = {name: place for place, name in enumerate(LAYERS)}
# Those whose folders do not know each other.
SEPARATE = {"Kinds"}

COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|#*"""(?:\\.|.)*?"""#*|#"[^\n]*?"#|"(?:\\.|[^"\\\n])*"', re.S)
DECLARATION = re.compile(
    r"^(?P<indent> *)(?:@\w+(?:\([^)]*\))?\s+)*"
    r"(?:(?:public|package|internal|private|fileprivate|final|indirect|nonisolated)\s+)*"
    r"(?:struct|class|enum|protocol|actor|typealias)\s+(?P<name>[A-Z]\w*)",
    re.M,
)
NAME = re.compile(r"(?<![\w.])[A-Z]\w*")
IMPORT = re.compile(r"^\s*(?:@\w+\s+)*(?:(?:public|package|internal|private|fileprivate)\s+)?import\s+(\S+)", re.M)


class Source:
    """A file of the core: where it stands, what it declares and what it names."""

    def __init__(self, path):
        self.path = path.relative_to(CORE)
        self.layer = self.path.parts[0] if len(self.path.parts) > 1 else ""
        self.part = self.path.parts[1] if self.layer in SEPARATE and len(self.path.parts) > 2 else ""
        code = COMMENT_OR_TEXT.sub('""', path.read_text())
        found = [(match["name"], len(match["indent"])) for match in DECLARATION.finditer(code)]
        self.declared = {name for name, indent in found if indent == 0}
        # What is declared within a type is meant by its short name in that file.
        self.named = set(NAME.findall(code)) - self.declared - {name for name, indent in found if indent}
        self.imports = IMPORT.findall(code)


def homes(sources):
    """The file in which each type of the core is declared."""
    return {name: source for source in sources for name in source.declared}


def mistakes(sources):
    """What is wrong, a sentence each."""
    home = homes(sources)
    for source in sources:
        if source.layer not in ORDER:
            yield f"{source.path}: stands in no layer; the layers are {', '.join(LAYERS)}"
        for module in source.imports:
            yield f"{source.path}: imports {module}; the core imports nothing"
    for source in sources:
        for name in sorted(source.named):
            other = home.get(name)
            if other is None or source.layer not in ORDER or other.layer not in ORDER:
                continue
            if ORDER[other.layer] > ORDER[source.layer]:
                yield f"{source.path}: names {name} of {other.path}, and {other.layer} stands above {source.layer}"
            elif other.layer == source.layer and other.part and other.part != source.part:
                yield f"{source.path}: names {name} of {other.path}; {source.layer}/{source.part or '…'} knows no other of {source.layer}"


def listing(sources):
    """The layers, highest first, with what each uses of the others."""
    home = homes(sources)
    uses = collections.defaultdict(collections.Counter)
    for source in sources:
        for name in source.named:
            if home.get(name, source).layer != source.layer:
                uses[source.layer][home[name].layer] += 1
    for name in reversed(LAYERS):
        files = [source for source in sources if source.layer == name]
        lines = sum((CORE / source.path).read_text().count("\n") for source in files)
        print(f"{name:14} {len(files):4} files {lines:6} lines   {', '.join(f'{used} {count}' for used, count in uses[name].most_common())}")


def main():
    parser = argparse.ArgumentParser(description="Holds the layers of the core.")
    parser.add_argument("--list", action="store_true", help="show the layers, and what each uses of the others")
    options = parser.parse_args()
    sources = [Source(path) for path in sorted(CORE.rglob("*.swift"))]
    if options.list:
        listing(sources)
    found = list(mistakes(sources))
    for mistake in found:
        print(mistake, file=sys.stderr)
    if found:
        print(f"{len(found)} times a layer is used from below", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
