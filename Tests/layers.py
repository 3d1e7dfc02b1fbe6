#!/usr/bin/env python3
"""Holds the layers of the core, of the daemon, of the command line and of the Swift client: layers.py [--list]

The folders of Sources/GatewayCore stand in one order, and so do those of Sources/gatewayd, gatewayctl and GatewayClient.
What a file names has to stand in the same layer or below: types, and what extensions of types add; a kind of upstream names
no other kind. Within a layer, of two folders only one names the other, but for those in KNOWN_TO_EACH_OTHER. Nothing is
imported but what TREES allows: the core is the standard library and itself: decision 0100.
`--list` shows how large each layer is and how often it uses which other.
"""

import argparse
import collections
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
SOURCES = TOP / "Sources"

# Lowest first.
CORE = {
    "Base": "time, timers, tables, patterns, limits with shares",
    "JSON": "text of JSON: scanned, written, checked as it comes",
    "Payloads": "how arguments and binary values are written on both sides",
    "Msgpack": "MessagePack, and how it becomes JSON",
    "RESP": "what Redis servers answer, and what is said to them",
    "Upstream": "what everybody says about a server: URLs, failures, settings, and the seams to the world",
    "Configuration": "settings: their schema, and how files are read",
    "LocalProtocol": "lines, calls, replies, notifications and errors of the local socket",
    "Output": "what is written to a local client",
    "Events": "the stream of one connection's events: who gets them, what is kept, what time it was",
    "Connection": "the life of a connection: states, commands, keeper, outbox",
    "Link": "what every link to a server needs: its place, credentials, frames, liveness, words for a trace",
    "Kinds": "one folder for each kind of upstream",
    "Fleet": "hosts that share one link: who holds it, and how the others use it",
    "Doctor": "examines a server step by step",
    "Gateway": "the one door: sessions of local clients, methods, status, rights",
}
DAEMON = {
    "Loop": "epoll, timers, threads beside the loop, errors of the system",
    "Credentials": "secrets from files and commands",
    "Cryptography": "the libraries for keys and passwords",
    "Network": "whether the machine has a network, and has slept",
    "System": "the log, the service manager and what it passes, sockets as files, why a start fails",
    "Upstream": "the servers' sockets: TLS, WebSockets, lines, Redis, HTTP, compression",
    "State": "the outbox's database, the files of histories, the folder of both",
    "Configuration": "the files of settings, TOML, the machine's users",
    "Local": "the clients' sockets: accepted, read, written, left to the next daemon",
    "Metrics": "the port that metrics are read from",
    "": "the program",
}
CONTROL = {
    "Base": "what ends the program, clocks, durations, the environment, JSON as raw text",
    "Views": "what is shown: streams, colours, tables, the daemon's answers for a person",
    "Arguments": "the words of the command line: commands and options as data, settings, payloads",
    "Client": "the daemon: its socket, calls, errors in words, subscriptions that resume",
    "Exec": "commands that are run for events, signals, the loop of a subscription",
    "Commands": "one file for each command: what it takes, its help, what it does",
    "": "the program",
}
CLIENT = {
    "JSON": "values of JSON, their text, and the language's own coders",
    "Messages": "what goes over the socket as values: targets, arguments, events, sends, errors",
    "Machine": "decides: when to connect, which call is written when, what is made again; no input or output",
    "Socket": "does: the socket, the thread that waits for it, the tasks that wait",
    "": "what programs use",
}
# Folders of one layer of the core that name each other: an owner and its parts, which answer to it.
KNOWN_TO_EACH_OTHER = {
    ("Connection", "Connection/Commands"),
    ("Connection", "Connection/Enters"),
    ("Events", "Events/History"),
    ("Gateway", "Gateway/Methods"),
    ("Upstream", "Upstream/HTTP"),
    ("Upstream", "Upstream/Settings"),
}


class Tree:
    """A target whose folders are layers."""

    def __init__(self, name, layers, imports=(), separate=(), sources=SOURCES, pure=(), knots=frozenset()):
        self.root = sources / name
        self.layers = layers
        self.order = {layer: place for place, layer in enumerate(layers)}
        self.imports = imports
        # Layers whose folders do not know each other.
        self.separate = separate
        # Layers that import nothing at all.
        self.pure = pure
        # Pairs of folders in one layer that may name each other.
        self.knots = knots

    def sources(self):
        return [Source(self, path) for path in sorted(self.root.rglob("*.swift"))]


