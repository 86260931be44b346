"""What the fact checker's tests share: real collections, and tiny ones."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from offscript.factcheck.documents import Document, read_documents


@pytest.fixture(scope="session")
def scifact(data_folder: Path) -> list[Document]:
    """SciFact's 5,183 abstracts."""
    return list(read_documents(data_folder / "scifact" / "corpus_train.csv.xz"))


@pytest.fixture
def sayings() -> list[Document]:
    """Six short documents that share words, two of them with equal texts."""
    texts = [
        "The quick brown fox jumps over the lazy dog.",
        "A lazy dog sleeps. The fox does not.",
        "Quick foxes and quick dogs.",
        "Sydney is a city; Canberra is the capital.",
        "A lazy dog sleeps. The fox does not.",
        "",
    ]
    return [Document(f"d{number}", f"Saying {number}" if number % 2 else "", text) for number, text in enumerate(texts)]


@pytest.fixture(scope="session")
def lucene() -> ModuleType:
    """The bridge to real Lucene that the benchmarks use too, its virtual machine started."""
    path = Path(__file__).parents[2] / "benchmarks" / "_lucene.py"
    specification = importlib.util.spec_from_file_location("_lucene", path)
    assert specification is not None
    assert specification.loader is not None
    bridge = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(bridge)
    try:
        bridge.start_lucene()
    except bridge.LuceneMissing as missing:
        pytest.skip(str(missing))
    return bridge
