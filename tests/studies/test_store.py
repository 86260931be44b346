"""Participants, items and ratings: nobody rates anything twice, limits hold, deletion deletes, kills lose nothing."""

import json
import sqlite3
import threading
from collections import Counter
from pathlib import Path

import pytest

from offscript.errors import OffscriptError
from offscript.studies.design import DATABASE, StudyDesign, StudyItem, read_items, write_study
from offscript.studies.drawing import attention_checks
from offscript.studies.export import export_ratings, import_ratings, study_ratings
from offscript.studies.store import RatingStore


def study(folder: Path, *, items: int = 12, systems: int = 3, **settings: int) -> RatingStore:
    texts = [
        StudyItem(
            item=f"s{s}-{n}", system=f"sampler,p=0.{s}", prompt=f"prompt {n}", text=f"prompt {n} goes on", log_prob=-1.0
        )
        for s in range(systems)
        for n in range(items)
    ]
    known = {"per_participant": 5, "ratings_per_item": 3, "checks": 1, **settings}
    design = StudyDesign(kind="rating", title="T", owner="secret", **known)
    write_study(folder, design, [*texts, *attention_checks(2, seed=1)])
    return RatingStore(folder)


def take_part(store: RatingStore, code: str, value: int = 3) -> list[str]:
    store.consent(code)
    seen = []
    while (step := store.next_step(code)) is not None:
        seen.append(step.item.item)
        store.rate(code, step.item.item, value if step.item.answer is None else step.item.answer, 6.0)
    return seen


def test_everybody_gets_their_items_once_and_no_item_too_many(tmp_path: Path) -> None:
    store = study(tmp_path / "s")
    codes = store.invite(30)
    seen = [take_part(store, code) for code in codes]
    assert all(len(set(items)) == len(items) for items in seen)
    assert Counter(len(items) for items in seen[:20]) == {6: 20}
    counts = store.counts()
    ratings = {item: n for item, n in counts.items() if not item.startswith("check")}
    assert set(ratings.values()) == {3}
    assert len(ratings) == 36
    for items in seen[:20]:
        prompts = [store.items[item].prompt for item in items if not item.startswith("check")]
        assert len(set(prompts)) == len(prompts)
        assert len({store.items[item].system for item in items}) >= 3


def test_a_reload_shows_the_same_item_and_a_second_answer_changes_nothing(tmp_path: Path) -> None:
    store = study(tmp_path / "s")
    [code] = store.invite(1)
    store.consent(code)
    store.consent(code)
    first = store.next_step(code)
    assert first is not None
    assert store.next_step(code) == first
    assert store.rate(code, first.item.item, 4, 1.0)
    assert not store.rate(code, first.item.item, 0, 1.0)
    assert store.rows("SELECT value FROM ratings") == [("4",)]
    with pytest.raises(OffscriptError, match="not among yours"):
        store.rate(code, "s0-nothing", 4, 1.0)


def test_times_are_the_pages_but_never_more_than_the_clocks(tmp_path: Path) -> None:
    store = study(tmp_path / "s")
    [code] = store.invite(1)
    store.consent(code)
    for seconds in (0.5, None, 9_999.0, -1.0):
        step = store.next_step(code)
        assert step is not None
        store.rate(code, step.item.item, 3, seconds)
    rows = store.rows("SELECT seconds, clock FROM ratings ORDER BY rowid")
    assert rows[0] == (0.5, "page")
    assert [clock for _, clock in rows[1:]] == ["server"] * 3
    assert all(0 <= seconds < 5 for seconds, _ in rows)
    assert store.rows("SELECT COUNT(*) FROM assignments WHERE shown IS NOT NULL") == [(0,)]
    assert store.rows("SELECT COUNT(*) FROM assignments WHERE assigned > 0") == [(2,)]


def test_an_item_that_others_filled_meanwhile_is_not_rated_again(tmp_path: Path) -> None:
    store = study(tmp_path / "s", items=1, systems=1, ratings_per_item=1, checks=0)
    first, second = store.invite(2)
    store.consent(first)
    with store.changing() as database:
        database.execute("UPDATE assignments SET assigned = 0")
    assert take_part(store, second) == ["s0-0"]
    assert not store.rate(first, "s0-0", 3, 1.0)
    assert store.next_step(first) is None
    assert store.counts() == {"s0-0": 1}


