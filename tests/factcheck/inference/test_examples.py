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


@pytest.mark.parametrize("claim", ["The tower has 120 steps.", "The tower was built in 1920."])
def test_a_bound_holds_exactly_where_the_label_says_so(claim: str) -> None:
    value = int(re.findall(r"\d+", claim)[0])
    example, random = Example(claim, (f"It is known that {claim}",), SUPPORTS, "here"), np.random.default_rng(1)
    seen = set()
    for _ in range(100):
        made = rules.bounded_number(example, random)
        assert made is not None
        bound = int(re.findall(r"\d+", made.claim)[0])
        above = bool(re.search(r"more than|over|at least|after", made.claim))
        assert ((value > bound) == above) == (made.label == SUPPORTS)
        seen.add((above, made.label))
    assert len(seen) == 4
    assert (
        rules.bounded_number(example._replace(claim=claim.replace("has ", "has over ")), random) is None or value > 999
    )


def test_an_opposite_refutes_unless_both_sides_have_it() -> None:
    example = Example("The old town is large.", ("The town is large and green.",), SUPPORTS, "here")
    random = np.random.default_rng(1)
    made = [rules.opposite(example, random) for _ in range(60)]
    assert {each.label for each in made if each} == {SUPPORTS, REFUTES}
    for each in made:
        assert each is not None
        assert ("large" in each.claim) == ("large" in each.evidence[0]) if each.label == SUPPORTS else True
        assert ("large" in each.claim) != ("large" in each.evidence[0]) if each.label == REFUTES else True
    assert rules.opposite(example._replace(evidence=("It is green.",)), random) is None


def test_what_is_left_open_settles_nothing_and_what_is_denied_refutes() -> None:
    example, random = Example("Ann sings.", ("Ann sings in the choir.",), SUPPORTS, "here"), np.random.default_rng(1)
    labels = set()
    for _ in range(60):
        made = rules.reported(example, random)
        assert made is not None
        frame = made.evidence[0].removesuffix("Ann sings in the choir.") + "{}"
        assert (frame in rules.OPEN) == (made.label == NEITHER)
        assert (frame in rules.DENIED) == (made.label == REFUTES)
        labels.add(made.label)
    assert labels == {SUPPORTS, REFUTES, NEITHER}


def test_made_up_examples_are_of_all_kinds_and_labels_and_the_same_for_a_seed() -> None:
    made = list(made_up(100 * len(KINDS), seed=4))
    assert made == list(made_up(100 * len(KINDS), seed=4))
    for kind in KINDS:
        own = [each for each in made if each.source.endswith(kind.__name__)]
        assert len(own) == 100 * KINDS.count(kind)
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
