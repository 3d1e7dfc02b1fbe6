#!/usr/bin/env python3
"""Holds the tests beside what they test: mirror.py

A folder of unit tests has the name and the place of a folder of sources, `FooTests.swift` stands where `Foo.swift` does,
and what tests share stands in `Support`.
"""

import pathlib
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
SOURCES = {name: TOP / "Sources" / name for name in ("GatewayCore", "gatewayd", "gatewayctl")}
SOURCES["GatewayClient"] = TOP / "clients" / "swift" / "Sources" / "GatewayClient"
SUPPORT = "Support"


def mistakes(sources, tests):
    """What is wrong, a sentence each."""
    homes = {}
    for path in sources.rglob("*.swift"):
        homes.setdefault(path.stem, path.parent.relative_to(sources))
    for path in sorted(tests.rglob("*.swift")):
        folder, place = path.parent.relative_to(tests), path.relative_to(TOP)
        has_tests = "@Test" in path.read_text()
        if folder.parts[:1] == (SUPPORT,):
            if has_tests:
                yield f"{place}: has tests; those stand in the folder of what they test"
        elif not has_tests:
            yield f"{place}: has no test; what tests share stands in {SUPPORT}"
        elif not (sources / folder).is_dir():
            yield f"{place}: {sources.relative_to(TOP)} has no folder {folder}"
        elif homes.get(path.stem.removesuffix("Tests"), folder) != folder:
            yield f"{place}: tests what stands in {homes[path.stem.removesuffix('Tests')]}"


def main():
    found = [mistake for name, sources in SOURCES.items() for mistake in mistakes(sources, TOP / "Tests" / f"{name}Tests")]
    print(*found, sep="\n", end="\n" if found else "", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
