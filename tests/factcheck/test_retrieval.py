"""Search against brute force on tiny collections, shards, hand-worked scores, and known answers on real collections."""

import csv
import lzma
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offscript.errors import OffscriptError
from offscript.factcheck.analysis import Analyzer
from offscript.factcheck.checked import Verdict
from offscript.factcheck.claims import read_fever_passages
from offscript.factcheck.documents import Document, read_documents
from offscript.factcheck.evaluation import evaluate
from offscript.factcheck.index import Index, add_documents, build_index, delete_documents
from offscript.factcheck.retrieval import (
    DEFAULT_MODEL,
    Hit,
    IndexStatistics,
    Searcher,
    SummedStatistics,
    merge_hits,
    model_names,
    rerank,
    retrieval_model,
)
from offscript.factcheck.retrieval.models import Term
from offscript.factcheck.retrieval.searcher import lucene_lengths

TERM = Term(documents=100, tokens=5000, document_frequency=10, total_frequency=20)
TEXTS = st.lists(st.lists(st.sampled_from("abcdefg"), max_size=12).map(" ".join), min_size=1, max_size=12)
QUERIES = st.lists(st.lists(st.sampled_from("abcdefgz"), max_size=6).map(" ".join), min_size=1, max_size=4)


def brute_force(texts: Sequence[str], query: str, k: int, model: str) -> list[tuple[int, float]]:
    """Score every document term by term, straight from the definition."""
    counts = [Counter(text.split()) for text in texts]
    tokens, similarity = sum(map(sum, (count.values() for count in counts))), retrieval_model(model)
    totals: dict[int, float] = {}
    for name, weight in Counter(query.split()).items():
        having = [number for number, count in enumerate(counts) if count[name]]
        term = Term(len(texts), tokens, len(having), sum(count[name] for count in counts))
        for number in having:
            tf, dl = (np.array([float(value)]) for value in (counts[number][name], counts[number].total()))
            totals[number] = totals.get(number, 0.0) + weight * float(np.float32(similarity.score(tf, dl, term)[0]))
    ranked = sorted(totals.items(), key=lambda item: (-np.float32(item[1]), item[0]))
    return [(number, float(np.float32(score))) for number, score in ranked[:k]]


@given(texts=TEXTS, queries=QUERIES, k=st.integers(1, 15), model=st.sampled_from(model_names()))
def test_search_finds_what_brute_force_finds(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], queries: list[str], k: int, model: str
) -> None:
    documents = [Document(str(number), text=text) for number, text in enumerate(texts)]
    index = build_index(documents, tmp_path_factory.mktemp("index"))
    for query, hits in zip(queries, Searcher(index).search_all(queries, k, model=model), strict=True):
        expected = brute_force(texts, query, k, model)
        assert [int(hit.document_id) for hit in hits] == [number for number, _ in expected]
        np.testing.assert_allclose([hit.score for hit in hits], [score for _, score in expected], rtol=1e-6)


@pytest.fixture(scope="module")
def skewed(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], Index]:
    """3,000 documents with word frequencies like a language's, so that the search loop has much to leave out."""
    generator = np.random.default_rng(3)
    texts = [
        " ".join(f"w{word}" for word in generator.zipf(1.4, size=generator.integers(1, 40)) if word < 500)
        for _ in range(3000)
    ]
    documents = [Document(str(number), text=text) for number, text in enumerate(texts)]
    return texts, build_index(documents, tmp_path_factory.mktemp("skewed"))


@pytest.mark.parametrize("model", ["bm25", "dfr-be-b-z", "dfr-be-l-h1", "ib-spl", "lm-dirichlet", "dfi-chisquared"])
@pytest.mark.parametrize("k", [1, 10, 200])
def test_leaving_out_the_hopeless_changes_nothing(skewed: tuple[list[str], Index], model: str, k: int) -> None:
    texts, index = skewed
    queries = ["w1 w2 w3", "w1 w40 w7 w200", "w499 w1", "w3 w3 w90 w2 w11 w12", "w1", "w450 w451 w452 w1 w2"]
    for query, hits in zip(queries, Searcher(index).search_all(queries, k, model=model), strict=True):
        expected = brute_force(texts, query, k, model)
        assert [(int(hit.document_id), pytest.approx(hit.score, rel=1e-6)) for hit in hits] == expected


