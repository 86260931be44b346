"""What leaves a claim open, and what denies it."""

import pytest

from offscript.factcheck.inference.hedging import is_denied, is_hedged, leaves_open


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        ("The senator took bribes.", "The senator denies having taken bribes."),
        ("The team will move to Dallas.", "The team could move to Dallas next season."),
        ("The treaty was signed.", "The treaty is due to be signed in May."),
        ("The site was hacked.", "The owner claims that the site was hacked."),
        ("The singer is married.", "According to an anonymous blog, the singer is married."),
        ("The stadium will cost 300 million euros.", "The stadium is estimated to cost 300 million euros."),
        ("The ring belonged to the queen.", "Legend has it that the ring belonged to the queen."),
        ("The player left the club.", "The player looks set to leave the club."),
        ("The bridge was opened.", "The bridge will be opened next year."),
    ],
)
def test_hedges_leave_a_claim_open(claim: str, sentence: str) -> None:
    assert leaves_open(claim, sentence, 1.0)
    assert not leaves_open(claim, sentence, 0.5), "another matter"


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        ("The restaurant was known for its fish.", "The restaurant was known for its fish, and could seat 300."),
        ("If it rains, the river will flood.", "If it rains for a week, the river will flood."),
        ("The ship may have sunk.", "The ship allegedly sank."),
        ("The bridge will be opened.", "The bridge will be opened next year."),
        ("The bridge was opened.", "The bridge was opened in May, and a tunnel will follow."),
        ("The minister resigned.", "The minister has resigned, his office confirmed."),
    ],
)
def test_what_hedges_something_else_does_not(claim: str, sentence: str) -> None:
    assert not leaves_open(claim, sentence, 1.0)


def test_a_weak_hedge_needs_all_the_words_of_a_claim() -> None:
    claim, sentence = "The team will move to Dallas.", "The team could move to Texas next season."
    assert not leaves_open(claim, sentence, 0.67)
    assert leaves_open(claim, "The team might move to Texas next season.", 0.67)


@pytest.mark.parametrize(
    "text",
    [
        "Claims that the vaccine changes DNA are baseless.",
        "It is not true that the vaccine changes DNA.",
        "That the vaccine changes DNA is a hoax that spread in 2020, a myth that doctors know well.",
    ],
)
def test_denials_are_told_from_hedges(text: str) -> None:
    assert is_denied(text)
    assert not is_hedged(text)
    assert not is_denied("Reports that the actor has died were confirmed.")
