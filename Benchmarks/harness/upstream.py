"""An upstream for what the blaster cannot do: TLS, many namespaces, and events with many names. Socket.IO 5, WebSocket only.

    upstream.py [CERTIFICATE KEY]

Prints its port. Each line on stdin, `emit COUNT PREFIX [NAMESPACE]`, sends the events PREFIX0, PREFIX1 … to every link."""

import asyncio
import base64
import hashlib
import ssl
import struct
import sys

OPEN = '0{"sid":"upstream","upgrades":[],"pingInterval":60000,"pingTimeout":60000,"maxPayload":1000000}'
TEXT, CLOSE, PING, PONG = 1, 8, 9, 10


def frame(opcode, payload):
    count = len(payload)
    if count < 126:
        return bytes([0x80 | opcode, count]) + payload
    return bytes([0x80 | opcode, 126]) + struct.pack(">H", count) + payload


async def read_frame(reader):
    first, second = await reader.readexactly(2)
    count = second & 127
    if count == 126:
        count = struct.unpack(">H", await reader.readexactly(2))[0]
    mask = await reader.readexactly(4)
    payload = bytes(byte ^ mask[index & 3] for index, byte in enumerate(await reader.readexactly(count)))
    return first & 15, payload


async def upgrade(reader, writer):
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    key = next(line.split(":", 1)[1].strip() for line in head.split("\r\n") if line.lower().startswith("sec-websocket-key:"))
    accept = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
    writer.write(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Accept: {accept}\r\n\r\n".encode()
    )
    writer.write(frame(TEXT, OPEN.encode()))


async def serve(links, reader, writer):
    try:
        await upgrade(reader, writer)
        links.add(writer)
        while True:
            opcode, payload = await read_frame(reader)
            if opcode == PING:
                writer.write(frame(PONG, payload))
            elif opcode == CLOSE:
                break
            elif payload.startswith(b"40"):
                name = payload[2 : payload.index(b",") + 1] if payload.startswith(b"40/") else b""
                writer.write(frame(TEXT, b"40" + name + b'{"sid":"namespace"}'))
    except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
        pass
    finally:
        links.discard(writer)
        writer.close()


async def emit(links, count, prefix, namespace=""):
    space = namespace + "," if namespace else ""
    for first in range(0, int(count), 100):
        events = b"".join(
            frame(TEXT, f'42{space}["{prefix}{number}",{number}]'.encode())
            for number in range(first, min(first + 100, int(count)))
        )
        for link in list(links):
            link.write(events)
            await link.drain()


async def main(arguments):
    links = set()
    context = None
    if arguments:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*arguments)
    server = await asyncio.start_server(lambda r, w: serve(links, r, w), "127.0.0.1", 0, ssl=context, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    orders = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    while line := await orders.readline():
        await emit(links, *line.decode().split()[1:])


asyncio.run(main(sys.argv[1:]))
