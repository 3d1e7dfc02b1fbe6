#!/usr/bin/env python3
"""The manual page gatewayd-protocol(7): protocol_page.py [--write]

Its methods and notifications are what the daemon says of itself (`rpc.discover`), its prose is that of docs/protocol.md, and
the exit codes are those of docs/cli.md. Without --write it fails where docs/man/gatewayd-protocol.7 is another page. The
daemon is that of $GATEWAY_BIN_DIR, or of .build/debug.
"""

import email.utils
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import textwrap

TOP = pathlib.Path(__file__).resolve().parent.parent
PAGE = TOP / "docs/man/gatewayd-protocol.7"
TARGET = ["upstream", "url", "namespace", "auth"]
REAL_INTEGERS = 2**53 - 1
CHARACTERS = {
    "→": r"\(->", "←": r"\(<-", "−": r"\-", "–": r"\(en", "…": "...", "×": r"\(mu", "±": r"\(+-", "·": "-", "“": r"\(lq", "”": r"\(rq",
}


# --- Markdown as roff ----------------------------------------------------------------------------------------------------

def literal(text):
    """Text as roff prints it."""
    text = text.replace("\\", r"\e").replace("-", r"\-").replace('"', r"\(dq").replace("'", r"\(aq").replace("`", r"\(ga")
    text = "".join(CHARACTERS.get(each, each) for each in text)
    if not text.isascii():
        raise ValueError(f"no roff for {[each for each in text if not each.isascii()]} in: {text}")
    return text


def inline(text):
    """A paragraph of Markdown: code and strong text are bold, emphasis is italic. A link is its words, and nothing where it
    stands alone in parentheses."""
    text = re.sub(r" \((?:\[[^]]*\]\([^)]*\)(?:, )?)+\)", "", text)
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    parts = re.split(r"(`` .*? ``|`[^`]*`|\*\*.*?\*\*|\*.*?\*)", text)
    out = []
    for part in parts:
        if part.startswith("`"):
            words = [rf"\%{literal(word)}" for word in part.strip("`").split(" ")]
            # What no line has room for may be broken behind its commas.
            words = [word.replace(",", r",\:") if len(word) > 40 else word for word in words]
            out.append(rf"\fB{' '.join(words)}\fR")
        elif part.startswith("**"):
            out.append(rf"\fB{literal(part.strip('*'))}\fR")
        elif part.startswith("*") and len(part) > 1:
            out.append(rf"\fI{literal(part.strip('*'))}\fR")
        else:
            out.append(literal(part))
    # Only at its beginning it keeps a word in one piece.
    return "".join(out).replace(r"[\fB\%", r"\%[\fB")


def lines(text):
    """Roff text in lines of at most 116 characters; none of them begins like a request, and each sentence begins one."""
    found = []
    for sentence in re.split(r"(?<=[.:;?!])(?: +)(?=[A-Z\\])", text):
        found += textwrap.wrap(sentence, 116, break_long_words=False, break_on_hyphens=False)
    return [rf"\&{line}" if line[0] in ".'" else line for line in found]


def tagged(tag, *texts):
    """One item of a list."""
    return [".TP", tag, *(line for text in texts if text for line in lines(text))]


def code(text):
    """An example, verbatim; lines that no terminal has room for go on below."""
    out = [".PP", ".RS 2", ".nf"]
    for line in text.splitlines():
        while len(line) > 74:
            cut = max(line.rfind(",", 0, 74), line.rfind(" ", 20, 73)) + 1 or 74
            out.append(literal(line[:cut].rstrip()))
            line = "    " + line[cut:].lstrip()
        out.append(literal(line))
    return [*out, ".fi", ".RE"]


def table_rows(text):
    """The rows of the table of a Markdown text, each a list of cells, without its head."""
    rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in text.splitlines() if line.startswith("|")]
    return [row for row in rows[1:] if not set("".join(row)) <= set("-: ")]


