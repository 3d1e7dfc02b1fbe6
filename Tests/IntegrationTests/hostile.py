"""What an upstream can do wrong, stage by stage: each cell is a script for the far end and what the daemon says about it."""

import asyncio
import collections
import contextlib

from scripted import BINARY, CLOSE, TEXT, frame

STAGES = ("accept", "tls", "head", "body", "frame", "open", "namespace", "event", "heartbeat")
FAULTS = ("cut", "delayed", "garbled", "oversized", "foreign")

Cell = collections.namedtuple("Cell", "script reason detail scheme")

CELLS = {}
"""(stage, fault, variant) → Cell. `{place}` in a detail is host and port; a detail that ends with … is a beginning."""

IMPOSSIBLE = {
    ("accept", "garbled"): "nothing is said before the connection is accepted",
    ("accept", "oversized"): "nothing is said before the connection is accepted",
    ("accept", "foreign"): "what another server says belongs to the next stages",
    ("heartbeat", "foreign"): "a server that got so far is a Socket.IO server",
}


def cell(stage, fault, variant, reason, detail, script, scheme="http"):
    CELLS[stage, fault, variant] = Cell(script, reason, detail, scheme)


# What a far end does last


async def hang(link):
    await asyncio.sleep(3600)


async def cut(link):
    await link.close()


async def cut_without_reading(link):
    """Nothing more is sent. Were what comes left unread, the end would sometimes be a reset."""
    link.writer.write_eof()
    await link.reader.read()
    await link.close()


async def cut_when_answered(link):
    """A ping is answered; a server that has gone before would answer that with a reset."""
    await link.expect("3")
    await link.close()


async def reset(link):
    link.abort()


async def endless(link):
    while not link.writer.is_closing():
        await link.raw("x" * 1000)


# How far a far end goes before it says something


def at_once(*parts, then=hang):
    async def script(link):
        for part in parts:
            await link.raw(part)
        await then(link)
    return script


def to_hello(*parts, then=hang):
    async def script(link):
        with contextlib.suppress(asyncio.IncompleteReadError):
            await link.reader.readexactly(5)
        await at_once(*parts, then=then)(link)
    return script


def to_request(*parts, then=hang):
    async def script(link):
        await link.read_request()
        await at_once(*parts, then=then)(link)
    return script


def after_101(*parts, then=hang):
    async def script(link):
        await link.upgrade()
        await at_once(*parts, then=then)(link)
    return script


def after_open(*parts, then=hang):
    async def script(link):
        await link.upgrade()
        await link.open()
        await link.receive()
        await at_once(*parts, then=then)(link)
    return script


def joined(*parts, then=hang, **members):
    async def script(link):
        await link.session(**members)
        await at_once(*parts, then=then)(link)
    return script


def text(packet):
    return frame(TEXT, packet.encode())


def answer(status, body="", headers=""):
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}\r\n{body}"


HTML = "Content-Type: text/html\r\n"
OPEN = '0{"sid":"s","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000}'
TLS_ALERT = b"\x15\x03\x03\x00\x02\x02\x28"
NO_CLOSE = "the server closed the connection without a WebSocket close frame"
PORTAL = "this is no WebSocket server, or a login page or a captive portal stands before it"
LOST = "the connection to {place} was lost: Connection reset by peer"
NO_TLS = "{place} does not speak TLS: use ws:// or http:// if that is meant"
TLS_FAILED = "the TLS handshake with {place} failed: "
NO_HTTP = "the server's answer is not HTTP"
BEFORE_101 = ", before it answered the WebSocket handshake"
BEFORE_OPEN = ", before its Engine.IO handshake"
BEFORE_40 = ", before it accepted the namespace"
LONG_HEAD = "the server's HTTP header is longer than 16 KiB"
FRAMES = "the server broke the rules of WebSocket frames"
OVER_LIMIT = "the server sent a message of more than 65536 bytes"
PAYLOAD = "the server sent a Socket.IO packet with a malformed payload"
FOREIGN = "the server did not begin with an Engine.IO handshake: it may be a WebSocket server of another kind"
REFUSED_400 = "the server answered HTTP 400 Bad Request instead of opening a WebSocket"
OVERSIZED_FRAME = b"\x81\x7f\x00\x00\x00\x00\x10\x00\x00\x00" + b"x" * 100

cell("accept", "cut", "at once", "closed", "the server closed the connection before it answered the WebSocket handshake",
     cut_without_reading)
cell("accept", "cut", "refused", "unreachable", "no connection to {place}: connection refused", None)
cell("accept", "delayed", "full queue", "timeout", "{place} did not accept the connection within 250 ms", None)

