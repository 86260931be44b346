"""Any Hugging Face causal language model, by Hub id, folder or GGUF file."""

import copy
import importlib.util
import inspect
import logging
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor

from offscript._specification import Setting
from offscript._untrusted import refuse_pickles, refuse_remote_code
from offscript.corpora.vocabularies import HubVocabulary
from offscript.errors import OffscriptError, missing_package
from offscript.models.language_model import (
    LanguageModel,
    Scored,
    State,
    checked_positions,
    chunks_of,
    hash_of_weights,
    preceded_by_start,
)

DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


@dataclass
class _Past(State):
    """The network's own key-value cache; None before anything is read."""

    rows: int
    cache: Any

    def select(self, rows: Tensor) -> "_Past":
        cache = copy.deepcopy(self.cache)
        if cache is not None:
            cache.batch_select_indices(rows)
        return _Past(len(rows), cache)


class HubLanguageModel(LanguageModel):
    """A `transformers` causal model with its tokenizer; the distribution covers the network's whole output."""

    def __init__(self, network: Any, tokenizer: Any, name: str = "hub") -> None:
        self.network, self.name = network.eval(), name
        self.vocabulary = HubVocabulary(tokenizer, size=network.get_output_embeddings().weight.shape[0], name=name)
        self._keeps_logits = "logits_to_keep" in inspect.signature(network.forward).parameters

    @classmethod
    def load(
        cls,
        source: str,
        *,
        revision: str | None = None,
        dtype: str = "float32",
        device: str = "cpu",
        trust: Setting = False,
    ) -> "HubLanguageModel":
        """From a folder, a `.gguf` file or a Hub id; weights are safetensors or GGUF, never pickles.

        Python code that the model brings along runs only with `trust`.
        """
        if dtype not in DTYPES:
            raise OffscriptError(f"unknown dtype {dtype!r}", next=f"known: {', '.join(DTYPES)}")
        path = Path(source)
        place: dict[str, Any] = {"pretrained_model_name_or_path": source, "revision": revision or "main"}
        if path.suffix == ".gguf":
            if importlib.util.find_spec("gguf") is None:
                raise missing_package(source, "gguf", extra="gguf")
            place = {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name}
        elif path.is_dir() and not any(path.glob("*.safetensors")):
            refuse_pickles(path)
        network, tokenizer = _opened(source, place | code_policy(place, trust=trust), DTYPES[dtype])
        return cls(network.to(device), tokenizer, name=source if revision is None else f"{source}@{revision}")

    @property
    def device(self) -> torch.device:
        place: torch.device = self.network.device
        return place

    @property
    def weight_hash(self) -> str:
        return hash_of_weights(self.network.state_dict())

    def begin(self, rows: int) -> _Past:
        return _Past(rows, None)

    def advance(self, state: State, tokens: Tensor) -> tuple[Tensor, _Past]:
        return self.read(state, tokens.unsqueeze(1))

    def read(self, state: State, tokens: Tensor) -> tuple[Tensor, _Past]:
        assert isinstance(state, _Past)
        with torch.inference_mode():
            logits, cache = self._run(tokens, state.cache, keep=1)
            return logits[:, -1].float().log_softmax(dim=-1), _Past(state.rows, cache)

    def score(self, tokens: Tensor, positions: range | None = None) -> Iterator[Scored]:
        asked = checked_positions(tokens, positions)
        inputs = preceded_by_start(tokens, self.vocabulary.start)
        cache = None
        if asked.start:
            with torch.inference_mode():
                _, cache = self._run(inputs[:, : asked.start], cache, keep=1)
        for chunk in chunks_of(asked, len(tokens), self.vocabulary.size):
            with torch.inference_mode():
                logits, cache = self._run(inputs[:, chunk.start : chunk.stop], cache, keep=len(chunk))
                log_probs = logits.float().log_softmax(dim=-1)
            yield Scored(chunk, log_probs)

    def _run(self, inputs: Tensor, cache: Any, *, keep: int) -> tuple[Tensor, Any]:
        self._require_room(inputs.shape[1] + (0 if cache is None else cache.get_seq_length()))
        kept = {"logits_to_keep": keep} if self._keeps_logits else {}
        answer = self.network(inputs.to(self.device), past_key_values=cache, use_cache=True, **kept)
        return answer.logits[:, -keep:], answer.past_key_values

    def _require_room(self, tokens: int) -> None:
        context = getattr(self.network.config, "max_position_embeddings", None)
        if context is not None and 0 < context < tokens:
            raise OffscriptError(
                f"{tokens} tokens are more than the model's context of {context}", next="ask for shorter sequences"
            )


def code_policy(place: Mapping[str, Any], *, trust: Setting) -> dict[str, bool]:
    """What `from_pretrained` is told about code that a model brings; without `trust=1` such a model is refused."""
    if trust not in (0, 1):  # also false and true
        raise OffscriptError(f"trust={trust} is neither 0 nor 1", next="write trust=1, or leave it out")
    if not trust:
        refuse_remote_code(
            place["pretrained_model_name_or_path"],
            revision=place.get("revision"),
            next="add ,trust=1 to the model string if you have read the code and trust it",
        )
    return {"trust_remote_code": bool(trust)}


def _opened(source: str, place: dict[str, Any], dtype: torch.dtype) -> tuple[Any, Any]:
    """Network and tokenizer, both whole: `transformers` would fill in weights and symbols that are missing."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    networks: Any = AutoModelForCausalLM
    safe = {} if "gguf_file" in place else {"use_safetensors": True}
    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(**place)
        network, found = networks.from_pretrained(**place, **safe, dtype=dtype, output_loading_info=True)
    except (OSError, ValueError, KeyError, ImportError, RuntimeError, SafetensorError, struct.error) as fault:
        raise OffscriptError(
            f"the model {source!r} cannot be loaded",
            why=" ".join(str(fault).split())[:300],
            next="name a folder with safetensors, a .gguf file or a Hub id that can be reached",
        ) from fault
    if missing := sorted(found["missing_keys"]):
        raise OffscriptError(
            f"the model {source!r} lacks weights", why=f"there is no {missing[0]}", next="copy the model's files again"
        )
    if set(tokenizer.get_vocab()) <= set(tokenizer.all_special_tokens):
        raise OffscriptError(f"the model {source!r} has no tokenizer", next="save its tokenizer to the same place")
    return network, tokenizer
