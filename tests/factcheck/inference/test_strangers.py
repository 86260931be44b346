"""Claims beside evidence of others: what may settle a claim is never among it."""

from hypothesis import given
from hypothesis import strategies as st

from offscript.factcheck.inference.examples import LABELS, Example
from offscript.factcheck.inference.strangers import FEW, strangers

EXAMPLES = [
    Example("Marie Curie was born in Warsaw.", ("Marie Curie was born in Warsaw in 1867.",), 0, "fever"),
    Example("Marie Curie died in 1950.", ("Marie Curie: She was buried in Sceaux.",), 1, "fever"),
    Example("Ada Lovelace wrote the first program.", ("Ada Lovelace published notes on an engine.",), 0, "fever"),
    Example("a dog runs", ("a dog runs in the park",), 0, "snli"),
    Example("nobody is asleep", ("a man sleeps on a bench",), 1, "snli"),
]


def test_claims_of_all_labels_stand_beside_texts_that_settle_nothing() -> None:
    found = list(strangers(EXAMPLES, 400, seed=1))
    own = {(each.claim, each.evidence[0]) for each in EXAMPLES}
    assert {each.label for each in found} == {LABELS.index("neither")}
    assert {each.claim for each in found} == {each.claim for each in EXAMPLES}
    assert not own & {(each.claim, each.evidence[0]) for each in found}
    assert {each.source for each in found} == {"fever+stranger", "snli+stranger"}


def test_of_the_same_subject_only_what_shares_no_other_word_is_taken() -> None:
    found = {(each.claim, each.evidence[0]) for each in strangers(EXAMPLES, 400, seed=1)}
    assert ("Marie Curie was born in Warsaw.", "Marie Curie: She was buried in Sceaux.") in found
    assert ("Marie Curie died in 1950.", "Marie Curie was born in Warsaw in 1867.") in found
    said_twice = [EXAMPLES[0], EXAMPLES[0]._replace(claim="Marie Curie was a native of Warsaw.")]
    assert list(strangers(said_twice, 100, seed=1)) == []


def test_draws_are_those_of_the_seed() -> None:
    assert list(strangers(EXAMPLES, 50, seed=3)) == list(strangers(EXAMPLES, 50, seed=3))
    assert list(strangers(EXAMPLES, 50, seed=3)) != list(strangers(EXAMPLES, 50, seed=4))


WORDS = st.lists(
    st.sampled_from(["red", "green", "dog", "bird", "runs", "sleeps", "eats", "fish"]), min_size=1, max_size=6
)


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=8), st.integers(0, 5))
def test_a_claim_without_a_name_shares_few_words(pairs: list[tuple[list[str], list[str]]], seed: int) -> None:
    examples = [Example(" ".join(claim), (" ".join(text),), 0, "x") for claim, text in pairs]
    for each in strangers(examples, 20, seed=seed):
        claim, text = ({word[:5] for word in words.split()} for words in (each.claim, each.evidence[0]))
        assert len(claim & text) <= FEW * len(claim)
