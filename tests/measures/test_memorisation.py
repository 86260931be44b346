"""Verbatim runs against brute force; a model that is trained to memorise is found out, with the text it gives back."""

import random
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from offscript.corpora.vocabularies import WordVocabulary
from offscript.errors import OffscriptError
from offscript.measures.memorisation import Memorisation, MemorisationSettings
from offscript.measures.memorisation import search as searching
from offscript.measures.memorisation.estimation import Sizes, measure_memorisation
from offscript.measures.memorisation.search import BUCKETS, VerbatimSearch, window_hashes
from offscript.measures.question import Silent
from offscript.measures.subject import Subject
from offscript.models.language_model import HistoryModel
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.sampling import generate

WORDS = [f"word{number}" for number in range(60)]


def _longest(text: str, corpus: list[str], shortest: int) -> int:
    """By trying every piece."""
    found = 0
    data = " ".join(text.split()).encode()
    for other in (" ".join(each.split()).encode() for each in corpus):
        for first in range(len(data)):
            for end in range(first + max(found, shortest - 1) + 1, len(data) + 1):
                if data[first:end] not in other:
                    break
                found = end - first
    return found


texts_of_few_letters = st.lists(st.text("ab é", max_size=40), min_size=1, max_size=4)


@given(texts_of_few_letters, texts_of_few_letters, st.integers(8, 20))
def test_the_longest_run_is_that_of_brute_force(texts: list[str], corpus: list[str], shortest: int) -> None:
    overlap = VerbatimSearch(texts, shortest).scan(corpus)
    assert overlap.of_whole().tolist() == [_longest(text, corpus, shortest) for text in texts]
    assert overlap.size == sum(len(" ".join(text.split()).encode()) + 1 for text in corpus)
    for number, run in overlap.runs.items():
        written = " ".join(texts[number].split())
        assert run.text in written
        assert any(run.passage in " ".join(text.split()) for text in corpus)
        assert written.startswith(run.before + run.text)


def test_chunks_and_pieces_lose_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = random.Random(1)
    corpus = [" ".join(draws.choices(WORDS, k=draws.randint(3, 90))) for _ in range(60)]
    texts = [f"zzz {corpus[row][row : row + 90]} zzz" for row in range(20)]
    whole = VerbatimSearch(texts).scan(corpus)
    monkeypatch.setattr(searching, "_CHUNK", 64)
    monkeypatch.setattr(searching, "_PIECE", 50)
    assert VerbatimSearch(texts).scan(corpus).of_whole().tolist() == whole.of_whole().tolist()
    assert whole.of_whole().tolist() == [_longest(text, corpus, 32) for text in texts]


def test_windows_that_are_equal_have_equal_hashes_and_others_do_not() -> None:
    data = np.random.default_rng(1).integers(0, 3, 4000).astype(np.uint8)
    hashes = window_hashes(data, 8)
    windows = np.lib.stride_tricks.sliding_window_view(data, 8)
    _, by_window = np.unique(windows, axis=0, return_inverse=True)
    _, by_hash = np.unique(hashes, return_inverse=True)
    assert len(np.unique(by_window)) == len(np.unique(by_hash)) == len(set(zip(by_window, by_hash, strict=True)))


def test_parts_of_a_corpus_are_random_and_make_any_size() -> None:
    corpus = [f"line {number} {'x' * 50}" for number in range(3000)]
    overlap = VerbatimSearch(["nothing of that kind"]).scan(corpus)
    assert len(overlap.sizes) == BUCKETS
    assert overlap.sizes[0] == pytest.approx(overlap.size / 2, rel=0.1)
    for share in (0.05, 0.3, 0.8):
        target, left = int(share * overlap.size), int(share * overlap.size)
        for bucket in np.argsort(-overlap.sizes):
            if overlap.sizes[bucket] <= left:
                left -= overlap.sizes[bucket]
        assert left < 0.03 * target + 200
    line = corpus[7]
    only = VerbatimSearch([line]).scan(corpus)
    assert only.of_size(only.size).tolist() == [len(line)] == only.of_whole().tolist()
    assert only.of_size(10).tolist() == [0]


@cache
def _sentences(seed: int) -> tuple[str, ...]:
    draws = random.Random(seed)
    return tuple(" ".join(draws.choices(WORDS, k=16)) for _ in range(40))


