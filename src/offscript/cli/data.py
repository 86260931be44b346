"""`offscript data`: which public data sets experiments need, and where to get them."""

import typer

from offscript.cli._options import Json


def data(as_json: Json = False) -> None:
    """List the public data sets that experiments and recipes need, whether they are here, and where to get them.

    Example: OFFSCRIPT_DATA=~/data offscript data
    """
    import json

    from offscript.cli._results import show_rows
    from offscript.experiments.datasets import SOURCES, VARIABLE, Source, data_sets

    rows = []
    for each in data_sets():
        source = SOURCES.get(each.name, Source("", "", ""))
        rows.append(
            {
                "data set": each.name,
                "here": "yes" if not each.missing else "no",
                "about": source.about,
                "where to get it": source.place,
                "licence": source.licence,
                "missing": list(each.missing),
                "needed by": list(each.needed_by),
            }
        )
    if as_json:
        typer.echo(json.dumps(rows, ensure_ascii=False))
        return
    shown = ("data set", "here", "about", "where to get it")
    show_rows([{key: row[key] for key in shown} for row in rows])
    typer.echo(f"Put each set into a folder of that name, and set {VARIABLE} to the folder that holds them all.")
    typer.echo("--json also lists the missing files, the licences and who needs each set.")
