"""The collections: parts that share no claim, and what of them the inference model may learn."""

from pathlib import Path

import numpy as np
import pytest

from offscript.factcheck.inference.collections import READERS, read_collections
from offscript.factcheck.inference.examples import Example
from offscript.factcheck.inference.mixture import COLLECTIONS, LICENCES, as_checked


def claims(examples: object) -> set[str]:
    return {" ".join(each.claim.lower().split()) for each in examples}  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", COLLECTIONS)
def test_what_is_learnt_is_neither_fitted_nor_tested(data_folder: Path, name: str) -> None:
    (collection,) = read_collections(data_folder, [name])
    assert len(collection.teaching) > 200
    assert not claims(collection.teaching) & claims(collection.fitting)
    assert not claims(collection.teaching) & claims(collection.testing)


def test_what_states_no_licence_is_not_learnt(data_folder: Path) -> None:
    for collection in read_collections(data_folder):
        assert bool(collection.teaching) == (collection.name in COLLECTIONS)
        assert not (collection.teaching and collection.licence == "not stated")


def test_no_names_are_no_collections(tmp_path: Path) -> None:
    assert read_collections(tmp_path, []) == []


def test_every_collection_to_learn_from_has_a_reader_and_a_licence() -> None:
    assert set(COLLECTIONS) <= set(READERS)
    assert set(COLLECTIONS) <= set(LICENCES)


def test_half_of_the_evidence_stands_after_its_title() -> None:
    examples = [Example("a claim", ("It rose.", "It fell."), 0, "scifact", "Of Mice")] * 400
    read = as_checked(examples, np.random.default_rng(1))
    named = [each.evidence == ("Of Mice: It rose.", "It fell.") for each in read]
    assert 150 < sum(named) < 250
    assert all(each.evidence == ("It rose.", "It fell.") for each, first in zip(read, named, strict=True) if not first)
