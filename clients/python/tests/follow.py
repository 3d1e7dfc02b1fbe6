"""Prints each event and each gap of an upstream as a line of JSON: follow.py [--sync] UPSTREAM [EPOCH:SEQ]

With a position it goes on behind it, as a program does that was restarted itself.
"""

import asyncio
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "src"))

import gatewayd  # noqa: E402

WORDS = [word for word in sys.argv[1:] if word != "--sync"]
SINCE = None
if len(WORDS) > 1:
    EPOCH, _, SEQ = WORDS[1].rpartition(":")
    SINCE = gatewayd.Position(EPOCH, int(SEQ))


def show(item):
    if isinstance(item, gatewayd.Gap):
        gap = {"reason": item.reason, "epoch": item.epoch, "seq": item.seq, "to": item.last}
        shown = {"gap": {name: value for name, value in gap.items() if value is not None}}
    else:
        shown = {"event": item.name, "args": item.args[:1], "epoch": item.epoch, "seq": item.seq}
    sys.stdout.write(json.dumps(shown) + "\n")
    sys.stdout.flush()


async def main():
    async with gatewayd.AsyncClient(timeout=60) as gateway:
        async for item in gateway.subscribe(WORDS[0], since=SINCE, gaps=True):
            show(item)


def main_sync():
    with gatewayd.Client(timeout=60) as gateway:
        for item in gateway.subscribe(WORDS[0], since=SINCE, gaps=True):
            show(item)


if __name__ == "__main__":
    main_sync() if "--sync" in sys.argv else asyncio.run(main())
