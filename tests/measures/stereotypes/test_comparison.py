"""Two systems on the same tests."""

from collections.abc import Callable

import numpy as np
import pytest

from offscript.corpora.associations import AssociationTest
from offscript.errors import OffscriptError
from offscript.measures.stereotypes.baselines import ideal_judgements, random_scores, stereotyped_scores
from offscript.measures.stereotypes.comparison import compare
from offscript.measures.stereotypes.judgements import judge
from offscript.measures.stereotypes.scores import score_groups


def test_differences_are_those_of_the_scores(many_tests: list[AssociationTest]) -> None:
    first, second = (
        judge(many_tests, random_scores(many_tests, generator=np.random.default_rng(seed))) for seed in (1, 2)
    )
    compared = compare(first, second, seed=1)
    one, two = (score_groups(judged, seed=1, resamples=100)[""] for judged in (first, second))
    assert compared.lms.value == pytest.approx(one.lms.value - two.lms.value)
    assert compared.ss.value == pytest.approx(one.ss.value - two.ss.value)
    assert compared.icat.value == pytest.approx(one.icat.value - two.icat.value)


def test_a_system_does_not_differ_from_itself(many_tests: list[AssociationTest]) -> None:
    judged = judge(many_tests, random_scores(many_tests, generator=np.random.default_rng(1)))
    compared = compare(judged, judged, seed=1)
    for difference in (compared.lms, compared.ss, compared.icat):
        assert (difference.value, difference.interval.lower, difference.interval.upper, difference.p_value) == (
            0,
            0,
            0,
            1,
        )


def test_pairing_sees_what_two_intervals_would_not(many_tests: list[AssociationTest]) -> None:
    scores = random_scores(many_tests, generator=np.random.default_rng(1))
    better = dict(scores)
    for test in many_tests[::20]:
        better[test.stereotype.id] = 2.0
    compared = compare(judge(many_tests, better), judge(many_tests, scores), seed=1)
    assert compared.ss.value > 0
    assert compared.ss.p_value < 0.05
    wide = score_groups(judge(many_tests, scores), seed=1)[""].ss.interval.width
    assert compared.ss.interval.width < wide / 2


def test_chance_is_seldom_called_a_difference(many_tests: list[AssociationTest]) -> None:
    generator, called = np.random.default_rng(1), 0
    for seed in range(100):
        first, second = (judge(many_tests, random_scores(many_tests, generator=generator)) for _ in range(2))
        called += compare(first, second, seed=seed, resamples=200).ss.p_value < 0.05
    assert called <= 10


def test_ideal_and_stereotyped_are_fifty_apart(many_tests: list[AssociationTest]) -> None:
    compared = compare(judge(many_tests, stereotyped_scores(many_tests)), ideal_judgements(many_tests), seed=1)
    assert (compared.lms.value, compared.ss.value, compared.icat.value) == (0, 50, -100)


def test_other_tests_cannot_be_compared(
    make: Callable[..., AssociationTest], many_tests: list[AssociationTest]
) -> None:
    whole, part = ideal_judgements(many_tests), ideal_judgements(many_tests[1:])
    with pytest.raises(OffscriptError, match="different tests"):
        compare(whole, part, seed=1)
