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

from offscript.measures.translation.estimation import Recovered, Translated, _mean, _Sides, measure_translation
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
    assert copied_share("der dog der", "der Hund", "the dog") == pytest.approx(2 / 3)


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


@pytest.mark.parametrize(("references", "wanted"), [(39, set()), (40, {"dog"})])
def test_a_word_in_a_twentieth_of_the_references_is_not_common(references: int, wanted: set[str]) -> None:
    texts = ["the dog", "a dog", *["the end"] * (references - 2)]
    assert Content.of(texts, ["dog", *[""] * (references - 1)]).wanted[0] == wanted


def test_a_word_of_two_among_few_references_is_common() -> None:
    assert Content.of(["the dog", "a dog", "it"], ["the dog", "a dog", "it"]).wanted == [{"the"}, {"a"}, {"it"}]


def test_translations_stand_beside_their_sources_with_the_prefix_that_was_forced() -> None:
    listed = {"normal": [Translated("", "the dog")], "data": [Translated("the", "dog")]}
    shown = Recovered([], [SentencePair("der Hund", "the dog")], listed).side_by_side(5)
    assert shown == [{"source": "der Hund", "reference": "the dog", "normal": "the dog", "data": "the → dog"}]


@pytest.mark.parametrize("long", [3, 4])
def test_four_targets_that_go_on_after_the_prefix_are_enough(long: int) -> None:
    texts = [" ".join(WORDS[10 * n : 10 * n + (4 if n < long else 3)]) for n in range(8)]
    pairs = [SentencePair(text, text) for text in texts]
    if long < 4:
        with pytest.raises(OffscriptError, match="3 targets have more than 3 tokens"):
            _Sides.of(Copier(), pairs, 3)
    else:
        assert _Sides.of(Copier(), pairs, 3).rests == ["w3", "w13", "w23", "w33"]


@pytest.mark.parametrize("rare", [3, 4])
def test_four_targets_with_a_rare_word_are_enough(rare: int) -> None:
    texts = [f"w0 w1 w2 {WORDS[10 + n] if n < rare else 'w3'}" for n in range(8)]
    pairs = [SentencePair(text, text) for text in texts]
    if rare < 4:
        with pytest.raises(OffscriptError, match="too few targets have a word that is rare"):
            _Sides.of(Copier(), pairs, 3)
    else:
        assert sum(map(bool, _Sides.of(Copier(), pairs, 3).content.wanted)) == 4


class OfThree(Copier):
    """A copier that knows two words beside its end."""

    def __init__(self) -> None:
        super().__init__()
        self.vocabulary = WordVocabulary(["w0", "<eos>", "w1"], unknown=None)


def test_random_prefixes_are_of_every_token_but_the_end() -> None:
    text = "w0 w1 w0 w1 w0"
    sides = _Sides(OfThree().given(OfThree().read_sources([text] * 40)), [], torch.zeros(40, 3).long(), [], Content([]))
    forced = sides.forced("random", 1)
    assert forced is not None
    assert sorted(set(forced.flatten().tolist())) == [0, 2]


@pytest.fixture(scope="module")
def uneven() -> Recovered:
    """Eight translations by a copier: four write one token after the prefix, the end, and four write five."""
    texts = [" ".join(WORDS[10 * n : 10 * n + 7]) for n in range(8)]
    sources = [" ".join(text.split()[: 3 if n < 4 else 7]) for n, text in enumerate(texts)]
    pairs = [SentencePair(source, text) for source, text in zip(sources, texts, strict=True)]
    return measure_translation(Copier(), pairs, seed=1, length=20, kinds=["normal", "data"])


def test_the_cost_of_every_translation_is_nats_per_token_after_the_prefix(uneven: Recovered) -> None:
    (cost,) = (entry for entry in uneven.measurements if entry.name == "nll.normal")
    assert cost.per_item == pytest.approx(np.full(8, -np.log(0.999)), rel=1e-3)
    assert cost.weights is not None
    assert cost.weights.tolist() == [1] * 4 + [5] * 4  # the end is a token


def test_four_translations_with_one_token_after_the_prefix_have_a_cost_and_those_with_none_do_not() -> None:
    texts = [" ".join(WORDS[10 * n : 10 * n + 7]) for n in range(5)]
    sources = [" ".join(text.split()[: 3 if n < 4 else 1]) for n, text in enumerate(texts)]
    pairs = [SentencePair(source, text) for source, text in zip(sources, texts, strict=True)]
    found = measure_translation(Copier(), pairs, seed=1, length=20, kinds=["normal"])
    (cost,) = (entry for entry in found.measurements if entry.name == "nll.normal")
    assert cost.per_item == pytest.approx([-np.log(0.999)] * 4 + [np.nan], rel=1e-3, nan_ok=True)


def test_shares_end_at_one() -> None:
    assert _mean(np.array([1.0, 1.0, 1.0, 0.9]), 0.95).estimate.interval.upper == 1.0
    texts = [" ".join(WORDS[10 * n : 10 * n + 7]) for n in range(4)]
    pairs = [SentencePair(text if n else text.rpartition(" ")[0], text) for n, text in enumerate(texts)]
    found = measure_translation(Copier(), pairs, seed=1, length=20, kinds=["normal"])
    (content,) = (entry for entry in found.measurements if entry.name == "content.normal")
    assert content.value == pytest.approx((0.75 + 3) / 4)
    assert content.interval.upper == 1.0


def test_translations_have_a_hundred_tokens_at_most_and_are_greedy_unless_told(pairs: list[SentencePair]) -> None:
    (entry, *_) = measure_translation(Copier(), pairs[:4], seed=1, kinds=["normal"]).measurements
    assert (entry.recipe["length"], entry.recipe["beams"]) == (100, 1)


class Forking(Copier):
    """Begins with w0 in six of ten translations, which may go on anyhow, else with w1, which goes on with w2."""

    def given(self, sources: Sources) -> LanguageModel:
        return _Forking(self, sources)


class _Forking(_Copying):
    def advance(self, state: State, tokens: Tensor) -> tuple[Tensor, State]:
        assert isinstance(state, _Read)
        first, second = self.vocabulary.encode("w0 w1")
        chances = torch.full((len(tokens), self.vocabulary.size), 1 / self.vocabulary.size)
        if state.time == 0:
            chances[:] = 0.0
            chances[:, first], chances[:, second] = 0.6, 0.4
        else:
            chances[tokens == second] = 0.0
            chances[tokens == second, self.vocabulary.encode("w2")[0]] = 1.0
        return chances.log(), _Read(state.sources, state.lost, state.time + 1)


@pytest.mark.parametrize(("beams", "first"), [(1, "w0"), (2, "w1")])
def test_two_beams_find_what_greedy_decoding_passes_by(beams: int, first: str) -> None:
    model = Forking()
    sides = _Sides(
        model.given(model.read_sources(["w5"])), [SentencePair("w5", "w5")], torch.zeros(1, 0), [], Content([])
    )
    found = sides.translated("normal", seed=1, length=2, beams=beams, batch_size=1, progress=None)
    assert model.vocabulary.decode(found[0].tolist()).split()[0] == first
