"""Adds up the results of all kinds of tests: `10 passed, 0 failed, 1 skipped`."""

import pathlib
import sys
import xml.etree.ElementTree as xml


def main(folder):
    total = failed = skipped = 0
    files = sorted(pathlib.Path(folder).glob("*.xml"))
    for file in files:
        for case in xml.parse(file).iter("testcase"):
            total += 1
            failed += any(case.find(kind) is not None for kind in ("failure", "error"))
            skipped += case.find("skipped") is not None
    text = f"{total - failed - skipped} passed, {failed} failed"
    print(text + (f", {skipped} skipped" if skipped else ""))
    return 0 if total and not failed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
