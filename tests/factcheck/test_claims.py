"""Judged claims of every layout, and one clear line for what is none."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offscript.errors import OffscriptError
from offscript.factcheck.checked import Verdict
from offscript.factcheck.claims import JudgedClaim, read_claims, read_fever_passages


def _read(tmp_path: Path, *records: object) -> list[JudgedClaim]:
    path = tmp_path / "claims.jsonl"
    path.write_text("\n".join(json.dumps(record) for record in records), encoding="utf-8")
    return read_claims(path)


@pytest.mark.parametrize(
    ("evidence", "sets"),
    [
        ([], ()),
        (None, ()),
        (["a"], [{("a", None)}]),
        ([["a", 3]], [{("a", 3)}]),
        ([[["a", 3], ["b", 0]], [["c", None]]], [{("a", 3), ("b", 0)}, {("c", None)}]),
        ([[[1, 2, "Telemundo", 0]], [[1, 2, "A", 4], [1, 2, "B", 0]]], [{("Telemundo", 0)}, {("A", 4), ("B", 0)}]),
        ([[[1, None, None, None]]], ()),
    ],
)
def test_evidence(tmp_path: Path, evidence: object, sets: list[set[tuple[str, int | None]]]) -> None:
    [claim] = _read(tmp_path, {"id": 7, "claim": "c", "label": "SUPPORTS", "evidence": evidence})
    assert claim == JudgedClaim("7", "c", Verdict.supported, tuple(map(frozenset, sets)))


def test_scifact_records(tmp_path: Path) -> None:
    evidence = {"4983": [{"sentences": [1, 4], "label": "CONTRADICT"}, {"sentences": [2], "label": "CONTRADICT"}]}
    refuted, unknown = _read(
        tmp_path,
        {"id": 1, "claim": "a", "evidence": evidence, "cited_doc_ids": [4983]},
        {"id": 2, "claim": "b", "evidence": {}, "cited_doc_ids": []},
    )
    assert refuted.label == Verdict.refuted
    assert refuted.evidence == (frozenset([("4983", 1), ("4983", 4)]), frozenset([("4983", 2)]))
    assert (unknown.label, unknown.evidence) == (Verdict.unknown, ())


def test_scifact_as_csv(tmp_path: Path) -> None:
    path = tmp_path / "claims.csv"
    path.write_text(
        "id,claim,evidence_doc_id,evidence_label,evidence_sentences,cited_doc_ids\n"
        "3,x,11,SUPPORT,[2 5],[11]\n3,x,11,SUPPORT,[7],[11]\n4,y,,,[],[9]\n",
        encoding="utf-8",
    )
    supported, unknown = read_claims(path)
    assert supported.evidence == (frozenset([("11", 2), ("11", 5)]), frozenset([("11", 7)]))
    assert (supported.label, unknown.label, unknown.evidence) == (Verdict.supported, Verdict.unknown, ())


@pytest.mark.parametrize(
    "line",
    [
        "no JSON",
        "[1]",
        '{"id": 1}',
        '{"id": 1, "claim": 2, "label": "SUPPORTS"}',
        '{"id": 1, "claim": "c"}',
        '{"id": 1, "claim": "c", "label": "PERHAPS"}',
        '{"id": 1, "claim": "c", "label": "SUPPORTS", "evidence": [[["a"]]]}',
        '{"id": 1, "claim": "c", "label": "SUPPORTS", "evidence": 5}',
    ],
)
def test_what_is_no_claim_is_told_with_its_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "claims.jsonl"
    path.write_text(f'{{"id": 0, "claim": "c", "label": "REFUTES"}}\n{line}\n', encoding="utf-8")
    with pytest.raises(OffscriptError, match=r"claims.jsonl.*2.*not a judged claim"):
        read_claims(path)


def test_a_file_without_claims_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OffscriptError, match="holds no claim"):
        _read(tmp_path)


@given(
    st.recursive(
        st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_whatever_the_evidence_it_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, evidence: object
) -> None:
    try:
        [claim] = _read(
            tmp_path_factory.mktemp("any"), {"id": 1, "claim": "c", "label": "REFUTED", "evidence": evidence}
        )
        assert claim.label == Verdict.refuted
    except OffscriptError:
        pass


def test_real_fever_claims_point_to_their_passages(data_folder: Path) -> None:
    passages = read_fever_passages(data_folder / "fever")
    assert len(passages.documents) == 4864
    assert [len(passages.claims[part]) for part in ("dev", "test")] == [9999, 9999]
    for claims in passages.claims.values():
        proven = [bool(claim.evidence) for claim in claims if claim.label != Verdict.unknown]
        assert len(proven) == 6666
        assert all(proven)
        assert not any(claim.evidence for claim in claims if claim.label == Verdict.unknown)


def test_real_scifact_claims(data_folder: Path) -> None:
    claims = read_claims(data_folder / "scifact" / "claims_validation.csv.xz")
    labels = [claim.label for claim in claims]
    assert [labels.count(verdict) for verdict in Verdict] == [124, 64, 112]
