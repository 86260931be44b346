"""`offscript index` and `offscript measure retrieval` as a user meets them."""

import bz2
import csv
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from offscript.factcheck.index import open_index

Command = Callable[..., Any]


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    rows = [
        {"id": "canberra", "title": "Canberra", "text": "Canberra is the capital of Australia."},
        {"id": "sydney", "title": "Sydney", "text": "Sydney is a large city in Australia."},
        {"id": "paris", "title": "Paris", "text": "Paris is the capital of France."},
    ]
    path = tmp_path / "documents.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_an_index_is_built_added_to_deleted_from_and_merged(
    offscript: Command, documents: Path, tmp_path: Path
) -> None:
    out = tmp_path / "index"
    built = offscript("index", documents, "--out", out, "--json")
    assert (built.code, built.errors) == (0, "")
    assert (built.json["documents"], built.json["analyzer"]) == (3, {"stop_words": "english", "stemmer": "porter"})
    (tmp_path / "more.txt").write_text("Perth lies in the west of Australia.", encoding="utf-8")
    assert offscript("index", tmp_path / "more.txt", "--add", "--out", out, "--json").json["documents"] == 4
    assert (
        offscript("index", "--delete", "paris", "--delete", "more.txt", "--out", out, "--json").json["documents"] == 2
    )
    merged = offscript("index", "--merge", "--out", out)
    assert (merged.code, merged.output.split(",")[0]) == (0, f"{out}: 2 documents")
    assert len(list(out.glob("segment-*"))) == 1
    assert not list(out.glob("deletions-*"))


def test_an_index_is_replaced_only_when_asked(offscript: Command, documents: Path, tmp_path: Path) -> None:
    out = tmp_path / "index"
    offscript("index", documents, "--out", out)
    (tmp_path / "more.txt").write_text("Perth lies in the west of Australia.", encoding="utf-8")
    refused = offscript("index", tmp_path / "more.txt", "--out", out)
    assert (refused.code, len(open_index(out))) == (2, 3)
    assert "already holds an index" in refused.errors
    assert "--replace" in refused.errors
    assert offscript("index", tmp_path / "more.txt", "--replace", "--out", out).code == 0
    assert len(open_index(out)) == 1
    assert offscript("index", documents, "--replace", "--out", tmp_path / "new", "--json").json["documents"] == 3


def test_the_analysis_can_be_chosen_for_a_new_index(offscript: Command, documents: Path, tmp_path: Path) -> None:
    out = tmp_path / "index"
    built = offscript(
        "index", documents, "--out", out, "--stop-words", "none", "--stemmer", "none", "--limit", "2", "--json"
    )
    assert (built.json["documents"], built.json["analyzer"]) == (2, {"stop_words": "none", "stemmer": "none"})


WIKIPEDIA = """<mediawiki><siteinfo><base>https://en.wikipedia.org/wiki/Main_Page</base></siteinfo>
<page><title>Canberra</title><ns>0</ns><id>7</id><revision><timestamp>2017</timestamp>
<text>'''Canberra''' is the [[capital city|capital]] of {{flag|AU}} Australia.</text></revision></page>
<page><title>Talk:Canberra</title><ns>1</ns><id>8</id><revision><text>Hello</text></revision></page></mediawiki>"""


