"""Rules beside the encoder: who did it to whom, which number fits, what is hearsay; and names that open a sentence."""

import numpy as np
import pytest

from offscript.factcheck.inference.corrections import corrected
from offscript.factcheck.inference.entities import named_shares, names_of
from offscript.factcheck.inference.hedging import is_hedged
from offscript.factcheck.inference.numbers import compared
from offscript.factcheck.inference.relations import SAME, TURNED, UNKNOWN, direction, verb_stem

SURE = np.array([[0.9, 0.06, 0.04]])


@pytest.mark.parametrize(
    ("claim", "sentence", "expected"),
    [
        ("The dog bit the man.", "The man bit the dog.", TURNED),
        ("The dog bit the man.", "The dog bit the man yesterday.", SAME),
        ("Germany invaded Denmark.", "Denmark was invaded by Germany in 1940.", SAME),
        ("Denmark invaded Germany.", "Denmark was invaded by Germany in 1940.", TURNED),
        ("Everest is taller than K2.", "K2 is lower than Everest.", SAME),
        ("K2 is taller than Everest.", "K2 is lower than Everest.", TURNED),
        ("The treaty came before the war.", "The war came before the treaty.", TURNED),
        ("Ajax beat Porto.", "Porto defeated Ajax 2-1.", TURNED),
        ("Nora sold the farm to Emil.", "Emil sold the farm to Nora.", TURNED),
        ("The dog bit the man.", "The man did not bite the dog.", UNKNOWN),
        ("The dog bit the man.", "The dog bit the boy.", UNKNOWN),
        ("Anna married Paul.", "Paul married Anna.", UNKNOWN),
        ("The dog bit the man.", "", UNKNOWN),
        ("Anna is the mother of Clara.", "Clara is the mother of Anna.", TURNED),
        ("Anna is the daughter of Clara.", "Clara is the mother of Anna.", SAME),
        ("Clara is the father of Anna.", "Clara is the mother of Anna.", UNKNOWN),
        ("Peru exports copper to China.", "China imports copper from Peru.", SAME),
        ("China exports copper to Peru.", "China imports copper from Peru.", TURNED),
        ("The museum lent the painting to the gallery.", "The gallery borrowed the painting from the museum.", SAME),
        ("Argentina lost to Saudi Arabia.", "Saudi Arabia beat Argentina 2-1.", SAME),
        ("Saudi Arabia lost to Argentina.", "Saudi Arabia beat Argentina 2-1.", TURNED),
        ("Lee works for Garcia.", "Garcia hired Lee as an assistant.", SAME),
        ("The nurse sold the doctor a car.", "The doctor sold the nurse a car.", TURNED),
    ],
)
def test_the_sides_of_a_relation_are_compared(claim: str, sentence: str, expected: int) -> None:
    assert direction(claim, sentence) == expected


def test_forms_of_a_verb_have_one_stem() -> None:
    for forms in (("chase", "chases", "chased", "chasing"), ("carry", "carries", "carried"), ("take", "took", "taken")):
        assert len({verb_stem(form) for form in forms}) == 1


@pytest.mark.parametrize(
    ("claim", "sentence", "leading"),
    [
        ("The lion killed the hunter.", "The hunter killed the lion.", 1),
        ("The lion killed the hunter.", "The lion killed the hunter.", 0),
        ("The church was built after 1700.", "The church was built in 1652.", 1),
        ("The railway opened in the twentieth century.", "The railway opened in 1874.", 1),
        ("The suspect stole the car.", "The suspect allegedly stole the car.", 2),
        ("The suspect may have stolen the car.", "The suspect allegedly stole the car.", 0),
        ("The mayor resigned.", "The mayor planned to resign.", 2),
        ("The capital of Malta is recommended.", "The capital of Malta is Valletta.", 2),
        ("The capital of Malta is old Valletta.", "The capital of Malta is Valletta.", 0),
        ("A storm closed the line for seven months in 2014.", "In 2014 a storm closed the line for seven weeks.", 1),
        ("The school opened in the 1920s.", "The school opened in 1924.", 0),
        ("The law will pass.", "The law will probably pass.", 2),
        ("The river will flood.", "If it rains for another week, the river will flood.", 2),
        ("The road has been finished.", "The road will be finished next year.", 2),
        ("The actor has died.", "Reports that the actor has died are false.", 1),
        ("Unemployment rose to 7 percent.", "Unemployment fell to 7 percent.", 1),
        ("Unemployment did not rise to 7 percent.", "Unemployment fell to 7 percent.", 0),
        ("Haydn was born after Mozart.", "Haydn was born in 1732 and Mozart in 1756.", 1),
        ("The king reigned for twenty years.", "The king reigned from 1740 to 1750.", 1),
        ("The lake is 12 miles long.", "The lake has a length of 12 kilometres.", 1),
    ],
)
def test_rules_correct_what_the_encoder_is_sure_of(claim: str, sentence: str, leading: int) -> None:
    once = corrected(claim, [sentence], SURE, np.array([1.0]))
    assert int(once[0].argmax()) == leading
    assert once.sum() == pytest.approx(1.0)
    assert np.array_equal(corrected(claim, [sentence], once, np.array([1.0])), once)


@pytest.mark.parametrize(
    ("claim", "sentence", "leading"),
    [
        ("The British Virgin Islands lies in the Caribbean.", "The British Virgin Islands lies in North America.", 2),
        ("The population of Greenland is bioluminescent.", "The population of Greenland is 56,025.", 2),
        ("The population of Romania is 12% Romanian.", "The population of Romania is 19,473,936.", 2),
        ("The population of Romania is 12,000.", "The population of Romania is 19,473,936.", 1),
        ("The capital of Malta is Rome.", "The capital of Malta is Valletta.", 1),
    ],
)
def test_values_of_different_kinds_do_not_refute_each_other(claim: str, sentence: str, leading: int) -> None:
    refuted = np.array([[0.05, 0.9, 0.05]])
    assert int(corrected(claim, [sentence], refuted, np.array([1.0]))[0].argmax()) == leading


def test_what_is_sure_is_not_hedged() -> None:
    assert not is_hedged("In May the suspect was convicted, and the plan was dropped.")


@pytest.mark.parametrize(
    ("claim", "sentence", "expected"),
    [
        ("It opened in the nineteenth century.", "It opened in 1874.", (1.0, 0.0)),
        ("It opened in the 20th century.", "It opened in 1874.", (0.0, 1.0)),
        ("She was born in the 1980s.", "She was born in 1986.", (1.0, 0.0)),
        ("She was born in the 1950s.", "She was born in 1966.", (0.0, 1.0)),
        ("It sold over 100 copies.", "It sold over 120 copies.", (1.0, 0.0)),
    ],
)
def test_centuries_decades_and_bounds_on_both_sides(claim: str, sentence: str, expected: tuple[float, float]) -> None:
    assert compared(claim, sentence) == expected


def test_a_sentence_that_opens_with_a_common_word_does_not_name_it() -> None:
    assert names_of("Wearing masks prevents infections.") == frozenset()
    assert "berlin" in names_of("Berlin is a city.")
    assert named_shares("Coronavirus vaccines work.", ["SARS-CoV-2 vaccines prevent disease."]).tolist() == [1.0]