@cache
def _memoriser() -> LSTMLanguageModel:
    """Trained on forty sentences until it knows them by heart."""
    vocabulary = WordVocabulary(["</s>", *WORDS], end="</s>", unknown=None)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = LSTMLanguageModel(vocabulary, LSTMSettings(hidden=96, embedding=32))
        rows = torch.tensor([[*vocabulary.encode(text), 0] for text in _sentences(1)])
        optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
        inputs = torch.cat([torch.full((len(rows), 1), vocabulary.start), rows[:, :-1]], dim=1)
        for _ in range(150):
            optimiser.zero_grad()
            logits = model.unnormalised(model.features(inputs))
            torch.nn.functional.cross_entropy(logits.flatten(0, 1), rows.flatten()).backward()
            optimiser.step()
    return model.eval()


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    for name, seed in (("training", 1), ("control", 2), ("other", 3)):
        (tmp_path / f"{name}.txt").write_text("\n".join(_sentences(seed)) + "\n")
    return {name: str(tmp_path / f"{name}.txt") for name in ("training", "control", "other")}


SMALL = {"samples": 40, "length": 17, "prefix": 4, "suffix": 10}


def test_a_model_trained_to_memorise_is_found_with_the_extracted_text(files: dict[str, str]) -> None:
    asked = Memorisation()
    settings = MemorisationSettings(training=files["training"], control=files["control"], **SMALL)
    answer = asked.measure(Subject(_memoriser()), settings, Silent())
    figures = {entry.name: entry for entry in answer.measurements}
    finding = asked.conclude(figures, asked.tests(figures))
    assert finding is not None
    assert finding.status == "found"
    assert figures["extracted"].value > 0.9
    assert figures["control.extracted"].value == 0
    assert figures["verbatim"].value > 0.5
    told = answer.exhibits[0]["columns"][0]["texts"][0].replace(" ▸ ", " ")
    assert any(sentence.startswith(told) for sentence in _sentences(1))
    run = answer.details["runs"]["training"][0]
    assert run["written"].partition("⟦")[2].partition("⟧")[0] in run["in the corpus"]
    assert any(run["in the corpus"] in sentence for sentence in _sentences(1))


def test_on_text_that_it_never_saw_nothing_is_found(files: dict[str, str]) -> None:
    asked = Memorisation()
    settings = MemorisationSettings(training=files["other"], control=files["control"], **SMALL)
    answer = asked.measure(Subject(_memoriser()), settings, Silent())
    figures = {entry.name: entry for entry in answer.measurements}
    finding = asked.conclude(figures, asked.tests(figures))
    assert finding is not None
    assert finding.status == "cannot tell"
    assert figures["extracted"].value == 0
    assert answer.exhibits == []


class Chain(HistoryModel):
    """The next token depends on the last one; what greedy decoding repeats of its text is chance."""

    def __init__(self) -> None:
        self.vocabulary = WordVocabulary([f"w{number}" for number in range(8)], end=None, unknown=None)
        self.name = "chain"
        scores = torch.randn(9, 8, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
        self.table = (2.0 * scores).log_softmax(dim=1)

    def predict(self, histories: Tensor) -> Tensor:
        return self.table[histories[:, -1] if histories.shape[1] else torch.full((len(histories),), 8)]


def test_two_corpora_of_one_kind_raise_few_alarms_and_many_texts_settle_it() -> None:
    model, asked, alarms = Chain(), Memorisation(), 0
    sizes = Sizes(samples=50, length=12, prefix=3, suffix=2, run=16, sampler="ancestral")
    for seed in range(60):
        rows = generate(model, 160, 12, seed=1000 + seed).tokens.tolist()
        lines = [model.vocabulary.decode(row) for row in rows]
        found, _, _ = measure_memorisation(model, lines[:80], lines[80:], sizes=sizes, seed=seed)
        p_values = asked.tests({entry.name: entry for entry in found})
        alarms += min(p_values.values()) < 0.025
    assert alarms <= 8  # two tests at 2.5 %, and three standard errors


def test_without_a_control_it_says_that_one_would_decide(files: dict[str, str]) -> None:
    asked = Memorisation()
    settings = MemorisationSettings(training=files["training"], **SMALL)
    answer = asked.measure(Subject(_memoriser()), settings, Silent())
    figures = {entry.name: entry for entry in answer.measurements}
    finding = asked.conclude(figures, asked.tests(figures))
    assert finding is not None
    assert (finding.status, "--control" in finding.sentence) == ("cannot tell", True)
    assert asked.missing(Subject(_memoriser()), {}) is not None


def test_texts_that_are_too_short_are_refused(files: dict[str, str]) -> None:
    settings = MemorisationSettings(training=files["training"], samples=10, length=17, prefix=10, suffix=10)
    with pytest.raises(OffscriptError, match="shorter --prefix or --suffix"):
        Memorisation().measure(Subject(_memoriser()), settings, Silent())
