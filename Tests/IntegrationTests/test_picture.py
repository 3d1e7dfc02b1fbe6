"""The picture with which README.md begins is a session of the real programs, and shows them as they are now."""

import re
import xml.etree.ElementTree as xml

import pytest

from example_servers import PYTHON
from programs import BINARIES, ROOT

SVG = "{http://www.w3.org/2000/svg}"


def shown(picture):
    """What is typed and what is in bold: commands, headings and names, with every figure as 0. How wide columns are
    depends on the figures."""
    texts = [(one.text, one.get("font-weight") == "bold") for one in xml.parse(picture).iter(SVG + "text")]
    wanted = [text for text, is_bold in texts if is_bold or text.startswith("gatewayctl ")]
    return [" ".join(re.sub(r"\d+", "0", text).split()) for text in wanted]


async def test_the_picture_of_the_readme_shows_the_programs_as_they_are(folder, start_command):
    if not PYTHON.exists():
        pytest.skip(f"no {PYTHON}: run `make environments`")
    made = folder / "picture.svg"
    drawing = await start_command(PYTHON, ROOT / "docs" / "picture.py", "--bin", BINARIES, "--out", made)
    outcome = await drawing.outcome()
    assert (outcome.code, outcome.out, outcome.err) == (0, "", ""), outcome
    assert shown(made) == shown(ROOT / "docs" / "picture.svg"), "remake it: make picture"
    assert "gatewayctl status" in shown(made) and "DROPPED" in " ".join(shown(made))
