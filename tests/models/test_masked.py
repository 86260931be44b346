"""Masked models: recognised by their configuration, loaded from safetensors, answered at the mask."""

from pathlib import Path

import pytest
import torch

from offscript.errors import OffscriptError
from offscript.models.hub import MaskedLanguageModel, names_masked_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

    place = tmp_path_factory.mktemp("masked")
    words = {"[PAD]": 0, "[UNK]": 1, "[MASK]": 2, "he": 3, "runs": 4, "fast": 5}
    pieces = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    pieces.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=pieces, pad_token="[PAD]", unk_token="[UNK]", mask_token="[MASK]"
    )
    config = BertConfig(vocab_size=6, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8)
    BertForMaskedLM(config).save_pretrained(place)
    tokenizer.save_pretrained(place)
    return place


def test_architecture_tells_masked_models(folder: Path, tmp_path: Path) -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    GPT2LMHeadModel(GPT2Config(vocab_size=6, n_embd=8, n_layer=1, n_head=1)).save_pretrained(tmp_path)
    assert names_masked_model(str(folder))
    assert names_masked_model(f"hf/{folder}")
    assert not names_masked_model(str(tmp_path))
    for elsewhere in ("offscript/news", "./model", "table.json", "model.gguf", "/none/such"):
        assert not names_masked_model(elsewhere)
    with pytest.raises(OffscriptError, match="none/such"):
        names_masked_model("none/such")


def test_distributions_at_the_mask_do_not_see_padding(folder: Path) -> None:
    model = MaskedLanguageModel.load(str(folder))
    alone = model.log_probs_at_mask([[3, 2]])
    together = model.log_probs_at_mask([[3, 2], [3, 4, 4, 2, 5]])
    assert alone.exp().sum(dim=-1) == pytest.approx(1, abs=1e-6)
    assert torch.allclose(together[:1], alone, atol=1e-6)


def test_only_the_mask_is_projected_and_nothing_is_left_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = MaskedLanguageModel.load(str(folder))
    rows = [[3, 2], [3, 4, 4, 2, 5], [2, 4, 5]]
    found = model.log_probs_at_mask(rows)
    with torch.inference_mode():
        whole = [model.network(input_ids=torch.tensor([row])).logits[0, row.index(2)].log_softmax(-1) for row in rows]
    assert torch.allclose(found, torch.stack(whole), atol=1e-6)
    assert model.network(input_ids=torch.tensor([[3, 2]])).logits.shape == (1, 2, 6)
    monkeypatch.setattr(model.network, "get_output_embeddings", lambda: None)
    assert torch.allclose(model.log_probs_at_mask(rows), found, atol=1e-6)


def test_weights_decide_the_hash(folder: Path) -> None:
    first, second = (MaskedLanguageModel.load(str(folder)) for _ in range(2))
    assert first.weight_hash == second.weight_hash
    with torch.no_grad():
        next(second.network.parameters()).add_(1)
    assert first.weight_hash != second.weight_hash


@pytest.mark.parametrize("text", ["hf/none/such", "none/such,dtype=int4"])
def test_what_cannot_be_loaded_is_one_line(text: str) -> None:
    with pytest.raises(OffscriptError, match=r"none/such|int4"):
        MaskedLanguageModel.load(text)


def test_a_tokenizer_without_a_mask_is_refused(folder: Path) -> None:
    model = MaskedLanguageModel.load(str(folder))
    model.tokenizer.mask_token = None
    with pytest.raises(OffscriptError, match="no mask"):
        MaskedLanguageModel(model.network, model.tokenizer)
