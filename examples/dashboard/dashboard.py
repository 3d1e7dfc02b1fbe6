#!/usr/bin/env python3
"""A dashboard that shows what cron measures on the machines: Flask-SocketIO takes `measure` and tells every browser.

    pip install flask-socketio
    python3 dashboard.py 8080            and a browser at http://localhost:8080

feed.sh beside it is what cron runs, crontab says when.
"""

import sys

from flask import Flask, jsonify
from flask_socketio import SocketIO, emit

PAGE = """<!doctype html>
<title>Load</title>
<h1>Load</h1>
<table id=table></table>
<script src="https://cdn.socket.io/4.8.1/socket.io.min.js"></script>
<script>
  const latest = {};
  const draw = (values) => {
    Object.assign(latest, values);
    table.replaceChildren(...Object.entries(latest).sort().map(([host, load]) => {
      const row = document.createElement("tr");
      for (const text of [host, load]) row.insertCell().textContent = text;
      return row;
    }));
  };
  io().on("measured", draw);
</script>
"""

app = Flask(__name__)
socketio = SocketIO(app, async_mode="threading")
latest = {}


@app.get("/")
def page():
    return PAGE


@app.get("/latest")
def show_latest():
    return jsonify(latest)


@socketio.on("connect")
def greet():
    emit("measured", latest)


@socketio.on("measure")
def measure(host, load):
    latest[host] = load
    emit("measured", {host: load}, broadcast=True)
    return "noted"


if __name__ == "__main__":
    socketio.run(app, port=int(sys.argv[1]) if len(sys.argv) > 1 else 8080, allow_unsafe_werkzeug=True)
