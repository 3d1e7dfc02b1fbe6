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


async def last(link, body):
    """Answers and closes, so that each request has a connection of its own: on one that was used before, what a cut
    looks like depends on who is quicker."""
    await link.raw(answer("200 OK", body, "Connection: close\r\n"))
    await link.close()


def polling(stage, *parts, then=hang):
    """A server that answers as it should until `stage`: the handshake, the first poll behind the acceptance, or the
    first POST."""
    accepted = set()
    ping = 200 if stage == "poll" else 20_000

    async def script(link):
        request = await _read(link)
        sid = request.query.get("sid")
        kind = "opening" if not sid else "post" if request.method == "POST" else "poll"
        if kind == "poll" and stage == "poll" and sid not in accepted:
            accepted.add(sid)
            await last(link, '40{"sid":"s"}')
        elif kind == stage:
            for part in parts:
                await link.raw(part)
            await then(link)
        elif kind == "poll":
            await hang(link)
        elif kind == "post":
            await last(link, "ok")
        else:
            await last(link, f'0{{"sid":"s{next(_sids)}","upgrades":[],"pingInterval":{ping},"pingTimeout":{ping},'
                             '"maxPayload":1000}')
    return script


def cell(stage, fault, variant, reason, detail, *parts, then=hang):
    CELLS[stage, fault, variant] = Cell(polling(stage, *parts, then=then), reason, detail, "http")


HALF = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n42["
CHUNKS = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n"
TRAILERS = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n" + "X-F: x\r\n" * 4000
NOT_UTF8 = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n42[\"\xff\"]"
PAGE = answer("200 OK", "<html>Log in</html>", "Content-Type: text/html\r\n")
REDIRECT = answer("302 Found", headers="Location: https://login.example/x?secret\r\n")
TLS_ALERT = b"\x15\x03\x03\x00\x02\x02\x28"

HUNG_UP = "{place} closed the connection before its answer was complete"
LOST = "the connection to {place} was lost: Connection reset by peer"
SILENT = "{place} did not answer the HTTP request in time"
SILENT_POLL = "the server fell silent: …"
"""Either the heartbeat or the answer to the poll is missed first: they are due at the same time."""
NO_NAMESPACE = "the server did not answer the request for the namespace in time"
NO_HTTP = "the server's answer is not HTTP"
LONG_HEAD = "the server's HTTP header is longer than 16 KiB"
MALFORMED = "the server's HTTP answer is malformed"
LARGE = "the server's answer is larger than …"
SOMETHING = "the server answered the Engine.IO handshake with something else: this is no Socket.IO server, or not its path"
PORTAL = "the network wants a login before it lets anything through (HTTP 511): a captive portal"
PROXY = "a proxy on the way wants a user and a password (HTTP 407)"
TLS_PORT = "the server speaks TLS on this port: use wss:// or https://"
WAY = "the server redirects to https://login.example (HTTP 302), which is not followed…"

for stage, before in (("opening", ", before its Engine.IO handshake"), ("poll", ""), ("post", ", before it accepted the namespace")):
    cell(stage, "cut", "within the body", "closed", HUNG_UP + before, HALF, then=cut)
    cell(stage, "cut", "before the head", "closed", HUNG_UP + before, then=cut)
    cell(stage, "cut", "within the head", "closed", HUNG_UP + before, "HTTP/1.1 200", then=cut)
    cell(stage, "cut", "reset", "closed", LOST + before, then=reset)
    cell(stage, "garbled", "no HTTP", "http", NO_HTTP, "220 smtp.example ESMTP\r\n", then=cut)
    cell(stage, "garbled", "header", "http", NO_HTTP, "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", then=cut)
    cell(stage, "garbled", "chunks", "protocol", MALFORMED, CHUNKS, then=cut)
    cell(stage, "oversized", "header", "protocol", LONG_HEAD, "HTTP/1.1 200 OK\r\nX-F: " + "x" * 400_000)
    cell(stage, "oversized", "headers", "protocol", LONG_HEAD, "HTTP/1.1 200 OK\r\n" + "X-F: x\r\n" * 4000)
    cell(stage, "oversized", "preliminary answers", "protocol", LONG_HEAD, "HTTP/1.1 100 Continue\r\n\r\n" * 1000)
    cell(stage, "oversized", "trailers", "protocol", LONG_HEAD, TRAILERS)
    cell(stage, "oversized", "without end", "too_large", LARGE, "HTTP/1.1 200 OK\r\n\r\n", then=endless)
    cell(stage, "foreign", "portal", "http", PORTAL, answer("511 Network Authentication Required"))
    cell(stage, "foreign", "proxy", "http", PROXY, answer("407 Proxy"))
    cell(stage, "foreign", "redirect", "http", WAY, REDIRECT)
    cell(stage, "foreign", "tls port", "tls", TLS_PORT, TLS_ALERT, then=cut)

cell("opening", "delayed", "silent", "timeout", SILENT)
cell("opening", "delayed", "within the head", "timeout", SILENT, "HTTP/1.1 200 OK\r\nCont")
cell("opening", "delayed", "within the body", "timeout", SILENT, HALF)
cell("poll", "delayed", "silent", "heartbeat", SILENT_POLL)
cell("poll", "delayed", "within the body", "heartbeat", SILENT_POLL, HALF)
cell("post", "delayed", "silent", "timeout", NO_NAMESPACE)
cell("post", "delayed", "within the body", "timeout", NO_NAMESPACE, HALF)
cell("opening", "garbled", "payload", "http", SOMETHING, answer("200 OK", "\x1e"))
cell("opening", "garbled", "text", "http", SOMETHING, NOT_UTF8)
cell("poll", "garbled", "payload", "protocol", "the server answered a poll with a malformed payload", answer("200 OK", "\x1e"))
cell("poll", "garbled", "text", "protocol", "the server's answer to a poll holds text that is not UTF-8", NOT_UTF8)
cell("opening", "oversized", "a packet", "http", SOMETHING, answer("200 OK", "4" + "x" * 100_000))
cell("poll", "oversized", "a packet", "too_large", "the server's answer to a poll holds a message above the limit",
     answer("200 OK", "4" + "x" * 100_000))
cell("opening", "foreign", "page", "http", "the server answered the Engine.IO handshake with a web page: this is no "
     "Socket.IO server, or a login page or a captive portal stands before it", PAGE)
for stage in ("poll", "post"):
    cell(stage, "foreign", "page", "http", "something answered a poll with a web page: a login page or a captive portal "
         "stands before the server", PAGE)

SHARED = {
    HUNG_UP + ", before its Engine.IO handshake": "however much of an answer had come",
    HUNG_UP + ", before it accepted the namespace": "however much of an answer had come",
    HUNG_UP: "however much of an answer had come",
    NO_HTTP: "whatever it is, it is no HTTP, in answer to any request",
    MALFORMED: "in answer to any request",
    LONG_HEAD: "in answer to any request",
    LARGE: "in answer to any request",
    PORTAL: "in answer to any request",
    PROXY: "in answer to any request",
    WAY: "in answer to any request",
    TLS_PORT: "in answer to any request",
    SILENT: "however much of an answer had come",
    SILENT_POLL: "however much of an answer had come",
    NO_NAMESPACE: "the CONNECT did not get through",
    SOMETHING: "it does not begin as a handshake does",
    "something answered a poll with a web page: a login page or a captive portal stands before the server":
        "a poll, and what is posted",
}
"""As in `hostile`."""
