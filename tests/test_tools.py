"""The documentation's own tools: notebooks are run and rendered, and broken links are found."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Tool = Callable[[str], Any]
SCRIPT = """# %% [markdown]
# # Title
#
# Text with *stars*.

# %%
number = 2
print("<b>", number)
number + 1

# %%
{"$schema": "https://vega.github.io/schema/vega-lite/v5.json", "mark": "point", "data": {"values": [{"x": 1}]},
 "encoding": {"x": {"field": "x", "type": "quantitative"}}}
"""


def test_a_notebook_shows_text_code_and_outputs(repository_tool: Tool, tmp_path: Path) -> None:
    path = tmp_path / "some.py"
    path.write_text(SCRIPT)
    page = repository_tool("notebooks").render(path)
    assert page.startswith("# Title\n\nText with *stars*.\n\n```py\nnumber = 2\n")
    assert "&lt;b&gt; 2</pre>" in page
    assert ">3</pre>" in page
    assert page.count("data:image/svg+xml;base64,") == 1


def test_a_notebook_that_fails_names_its_line(repository_tool: Tool, tmp_path: Path) -> None:
    path = tmp_path / "some.py"
    path.write_text("# %%\n\n1 / 0\n")
    with pytest.raises(ZeroDivisionError) as fault:
        repository_tool("notebooks").render(path)
    last = fault.traceback[-1]
    assert (Path(last.path).name, last.lineno + 1) == ("some.py", 3)


@pytest.mark.parametrize(
    ("link", "told"),
    [
        ("other.html#there", ""),
        ("#here", ""),
        ("other.html#nowhere", "no such anchor"),
        ("missing.html", "no such file"),
        ("images/missing.svg", "no such file"),
        ("https://elsewhere.example/x", ""),
    ],
)
def test_links_lead_somewhere(repository_tool: Tool, tmp_path: Path, link: str, told: str) -> None:
    (tmp_path / "page.html").write_text(f'<h1 id="here">a</h1><a href="{link}">b</a>')
    (tmp_path / "other.html").write_text('<h1 id="there">a</h1>')
    faults = repository_tool("check_links").broken_links(tmp_path)
    assert [fault.rpartition(": ")[2] for fault in faults] == ([told] if told else [])