def test_threads_and_single_searches_give_the_same(skewed: tuple[list[str], Index]) -> None:
    index = skewed[1]
    queries = [f"w{number % 60} w{number % 7} w1" for number in range(300)]
    together = Searcher(index, threads=4).search_all(queries, 5)
    searcher = Searcher(index, threads=1)
    assert together == [searcher.search(query, 5) for query in queries]


def test_equal_scores_come_in_the_order_of_the_index(tmp_path: Path) -> None:
    index = build_index([Document(str(number), text="same words") for number in range(50)], tmp_path)
    assert [hit.document_id for hit in Searcher(index).search("words", 7)] == [str(number) for number in range(7)]


@given(texts=TEXTS, query=QUERIES, shards=st.integers(2, 4), model=st.sampled_from([DEFAULT_MODEL, "bm25", "ib-ll"]))
def test_shards_that_exchange_statistics_answer_as_one_index(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], query: list[str], shards: int, model: str
) -> None:
    documents = [Document(str(number), text=text) for number, text in enumerate(texts)]
    folder = tmp_path_factory.mktemp("shards")
    whole = Searcher(build_index(documents, folder / "whole"))
    pieces = [build_index([documents[n] for n in part], folder / str(part[:1])) for part in _parts(len(texts), shards)]
    statistics = SummedStatistics([IndexStatistics(piece) for piece in pieces])
    found = [Searcher(piece, statistics=statistics).search(query[0], 5, model=model) for piece in pieces]
    merged, expected = merge_hits(found, 5), whole.search(query[0], 5, model=model)
    assert [hit.document_id for hit in merged] == [hit.document_id for hit in expected]
    np.testing.assert_allclose([hit.score for hit in merged], [hit.score for hit in expected], rtol=0, atol=1e-6)


def _parts(size: int, parts: int) -> list[list[int]]:
    return [part.tolist() for part in np.array_split(np.arange(size), parts)]


def test_four_real_shards_answer_as_one_index(scifact: list[Document], data_folder: Path, tmp_path: Path) -> None:
    claims = list(_scifact_claims(data_folder)[0].values())
    whole = Searcher(build_index(scifact, tmp_path / "whole"))
    pieces = [build_index([scifact[n] for n in part], tmp_path / str(part[0])) for part in _parts(len(scifact), 4)]
    statistics = SummedStatistics([IndexStatistics(piece) for piece in pieces])
    found = [Searcher(piece, statistics=statistics).search_all(claims, 10) for piece in pieces]
    for expected, *shards in zip(whole.search_all(claims, 10), *found, strict=True):
        merged = merge_hits(shards, 10)
        assert [hit.document_id for hit in merged] == [hit.document_id for hit in expected]
        np.testing.assert_allclose([hit.score for hit in merged], [hit.score for hit in expected], rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("model", "tf", "dl", "score"),
    [
        # N = 100, T = 5000, avg = 50, df = 10, F = 20, worked out by hand.
        ("bm25", 2, 50, math.log(1 + 90.5 / 10.5) * 2 / (2 + 1.2)),
        ("bm25,k1=0.9,b=0.4", 3, 100, math.log(1 + 90.5 / 10.5) * 3 / (3 + 0.9 * (0.6 + 0.4 * 2))),
        ("classic", 4, 25, 2 * (math.log(101 / 11) + 1) / 5),
        ("dfi-standardized", 3, 100, math.log2(1 + (3 - 2100 / 5001) / math.sqrt(2100 / 5001))),
        ("dfi-saturated", 3, 100, math.log2(1 + (3 - 2100 / 5001) / (2100 / 5001))),
        ("dfi-chisquared", 3, 100, math.log2(1 + (3 - 2100 / 5001) ** 2 / (2100 / 5001))),
        ("dfi-chisquared", 1, 5000, 0.0),
        ("dfr-if-l-h1", 1, 25, math.log2(1 + 101 / 20.5) * (2 / 3)),
        ("dfr-in-b-h2", 1, 50, math.log2(101 / 10.5) * (22 / 11) * (1 / 2)),
        ("dfr-g-l-h1", 1, 50, (math.log2(1 + 21 / 121) + math.log2((1 + 21 / 121) / (21 / 121))) / 2),
        ("lm-dirichlet", 4, 500, math.log(1 + 4 / (2000 * 21 / 5001)) + math.log(2000 / 2500)),
        ("lm-dirichlet", 1, 100000, 0.0),
        ("lm-jelinek-mercer,lambda=0.2", 2, 50, math.log(1 + (0.8 * 2 / 50) / (0.2 * 21 / 5001))),
        ("ib-ll-df-h1", 1, 50, math.log((1 + 11 / 101) / (11 / 101))),
        ("ib-spl-df-h1", 1, 50, -math.log((math.sqrt(11 / 101) - 11 / 101) / (1 - 11 / 101))),
    ],
)
def test_scores_are_those_worked_out_by_hand(model: str, tf: int, dl: int, score: float) -> None:
    given = retrieval_model(model).score(np.array([float(tf)]), np.array([float(dl)]), TERM)
    assert given[0] == pytest.approx(score, rel=1e-6, abs=1e-7)


