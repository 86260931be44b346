"""Notebooks kept as scripts: `docs/notebooks/NAME.py` is run by `make docs` and rendered as a page.

A script is divided into cells by lines that begin with `# %%`, as editors and jupytext know them; `# %% [markdown]`
begins a cell of text in comments. What a cell prints, and the value of its last expression, stand below it: a Vega-Lite
specification as a picture, a table as a table, anything else as text. A cell that fails stops the build.
"""

import ast
import base64
import contextlib
import html
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = "notebooks"
_DIVIDER = re.compile(r"^# %%(?P<text> \[markdown\])?.*$", re.MULTILINE)


@dataclass(frozen=True)
class Cell:
    """A cell: its source, the line it begins at, and whether it is text."""

    source: str
    line: int
    is_text: bool


def cells_of(script: str) -> list[Cell]:
    """The cells of a script that are not empty.

    Args:
        script: The text of the file; what stands before the first divider is left out.

    Returns:
        The cells in order.
    """
    dividers = list(_DIVIDER.finditer(script))
    ends = [each.start() for each in dividers[1:]] + [len(script)]
    found = []
    for divider, end in zip(dividers, ends, strict=True):
        source = script[divider.end() : end].lstrip("\n")
        line = script.count("\n", 0, end - len(source)) + 1
        found.append(Cell(source.rstrip(), line, bool(divider["text"])))
    return [cell for cell in found if cell.source]


def render(path: Path) -> str:
    """Run a script cell by cell in one namespace, and show every cell with its outputs as Markdown.

    Args:
        path: The script.

    Returns:
        The page.
    """
    names: dict[str, Any] = {"__name__": "__notebook__"}
    parts = []
    for cell in cells_of(path.read_text(encoding="utf-8")):
        if cell.is_text:
            parts.append(re.sub(r"^# ?", "", cell.source, flags=re.MULTILINE))
            continue
        parts += [f"```py\n{cell.source}\n```", *_run(cell, path, names)]
    parts.append(f"[This page as a script]({path.name}).")
    return "\n\n".join(parts) + "\n"


def _run(cell: Cell, path: Path, names: dict[str, Any]) -> list[str]:
    """The outputs of a cell: what it prints, then the value of its last expression."""
    tree = ast.increment_lineno(ast.parse(cell.source), cell.line - 1)
    last = ast.Expression(tree.body.pop().value) if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, str(path), "exec"), names)
        if last is not None:
            value = eval(compile(last, str(path), "eval"), names)
    return [_text(printed.getvalue())] * bool(printed.getvalue()) + [_shown(value)] * (value is not None)


def _text(text: str) -> str:
    return f'<pre class="output" style="white-space: pre-wrap">{html.escape(text.rstrip())}</pre>'.replace(
        "\n", "&#10;"
    )


def _shown(value: Any) -> str:
    if isinstance(value, dict) and "vega-lite" in str(value.get("$schema")):
        import vl_convert

        picture = base64.b64encode(vl_convert.vegalite_to_svg(value).encode()).decode()
        return f'<img alt="The chart that the cell above draws" src="data:image/svg+xml;base64,{picture}">'
    if hasattr(value, "_repr_html_"):
        return str(value._repr_html_())
    return _text(repr(value))


def on_files(files: Any, config: Any) -> Any:
    """A hook of mkdocs: add the page of every notebook.

    Args:
        files: What the site is made of.
        config: Mkdocs' configuration.

    Returns:
        The files with the pages.
    """
    from mkdocs.structure.files import File

    for path in sorted((Path(config.docs_dir) / FOLDER).glob("*.py")):
        files.append(File.generated(config, f"{FOLDER}/{path.stem}.md", content=render(path)))
    return files
