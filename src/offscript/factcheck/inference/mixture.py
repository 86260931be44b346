"""What the inference model learns from: one stream of examples, from sets whose licences allow shipped weights."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from offscript.errors import OffscriptError
from offscript.factcheck.inference.almanac import SOURCE as ALMANAC
from offscript.factcheck.inference.almanac import almanac_examples
from offscript.factcheck.inference.augmentation import augmented
from offscript.factcheck.inference.collections import read_collections
from offscript.factcheck.inference.examples import LABELS, Example, read_pairs
from offscript.factcheck.inference.fever import fever_examples, read_fever_training, titled, true_titles
from offscript.factcheck.inference.strangers import strangers
from offscript.factcheck.inference.templates import made_up

FEVER, FEVER_MADE, WIKIPEDIA_MADE, TEMPLATES = "fever", "fever+", "wikipedia+", "templates"
STRANGERS = "strangers"
DRAWN = (FEVER, FEVER_MADE, WIKIPEDIA_MADE, TEMPLATES, ALMANAC, STRANGERS)
_MADE_UP = 20_000
_ALMANAC = 6_000
_REWRITTEN = 30_000
_STRANGE = 0.5  # examples with a stranger's evidence, beside each set's own


class PairSet(NamedTuple):
    """Where a set is under the data folder, how many of its pairs are used at most, and its licence."""

    path: str
    most: int
    licence: str


SETS: dict[str, PairSet] = {
    "wikipedia-protocols": PairSet("nli-wikipedia-new-protocols/train.jsonl.xz", 30_000, "CC BY-SA 3.0"),
    "wikipedia-edits": PairSet("nli-wikipedia-semi-automatic/train.jsonl.xz", 13_500, "CC BY-SA 3.0"),
    "mnli": PairSet("nli-mnli/mnli.jsonl.xz", 28_000, "OANC"),
    "snli": PairSet("nli-snli/snli.jsonl.xz", 9_000, "CC BY-SA 4.0"),
    "counterfactual": PairSet("nli-counterfactual/train.jsonl.xz", 8_000, "Apache-2.0, CC BY-SA 4.0"),
    "negation": PairSet("nli-negation/train.jsonl.xz", 10_000, "MIT, CC0, CC BY-SA 4.0"),
    "conjunctions": PairSet("nli-conjunctions/train.jsonl.xz", 4_000, "MIT"),
    "scitail": PairSet("nli-scitail/scitail.jsonl.xz", 8_000, "Apache-2.0"),
    "creak": PairSet("creak/train.jsonl.xz", 5_000, "MIT"),
}
COLLECTIONS = {
    "scifact": "CC BY 4.0, ODC-By 1.0",
    "check-covid": "MIT",
    "fool-me-twice": "Apache-2.0, CC BY-SA",
}
"""Collections with a part to train on (`Collection.teaching`), and their licences."""

LICENCES = {
    FEVER: "CC BY-SA 3.0",
    ALMANAC: "GeoNames CC BY 4.0, Unicode CLDR, MIT, Wikipedia CC BY-SA 3.0",
    **{name: each.licence for name, each in SETS.items()},
    **COLLECTIONS,
}


def mixture(folder: Path, shares: Mapping[str, float], count: int, *, fever_claims: int, seed: int) -> list[Example]:
    """A stream of `count` examples in which every source has its share; a source that runs out begins again.

    Args:
        folder: Holds the data sets.
        shares: How much of the stream is from each source; they need not add up to one.
        count: Examples.
        fever_claims: Claims of FEVER to find evidence for.
        seed: Decides all draws.

    Returns:
        The examples, in the order in which they are learnt from.
    """
    check_sources(shares)
    random = np.random.default_rng(seed)
    pools = {name: _shuffled(pool, random) for name, pool in _pools(folder, shares, fever_claims, random)}
    names = [name for name in shares if pools.get(name)]
    chances = np.array([shares[name] for name in names])
    places = dict.fromkeys(names, 0)
    stream = []
    for choice in random.choice(len(names), count, p=chances / chances.sum()):
        name = names[choice]
        stream.append(pools[name][places[name] % len(pools[name])])
        places[name] += 1
    return stream


def check_sources(shares: Mapping[str, float]) -> None:
    """Refuse a source that there is not."""
    known = (*DRAWN, *SETS, *COLLECTIONS)
    if unknown := set(shares) - set(known):
        raise OffscriptError(f"no source {sorted(unknown)[0]!r}", next=f"choose from {', '.join(known)}")


def _pools(
    folder: Path, shares: Mapping[str, float], fever_claims: int, random: np.random.Generator
) -> Iterator[tuple[str, list[Example]]]:
    """The sources that have a share, each with its examples; last, claims of them all with evidence of strangers."""
    strange: list[Example] = []
    seed = int(random.integers(1 << 31))
    for name, pool in _own_pools(folder, shares, fever_claims, random):
        yield name, pool
        if shares.get(STRANGERS) and name != ALMANAC:
            strange += strangers(pool, int(_STRANGE * len(pool)), seed=seed)
    if strange:
        yield STRANGERS, strange


def _own_pools(
    folder: Path, shares: Mapping[str, float], fever_claims: int, random: np.random.Generator
) -> Iterator[tuple[str, list[Example]]]:
    """The sources that are read or made by themselves."""
    seeds = {name: int(random.integers(1 << 31)) for name in DRAWN}
    if shares.get(FEVER) or shares.get(FEVER_MADE):
        with tempfile.TemporaryDirectory() as scratch:
            titles = true_titles(folder)
            fever = list(
                fever_examples(
                    read_fever_training(folder), Path(scratch), count=fever_claims, seed=seeds[FEVER], titles=titles
                )
            )
        yield FEVER, fever
        yield FEVER_MADE, list(augmented(fever, seed=seeds[FEVER_MADE]))
    wikipedia: list[Example] = []
    for name, each in SETS.items():
        if shares.get(name):
            pool = balanced(list(read_pairs(folder / each.path, name)), each.most, random)
            wikipedia += pool if name.startswith("wikipedia") else []
            yield name, pool
    for collection in read_collections(folder, [name for name in COLLECTIONS if shares.get(name)]):
        yield collection.name, as_checked(collection.teaching, random)
    if shares.get(WIKIPEDIA_MADE):
        made = augmented(balanced(wikipedia, _REWRITTEN, random), seed=seeds[WIKIPEDIA_MADE])
        yield WIKIPEDIA_MADE, [each for each in made if not each.source.endswith("+negation")]
    if shares.get(ALMANAC):
        yield ALMANAC, list(almanac_examples(_ALMANAC, seed=seeds[ALMANAC]))
    yield TEMPLATES, list(made_up(_MADE_UP, seed=seeds[TEMPLATES]))


def as_checked(examples: Sequence[Example], random: np.random.Generator) -> list[Example]:
    """Examples as a checker reads them: all sentences as one text, half of the time after the document's title."""
    named = random.random(len(examples)) < 0.5
    return [
        each._replace(evidence=(titled(each.title, each.evidence[0]), *each.evidence[1:])) if first else each
        for each, first in zip(examples, named, strict=True)
    ]


def balanced(examples: Sequence[Example], most: int, random: np.random.Generator) -> list[Example]:
    """At most so many examples, every label that occurs as often as the others."""
    by_label = [[each for each in examples if each.label == label] for label in range(len(LABELS))]
    present = [own for own in by_label if own]
    size = min([most // max(len(present), 1), *map(len, present)])
    return [own[place] for own in present for place in random.permutation(len(own))[:size]]


def _shuffled(pool: list[Example], random: np.random.Generator) -> list[Example]:
    return [pool[place] for place in random.permutation(len(pool))]
