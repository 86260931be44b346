"""Any Hugging Face model with its tokenizer: causal, as a `LanguageModel`, or masked."""

import copy
import hashlib
import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from offscript._catalogue import HUB, MODELS, SHIPPED, shipped_models
from offscript._files import is_there
from offscript._specification import Setting, Specification, parse_specification
from offscript.corpora.vocabularies import HubVocabulary
from offscript.errors import OffscriptError
from offscript.models.adapters import with_adapter
from offscript.models.hub_projection import LARGEST_PASS, chosen_log_probs
from offscript.models.language_model import (
    FEWEST_AT_ONCE,
    SCORE_BUDGET,
    LanguageModel,
    Scored,
    State,
    checked_positions,
    chunks_of,
    preceded_by_start,
    weight_hash_of,
)
from offscript.models.pretrained import (
    CONFIGURATION,
    how_to_load,
    loading,
    locate,
    open_pretrained,
    torch_dtype,
)

_MASKED = ("ForMaskedLM", "ForPreTraining")


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

    def reorder(self, rows: Tensor) -> "_Past":
        """As `select` for as many rows, without a copy: the state is consumed."""
        if self.cache is not None:
            self.cache.reorder_cache(rows)
        return self


class HubLanguageModel(LanguageModel):
    """A `transformers` causal model with its tokenizer; the distribution covers the network's whole output.

    Args:
        network: The network.
        tokenizer: Its tokenizer.
        name: What the model is called.
        start: The token, or its id, that stands before position 0; the tokenizer's own by default.
        chat: A user's message. The chat template makes it, and `system` before it, the beginning of a conversation,
            and every text that is scored or drawn is the answer.
        system: What the system says first.
        adapter: Which adapter was merged into the network, for its name.
        load: In how many bits its weights are, for its name.
    """

    vocabulary: HubVocabulary
    _one_pass = True
    """Whether texts are scored by `chosen_log_probs`, until the network is found not to allow it."""

    def __init__(
        self,
        network: Any,
        tokenizer: Any,
        name: str = "hub",
        *,
        start: Setting | None = None,
        chat: Setting | None = None,
        system: Setting | None = None,
        adapter: Setting | None = None,
        load: Setting | None = None,
    ) -> None:
        given = {"adapter": adapter, "load": load, "start": start, "chat": chat, "system": system}
        self._given = {key: value for key, value in given.items() if value is not None}
        self.network, self.name = network.eval(), str(Specification(name, self._given))
        size = network.get_output_embeddings().weight.shape[0]
        self._opening = _opening(tokenizer, name, start, chat, system)
        first = self._opening[-1] if self._opening else None
        self.vocabulary = HubVocabulary(tokenizer, size=size, name=name, start=first)
        self._keeps_logits = "logits_to_keep" in inspect.signature(network.forward).parameters
        # Some processors pack few-bit weights anew at the first pass, which changes their bytes but not the model.
        self._hash_as_loaded = weight_hash_of(network) if load is not None else None

    @classmethod
    def load(
        cls,
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
    ) -> "HubLanguageModel":
        """From a folder, a `.gguf` file or a Hub id (`ID@REVISION`); weights are safetensors or GGUF, never pickles.

        Python code that the model brings along runs only with `trust=1`; `adapter` names a LoRA to merge, `load` fewer
        bits (int8, int4), `device_map=auto` several devices; the other settings are those of the class.
        """
        precision, place = torch_dtype(dtype), locate(name, trust=trust)
        if adapter is not None and load is not None:
            raise OffscriptError(
                f"{name} with adapter= and load=", why="an adapter is merged into whole weights", next="leave out one"
            )
        more = how_to_load(name, load, device_map, device)
        network, tokenizer = open_pretrained("AutoModelForCausalLM", name, place, precision, more)
        if adapter is not None:
            network = with_adapter(network, name, str(adapter))
        if not more:
            network = network.to(device)
        kind = cls
        if "past_key_values" not in inspect.signature(network.forward).parameters:
            from offscript.models.hub_uncached import UncachedHubLanguageModel as kind  # noqa: N813
        return kind(network, tokenizer, name, start=start, chat=chat, system=system, adapter=adapter, load=load)

    @property
    def device(self) -> torch.device:
        place: torch.device = self.network.device
        return place

    @property
    def weight_hash(self) -> str:
        weights, opening = self._hash_as_loaded or weight_hash_of(self.network), self._opening
        if not opening:
            return weights
        read = opening[0] if len(opening) == 1 else opening
        return hashlib.sha256(f"{weights} {read}".encode()).hexdigest()

    @property
    def reading(self) -> str:
        tokenizer = self.vocabulary.tokenizer
        if "chat" in self._given:
            return f"Every text is an answer in a chat; before it stands {tokenizer.decode(self._opening)!r}."
        start = tokenizer.convert_ids_to_tokens(self.vocabulary.start)
        plain = f"Every text begins after the start token {start}."
        if tokenizer.chat_template is None:
            return plain
        return (
            f"{plain} The model has a chat template, so it is probably tuned to follow instructions; here it reads and "
            "writes plain text. Add ,chat=MESSAGE to the model string for its answers in a chat."
        )

    def begin(self, rows: int) -> _Past:
        return _Past(rows, None)

    def advance(self, state: State, tokens: Tensor) -> tuple[Tensor, _Past]:
        return self.read(state, tokens.unsqueeze(1))

    def read(self, state: State, tokens: Tensor) -> tuple[Tensor, _Past]:
        assert isinstance(state, _Past)
        with torch.inference_mode():
            logits, cache = self._run(tokens, self._opened(state.cache, len(tokens)), keep=1)
            return logits[:, -1].float().log_softmax(dim=-1), _Past(state.rows, cache)

    def score(self, tokens: Tensor, positions: range | None = None) -> Iterator[Scored]:
        asked = checked_positions(tokens, positions)
        inputs = preceded_by_start(tokens, self.vocabulary.start)
        cache = self._opened(None, len(tokens))
        if asked.start:
            with torch.inference_mode():
                _, cache = self._run(inputs[:, : asked.start], cache, keep=1)
        for chunk in chunks_of(asked, len(tokens), self.vocabulary.size):
            with torch.inference_mode():
                logits, cache = self._run(inputs[:, chunk.start : chunk.stop], cache, keep=len(chunk))
                log_probs = logits.float().log_softmax(dim=-1)
            yield Scored(chunk, log_probs)

    def log_likelihoods(
        self, tokens: Tensor, positions: range | None = None, lengths: Sequence[int] | None = None
    ) -> Tensor:
        """As of every model, by one pass over a few rows at a time; what lies beyond the lengths is 0."""
        asked = checked_positions(tokens, positions)
        before = torch.tensor(self._opening or [self.vocabulary.start])
        rows = LARGEST_PASS // (len(before) + asked.stop)
        if not self._one_pass or rows == 0:
            return super().log_likelihoods(tokens, positions, lengths)
        self._require_room(len(before) - 1 + asked.stop)
        inputs = torch.cat([before.expand(len(tokens), -1), tokens[:, : asked.stop - 1].cpu()], dim=1)
        sizes = torch.full((len(tokens),), asked.stop) if lengths is None else torch.tensor(lengths)
        columns = torch.arange(inputs.shape[1]) - (len(before) - 1)
        places = (columns >= asked.start) & (columns < sizes.unsqueeze(1))
        values = torch.zeros(len(tokens), len(asked))
        for first in range(0, len(tokens), rows):
            part = slice(first, first + rows)
            counted = places[part, -len(asked) :]
            targets = tokens[part, asked.start : asked.stop].cpu()[counted]
            found = chosen_log_probs(
                self.network,
                inputs[part].to(self.device),
                places[part].to(self.device),
                targets.to(self.device),
                at_once=max(FEWEST_AT_ONCE, SCORE_BUDGET // self.vocabulary.size),
            )
            if found is None:
                self._one_pass = False
                return super().log_likelihoods(tokens, positions, lengths)
            values[part][counted] = found.cpu()
        return values

    def _opened(self, cache: Any, rows: int) -> Any:
        """The cache, or where nothing is read yet, one of what stands before the start token."""
        if cache is not None or len(self._opening) < 2:
            return cache
        with torch.inference_mode():
            return self._run(torch.tensor(self._opening[:-1]).expand(rows, -1), None, keep=1)[1]

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


def _opening(
    tokenizer: Any, name: str, start: Setting | None, chat: Setting | None, system: Setting | None
) -> list[int]:
    """What is read before every text, where it is not the tokenizer's own start token."""
    if chat is None:
        if system is not None:
            raise OffscriptError(f"{name},system={system} without a chat", next="add chat=MESSAGE, the user's part")
        return [] if start is None else [_id_of(start, tokenizer, name)]
    if start is not None:
        raise OffscriptError(f"{name} with chat= and start=", next="give one of them: a chat has its own start")
    if tokenizer.chat_template is None:
        raise OffscriptError(f"{name} has no chat template", next="leave chat= out, or name an instruction-tuned model")
    from jinja2 import TemplateError

    said = [
        {"role": role, "content": str(text)} for role, text in (("system", system), ("user", chat)) if text is not None
    ]
    try:
        text = tokenizer.apply_chat_template(said, add_generation_prompt=True, tokenize=False)
    except TemplateError as fault:
        raise OffscriptError(f"the chat template of {name} refuses the messages", why=str(fault)) from fault
    ids: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
    return ids


def _id_of(token: Setting, tokenizer: Any, name: str) -> int:
    """The id of a token that is given as itself or as its id."""
    known = tokenizer.get_vocab()
    index = token if isinstance(token, int) and not isinstance(token, bool) else known.get(str(token), -1)
    if not 0 <= index < len(tokenizer):
        raise OffscriptError(f"{name} has no token {token!r} to start with", next="give a token, or its id")
    return int(index)


class MaskedLanguageModel:
    """A `transformers` masked model with its tokenizer."""

    def __init__(self, network: Any, tokenizer: Any, name: str = "masked") -> None:
        if tokenizer.mask_token_id is None:
            raise OffscriptError(f"the tokenizer of {name} has no mask", next="name a masked language model")
        self.network, self.tokenizer, self.name = network.eval(), tokenizer, name

    @classmethod
    def load(cls, text: str, *, device: str = "cpu") -> "MaskedLanguageModel":
        """From a model string that names a folder or a Hub id; weights are safetensors, never pickles."""
        named = parse_specification(text)
        name = named.name.removeprefix(HUB)
        precision = torch_dtype(named.settings.get("dtype", "float32"))
        place = locate(name, trust=named.settings.get("trust", 0))
        network, tokenizer = open_pretrained("AutoModelForMaskedLM", name, place, precision)
        return cls(network.to(device), tokenizer, name)

    @property
    def device(self) -> torch.device:
        """Where tokens are read."""
        place: torch.device = self.network.device
        return place

    @property
    def mask(self) -> int:
        """The id that stands for a hidden token."""
        return int(self.tokenizer.mask_token_id)

    @property
    def weight_hash(self) -> str:
        """A hash of everything that decides the model's answers, for recipes."""
        return weight_hash_of(self.network)

    def log_probs_at_mask(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """Log-probabilities [rows, V] at each row's first mask; rows are whole inputs of any length."""
        tokens, real = self._padded(rows)
        places = (tokens == self.mask).int().argmax(dim=1)  # [rows]
        with torch.inference_mode(), self._projecting_only(places):
            logits: Tensor = self.network(input_ids=tokens, attention_mask=real).logits  # [rows, 1 or time, V]
            if logits.shape[1] > 1:
                logits = _at(logits, places)
            return logits[:, 0].float().log_softmax(dim=-1)

    @contextmanager
    def _projecting_only(self, places: Tensor) -> Iterator[None]:
        """Project one position per row to the vocabulary: all other logits would be most of the work and memory.

        A network that projects by other means than its output embeddings is left as it is.
        """
        output = self.network.get_output_embeddings()
        if output is None:
            yield
            return
        hook = output.register_forward_pre_hook(lambda _, inputs: (_at(inputs[0], places),))
        try:
            yield
        finally:
            hook.remove()

    def _padded(self, rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        longest = max(map(len, rows))
        filler = self.tokenizer.pad_token_id or 0
        tokens = torch.tensor([[*row, *[filler] * (longest - len(row))] for row in rows], device=self.device)
        lengths = torch.tensor([len(row) for row in rows], device=self.device)
        return tokens, (torch.arange(longest, device=self.device) < lengths.unsqueeze(1)).long()


def _at(values: Tensor, places: Tensor) -> Tensor:
    """[rows, 1, width] of values [rows, time, width]: those at each row's place."""
    return values[torch.arange(len(values), device=values.device), places].unsqueeze(1)


def names_masked_model(text: str) -> bool:
    """Whether a model string names a masked language model, by the architecture that its configuration gives."""
    named = parse_specification(text)
    name = named.name.removeprefix(HUB)
    if not named.name.startswith(HUB) and not _is_on_hub(name):
        return False
    place = locate(name, trust=named.settings.get("trust", 0))
    with loading(name):
        from transformers import AutoConfig

        config = AutoConfig.from_pretrained(**place)
    return any(name.endswith(_MASKED) for name in config.architectures or ())


def _is_on_hub(source: str) -> bool:
    """Whether a bare name is a folder in the Hub's layout, or what `load_model` would take for a Hub id."""
    path = Path(source)
    if is_there(path):
        return (path / CONFIGURATION).is_file()
    elsewhere = source.partition("/")[0] in MODELS or SHIPPED + source in shipped_models()
    return not (elsewhere or path.suffix or path.is_absolute() or source.startswith("."))
