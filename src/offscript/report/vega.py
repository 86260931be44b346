"""Charts drawn: the JavaScript that a page holds once, or files of their own."""

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from offscript._files import cache_folder, write_text
from offscript.measures.charts import SCHEMA, Specification

CHART_FILES = (".svg", ".png", ".html")
WIDTH = 640


def vega_script() -> str:
    """Vega, Vega-Lite and vega-embed in one script; bundling takes seconds, so it is kept in the cache."""
    import vl_convert

    path: Path = cache_folder() / f"vega-{version('vl-convert-python')}.js"
    if not path.is_file():
        write_text(path, vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))
    return path.read_text(encoding="utf-8")


def check_chart_path(path: Path) -> None:
    """Refuse a name that `save_chart` could not write, before the work that leads to the chart."""
    from offscript.errors import OffscriptError

    if path.suffix not in CHART_FILES:
        raise OffscriptError(f"cannot write a chart to {path}", next=f"end its name in {', '.join(CHART_FILES)}")


def stacked(charts: Sequence[tuple[str, Specification]]) -> Specification:
    """Titled charts below each other, as one."""
    inner = [
        {**{key: part for key, part in chart.items() if key != "$schema"}, "title": title, "width": WIDTH}
        for title, chart in charts
    ]
    return {"$schema": SCHEMA, "vconcat": inner, "resolve": {"scale": {"color": "independent"}}}


def save_chart(specification: Specification, path: Path) -> None:
    """One chart as a file of its own: `.svg`, `.png`, or an `.html` page that opens offline.

    Args:
        specification: A Vega-Lite specification, such as a question's `charts` give.
        path: Where to write it; the ending decides the format.
    """
    import vl_convert

    from offscript._files import replacing

    check_chart_path(path)
    fixed = specification if "vconcat" in specification else {**specification, "width": WIDTH}
    kinds = {
        ".svg": lambda: vl_convert.vegalite_to_svg(fixed).encode(),
        ".png": lambda: vl_convert.vegalite_to_png(fixed, scale=2),
        ".html": lambda: vl_convert.vegalite_to_html(fixed, bundle=True).encode(),
    }
    with replacing(path) as temporary:
        temporary.write_bytes(kinds[path.suffix]())
