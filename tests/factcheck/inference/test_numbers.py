"""Numbers of a claim against those of a sentence."""

import pytest

from offscript.factcheck.inference.numbers import compared, quantifiers_differ


@pytest.mark.parametrize(
    ("claim", "sentence", "fits", "differs"),
    [
        ("It has more than 100 rooms.", "The palace has 240 rooms.", 1, 0),
        ("It has fewer than 100 rooms.", "The palace has 240 rooms.", 0, 1),
        ("67 million people live there.", "It has 6.7 million inhabitants.", 0, 1),
        ("6,700,000 people live there.", "It has 6.7 million inhabitants.", 1, 0),
        ("It was built before 1950.", "Built in 1911, it has 30 floors.", 1, 0),
        ("It was built after 1950.", "Built in 1911, it has 30 floors.", 0, 1),
        ("It has 30 floors.", "It was built in 1911.", 0, 0),
        ("She won at least three medals.", "She won 3 medals.", 1, 0),
        ("She won more than three medals.", "She won 3 medals.", 0, 1),
        ("About 1,000 people came.", "There were 1,050 visitors.", 1, 0),
        ("Exactly 1,000 people came.", "There were 1,050 visitors.", 0, 1),
        ("Nobody came.", "There were 1,050 visitors.", 0, 0),
        ("It opened in 1980 with 12 shops.", "It opened in 1980 with 14 shops.", 0.5, 0.5),
        ("", "", 0, 0),
    ],
)
def test_numbers_are_compared(claim: str, sentence: str, fits: float, differs: float) -> None:
    assert compared(claim, sentence) == (fits, differs)


@pytest.mark.parametrize(
    ("claim", "sentence", "fits", "differs"),
    [
        ("The road is 100 miles long.", "The road has a length of 161 kilometres.", 1.0, 0.0),
        ("The road is 100 miles long.", "The road has a length of 100 kilometres.", 0.0, 1.0),
        ("It weighs 5 kilograms.", "It is 7 kilometres away.", 0.0, 0.0),
        ("It grew by 20 percent.", "It grew by 20 %.", 1.0, 0.0),
        ("It covers more than 2 square miles.", "It covers 6 square kilometres.", 1.0, 0.0),
    ],
)
def test_units_are_converted_and_those_of_other_things_left_alone(
    claim: str, sentence: str, fits: float, differs: float
) -> None:
    assert compared(claim, sentence) == (fits, differs)


@pytest.mark.parametrize(
    ("claim", "sentence", "differ"),
    [
        ("All ships sank.", "Some ships sank.", True),
        ("Some ships sank.", "All ships sank.", False),
        ("Most ships sank.", "Most of the ships sank.", False),
        ("No ship sank.", "Several ships sank.", True),
        ("Not all ships sank.", "Most ships sank.", False),
        ("Ships sank.", "All ships sank.", False),
    ],
)
def test_quantifiers_differ_where_a_claim_says_more(claim: str, sentence: str, differ: bool) -> None:
    assert quantifiers_differ(claim, sentence) == differ
