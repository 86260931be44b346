"""Memory: reading, encoding and batching three times the lines takes no more of it."""

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from offscript.corpora import (
    Batches,
    BucketedBatches,
    EncodedCorpus,
    FixedBatches,
    PackedBatches,
    WordVocabulary,
    encode_corpus,
    keep_lengths,
    read_sentences,
)

VOCABULARY = WordVocabulary(["<unk>", "<eos>", *(f"w{index}" for index in range(100))])


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Buffers that even the smaller corpus fills."""
    monkeypatch.setattr("offscript.corpora.encoded.BLOCK", 1024)
    monkeypatch.setattr("offscript.corpora.batching.SCAN", 1024)
    monkeypatch.setattr("offscript.corpora.batching.WINDOW_BATCHES", 8)


def write_corpus(path: Path, lines: int) -> Path:
    """Lines of 200 to 209 words: also the smaller corpus is larger than the megabyte in which files are hashed."""
    with path.open("w") as stream:
        for line in range(lines):
            stream.write(" ".join(f"w{(line + word) % 100}" for word in range(200 + line % 10)) + "\n")
    return path


def stream_from_disk(source: Path) -> None:
    """Read, filter, encode to disk and make every batch of every kind."""
    corpus = encode(source, source.with_suffix(".encoded"))
    kinds: list[Batches] = [
        FixedBatches(corpus, 205, 64, seed=0),
        PackedBatches(corpus, 300, 64, seed=0),
        BucketedBatches(corpus, 64, seed=0),
        BucketedBatches(corpus, 64, seed=0, tokens_per_batch=10_000),
    ]
    for batches in kinds:
        for _ in batches.epoch(0):
            pass


def encode(source: Path, folder: Path | None = None) -> EncodedCorpus:
    return encode_corpus(keep_lengths(read_sentences(source), 200), VOCABULARY, end=True, folder=folder)


def growth(work: Callable[[Path], object], folder: Path, few: int) -> float:
    """Peak of Python's allocations for three times a few lines, over that for the few."""
    work(write_corpus(folder / "warm-up.txt", 100))
    peaks = []
    for lines in (few, 3 * few):
        source = write_corpus(folder / f"{lines}.txt", lines)
        tracemalloc.start()
        work(source)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    return peaks[1] / peaks[0]


def test_allocations_do_not_grow_with_the_number_of_lines(tmp_path: Path) -> None:
    assert growth(stream_from_disk, tmp_path, few=3000) < 1.02


def test_a_corpus_kept_in_memory_is_noticed(tmp_path: Path) -> None:
    assert growth(encode, tmp_path, few=500) > 2
