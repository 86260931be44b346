"""Models that read a source: tables by hand, a network step by step, Marian and T5 as `transformers` runs them."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from offscript.corpora.pieces import PieceVocabulary
from offscript.errors import OffscriptError
from offscript.models import load_model
from offscript.models.conditional import ConditionalTabular
from offscript.models.encoder_decoder import EncoderDecoder, EncoderDecoderSettings, GivenNetwork, dropped
from offscript.models.hub_sources import HubSeq2Seq
from offscript.models.sources import Sources
from offscript.models.storage import load, save
from offscript.sampling import generate
from offscript.sampling.beams import beam_search
from offscript.sampling.transforms.base import Greedy
from offscript.sampling.translation import translate

SOURCES = ["ein Hund", "eine sehr alte Frau läuft", "rot"]
DESCRIBED = {
    "kind": "conditional-tabular",
    "vocabulary": ["dog", "cat"],
    "length": 2,
    "sources": {
        "Hund": {"": [0.9, 0.1], "dog": [0.5, 0.5], "cat": [0.2, 0.8]},
        "Katze": {"": [0.3, 0.7], "dog": [0.6, 0.4], "cat": [1.0, 0.0]},
    },
}


@pytest.fixture(scope="module")
def network() -> EncoderDecoder:
    vocabulary = PieceVocabulary.learn([*SOURCES, "a dog", "a very old woman runs", "red"] * 3, 320)
    with torch.random.fork_rng():
        torch.manual_seed(2)
        model = EncoderDecoder(
            vocabulary, EncoderDecoderSettings(width=16, inner=24, encoder_layers=2, decoder_layers=2, heads=2)
        )
    return model.eval()


@pytest.fixture
def tokens(network: EncoderDecoder) -> Tensor:
    return torch.randint(network.vocabulary.size, (3, 7), generator=torch.Generator().manual_seed(1))


def _given(network: EncoderDecoder, texts: list[str]) -> GivenNetwork:
    return network.given(network.read_sources(texts))


class TestNetwork:
    def test_steps_give_the_scores_of_one_pass(self, network: EncoderDecoder, tokens: Tensor) -> None:
        given = _given(network, SOURCES)
        [scored] = given.score(tokens)
        log_probs, state = given.start(3)
        for position in range(7):
            torch.testing.assert_close(log_probs, scored.log_probs[:, position], atol=1e-5, rtol=1e-4)
            log_probs, state = given.advance(state, tokens[:, position])

    def test_padding_of_a_source_changes_nothing(self, network: EncoderDecoder, tokens: Tensor) -> None:
        together = _given(network, SOURCES).log_likelihoods(tokens)
        for row, text in enumerate(SOURCES):
            alone = _given(network, [text]).log_likelihoods(tokens[row : row + 1])
            torch.testing.assert_close(alone[0], together[row], atol=1e-5, rtol=1e-4)

    def test_targets_depend_on_their_source(self, network: EncoderDecoder, tokens: Tensor) -> None:
        one, other = (_given(network, [text]).log_likelihoods(tokens[:1]) for text in SOURCES[:2])
        assert float((one - other).abs().max()) > 0.01

    def test_no_target_reads_ahead(self, network: EncoderDecoder, tokens: Tensor) -> None:
        changed = tokens.clone()
        changed[:, 4] = (changed[:, 4] + 1) % network.vocabulary.size
        one, other = (_given(network, SOURCES).log_likelihoods(each) for each in (tokens, changed))
        torch.testing.assert_close(one[:, :4], other[:, :4])

    def test_a_state_keeps_its_source_when_rows_are_chosen(self, network: EncoderDecoder, tokens: Tensor) -> None:
        given = _given(network, SOURCES)
        _, state = given.start(3)
        rows = torch.tensor([2, 0, 0])
        chosen, _ = given.advance(state.select(rows), tokens[:, 0])
        for place, row in enumerate(rows.tolist()):
            alone = _given(network, [SOURCES[row]])
            _, own = alone.start(1)
            expected, _ = alone.advance(own, tokens[place : place + 1, 0])
            torch.testing.assert_close(chosen[place], expected[0], atol=1e-5, rtol=1e-4)

    def test_without_a_source_it_says_what_to_do(self, network: EncoderDecoder) -> None:
        with pytest.raises(OffscriptError, match="sources=FILE"):
            network.start(1)
        with pytest.raises(OffscriptError, match="3 sources"):
            _given(network, SOURCES).start(2)

    def test_it_is_saved_and_loaded(self, network: EncoderDecoder, tokens: Tensor, tmp_path: Path) -> None:
        save(network, tmp_path / "model")
        loaded = load(tmp_path / "model")
        assert isinstance(loaded, EncoderDecoder)
        assert loaded.weight_hash == network.weight_hash
        file = tmp_path / "sources.txt"
        file.write_text("\n".join(SOURCES), encoding="utf-8")
        given = load_model(f"{tmp_path / 'model'},sources={file}")
        torch.testing.assert_close(given.log_likelihoods(tokens), _given(network, SOURCES).log_likelihoods(tokens))
        assert given.conditions == 3

    def test_translations_do_not_depend_on_the_batch(self, network: EncoderDecoder) -> None:
        assert translate(network, SOURCES, length=8, batch_size=1) == translate(network, SOURCES, length=8)

    def test_row_i_has_source_i_modulo_their_number(self, network: EncoderDecoder) -> None:
        drawn = generate(_given(network, SOURCES), 7, 6, seed=1, transform=Greedy(), batch_size=2).tokens
        assert drawn[:3].tolist() == drawn[3:6].tolist()
        assert drawn[0].tolist() == drawn[6].tolist()

    def test_dropout_keeps_its_share_and_the_mean(self) -> None:
        with torch.random.fork_rng():
            torch.manual_seed(1)
            kept = dropped(torch.ones(1000, 100), 0.25)
        assert kept.unique().tolist() == pytest.approx([0.0, 4 / 3])
        assert float((kept == 0).float().mean()) == pytest.approx(0.25, abs=0.01)


class TestTable:
    def test_each_row_has_the_table_of_its_source(self) -> None:
        model = ConditionalTabular.from_json(DESCRIBED)
        given = model.given(model.read_sources(["Katze", "Hund", "Katze"]))
        found = given.log_likelihoods(torch.tensor([[0, 1], [0, 1], [1, 0]])).exp()
        assert found.flatten().tolist() == pytest.approx([0.3, 0.4, 0.9, 0.5, 0.7, 1.0], abs=1e-15)

    def test_a_file_is_loaded_with_sources(self, tmp_path: Path) -> None:
        table, sources = tmp_path / "table.json", tmp_path / "pairs.tsv"
        table.write_text(json.dumps(DESCRIBED))
        sources.write_text("Hund\tdog\nKatze\tcat\n")
        model = load_model(f"{table},sources={sources}")
        assert model.log_likelihoods(torch.tensor([[0], [1]])).exp().flatten().tolist() == pytest.approx([0.9, 0.7])

    def test_an_unknown_source_is_refused(self) -> None:
        with pytest.raises(OffscriptError, match="no table for 'Hunt'"):
            ConditionalTabular.from_json(DESCRIBED).read_sources(["Hunt"])

    def test_a_model_without_encoder_takes_no_sources(self, tmp_path: Path) -> None:
        with pytest.raises(OffscriptError, match="reads no source"):
            load_model("uniform,sources=x.txt")


@pytest.fixture(scope="session")
def seq2seq_network() -> Callable[[str], Any]:
    """A Marian or a T5 with random weights."""
    from transformers import MarianConfig, MarianMTModel, T5Config, T5ForConditionalGeneration

    def build(kind: str) -> Any:
        common = {"vocab_size": 30, "pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
        with torch.random.fork_rng():
            torch.manual_seed(5)
            if kind == "t5":
                sizes = {"d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 2, "num_heads": 2}
                return T5ForConditionalGeneration(T5Config(**sizes, initializer_factor=2.0, **common)).eval()
            sizes = {"d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "init_std": 0.5}
            heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
            widths = {"encoder_ffn_dim": 24, "decoder_ffn_dim": 24, "forced_eos_token_id": None}
            return MarianMTModel(MarianConfig(**sizes, **heads, **widths, max_position_embeddings=40, **common)).eval()

    return build


@pytest.fixture(scope="module", params=["marian", "t5"])
def hub(request: pytest.FixtureRequest, seq2seq_network: Callable[[str], Any], tokenizer: Any) -> HubSeq2Seq:
    return HubSeq2Seq(seq2seq_network(request.param), tokenizer, request.param)


def _sources() -> Sources:
    generator = torch.Generator().manual_seed(4)
    return Sources.of([torch.randint(3, 30, (size,), generator=generator).tolist() for size in (5, 9, 3, 9, 2, 7)])


class TestHub:
    def test_log_probabilities_are_those_of_the_networks_forward_pass(self, hub: HubSeq2Seq) -> None:
        sources = _sources()
        tokens = torch.randint(30, (6, 8), generator=torch.Generator().manual_seed(6))
        inputs = torch.cat([torch.zeros(6, 1, dtype=torch.long), tokens[:, :-1]], dim=1)
        with torch.inference_mode():
            answer = hub.network(input_ids=sources.tokens, attention_mask=sources.real.long(), decoder_input_ids=inputs)
        given = hub.given(sources)
        [scored] = given.score(tokens)
        torch.testing.assert_close(scored.log_probs, answer.logits.log_softmax(dim=-1), atol=1e-5, rtol=1e-5)

    @pytest.mark.parametrize(("beams", "penalty"), [(1, 1.0), (2, 0.0), (4, 1.0), (5, 2.0)])
    def test_beam_search_finds_what_generate_finds(self, hub: HubSeq2Seq, beams: int, penalty: float) -> None:
        sources = _sources()
        with torch.inference_mode():
            answer = hub.network.generate(
                input_ids=sources.tokens,
                attention_mask=sources.real.long(),
                num_beams=beams,
                length_penalty=penalty,
                max_new_tokens=12,
                do_sample=False,
                return_dict_in_generate=True,
                output_scores=True,
            )
        found = beam_search(hub.given(sources), 6, 12, beams=beams, length_penalty=penalty, batch_size=4)
        theirs = [_until_end(row[1:], 1) for row in answer.sequences.tolist()]
        assert [row[:length] for row, length in zip(found.tokens.tolist(), found.lengths, strict=True)] == theirs
        if beams > 1:
            torch.testing.assert_close(found.scores, answer.sequences_scores.double(), atol=1e-4, rtol=1e-4)

    def test_a_folder_is_loaded_by_its_configuration(self, hub: HubSeq2Seq, tokenizer: Any, tmp_path: Path) -> None:
        hub.network.save_pretrained(tmp_path / "model")
        tokenizer.save_pretrained(tmp_path / "model")
        loaded = load_model(str(tmp_path / "model"))
        assert isinstance(loaded, HubSeq2Seq)
        assert loaded.weight_hash == hub.weight_hash


@pytest.mark.slow
@pytest.mark.skipif("OFFSCRIPT_TRANSLATION_MODEL" not in os.environ, reason="names no model with an encoder")
def test_a_real_model_gives_its_own_forward_pass() -> None:
    model = load_model(os.environ["OFFSCRIPT_TRANSLATION_MODEL"])
    assert isinstance(model, HubSeq2Seq)
    sources = model.read_sources(["A dog runs.", "Two women are sitting on a bench in the park."])
    given = model.given(sources)
    drawn = generate(given, 2, 12, seed=1, transform=Greedy()).tokens
    inputs = torch.cat([torch.full((2, 1), model.vocabulary.start), drawn[:, :-1]], dim=1)
    with torch.inference_mode():
        asked = {"input_ids": sources.tokens, "attention_mask": sources.real.long()}
        answer = model.network(**asked, decoder_input_ids=inputs).logits.log_softmax(dim=-1)
    [scored] = given.score(drawn)
    torch.testing.assert_close(scored.log_probs, answer, atol=1e-4, rtol=1e-4)
    assert all(text for text in translate(model, ["A dog runs."], length=12))


def _until_end(row: list[int], end: int) -> list[int]:
    return row[: row.index(end) + 1] if end in row else row
