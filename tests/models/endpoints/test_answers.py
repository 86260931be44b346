"""What a server may send is read, or refused in one line; what a ledger holds survives, or is refused in one line."""

import contextlib
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offscript.errors import OffscriptError
from offscript.models.endpoints.answers import places_of, same_token, without_repetition
from offscript.models.endpoints.ledger import Ledger

_LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
_JSON = st.recursive(_LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner))
_KEYS = ("tokens", "token_logprobs", "top_logprobs", "content", "token", "logprob", "id")


@given(st.dictionaries(st.sampled_from(_KEYS), _JSON | st.lists(st.dictionaries(st.sampled_from(_KEYS), _JSON))))
def test_log_probabilities_of_any_shape_are_read_or_refused(sent: dict[str, Any]) -> None:
    with contextlib.suppress(OffscriptError):
        choice = {"logprobs": json.loads(json.dumps(sent)), "text": "x"}
        kept = without_repetition(choice)
        places = places_of(choice, "the server")
        told = [[(each.id, each.log_prob) for each in place.options] for place in places]
        assert [[(each.id, each.log_prob) for each in place.options] for place in places_of(kept, "it")] == told
        assert all(place.log_prob is None or place.log_prob <= 1e-3 for place in places)


@pytest.mark.parametrize(
    ("told", "piece", "same"),
    [(" the", "the", True), ("Ġthe", " the", True), ("a", "b", False), ("bytes:\\xe2", "é", True), ("", "x", True)],
)
def test_tokens_are_compared_as_far_as_their_text_tells(told: str, piece: str, same: bool) -> None:
    assert same_token(told, piece) is same


def test_threads_and_runs_share_a_budget(tmp_path: Path) -> None:
    """Two ledgers of one file, as two processes have them, and four threads each: never one request too many."""
    ledgers = [Ledger(tmp_path / "a.sqlite", most_requests=50, most_tokens=10_000) for _ in range(2)]
    passed: list[int] = []

    def spend(ledger: Ledger, number: int) -> None:
        for turn in range(20):
            try:
                ledger.reserve(10)
            except OffscriptError:
                return
            ledger.keep(f"{number} {turn}", {"text": "é"}, unused=7, seconds=0.1, drawn=3)
            passed.append(1)

    threads = [threading.Thread(target=spend, args=(ledgers[number % 2], number)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(passed) == 50
    assert ledgers[0].spent == (50, 150)
    assert Ledger(tmp_path / "a.sqlite").find("0 0") == {"text": "é"}
    with pytest.raises(OffscriptError, match="the budget of 50 requests is spent"):
        Ledger(tmp_path / "a.sqlite", most_requests=50).reserve(1)


def test_a_file_that_is_no_ledger_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.sqlite").write_bytes(b"not a database" * 100)
    with pytest.raises(OffscriptError, match="cannot keep answers in"):
        Ledger(tmp_path / "a.sqlite")
    ledger = Ledger(tmp_path / "b.sqlite")
    ledger._connection.execute("INSERT INTO answers VALUES ('x', 'torn')")
    with pytest.raises(OffscriptError, match="is damaged"):
        ledger.find("x")
