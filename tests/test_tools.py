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


MUTATED = '''
"""Nothing of this: 1."""
ROWS_AT_ONCE = 64
LIMIT = 3

@dataclass(frozen=True)
class Row:
    size: int = 5

def middle(rows: int = 2, *, batch_size: int = 512) -> int:
    if rows < LIMIT and not rows:
        raise ValueError(f"{rows + 1} rows")
    for one, other in zip([1], [2], strict=True):
        table = {"opacity": 0.2, "at": lambda: one.sum(dim=-1)}
    return -rows // 2
'''


def test_changes_leave_out_what_no_test_should_notice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parent.parent / "tools")
    changes = pytest.importorskip("mutants.changes")
    path = tmp_path / "module.py"
    path.write_text(MUTATED)
    made = changes.mutants_of(path)
    assert sorted((each.line, each.change) for each in made) == [
        (4, "3 to 4"),
        (8, "5 to 6"),
        (10, "2 to 3"),
        (11, "< to <="),
        (11, "and to or"),
        (11, "not x to x"),
        (13, "1 to 2"),
        (13, "2 to 3"),
        (14, "1 to 2"),  # the number of `dim=-1`, not its sign
        (15, "-x to x"),
        (15, "// to *"),
        (15, "2 to 3"),
    ]
    assert {each.function for each in made if each.line in (4, 8, 10)} == {0}
    assert {each.function for each in made if each.line > 10} == {10}
    (changed,) = (each for each in made if each.change == "// to *")
    names: dict[str, Any] = {"dataclass": lambda **_: lambda given: given}
    exec(changed.code(), names)
    assert names["middle"](4) == -8


def test_weights_are_averaged_by_their_shares(repository_tool: Tool, tmp_path: Path) -> None:
    from offscript.factcheck.inference.model import ASSET, GRAPH
    from offscript.factcheck.inference.served_weights import served_weights

    tool = repository_tool("average_inference")
    other = tmp_path / GRAPH
    other.write_bytes((ASSET / GRAPH).read_bytes())
    whole = served_weights(ASSET / GRAPH)
    found = tool.averaged({ASSET: 0.25, tmp_path: 0.75})
    assert found.keys() == whole.keys()
    assert all(float(abs(found[name].numpy() - whole[name]).max()) < 1e-6 for name in whole)
    with pytest.raises(SystemExit, match=r"add up to 0\.75, not to 1"):
        tool.averaged({ASSET: 0.25, tmp_path: 0.5})