def test_bose_einstein_is_the_formula_of_lucene_7() -> None:
    """With tf = 1 and dl = avg every normalisation but H3 gives tfn = 1, and so F' = 22, N' = 122."""

    def f(n: float, m: float) -> float:
        return (m + 0.5) * math.log2(n / m) + (n - m) * math.log2(n)

    expected = (-math.log2(121 * math.e) + f(143, 141) - f(22, 21)) * 22 / (11 * 2)
    given = retrieval_model("dfr-be-b-z").score(np.array([1.0]), np.array([50.0]), TERM)
    assert given[0] == pytest.approx(expected, rel=1e-9)


def test_the_default_model_is_tuned_and_the_others_keep_lucenes_z() -> None:
    tf, dl = np.array([1.0]), np.array([100.0])
    scores = {name: float(retrieval_model(name).score(tf, dl, TERM)[0]) for name in (DEFAULT_MODEL, "dfr-be-l-z")}
    assert scores[DEFAULT_MODEL] == float(retrieval_model("dfr-be-b-z,z=1.0").score(tf, dl, TERM)[0])
    assert scores[DEFAULT_MODEL] != float(retrieval_model("dfr-be-b-z,z=0.3").score(tf, dl, TERM)[0])
    assert scores["dfr-be-l-z"] == float(retrieval_model("dfr-be-l-z,z=0.3").score(tf, dl, TERM)[0])


def test_lucenes_length_byte_keeps_four_bits() -> None:
    lengths = np.array([0, 1, 23, 24, 39, 40, 41, 42, 55, 56, 57, 58, 60, 1000, 2**31 - 1], dtype=np.int32)
    expected = [0, 1, 23, 24, 39, 40, 40, 42, 54, 56, 56, 56, 60, 984, 24 + (15 << 27)]
    assert lucene_lengths(lengths).tolist() == expected


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("bm52", "did you mean 'bm25'"),
        ("bm25,k=1", "no setting 'k'"),
        ("classic,b=1", "no setting 'b'"),
        ("bm25,b=2", "give a number 0 to 1"),
        ("bm25,k1=much", "give a number 0 or more"),
        ("lm-dirichlet,mu=0", "give a number above 0"),
        ("lm-jelinek-mercer,lambda=1", "give a number between 0 and 1"),
        ("dfr-be-b-z,z=nan", "give a number above 0"),
    ],
)
def test_bad_models_are_refused_with_a_hint(model: str, message: str) -> None:
    with pytest.raises(OffscriptError, match=message):
        retrieval_model(model)


def test_bad_questions_are_refused(tmp_path: Path) -> None:
    index = build_index([Document("1", text="word")], tmp_path)
    with pytest.raises(OffscriptError, match="cannot return 0 documents"):
        Searcher(index).search("word", 0)
    with pytest.raises(OffscriptError, match="unknown norms"):
        Searcher(index, norms="lucine")  # type: ignore[arg-type]


def test_deleted_documents_are_not_found_and_do_not_count(tmp_path: Path, sayings: list[Document]) -> None:
    build_index(sayings, tmp_path / "index")
    add_documents(tmp_path / "index", [Document("d9", text="A lazy fox.")])
    changed = delete_documents(tmp_path / "index", ["d1", "d2"])
    rest = [document for document in sayings if document.id not in ("d1", "d2")]
    rebuilt = build_index([*rest, Document("d9", text="A lazy fox.")], tmp_path / "rebuilt")
    assert Searcher(changed).search("lazy fox") == Searcher(rebuilt).search("lazy fox") != []