cell("tls", "cut", "at once", "tls", TLS_FAILED + "the server closed the connection", cut, "https")
cell("tls", "cut", "after the hello", "tls", TLS_FAILED + "the server closed the connection", to_hello(then=cut), "https")
cell("tls", "cut", "reset", "tls", TLS_FAILED + "Connection reset by peer", to_hello(then=reset), "https")
cell("tls", "delayed", "silent", "timeout", "{place} did not finish the TLS handshake within 250 ms", hang, "https")
cell("tls", "delayed", "half a record", "timeout", "{place} did not finish the TLS handshake within 250 ms",
     to_hello(b"\x16\x03\x03\x00\x50\x02"), "https")
cell("tls", "garbled", "a record", "tls", TLS_FAILED + "…", to_hello(b"\x16\x03\x03\x00\x05\x02\x00\x00\x01\x00"), "https")
cell("tls", "garbled", "an alert", "tls", TLS_FAILED + "…", to_hello(TLS_ALERT), "https")
cell("tls", "oversized", "a record", "tls", NO_TLS, to_hello(b"\x16\x03\x03\xff\xff" + b"x" * 70_000), "https")
cell("tls", "foreign", "http in clear", "tls", NO_TLS, to_hello(answer("400 Bad Request"), then=cut), "https")
cell("tls", "foreign", "mail in clear", "tls", NO_TLS, to_hello("220 smtp.example ESMTP\r\n"), "https")
cell("tls", "foreign", "noise", "tls", NO_TLS, to_hello(b"\x00\x01\x02 noise of no protocol"), "https")

cell("head", "cut", "within the line", "closed", "the server closed the connection before it answered the WebSocket handshake",
     to_request("HTTP/1.1 101 Swi", then=cut))
cell("head", "cut", "reset", "closed", LOST + BEFORE_101, to_request(then=reset))
cell("head", "delayed", "silent", "timeout", "the server did not answer the WebSocket handshake in time", to_request())
cell("head", "delayed", "within a header", "timeout", "the server did not answer the WebSocket handshake in time",
     to_request("HTTP/1.1 101 Switching Protocols\r\nUpgr"))
cell("head", "garbled", "status", "http", NO_HTTP, to_request("HTTP/1.1 abc\r\n\r\n"))
cell("head", "garbled", "header", "protocol", "the server's HTTP header is malformed",
     to_request("HTTP/1.1 101 X\r\nno colon\r\n\r\n"))
cell("head", "garbled", "no accept value", "protocol", "the server's Sec-WebSocket-Accept does not match the key",
     to_request("HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"))
cell("head", "oversized", "one header", "protocol", LONG_HEAD, to_request("HTTP/1.1 200 OK\r\nX-F: " + "x" * 20_000))
cell("head", "oversized", "interim answers", "protocol", LONG_HEAD, to_request("HTTP/1.1 100 Continue\r\n\r\n" * 2000))
cell("head", "foreign", "mail server", "http", NO_HTTP, to_request("220 smtp.example ESMTP\r\n"))
cell("head", "foreign", "http 2", "http", NO_HTTP, to_request(b"\x00\x00\x12\x04\x00\x00\x00\x00\x00"))
cell("head", "foreign", "tls port", "tls", "the server speaks TLS on this port: use wss:// or https://", to_request(TLS_ALERT))
cell("head", "foreign", "web page", "http", "the server answered the WebSocket handshake with a web page (HTTP 200 OK): "
     + PORTAL, to_request(answer("200 OK", "<html>", HTML)))
cell("head", "foreign", "empty page", "http", "the server answered HTTP 200 OK instead of opening a WebSocket",
     to_request(answer("200 OK")))
cell("head", "foreign", "login redirect", "http",
     "the server redirects to https://login.example (HTTP 302 Found), which is not followed",
     to_request(answer("302 Found", headers="Location: https://login.example/signin?next=/secret\r\n")))
cell("head", "foreign", "relative redirect", "http",
     "the server redirects to another place (HTTP 302 Found), which is not followed",
     to_request(answer("302 Found", headers="Location: /login\r\n")))
cell("head", "foreign", "captive portal", "http", "the network wants a login before it lets anything through (HTTP 511 "
     "Network Authentication Required): a captive portal", to_request(answer("511 Network Authentication Required")))
cell("head", "foreign", "proxy login", "http", "a proxy on the way wants a user and a password (HTTP 407 Proxy)",
     to_request(answer("407 Proxy")))
cell("head", "foreign", "other protocol", "protocol", "the server switched to another protocol than WebSocket",
     to_request("HTTP/1.1 101 X\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n"))

