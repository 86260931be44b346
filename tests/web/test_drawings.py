"""Geometry by hand."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offscript.web.drawings import HEIGHT, LONGEST_WORD, MOST_WORDS, WIDTH, cut, divide, draw_radar, place_words

SHARES = st.dictionaries(st.text(min_size=1, max_size=5), st.floats(0, 1, width=32), min_size=1, max_size=6)


def test_a_bar_is_divided_in_the_order_given() -> None:
    assert divide({"agree": 0.25, "disagree": 0.5, "discuss": 0.0, "unrelated": 0.25}) == [
        ("agree", 0, 25),
        ("disagree", 25, 50),
        ("discuss", 75, 0),
        ("unrelated", 75, 25),
    ]


def test_a_bar_without_shares_is_empty() -> None:
    assert [part.width for part in divide({"agree": 0.0, "disagree": 0.0})] == [0, 0]


@given(SHARES)
def test_the_parts_of_a_bar_fill_it(shares: dict[str, float]) -> None:
    parts = divide(shares)
    if sum(shares.values()) > 0:
        assert sum(part.width for part in parts) == pytest.approx(100, abs=0.01)
    for one, other in itertools.pairwise(parts):
        assert other.start == pytest.approx(one.start + one.width, abs=0.01)


def test_a_quarter_of_a_pie_goes_from_the_top_to_the_right() -> None:
    first, second = cut({"agree": 1.0, "unrelated": 3.0})
    assert first.path == "M0 0L0.0000 -1.0000A1 1 0 0 1 1.0000 -0.0000Z"
    assert second.path == "M0 0L1.0000 -0.0000A1 1 0 1 1 -0.0000 -1.0000Z"
    assert (first.percent, second.percent) == (25, 75)


def test_a_whole_pie_is_seen_and_none_is_empty() -> None:
    [whole] = cut({"agree": 1.0, "discuss": 0.0})
    assert whole.percent == 100
    start, end = whole.path.split("L")[1].split("A")
    assert start != end.rsplit(" 1 ", 1)[1].rstrip("Z")
    assert cut({"agree": 0.0}) == []


def test_a_radar_reaches_the_ring_at_its_top() -> None:
    radar = draw_radar({"a": 0.02, "b": 0.01, "c": 0.0})
    assert radar is not None
    assert radar.top == pytest.approx(0.02)
    assert radar.shape.split()[0] == "0.0000,-1.0000"
    assert radar.shape.split()[2] in ("0.0000,0.0000", "-0.0000,0.0000", "-0.0000,-0.0000", "0.0000,-0.0000")
    assert [axis.anchor for axis in radar.axes] == ["middle", "start", "end"]


@pytest.mark.parametrize(("score", "top"), [(0.0, 0.01), (0.013, 0.02), (0.03, 0.05), (0.06, 0.1), (0.5, 0.5), (1, 1)])
def test_the_outer_ring_is_a_round_number(score: float, top: float) -> None:
    radar = draw_radar({"a": score, "b": 0.0, "c": 0.0})
    assert radar is not None
    assert radar.top == pytest.approx(top)


def test_two_scores_make_no_radar() -> None:
    assert draw_radar({"a": 0.1, "b": 0.2}) is None


@given(st.dictionaries(st.text(min_size=1, max_size=40), st.integers(1, 1000), max_size=60))
def test_words_of_a_cloud_lie_inside_and_apart(counts: dict[str, int]) -> None:
    placed = place_words(counts)
    assert len(placed) <= min(len(counts), MOST_WORDS)
    boxes = []
    for word in placed:
        assert len(word.word) <= LONGEST_WORD
        half = len(word.word) * word.size * 0.72 / 2
        assert half - 0.1 <= word.across <= WIDTH - half + 0.1
        assert 0 <= word.down <= HEIGHT
        boxes.append((word.across, word.down, half, word.size * 1.15 / 2))
    for one, other in itertools.combinations(boxes, 2):
        apart_across = abs(one[0] - other[0]) >= one[2] + other[2] - 0.2
        apart_down = abs(one[1] - other[1]) >= one[3] + other[3] - 0.2
        assert apart_across or apart_down


def test_frequent_words_are_larger() -> None:
    often, seldom = place_words({"seldom": 1, "often": 9})
    assert (often.word, seldom.word) == ("often", "seldom")
    assert often.size > seldom.size
    assert math.hypot(often.across - WIDTH / 2, often.down - HEIGHT / 2) == 0
