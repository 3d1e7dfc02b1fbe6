"""Writes the configuration of a test as TOML."""

import json


def value(thing):
    if isinstance(thing, bool):
        return "true" if thing else "false"
    if isinstance(thing, (int, float)):
        return str(thing)
    if isinstance(thing, str):
        return json.dumps(thing, ensure_ascii=False)
    if isinstance(thing, list):
        return "[" + ", ".join(value(one) for one in thing) + "]"
    if isinstance(thing, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {value(one)}" for key, one in thing.items()) + " }"
    raise TypeError(repr(thing))


def document(config):
    """Top-level dictionaries become tables, `upstream` one table per name, `access` an array of tables."""
    lines = []
    for section, content in config.items():
        if section == "upstream":
            for name, settings in content.items():
                lines += [f"[upstream.{json.dumps(name)}]"] + members(settings)
        elif section == "access":
            for rule in content:
                lines += ["[[access]]"] + members(rule)
        else:
            lines += [f"[{section}]"] + members(content)
    return "\n".join(lines) + "\n"


def members(table):
    return [f"{key} = {value(one)}" for key, one in table.items()] + [""]
