"""Masked models: sub-words unmasked from left to right, as a loop over sub-words would do it."""

import math
from collections.abc import Callable

import pytest
import torch

from offscript.corpora.associations import AssociationTest
from offscript.measures.stereotypes.judgements import judge
from offscript.measures.stereotypes.masked import score_with_masked_model
from offscript.measures.stereotypes.scores import measure_stereotypes
from offscript.models.hub import MaskedLanguageModel

Maker = Callable[..., AssociationTest]


def one_by_one(model: MaskedLanguageModel, before: str, fill: str, after: str) -> float:
    """Encode what stands around the fill apart from it, and ask for one sub-word after the other."""
    encode = lambda text: model.tokenizer(text, add_special_tokens=False)["input_ids"]  # noqa: E731
    opening, closing = model.tokenizer.cls_token_id, model.tokenizer.sep_token_id
    total, pieces = 0.0, encode(fill)
    for place, piece in enumerate(pieces):
        row = [opening, *encode(before), *pieces[:place], model.mask, *encode(after), closing]
        with torch.inference_mode():
            logits = model.network(input_ids=torch.tensor([row])).logits[0, row.index(model.mask)]
        total += float(logits.log_softmax(dim=-1)[piece])
    return total / len(pieces)


def test_scores_equal_the_loop_over_sub_words(masked: MaskedLanguageModel, tests: list[AssociationTest]) -> None:
    scores = score_with_masked_model(masked, tests)
    assert len(scores) == 3 * len(tests)
    longest = 0
    for test in tests:
        for association in test.associations:
            if test.task == "intrasentence":
                before, after = test.context.split("BLANK")
                fill = test.fill(association)
            else:
                before, fill, after = test.context, association.sentence, ""
            longest = max(longest, len(masked.tokenizer(fill, add_special_tokens=False)["input_ids"]))
            assert scores[association.id] == pytest.approx(one_by_one(masked, before, fill, after), abs=1e-5)
    assert longest > 2


@pytest.mark.parametrize("batch_size", [1, 7, 64])
def test_batch_size_changes_nothing(masked: MaskedLanguageModel, tests: list[AssociationTest], batch_size: int) -> None:
    expected = score_with_masked_model(masked, tests, batch_size=5)
    assert score_with_masked_model(masked, tests, batch_size=batch_size) == pytest.approx(expected, abs=1e-5)


def test_shared_inputs_are_read_once(
    masked: MaskedLanguageModel, tests: list[AssociationTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: list[tuple[int, ...]] = []
    read = masked.log_probs_at_mask

    def counted(batch: list[tuple[int, ...]]) -> torch.Tensor:
        rows.extend(batch)
        return read(batch)

    monkeypatch.setattr(masked, "log_probs_at_mask", counted)
    seen: list[int] = []
    score_with_masked_model(masked, tests, progress=seen.append)
    assert len(rows) == len(set(rows))
    assert len(rows) <= sum(seen) - 2 * len(tests)


def test_all_blanks_are_opened(masked: MaskedLanguageModel, make: Maker) -> None:
    twice = make(0, "mother", "gender", "His mother is BLANK and BLANK", ("caring", "cold", "paper"))
    rows: list[tuple[int, ...]] = []

    class Recorder(MaskedLanguageModel):
        def log_probs_at_mask(self, batch: list[tuple[int, ...]]) -> torch.Tensor:  # type: ignore[override]
            rows.extend(batch)
            return super().log_probs_at_mask(batch)

    scores = score_with_masked_model(Recorder(masked.network, masked.tokenizer), [twice])
    assert all(row.count(masked.mask) == 2 for row in rows)
    assert all(math.isfinite(score) for score in scores.values())


def test_a_leading_blank_belongs_to_the_fill(make: Maker) -> None:
    """Byte-level tokenizers write a blank into the word after it; a fill must be scored as the piece with the blank."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

    pieces = Tokenizer(models.BPE())
    pieces.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words = ["he is cold", "he is warm", "he is paper", "cold", "warm", "paper"] * 5
    pieces.train_from_iterator(words, trainers.BpeTrainer(vocab_size=60, special_tokens=["<mask>", "<pad>"]))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=pieces, mask_token="<mask>", pad_token="<pad>")
    config = BertConfig(vocab_size=60, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8)
    model = MaskedLanguageModel(BertForMaskedLM(config), tokenizer)
    test = make(0, "he", "gender", "he is BLANK", ("cold", "warm", "paper"))
    piece = tokenizer.convert_tokens_to_ids("Ġcold")
    prompt = tokenizer("he is")["input_ids"]
    expected = model.log_probs_at_mask([[*prompt, model.mask]])[0, piece]
    assert piece is not None
    assert score_with_masked_model(model, [test])["intrasentence-0-0"] == pytest.approx(float(expected), abs=1e-5)


@pytest.mark.slow
def test_the_whole_development_set(
    make_masked: Callable[..., MaskedLanguageModel], development_set: list[AssociationTest]
) -> None:
    texts = [found.sentence for test in development_set for found in test.associations]
    model = make_masked(texts, 1000)
    judged = judge(development_set, score_with_masked_model(model, development_set, batch_size=256))
    found = {entry.name: entry for entry in measure_stereotypes(judged, recipe={})}
    assert found["ss"].n == 4229
    assert 35 < found["ss"].value < 65
