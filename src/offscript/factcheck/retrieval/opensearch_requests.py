"""What OpenSearch is asked: retrieval models as its similarity settings, and the bodies of requests.

Settings are those of https://docs.opensearch.org/latest/im-plugin/similarity/. It has neither Classic nor DFR's BE
model; both are written as scripts for it, from the formulas of `similarities`. Lucene stores document lengths rounded
(`norms="lucene"` here), and BM25 comes k1 + 1 times as large from versions before 3, in the same order.
"""

import re
from collections.abc import Sequence
from typing import Any

from offscript.errors import OffscriptError
from offscript.factcheck.analysis import Analyzer
from offscript.factcheck.analysis.analyzer import NONE
from offscript.factcheck.documents.document import Document
from offscript.factcheck.retrieval.models import retrieval_model
from offscript.factcheck.retrieval.similarities import (
    BM25,
    DFI,
    DFR,
    H1,
    H2,
    H3,
    Classic,
    Dirichlet,
    InformationBased,
    JelinekMercer,
    Normalization,
    Z,
)

SEARCHED, ANALYZER = "searched", "offscript"
STORED = ("title", "text", "url", "date")
LONGEST_QUERY = 1024  # words: OpenSearch refuses more clauses by default
_LENGTHS = "double average = field.sumTotalTermFreq / (double) field.docCount; "
_NORMALIZED = {
    H1: "doc.freq * {} * (average / doc.length)",
    H2: "doc.freq * (Math.log(1.0 + {} * average / doc.length) / Math.log(2.0))",
    H3: "(doc.freq + {0} * ((term.totalTermFreq + 1.0) / (field.sumTotalTermFreq + 1.0))) / (doc.length + {0}) * {0}",
    Z: "doc.freq * Math.pow(average / doc.length, {})",
}
_CLASSIC = (
    "return query.boost * Math.sqrt(doc.freq) "
    "* (Math.log((field.docCount + 1.0) / (term.docFreq + 1.0)) + 1.0) / Math.sqrt(doc.length);"
)
# Scores below 0, which OpenSearch refuses, become 0; only words that most documents hold many times have them.
_BOSE_EINSTEIN = (
    "double two = Math.log(2.0); "
    "double frequency = term.totalTermFreq + 1.0 + tfn; "
    "double documents = frequency + field.docCount; "
    "double n1 = documents + frequency - 1.0; double m1 = documents + frequency - tfn - 2.0; "
    "double n2 = frequency; double m2 = frequency - tfn; "
    "double f1 = (m1 + 0.5) * Math.log(n1 / m1) / two + (n1 - m1) * Math.log(n1) / two; "
    "double f2 = (m2 + 0.5) * Math.log(n2 / m2) / two + (n2 - m2) * Math.log(n2) / two; "
    "double information = f1 - f2 - Math.log((documents - 1.0) * Math.E) / two; "
)


def similarity_settings(model: str) -> dict[str, Any]:
    """A retrieval model as an entry of `index.similarity`."""
    similarity = retrieval_model(model)
    match similarity:
        case BM25():
            return {"type": "BM25", "k1": similarity.k1, "b": similarity.b}
        case DFI():
            return {"type": "DFI", "independence_measure": similarity.measure}
        case DFR(basic="be"):
            return _scripted(_bose_einstein(similarity))
        case DFR():
            parts = {"basic_model": similarity.basic, "after_effect": similarity.after_effect}
            return {"type": "DFR", **parts, **_normalization(similarity.normalization)}
        case InformationBased():
            named = {"distribution": similarity.distribution, "lambda": similarity.mean}
            return {"type": "IB", **named, **_normalization(similarity.normalization)}
        case Dirichlet():
            return {"type": "LMDirichlet", "mu": similarity.mu}
        case JelinekMercer():
            return {"type": "LMJelinekMercer", "lambda": similarity.weight}
        case Classic():
            return _scripted(_CLASSIC)
    raise OffscriptError(f"OpenSearch cannot score by {model!r}")