def table(text, head):
    """A table as a list. The cells behind the first are told by the names of their columns, where these have some."""
    names = [name.strip() for name in head.strip("|").split("|")]
    out = []
    for row in table_rows(text):
        word, _, meaning = row[0].partition(": ")
        more = [f"{name}: {cell}".removeprefix(": ") for name, cell in zip(names[1:], row[1:]) if cell]
        out += tagged(inline(word), inline("; ".join([meaning] * bool(meaning) + more) + "."))
    return out


def blocks(text):
    """The blocks of a Markdown text: paragraphs, tables, lists, examples."""
    block = []
    for line in [*text.splitlines(), ""]:
        if block and block[0].startswith("```"):
            block.append(line)
            if line == "```":
                yield "\n".join(block)
                block = []
        elif line and block and not line.startswith("```") and line.startswith("|") == block[0].startswith("|"):
            block.append(line)
        else:
            if block:
                yield "\n".join(block)
            block = [line] if line else []


def prose(text):
    """A section of the document."""
    out = []
    for block in blocks(text):
        if block.startswith("```"):
            out += code(block.split("\n", 1)[1].rsplit("\n", 1)[0])
        elif block.startswith("|"):
            out += table(block, block.split("\n", 1)[0])
        elif block.startswith("* "):
            for item in re.split(r"^\* ", block, flags=re.M)[1:]:
                out += [r".IP \(bu 2", *lines(inline(item.strip()))]
        else:
            out += [".PP", *lines(inline(block))]
    return out


class Document:
    """A Markdown document, by its headings."""

    def __init__(self, path):
        self.text = path.read_text()

    def section(self, heading):
        """What stands below a heading, up to the next one of its rank or above."""
        rank = "|".join("#" * count + " " for count in range(1, heading.count("#") + 1))
        found = re.search(rf"^{re.escape(heading)}\n(.*?)(?=^(?:{rank})|\Z)", self.text, flags=re.M | re.S)
        if not found:
            raise ValueError(f"there is no section {heading}")
        return found[1].strip("\n")

    def blocks(self, heading, *beginnings):
        """Those blocks of a section that begin so, in that order."""
        parts = list(blocks(self.section(heading)))
        return "\n\n".join(next(part for part in parts if part.startswith(beginning)) for beginning in beginnings)


# --- Schemas in words ----------------------------------------------------------------------------------------------------

def number(value):
    return f"{value:,}".replace("-", "−")


def value_words(schema):
    """What a param may be."""
    if "anyOf" in schema:
        return " or ".join(map(value_words, schema["anyOf"]))
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    match schema.get("type"):
        case "integer" if abs(schema["minimum"]) == schema["maximum"] == REAL_INTEGERS:
            return "integer"
        case "integer":
            return f"{number(schema['minimum'])} to {number(schema['maximum'])}"
        case "string" if "maxLength" in schema:
            return f"text of {schema.get('minLength', 0)} to {number(schema['maxLength'])} bytes"
        case "array" if "maxItems" in schema:
            return f"{schema['minItems']} to {number(schema['maxItems'])} × {value_words(schema['items'])}"
        case "object" if schema.get("properties"):
            return "object of " + " and ".join(
                f"`{name}` ({value_words(each)})" for name, each in schema["properties"].items())
        case "boolean":
            return "true or false"
        case kind:
            return kind or "anything"


def sentence_part(text):
    """A description inside of a sentence."""
    text = text.removesuffix(".")
    return text[0].lower() + text[1:] if text[:2].istitle() or text[:1] == "A" else text


def members(schema):
    """What a result holds: names, in brackets those that are not always there, with what they mean or hold in turn."""
    out = []
    for name, each in schema.get("properties", {}).items():
        word = f"`{name}`" if name in schema.get("required", []) else f"[`{name}`]"
        inner = next((one for one in each.get("anyOf", [each]) if one.get("type") != "null"), each)
        is_list = inner.get("type") == "array"
        if is_list:
            inner = inner["items"]
        if "description" in each:
            word += f" ({sentence_part(each['description'])})"
        elif "enum" in inner and len(inner["enum"]) <= 8:
            word += f" ({value_words(inner)})"
        if inner.get("properties"):
            word += f" {'[{' if is_list else '{'} {members(inner)} {'}]' if is_list else '}'}"
        out.append(word)
    return ", ".join(out)


