"""Self-recovery of translation models: words counted by hand, a copying model whose figures are known, and claims."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from offscript.corpora.parallel import SentencePair
from offscript.corpora.vocabularies import WordVocabulary
from offscript.errors import OffscriptError
from offscript.measures.measurement import Measurement
from offscript.measures.question import Silent
from offscript.measures.registry import questions
from offscript.measures.subject import Subject
from offscript.measures.translation.words import Content, copied_share, repeated_share
from offscript.models.language_model import LanguageModel, State
from offscript.models.sources import GivenSources, Seq2SeqLanguageModel, Sources
from offscript.statistics import Interval

pytest.importorskip("sacrebleu")

from offscript.measures.translation.estimation import measure_translation
from offscript.statistics.translation import bleu_interval, corpus_bleu, sentence_bleu

WORDS = [f"w{number}" for number in range(400)]


class Copier(Seq2SeqLanguageModel):
    """Says what the source says, at the same places; a forced prefix does not disturb it, or ends it at once."""

    name = "copier"

    def __init__(self, *, easily_lost: bool = False) -> None:
        self.vocabulary = WordVocabulary(["<eos>", *WORDS], unknown=None)
        self.easily_lost = easily_lost

    @property
    def weight_hash(self) -> str:
        return f"copier {self.easily_lost}"

    def given(self, sources: Sources) -> LanguageModel:
        return _Copying(self, sources)


class _Read(State):
    def __init__(self, sources: Tensor, lost: Tensor, time: int) -> None:
        self.sources, self.lost, self.time = sources, lost, time

    def select(self, rows: Tensor) -> "_Read":
        return _Read(self.sources[rows], self.lost[rows], self.time)


class _Copying(GivenSources):
    model: Copier

    def begin(self, rows: int) -> State:
        self.sources.require(rows)
        return _Read(self.sources.tokens, torch.zeros(rows, dtype=torch.bool), 0)

    def advance(self, state: State, tokens: Tensor) -> tuple[Tensor, State]:
        assert isinstance(state, _Read)
        time, width = state.time, state.sources.shape[1]
        lost = state.lost
        if time and self.model.easily_lost:
            lost = lost | (tokens != state.sources[:, time - 1])
        wanted = state.sources[:, time] if time < width else torch.zeros_like(tokens)
        wanted = wanted.masked_fill(lost, 0)
        log_probs = torch.full((len(tokens), self.vocabulary.size), 0.001 / (self.vocabulary.size - 1)).log()
        log_probs[torch.arange(len(tokens)), wanted] = float(np.log(0.999))
        return log_probs, _Read(state.sources, lost, time + 1)


@pytest.fixture(scope="module")
def pairs() -> list[SentencePair]:
    random = np.random.default_rng(1)
    texts = [" ".join(random.choice(WORDS, 10, replace=False)) for _ in range(40)]
    return [SentencePair(text, text) for text in texts]


def _figures(model: Copier, pairs: list[SentencePair]) -> dict[str, Measurement]:
    found = measure_translation(model, pairs, seed=1, length=20, back=Copier())
    return {entry.name: entry for entry in found.measurements}


def test_a_model_that_is_not_disturbed_loses_nothing(pairs: list[SentencePair]) -> None:
    figures = _figures(Copier(), pairs)
    for kind in ("data", "unrelated", "shuffled", "random"):
        assert figures[f"content.{kind}"].value == pytest.approx(1.0)
        assert figures[f"content_gap.{kind}"].value == pytest.approx(0.0)
        assert figures[f"hallucinated.{kind}"].value == 0.0
        assert figures[f"nll.{kind}"].value == pytest.approx(-np.log(0.999), abs=1e-5)
    assert figures["bleu.normal"].value == pytest.approx(100.0)
    assert figures["bleu.data"].value == pytest.approx(100.0)
    assert figures["chrf.unrelated"].value == pytest.approx(1.0)
    assert figures["back.normal"].value == pytest.approx(1.0)


def test_a_model_that_is_lost_after_a_wrong_prefix_says_nothing(pairs: list[SentencePair]) -> None:
    figures = _figures(Copier(easily_lost=True), pairs)
    assert figures["content.data"].value == pytest.approx(1.0)
    for kind in ("unrelated", "random"):
        assert figures[f"content.{kind}"].value < 0.1
        assert figures[f"content_gap.{kind}"].interval.lower > 0.8
        assert figures[f"hallucinated.{kind}"].value > 0.9
        assert figures[f"back.{kind}"].value < 0.1


def _concluded(model: Copier, pairs: list[SentencePair]) -> str:
    question = questions()["translation"]
    figures = _figures(model, pairs)
    finding = question.conclude(figures, question.tests(figures))
    assert finding is not None
    return finding.status


def test_claims_follow_the_intervals(pairs: list[SentencePair]) -> None:
    assert _concluded(Copier(), pairs) == "fine"
    assert _concluded(Copier(easily_lost=True), pairs) == "found"


def test_a_wide_interval_decides_nothing(pairs: list[SentencePair]) -> None:
    question, figures = questions()["translation"], _figures(Copier(), pairs)
    gap = figures["content_gap.random"]
    wide = Measurement(
        question="translation", name=gap.name, value=0.05, standard_error=0.1,
        interval=Interval(-0.1, 0.2, 0.95, "t"), n=40, seed=1, seconds=0.0, recipe={},
    )  # fmt: skip
    figures[gap.name] = wide
    finding = question.conclude(figures, question.tests(figures))
    assert finding is not None
    assert finding.status == "cannot tell"


def test_wrong_prefixes_are_wrong_and_never_end(pairs: list[SentencePair]) -> None:
    found = measure_translation(Copier(), pairs, seed=1, length=20)
    for number, pair in enumerate(found.pairs):
        own = " ".join(pair.target.split()[:3])
        assert found.translations["data"][number].prefix == own
        assert sorted(found.translations["shuffled"][number].prefix.split()) == sorted(own.split())
        assert found.translations["unrelated"][number].prefix != own
        assert len(found.translations["random"][number].prefix.split()) == 3


def test_the_question_reads_pairs_and_shows_table_2(pairs: list[SentencePair], tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("\n".join("\t".join(pair) for pair in pairs))
    question = questions()["translation"]
    settings = question.settings({"pairs": str(path), "length": 20, "show": 2})
    answer = question.measure(Subject(Copier()), settings, Silent())
    assert list(answer.details["translations"][0]) == [
        "source", "reference", "normal", "data", "unrelated", "shuffled", "random",
    ]  # fmt: skip
    assert len(answer.exhibits[0]["columns"][0]["texts"]) == 2
    assert [title for title, _ in question.charts(answer.measurements)]


def test_a_model_without_encoder_is_refused(pairs: list[SentencePair], tmp_path: Path) -> None:
    question = questions()["translation"]
    with pytest.raises(OffscriptError, match="no translation model"):
        question.measure(Subject("uniform"), question.settings({"pairs": "x.tsv"}), Silent())
    with pytest.raises(OffscriptError, match="did you mean 'random'"):
        measure_translation(Copier(), pairs, seed=1, kinds=["randon"])


def test_words_are_counted_as_by_hand() -> None:
    content = Content.of(["the dog runs", "the cat sleeps"] + ["the end"] * 38, ["dog runs", "sleeps"] + ["the"] * 38)
    kept = content.kept(["A dog walks.", "sleeps"] + [""] * 38)
    assert kept[:2].tolist() == [0.5, 1.0]
    assert np.isnan(kept[2:]).all()
    assert repeated_share("a b a b a b") == pytest.approx(1 - 2 / 5)
    assert repeated_share("") == 0.0
    assert copied_share("der dog", "der Hund", "the dog") == 0.5


def test_bleu_is_sacrebleus_and_its_interval_covers_it(pairs: list[SentencePair]) -> None:
    random = np.random.default_rng(2)
    outputs = [" ".join(word for word in pair.target.split() if random.random() < 0.8) for pair in pairs]
    references = [pair.target for pair in pairs]
    estimate = bleu_interval(outputs, references, seed=1)
    assert estimate.value == pytest.approx(corpus_bleu(outputs, references).score, abs=1e-9)
    assert estimate.interval.lower < estimate.value < estimate.interval.upper
    assert sentence_bleu("a b c d", "a b c d") == pytest.approx(1.0)


@pytest.mark.parametrize(("long", "known"), [(3, False), (4, True)])
def test_four_translations_beyond_the_prefix_have_a_cost(pairs: list[SentencePair], long: int, known: bool) -> None:
    some = [SentencePair(pair.source if n < long else "w1", pair.target) for n, pair in enumerate(pairs[:8])]
    found = measure_translation(Copier(), some, seed=1, length=20, kinds=["normal"])
    assert ("nll.normal" in {entry.name for entry in found.measurements}) is known


@pytest.mark.parametrize(("rich", "known"), [(3, False), (4, True)])
def test_four_references_rich_in_content_are_enough(rich: int, known: bool) -> None:
    targets = [" ".join(WORDS[10 * n : 10 * n + (6 if n < rich else 5)]) for n in range(8)]  # three after the prefix
    found = measure_translation(
        Copier(), [SentencePair(text, text) for text in targets], seed=1, length=20, kinds=["data"]
    )
    assert ("hallucinated.data" in {entry.name for entry in found.measurements}) is known