HALF_BODY = 'HTTP/1.1 400 Bad Request\r\nContent-Length: 100\r\n\r\n{"code"'
cell("body", "cut", "", "http", REFUSED_400, to_request(HALF_BODY, then=cut))
cell("body", "delayed", "", "http", REFUSED_400, to_request(HALF_BODY))
cell("body", "garbled", "chunks", "http", REFUSED_400,
     to_request("HTTP/1.1 400 Bad Request\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n"))
cell("body", "garbled", "length", "protocol", "the server's HTTP header is malformed",
     to_request("HTTP/1.1 400 Bad Request\r\nContent-Length: x\r\n\r\n"))
cell("body", "oversized", "without end", "http", REFUSED_400, to_request("HTTP/1.1 400 Bad Request\r\n\r\n", then=endless))
cell("body", "foreign", "another refusal", "http", "the server answered HTTP 502 Bad Gateway instead of opening a WebSocket",
     to_request(answer("502 Bad Gateway", "<html>down</html>", HTML)))
cell("body", "foreign", "behind the 101", "http", "the server answered HTTP 502 Bad Gateway instead of opening a WebSocket",
     after_101(answer("502 Bad Gateway")))

cell("frame", "cut", "after the 101", "closed", NO_CLOSE + BEFORE_OPEN, after_101(then=cut))
cell("frame", "cut", "within a frame", "closed", NO_CLOSE + BEFORE_OPEN, after_101(b"\x81\x50abc", then=cut))
cell("frame", "cut", "reset", "closed", LOST + BEFORE_OPEN, after_101(then=reset))
cell("frame", "cut", "with a code", "closed", "the server closed the WebSocket with code 1002 (bye)" + BEFORE_OPEN,
     after_101(frame(CLOSE, b"\x03\xeabye")))
cell("frame", "delayed", "within a frame", "timeout", "the server sent no Engine.IO handshake in time", after_101(b"\x81\x50abc"))
cell("frame", "garbled", "masked", "protocol", FRAMES, after_101(b"\x81\x81\x00\x00\x00\x00" + b"2"))
cell("frame", "garbled", "reserved bits", "protocol", FRAMES, after_101(frame(TEXT, b"2", reserved=4)))
cell("frame", "garbled", "text", "protocol", "the server sent text that is not valid UTF-8", after_101(frame(TEXT, b"\xff")))
cell("frame", "oversized", "", "too_large", OVER_LIMIT, after_101(OVERSIZED_FRAME))
cell("frame", "foreign", "plain WebSocket, text", "protocol", FOREIGN, after_101(text("welcome")))
cell("frame", "foreign", "plain WebSocket, JSON", "protocol", FOREIGN, after_101(text('{"type":"welcome"}')))
cell("frame", "foreign", "plain WebSocket, binary", "protocol", FOREIGN, after_101(frame(BINARY, b"abc")))
cell("frame", "foreign", "plain WebSocket, empty", "protocol", FOREIGN, after_101(text("")))
cell("frame", "foreign", "plain WebSocket, silent", "timeout", "the server sent no Engine.IO handshake in time", after_101())

cell("open", "cut", "closed by packet", "closed", "the server closed the session" + BEFORE_OPEN, after_101(text("1")))
cell("open", "delayed", "in fragments", "timeout", "the server sent no Engine.IO handshake in time",
     after_101(frame(TEXT, OPEN[:9].encode(), final=False)))
cell("open", "garbled", "no JSON", "protocol", "the server's Engine.IO handshake is not JSON", after_101(text("0{")))
cell("open", "garbled", "no sid", "protocol", "the server's Engine.IO handshake has no usable sid", after_101(text("0{}")))
cell("open", "garbled", "twice", "protocol", "the server sent a second Engine.IO handshake", after_101(text(OPEN), text(OPEN)))
cell("open", "oversized", "", "protocol", "the server's Engine.IO handshake is too long", after_101(text("0" + " " * 20_000 + "{}")))
cell("open", "foreign", "a message instead", "protocol", FOREIGN, after_101(text('42["e"]')))

cell("namespace", "cut", "", "closed", NO_CLOSE + BEFORE_40, after_open(then=cut))
cell("namespace", "cut", "reset", "closed", LOST + BEFORE_40, after_open(then=reset))
cell("namespace", "cut", "ended", "kicked", "the server disconnected the namespace /", after_open(text("41")))
cell("namespace", "delayed", "", "timeout", "the server did not answer the request for the namespace in time", after_open())
cell("namespace", "garbled", "no JSON", "protocol", PAYLOAD, after_open(text("40[")))
cell("namespace", "garbled", "a list", "protocol", PAYLOAD, after_open(text('40["x"]')))
cell("namespace", "garbled", "no id", "protocol", "the server accepted a namespace without giving it an id", after_open(text("40")))
cell("namespace", "oversized", "", "too_large", OVER_LIMIT, after_open(text('40{"sid":"' + "x" * 100_000 + '"}')))
cell("namespace", "oversized", "events before it", "too_large",
     "the server sent too many events before it accepted the namespace", after_open(text('42["e"]') * 10_001))