# --- The page ------------------------------------------------------------------------------------------------------------

def described_method(method, errors):
    """A method: what it does, its right, params, result and errors."""
    out = [f".SS {literal(method['name'])}", *lines(inline(method["summary"]))]
    params = {param["name"]: param for param in method["params"]}
    names = list(params)
    if names[: len(TARGET)] == TARGET:
        is_needed = "is needed" in params["url"]["summary"]
        names = names[len(TARGET) :]
        what = "A *target* is required." if is_needed else "A *target* is optional."
        out += [".PP", *lines(inline(what))]
    for name in names:
        param = params[name]
        required = "; required" if param["required"] else ""
        out += tagged(rf"\fB{literal(name)}\fR ({inline(value_words(param['schema']))}{required})", inline(param["summary"]))
    if method["name"] == "rpc.discover":
        out += [".PP", "Result: an OpenRPC document."]
    else:
        out += described_result(method["result"]["schema"])
    if errors[method["name"]] != "nothing else":
        out += [".PP", *lines(inline(f"Errors: {errors[method['name']]}."))]
    right = method["x-right"]
    out += [".PP", *lines(inline(f"Right: `{right}`." if right else "Right: none."))]
    return out


def described_result(schema):
    """What a method answers; a long result by its members."""
    words = members(schema)
    if len(words) < 1_000:
        return [".PP", *lines(inline(f"Result: {words}." if words else "Result: `{}`."))]
    out = [".PP", "Result:"]
    for name, each in schema["properties"].items():
        word, _, more = members({"properties": {name: each}, "required": schema["required"]}).partition(" ")
        out += tagged(inline(word), inline(f"{more}."))
    return out


def described_notification(notification):
    return tagged(rf"\fB{literal(notification['name'])}\fR",
                  inline(f"{notification['summary']} {members(notification['params'])}."))


def method_errors(protocol):
    """The words of the document about the errors of each method."""
    items = re.findall(r"^\* (`.*?`): (.*)$", protocol.section("## Errors"), re.M)
    return {name: words for names, words in items for name in re.findall(r"`([a-z.]+)`", names)}


def described_errors(description, protocol, cli):
    """Each error with its code, the exit code of gatewayctl, and what it carries."""
    documented = {row[1].partition(":")[0]: row for row in table_rows(protocol.section("## Errors"))}
    exits = {name: row[0] for row in table_rows(cli.section("## Exit codes").split("\n\n")[0])
             for name in re.findall(r"[A-Z]\w+", row[2])}
    out = []
    for error in description["x-errors"]:
        more, retry = documented[error["type"]][2], {True: "yes", False: "no", None: "the caller judges"}[error["retry"]]
        exit_code = exits[error["type"]]
        facts = f" In `data`: {more}." if more else ""
        out += tagged(rf"\fB{error['type']}\fR ({literal(str(error['code']))}, exit {exit_code}, retry: {retry})",
                      inline(f"{error['message']}{facts}"))
    return out


