"""The collection that Table 2.1 searches."""

import json
import lzma
from pathlib import Path

import pytest

from offscript.errors import OffscriptError
from offscript.measures.question import Silent
from offscript.measures.registry import question
from offscript.measures.retrieval.collections import open_collection
from offscript.measures.subject import Subject

RECORDS = [
    ("1", "Soul Food is a film.", "SUPPORTS", "Soul_Food_-LRB-film-RRB-", "Soul Food is a 1997 film ."),
    ("2", "Soul Food came out in 1997.", "SUPPORTS", "Soul_Food_-LRB-film-RRB-", "Soul Food came out in 1997 ."),
    ("3", "Canberra is a river.", "REFUTES", "Canberra", "Canberra is the capital of Australia ."),
    ("4", "Nobody knows this.", "NOT ENOUGH INFO", None, None),
]


@pytest.fixture
def fever(tmp_path: Path) -> Path:
    """FEVER's layout in small."""
    (tmp_path / "gold-evidence-dev").mkdir()
    known = [record for record in RECORDS if record[3]]
    for number, column in ((0, 4), (1, 1)):
        lines = "".join(f"{record[column]}\n" for record in known)
        (tmp_path / "gold-evidence-dev" / f"dev.raw.input{number}.xz").write_bytes(lzma.compress(lines.encode()))
    for part, chosen in (("dev", RECORDS[:1]), ("test", RECORDS[1:])):
        rows = [
            {"id": int(id), "claim": claim, "label": label, "evidence": [[[7, 8, page, 0 if page else None]]]}
            for id, claim, label, page, _ in chosen
        ]
        packed = lzma.compress("".join(json.dumps(row) + "\n" for row in rows).encode())
        (tmp_path / f"paper_{part}.jsonl.xz").write_bytes(packed)
    return tmp_path


def test_passages_of_a_page_are_one_document_and_claims_ask_for_it(fever: Path) -> None:
    found = open_collection(fever=str(fever), part="test")
    assert len(found.index) == 2
    assert found.index.document("Soul Food (film)").text == "Soul Food is a 1997 film .\n\nSoul Food came out in 1997 ."
    assert [query.id for query in found.queries] == ["2", "3"]
    assert found.judgments == {"2": {"Soul Food (film)": 1}, "3": {"Canberra": 1}}
    assert len(open_collection(fever=str(fever), claims=1, seed=3).queries) == 1


def test_the_whole_dump_is_searched_where_it_is_there(fever: Path) -> None:
    with pytest.raises(OffscriptError, match="wiki-pages is missing"):
        open_collection(fever=str(fever), dump=True)
    pages = [
        {"id": "Canberra", "text": "…", "lines": "0\tCanberra is the capital of Australia .\t"},
        {"id": "Soul_Food_-LRB-film-RRB-", "text": "…", "lines": "0\tSoul Food is a 1997 film ."},
    ]
    (fever / "wiki-pages").mkdir()
    lines = "".join(json.dumps(page) + "\n" for page in pages)
    (fever / "wiki-pages" / "wiki-001.jsonl").write_text(lines, encoding="utf-8")
    found = open_collection(fever=str(fever), dump=True)
    assert found.judgments == {"2": {"Soul_Food_-LRB-film-RRB-": 1}, "3": {"Canberra": 1}}
    assert all(document in found.index for grades in found.judgments.values() for document in grades)


def test_an_experiment_can_ask_for_retrieval(fever: Path) -> None:
    asked = question("retrieval")
    settings = asked.settings({"collection": {"fever": str(fever)}, "model": "bm25", "depth": 20})
    measured = asked.measure(Subject(seed=1), settings, Silent()).measurements
    assert {entry.name: entry.value for entry in measured}["recall@5"] == 1.0


def test_an_unknown_part_is_refused(fever: Path) -> None:
    with pytest.raises(OffscriptError, match="no part 'train'"):
        open_collection(fever=str(fever), part="train")
