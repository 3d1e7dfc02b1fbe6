"""Bytes in JSON lines, as the test servers and their tests write them: {"$bin": base64}."""

import base64


def to_json(value):
    """`value` with bytes written as {"$bin": base64}, so that it fits into a JSON line."""
    if isinstance(value, (bytes, bytearray)):
        return {"$bin": base64.b64encode(value).decode()}
    if isinstance(value, (list, tuple)):
        return [to_json(one) for one in value]
    if isinstance(value, dict):
        return {key: to_json(one) for key, one in value.items()}
    return value


def from_json(value):
    """The reverse of `to_json`."""
    if isinstance(value, dict) and set(value) == {"$bin"}:
        return base64.b64decode(value["$bin"])
    if isinstance(value, dict):
        return {key: from_json(one) for key, one in value.items()}
    if isinstance(value, list):
        return [from_json(one) for one in value]
    return value
