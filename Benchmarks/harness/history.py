"""P1-disk: what a history costs the fan-out, in memory and on disk."""

from .fanout import EVENTS, PAYLOAD, measure, mid
from .peers import Gatewayd
from .table import Table


class Configured(Gatewayd):
    """The source of events as a configured upstream."""

    history = ""

    def start_blaster(self, *more):
        port = super().start_blaster(*more)
        self.settings = f'[upstream.feed]\nurl = "http://127.0.0.1:{port}"\n{self.history}\n'
        return port


class Without(Configured):
    name = "no history"
    history = "history.events = 0"


class InMemory(Configured):
    name = "in memory (the default)"


class OnDisk(Configured):
    name = "on disk too"
    history = "history.disk = true"


def p1_disk(rounds):
    kinds = [Without, InMemory, OnDisk]
    table = Table(
        "P1-disk", f"the cost of a history, {PAYLOAD} B payload, saturated (medians of {rounds} interleaved runs)",
        ["history", *(f"{subscribers}: {what}" for subscribers in ("1 subscriber", "100 subscribers")
                      for what in ("deliveries/s", "CPU ns/delivery"))],
    )  # fmt: skip
    cells = {kind: [] for kind in kinds}
    for subscribers, events in ((1, 500_000), (100, EVENTS[Gatewayd])):
        runs = {kind: [] for kind in kinds}
        for number in range(rounds):
            for kind in kinds:
                runs[kind].append(measure(kind, subscribers, events))
                last = runs[kind][-1]
                print(f"  {subscribers}, round {number + 1}: {kind.name}: {last['rate'] / 1e6:.2f} M/s, {last['cpu_ns']:.0f} ns")
        for kind in kinds:
            cells[kind] += [f"{mid(runs[kind], 'rate') / 1e6:.2f} M", f"{mid(runs[kind], 'cpu_ns'):.0f}"]
    for kind in kinds:
        table.add(kind.name, *cells[kind])
    table.headline = "CPU ns/delivery with 1 and 100: " + ", ".join(f"{row[0]} {row[2]} and {row[4]}" for row in table.rows)
    table.note("On disk: one write for each turn of the loop, nothing synced; the folder is the system's temporary one.")
    return table
