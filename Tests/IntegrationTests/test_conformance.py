"""docs/conformance.md says what it says truly: every row has a verdict, every test it names exists, the counts are right.

Run as a program it writes the counts anew.
"""

import ast
import collections
import pathlib
import re

from programs import ROOT

TABLE = ROOT / "docs" / "conformance.md"
PYTHON = sorted((ROOT / "Tests" / "IntegrationTests").glob("test_*.py"))
SWIFT = sorted((ROOT / "Tests").glob("*Tests/**/*.swift"))
VERDICTS = ("as the client", "otherwise on purpose", "not a gateway's matter", "not offered yet")
PROVEN = VERDICTS[:2]
"""Verdicts about what the program does: a row with one of them names at least one test."""

Row = collections.namedtuple("Row", "number behaviour verdict shown")


def rows():
    """The rows of all tables whose first column is a number such as 3.12."""
    found = []
    for line in TABLE.read_text().splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) > 1 and re.fullmatch(r"\d+\.\d+", cells[0]):
            assert len(cells) == 4, f"not four columns: {line}"
            found.append(Row(*cells))
    return found


def python_tests():
    """The names of all test functions, methods of classes included."""
    return {node.name for path in PYTHON for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_")}


def swift_tests():
    """The names of all functions that `@Test` marks, on the same line or on those before."""
    mark = re.compile(r"@Test\b(?:(?!@Test\b|\bfunc\b).)*?\bfunc\s+(\w+)", re.DOTALL)
    return {name for path in SWIFT for name in mark.findall(path.read_text())}


def named_tests(row):
    """What stands in backquotes in the last column and looks like the name of a test."""
    return [name for name in re.findall(r"`([^`]+)`", row.shown) if re.fullmatch(r"test_\w+|[a-z]\w*[A-Z]\w*", name)]


def test_every_test_that_the_record_names_exists():
    known = python_tests() | swift_tests()
    assert len(known) > 1000, "the tests were not found"
    missing = [(row.number, name) for row in rows() for name in named_tests(row) if name not in known]
    assert missing == []


def test_every_row_of_the_record_has_a_verdict_and_what_shows_it():
    table = rows()
    assert len(table) >= 150
    for row in table:
        assert row.behaviour and row.verdict in VERDICTS, row
        if row.verdict in PROVEN:
            assert named_tests(row), f"{row.number} names no test"
        if row.verdict != VERDICTS[0]:
            words = re.sub(r"`[^`]+`|[\W_]", " ", row.shown).split()
            assert len(words) >= 3, f"{row.number} gives no reason"


def test_the_rows_of_the_record_are_numbered_without_a_gap():
    numbers = [tuple(map(int, row.number.split("."))) for row in rows()]
    groups = collections.Counter(group for group, _ in numbers)
    assert numbers == [(group, number + 1) for group in sorted(groups) for number in range(groups[group])]
    assert sorted(groups) == list(range(1, len(groups) + 1))


def counts():
    counted = collections.Counter(row.verdict for row in rows())
    return {verdict: counted[verdict] for verdict in VERDICTS} | {"in all": len(rows())}


COUNT = re.compile(r"^\| ([a-z' ]+) \| (\d+) \|", re.MULTILINE)


def test_the_counts_at_the_head_of_the_record_are_right():
    assert {name: int(count) for name, count in COUNT.findall(TABLE.read_text())} == counts()


if __name__ == "__main__":
    right = counts()
    TABLE.write_text(COUNT.sub(lambda line: f"| {line[1]} | {right[line[1]]} |", TABLE.read_text()))
