"""docs/protocol.md against the daemon: methods, required params, members of `status`, reasons and errors."""

import json
import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs/protocol.md").read_text()


def section(method):
    """What the document says of a method: its own section, or its row of a table; else the lines that show it in use."""
    for part in re.split(r"^##+ ", DOCUMENT, flags=re.M):
        if f"`{method}`" in part.splitlines()[0]:
            return part
    rows = [line for line in DOCUMENT.splitlines() if line.startswith(f"| `{method}` |")]
    if rows:
        return rows[0]
    return "\n".join(line for line in DOCUMENT.splitlines() if f"`{method}`" in line or f'"{method}"' in line)


def example_params(text):
    """The params of the first example of a call: `{"subscription":"s1"}`, or a whole line."""
    example = re.search(r'"params":(\{.*?\})\}', text) or re.search(r"`(\{[^`]*\})`(?: →|, sent|\))", text)
    return set(json.loads(example[1])) if example else set()


async def described(daemons):
    client = await (await daemons()).client()
    return client, await client.call("rpc.discover")


async def test_every_param_of_every_method_is_documented_and_required_ones_are_marked(daemons):
    _, description = await described(daemons)
    target = {"upstream", "url", "namespace", "auth", "options"}
    for method in description["methods"]:
        text = section(method["name"])
        assert text, method["name"]
        for param in method["params"]:
            name = param["name"]
            if name in target and (("*target*" in text) or method["name"] == "request"):
                continue
            if param.get("required"):
                marked = f"`{name}`, required" in text or f"needs `{name}`" in text or name in example_params(text)
                # `request` is told as `send` with another answer.
                assert marked or method["name"] == "request", f"{method['name']} needs {name}: {text}"
            else:
                assert f"`{name}`, required" not in text, f"{method['name']} does not need {name}"
                if method["name"] != "request" and not method["name"].startswith("outbox."):
                    assert f"`{name}`" in text or f'"{name}"' in text, f"{method['name']} takes {name}: {text}"


async def test_the_example_of_status_has_the_members_that_there_are(daemons, chat):
    client, _ = await described(daemons)
    await client.call("subscribe", url=chat.url)
    await client.call("request", url=chat.url, event="echo")
    status = await client.call("status")
    example = json.loads(re.search(r"### `status`.*?```\n(.*?)```", DOCUMENT, re.S)[1])

    def members(value):
        return set(value) - {"status"} if isinstance(value, dict) else value

    assert members(example) == members(status)
    assert members(example["daemon"]) == members(status["daemon"])
    for each in ("connections", "clients"):
        assert members(example[each][0]) == members(status[each][0]), each
    for name, value in example["connections"][0].items():
        if isinstance(value, dict) and isinstance(status["connections"][0][name], dict) and name != "protocol":
            assert members(value) == members(status["connections"][0][name]), name


def test_every_reason_of_being_down_is_documented():
    source = (ROOT / "Sources/GatewayCore/Upstream/UpstreamFailure.swift").read_text()
    cases = re.findall(r'^  case (\w+)(?: = "(\w+)")?$', source.split("enum DownReason")[1].split("\n}")[0], re.M)
    table = DOCUMENT.split("## Why a connection is down")[1].split("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.M)) == {raw or name for name, raw in cases}


async def test_every_error_is_documented_with_its_code_and_whether_to_retry(daemons):
    _, description = await described(daemons)
    table = DOCUMENT.split("## Errors")[1].split("\n## ")[0]
    rows = {cells[1].partition(":")[0]: (int(cells[0].replace("−", "-")), cells[3]) for cells in (
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("| −"))}
    word = {True: "yes", False: "no", None: ""}
    assert rows == {each["type"]: (each["code"], word[each["retry"]])
                    for each in description["x-errors"]}


def bounds(schema):
    """The bounds of a schema as the document writes them; None where a param has none."""
    if "anyOf" in schema:
        return ", or ".join(map(bounds, schema["anyOf"]))
    if schema.get("type") == "integer":
        return f"{schema['minimum']:,} to {schema['maximum']:,}".replace("-", "−")
    if schema.get("type") == "string" and "maxLength" in schema:
        return f"{schema.get('minLength', 0):,} to {schema['maxLength']:,} bytes"
    if schema.get("type") == "array" and "maxItems" in schema:
        items = schema["items"]
        choices = items.get("anyOf", [items])
        elements = "messages with" if "properties" in choices[0] else "strings of"
        null = ", or `null`" if {"type": "null"} in choices[1:] else ""
        return f"{schema['minItems']:,} to {schema['maxItems']:,} {elements} {bounds(choices[0])}{null}"
    if "properties" in schema:
        return ", ".join(f"{'an' if name[0] in 'aeiou' else 'a'} `{name}` of {bounds(member)}"
                         for name, member in schema["properties"].items() if bounds(member)) or None
    return None


async def test_the_bounds_of_every_param_are_documented_with_its_default(daemons):
    _, description = await described(daemons)
    table = DOCUMENT.split("\n## Bounds of params")[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("| `")]
    used = set()
    for method in description["methods"]:
        for param in method["params"]:
            expected = bounds(param["schema"])
            if expected is None:
                continue
            where = f"{method['name']}: {param['name']}"
            found = [row for row in rows if row[0] == f"`{param['name']}`" and row[2] in ("", f"`{method['name']}`")]
            assert [row[1] for row in found] == [expected], where
            default = re.search(r"(\d+)[\w `]* unless given", param["summary"])
            if default:
                assert f"{int(default[1]):,}" in found[0][3], where
            used.add(tuple(found[0]))
    assert [row for row in rows if tuple(row) not in used] == []
