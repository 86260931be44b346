"""Reading and mending inference pairs, and what rules make of them."""

import json
import re
import zlib
from pathlib import Path

import numpy as np
import pytest

from offscript.factcheck.almanac.facts import Fact, Relation
from offscript.factcheck.inference import augmentation as rules
from offscript.factcheck.inference.almanac import almanac_examples
from offscript.factcheck.inference.examples import LABELS, Example, plain_text, read_pairs
from offscript.factcheck.inference.mixture import balanced
from offscript.factcheck.inference.templates import KINDS, made_up

SUPPORTS, REFUTES, NEITHER = range(3)


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        ("Aruba -LRB- -LSB- əˈruːbə -RSB- -RRB- is a country .", "Aruba is a country."),
        ("It was called `` Soul Food '' in 1997 .", 'It was called "Soul Food" in 1997.'),
        ("She did n't sing , he said -LRB- twice -RRB- .", "She didn't sing, he said (twice)."),
        ("Nothing to mend here.", "Nothing to mend here."),
        ("", ""),
    ],
)
def test_treebank_marks_become_plain_text(given: str, plain: str) -> None:
    assert plain_text(given) == plain


def test_pairs_are_read_under_either_name_and_other_labels_left_out(tmp_path: Path) -> None:
    records = [
        {"premise": "Ann sings.", "hypothesis": "Ann makes music.", "label": "entailment"},
        {"evidence": "Ann sings.", "claim": "Ann is silent.", "label": "REFUTES"},
        {"premise": "Ann sings.", "hypothesis": "Ann is old.", "label": "not_entailment"},
    ]
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    pairs = list(read_pairs(path, "here"))
    assert pairs == [
        Example("Ann makes music.", ("Ann sings.",), SUPPORTS, "here"),
        Example("Ann is silent.", ("Ann sings.",), REFUTES, "here"),
    ]


@pytest.mark.parametrize(
    ("claim", "denial"),
    [
        ("Lyon is a city.", "Lyon is not a city."),
        ("Lyon is not a city.", "Lyon is a city."),
        ("She has been mayor.", "She has not been mayor."),
        ("He starred in two films.", "He did not star in two films."),
        ("They married in May.", "They did not marry in May."),
        ("It was released in 2003.", "It was not released in 2003."),
        ("She never was in Rome.", None),
        ("Only he was there.", None),
        ("Snow in April", None),
    ],
)
def test_a_claim_is_denied_only_where_that_is_safe(claim: str, denial: str | None) -> None:
    assert rules.negated_claim(claim) == denial


def test_every_past_form_has_a_base() -> None:
    bases = {"starred": "star", "moved": "move", "graduated": "graduate", "joined": "join", "received": "receive"}
    for past, base in bases.items():
        assert rules.negated_claim(f"He {past} here.") == f"He did not {base} here."


def test_changed_numbers_change_the_label_unless_both_sides_change() -> None:
    example = Example("The tower has 120 steps.", ("It has 120 steps and 3 bells.",), SUPPORTS, "here")
    random = np.random.default_rng(1)
    claim = rules.other_number_in_claim(example, random)
    evidence = rules.other_number_in_evidence(example, random)
    both = rules.other_number_in_both(example, random)
    assert claim is not None
    assert evidence is not None
    assert both is not None
    assert (claim.label, claim.evidence) == (REFUTES, example.evidence)
    assert (evidence.label, evidence.claim) == (REFUTES, example.claim)
    assert " 120 " not in claim.claim
    assert " 120 " not in evidence.evidence[0]
    assert "3 bells" in evidence.evidence[0]
    assert both.label == SUPPORTS
    assert rules.other_number_in_both(example._replace(label=REFUTES), random) is None


@pytest.mark.parametrize("number", ["7", "1999", "1,250", "3.5", "48000"])
def test_another_number_is_another_one(number: str) -> None:
    random = np.random.default_rng(2)
    assert all(rules.other_number(number, random) != number for _ in range(200))


def test_another_subject_leaves_the_claim_unsettled() -> None:
    example = Example("Anna Berg is a painter.", ("Anna Berg paints.",), SUPPORTS, "here")
    made = rules.other_subject(example, np.random.default_rng(1), ["Paul Novak"])
    assert made is not None
    assert (made.claim, made.label) == ("Paul Novak is a painter.", NEITHER)


def test_made_up_examples_are_of_all_kinds_and_labels_and_the_same_for_a_seed() -> None:
    made = list(made_up(700, seed=4))
    assert made == list(made_up(700, seed=4))
    for kind in KINDS:
        own = [each for each in made if each.source.endswith(kind.__name__)]
        assert len(own) == 100
        assert {each.label for each in own} == set(range(len(LABELS)))


def test_balanced_pools_have_every_label_as_often() -> None:
    examples = [Example("a", ("b",), number % 5 and 1, "here") for number in range(50)]
    chosen = balanced(examples, 12, np.random.default_rng(1))
    assert sorted(each.label for each in chosen) == [0] * 6 + [1] * 6


def test_almanac_examples_are_settled_by_the_sentence_of_their_fact_alone() -> None:
    relation = Relation("currency", "country", "currency", "The currency of {subject} is the {values}.",
                        ("The currency of {subject} is the {value}.",))  # fmt: skip
    facts = [Fact(relation, f"Land {number}", (f"coin {number}",)) for number in range(60)]
    for example in almanac_examples(200, seed=1, facts=facts):
        subject = re.search(r"Land \d+", example.claim)
        value = re.search(r"coin \d+", example.claim)
        assert subject is not None
        assert value is not None
        own = [text for text in example.evidence if f"{subject[0]} is" in text]
        assert bool(own) == (example.label != NEITHER)
        if own:
            true = own[0].endswith(f"the {value[0]}.") != (" not " in example.claim)
            assert example.label == (SUPPORTS if true else REFUTES)
        assert zlib.crc32(subject[0].encode()) % 2 == 0