def test_reranking_orders_by_cosine_and_keeps_ties() -> None:
    vectors = {"q": [1.0, 0.0], "a": [0.0, 2.0], "b": [3.0, 3.0], "c": [5.0, 5.0], "d": [0.0, 0.0]}
    documents = [Document(name, text=name) for name in "abcd"]
    hits = rerank("q", documents, lambda texts: np.array([vectors[text] for text in texts]))
    assert [hit.document_id for hit in hits] == ["b", "c", "a", "d"]
    assert hits[0] == Hit("b", pytest.approx(math.sqrt(0.5)))
    assert rerank("q", [], lambda texts: np.empty((0, 2))) == []
    with pytest.raises(OffscriptError, match="one vector per text"):
        rerank("q", documents, lambda texts: np.zeros(3))


def _scifact_claims(data_folder: Path) -> tuple[dict[str, str], dict[str, dict[str, int]]]:
    claims: dict[str, str] = {}
    judgments: dict[str, dict[str, int]] = {}
    with lzma.open(data_folder / "scifact" / "claims_validation.csv.xz", "rt", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            if row["evidence_doc_id"]:
                claims[row["id"]] = row["claim"]
                judgments.setdefault(row["id"], {})[row["evidence_doc_id"]] = 1
    return claims, judgments


def _rankings(index: Index, queries: dict[str, str], k: int, model: str) -> dict[str, list[str]]:
    found = Searcher(index).search_all(list(queries.values()), k, model=model)
    return {query: [hit.document_id for hit in hits] for query, hits in zip(queries, found, strict=True)}


def test_scifact_recall_is_the_known_one(scifact: list[Document], data_folder: Path, tmp_path: Path) -> None:
    claims, judgments = _scifact_claims(data_folder)
    rankings = _rankings(build_index(scifact, tmp_path), claims, 20, "bm25")
    values = evaluate(rankings, judgments, ["recall@1", "recall@5", "recall@20"])
    assert {name: round(float(per_query.mean()), 3) for name, per_query in values.items()} == {
        "recall@1": 0.696,
        "recall@5": 0.873,
        "recall@20": 0.948,
    }


def test_cisi_map_is_the_known_one(data_folder: Path, tmp_path: Path) -> None:
    folder = data_folder / "cisi"
    queries = {query.id: query.text for query in read_documents(folder / "CISI.QRY.xz")}
    judgments: dict[str, dict[str, int]] = {}
    with lzma.open(folder / "CISI.REL.xz", "rt") as stream:
        for query, document, *_ in map(str.split, stream):
            judgments.setdefault(query, {})[document] = 1
    documents = list(read_documents(folder / "CISI.ALL.xz"))
    rankings = _rankings(build_index(documents, tmp_path), queries, len(documents), "bm25")
    values = evaluate(rankings, judgments, ["map"])["map"]
    assert (len(documents), len(values)) == (1460, 76)
    assert values.mean() >= 0.16


@pytest.mark.slow
def test_fever_passages_are_found_no_worse_by_tuned_dfr_than_by_bm25(data_folder: Path, tmp_path: Path) -> None:
    """The default's z = 1 was chosen on the claims of `paper_dev`; those of `paper_test` are asked.

    With Lucene's z = 0.3 DFR falls behind here, where passages are short and many repeat each other's sentences.
    """
    passages = read_fever_passages(data_folder / "fever")
    assert len(passages.documents) == 4864
    asked = [claim for claim in passages.claims["test"] if claim.label is not Verdict.unknown]
    assert len(asked) == 6666
    queries = {claim.id: claim.claim for claim in asked}
    judgments = {claim.id: {document: 1 for found in claim.evidence for document, _ in found} for claim in asked}
    index = build_index(passages.documents, tmp_path, analyzer=Analyzer("english", "porter"))
    names = ["recall@1", "recall@5", "recall@10", "recall@20"]
    bm25, dfr = (
        [values.mean() for values in evaluate(_rankings(index, queries, 20, model), judgments, names).values()]
        for model in ("bm25", DEFAULT_MODEL)
    )
    assert np.all(np.array(dfr) >= bm25), (dfr, bm25)


def test_stems_raise_scifact_recall(scifact: list[Document], data_folder: Path, tmp_path: Path) -> None:
    claims, judgments = _scifact_claims(data_folder)
    index = build_index(scifact, tmp_path, analyzer=Analyzer("english", "porter"))
    values = evaluate(_rankings(index, claims, 20, "bm25"), judgments, ["recall@5", "recall@20"])
    assert values["recall@5"].mean() >= 0.883
    assert values["recall@20"].mean() >= 0.957
    values = evaluate(_rankings(index, claims, 20, DEFAULT_MODEL), judgments, ["recall@5", "recall@20"])
    assert values["recall@5"].mean() >= 0.873
    assert values["recall@20"].mean() >= 0.948