def test_many_at_once(tmp_path: Path) -> None:
    store = study(tmp_path / "s", items=20, systems=2, ratings_per_item=4, per_participant=10)
    codes = store.invite(16)
    seen: list[str] = []
    threads = [threading.Thread(target=lambda code=code: seen.extend(take_part(store, code))) for code in codes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rated = Counter(item for item in seen if not item.startswith("check"))
    ratings = {item: n for item, n in store.counts().items() if not item.startswith("check")}
    assert ratings == rated
    assert 150 <= sum(ratings.values()) <= 160
    assert max(ratings.values()) <= 4


def test_nothing_but_answers_is_stored_and_deletion_deletes(tmp_path: Path) -> None:
    store = study(tmp_path / "s")
    first, second = store.invite(2)
    take_part(store, first)
    take_part(store, second, value=5)
    columns = {
        row[1]
        for table in ("participants", "assignments", "ratings")
        for row in store.rows(f"PRAGMA table_info({table})")
    }
    assert columns == {
        "code",
        "rater",
        "role",
        "consented",
        "passed",  # of raters whose ratings were imported; here it is empty
        "item",
        "position",
        "assigned",
        "shown",
        "value",
        "seconds",
        "clock",
    }
    assert store.rows("SELECT DISTINCT passed FROM participants") == [(None,)]
    assert store.forget(first)
    assert not store.forget(first)
    assert store.role(first) is None
    assert store.rows("SELECT COUNT(*) FROM ratings WHERE code = ?", first) == [(0,)]
    assert store.rows("SELECT COUNT(*) FROM assignments WHERE code = ?", first) == [(0,)]
    store.connection.close()
    assert first.encode() not in b"".join(path.read_bytes() for path in (tmp_path / "s").glob(f"{DATABASE}*"))


def test_the_database_is_safe_against_kills(tmp_path: Path) -> None:
    store = study(tmp_path / "s")
    assert store.rows("PRAGMA journal_mode") == [("wal",)]
    assert store.rows("PRAGMA synchronous") == [(2,)]
    other = sqlite3.connect(tmp_path / "s" / DATABASE)
    [code] = store.invite(1)
    take_part(store, code)
    assert other.execute("SELECT COUNT(*) FROM ratings").fetchone() == (6,)


def test_ratings_go_out_and_come_in_again(tmp_path: Path) -> None:
    store = study(tmp_path / "s")
    good, careless = store.invite(2)
    take_part(store, good)
    store.consent(careless)
    while (step := store.next_step(careless)) is not None:
        store.rate(careless, step.item.item, 1 if step.item.answer is None else 5 - step.item.answer, 3.0)
    ratings = study_ratings(tmp_path / "s")
    assert len(ratings) == 10
    by_rater = dict(zip(ratings.raters.tolist(), ratings.passed.tolist(), strict=True))
    assert sorted(by_rater.values()) == [0, 1]
    assert not {good, careless} & set(by_rater)
    assert ratings.log_probs[ratings.items[0]] == -1.0
    for name in ("r.csv", "r.jsonl"):
        assert export_ratings(tmp_path / "s", tmp_path / name) == 10
    other = study(tmp_path / "other")
    assert import_ratings(tmp_path / "other", tmp_path / "r.csv") == 10
    assert import_ratings(tmp_path / "other", tmp_path / "r.jsonl") == 0
    again = study_ratings(tmp_path / "other")
    assert sorted(zip(again.items, again.values, strict=True)) == sorted(
        zip(ratings.items, ratings.values, strict=True)
    )
    assert sorted(dict(zip(again.raters.tolist(), again.passed.tolist(), strict=True)).values()) == [0, 1]
    assert other.codes()[0][0].startswith("import:")


def test_a_study_is_not_written_over(tmp_path: Path) -> None:
    study(tmp_path / "s")
    with pytest.raises(OffscriptError, match="holds a study"):
        study(tmp_path / "s")
    assert len(read_items(tmp_path / "s")) == 38
    assert json.loads((tmp_path / "s" / "study.json").read_text())["kind"] == "rating"
