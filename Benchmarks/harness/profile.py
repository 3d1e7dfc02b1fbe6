"""Where the daemon's time goes under the load of a benchmark: samples of perf, by who spent it."""

import contextlib
import os
import re
import subprocess
from collections import Counter

from . import places
from .durable import save
from .fanout import PAYLOAD, reading
from .latency import RATE
from .peers import Gatewayd
from .process import Program
from .requests import ping
from .table import Table

# Samples a second. perf's own clock is all that a virtual machine has.
FREQUENCY = 5_000
# Functions that are named of each share.
EXAMPLES = 4
# The first that a name matches. cpu-clock cannot look into a region without interrupts: it shows the end of it, which is what
# `_raw_spin_unlock_irqrestore` after a wake-up is.
KERNEL = (
    ("kernel, copying", re.compile(r"copy|memmove|memset|clear_page|rep_movs")),
    ("kernel, waking and switching", re.compile(
        r"wake|ttwu|irqrestore|finish_task_switch|schedule|ep_poll_callback|sock_def_readable|_ipi|IPI|smp_call|task_rq|queue_task"
    )),
    ("kernel, files and disk", re.compile(r"iowrite|virtqueue|virtio|blk_|bio_|submit_|sync|writeback|filemap|folio|ext4|jbd2|xfs|btrfs|iomap")),
    ("kernel, the rest", re.compile("")),
)  # fmt: skip
LIBC = (
    ("C library, copying", re.compile(r"mem(move|cpy|set)")),
    ("C library, memory", re.compile(r"alloc|free|unlink_chunk|calloc|arena|tcache")),
    ("C library, the rest", re.compile("")),
)


def order(tell, told, word):
    """perf's answers end with a zero."""
    print(word, file=tell, flush=True)
    if told.readline().strip("\0\n") != "ack":
        raise RuntimeError(f"perf does not {word}")


@contextlib.contextmanager
def recorded(peer):
    """perf over the daemon and the threads that it has, meanwhile; yields where its samples are in the end."""
    path, orders, answers = (peer.path(name) for name in ("perf.data", "perf.orders", "perf.answers"))
    os.mkfifo(orders)
    os.mkfifo(answers)
    perf = Program(
        [places.found("perf"), "record", "-q", "-e", "cpu-clock", "-F", FREQUENCY, "-p", peer.daemon.pid, "-o", path,
         "-D", "-1", "--control", f"fifo:{orders},{answers}"]
    )  # fmt: skip
    try:
        with open(orders, "w") as tell, open(answers) as told:
            order(tell, told, "enable")
            yield path
            order(tell, told, "stop")
        perf.process.wait(60)
    finally:
        perf.end()


