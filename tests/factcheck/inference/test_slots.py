"""Other values in the same place: amounts of one thing, values of which a thing has one, years of one event."""

import numpy as np
import pytest

from offscript.factcheck.inference.corrections import AGREE, DISAGREE, NEITHER, SURE, corrected
from offscript.factcheck.inference.numbers import counted, differ_beyond_rounding, quantities
from offscript.factcheck.inference.slots import slots_differ


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        ("The flood of 1931 cost the lives of 92 people in Tolm.", "Tolm: The flood of 1931 killed 29 people in Tolm."),
        ("A day ticket costs 6 euros.", "Tolm Zoo: A day ticket for adults costs 16 euros."),
        ("The ripe berries are bright red.", "Tolm berry: The berries are dark blue when they are ripe."),
        ("Tolm Abbey lies in the north of the island.", "Tolm Abbey is a ruin in the south of the island."),
        ("Ann Lee is a Danish painter.", "Ann Lee was a Norwegian painter."),
        ("Her best novel, Driftwood, came out in 1985.", "Ann Lee: Her novel Driftwood was published in 1958."),
        ("Tolm Bridge was built in 1930.", "Tolm Bridge: It was completed in 1950."),
    ],
)
def test_another_value_in_the_same_place_refutes(claim: str, sentence: str) -> None:
    assert slots_differ(claim, sentence)
    found = corrected(claim, [sentence], np.array([[0.3, 0.1, 0.6]]), np.array([0.7]))
    assert found[0, DISAGREE] == pytest.approx(SURE)
    assert found[0, [AGREE, NEITHER]].sum() == pytest.approx(1 - SURE)
    np.testing.assert_allclose(corrected(claim, [sentence], found, np.array([0.7])), found)


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        ("Tolm Opera was opened in 1930.", "Tolm Opera: A second stage was opened in 1950."),  # of something else
        ("Two million passengers used the port in 2022.", "In 2022 the port had 1.9 million passengers."),  # rounded
        ("Some 640 tonnes are grown on Tolm.", "Farmers on Tolm grow about 610 tonnes."),
        ("The flood of 1931 killed 92 people in Tolm.", "The flood of 1954 killed 29 people in Tolm."),  # another flood
        ("Tolm has 7 parks.", "Tolm has 12 museums."),
        ("The flag of Tolm is red.", "The flag of Tolm is red and white."),
        ("Ann Lee is a Danish painter.", "Ann Lee is a Danish and Norwegian painter."),
        ("Ann Lee was born in 1930.", "Ann Lee: Her brother was born in 1935."),
        ("The berries are red.", "Tolm: The sea is blue in the morning."),
    ],
)
def test_what_can_both_be_so_refutes_nothing(claim: str, sentence: str) -> None:
    assert not slots_differ(claim, sentence)


def test_long_sentences_hold_values_of_many_things() -> None:
    sentence = "The flood of 1931 killed 29 people in Tolm" + " and went on along the coast" * 5 + "."
    assert not slots_differ("The flood of 1931 killed 92 people in Tolm.", sentence)


def test_numbers_are_told_with_what_they_count() -> None:
    things = [things for _, things in counted("In 2019 it bought 35 new vehicles, 3 million kilometres of wire")]
    assert things == [frozenset({"it", "bought"}), frozenset({"new", "vehicl"}), frozenset({"wire"})]


@pytest.mark.parametrize(
    ("asked", "given", "differ"),
    [
        ("2 million", "1.9 million", False),
        ("2 million", "2.6 million", True),
        ("830", "834", True),
        ("40", "about 42", False),
    ],
)
def test_rounding_is_no_difference(asked: str, given: str, differ: bool) -> None:
    assert differ_beyond_rounding(quantities(asked)[0], quantities(given)[0]) is differ
