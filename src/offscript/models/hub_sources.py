"""Hugging Face models with an encoder (Marian, T5, BART) behind the contract of models that read a source."""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from offscript._specification import Setting
from offscript.corpora.vocabularies import HubVocabulary
from offscript.errors import OffscriptError
from offscript.models.hub import HubLanguageModel
from offscript.models.language_model import (
    LanguageModel,
    Scored,
    State,
    checked_positions,
    chunks_of,
    preceded_by_start,
    weight_hash_of,
)
from offscript.models.pretrained import how_to_load, loading, locate, open_pretrained, torch_dtype
from offscript.models.sources import GivenSources, Seq2SeqLanguageModel, Sources


def load_pretrained(
    name: str,
    *,
    dtype: str = "float32",
    start: Setting | None = None,
    chat: Setting | None = None,
    system: Setting | None = None,
    trust: Setting = 0,
    adapter: Setting | None = None,
    load: Setting | None = None,
    device_map: Setting | None = None,
    device: str = "cpu",
) -> LanguageModel:
    """A causal model or one with an encoder, as its configuration says.

    Args:
        name: A folder, a `.gguf` file or a Hub id (`ID@REVISION`).
        dtype: The precision of the weights.
        start: The token, or its id, that stands before position 0; of causal models alone, as are the next two.
        chat: A user's message that the text answers.
        system: What the chat template puts before it.
        trust: 1 runs Python code that the model brings along.
        adapter: The folder or Hub id of a LoRA, which is merged into the weights; of causal models alone.
        load: `int8` or `int4`: linear layers in so many bits.
        device_map: `auto` spreads the network over the devices that are here.
        device: Where it computes.
    """
    before = {"start": start, "chat": chat, "system": system}
    precision = torch_dtype(dtype)
    if not has_encoder(name, trust):
        how = {"adapter": adapter, "load": load, "device_map": device_map}
        return HubLanguageModel.load(name, dtype=dtype, **before, trust=trust, **how, device=device)
    if adapter is not None:
        raise OffscriptError(f"{name} has an encoder", next="merge the adapter first, or leave out adapter=")
    more = how_to_load(name, load, device_map, device)
    for key, value in before.items():
        if value is not None:
            raise OffscriptError(f"{name} begins its targets with a token of its own", next=f"leave out {key}=")
    network, tokenizer = open_pretrained("AutoModelForSeq2SeqLM", name, locate(name, trust=trust), precision, more)
    return HubSeq2Seq(
        network if more else network.to(device), tokenizer, name if load is None else f"{name},load={load}"
    )


def has_encoder(name: str, trust: Setting) -> bool:
    """Whether a model's configuration says that it has an encoder and a decoder."""
    place = locate(name, trust=trust)
    if "gguf_file" in place:
        return False
    with loading(name):
        from transformers import AutoConfig

        return bool(getattr(AutoConfig.from_pretrained(**place), "is_encoder_decoder", False))


class TargetVocabulary(HubVocabulary):
    """The target side of a tokenizer: Marian has one for each language."""

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer(text_target=text, add_special_tokens=False)["input_ids"]
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        return super().decode(ids).strip()


@dataclass(frozen=True)
class _Past(State):
    """The encoded sources, and the network's cache of what was read; None before anything is."""

    encoded: Tensor  # [rows, time, width]
    real: Tensor  # [rows, time]
    cache: Any

    def select(self, rows: Tensor) -> "_Past":
        cache = copy.deepcopy(self.cache)
        if cache is not None:
            cache.batch_select_indices(rows)
        return _Past(self.encoded[rows], self.real[rows], cache)

    def reorder(self, rows: Tensor) -> "_Past":
        """As `select`, where every row keeps its source, and without a copy: the state is consumed."""
        if self.cache is not None:
            self.cache.self_attention_cache.reorder_cache(rows)
        return self


class HubSeq2Seq(Seq2SeqLanguageModel):
    """A `transformers` encoder-decoder with its tokenizer; the distribution covers the network's whole output."""

    vocabulary: HubVocabulary

    def __init__(self, network: Any, tokenizer: Any, name: str = "hub") -> None:
        self.network, self.tokenizer, self.name = network.eval(), tokenizer, name
        config = network.config
        start = config.decoder_start_token_id
        if start is None:
            raise OffscriptError(f"the model {name!r} has no decoder_start_token_id", next="set it in its config.json")
        size = network.get_output_embeddings().weight.shape[0]
        self.vocabulary = TargetVocabulary(tokenizer, size=size, name=name, start=int(start))

    @property
    def device(self) -> torch.device:
        place: torch.device = self.network.device
        return place

    @property
    def weight_hash(self) -> str:
        return weight_hash_of(self.network)

    def read_sources(self, texts: Sequence[str]) -> Sources:
        rows: list[list[int]] = self.tokenizer(list(texts))["input_ids"]
        context = getattr(self.network.config, "max_position_embeddings", None)
        longest = max(len(row) for row in rows)
        if context is not None and longest > context:
            raise OffscriptError(
                f"a source of {longest} tokens is longer than the model's context of {context}",
                next="give shorter sources",
            )
        return Sources.of(rows, pad=self.tokenizer.pad_token_id or 0)

    def given(self, sources: Sources) -> LanguageModel:
        return _GivenHub(self, sources)


class _GivenHub(GivenSources):
    model: HubSeq2Seq

    @property
    def network(self) -> Any:
        """The network, whose weights an audit's budget counts."""
        return self.model.network

    def begin(self, rows: int) -> _Past:
        self.sources.require(rows)
        real = self.sources.real.long().to(self.device)
        with torch.inference_mode():
            encoder = self.model.network.get_encoder()
            encoded = encoder(input_ids=self.sources.tokens.to(self.device), attention_mask=real)
        return _Past(encoded.last_hidden_state, real, None)

    def advance(self, state: State, tokens: Tensor) -> tuple[Tensor, _Past]:
        return self.read(state, tokens.unsqueeze(1))

    def read(self, state: State, tokens: Tensor) -> tuple[Tensor, _Past]:
        assert isinstance(state, _Past)
        logits, state = self._run(state, tokens)
        return logits[:, -1].float().log_softmax(dim=-1), state

    def score(self, tokens: Tensor, positions: range | None = None) -> Iterator[Scored]:
        asked = checked_positions(tokens, positions)
        inputs, state = preceded_by_start(tokens, self.vocabulary.start), self.begin(len(tokens))
        if asked.start:
            _, state = self._run(state, inputs[:, : asked.start])
        for chunk in chunks_of(asked, len(tokens), self.vocabulary.size):
            logits, state = self._run(state, inputs[:, chunk.start : chunk.stop])
            yield Scored(chunk, logits.float().log_softmax(dim=-1))

    def _run(self, state: _Past, inputs: Tensor) -> tuple[Tensor, _Past]:
        with torch.inference_mode():
            answer = self.model.network(
                encoder_outputs=(state.encoded,),
                attention_mask=state.real,
                decoder_input_ids=inputs.to(self.device),
                past_key_values=state.cache,
                use_cache=True,
            )
        return answer.logits, replace(state, cache=answer.past_key_values)
