#!/usr/bin/env python3
"""Holds the references to decisions: decisions.py

Every decision that sources and documents name exists, the index names each with its title, each page begins with its
number and title, and is named by the source that it explains.
"""

import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
FOLDER = TOP / "docs/decisions"
READ = ("Sources", "Tests", "docs", "Benchmarks")
KINDS = (".swift", ".py", ".md", ".c", ".cpp", ".h")
# Where what a decision explains may stand.
EXPLAINED = ("Sources/", "Tests/", "Benchmarks/", "Package.swift", "debian/rules")

PAGE = re.compile(r"\d{4}-[a-z0-9-]+\.md")
# Also over the end of a line of a comment.
NAMED = re.compile(r"[Dd]ecisions?[\s/#]+(\d{4}(?:(?:,|\s|and|[/#])+\d{4})*)")
ROW = re.compile(r"^\| \[(\d{4})\]\((\S+)\) \| (.+) \|$", re.M)


def texts():
    """Every file that may name a decision, with its text."""
    paths = [path for folder in READ for path in sorted((TOP / folder).rglob("*")) if path.suffix in KINDS]
    for path in paths + sorted(TOP.glob("*.md")) + [TOP / "Package.swift", TOP / "debian" / "rules"]:
        yield path.relative_to(TOP), path.read_text(errors="replace")


def mistakes():
    """What is wrong, a sentence each."""
    pages = {path.name[:4]: path for path in sorted(FOLDER.glob("[0-9]*.md"))}
    names = {path.name for path in pages.values()}
    index = {number: (name, title) for number, name, title in ROW.findall((FOLDER / "README.md").read_text())}
    for number, path in pages.items():
        title = path.read_text().split("\n", 1)[0]
        if index.get(number, ("", ""))[0] != path.name:
            yield f"docs/decisions/README.md: does not list {path.name}"
        elif title != f"# {number} {index[number][1]}":
            yield f"docs/decisions/{path.name}: begins with “{title}”, and the index says “{index[number][1]}”"
    explained = set()
    for path, text in texts():
        for name in sorted(set(PAGE.findall(text)) - names):
            yield f"{path}: there is no decision {name}"
        numbers = {number for match in NAMED.findall(text) for number in re.findall(r"\d{4}", match)}
        for number in sorted(numbers - set(pages)):
            yield f"{path}: there is no decision {number}"
        if str(path).startswith(EXPLAINED):
            explained |= numbers
    for number in sorted(set(pages) - explained):
        yield f"docs/decisions/{pages[number].name}: no source names it, as “Decision {number}.”"


def main():
    found = list(mistakes())
    print(*found, sep="\n", end="\n" if found else "", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
