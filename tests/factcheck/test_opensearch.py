"""The OpenSearch backend against a stand-in on this machine; no real cluster takes part.

The stand-in refuses what the documented schema does not allow (https://docs.opensearch.org/latest/im-plugin/similarity/,
…/api-reference/index-apis/create-index/, …/document-apis/bulk/, …/search-apis/search/) and answers in the documented
form, with the hits of the library's own searcher for the model that the request's field was made with.
"""

import json
import math
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jsonschema
import numpy as np
import pytest

from offscript.errors import OffscriptError
from offscript.factcheck.analysis import Analyzer
from offscript.factcheck.documents import Document
from offscript.factcheck.index import build_index
from offscript.factcheck.retrieval import Searcher, model_names, retrieval_model
from offscript.factcheck.retrieval.opensearch import OpenSearchIndex, opensearch_client
from offscript.factcheck.retrieval.opensearch_requests import field_of, index_body, search_body, similarity_settings
from offscript.factcheck.retrieval.similarities import Term
from offscript.factcheck.sources.source import Kind

NUMBER = {"type": "number"}
NORMALIZATION = {
    "normalization": {"enum": ["no", "h1", "h2", "h3", "z"]},
    "normalization.h1.c": NUMBER,
    "normalization.h2.c": NUMBER,
    "normalization.h3.c": NUMBER,
    "normalization.z.z": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.5},
}
SIMILARITIES = {
    "BM25": ({"k1": NUMBER, "b": NUMBER, "discount_overlaps": {"type": "boolean"}}, []),
    "DFR": (
        {"basic_model": {"enum": ["g", "if", "in", "ine"]}, "after_effect": {"enum": ["b", "l"]}, **NORMALIZATION},
        ["basic_model", "after_effect", "normalization"],
    ),
    "DFI": (
        {"independence_measure": {"enum": ["standardized", "saturated", "chisquared"]}},
        ["independence_measure"],
    ),
    "IB": (
        {"distribution": {"enum": ["ll", "spl"]}, "lambda": {"enum": ["df", "ttf"]}, **NORMALIZATION},
        ["distribution", "lambda", "normalization"],
    ),
    "LMDirichlet": ({"mu": NUMBER}, []),
    "LMJelinekMercer": ({"lambda": NUMBER}, []),
    "scripted": (
        {
            "script": {
                "type": "object",
                "properties": {"lang": {"const": "painless"}, "source": {"type": "string"}},
                "required": ["source"],
                "additionalProperties": False,
            }
        },
        ["script"],
    ),
}
SIMILARITY = {
    "oneOf": [
        {
            "type": "object",
            "properties": {"type": {"const": name}, **properties},
            "required": ["type", *required],
            "additionalProperties": False,
        }
        for name, (properties, required) in SIMILARITIES.items()
    ]
}
FIELD = {
    "type": "object",
    "properties": {
        "type": {"enum": ["text", "keyword", "integer"]},
        "analyzer": {"type": "string"},
        "similarity": {"type": "string"},
        "index": {"type": "boolean"},
        "doc_values": {"type": "boolean"},
        "fields": {"type": "object", "additionalProperties": {"$ref": "#/$defs/field"}},
    },
    "required": ["type"],
    "additionalProperties": False,
}
CREATE = {
    "$defs": {"field": FIELD},
    "type": "object",
    "properties": {
        "settings": {
            "type": "object",
            "properties": {
                "index": {
                    "type": "object",
                    "properties": {
                        "number_of_shards": {"type": "integer", "minimum": 1},
                        "number_of_replicas": {"type": "integer", "minimum": 0},
                        "similarity": {"type": "object", "additionalProperties": SIMILARITY},
                        "analysis": {
                            "type": "object",
                            "properties": {
                                "analyzer": {
                                    "additionalProperties": {
                                        "properties": {
                                            "type": {"const": "custom"},
                                            "tokenizer": {"const": "standard"},
                                            "filter": {"type": "array", "items": {"type": "string"}},
                                        },
                                        "required": ["tokenizer"],
                                        "additionalProperties": False,
                                    }
                                },
                                "filter": {
                                    "additionalProperties": {
                                        "properties": {
                                            "type": {"enum": ["stop", "snowball"]},
                                            "stopwords": {"const": "_english_"},
                                            "language": {"enum": ["English", "Porter", "German"]},
                                        },
                                        "required": ["type"],
                                        "additionalProperties": False,
                                    }
                                },
                            },
                            "additionalProperties": False,
                        },
                    },
                    "additionalProperties": False,
                }
            },
            "additionalProperties": False,
        },
        "mappings": {
            "type": "object",
            "properties": {
                "dynamic": {"enum": ["strict", "true", "false", "strict_allow_templates"]},
                "_source": {"properties": {"excludes": {"type": "array"}}, "additionalProperties": False},
                "properties": {"type": "object", "additionalProperties": FIELD},
            },
            "additionalProperties": False,
        },
    },
    "additionalProperties": False,
}
SEARCH = {
    "type": "object",
    "properties": {
        "size": {"type": "integer", "minimum": 0, "maximum": 10_000},
        "_source": {"anyOf": [{"type": "boolean"}, {"type": "array", "items": {"type": "string"}}]},
        "query": {
            "type": "object",
            "properties": {
                "match": {
                    "type": "object",
                    "minProperties": 1,
                    "maxProperties": 1,
                    "additionalProperties": {
                        "properties": {"query": {"type": "string"}, "operator": {"enum": ["or", "and"]}},
                        "required": ["query"],
                        "additionalProperties": False,
                    },
                }
            },
            "required": ["match"],
            "additionalProperties": False,
        },
    },
    "required": ["query"],
    "additionalProperties": False,
}
MODELS = ("dfr-be-b-z", "bm25,k1=0.9,b=0.4", "classic", "ib-ll", "lm-dirichlet,mu=500")


