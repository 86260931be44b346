import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offscript._catalogue import SAMPLERS
from offscript.errors import OffscriptError
from offscript.sampling.transforms import (
    Ancestral,
    NoisedTopK,
    Nucleus,
    RandomTopK,
    TargetEntropy,
    Tempered,
    TemperedTopK,
    TopK,
    Transform,
    parse_transform,
)
from offscript.sampling.transforms.properties import SETTINGS_OF_THE_THESIS


@pytest.mark.parametrize(
    ("text", "transform"),
    [
        ("nucleus,p=0.9", Nucleus(0.9)),
        ("nucleus,p=1", Nucleus(1)),
        ("top-k, k=30", TopK(30)),
        ("tempered,t=0.85", Tempered(0.85)),
        ("tempered-top-k,temperature=0.8,k=500", TemperedTopK(500, 0.8)),
        ("target-entropy,e=2.75", TargetEntropy(2.75)),
        ("noised-top-k,k=50,w=5e-3", NoisedTopK(50, 0.005)),
        ("random-top-k,m=90", RandomTopK(90)),
        ("none", Ancestral()),
        ("ancestral", Ancestral()),
    ],
)
def test_strings_name_transforms(text: str, transform: Transform) -> None:
    assert parse_transform(text) == transform


@pytest.mark.parametrize("setting", ["tempered,t=", "top-k,k=", "nucleus,p="])
@pytest.mark.parametrize("digits", [309, 400, 5000])
def test_a_number_larger_than_any_float_is_refused(setting: str, digits: int) -> None:
    with pytest.raises(OffscriptError, match="cannot use"):
        parse_transform(setting + "5" * digits)


@pytest.mark.parametrize("text", SETTINGS_OF_THE_THESIS)
def test_a_transform_writes_the_string_that_names_it(text: str) -> None:
    assert str(parse_transform(text)) == text


def test_the_thesis_table_shows_every_transform_once() -> None:
    shown = [parse_transform(text).name for text in SETTINGS_OF_THE_THESIS]
    assert sorted([*shown, "learned"]) == sorted(SAMPLERS.builtin)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("nucleos,p=0.9", "no sampler 'nucleos'; did you mean 'nucleus'?"),
        ("topk,k=4", "no sampler 'topk'; did you mean 'top-k'?"),
        ("nucleus,q=0.9", "nucleus has no setting 'q'; known: p"),
        ("tempered,temprature=0.9", "tempered has no setting 'temprature'; did you mean 'temperature'?"),
        ("greedy,k=1", "greedy has no setting 'k'; write greedy alone"),
        ("nucleus", "'nucleus' lacks p; add p=…: it takes 0 < p <= 1"),
        ("tempered-top-k,k=3", "'tempered-top-k,k=3' lacks temperature; add temperature=…: it takes 0 < temperature"),
        ("tempered,t=1,temperature=1", "tempered gets 'temperature' twice; give it once"),
        ("nucleus,p=1.5", "cannot use nucleus with p=1.5; it takes 0 < p <= 1"),
        ("nucleus,p=0", "cannot use nucleus with p=0; it takes 0 < p <= 1"),
        ("nucleus,p=nan", "cannot use nucleus with p=nan; it takes 0 < p <= 1"),
        ("nucleus,p=true", "cannot use nucleus with p=True; it takes 0 < p <= 1"),
        ("nucleus,p=much", "cannot use nucleus with p='much'; it takes 0 < p <= 1"),
        ("typical,p=1", "cannot use typical with p=1; it takes 0 < p < 1"),
        ("min-p,p=-0.1", "cannot use min-p with p=-0.1; it takes 0 <= p <= 1"),
        ("top-k,k=0", "cannot use top-k with k=0; it takes 1 <= k, a whole number"),
        ("top-k,k=2.5", "cannot use top-k with k=2.5; it takes 1 <= k, a whole number"),
        ("tempered,temperature=inf", "cannot use tempered with temperature=inf; it takes 0 < temperature"),
    ],
)
def test_mistakes_get_one_clear_line(text: str, line: str) -> None:
    with pytest.raises(OffscriptError) as caught:
        parse_transform(text)
    assert str(caught.value) == line


@given(st.text(max_size=30))
def test_any_string_is_a_transform_or_an_offscript_error(text: str) -> None:
    with contextlib.suppress(OffscriptError):
        assert isinstance(parse_transform(text), Transform)