def fan_out(peer, subscribers, events, **more):
    """The load of P1 and P2 and, with a rate, of P4."""
    with reading(peer, subscribers, max(events // 20, 128), **more) as once:
        once()
    with reading(peer, subscribers, events, **more) as once, recorded(peer) as path:
        report = once()
    return f"{report['rate']:,.0f} deliveries/s", path


def requests(peer, inflight, count):
    """The load of P3."""
    with recorded(peer) as path:
        report = ping("--socket", peer.socket, "--url", peer.url, "--inflight", inflight, count=count)
    return f"{report['requests_per_second']:,.0f} requests/s", path


def durable_sends(peer, clients, count):
    """The load of P6."""
    save(peer, clients, clients)
    with recorded(peer) as path:
        report = save(peer, clients, count)
    return f"{report['messages_per_second']:,.0f} durable sends/s", path


# Each for some seconds.
LOADS = {
    "P1": ("fan-out to 100 subscribers", fan_out, {"subscribers": 100, "events": 400_000}),
    "P2@1": ("fan-out to 1 subscriber", fan_out, {"subscribers": 1, "events": 4_000_000}),
    "P2@10": ("fan-out to 10 subscribers", fan_out, {"subscribers": 10, "events": 2_000_000}),
    "P2@1000": ("fan-out to 1,000 subscribers", fan_out, {"subscribers": 1_000, "events": 20_000}),
    "P2@10000": ("fan-out to 10,000 subscribers", fan_out, {"subscribers": 10_000, "events": 1_500}),
    "P3": ("requests, one at a time", requests, {"inflight": 1, "count": 40_000}),
    "P3-64": ("requests, 64 in flight", requests, {"inflight": 64, "count": 500_000}),
    "P4": ("1,000 events/s to 1 subscriber", fan_out, {"subscribers": 1, "events": 6_000, "rate": RATE}),
    "P6@1": ("durable sends of 1 client", durable_sends, {"clients": 1, "count": 12_000}),
    "P6@50": ("durable sends of 50 clients", durable_sends, {"clients": 50, "count": 150_000}),
}


def unusable():
    """Why nothing can be sampled here, or None."""
    if not places.found("perf"):
        return "perf is not installed; see --install (Debian's linux-perf)"
    trial = subprocess.run(
        [places.found("perf"), "record", "-q", "-e", "cpu-clock", "-o", os.devnull, "--", "true"], capture_output=True, text=True
    )
    return f"perf cannot sample here: {trial.stderr.strip()}" if trial.returncode else None


def samples(path):
    """(how many, thread, object, symbol) of each place."""
    report = subprocess.run(
        [places.found("perf"), "report", "-i", path, "--stdio", "--no-children", "-F", "sample,pid,dso,sym", "-t", "|"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    for line in report.splitlines():
        cells = [cell.strip() for cell in line.split("|", 3)]
        if len(cells) == 4 and cells[0].isdigit():
            yield int(cells[0]), cells[1].split(":")[0], cells[2], cells[3][4:]


def module(symbol):
    """Of a function in the daemon, which has the Swift runtime inside. Swift's mangled names begin with the module's length."""
    mangled = re.match(r"\$s(\d+)(.*)", symbol)
    if mangled:
        return mangled.group(2)[: int(mangled.group(1))]
    if symbol.startswith("$s"):
        return "Swift's standard library"
    if symbol.startswith("gw_"):
        return "gatewayd's C parts"
    return "without a name" if symbol.startswith("0x") else "Swift's runtime"


def share_of(place, symbol):
    """Whose time it is."""
    if place.startswith("[kernel") or place.startswith("[guest.kernel"):
        return next(name for name, pattern in KERNEL if pattern.search(symbol))
    if re.match(r"(libc|libm|ld-linux)[.-]|\[vdso\]", place):
        return next(name for name, pattern in LIBC if pattern.search(symbol))
    if place == os.path.basename(places.gatewayd()):
        return f"daemon, {module(symbol)}"
    return place.split(".so")[0]


def readable(names):
    """Swift's names as they were written, where the toolchain is at hand; the end of what is long is left out."""
    names = list(names)
    if places.found("swift-demangle"):
        text = subprocess.run([places.found("swift-demangle"), "--simplified"], input="\n".join(names), capture_output=True, text=True)
        if len(text.stdout.splitlines()) == len(names):
            names = text.stdout.splitlines()
    names = [re.sub(r"^(generic )?specialized ", "", re.sub(r"^(\w+ )+of ", "", name)) for name in names]
    names = [re.sub(r"^swift::RefCounts<.*>::", "RefCounts::", name) for name in names]
    return [re.sub(r"\(.*", "", name.replace("|", "/"))[:70] for name in names]


def profiled(name):
    """The table of one load."""
    what, load, options = LOADS[name]
    with Gatewayd(PAYLOAD) as peer:
        main = str(peer.daemon.pid)
        done, path = load(peer, **options)
        found = list(samples(path))
    total = sum(count for count, *_ in found)
    if not total:
        raise RuntimeError("perf has no samples")
    shares, functions, threads = Counter(), {}, Counter()
    for count, thread, place, symbol in found:
        share = share_of(place, symbol)
        shares[share] += count
        threads["the loop" if thread == main else "other threads"] += count
        functions.setdefault(share, Counter())[symbol] += count
    table = Table(name, f"where the daemon's time goes: {what}", ["where", "share", "most of it"], ["most of it"])
    for share, count in shares.most_common():
        if count / total < 0.005:
            continue
        most = functions[share].most_common(EXAMPLES)
        named = zip(readable(symbol for symbol, _ in most), most)
        table.add(share, f"{count / total:.0%}", ", ".join(f"{symbol} {part / total:.1%}" for symbol, (_, part) in named))
    table.note(f"{done}; {total:,} samples of cpu-clock, {FREQUENCY:,} a second: " + ", ".join(
        f"{thread} {count / total:.0%}" for thread, count in threads.most_common()))  # fmt: skip
    return table
