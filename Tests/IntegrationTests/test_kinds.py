"""The measure of the architecture: a kind of upstream is known by name in its own folder and in a handful of lines."""

import re

import pytest

from programs import ROOT

SOURCES = sorted((ROOT / "Sources").rglob("*.swift"))


def settings_of(kind):
    """The settings that a kind alone has: what they are, and how they are read."""
    return [f"GatewayCore/Upstream/Settings/{kind}", f"GatewayCore/Configuration/Schema/{kind}"]


FOLDERS = {
    "SocketIO": ["GatewayCore/Kinds/SocketIO"],
    "PlainWebSocket": ["GatewayCore/Kinds/WebSocket", *settings_of("PlainWebSocket")],
    "Lines": ["GatewayCore/Kinds/Lines", *settings_of("Lines")],
    "WAMP": ["GatewayCore/Kinds/WAMP", *settings_of("WAMP"), "gatewayd/Cryptography"],
}
"""By the beginning of a kind's names: where they may be used."""

REGISTRATIONS = {
    "GatewayCore/Gateway/KindRegistry.swift": 3,
    "GatewayCore/Upstream/Settings/UpstreamSettings.swift": 1,
    "GatewayCore/Configuration/Schema/UpstreamSchema.swift": 1,
    "gatewayd/Daemon.swift": 2,
}
"""Where each kind is registered and configured, and in how many lines at most."""


def code(path):
    """The lines without comments."""
    return [line.split("//")[0] for line in path.read_text().splitlines()]


@pytest.mark.parametrize("kind", FOLDERS)
def test_a_kind_is_named_in_its_own_folder_and_where_it_is_registered(kind):
    strangers = {}
    for path in SOURCES:
        place = str(path.relative_to(ROOT / "Sources"))
        if place.startswith(tuple(FOLDERS[kind])):
            continue
        count = sum(1 for line in code(path) if re.search(rf"\b{kind}[A-Z]\w*", line))
        if count > REGISTRATIONS.get(place, 0):
            strangers[place] = count
    assert strangers == {}


def test_every_kind_is_held_to_it():
    kinds = ROOT / "Sources" / "GatewayCore" / "Kinds"
    held = {folder for folders in FOLDERS.values() for folder in folders}
    assert {f"GatewayCore/Kinds/{folder.name}" for folder in kinds.iterdir() if folder.is_dir()} <= held


def test_nobody_asks_what_kind_an_upstream_is():
    names = "|".join(FOLDERS)
    asking = re.compile(
        rf'\.kind\s*[!=]=\s*"|\bis\s+({names})[A-Z]|\bas[?!]\s+({names})[A-Z]|case\s+"(socketio|websocket|lines|wamp)"')
    found = [f"{path.name}: {line.strip()}" for path in SOURCES for line in code(path) if asking.search(line)]
    assert found == []