class StandIn:
    """Keeps indexes and documents in memory; `faults` lists what was asked against the schema."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.bodies, self.documents = folder, dict[str, Any](), dict[str, dict[str, Any]]()
        self.parameters: dict[str, list[str]] = {}

    def answer(self, method: str, path: str, parameters: dict[str, list[str]], data: bytes) -> tuple[int, Any]:
        name, _, action = path.strip("/").partition("/")
        if name == "_bulk":
            return 200, self._bulk(data)
        if method == "PUT" and not action:
            return self._create(name, json.loads(data))
        if action == "_refresh" and method == "POST":
            return 200, {"_shards": {"total": 1, "successful": 1, "failed": 0}}
        if action == "_search" and method in ("GET", "POST"):
            self.parameters = parameters
            return self._search(name, json.loads(data))
        return 400, _error(f"no handler for {method} {path}")

    def _create(self, name: str, body: Any) -> tuple[int, Any]:
        try:
            jsonschema.validate(body, CREATE)
        except jsonschema.ValidationError as fault:
            return 400, _error(fault.message)
        if name in self.bodies:
            return 400, _error(f"index [{name}] already exists", "resource_already_exists_exception")
        known = {*body["settings"]["index"]["similarity"], "BM25", "boolean"}
        for field in body["mappings"]["properties"]["searched"]["fields"].values():
            if field["similarity"] not in known:
                return 400, _error(f"Unknown Similarity type [{field['similarity']}]")
        self.bodies[name], self.documents[name] = body, {}
        return 200, {"acknowledged": True, "shards_acknowledged": True, "index": name}

    def _bulk(self, data: bytes) -> Any:
        assert data.endswith(b"\n")
        lines = [json.loads(line) for line in data.splitlines()]
        items = []
        for action, source in zip(lines[::2], lines[1::2], strict=True):
            target = action["index"]
            unknown = set(source) - set(self.bodies[target["_index"]]["mappings"]["properties"])
            if unknown or len(target["_id"].encode()) > 512:
                items.append({"index": {"_id": target["_id"], "status": 400, "error": {"reason": "id is too long"}}})
                continue
            self.documents[target["_index"]][target["_id"]] = source
            items.append({"index": {"_index": target["_index"], "_id": target["_id"], "status": 201}})
        return {"took": 1, "errors": any("error" in item["index"] for item in items), "items": items}

    def _search(self, name: str, body: Any) -> tuple[int, Any]:
        if name not in self.bodies:
            return 404, _error(f"no such index [{name}]", "index_not_found_exception")
        try:
            jsonschema.validate(body, SEARCH)
        except jsonschema.ValidationError as fault:
            return 400, _error(fault.message)
        [(field, match)] = body["query"]["match"].items()
        [model] = [model for model in MODELS if f"searched.{field_of(model)}" == field]
        sources = self.documents[name]
        documents = [Document(id, "", source["searched"]) for id, source in sources.items()]
        hits = Searcher(build_index(documents, self.folder / name)).search(match["query"], body["size"], model=model)
        listed = [{"_index": name, "_id": hit.document_id, "_score": hit.score} for hit in hits]
        if body["_source"]:
            listed = [{**hit, "_source": {key: sources[hit["_id"]][key] for key in body["_source"]}} for hit in listed]
        return 200, {"took": 1, "timed_out": False, "_shards": {}, "hits": {"total": {}, "hits": listed}}


def _error(reason: str, kind: str = "illegal_argument_exception") -> Any:
    return {"error": {"type": kind, "reason": reason, "root_cause": [{"type": kind, "reason": reason}]}, "status": 400}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[StandIn, Any]]:
    stand_in = StandIn(tmp_path)

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
            parts = urlsplit(self.path)
            status, answer = stand_in.answer(self.command, parts.path, parse_qs(parts.query), data)
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PUT = do_POST = answer  # noqa: N815 (as the server calls them)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield stand_in, opensearch_client(f"http://127.0.0.1:{server.server_port}", max_retries=0)
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    "model", [*model_names(), "bm25,k1=0.9,b=0.4", "dfr-g-l-h3,mu=500", "lm-jelinek-mercer,lambda=0.2"]
)
def test_every_model_has_settings_of_the_documented_schema(model: str) -> None:
    jsonschema.validate(similarity_settings(model), SIMILARITY)
    jsonschema.validate(index_body([model], Analyzer()), CREATE)


def test_settings_are_handed_on() -> None:
    assert similarity_settings("bm25,k1=0.9,b=0.4") == {"type": "BM25", "k1": 0.9, "b": 0.4}
    assert similarity_settings("dfr-ine-l-h3,mu=500") == {
        "type": "DFR",
        "basic_model": "ine",
        "after_effect": "l",
        "normalization": "h3",
        "normalization.h3.c": 500.0,
    }
    assert similarity_settings("ib-spl-df-z") == {
        "type": "IB",
        "distribution": "spl",
        "lambda": "df",
        "normalization": "z",
        "normalization.z.z": 0.3,
    }
    assert similarity_settings("lm-jelinek-mercer,lambda=0.2") == {"type": "LMJelinekMercer", "lambda": 0.2}


def run_script(source: str, tf: float, dl: float, term: Term) -> float:
    """The scripts use no more of Painless than Python shares with it but for `double`, casts and `return`."""
    lines = (
        source.replace("(double) ", "").replace("double ", "").rstrip(";").replace("return ", "score = ").split("; ")
    )
    maths = SimpleNamespace(log=math.log, sqrt=math.sqrt, pow=math.pow, max=max, E=math.e)
    values: dict[str, Any] = {
        "Math": maths,
        "query": SimpleNamespace(boost=1.0),
        "doc": SimpleNamespace(freq=tf, length=dl),
        "term": SimpleNamespace(docFreq=term.document_frequency, totalTermFreq=term.total_frequency),
        "field": SimpleNamespace(docCount=term.documents, sumTotalTermFreq=term.tokens),
    }
    exec("\n".join(lines), {"__builtins__": {}}, values)
    return float(values["score"])


@pytest.mark.parametrize("model", ["classic", *(name for name in model_names() if name.startswith("dfr-be"))])
def test_scripts_score_as_the_library_does(model: str) -> None:
    source = similarity_settings(model)["script"]["source"]
    generator = np.random.default_rng(7)
    for _ in range(50):
        documents = int(generator.integers(10, 100_000))
        frequency = int(generator.integers(1, documents))
        term = Term(documents, documents * 40, frequency, frequency + int(generator.integers(0, 2 * frequency + 1)))
        tf, dl = float(generator.integers(1, 12)), float(generator.integers(12, 300))
        expected = retrieval_model(model).score(np.array([tf]), np.array([dl]), term)[0]
        assert run_script(source, tf, dl, term) == pytest.approx(max(0.0, expected), rel=1e-5, abs=1e-6)


def test_queries_are_matched_word_by_word_without_operators() -> None:
    body = search_body("NOT a AND (b OR c)", 5, "classic")
    assert body["query"] == {"match": {"searched.classic": {"query": "NOT a AND (b OR c)", "operator": "or"}}}


@pytest.mark.parametrize("analyzer", [Analyzer(), Analyzer("english", "porter"), Analyzer(stemmer="german")])
def test_analyzers_are_written_in_documented_parts(analyzer: Analyzer) -> None:
    body = index_body(["bm25"], analyzer, shards=4, replicas=1)
    jsonschema.validate(body, CREATE)
    [made] = body["settings"]["index"]["analysis"]["analyzer"].values()
    assert made["filter"][0] == "lowercase"
    assert len(made["filter"]) == 1 + (analyzer.stop_words != "none") + (analyzer.stemmer != "none")


def test_documents_go_in_and_come_out_as_they_were(cluster: Any, sayings: list[Document]) -> None:
    stand_in, client = cluster
    index = OpenSearchIndex(client, "sayings", models=MODELS, kind=Kind.high)
    index.create(shards=2)
    assert index.add(sayings) == len(sayings)
    found = index.find("lazy dog", 3)
    assert stand_in.parameters["search_type"] == ["dfs_query_then_fetch"]
    by_id = {document.id: document for document in sayings}
    assert len(found) == 3
    for each in found:
        assert each.kind is Kind.high
        assert each.document.sentences() == by_id[each.document.id].sentences()
        assert (each.document.title, each.document.text) == (
            by_id[each.document.id].title,
            by_id[each.document.id].text,
        )


@pytest.mark.parametrize("model", MODELS)
def test_hits_are_those_of_the_model_asked_for(
    cluster: Any, sayings: list[Document], model: str, tmp_path: Path
) -> None:
    _, client = cluster
    index = OpenSearchIndex(client, "sayings", models=MODELS)
    index.create()
    index.add(sayings)
    local = Searcher(build_index(sayings, tmp_path / "local"))
    assert index.search("quick lazy fox", 4, model=model) == local.search("quick lazy fox", 4, model=model)
    assert index.search("   ") == []


def test_faults_are_one_line(cluster: Any) -> None:
    _, client = cluster
    index = OpenSearchIndex(client, "one", models=["bm25"])
    with pytest.raises(OffscriptError, match="OpenSearch answered 404; index_not_found_exception"):
        index.search("word")
    index.create()
    with pytest.raises(OffscriptError, match="OpenSearch answered 400; resource_already_exists_exception"):
        index.create()
    with pytest.raises(OffscriptError, match="did not take in document 'xxx"):
        index.add([Document("x" * 600, "", "text")])
    with pytest.raises(OffscriptError, match="no field for 'classic'; it has bm25"):
        index.search("word", model="classic")
    with pytest.raises(OffscriptError, match="OpenSearch cannot be reached"):
        OpenSearchIndex(opensearch_client("http://127.0.0.1:9", max_retries=0), "one").search("word")


@pytest.mark.parametrize("name", ["", "Upper", "_hidden", "a/b", "a" * 200, "../x"])
def test_names_that_opensearch_refuses_are_refused_here(name: str) -> None:
    with pytest.raises(OffscriptError, match="cannot name an index"):
        OpenSearchIndex(None, name)
