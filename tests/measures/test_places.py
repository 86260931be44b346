"""Where a model is off script: values that `score()` gives again, worst places, shares with known answers."""

import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from offscript._types import FloatArray
from offscript.corpora import CharacterVocabulary, WordVocabulary
from offscript.measures.places import Places, PlacesSettings
from offscript.measures.places.estimation import (
    _figures,
    after_first_bad,
    alternatives,
    first_bad,
    half_share,
    padded,
    trace,
    worst_places,
)
from offscript.measures.places.exhibits import END, _short, _summary, pieces_of, scale
from offscript.measures.question import Answer, Silent
from offscript.measures.subject import Subject
from offscript.models.registry import load_model
from offscript.sampling.generation import generate
from offscript.statistics import jackknife

NAN = math.nan
STUDENT, ORACLE = "offscript/news-student", "offscript/news"


@pytest.fixture(scope="module")
def answer() -> Answer:
    return Places().measure(Subject(STUDENT, ORACLE), PlacesSettings(samples=20, length=30), Silent())


@pytest.fixture(scope="module")
def alone() -> Answer:
    return Places().measure(Subject(STUDENT), PlacesSettings(samples=12, length=20), Silent())


def log_probs(name: str, rows: torch.Tensor) -> torch.Tensor:
    return torch.cat([part.log_probs for part in load_model(name).score(rows)], dim=1).double()


def test_the_colours_of_ten_samples_come_from_score(answer: Answer) -> None:
    """KL(model‖oracle) = Σ p (log p - log o), surprise = -log p(token), entropy = -Σ p log p, to 1e-6."""
    shown = answer.exhibits[1]
    assert [measure["name"] for measure in shown["measures"]] == ["kl", "surprise", "entropy"]
    texts, vocabulary = shown["columns"][0]["texts"], load_model(STUDENT).vocabulary
    assert len(texts) == 10
    rows = generate(load_model(STUDENT), 20, 30, seed=1).tokens[:10]
    tables = [log_probs(name, rows) for name in (STUDENT, ORACLE)]
    for number, text in enumerate(texts):
        own, other = (table[number, : len(text["ids"])] for table in tables)
        expected = {
            "kl": (own.exp() * (own - other)).sum(dim=1),
            "surprise": -own[range(len(text["ids"])), text["ids"]],
            "entropy": -(own.exp() * own).sum(dim=1),
        }
        for name, values in expected.items():
            assert text["values"][name] == pytest.approx(values.tolist(), abs=1e-6)
        assert text["running"] == pytest.approx(expected["kl"].cumsum(0).tolist(), abs=1e-5)
        for place, (ours, theirs) in enumerate(text["alternatives"]):
            for words, shares, table in zip((ours, theirs), text["probabilities"][place], (own, other), strict=True):
                top = table[place].topk(5)
                decoded = [vocabulary.decode([index]) or END for index in top.indices.tolist()]
                assert [shown["words"][word] for word in words] == decoded
                assert shares == pytest.approx(top.values.exp().tolist(), abs=1e-5)


def test_the_samples_are_the_models_and_the_text_is_whole(answer: Answer) -> None:
    model = load_model(STUDENT)
    rows = generate(model, 20, 30, seed=1).rows()
    for text, row in zip(answer.exhibits[1]["columns"][0]["texts"], rows, strict=False):
        assert text["ids"] == row
        assert "".join(text["pieces"]).replace(f" {END}", "") == model.vocabulary.decode(row)


def test_the_worst_places_are_the_highest_values(answer: Answer) -> None:
    shown = answer.exhibits[0]
    [column] = shown["columns"]
    assert len(column["texts"]) == 10
    worst = [text["values"]["kl"][text["focus"]] for text in column["texts"]]
    assert worst == sorted(worst, reverse=True)
    model = load_model(STUDENT)
    deviation = trace(model, load_model(ORACLE), generate(model, 20, 30, seed=1))
    assert worst[0] == pytest.approx(np.nanmax(deviation.deviation), abs=1e-5)


