"""A local program in Python, for set-ups that the reader does not know."""

import json
import socket


class Local:
    """One connection to the daemon; many calls at a time."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(120)
        self.socket.connect(path)
        self.lines = self.socket.makefile("rb")

    def calls(self, method, params):
        """Calls once for each of the params, as many at a time as the daemon allows; their results in order."""
        results = {}
        for first in range(0, len(params), 200):
            batch = params[first : first + 200]
            self.socket.sendall(
                b"".join(
                    json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": one}).encode() + b"\n"
                    for number, one in enumerate(batch, first)
                )
            )
            while len(results) < first + len(batch):
                answer = json.loads(self.lines.readline())
                if "id" not in answer:
                    continue
                if "result" not in answer:
                    raise RuntimeError(f"refused: {answer}")
                results[answer["id"]] = answer["result"]
        return [results[number] for number in range(len(params))]

    def call(self, method, params):
        return self.calls(method, [params])[0]

    def events(self, count):
        """Reads until so many notifications of events have come."""
        while count:
            line = self.lines.readline()
            if not line:
                raise RuntimeError("the daemon is gone")
            count -= b'"method":"event"' in line

    def close(self):
        self.lines.close()
        self.socket.close()
