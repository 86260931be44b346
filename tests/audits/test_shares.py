"""Histories shared out to workers by ranges of rows: the joined figures are those of one worker, to the last bit."""

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from offscript.audits.shares import Sharing, ranges_of
from offscript.audits.workers import HERE, LOCAL, Place
from offscript.corpora import WordVocabulary
from offscript.measures.measurement import Measurement
from offscript.measures.question import Silent
from offscript.measures.registry import question
from offscript.measures.subject import Subject
from offscript.models import load_model
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.models.storage import save


@given(st.integers(1, 1000), st.integers(1, 20), st.integers(1, 300))
def test_shares_are_whole_batches_that_cover_every_row_once(samples: int, shares: int, batch_size: int) -> None:
    ranges = ranges_of(samples, shares, batch_size)
    assert [row for first, end in ranges for row in range(first, end)] == list(range(samples))
    assert all(first % batch_size == 0 for first, _ in ranges)
    assert len(ranges) <= shares


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    vocabulary = WordVocabulary(["<unk>", "<eos>", *(f"w{index}" for index in range(12))])
    names = []
    for seed, name in enumerate(("student", "oracle")):
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            model = LSTMLanguageModel(vocabulary, LSTMSettings(hidden=8, embedding=8)).eval()
        names.append(str(tmp_path_factory.mktemp("models") / name))
        save(model, Path(names[-1]))
    return names[0], names[1]


def exposure(pair: tuple[str, str], sharing: Sharing | None = None) -> list[Measurement]:
    model, oracle = map(load_model, pair)
    subject = Subject(model, oracle, length=8, limit=100, batch_size=32, shared_deviations=sharing)
    asked = question("exposure")
    return asked.measure(subject, asked.plan(subject), Silent()).measurements


@pytest.mark.parametrize(("shares", "on"), [(2, LOCAL), (3, HERE), (50, HERE)])
def test_the_joined_figures_are_those_of_one_worker(
    shares: int, on: str, pair: tuple[str, str], tmp_path: Path
) -> None:
    alone = exposure(pair)
    shared = exposure(pair, Sharing(*pair, tmp_path, shares, Place(on)))
    assert [entry.name for entry in shared] == [entry.name for entry in alone]
    for together, single in zip(shared, alone, strict=True):
        assert (together.value, together.interval, together.by_position) == (
            single.value,
            single.interval,
            single.by_position,
        )
        assert together.recipe == single.recipe
    assert len(list((tmp_path / "cells").glob("*.json"))) == min(shares, 4)
