"""Likelihood by domain: each domain's figures are those of its corpus alone, and the whole is all of them."""

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from offscript.audits.against import run_against
from offscript.audits.audit import plan_audit
from offscript.corpora import WordVocabulary
from offscript.corpora.domains import domains_of, in_turn
from offscript.errors import OffscriptError
from offscript.measures.likelihood import GoldSettings, Likelihood
from offscript.measures.measurement import Measurement
from offscript.measures.question import Silent
from offscript.measures.subject import Subject
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.report.page import render_page

WORDS = [f"w{number}" for number in range(20)]


def _model(seed: int) -> LSTMLanguageModel:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        vocabulary = WordVocabulary(["<unk>", "<eos>", *WORDS])
        model = LSTMLanguageModel(vocabulary, LSTMSettings(hidden=8, embedding=8)).eval()
    model.name = f"model-{seed}"
    return model


@pytest.fixture
def corpora(tmp_path: Path) -> list[str]:
    draws = np.random.default_rng(1)
    for name, first in (("low", 0), ("high", 10)):
        rows = [" ".join(WORDS[first + place] for place in draws.integers(0, 10, 12)) for _ in range(40)]
        (tmp_path / f"{name}.txt").write_text("\n".join(rows) + "\n")
    return [f"{name}={tmp_path / name}.txt" for name in ("low", "high")]


def _figures(corpus: list[str]) -> dict[str, Measurement]:
    answer = Likelihood().measure(Subject(_model(1), corpus=corpus), GoldSettings(), Silent())
    return {entry.name: entry for entry in answer.measurements}


def test_each_domain_has_the_figures_of_its_corpus_alone(corpora: list[str]) -> None:
    together = _figures(corpora)
    apart = {source.partition("=")[0]: _figures([source.partition("=")[2]]) for source in corpora}
    for domain, figures in apart.items():
        for name, entry in figures.items():
            own = together[f"{domain}.{name}"]
            assert own.value == pytest.approx(entry.value, rel=1e-6)
            assert own.interval.upper == pytest.approx(entry.interval.upper, rel=1e-6)
            assert own.n == entry.n
    whole = _figures([source.partition("=")[2] for source in corpora])
    assert together["nll"].value == pytest.approx(whole["nll"].value, rel=1e-6)
    gap = together["high.bpc_gap"]
    assert gap.value == pytest.approx(apart["high"]["bpc"].value - apart["low"]["bpc"].value, rel=1e-6)
    known = Likelihood().figures(Subject(_model(1), corpus=corpora), GoldSettings())
    assert set(together) <= set(known)


def test_other_questions_read_the_domains_in_turn(corpora: list[str]) -> None:
    subject = Subject(_model(1), corpus=corpora)
    first = [text.split()[0] for text in islice(subject.sentences(), 6)]
    assert [int(word[1:]) >= 10 for word in first] == [False, True] * 3


def test_an_audit_of_two_models_has_paired_differences_by_domain(corpora: list[str], tmp_path: Path) -> None:
    subject = Subject(_model(1), corpus=corpora, against=_model(2), length=12, limit=40)
    pair = run_against(subject, plan_audit(subject, ["likelihood"]), tmp_path / "out")
    paired = {each.figure: each.paired for each in pair.comparison.contrasts}
    assert paired["likelihood.low.nll"]
    assert paired["likelihood.high.nll"]
    assert "Bits per character, by domain" in render_page(pair.record)


def test_domains_are_told_from_files(tmp_path: Path) -> None:
    odd = tmp_path / "a=b.txt"
    odd.write_text("x")
    assert domains_of([str(odd), "plain.txt"]) == {}
    assert domains_of(["n=a.txt", "m=b.txt", "n=hf:c"]) == {"n": ("a.txt", "hf:c"), "m": ("b.txt",)}
    with pytest.raises(OffscriptError, match="for each corpus, or for none"):
        domains_of(["n=a.txt", "b.txt"])


@given(st.lists(st.lists(st.text(max_size=3), max_size=5), max_size=4))
def test_turns_keep_everything_in_order(streams: list[list[str]]) -> None:
    expected = [
        texts[place] for place in range(max(map(len, streams), default=0)) for texts in streams if place < len(texts)
    ]
    assert list(in_turn(map(iter, streams))) == expected
