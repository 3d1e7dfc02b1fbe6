"""The table that `test_matrix.py` fills: one line per server, TLS and proxy, one column per transport."""

PROPERTY = "matrix"


def note(record_property, **cell):
    """Names the cell that a test stands for: server, transport, tls, proxy."""
    record_property(PROPERTY, cell)


def cells(reports):
    """(line, column) → whether all tests of the cell passed."""
    found = {}
    for outcome, report in reports:
        for name, cell in getattr(report, "user_properties", ()):
            if name == PROPERTY:
                key = ((cell["server"], cell["tls"], cell["proxy"]), cell["transport"])
                found[key] = found.get(key, True) and outcome == "passed"
    return found


def table(found):
    """The lines of the table."""
    rows = list(dict.fromkeys(row for row, _ in found))
    columns = list(dict.fromkeys(column for _, column in found))
    head = ["server", "TLS", "proxy", *columns]
    lines = [head] + [[*row, *({True: "ok", False: "FAILED"}.get(found.get((row, column)), "-") for column in columns)]
                      for row in rows]
    widths = [max(len(line[index]) for line in lines) for index in range(len(head))]
    return ["  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip() for line in lines]


def pytest_terminal_summary(terminalreporter):
    reports = [(outcome, report) for outcome in ("passed", "failed", "error")
               for report in terminalreporter.stats.get(outcome, [])]
    found = cells(reports)
    if found:
        terminalreporter.section(f"main job: {sum(found.values())} of {len(found)} cells")
        for line in table(dict(sorted(found.items()))):
            terminalreporter.write_line(line)
