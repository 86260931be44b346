"""A model's own statements checked: models that know one fact, the wrong one, or nothing."""

import pytest

from offscript.corpora.vocabularies import WordVocabulary
from offscript.errors import OffscriptError
from offscript.factcheck.checking import Checker, build_checker
from offscript.measures.factuality.estimation import (
    FREE,
    PROMPTED,
    Factuality,
    completed_statement,
    is_checkable,
    measure_factuality,
    readable_prompts,
)
from offscript.models.tabular import Tabular

SAMPLERS = ["top-k,k=1", "nucleus,p=0.9"]


@pytest.fixture(scope="module")
def checker() -> Checker:
    return build_checker(stance="lexical")


def _model(sentence: str, *others: str) -> Tabular:
    """A model that says one sentence, and knows some other words."""
    words = sentence.split()
    symbols = list(dict.fromkeys([*words, *others, "<end>", "<unknown>"]))
    vocabulary = WordVocabulary(symbols, end="<end>", unknown="<unknown>")
    histories = {
        tuple(map(symbols.index, words[:size])): symbols.index(word) for size, word in enumerate([*words, "<end>"])
    }
    table = {
        history: [float(place == following) for place in range(len(symbols))]
        for history, following in histories.items()
    }
    return Tabular(vocabulary, len(words) + 1, table, "parrot")


def _found(sentence: str, checker: Checker) -> Factuality:
    return measure_factuality(_model(sentence), checker, SAMPLERS, samples=3, length=7, seed=1)


@pytest.mark.parametrize(
    ("sentence", "verdict"),
    [
        ("The capital of Australia is Canberra .", "supported"),
        ("The capital of Australia is Sydney .", "refuted"),
    ],
)
def test_what_a_model_says_is_checked(checker: Checker, sentence: str, verdict: str) -> None:
    found = _found(sentence, checker)
    values = {entry.name: entry.value for entry in found.measurements}
    for sampler in ("top-k,k=1", "nucleus,p=0.9"):
        assert values[f"{sampler}.{PROMPTED}.{verdict}"] == 1
        assert values[f"{sampler}.{FREE}.{verdict}"] == 1
        assert values[f"{sampler}.{PROMPTED}.checkable"] == values[f"{sampler}.{FREE}.checkable"] == 1
    assert {each.text for each in found.statements} == {sentence.replace(" .", ".")}
    for entry in found.measurements:
        assert entry.interval.lower <= entry.value <= entry.interval.upper
        assert entry.interval.width > 0
        assert entry.recipe["model"]["name"] == "parrot"


def test_only_prompts_that_the_model_can_read_are_completed() -> None:
    model = _model("The capital of Australia is Canberra .", "France")
    assert {prompt.text for prompt, _ in readable_prompts(model, 10, seed=1)} == {
        "The capital of Australia is",
        "The capital of France is",
    }


def test_a_model_that_can_read_no_prompt_is_measured_by_its_free_sentences(checker: Checker) -> None:
    found = _found("Canberra is big .", checker)
    assert {each.kind for each in found.statements} <= {FREE}
    assert not [entry for entry in found.measurements if PROMPTED in entry.name]


def test_a_prompt_without_a_further_word_states_nothing(checker: Checker) -> None:
    model = _model("The capital of Australia is .")
    found = measure_factuality(model, checker, ["top-k,k=1"], samples=1, length=7, seed=1)
    assert [each for each in found.statements if each.kind == PROMPTED] == []
    assert {entry.name: entry.value for entry in found.measurements}[f"top-k,k=1.{PROMPTED}.checkable"] == 0


def test_statements_with_unknown_words_are_not_checked(checker: Checker) -> None:
    model = _model("The capital of Australia is <unknown> .")
    found = measure_factuality(model, checker, ["top-k,k=1"], samples=1, length=7, seed=1)
    assert found.statements == []
    assert {entry.name: entry.value for entry in found.measurements} == {
        f"top-k,k=1.{PROMPTED}.checkable": 0,
        f"top-k,k=1.{FREE}.checkable": 0,
    }


@pytest.mark.parametrize(
    ("sentence", "checkable"),
    [
        ("The capital of Australia is Canberra.", True),
        ("There were 14 deaths last year.", True),
        ("He was born in Australia.", False),
        ("Is Canberra the capital of Australia?", False),
        ("Canberra grew.", False),
        ("The weather has been fine of late.", False),
        ("", False),
    ],
)
def test_checkable_sentences(sentence: str, checkable: bool) -> None:
    assert is_checkable(sentence) == checkable


def test_the_last_sampler_is_compared_with_the_first_prompt_by_prompt(checker: Checker) -> None:
    figures = {entry.name: entry for entry in _found("The capital of Australia is Sydney .", checker).measurements}
    assert figures["nucleus,p=0.9.prompted.supported_of_decided"].value == 0
    change = figures["change.prompted.supported_of_decided"]
    assert (change.value, change.recipe["from"], change.recipe["to"]) == (0, "top-k,k=1", "nucleus,p=0.9")
    assert 0 in figures["change.prompted.not_enough_info"].interval


def test_nothing_to_draw_is_refused(checker: Checker) -> None:
    with pytest.raises(OffscriptError, match="at least one"):
        measure_factuality(_model("A B"), checker, [], samples=1, length=2, seed=1)


@pytest.mark.parametrize(
    ("sentence", "statement"),
    [
        ("The capital of Malta is Valletta, which is a historic port city and", "The capital of Malta is Valletta."),
        ("The capital of Malta is Valletta, and it is old.", "The capital of Malta is Valletta"),
        ("The capital of Malta is Valletta.", "The capital of Malta is Valletta."),
        ("The capital of Malta is Valletta of the", "The capital of Malta is Valletta of the."),
        ("The capital of Malta is.", ""),
        ("The capital of Malta is, and", ""),
    ],
)
def test_a_prompt_is_completed_by_one_clause(sentence: str, statement: str) -> None:
    assert completed_statement("The capital of Malta is", sentence).rstrip(".") == statement.rstrip(".")
