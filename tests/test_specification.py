"""Names with settings: lists of them are split at commas, and no setting is taken for a name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offscript._specification import Specification, parse_specification, split_specifications

words = st.from_regex(r"[a-z][a-z0-9/-]{0,8}", fullmatch=True)
texts_with_commas = st.from_regex(r"[a-z][a-z ,=]{0,8},[a-z ,=]{0,8}[a-z]", fullmatch=True)
plain_words = words.filter(lambda word: word not in ("true", "false", "inf", "infinity", "nan"))
values = st.integers(0, 99) | st.floats(0, 1) | plain_words | texts_with_commas
specifications = st.builds(Specification, words, st.dictionaries(words, values, max_size=3))


@given(st.lists(specifications, max_size=4), st.sampled_from([",", " ", ", "]))
def test_lists_are_split_as_they_were_joined(listed: list[Specification], between: str) -> None:
    texts = [str(each) for each in listed]
    assert split_specifications(between.join(texts)) == texts
    assert split_specifications(*texts) == texts
    assert [parse_specification(text) for text in texts] == listed


@pytest.mark.parametrize(
    ("given_texts", "names"),
    [
        (["tv,js"], ["tv", "js"]),
        (["tv", "js gd"], ["tv", "js", "gd"]),
        (["nucleus,p=0.9,top-k,k=40"], ["nucleus,p=0.9", "top-k,k=40"]),
        (["tempered-top-k,k=5,temperature=0.7,greedy"], ["tempered-top-k,k=5,temperature=0.7", "greedy"]),
        (['learned,path="my file, old",greedy'], ['learned,path="my file, old"', "greedy"]),
        (["nucleus", "p=0.9"], ["nucleus", "p=0.9"]),
        ([",,", ""], []),
    ],
)
def test_a_piece_with_an_equals_sign_belongs_to_the_name_before_it(given_texts: list[str], names: list[str]) -> None:
    assert split_specifications(*given_texts) == names
