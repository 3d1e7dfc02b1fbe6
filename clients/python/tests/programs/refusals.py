"""A namespace that is refused, credentials, and a server that is not there."""
import sys

import socketio


def attempt(url, **options):
    sio = socketio.Client(reconnection=False)

    @sio.on("connect_error", namespace="*")
    def failed(namespace, data):
        print("connect_error", namespace, data["message"] if isinstance(data, dict) else "no server")

    @sio.on("connect", namespace="/auth")
    def connected():
        print("connected")

    try:
        sio.connect(url, **options)
        print("in", sorted(sio.namespaces))
        sio.disconnect()
    except socketio.exceptions.ConnectionError as error:
        print("ConnectionError", str(error) if "namespaces" in str(error) else "")
    print(sio.connected)


attempt(sys.argv[1], namespaces="/refused")
attempt(sys.argv[1], namespaces=["/wordless"])
attempt(sys.argv[1], namespaces=["/auth"])
attempt(sys.argv[1], namespaces=["/auth"], auth={"token": "let-me-in"})
attempt(sys.argv[1] + "/?token=let-me-in", namespaces=["/auth"])
attempt("http://127.0.0.1:1", namespaces=["/auth"])
