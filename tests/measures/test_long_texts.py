"""Long texts checked claim by claim: scores by hand, a model whose texts are known, and claims split by a model."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from offscript.corpora.vocabularies import WordVocabulary
from offscript.errors import OffscriptError
from offscript.factcheck.checked import Verdict, unread
from offscript.factcheck.checking import Checker, build_checker
from offscript.measures.factuality.decomposition import PROMPT, decompose, decomposer, kept_facts
from offscript.measures.factuality.estimation import measure_factuality
from offscript.measures.factuality.long import (
    BEGINNING,
    REQUEST,
    LongText,
    _readable_subjects,
    check_texts,
    draw_texts,
    f1_at,
    precision,
    text_figures,
)
from offscript.models.tabular import Tabular

SAMPLERS = ("top-k,k=1", "nucleus,p=0.9")
TOLD = "in Oceania . Canberra is the capital of Australia . Sydney is the capital of Australia . It"


@pytest.fixture(scope="module")
def checker() -> Checker:
    return build_checker(stance="lexical")


def _parrot(sentence: str, told: str) -> Tabular:
    """A model that says one thing after a prompt, and can read nothing else."""
    words = [*sentence.split(), *told.split(), "<end>"]
    symbols = list(dict.fromkeys([*words, "<unknown>"]))
    vocabulary = WordVocabulary(symbols, end="<end>", unknown="<unknown>")
    ids = [symbols.index(word) for word in words]
    table = {
        tuple(ids[:size]): [float(place == following) for place in range(len(symbols))]
        for size, following in enumerate(ids)
    }
    return Tabular(vocabulary, len(ids), table, "parrot")


def _text(sampler: str, row: int, verdicts: str) -> LongText:
    kinds = {"s": Verdict.supported, "r": Verdict.refuted, "u": Verdict.unknown}
    claims = []
    for place, letter in enumerate(verdicts):
        check = unread(f"claim {row} {place}", "")
        object.__setattr__(check, "verdict", kinds[letter])
        claims.append(check)
    return LongText(sampler, row, "Somewhere", "text", tuple(claims), len(verdicts))


def test_texts_are_asked_for_about_countries_and_nothing_else() -> None:
    reads_all: Any = SimpleNamespace(vocabulary=SimpleNamespace(unknown=None, encode=lambda text: [0]))
    asked = {name for name, _ in _readable_subjects(reads_all, 10_000, seed=1)}
    assert {"Australia", "Japan"} <= asked
    assert not {"Canberra", "Tokyo"} & asked


@pytest.mark.parametrize(
    ("verdicts", "k", "expected"),
    [
        ("ssuu", 4, 0.5),  # precision 1/2, recall 2/4
        ("ss", 4, 2 * 1 * 0.5 / 1.5),  # precise, and short
        ("ssssuuuu", 4, 2 * 0.5 * 1 / 1.5),
        ("uur", 4, 0.0),
        ("", 4, 0.0),
    ],
)
def test_f1_at_k_by_hand(verdicts: str, k: int, expected: float) -> None:
    assert f1_at(_text("a", 0, verdicts), k) == pytest.approx(expected)


def test_figures_are_means_over_texts_and_differences_over_pairs() -> None:
    cool = [_text("cool", row, told) for row, told in enumerate(["ssuu", "ssss", "uuuu", "rrrr"])]
    hot = [_text("hot", row, told) for row, told in enumerate(["suuu", "ruuu", "uuuu", "rrrr"])]
    shared = {"question": "factuality", "seed": 1, "seconds": 0.0, "recipe": {}}
    figures = {entry.name: entry for entry in text_figures(["cool", "hot"], [*cool, *hot], shared)}
    assert figures["cool.texts.claims"].value == 4
    assert figures["cool.texts.precision"].value == pytest.approx(np.mean([precision(each) for each in cool]))
    assert figures["cool.texts.f1_at_k"].recipe["k"] == 4
    change = figures["change.texts.f1_at_k"]
    assert change.value == pytest.approx(np.mean([0.25 - 0.5, 0 - 1.0, 0.0, 0.0]))
    assert change.interval.lower < change.value < change.interval.upper


def test_texts_of_a_model_are_split_and_checked(checker: Checker) -> None:
    begun = BEGINNING.format(subject="Australia")
    model = _parrot(REQUEST.format(subject="Australia") + begun, TOLD)
    texts = draw_texts(model, SAMPLERS, 5, len(TOLD.split()), seed=1, batch_size=16)
    expected = f"{begun} in Oceania. Canberra is the capital of Australia. Sydney is the capital of Australia."
    assert {each[2:] for each in texts} == {("Australia", expected)}  # a sentence that breaks off is left out
    checked = check_texts(checker, texts)
    verdicts = {claim.claim: claim.verdict for each in checked for claim in each.claims}
    assert verdicts["Canberra is the capital of Australia."] is Verdict.supported
    assert verdicts["Sydney is the capital of Australia."] is Verdict.refuted
    found = measure_factuality(model, checker, SAMPLERS, samples=2, length=4, seed=1, texts=3, text_length=30)
    values = {entry.name: entry.value for entry in found.measurements}
    for sampler in SAMPLERS:
        assert values[f"{sampler}.texts.refuted"] == pytest.approx(1 / 3)
        assert values[f"{sampler}.texts.supported_of_decided"] == pytest.approx(2 / 3)
    assert len(found.texts) == 2


def test_facts_that_bring_in_names_or_numbers_are_left_out() -> None:
    sentence = "Oslo, which has 700,000 people, is the capital of Norway."
    written = (
        " Oslo has 700,000 people.\n- Oslo is the capital of Norway\n- Oslo was founded in 1040.\n- Bergen is big."
    )
    assert kept_facts(sentence, written) == ["Oslo has 700,000 people.", "Oslo is the capital of Norway."]
    assert kept_facts(sentence, "") == []
    assert kept_facts(sentence, " Oslo is the capital of Norway.\nSentence: Oslo is big.\n- Oslo is big.") == [
        "Oslo is the capital of Norway."
    ]


class _Lines(WordVocabulary):
    """Words that keep line ends, as subword vocabularies do."""

    def encode(self, text: str) -> list[int]:
        return super().encode(text.replace("\n", " ⏎ "))

    def decode(self, ids: list[int]) -> str:
        return super().decode(ids).replace(" ⏎ ", "\n").replace("⏎", "\n")


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (
            "Anna lives in Oslo .\n- Anna works in Bergen .\n\nSentence:",
            ["Anna lives in Oslo .", "Anna works in Bergen ."],
        ),
        ("nothing", ["Anna lives in Oslo.", "Anna works in Bergen."]),  # the rules
    ],
)
def test_a_model_writes_facts_until_an_empty_line(written: str, expected: list[str]) -> None:
    sentence = "Anna lives in Oslo and works in Bergen."
    words = (PROMPT.format(sentence=sentence) + " " + written).replace("\n", " ⏎ ").split()
    symbols = list(dict.fromkeys([*words, "<end>", "<unknown>"]))
    vocabulary = _Lines(symbols, end="<end>", unknown="<unknown>")
    ids = [symbols.index(word) for word in [*words, "<end>"]]
    table = {
        tuple(ids[:size]): [float(place == following) for place in range(len(symbols))]
        for size, following in enumerate(ids)
    }
    assert decompose(Tabular(vocabulary, len(ids), table, "parrot"), sentence) == expected


def test_a_model_that_is_not_there_is_one_line() -> None:
    with pytest.raises(OffscriptError, match="there is no file"):
        decomposer("./nowhere.gguf")
