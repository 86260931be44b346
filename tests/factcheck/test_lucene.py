"""Scores and rankings are real Lucene's, model by model."""

import csv
import lzma
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from offscript.factcheck.analysis import Analyzer
from offscript.factcheck.documents import Document
from offscript.factcheck.index import Index, build_index
from offscript.factcheck.retrieval import Searcher, model_names

DOCUMENTS, QUERIES, K = 1600, 200, 10
TRICKY = [
    "Hello, world's can't 3.14 1,000 a.b U.S.A. foo_bar __x__ ___ x-y 日本語カタカナひらがな 한국어 สวัสดีครับ",
    "© ™ ® ❤ ❤️ 👨‍👩‍👧 🇨🇦🇺🇸 1️⃣ # * ☺ ↔ ‼ 👍🏽 ✓ ☀",
    "צה\"ל ג'ורג' d'été l’homme 1.e a.1 a:b a·b 1;2 ﾊﾟ ー e\u0301t\u0301 \u0301a",
    "İSTANBUL ΣΑΣ ǅ a\u200db \u00adsoft\u00adhyphen 10% $5 a@b.com http://x.y/z?q=1 ２３ ⅷ ² ½",
    "x" * 600 + " y",
    "_カ_a カa 1カ",
]


@pytest.fixture(scope="module")
def documents(scifact: list[Document]) -> list[Document]:
    return scifact[:DOCUMENTS]


@pytest.fixture(scope="module")
def index(documents: list[Document], tmp_path_factory: pytest.TempPathFactory) -> Index:
    return build_index(documents, tmp_path_factory.mktemp("lucene") / "index")


@pytest.fixture(scope="module")
def claims(data_folder: Path) -> list[str]:
    with lzma.open(data_folder / "scifact" / "claims_train.csv.xz", "rt", encoding="utf-8") as stream:
        return list(dict.fromkeys(row["claim"] for row in csv.DictReader(stream)))[:QUERIES]


@pytest.mark.slow
def test_scores_equal_lucenes_on_the_same_tokens_for_every_model_lucene_has(
    lucene: ModuleType, documents: list[Document], index: Index, claims: list[str]
) -> None:
    terms = index.analyzer.terms
    oracle = lucene.Lucene([" ".join(terms(document.searched)) for document in documents], "whitespace")
    queries = [oracle.query(terms(claim)) for claim in claims]
    searcher = Searcher(index, norms="lucene")
    similarities = lucene.lucene_similarities()
    assert {name.partition(",")[0] for name in similarities} == {
        name for name in model_names() if not name.startswith("dfr-be-") and name not in ("dense", "hybrid")
    }
    for model, similarity in similarities.items():
        ours = searcher.rank(claims, K, model=model)
        for place, query in enumerate(queries):
            numbers, scores = zip(*oracle.search(query, K, similarity), strict=True)
            np.testing.assert_allclose(ours.scores[place], scores, rtol=0, atol=2e-5, err_msg=model)
            assert len(set(numbers) & set(ours.documents[place].tolist())) >= K - 1, model


def test_rankings_agree_with_lucenes_from_raw_text(
    lucene: ModuleType, documents: list[Document], index: Index, claims: list[str]
) -> None:
    oracle = lucene.Lucene([document.searched for document in documents], "standard")
    searcher = Searcher(index, norms="lucene")
    similarities = lucene.lucene_similarities()
    for model in ("bm25", "dfi-standardized", "dfr-in-b-z", "ib-spl", "lm-dirichlet"):
        ours = searcher.rank(claims, K, model=model).documents
        overlaps = []
        for place, claim in enumerate(claims):
            found = oracle.search(oracle.query(oracle.terms(claim)), K, similarities[model])
            overlaps.append(len({number for number, _ in found} & set(ours[place].tolist())) / K)
        assert np.mean(overlaps) >= 0.98, model


def test_words_are_those_of_lucenes_standard_analyzer(lucene: ModuleType, documents: list[Document]) -> None:
    oracle, analyzer = lucene.Lucene([], "standard"), Analyzer()
    for text in [*TRICKY, *(document.searched for document in documents[:300])]:
        assert analyzer.terms(text) == oracle.terms(text)