cell("namespace", "foreign", "refused", "refused", "the server refused the namespace /: go away",
     after_open(text('44{"message":"go away"}')))
cell("namespace", "foreign", "another one", "timeout", "the server did not answer the request for the namespace in time",
     after_open(text('40/other,{"sid":"x"}')))

ATTACHMENTS = text('452-["e",{"_placeholder":true,"num":0},{"_placeholder":true,"num":1}]')
cell("event", "cut", "", "closed", NO_CLOSE, joined(then=cut))
cell("event", "cut", "within fragments", "closed", NO_CLOSE, joined(frame(TEXT, b'42["e"', final=False), then=cut))
cell("event", "cut", "reset", "closed", LOST, joined(then=reset))
cell("event", "cut", "with a code", "closed", "the server closed the WebSocket with code 1001 (going away)",
     joined(frame(CLOSE, b"\x03\xe9going away")))
cell("event", "delayed", "attachments", "protocol", "the server announced attachments and did not send them in time",
     joined(ATTACHMENTS, frame(BINARY, b"x")))
cell("event", "garbled", "no attachment count", "protocol",
     "the server sent a Socket.IO packet with a malformed attachment count", joined(text('45["e"]')))
cell("event", "garbled", "stray binary", "protocol", "the server sent binary data that belongs to no packet",
     joined(frame(BINARY, b"x")))
cell("event", "garbled", "unknown packet", "protocol", "the server sent an unknown Engine.IO packet", joined(text("x")))
cell("event", "garbled", "unknown Socket.IO packet", "protocol", "the server sent an unknown Socket.IO packet", joined(text("49")))
cell("event", "oversized", "", "too_large", OVER_LIMIT, joined(text('42["e","' + "x" * 100_000 + '"]')))
cell("event", "oversized", "attachments together", "too_large", "the server sent a message with attachments beyond 65536 bytes",
     joined(ATTACHMENTS, frame(BINARY, b"x" * 40_000), frame(BINARY, b"x" * 40_000)))
cell("event", "oversized", "too many attachments", "protocol", "the server sent a message with more than 10 attachments",
     joined(text('4511-["e"]')))
cell("event", "foreign", "kicked", "kicked", "the server disconnected the namespace /", joined(text("41")))

cell("heartbeat", "cut", "", "closed", NO_CLOSE, joined(text("2"), then=cut_when_answered))
cell("heartbeat", "delayed", "silent", "heartbeat", "the server fell silent: its heartbeat is overdue",
     joined(interval=100, timeout=100))
cell("heartbeat", "garbled", "too much data", "protocol", "the server sent a ping with too much data", joined(text("2" + "x" * 200)))
cell("heartbeat", "oversized", "", "too_large", OVER_LIMIT, joined(text("2" + "x" * 100_000)))

SHARED = {
    "the server closed the connection before it answered the WebSocket handshake": "however much of an answer had come",
    TLS_FAILED + "the server closed the connection": "however much of the handshake had been read",
    "{place} did not finish the TLS handshake within 250 ms": "however much of it had come",
    TLS_FAILED + "…": "the rest is OpenSSL's own reason",
    NO_TLS: "whatever it is, it is no TLS",
    "the server did not answer the WebSocket handshake in time": "however much of an answer had come",
    NO_HTTP: "whatever it is, it is no HTTP",
    "the server's HTTP header is malformed": "the same mistake in two headers",
    LONG_HEAD: "one limit for all heads of an answer together",
    REFUSED_400: "the status says it; a body only explains",
    "the server answered HTTP 502 Bad Gateway instead of opening a WebSocket": "the status says it",
    NO_CLOSE + BEFORE_OPEN: "however much of a frame had come",
    NO_CLOSE: "however much of a message had come",
    "the server sent no Engine.IO handshake in time": "however much of it had come",
    FRAMES: "one sentence for a peer that speaks WebSocket wrongly",
    FOREIGN: "whatever it said, it was no handshake",
    OVER_LIMIT: "one limit for every message",
    PAYLOAD: "one sentence for packets that are framed well and mean nothing",
    "the server did not answer the request for the namespace in time": "an answer for another namespace is none",
    "the server disconnected the namespace /": "before and after the acceptance",
}
"""Sentences of several cells, and why they need no words of their own."""
