"""Orders and spans of time from the years of a sentence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offscript.factcheck.inference.chronology import span_fits, years_order
from offscript.factcheck.inference.numbers import converted

COMPOSERS = "Haydn was born in 1732 and Mozart in 1756."


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("Haydn was born before Mozart.", True),
        ("Haydn was born after Mozart.", False),
        ("Mozart was born after Haydn.", True),
        ("Haydn was older than Mozart.", True),
        ("Mozart is older than Haydn.", False),
        ("Haydn died before Mozart.", None),
        ("Haydn was born before 1740.", None),
        ("Haydn was born before Bach.", None),
        ("Haydn wrote more than Mozart.", None),
        ("Before Mozart.", None),
    ],
)
def test_years_tell_who_came_first(claim: str, expected: bool | None) -> None:
    assert years_order(claim, COMPOSERS) is expected


def test_years_that_are_not_clear_tell_nothing() -> None:
    assert years_order("Haydn was born before Mozart.", "Haydn, Mozart and Bach were born in 1732 and 1756.") is None
    assert years_order("Haydn was born before Mozart.", "Haydn was born in 1732 or 1733 and Mozart in 1756.") is None
    assert years_order("Haydn was born before Mozart.", "Haydn was born in 1756, and Mozart was born in 1756.") is None


@given(st.integers(1000, 2080), st.integers(1, 19))
def test_a_span_is_what_lies_between_two_years(start: int, length: int) -> None:
    sentence = f"The king reigned from {start} to {start + length}."
    assert span_fits(f"The king reigned for {length} years.", sentence) is True
    assert span_fits(f"The king reigned for {length + 1} years.", sentence) is False


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("Ada died at the age of 36.", True),
        ("Ada died at the age of 37.", True),
        ("Ada died at the age of 38.", False),
        ("Ada died in London.", None),
        ("Ada lived for many years.", None),
        ("Ada waited for six hours.", None),
    ],
)
def test_an_age_leaves_room_for_a_birthday(claim: str, expected: bool | None) -> None:
    assert span_fits(claim, "Ada was born in 1815 and died in 1852.") is expected
    assert span_fits(claim, "Ada met Charles in 1833.") is None


@pytest.mark.parametrize(
    ("claim", "sentence", "expected"),
    [
        ("The lake is 12 miles long.", "The lake has a length of 19 kilometres.", True),
        ("The lake is 12 miles long.", "The lake has a length of 12 kilometres.", False),
        ("The film lasts two hours.", "The film runs for 120 minutes.", True),
        ("The lake is 12 miles long.", "The lake is 12 miles long.", None),
        ("The lake is 12 miles long.", "The lake holds 19 fish.", None),
        ("The tower is 90 metres tall.", "The tower stands 90 m high.", None),
    ],
)
def test_amounts_are_converted(claim: str, sentence: str, expected: bool | None) -> None:
    assert converted(claim, sentence) is expected
