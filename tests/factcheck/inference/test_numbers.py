"""Numbers of a claim against those of a sentence."""

import pytest

from offscript.factcheck.inference.numbers import compared


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
