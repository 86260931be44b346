"""Indexes built in blocks and searched by segments: what they find is what one index finds, also when a worker dies."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from offscript.audits.workers import map_on
from offscript.errors import OffscriptError
from offscript.factcheck.documents import Document
from offscript.factcheck.index import build_index, check_index, open_index
from offscript.factcheck.index.sharding import build_sharded_index, run_here
from offscript.factcheck.retrieval import Searcher
from offscript.factcheck.retrieval.sharded import ShardedSearcher, count_terms

WORDS = ["gold", "silver", "iron", "copper", "tin", "lead", "zinc", "nickel", "cobalt", "argon", "neon", "xenon"]
QUERIES = ["gold and silver", "zinc", "neon lead lead", "nothing of it", ""]
MODELS = ("dfr-be-b-z", "bm25", "lm-dirichlet", "ib-ll")


def _documents(count: int) -> list[Document]:
    random = np.random.default_rng(7)
    return [
        Document(f"d{number}", "", " ".join(random.choice(WORDS, int(random.integers(1, 20)))))
        for number in range(count)
    ]


@pytest.mark.parametrize("block", [9, 40, 100])
def test_blocks_find_what_one_index_finds(tmp_path: Path, block: int) -> None:
    documents = _documents(60)
    whole = Searcher(build_index(documents, tmp_path / "whole"))
    sharded = build_sharded_index(documents, tmp_path / "sharded", block_documents=block)
    assert len(sharded.segments) == -(-60 // block)
    check_index(tmp_path / "sharded")
    searcher = ShardedSearcher(tmp_path / "sharded")
    for model in MODELS:
        expected = whole.search_all(QUERIES, 12, model=model)
        assert searcher.search_all(QUERIES, 12, model=model) == expected  # scores and order of equal scores
        assert Searcher(sharded).search_all(QUERIES, 12, model=model) == expected


def test_an_id_of_two_blocks_is_refused_and_the_old_index_stays(tmp_path: Path) -> None:
    build_index(_documents(3), tmp_path / "index")
    with pytest.raises(OffscriptError, match="'d0' occurs twice"):
        build_sharded_index([*_documents(3), *_documents(1)], tmp_path / "index", block_documents=2)
    assert len(open_index(tmp_path / "index")) == 3


def test_a_segment_that_was_damaged_on_its_way_is_refused(tmp_path: Path) -> None:
    def damaging(function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        return ((content[:-9], count) for content, count in run_here(function, arguments))

    with pytest.raises(OffscriptError, match="damaged"):
        build_sharded_index(_documents(4), tmp_path / "index", run=damaging)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_on_a_cluster_that_loses_a_node_the_index_is_the_same(cluster: Any, tmp_path: Path) -> None:
    documents = _documents(120)
    whole = Searcher(build_index(documents, tmp_path / "whole"))
    done = 0

    def run(function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        nonlocal done
        for result in map_on("ray", function, arguments):
            done += 1
            if done == 2:
                cluster.kill(1)  # most blocks are yet to come
            yield result

    index = build_sharded_index(documents, tmp_path / "sharded", run=run, block_documents=10)
    assert (len(index.segments), done) == (12, 12)
    found = ShardedSearcher(tmp_path / "sharded", run=partial(map_on, "ray")).search_all(QUERIES, 20)
    assert found == whole.search_all(QUERIES, 20)


def test_a_fault_of_a_worker_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(OffscriptError, match="holds no index"):
        list(map_on("here", count_terms, [(str(tmp_path), 0, ["a"])]))
    with pytest.raises(OffscriptError, match="nothing runs on"):
        list(map_on("moon", count_terms, []))
