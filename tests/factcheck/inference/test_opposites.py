"""Words that cannot both be said of one thing, in the same place."""

import pytest

from offscript.factcheck.inference.opposites import opposed, opposites


@pytest.mark.parametrize(
    ("claim", "sentence", "expected"),
    [
        ("Prices rose in May.", "In May prices fell.", True),
        ("The door was locked.", "The door was unlocked.", True),
        ("The man is happy.", "The man is unhappy.", True),
        ("The man is innocent.", "The man is not guilty.", False),
        ("The man is not innocent.", "The man is guilty.", False),
        ("The man is innocent.", "It is not known how a man is found guilty.", None),
        ("Prices rose in May.", "In May prices rose.", None),
        ("Prices rose in May.", "In June prices fell.", None),
        ("Prices rose and fell in May.", "In May prices fell.", None),
        ("The player is on the field.", "The player is on the infield.", None),
        ("Ann has a brother.", "Ann has a sister.", None),
        ("Rose.", "Fell.", None),
        ("", "", None),
    ],
)
def test_opposites_stand_in_the_same_place(claim: str, sentence: str, expected: bool | None) -> None:
    assert opposed(claim, sentence) is expected


def test_opposites_go_both_ways() -> None:
    assert all(word in opposites()[other] for word, others in opposites().items() for other in others)
    assert opposites()["rose"] == ("fell",)
