"""A model with a Hugging Face tokenizer takes it along: its folder needs nothing from elsewhere."""

import shutil
from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from transformers import PreTrainedTokenizerFast

from offscript.corpora import HubVocabulary
from offscript.models import LSTMLanguageModel, LSTMSettings, load_model, save


def test_the_tokenizer_goes_along_with_the_model(tmp_path: Path) -> None:
    words = Tokenizer(WordLevel({"<unk>": 0, "</s>": 1, "a": 2, "b": 3}, unk_token="<unk>"))
    words.pre_tokenizer = Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<unk>", eos_token="</s>").save_pretrained(
        tmp_path / "own"
    )
    vocabulary = HubVocabulary.load(str(tmp_path / "own"))
    save(LSTMLanguageModel(vocabulary, LSTMSettings(hidden=4, embedding=4)), tmp_path / "model")
    shutil.rmtree(tmp_path / "own")
    loaded = load_model(str(tmp_path / "model"))
    assert loaded.vocabulary.encode("b a c") == [3, 2, 0]
    assert loaded.vocabulary.fingerprint == vocabulary.fingerprint
