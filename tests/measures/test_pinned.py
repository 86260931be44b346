"""What every question does on small models is what was written down (`tools/pinned.py`)."""

import json
from pathlib import Path
from typing import Any

import pinned
import pytest

from offscript.measures import Question, questions

every = pytest.mark.parametrize("question", questions().values(), ids=lambda each: str(each.name))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pinned")
    pinned.write_files(folder)
    return folder


def differences(now: Any, then: Any, where: str = "") -> list[str]:
    """Where two states differ by more than rounding."""
    if isinstance(now, dict) and isinstance(then, dict) and now.keys() == then.keys():
        return [found for key in now for found in differences(now[key], then[key], f"{where}/{key}")]
    if isinstance(now, list) and isinstance(then, list) and len(now) == len(then):
        pairs = zip(now, then, strict=True)
        return [found for place, pair in enumerate(pairs) for found in differences(*pair, f"{where}/{place}")]
    close = isinstance(now, float) and isinstance(then, float | int) and now == pytest.approx(then, rel=1e-4, abs=1e-6)
    return [] if close or now == then else [f"{where}: {now!r}, before {then!r}"]


@every
def test_it_does_what_was_written_down(question: Question[Any], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    state = json.loads(json.dumps(pinned.state_of(question)))
    asked = [part for name, part in state.items() if name not in ("declared", "plans")]
    assert [part["reached"] for part in asked] == [part["announced"] for part in asked], "progress ends where it said"
    then = json.loads((pinned.PINNED / f"{question.name}.json").read_text(encoding="utf-8"))
    assert not differences(state, then), "look at the differences, then run python tools/pinned.py"


def test_nothing_else_is_written_down() -> None:
    assert {path.stem for path in pinned.PINNED.iterdir()} == set(questions())


@pytest.mark.parametrize(
    ("now", "then", "same"),
    [
        ({"a": [1.0, 2.0]}, {"a": [1.00005, 2]}, True),
        ({"a": [1.0, 2.0]}, {"a": [1.001, 2]}, False),
        ({"a": 1}, {"b": 1}, False),
        ([1, 2], [1], False),
        (1, 2, False),
        (True, False, False),
        ("x", "y", False),
    ],
)
def test_differences_are_more_than_rounding(now: Any, then: Any, same: bool) -> None:
    assert (differences(now, then) == []) is same
