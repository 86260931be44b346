"""Loops, copies, empty and endless texts: each by hand, then on models whose faults are known."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from offscript.corpora.vocabularies import WordVocabulary
from offscript.errors import OffscriptError
from offscript.measures.degeneration import KINDS, REAL, Degeneration, DegenerationSettings
from offscript.measures.degeneration.estimation import (
    Continuations,
    _figures,
    _frequencies,
    _is_cut,
    _real,
    _zipf,
    measure_degeneration,
    worst,
)
from offscript.measures.degeneration.loops import (
    CYCLES,
    SHORTEST_LOOP,
    Loop,
    copies,
    longest_run,
    loop_of,
    seen_before,
)
from offscript.measures.measurement import Measurement
from offscript.measures.ngrams import NgramCounter, tabulate
from offscript.measures.question import Silent
from offscript.measures.subject import Subject
from offscript.models.language_model import HistoryModel
from offscript.sampling import generate
from offscript.statistics import Estimate, Interval

SIZE, END = 12, 0


class Chain(HistoryModel):
    """The next token depends on the last one; sharp chains loop with greedy decoding, since it always goes one way."""

    def __init__(self, sharpness: float = 1.0, seed: int = 1, *, end: bool = True) -> None:
        words = ["</s>" if end and place == END else f"w{place}." for place in range(SIZE)]
        self.vocabulary = WordVocabulary(words, end="</s>" if end else None, unknown=None)
        self.name = f"chain {sharpness:g}"
        generator = torch.Generator().manual_seed(seed)
        scores = torch.randn(SIZE + 1, SIZE, generator=generator, dtype=torch.float64)
        scores[:, END] = 0.0
        self.table = (sharpness * scores).log_softmax(dim=1)

    def predict(self, histories: Tensor) -> Tensor:
        last = histories[:, -1] if histories.shape[1] else torch.full((len(histories),), SIZE)
        return self.table[last]


def _rows(model: HistoryModel, n: int, length: int, seed: int) -> list[list[int]]:
    end = model.vocabulary.end
    return [[token for token in row if token != end] for row in generate(model, n, length, seed=seed).rows()]


@pytest.mark.parametrize(
    ("tokens", "loop"),
    [
        ([1] * 8, Loop(0, 1)),
        ([5, 6, 1, 2, 1, 2, 1, 2, 1, 2], Loop(2, 2)),
        ([9, 1, 2, 3, 1, 2, 3, 1, 2, 3], Loop(1, 3)),
        ([9, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1], Loop(1, 3)),
        ([1, 2, 3, 1, 2, 3, 1, 2], None),
        ([1, 1, 1], None),
        ([1] * 9 + [2], None),
        ([1, 2, 3, 4, 5, 6, 7, 8, 9], None),
        ([], None),
    ],
)
def test_a_loop_is_a_cycle_up_to_the_end(tokens: list[int], loop: Loop | None) -> None:
    assert loop_of(tokens) == loop


@given(st.lists(st.integers(0, 2), max_size=24))
def test_loops_are_those_of_the_definition(tokens: list[int]) -> None:
    expected = [
        Loop(start, period)
        for period in range(1, len(tokens) + 1)
        for start in range(len(tokens))
        if len(tokens) - start >= max(CYCLES * period, SHORTEST_LOOP)
        and all(tokens[place] == tokens[place - period] for place in range(start + period, len(tokens)))
    ]
    shortest = min((loop.period for loop in expected), default=None)
    first = next((loop for loop in expected if loop.period == shortest), None)
    assert loop_of(tokens) == first


@given(st.lists(st.integers(0, 3), max_size=9), st.lists(st.integers(0, 3), max_size=12))
def test_the_longest_run_is_the_longest_common_piece(prompt: list[int], text: list[int]) -> None:
    pieces = {tuple(text[i:j]) for i in range(len(text)) for j in range(i + 1, len(text) + 1)}
    own = [tuple(prompt[i:j]) for i in range(len(prompt)) for j in range(i + 1, len(prompt) + 1)]
    assert longest_run(prompt, text) == max((len(piece) for piece in own if piece in pieces), default=0)


def test_half_of_the_prompt_in_one_run_is_a_copy() -> None:
    prompt = list(range(10))
    assert copies(prompt, [50, 3, 4, 5, 6, 7, 51])
    assert not copies(prompt, [50, 3, 4, 5, 6, 51, 7])
    assert not copies([1, 2, 3], [1, 2, 3])  # too short to be told from chance


def test_tokens_that_end_an_n_gram_seen_before() -> None:
    table = seen_before([[1, 2, 1, 2, 1], [3, 3]], 6, order=2)
    none = np.nan
    expected = [[none, 0, 0, 1, 1, none], [none, 0, none, none, none, none]]
    np.testing.assert_array_equal(table, expected)


def test_flags_and_the_worst_texts() -> None:
    vocabulary = WordVocabulary(["</s>", *(f"w{number}" for number in range(1, 20))], end="</s>", unknown=None)
    prompts = [list(range(1, 9))] * 4
    texts = [[9, 10, *[11] * 9], [12, 1, 2, 3, 4, 13], [], [14, 15]]
    source = Continuations("s", prompts, texts, np.array([0.0, 1, 1, 1]), ["a b c", "copied.", "", "cut off"])
    assert {kind: flags.tolist() for kind, flags in source.flags.items()} == {
        "loops": [1, 0, 0, 0],
        "empty": [0, 0, 1, 0],
        "copied": [0, 1, 0, 0],
        "degenerate": [1, 1, 1, 0],
        "no_end": [1, 0, 0, 0],
        "truncated": [0, 0, 0, 1],
    }
    told = worst(source, vocabulary, 4)
    assert [each["fault"] for each in told] == ["loop of 1 token from token 3", "copies the prompt", "empty"]
    assert told[0]["text"].endswith("▸ w9 w10 w11 w11 … (9 times)")


def test_greedy_decoding_that_loops_is_found_and_sampling_is_not() -> None:
    model, asked = Chain(3.0), Degeneration()
    measurements, sources = measure_degeneration(
        model, _rows(model, 600, 40, 2), samplers=["greedy", "ancestral"], samples=400, prefix=3, length=40, seed=1
    )
    figures = {entry.name: entry for entry in measurements}
    p_values = asked.tests(figures)
    finding = asked.conclude(figures, p_values)
    assert finding is not None
    assert finding.status == "found"
    assert finding.headline == "It loops with greedy"
    assert p_values["ancestral"] > 0.05
    greedy = next(source for source in sources if source.source == "greedy")
    looping = [loop_of(text) is not None for text in greedy.texts]
    assert figures["greedy.loops"].value == np.mean(looping)
    starts = [loop.start + 1 for loop in greedy.loops if loop is not None]
    assert figures["greedy.loop_start"].value == pytest.approx(np.mean(starts))
    curve = figures["greedy.loops"].by_position
    assert curve is not None
    assert curve.values[-1] == figures["greedy.loops"].value
    assert curve.values[0] == np.mean([start == 1 for start in starts]) * len(starts) / len(looping)
    known = asked.figures(Subject(model, model), DegenerationSettings(samplers=("greedy", "ancestral")))
    assert set(figures) <= set(known)
    assert len(asked.charts(measurements)) == 4
    gauge = asked.gauge(figures)
    assert gauge is not None
    assert gauge.figure == "greedy.degenerate"


def test_a_model_against_its_own_draws_raises_few_alarms() -> None:
    asked, model, runs = Degeneration(), Chain(1.2), 100
    alarms = 0
    for seed in range(runs):
        real = _rows(model, 90, 14, 1000 + seed)
        measurements, _ = measure_degeneration(
            model, real, samplers=["ancestral"], samples=60, prefix=2, length=14, seed=seed
        )
        alarms += asked.tests({entry.name: entry for entry in measurements})["ancestral"] < 0.05
    assert alarms <= 11  # 5 %, and three standard errors


@pytest.mark.parametrize(("samples", "status"), [(20, "cannot tell"), (700, "fine")])
def test_few_texts_leave_it_open_and_many_settle_it(samples: int, status: str) -> None:
    model, asked = Chain(0.5, end=False), Degeneration()
    measurements, _ = measure_degeneration(
        model, _rows(model, samples, 14, 5), samplers=["ancestral"], samples=samples, prefix=2, length=14, seed=3
    )
    figures = {entry.name: entry for entry in measurements}
    finding = asked.conclude(figures, asked.tests(figures))
    assert finding is not None
    assert finding.status == status
    assert finding.sentence.endswith(" At most 2% more than real text.") is (status == "fine")


def test_without_real_text_shares_are_held_to_one_of_fifty() -> None:
    asked, model = Degeneration(), Chain(4.0, end=False)
    answer = asked.measure(Subject(model), DegenerationSettings(samples=60, length=30), Silent())
    figures = {entry.name: entry for entry in answer.measurements}
    assert not any(name.startswith((REAL, "greedy")) for name in figures)  # greedy would write one text 60 times
    assert not any(name.endswith((".excess", ".copied", ".no_end")) for name in figures)
    finding = asked.conclude(figures, asked.tests(figures))
    assert finding is not None
    assert finding.status == "found"
    assert answer.exhibits[0]["columns"][0]["texts"][0].startswith("[loop of")


def test_every_kind_is_a_share_of_all_texts() -> None:
    model = Chain(2.0)
    measurements, sources = measure_degeneration(
        model, _rows(model, 80, 20, 2), samplers=["ancestral"], samples=50, prefix=2, length=20, seed=1
    )
    for entry in measurements:
        source, _, kind = entry.name.rpartition(".")
        if kind in KINDS:
            own = next(each for each in sources if each.source == source)
            assert entry.value == own.flags[kind].mean()
            assert entry.interval.method == "modified Wilson"
            assert entry.n == len(own.texts) <= 50


def test_prompts_that_leave_nothing_to_write_are_refused() -> None:
    model = Chain()
    with pytest.raises(OffscriptError, match="longer --length"):
        measure_degeneration(model, [[1, 2, 3]] * 4, samplers=["greedy"], samples=4, prefix=3, length=3, seed=1)
    with pytest.raises(OffscriptError, match="shorter --prefix"):
        measure_degeneration(model, [[1, 2, 3]] * 4, samplers=["greedy"], samples=4, prefix=4, length=9, seed=1)


@pytest.mark.parametrize(("upper", "status"), [(0.0199, "fine"), (0.02, "cannot tell")])
def test_few_degenerate_texts_are_compared_with_none_where_no_real_text_is_known(upper: float, status: str) -> None:
    estimate = Estimate(0.0, 0.0, Interval(0.0, upper, 0.95, "test"))
    shared = {"question": "degeneration", "seed": 1, "seconds": 0.0, "recipe": {}}
    entry = Measurement.of(estimate, name="ancestral.degenerate", n=400, **shared)
    finding = Degeneration().conclude({entry.name: entry}, {"ancestral": 1.0})
    assert finding is not None
    assert finding.status == status
    assert finding.sentence.endswith(" At most 2% more degenerate.") is (status == "fine")


def test_two_real_texts_are_enough_and_one_is_not() -> None:
    measurements, sources = measure_degeneration(
        Chain(), [[1, 2, 3], [4, 5, 6], [7]], samplers=["greedy"], samples=9, prefix=2, length=6, seed=1
    )
    assert {entry.n for entry in measurements} == {2}
    assert [source.prompts for source in sources] == [[[1, 2], [4, 5]]] * 2
    with pytest.raises(OffscriptError, match=r"cannot continue 1 text\(s\) of 2 tokens"):
        measure_degeneration(Chain(), [[1, 2, 3], [7]], samplers=["greedy"], samples=9, prefix=2, length=6, seed=1)


@pytest.mark.parametrize(
    ("written", "cut"), [("ab\ufffd...", True), ("a\ufffd....", False), ("a.", False), ("a", True), (" ", False)]
)
def test_a_text_is_cut_without_a_closing_mark_or_within_a_character(written: str, cut: bool) -> None:
    assert _is_cut(written) is cut


def test_a_real_text_has_ended_if_it_is_shorter_than_the_limit() -> None:
    found = _real(Chain(), [[1] * 3, [1] * 4, [1] * 5], 2, 4)
    assert found.ended is not None
    assert found.ended.tolist() == [1, 0, 0]
    assert found.texts == [[1], [1, 1], [1, 1]]


def continued(texts: list[list[int]]) -> Continuations:
    return Continuations("s", [[]] * len(texts), texts, None, ["text"] * len(texts))


@pytest.mark.parametrize(("known", "enough"), [(3, False), (4, True)])
def test_four_loops_have_a_mean_start_and_four_texts_a_repetition(known: int, enough: bool) -> None:
    source = continued([[1] * 8] * known + [[1, 2, 3]])
    found = _figures(source, [source], 8)
    assert [name in found for name in ("s.loop_start", "s.repetition")] == [enough, enough]
    if enough:
        assert found["s.repetition"].estimate.value == pytest.approx(4 / 5)  # of five 4-grams only the first is new
        start = found["s.loop_start"].estimate
        assert (start.value, start.interval.method) == (1.0, "all values equal")


def test_repetition_ends_at_one() -> None:
    source = continued([[1] * size for size in (8, 100, 100, 100)])
    repetition = _figures(source, [source], 100)["s.repetition"].estimate
    assert repetition.value == pytest.approx((4 / 5 + 3 * 96 / 97) / 4)
    assert repetition.interval.upper == 1.0


@pytest.mark.parametrize(
    ("texts", "known"),
    [
        ([[1] * 4 + [2]] * 2, False),  # two texts
        ([[1] * 4 + [2]] * 3, True),
        ([[1] * 5] * 3, False),  # one token
        ([[1, 2]] * 3, False),  # no token five times
    ],
)
def test_frequencies_need_three_texts_two_tokens_and_one_of_them_five_times(
    texts: list[list[int]], known: bool
) -> None:
    assert bool(_frequencies(texts, sum(map(len, texts)))) is known


def test_a_rank_that_no_text_left_has_counts_as_one_occurrence() -> None:
    (table,) = tabulate([[7], [7, 8, 9]])
    counts = NgramCounter(table).next_order()
    assert _zipf(counts, np.array([True, False]), [1, 2]).tolist() == [0, 0, 0]


def test_copies_come_before_empty_texts() -> None:
    vocabulary = Chain().vocabulary
    source = Continuations("s", [[1, 2, 3, 4]] * 2, [[], [1, 2, 3, 4]], None, ["", "copied."])
    assert [each["fault"] for each in worst(source, vocabulary, 2)] == ["copies the prompt", "empty"]


@pytest.mark.parametrize(("length", "prefix"), [(2, 1), (3, 1), (4, 2)])
def test_a_plan_continues_half_of_a_short_text(length: int, prefix: int) -> None:
    assert Degeneration().plan(Subject(Chain(), length=length)).prefix == prefix
