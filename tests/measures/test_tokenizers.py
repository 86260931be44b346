import sys
from pathlib import Path

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from transformers import PreTrainedTokenizerFast

from offscript.errors import OffscriptError
from offscript.measures.tokenizers import tokenize


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("whitespace", " a  cat's mat.\n", ["a", "cat's", "mat."]),
        ("nltk", "a cat's mat, isn't it?", ["a", "cat", "'s", "mat", ",", "is", "n't", "it", "?"]),
        ("characters", "a b", ["a", " ", "b"]),
        ("whitespace", "", []),
    ],
)
def test_tokenizers_by_name(name: str, text: str, expected: list[str]) -> None:
    assert tokenize([text], name) == [expected]


def test_a_hub_tokenizer_gives_its_ids(tmp_path: Path) -> None:
    backend = Tokenizer(WordLevel({"<s>": 0, "a": 1, "cat": 2}, unk_token="<s>"))
    backend.pre_tokenizer = Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>").save_pretrained(tmp_path)
    assert tokenize(["a cat", "cat"], f"hub:{tmp_path}") == [[1, 2], [2]]


def test_an_unknown_tokenizer_gets_the_nearest_name() -> None:
    with pytest.raises(OffscriptError, match="no tokenizer 'whitespaces'; did you mean 'whitespace'?"):
        tokenize([], "whitespaces")


def test_a_missing_nltk_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nltk.tokenize", None)
    with pytest.raises(OffscriptError, match="nltk is not installed; pip install nltk, or choose whitespace"):
        tokenize([], "nltk")
