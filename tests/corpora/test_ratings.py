"""Ratings from the layout that offscript writes, from other studies' tables and from crowd platforms."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offscript.corpora.ratings import layout_of, read_ratings, read_texts
from offscript.errors import OffscriptError


def written(folder: Path, text: str, name: str = "ratings.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_the_layout_with_and_without_what_is_optional(tmp_path: Path) -> None:
    ratings = read_ratings(written(tmp_path, "item,rater,rating\na,x,3\na,y,4\nb,x,1.5\n"))
    assert ratings.values.tolist() == [3, 4, 1.5]
    assert ratings.names == ["all"]
    assert np.isnan(ratings.seconds).all()
    whole = "item,rater,system,rating,seconds,passed\na,x,s,good,12,1\na,y,s,bad,,0\n"
    ratings = read_ratings(written(tmp_path, whole))
    assert not ratings.numeric
    assert ratings.values.tolist() == ["good", "bad"]
    assert ratings.passed.tolist() == [1, 0]
    assert ratings.seconds[0] == 12


def test_json_lines_are_the_same(tmp_path: Path) -> None:
    rows = [{"item": "a", "rater": 7, "system": "s", "rating": 3, "seconds": None, "passed": True}]
    ratings = read_ratings(written(tmp_path, "".join(json.dumps(row) + "\n" for row in rows), "r.jsonl"))
    assert (ratings.raters.tolist(), ratings.values.tolist(), ratings.passed.tolist()) == (["7"], [3.0], [1.0])


def test_empty_and_repeated_ratings_are_counted(tmp_path: Path) -> None:
    text = "item,rater,rating\na,x,3\na,x,5\na,y,\nb,y,2\n"
    ratings = read_ratings(written(tmp_path, text))
    assert ratings.values.tolist() == [3, 2]
    assert ratings.left_out == {"empty": 1, "given twice": 1}
    assert read_ratings(written(tmp_path, text), empty="none").values.tolist() == ["3", "none", "2"]


def test_columns_and_conditions(tmp_path: Path) -> None:
    path = written(tmp_path, "text,who,p,t,score,study\na,x,1,2,3,v1\na,x,1,3,4,v2\na,y,1,2,5,v1\n")
    columns = {"item": "text", "rater": "who", "system": "p+t", "rating": "score"}
    ratings = read_ratings(path, columns=columns, where=["study=v1", "who!=y"])
    assert (ratings.names, ratings.values.tolist()) == (["1/2"], [3.0])
    with pytest.raises(OffscriptError, match="no column 'item' for the item.*--item"):
        read_ratings(path)
    with pytest.raises(OffscriptError, match="no column 'studdy'; did you mean 'study'"):
        read_ratings(path, columns=columns, where=["studdy=v1"])
    with pytest.raises(OffscriptError, match="write COLUMN=VALUE"):
        read_ratings(path, columns=columns, where=["study"])


def test_crowd_platforms(tmp_path: Path) -> None:
    turk = (
        "HITId,WorkerId,WorkTimeInSeconds,Input.item_1,Input.system_1,Input.item_2,Input.system_2,"
        "Answer.rating_1,Answer.rating_2\nh1,w1,90,a,s,b,t,3,4\nh1,w2,30,a,s,b,t,1,2\n"
    )
    ratings = read_ratings(written(tmp_path, turk))
    assert ratings.items.tolist() == ["a", "b", "a", "b"]
    assert ratings.systems.tolist() == ["s", "t", "s", "t"]
    assert ratings.values.tolist() == [3, 4, 1, 2]
    assert ratings.seconds.tolist() == [90, 90, 30, 30]
    single = "HITId,WorkerId,WorkTimeInSeconds,Input.item,Input.system,Answer.rating\nh1,w1,9,a,s,3\n"
    assert read_ratings(written(tmp_path, single)).systems.tolist() == ["s"]
    toloka = "INPUT:item\tINPUT:system\tOUTPUT:rating\tASSIGNMENT:worker_id\na\ts\t4\tw\n"
    assert read_ratings(written(tmp_path, toloka, "r.tsv")).values.tolist() == [4]
    appen = "_unit_id,_worker_id,system,rating\n1,2,s,5\n"
    assert read_ratings(written(tmp_path, appen)).raters.tolist() == ["2"]
    studio = "id,annotation_id,annotator,lead_time,rating\n1,3,2,8.5,5\n"
    assert read_ratings(written(tmp_path, studio)).seconds.tolist() == [8.5]


def test_the_tables_of_other_studies(data_folder: Path) -> None:
    sizes = {
        "recipe-ratings/ratings": 1056,
        "minp-user-study/ratings": 1836,
        "crows-pairs-validation/annotations": 7540,
    }
    for name, size in sizes.items():
        ratings = read_ratings(data_folder / f"{name}.csv.xz")
        assert (len(ratings), ratings.left_out) == (size, {})
    texts = read_texts(
        data_folder / "minp-user-study" / "texts.jsonl.xz",
        like=layout_of(["study", "passed_attention_check", "setting", "temperature", "sampler", "quality"]),
        where=["study=v2"],
    )
    assert len(texts) == 54
    assert texts[0].system.startswith("low/1")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("a,,3,1,1", "line 2: no rater"),
        ("a,x,3,-1,1", "seconds '-1' is no time"),
        ("a,x,3,soon,1", "seconds 'soon' is no time"),
        ("a,x,3,1,maybe", "passed is 'maybe'"),
        ("a,x,,1,1", "holds no rating"),
    ],
)
def test_damage_is_one_line(tmp_path: Path, row: str, message: str) -> None:
    path = written(tmp_path, f"item,rater,rating,seconds,passed\n{row}\n")
    with pytest.raises(OffscriptError, match=message):
        read_ratings(path)


@given(st.lists(st.text(max_size=8), min_size=1, max_size=6), st.lists(st.text(max_size=8), max_size=6))
def test_any_table_is_read_or_refused(header: list[str], row: list[str]) -> None:
    import csv
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "any.csv"
        with path.open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream).writerows([header, row])
        with pytest.raises(OffscriptError):
            read_ratings(path)
