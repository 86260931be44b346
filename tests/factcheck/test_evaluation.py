"""Measures of rankings against hand-worked values and trec_eval itself."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offscript.errors import OffscriptError
from offscript.factcheck.evaluation import Query, evaluate, read_judgments, read_queries

MEASURES = {"recall@3": "recall_3", "recall@10": "recall_10", "ndcg@3": "ndcg_cut_3", "map": "map", "mrr": "recip_rank"}
DOCUMENTS = [f"d{number}" for number in range(8)]


def test_values_are_those_worked_out_by_hand() -> None:
    values = evaluate({"q": ["a", "b", "c"]}, {"q": {"a": 0, "b": 2, "c": 1, "x": 1}}, [*MEASURES, "recall@2"])
    assert {name: per_query.tolist() for name, per_query in values.items()} == {
        "recall@2": [1 / 3],
        "recall@3": [2 / 3],
        "recall@10": [2 / 3],
        "map": [pytest.approx((1 / 2 + 2 / 3) / 3)],
        "mrr": [1 / 2],
        "ndcg@3": [pytest.approx((2 / math.log2(3) + 1 / 2) / (2 + 1 / math.log2(3) + 1 / 2))],
    }


@given(
    ranking=st.permutations(DOCUMENTS).flatmap(lambda order: st.integers(0, 8).map(lambda size: order[:size])),
    grades=st.dictionaries(st.sampled_from([*DOCUMENTS, "never"]), st.integers(0, 3), min_size=1),
)
def test_values_are_trec_evals(ranking: list[str], grades: dict[str, int]) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="no pytrec_eval (pip install pytrec-eval-terrier)")
    if not any(grades.values()) or not ranking:
        return
    run = {"q": {document: float(-place) for place, document in enumerate(ranking)}}
    (expected,) = pytrec_eval.RelevanceEvaluator({"q": grades}, set(MEASURES.values())).evaluate(run).values()
    for name, values in evaluate({"q": ranking}, {"q": grades}, list(MEASURES)).items():
        assert values[0] == pytest.approx(expected[MEASURES[name]], abs=1e-6), name


def test_queries_without_relevant_documents_are_left_out_and_missing_rankings_count_as_nothing() -> None:
    judgments = {"asked": {"a": 1}, "hopeless": {"a": 0}, "forgotten": {"b": 1}}
    assert evaluate({"asked": ["a"], "hopeless": ["a"]}, judgments, ["map"])["map"].tolist() == [1.0, 0.0]
    with pytest.raises(OffscriptError, match="no query has a relevant document"):
        evaluate({}, {"hopeless": {"a": 0}}, ["map"])


@pytest.mark.parametrize("name", ["recal@5", "recall@0", "recall", "ndcg@x", "map@5"])
def test_unknown_measures_are_refused(name: str) -> None:
    with pytest.raises(OffscriptError, match="unknown measure"):
        evaluate({}, {"q": {"a": 1}}, [name])


def test_queries_and_judgments_are_read(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text('{"id": "1", "text": "one"}\n\n{"id": 2, "text": "two"}\n')
    assert read_queries(tmp_path / "q.jsonl") == [Query("1", "one"), Query("2", "two")]
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 0\n\n2 0 a 2\n")
    assert read_judgments(tmp_path / "qrels") == {"1": {"a": 1, "b": 0}, "2": {"a": 2}}


@pytest.mark.parametrize("line", ["{", "[]", "3", '{"id": 1}', '"text"'])
def test_bad_queries_are_refused_with_their_line(tmp_path: Path, line: str) -> None:
    (tmp_path / "q").write_text('{"id": "1", "text": "one"}\n' + line)
    with pytest.raises(OffscriptError, match=r"q, line 2: not a query"):
        read_queries(tmp_path / "q")


@pytest.mark.parametrize("line", ["1 0 a", "1 0 a b", "1 0 a 1 2"])
def test_bad_judgments_are_refused_with_their_line(tmp_path: Path, line: str) -> None:
    (tmp_path / "qrels").write_text(f"1 0 a 1\n{line}\n")
    with pytest.raises(OffscriptError, match=r"qrels, line 2: not a judgment"):
        read_judgments(tmp_path / "qrels")


def test_values_keep_the_order_of_the_judgments() -> None:
    judgments = {str(number): {"a": 1} for number in range(5)}
    rankings = {str(number): ["b"] * number + ["a"] for number in range(5)}
    np.testing.assert_allclose(evaluate(rankings, judgments, ["mrr"])["mrr"], 1 / np.arange(1, 6))
