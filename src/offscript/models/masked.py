"""Any Hugging Face masked language model: what stands behind a mask, and what a pair of sentences looks like."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from offscript._catalogue import MODELS, SHIPPED, shipped_models
from offscript._specification import parse_specification
from offscript.errors import OffscriptError
from offscript.models.hub import DTYPES, code_policy
from offscript.models.registry import HUB

_MASKED = ("ForMaskedLM", "ForPreTraining")


class MaskedLanguageModel:
    """A `transformers` masked model with its tokenizer."""

    def __init__(self, network: Any, tokenizer: Any, name: str = "masked") -> None:
        if tokenizer.mask_token_id is None:
            raise OffscriptError(f"the tokenizer of {name} has no mask", next="name a masked language model")
        self.network, self.tokenizer, self.name = network.eval(), tokenizer, name

    @classmethod
    def load(cls, text: str, *, device: str = "cpu") -> "MaskedLanguageModel":
        """From a model string that names a folder or a Hub id; weights are safetensors, never pickles."""
        from transformers import AutoModelForMaskedLM, AutoTokenizer

        source, place, dtype = _place(text)
        try:
            tokenizer = AutoTokenizer.from_pretrained(**place)
            network = AutoModelForMaskedLM.from_pretrained(**place, use_safetensors=True, dtype=DTYPES[dtype])
        except (OSError, ValueError, ImportError) as fault:
            raise OffscriptError(
                f"the masked model {source!r} cannot be loaded",
                why=" ".join(str(fault).split())[:300],
                next="name a folder with safetensors or a Hub id that can be reached",
            ) from fault
        return cls(network.to(device), tokenizer, name=source)

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
        digest = hashlib.sha256()
        for key, tensor in sorted(self.network.state_dict().items()):
            digest.update(key.encode())
            digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()

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
        """Project one place a row to the vocabulary: logits of all the others would be most of the work and memory.

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
    if not named.name.startswith(HUB) and not _is_on_hub(named.name):
        return False
    source, place, _ = _place(text)
    from transformers import AutoConfig

    try:
        config = AutoConfig.from_pretrained(**place)
    except (OSError, ValueError) as fault:
        why = " ".join(str(fault).split())[:300]
        raise OffscriptError(f"the model {source!r} cannot be read", why=why, next="check its name") from fault
    return any(name.endswith(_MASKED) for name in config.architectures or ())


def _is_on_hub(source: str) -> bool:
    """Whether a bare name is a folder in the Hub's layout, or what `load_model` would take for a Hub id."""
    path = Path(source)
    if path.exists():
        return (path / "config.json").is_file()
    elsewhere = source.partition("/")[0] in MODELS or SHIPPED + source in shipped_models()
    return not (elsewhere or path.suffix or path.is_absolute() or source.startswith("."))


def _place(text: str) -> tuple[str, dict[str, Any], str]:
    """The source that a model string names, where `transformers` finds it and whether it trusts it, the precision."""
    named = parse_specification(text)
    source = named.name.removeprefix(HUB)
    name, _, revision = (source, "", "") if Path(source).exists() else source.partition("@")
    dtype = str(named.settings.get("dtype", "float32"))
    if dtype not in DTYPES:
        raise OffscriptError(f"unknown dtype {dtype!r}", next=f"known: {', '.join(DTYPES)}")
    place: dict[str, Any] = {"pretrained_model_name_or_path": name, "revision": revision or "main"}
    return source, place | code_policy(place, trust=named.settings.get("trust", 0)), dtype
