"""`offscript measure tagging`: how many words the shipped tagger gets right."""

from pathlib import Path
from typing import Annotated

import typer

from offscript.cli._options import Json


def tagging(
    treebank: Annotated[Path, typer.Argument(help="Sentences with universal parts of speech, in CoNLL-U.")],
    as_json: Json = False,
) -> None:
    """Accuracy of the part-of-speech tagger that ships, on a treebank."""
    from offscript._files import sha256_of
    from offscript.cli._results import show
    from offscript.factcheck.tagging.tagger import SHIPPED, WEIGHTS, PerceptronTagger, read_treebank
    from offscript.measures.tagging import measure_tagging

    sentences = list(read_treebank(treebank))
    recipe = {"tagger": sha256_of(SHIPPED / WEIGHTS), "treebank": str(treebank), "sha256": sha256_of(treebank)}
    found = measure_tagging(PerceptronTagger.load(SHIPPED), sentences, recipe=recipe)
    speed = found[0].n / found[0].seconds
    show(found, as_json=as_json, title=f"{treebank}, {speed:,.0f} words a second", words_per_second=speed)