def page(description, top=TOP):
    """The whole page, as text.
    description: the result of `rpc.discover`.
    """
    protocol, cli = Document(top / "docs/protocol.md"), Document(top / "docs/cli.md")
    changelog = (top / "debian/changelog").read_text()
    version = re.match(r"\S+ \((.*?)\)", changelog)[1]
    day = email.utils.parsedate_to_datetime(re.search(r"^ -- .*>  (.*)$", changelog, re.M)[1]).date()
    errors = method_errors(protocol)
    out = [
        r'.\" Written by "make documents" from docs/protocol.md and from what the daemon says of itself; change those.',
        f'.TH GATEWAYD\\-PROTOCOL 7 {day} "gatewayd {version}" "Miscellaneous Information"',
        ".ad l",
        ".SH NAME",
        r"gatewayd\-protocol \- the local protocol of gatewayd: JSON\-RPC 2.0 over a Unix\-domain socket",
        ".SH SYNOPSIS",
        r".B echo \(aq{\(dqjsonrpc\(dq:\(dq2.0\(dq,\(dqid\(dq:1,\(dqmethod\(dq:\(dqping\(dq}\(aq | nc \-N \-U /run/gatewayd.sock",
        ".SH DESCRIPTION",
        *lines(inline(next(blocks(protocol.text.split("\n", 1)[1])))),
        ".PP",
        *lines(inline(next(block for block in blocks(protocol.text) if block.startswith("This is version")))),
        ".PP",
        "This page is the reference in short.",
        r"What happens to a message, in order and under failure, is told by \fIprotocol.md\fR in",
        r".IR /usr/share/doc/gatewayd/docs ,",
        "and a running daemon describes itself:",
        ".BR \"gatewayctl introspect\" .",
        ".SH THE SOCKET", *prose(protocol.section("## The socket"))[1:],
        ".SH LINES", *prose(protocol.section("## Lines")),
        ".SH A SESSION", *prose(protocol.section("## A session"))[1:],
        ".SH TARGETS", *prose(protocol.section("## Naming an upstream"))[1:],
        ".SH PAYLOADS", *prose(protocol.section("## Payloads"))[1:],
        ".SH METHODS",
        "Params stand with what they may be; those without \\(lqrequired\\(rq may be left out.",
        "A member of a result in brackets is not always there.",
        "The errors are those of the method itself; those that any call may have stand below ERRORS.",
    ]
    for method in description["methods"]:
        out += described_method(method, errors)
    out += [
        ".SH NOTIFICATIONS",
        "What the daemon sends by itself, with its params.",
        *[line for each in description["x-notifications"] for line in described_notification(each)],
        *prose(protocol.blocks("## Notifications", "**Gaps.**", "**States.**", "| state |")),
        ".SH WHY A CONNECTION IS DOWN", *prose(protocol.section("## Why a connection is down"))[1:],
        ".SH ERRORS",
        *prose(protocol.blocks("## Errors", "`{"))[1:],
        ".PP",
        *lines(inline(protocol.blocks("## Errors", "**Which call").removesuffix(" Besides:").split("** ", 1)[1])),
        ".PP",
        "The exit codes are those of",
        ".BR gatewayctl (1).",
        *described_errors(description, protocol, cli),
        ".SH RIGHTS", *prose(protocol.section("## Rights"))[1:],
        ".SH LIMITS", *prose(protocol.section("## Limits"))[1:],
        ".SH FILES",
        ".TP", ".I /run/gatewayd.sock", "The socket of the system\\(aqs daemon.",
        ".TP", r".I $XDG_RUNTIME_DIR/gatewayd.sock", "That of a user\\(aqs own.",
        ".SH SEE ALSO", ".BR gatewayctl (1),", ".BR nc (1),", ".BR gatewayd.toml (5),", ".BR unix (7),", ".BR gatewayd (8)",
    ]
    return "\n".join(out) + "\n"


def ask_daemon(program):
    """What `rpc.discover` answers, by a daemon of its own that ends with the question."""
    with tempfile.TemporaryDirectory(prefix="gw-") as folder:
        path, empty = f"{folder}/s", f"{folder}/gatewayd.toml"
        pathlib.Path(empty).touch()
        environment = os.environ | {"STATE_DIRECTORY": folder, "GATEWAYD_SOCKET": path}
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
            ready.bind(f"{folder}/ready")
            daemon = subprocess.Popen([program, "--config", empty], stderr=subprocess.DEVNULL,
                                      env=environment | {"NOTIFY_SOCKET": f"{folder}/ready"})
            try:
                ready.settimeout(60)
                while b"READY=1" not in ready.recv(4096):
                    pass
                with socket.socket(socket.AF_UNIX) as one:
                    one.connect(path)
                    one.sendall(b'{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}\n')
                    return json.loads(one.makefile().readline())["result"]
            finally:
                daemon.terminate()
                daemon.wait()


def main():
    binaries = pathlib.Path(os.environ.get("GATEWAY_BIN_DIR", TOP / ".build/debug"))
    text = page(ask_daemon(binaries / "gatewayd"))
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        print(f"{PAGE.relative_to(TOP)} is older than what it is made from: Tests/protocol_page.py --write", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