@pytest.mark.parametrize(
    ("name", "content", "ids"),
    [
        ("dump.xml.bz2", bz2.compress(WIKIPEDIA.encode()), ["7"]),
        ("trec.txt", b"<DOC>\n<DOCNO> T-1 </DOCNO>\n<TEXT>The capital of Australia</TEXT>\n</DOC>\n", ["T-1"]),
        ("cisi.all", b".I 1\n.T\nCanberra\n.W\nThe capital of Australia\n.I 2\n.T\nSydney\n.W\nA city\n", ["1", "2"]),
        ("folder/a/b.txt", b"The capital of Australia", ["a/b.txt"]),
        ("lines.jsonl.xz", lzma.compress(b'{"_id": "x", "text": "The capital of Australia"}\n'), ["x"]),
        ("broken.txt", b"<script>alert(1)</script> capital", ["broken.txt"]),
    ],
)
def test_every_layout_is_indexed(offscript: Command, tmp_path: Path, name: str, content: bytes, ids: list[str]) -> None:
    source = tmp_path / name
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_bytes(content)
    done = offscript("index", tmp_path / Path(name).parts[0], "--out", tmp_path / "index", "--json")
    assert (done.code, done.json["documents"]) == (0, len(ids))
    index = open_index(tmp_path / "index")
    assert all(id in index for id in ids)
    assert "capital" in index.document(ids[0]).text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no documents named"),
        (["--add"], "--add without documents"),
        (["DOCUMENTS", "--delete", "x"], "nothing to delete or merge"),
        (["DOCUMENTS", "--add", "--stemmer", "porter"], "an index keeps the analysis"),
        (["DOCUMENTS", "--stemmer", "portre"], "did you mean 'porter'?"),
        (["DOCUMENTS", "--format", "jsnol"], "did you mean 'jsonl'?"),
        (["missing.jsonl"], "no such file or folder: missing.jsonl"),
        (["--delete", "x"], "holds no index"),
        (["DOCUMENTS", "--add"], "holds no index"),
    ],
)
def test_what_cannot_be_done_gets_one_line(
    offscript: Command, documents: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    given = [str(documents) if each == "DOCUMENTS" else each for each in arguments]
    done = offscript("index", *given, "--out", tmp_path / "index")
    assert (done.code, done.output) == (2, "")
    assert message in done.errors
    assert done.errors.count("\n") == 1


def test_damaged_indexes_and_documents_are_refused_in_one_line(
    offscript: Command, documents: Path, tmp_path: Path
) -> None:
    out, bad = tmp_path / "index", tmp_path / "bad.jsonl"
    offscript("index", documents, "--out", out)
    bad.write_text('{"id": "x", "text": "fine"}\n{"id": "y"}\n', encoding="utf-8")
    refused = offscript("index", bad, "--add", "--out", out)
    assert (refused.code, refused.errors) == (2, f"offscript: {bad}, line 2: no field 'text'; known: id\n")
    queries, judgments = _question(tmp_path)
    asked = ("measure", "retrieval", out, "--queries", queries, "--judgments", judgments, "--json")
    assert offscript(*asked).json["results"]["retrieval"]["recall@1"] == 1.0
    [segment] = out.glob("segment-*")
    whole = segment.read_bytes()
    for damaged in (whole[:-1], whole[:99] + bytes([whole[99] ^ 4]) + whole[100:]):
        segment.write_bytes(damaged)
        done = offscript(*asked)
        assert done.code == 2
        assert f"{segment} is damaged" in done.errors
        assert done.errors.count("\n") == 1


def _question(folder: Path) -> tuple[Path, Path]:
    queries, judgments = folder / "queries.jsonl", folder / "judgments.txt"
    queries.write_text('{"id": "1", "text": "the capital of Australia"}\n{"id": "2", "text": "x"}\n')
    judgments.write_text("1 0 canberra 1\n1 0 paris 0\n9 0 sydney 1\n")
    return queries, judgments


def test_retrieval_is_measured_with_intervals_and_a_recipe(offscript: Command, documents: Path, tmp_path: Path) -> None:
    out, (queries, judgments) = tmp_path / "index", _question(tmp_path)
    offscript("index", documents, "--out", out)
    asked = ("measure", "retrieval", out, "--queries", queries, "--judgments", judgments)
    document = offscript(*asked, "--model", "bm25", "--json").json
    results = document["results"]["retrieval"]
    assert {"recall@1", "recall@5", "recall@10", "recall@20", "map", "ndcg@10"} <= set(results)
    assert (results["map"], results["ndcg@10"]) == (1.0, 1.0)
    assert results["ci"]["recall@5"]["upper"] == 1.0
    assert document["n-samples"]["retrieval"]
    shown = offscript(*asked, "--generate-queries", "--rerank", "3")
    assert "retrieval.recall@20" in shown.output
    for wrong, message in (("bm52", "did you mean 'bm25'?"), ("bm25,k2=1", "no setting 'k2'")):
        done = offscript(*asked, "--model", wrong)
        assert (done.code, done.output) == (2, "")
        assert message in done.errors


def test_judgments_of_other_queries_are_refused(offscript: Command, documents: Path, tmp_path: Path) -> None:
    out, (queries, judgments) = tmp_path / "index", _question(tmp_path)
    offscript("index", documents, "--out", out)
    judgments.write_text("7 0 canberra 1\n")
    done = offscript("measure", "retrieval", out, "--queries", queries, "--judgments", judgments)
    assert done.code == 2
    assert "no query has a relevant document" in done.errors


def test_retrieval_models_are_listed(offscript: Command) -> None:
    listed = [row["model"] for row in offscript("ls", "retrieval", "--json").json]
    assert listed[0] == "bm25"
    assert "dfr-be-b-z (default)" in listed
    assert listed[-2:] == ["dense", "hybrid"]
    assert len(listed) == 67


@pytest.mark.slow
def test_scifact_is_found_as_the_known_figures_say(offscript: Command, data_folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "index"
    offscript("index", data_folder / "scifact" / "corpus_train.csv.xz", "--out", out)
    claims: dict[str, str] = {}
    judged: dict[tuple[str, str], None] = {}
    with lzma.open(data_folder / "scifact" / "claims_validation.csv.xz", "rt", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            claims[row["id"]] = row["claim"]
            if row["evidence_doc_id"]:
                judged[row["id"], row["evidence_doc_id"]] = None
    queries, judgments = tmp_path / "queries.jsonl", tmp_path / "judgments.txt"
    queries.write_text("".join(json.dumps({"id": id, "text": text}) + "\n" for id, text in claims.items()))
    judgments.write_text("".join(f"{query} 0 {document} 1\n" for query, document in judged))
    for model in ([], ["--model", "bm25"]):
        done = offscript("measure", "retrieval", out, "--queries", queries, "--judgments", judgments, *model, "--json")
        results = done.json["results"]["retrieval"]
        assert results["recall@5"] >= 0.873
        assert results["recall@20"] >= 0.948
        assert done.json["n-samples"]["retrieval"] == {"original": 188, "effective": 188}


def test_an_index_is_checked(offscript: Command, documents: Path, tmp_path: Path) -> None:
    out = tmp_path / "index"
    offscript("index", documents, "--out", out)
    checked = offscript("index", "--check", "--out", out)
    assert (checked.code, checked.output.split(",")[0]) == (0, f"{out}: 3 documents")
    segment = next(out.glob("segment-*"))
    segment.write_bytes(segment.read_bytes()[:-1] + b"\xff")
    refused = offscript("index", "--check", "--out", out)
    assert (refused.code, refused.output) == (2, "")
    assert f"{segment} is damaged; its checksum is not the manifest's" in refused.errors