TREES = [
    Tree("GatewayCore", CORE, separate=("Kinds",), knots=KNOWN_TO_EACH_OTHER),
    Tree("gatewayd", DAEMON, imports=(
        "GatewayCore", "Glibc", "CArgon2", "CCrypto", "CCurl", "CCurlMulti", "CCurlURL", "CLinux", "CNetlink", "CSQLite",
        "CStringprep", "CSystemdBus", "CSystemdDaemon", "CSystemdEvent", "CSystemdJournal", "CToml", "CZlib")),
    Tree("gatewayctl", CONTROL, imports=("GatewayCore", "Glibc", "CLinux")),
    Tree("GatewayClient", CLIENT, imports=("Glibc", "Synchronization"), sources=TOP / "clients" / "swift" / "Sources",
         pure=("JSON", "Messages", "Machine")),
]

COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|#*"""(?:\\.|.)*?"""#*|#"[^\n]*?"#|"(?:\\.|[^"\\\n])*"', re.S)
DECLARATION = re.compile(
    r"^(?P<indent> *)(?:@\w+(?:\([^)]*\))?\s+)*"
    r"(?:(?:public|package|internal|private|fileprivate|final|indirect|nonisolated)\s+)*"
    r"(?:struct|class|enum|protocol|actor|typealias)\s+(?P<name>[A-Z]\w*)",
    re.M,
)
# Not what stands behind the dot of a member; behind the three of a range it is a name.
NAME = re.compile(r"(?:(?<![\w.])|(?<=\.\.\.))[A-Z]\w*")
# What a text has between "\\(" and ")", one pair of parentheses in it included.
INTERPOLATION = re.compile(r"\\#*\(((?:[^()]|\([^()]*\))*)\)")
EXTENSION = re.compile(
    r"^(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal)\s+)?extension\s+[A-Z][^{]*\{(?P<body>.*?)^\}", re.M | re.S
)
MEMBER = re.compile(
    r"^  (?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|static|mutating|consuming|borrowing|nonisolated)\s+)*"
    r"(?:func|var|let|typealias)\s+`?(\w+)",
    re.M,
)
# Whatever has a name of its own: members, parameters, cases.
ANY_NAME = re.compile(r"\b(?:func|var|let|typealias)\s+`?(\w+)|(?:^|[(,])\s*(\w+)\s*:", re.M)
CASES = re.compile(r"\bcase\s+([^:\n]*)")
USED_MEMBER = re.compile(r"\.([a-z]\w*)")
# Members of the standard library that a layer declares for types of its own, too.
STANDARD_MEMBERS = {"byteCount", "description", "replacing"}
IMPORT = re.compile(r"^\s*(?:@\w+\s+)*(?:(?:public|package|internal|private|fileprivate)\s+)?import\s+(\S+)", re.M)


def without_comments(code):
    """The code without comments and texts, but with what is interpolated into these."""
    return COMMENT_OR_TEXT.sub(lambda match: '""' + "".join(f" ({part}) " for part in INTERPOLATION.findall(match[0])
                                                            if not match[0].startswith("/")), code)


class Source:
    """A file: where it stands, what it declares and what it names."""

    def __init__(self, tree, path):
        self.tree = tree
        self.path = path.relative_to(tree.root)
        self.layer = self.path.parts[0] if len(self.path.parts) > 1 else ""
        self.folder = self.path.parent.as_posix()
        self.part = self.path.parts[1] if self.layer in tree.separate and len(self.path.parts) > 2 else ""
        code = without_comments(path.read_text())
        found = [(match["name"], len(match["indent"])) for match in DECLARATION.finditer(code)]
        self.declared = {name for name, indent in found if indent == 0}
        # What is declared within a type is meant by its short name in that file.
        self.named = set(NAME.findall(code)) - self.declared - {name for name, indent in found if indent}
        self.imports = IMPORT.findall(code)
        # What extensions add to types, which may stand in a layer below.
        self.added = {name for match in EXTENSION.finditer(code) for name in MEMBER.findall(match["body"])}
        self.members = {one or other for one, other in ANY_NAME.findall(code)}
        self.members |= {word for names in CASES.findall(code) for word in re.findall(r"\b[a-z]\w*", names)}
        self.used_members = set(USED_MEMBER.findall(code)) - STANDARD_MEMBERS