def test_without_an_oracle_surprise_colours_the_text(alone: Answer) -> None:
    worst, shown, drift = alone.exhibits
    assert [measure["name"] for measure in shown["measures"]] == ["surprise", "entropy"]
    assert [len(exhibit["columns"]) for exhibit in (worst, shown)] == [1, 1]
    text = shown["columns"][0]["texts"][0]
    own = log_probs(STUDENT, torch.tensor([text["ids"]]))[0]
    assert text["values"]["surprise"] == pytest.approx((-own[range(len(text["ids"])), text["ids"]]).tolist(), abs=1e-5)
    assert drift["measure"]["name"] == "surprise"
    assert [entry.name for entry in alone.measurements] == ["half", "deviation"]
    finding = Places().conclude({entry.name: entry for entry in alone.measurements}, {})
    assert finding is not None
    assert finding.status == "for information"
    assert "surprise" in finding.headline


def test_a_corpus_stands_beside_the_samples(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("corpus") / "text.txt"
    path.write_text("the president said on monday\nit was the first time\n", encoding="utf-8")
    found = Places().measure(Subject(STUDENT, corpus=[str(path)]), PlacesSettings(samples=5, length=12), Silent())
    real = found.exhibits[1]["columns"][1]
    assert ["".join(text["pieces"]) for text in real["texts"]] == [
        "the president said on monday",
        "it was the first time",
    ]
    assert [entry.name for entry in found.measurements] == ["half", "deviation"]  # two texts make no interval


@pytest.mark.parametrize(("texts", "known"), [(3, False), (4, True)])
def test_four_real_texts_make_an_interval(texts: int, known: bool, tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("the president said on monday\n" * texts, encoding="utf-8")
    found = Places().measure(Subject(STUDENT, corpus=[str(path)]), PlacesSettings(samples=5, length=12), Silent())
    assert ("half.real" in {entry.name for entry in found.measurements}) is known


def test_the_map_holds_every_token(answer: Answer) -> None:
    drift = answer.exhibits[2]
    rows, columns = drift["shape"]
    assert (rows, columns) == (20, 30)
    assert len(drift["texts"]) == rows
    assert max(max(text, default=0) for text in drift["texts"]) < len(drift["words"])


@pytest.mark.parametrize(
    ("values", "share"),
    [
        ([[1.0, 1.0, 1.0, 1.0]], 0.5),
        ([[9.0, 1.0, NAN, NAN]], 0.5),
        ([[0.0, 0.0]], 1.0),
        ([[math.inf, 1, 1, 1]], 0.25),
        ([[0.1, 0.5, 0.1, 0.2]], 0.25),
        ([[0.5]], 1.0),
    ],
)
def test_half_of_the_deviation_has_a_known_share(values: list[list[float]], share: float) -> None:
    assert half_share(np.array(values)) == share


def _share(drawn: FloatArray, kept: FloatArray) -> FloatArray:
    return np.array([half_share(drawn[kept])])


def test_the_interval_of_the_share_covers() -> None:
    """Sequences with a level of their own: of 100 intervals about 95 hold the share of the population."""
    generator = np.random.default_rng(1)

    def sequences(count: int) -> FloatArray:
        return generator.gamma(2, 1, (count, 1)) * generator.gamma(0.5, 1, (count, 30))

    truth = half_share(sequences(20_000))
    covered = 0
    for _ in range(100):
        drawn = sequences(60)
        [estimate] = jackknife(partial(_share, drawn), 60)
        covered += truth in estimate.interval
    assert 0.89 <= covered / 100 <= 1


def test_what_follows_the_first_bad_token() -> None:
    deviation = np.array([[0.0, 5.0, 1.0, 2.0], [0.0, 0.0, 0.0, 0.0], [6.0, 3.0, NAN, NAN]])
    assert first_bad(deviation, 4.0).tolist() == [1, -1, 0]
    assert first_bad(deviation, 5.0).tolist() == [-1, -1, 0]  # a bad token is above the bound
    assert [column.tolist() for column in after_first_bad(deviation, 4.0)] == [[5.0, 6.0], [1.0, 3.0], [2.0]]


@pytest.mark.parametrize("sequences", [9, 10])
def test_what_follows_is_told_of_ten_sequences(sequences: int) -> None:
    figures = _figures(np.array([[5.0, 0.0, 0.0]] * sequences), 4.0)
    assert ("after_bad" in figures) is (sequences == 10)
    if "after_bad" in figures:
        curve = figures["after_bad"].by_length
        assert curve is not None
        assert (curve.values, curve.upper) == ((5, 0, 0), (5, 0, 0))  # nats, of which 0 is no share


def test_half_of_the_deviation_is_in_all_tokens_at_most() -> None:
    half = _figures(np.array([[9.0, 0, 0, 0], [1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1]]), 100.0)["half"].estimate
    assert half.value == pytest.approx(3 / 16)
    assert half.interval.upper == 1.0


def test_a_map_is_summed_up_by_tenths_of_the_positions() -> None:
    deviation = np.array([[1.0] * 11 + [NAN], [2.0] * 11 + [NAN], [3.0] * 12])
    rows = _summary(deviation, 2.0)
    assert [row["tokens"] for row in rows] == ["1 to 2", "3 to 4", *map(str, range(5, 13))]
    assert [row["mean"] for row in rows] == [2.0] * 9 + [3.0]
    assert [row["bad"] for row in rows] == [pytest.approx(1 / 3, abs=1e-6)] * 9 + [1.0]


@pytest.mark.parametrize(
    ("values", "full"), [([0.0, 0.0], 1.0), ([math.inf], 1.0), ([NAN], 1.0), ([0.5, 0.5, math.inf], 0.5)]
)
def test_the_full_colour_is_that_of_finite_values_and_never_zero(values: list[float], full: float) -> None:
    assert scale(np.array(values)) == full


@pytest.mark.parametrize(("value", "told"), [(0.1, "0.10"), (0.0994, "0.099"), (2.0, "2.00"), ("inf", "∞")])
def test_values_in_labels_have_two_decimals_or_two_digits(value: float | str, told: str) -> None:
    assert _short(value) == told


def test_the_title_says_whether_real_text_stands_beside(answer: Answer, alone: Answer) -> None:
    titles = [each.exhibits[1]["title"] for each in (answer, alone)]
    assert titles == ["Its samples beside real text", "Its samples"]


def test_probabilities_have_five_decimals(answer: Answer) -> None:
    text = answer.exhibits[1]["columns"][0]["texts"][0]
    shares = [share for place in text["probabilities"] for side in place for share in side]
    assert shares == [round(share, 5) for share in shares]


def test_worst_places_keep_apart_within_a_row() -> None:
    deviation = np.array([[9.0, 8.0, 1.0, 7.0], [2.0, 3.0, NAN, NAN]])
    assert worst_places(deviation, 4, apart=3) == [(0, 0), (0, 3), (1, 1)]


def test_pieces_are_what_each_token_adds() -> None:
    words = WordVocabulary(["<unk>", "<eos>", "a", "b"])
    assert pieces_of(words, [2, 3, 0, 1]) == ["a", " b", " <unk>", f" {END}"]
    characters = CharacterVocabulary(list("ab "), unknown=None)
    assert pieces_of(characters, characters.encode("ab a")) == ["a", "b", " ", "a"]


def test_rows_are_padded_and_cut() -> None:
    made = padded([[1, 2, 3], [], [4]], 2, 9)
    assert made.tokens.tolist() == [[1, 2], [4, 9]]
    assert made.lengths.tolist() == [2, 1]


def test_alternatives_are_no_more_than_the_vocabulary() -> None:
    model = load_model("uniform,vocabulary=text8")
    found = alternatives(model, torch.zeros(2, 3, dtype=torch.long), count=100)
    assert found.ids.shape == (2, 3, model.vocabulary.size)
    assert found.probabilities.sum(dim=-1).numpy() == pytest.approx(1.0)
