"""The same for long-polling: what the requests of a session can be answered with."""

import itertools

from hostile import Cell, answer, cut, endless, hang, reset

STAGES = ("opening", "poll", "post")

CELLS = {}
"""(stage, fault, variant) → Cell, as in `hostile`."""

_sids = itertools.count(1)


async def _read(link):
    request = await link.read_request()
    await link.reader.readexactly(int(request.headers.get("content-length", 0)))
    return request


def polling(stage, *parts, then=hang):
    """A server that answers as it should until `stage`: the handshake, the first poll behind the acceptance, or the
    first POST."""
    accepted = set()

    async def script(link):
        while True:
            request = await _read(link)
            sid = request.query.get("sid")
            kind = "opening" if not sid else "post" if request.method == "POST" else "poll"
            if kind == "poll" and stage == "poll" and sid not in accepted:
                accepted.add(sid)
                await link.raw(answer("200 OK", '40{"sid":"s"}'))
            elif kind == stage:
                for part in parts:
                    await link.raw(part)
                return await then(link)
            elif kind == "poll":
                await hang(link)
            elif kind == "post":
                await link.raw(answer("200 OK", "ok"))
            else:
                await link.raw(answer("200 OK", f'0{{"sid":"s{next(_sids)}","upgrades":[],"pingInterval":25000,'
                                                '"pingTimeout":20000,"maxPayload":1000}'))
    return script


def cell(stage, fault, variant, reason, detail, *parts, then=hang):
    CELLS[stage, fault, variant] = Cell(polling(stage, *parts, then=then), reason, detail, "http")


HALF = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n42["
PAGE = answer("200 OK", "<html>Log in</html>", "Content-Type: text/html\r\n")

for stage in STAGES:
    cell(stage, "cut", "before the head", "?", "", then=cut)
    cell(stage, "cut", "within the head", "?", "", "HTTP/1.1 200", then=cut)
    cell(stage, "cut", "within the body", "?", "", HALF, then=cut)
    cell(stage, "cut", "reset", "?", "", then=reset)
    cell(stage, "delayed", "silent", "?", "")
    cell(stage, "delayed", "within the head", "?", "", "HTTP/1.1 200 OK\r\nCont")
    cell(stage, "delayed", "within the body", "?", "", HALF)
    cell(stage, "garbled", "no HTTP", "?", "", "220 smtp.example ESMTP\r\n", then=cut)
    cell(stage, "garbled", "header", "?", "", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", then=cut)
    cell(stage, "garbled", "chunks", "?", "", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n", then=cut)
    cell(stage, "garbled", "payload", "?", "", answer("200 OK", "\x1e"))
    cell(stage, "garbled", "UTF-8", "?", "", b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n42[\"\xff\"]")
    cell(stage, "oversized", "header", "?", "", "HTTP/1.1 200 OK\r\nX-F: " + "x" * 400_000)
    cell(stage, "oversized", "body", "?", "", answer("200 OK", "4" + "x" * 100_000))
    cell(stage, "oversized", "without end", "?", "", "HTTP/1.1 200 OK\r\n\r\n", then=endless)
    cell(stage, "oversized", "packets", "?", "", answer("200 OK", "\x1e".join(["6"] * 30_000)))
    cell(stage, "foreign", "page", "?", "", PAGE)
    cell(stage, "foreign", "portal", "?", "", answer("511 Network Authentication Required"))
    cell(stage, "foreign", "proxy", "?", "", answer("407 Proxy"))
    cell(stage, "foreign", "redirect", "?", "", answer("302 Found", headers="Location: https://login.example/x?secret\r\n"))
    cell(stage, "foreign", "tls port", "?", "", b"\x15\x03\x03\x00\x02\x02\x28", then=cut)
