"""One result: printed as a table, and kept as a section of RESULTS.md or PROFILES.md."""

import os
import re

from . import places

PREAMBLE = """# Results of the last runs

Written by `Benchmarks/run`; each section is replaced when its benchmark runs again. How to read them: README.md.
"""


class Table:
    def __init__(self, name, title, columns, text=()):
        """Columns of text, the first one among them, begin at the left; figures end at the right."""
        self.name, self.title, self.columns = name, title, columns
        self.text = {columns[0], *text}
        self.rows, self.notes, self.targets = [], [], []
        # What this run found, in a line for the history; without it the run leaves none.
        self.headline = ""

    def add(self, *cells):
        self.rows.append([str(cell) for cell in cells])

    def note(self, text):
        self.notes.append(text)

    def target(self, text, found, reached, runs=None):
        """What is to be reached, what was found, and whether that is it; None where the measurement is not fine enough. What was found
        without an interval says of how many runs it is the median."""
        verdict = {True: "reached", False: "MISSED", None: "inconclusive"}[reached]
        if runs:
            verdict += " (one run)" if runs == 1 else f" ({runs} runs)"
        self.targets.append(f"{text} – {found}: {verdict}")

    def all_notes(self):
        """What stands below the rows: each target, then what was noted."""
        return [f"To reach: {target}." for target in self.targets] + self.notes

    def plain(self):
        """For a terminal."""
        lines = [self.columns, *self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        def row(cells):
            aligned = (
                cell.ljust(width) if column in self.text else cell.rjust(width)
                for cell, width, column in zip(cells, widths, self.columns)
            )
            return "  ".join(aligned).rstrip()
        return "\n".join([f"{self.name}  {self.title}", *map(row, lines), *self.all_notes()])

    def markdown(self, machine):
        lines = [self.columns, ["---" if column in self.text else "--:" for column in self.columns], *self.rows]
        body = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        notes = "\n".join(f"* {note}" for note in [*self.all_notes(), machine])
        return f"## {self.name} – {self.title}\n\n{body}\n\n{notes}\n"


PROFILES = """# Where the daemon's time goes

Written by `Benchmarks/profile --keep`; each section is replaced when its load runs again. Samples of perf, by whose time they are, with
the functions that have the most. What the loads are: README.md.
"""
TARGETS = """## Targets – what is to be reached, and what the last runs found

| benchmark | to reach | found | |
| --- | --- | --: | --- |"""
HISTORY = "## History – the main figure of each run, the latest first"
COLUMNS = "| benchmark | date, commit | found | what had changed |\n| --- | --- | --- | --- |\n"


def keep(table, machine, because, otherwise):
    """Replaces the section of this table in RESULTS.md and adds to its history: because of what, or what stands for it where nothing was said."""
    found = sections(places.RESULTS)
    found[table.name] = table.markdown(machine)
    found.pop("Targets", None)
    past = found.pop("History", f"{HISTORY}\n\n{COLUMNS}")
    write(places.RESULTS, PREAMBLE, targets(found), *ordered(found), continued(past, table, machine, because, otherwise))


def keep_profile(table, machine):
    """Replaces the section of this table in PROFILES.md."""
    found = {**sections(places.PROFILES), table.name: table.markdown(machine)}
    write(places.PROFILES, PROFILES, *ordered(found))


def sections(path):
    """The text of each section by its name; none where there is no file yet."""
    if not os.path.exists(path):
        return {}
    with open(path) as file:
        return {text[3:].split()[0]: text.rstrip() + "\n" for text in re.split(r"(?m)^(?=## )", file.read())[1:]}


def ordered(found):
    return [found[name] for name in sorted(found, key=place)]


def write(path, *parts):
    with open(path, "w") as file:
        file.write("\n".join(parts))


def targets(found):
    """The section of what the others say of their targets."""
    rows = [
        f"| {name} | {' | '.join(target)} |"
        for name in sorted(found, key=place)
        for target in re.findall(r"(?m)^\* To reach: (.*) – (.*): (.*)\.$", found[name])
    ]
    return "\n".join([TARGETS, *rows, ""])


def continued(history, table, machine, because, otherwise):
    """The section of past runs with this one in front, sorted by benchmark. A run of the same commit replaces what it found before, but not
    why it was made."""
    kept = [line for line in history.splitlines() if line.startswith("| ") and line not in COLUMNS]
    fresh = []
    if table.headline:
        start = f"| {table.name} | {', '.join(machine.split(', ')[:2])} |"
        before = [line.split("|")[-2].strip() for line in kept if line.startswith(start)]
        reason = because.strip() or next(filter(None, before), otherwise)
        fresh = [f"{start} {table.headline} | {reason.replace('|', '/')} |"]
        kept = [line for line in kept if not line.startswith(start)]
    return f"{HISTORY}\n\n{COLUMNS}" + "".join(
        f"{line}\n" for line in sorted([*fresh, *kept], key=lambda line: place(line.split()[1]))
    )


def place(name):
    """P2 before P10, and what has no number behind them."""
    number = re.match(r"P(\d+)", name)
    return (int(number.group(1)) if number else 1000, name)