def homes(sources):
    """The file in which each type of a tree is declared."""
    return {name: source for source in sources for name in source.declared}


def lowest(sources, names):
    """The file of the lowest layer in which each name stands."""
    found = {}
    for source in sorted(sources, key=lambda source: source.tree.order.get(source.layer, 0), reverse=True):
        found.update((name, source) for name in names(source))
    return found


def mistakes(tree):
    """What is wrong, a sentence each."""
    sources = tree.sources()
    home = homes(sources)
    added = lowest(sources, lambda source: source.added)
    known = lowest(sources, lambda source: source.members)
    order = tree.order
    for source in sources:
        place = f"{tree.root.name}/{source.path}"
        if source.layer not in order:
            yield f"{place}: stands in no layer; the layers are {', '.join(filter(None, order))}"
            continue
        for module in source.imports:
            if source.layer in tree.pure:
                yield f"{place}: imports {module}; {source.layer} does no input or output, and imports nothing"
            elif module not in tree.imports:
                yield f"{place}: imports {module}; {tree.root.name} imports {', '.join(tree.imports) or 'nothing'}"
        for name in sorted(source.named):
            other = home.get(name)
            if other is None or other.layer not in order:
                continue
            if order[other.layer] > order[source.layer]:
                yield f"{place}: names {name} of {other.path}, and {other.layer or 'the program'} stands above {source.layer}"
            elif other.layer == source.layer and other.part and other.part != source.part:
                yield f"{place}: names {name} of {other.path}; {source.layer}/{source.part or '…'} knows no other of {source.layer}"
        for name in sorted(source.used_members & added.keys()):
            # Where a layer at or below this one has a member of that name, it may be that one.
            other = added[name]
            if order.get(known[name].layer, 0) > order[source.layer]:
                yield f"{place}: uses .{name}, which {other.path} adds to a type, and {other.layer or 'the program'} stands above {source.layer}"


def knots(tree):
    """What is wrong between the folders within layers, a sentence each."""
    sources = tree.sources()
    home = homes(sources)
    uses = {}
    for source in sources:
        for name in sorted(source.named & home.keys()):
            other = home[name]
            if other.layer == source.layer and other.folder != source.folder:
                uses.setdefault((source.folder, other.folder), f"{source.path} names {name}")
    found = {(one, other) for one, other in uses if one < other and (other, one) in uses}
    for one, other in sorted(found - tree.knots):
        yield f"{tree.root.name}: {one} and {other} know each other: {uses[one, other]}, {uses[other, one]}"
    for one, other in sorted(tree.knots - found):
        yield f"{tree.root.name}: {one} and {other} do not know each other any more: take them out of the list"


def listing(tree):
    """The layers, highest first, with what each uses of the others."""
    sources = tree.sources()
    home = homes(sources)
    uses = collections.defaultdict(collections.Counter)
    for source in sources:
        for name in source.named:
            if home.get(name, source).layer != source.layer:
                uses[source.layer][home[name].layer] += 1
    print(tree.root.name)
    for name in reversed(tree.layers):
        files = [source for source in sources if source.layer == name]
        lines = sum((tree.root / source.path).read_text().count("\n") for source in files)
        used = ", ".join(f"{used} {count}" for used, count in uses[name].most_common())
        print(f"  {name or '(program)':14} {len(files):4} files {lines:6} lines   {used}")


def main():
    parser = argparse.ArgumentParser(description="Holds the layers of the core, the daemon, the command line and the Swift client.")
    parser.add_argument("--list", action="store_true", help="show the layers, and what each uses of the others")
    options = parser.parse_args()
    if options.list:
        for tree in TREES:
            listing(tree)
    found = [mistake for tree in TREES for check in (mistakes, knots) for mistake in check(tree)]
    for mistake in found:
        print(mistake, file=sys.stderr)
    if found:
        print(f"{len(found)} mistakes in the order of the layers", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
