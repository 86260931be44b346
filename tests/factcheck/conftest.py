"""What the fact checker's tests share: real collections and tiny ones, and a tiny encoder."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from offscript.factcheck.documents import Document, read_documents

WORDS = [
    *("the", "president", "died", "in", "paris", "not", "true", "hoax"),
    *("cats", "eat", "fish", "today", "report", "says", "police", "deny"),
]


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


@pytest.fixture(scope="session")
def encoder_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of two layers and eight units."""
    import torch
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("encoder")
    vocabulary = {word: number for number, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    ).save_pretrained(folder)
    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=64,
    )
    BertModel(config).save_pretrained(folder)
    return folder