def index_body(models: Sequence[str], analyzer: Analyzer, *, shards: int = 1, replicas: int = 0) -> dict[str, Any]:
    """The body of the request that makes an index: one field of the same text for every model."""
    fields = {
        field_of(model): {"type": "text", "analyzer": ANALYZER, "similarity": field_of(model)} for model in models
    }
    stored = {name: {"type": "keyword", "index": False, "doc_values": False} for name in STORED}
    return {
        "settings": {
            "index": {
                "number_of_shards": shards,
                "number_of_replicas": replicas,
                "similarity": {field_of(model): similarity_settings(model) for model in models},
                "analysis": _analysis(analyzer),
            }
        },
        "mappings": {
            "dynamic": "strict",
            "_source": {"excludes": [SEARCHED]},
            "properties": {
                SEARCHED: {"type": "text", "index": False, "fields": fields},
                "starts": {"type": "integer", "index": False, "doc_values": False},
                **stored,
            },
        },
    }


def search_body(query: str, k: int, model: str) -> dict[str, Any]:
    """The body of a search: any of the words, each by itself, with no operators in the text of the query."""
    words = " ".join(query.split()[:LONGEST_QUERY])
    return {"size": k, "query": {"match": {f"{SEARCHED}.{field_of(model)}": {"query": words, "operator": "or"}}}}


def bulk_lines(name: str, documents: Sequence[Document]) -> list[dict[str, Any]]:
    """The lines of a bulk request: what to do, then the document."""
    lines: list[dict[str, Any]] = []
    for document in documents:
        lines.append({"index": {"_index": name, "_id": document.id}})
        lines.append(
            {
                SEARCHED: document.searched,
                **{field: getattr(document, field) for field in STORED},
                "starts": list(document.sentence_starts()),
            }
        )
    return lines


def field_of(model: str) -> str:
    """The name of a model's field and similarity: `bm25,k1=0.9` becomes `bm25_k1_0_9`."""
    return re.sub(r"[^a-z0-9-]+", "_", model.lower())


def _scripted(source: str) -> dict[str, Any]:
    return {"type": "scripted", "script": {"lang": "painless", "source": source}}


def _bose_einstein(similarity: DFR) -> str:
    normalization = similarity.normalization
    tfn = _NORMALIZED[type(normalization)].format(repr(float(_setting(normalization))))
    risk = "(term.totalTermFreq + 2.0) / (term.docFreq + 1.0)" if similarity.after_effect == "b" else "1.0"
    score = f"return query.boost * Math.max(0.0, information * ({risk}) / (tfn + 1.0));"
    return f"{_LENGTHS}double tfn = {tfn}; {_BOSE_EINSTEIN}{score}"


def _normalization(normalization: Normalization) -> dict[str, Any]:
    """OpenSearch calls the μ of H3 `c`, too."""
    name = type(normalization).__name__.lower()
    letter = "z" if name == "z" else "c"
    return {"normalization": name, f"normalization.{name}.{letter}": _setting(normalization)}


def _setting(normalization: Normalization) -> float:
    """The one number that a normalisation is set by."""
    [value] = vars(normalization).values()
    return float(value)


def _analysis(analyzer: Analyzer) -> dict[str, Any]:
    """The analyzer in OpenSearch's parts: words by UAX #29, lower case, Lucene's stop words, Snowball's stems."""
    filters: dict[str, Any] = {}
    if analyzer.stop_words != NONE:
        filters["offscript_stop"] = {"type": "stop", "stopwords": f"_{analyzer.stop_words}_"}
    if analyzer.stemmer != NONE:
        filters["offscript_stem"] = {"type": "snowball", "language": analyzer.stemmer.capitalize()}
    made = {"type": "custom", "tokenizer": "standard", "filter": ["lowercase", *filters]}
    return {"analyzer": {ANALYZER: made}, **({"filter": filters} if filters else {})}
