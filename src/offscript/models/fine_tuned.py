"""Pretrained models as they are taught further: all of their weights, or low-rank changes of some (LoRA)."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn

from offscript._files import write_json
from offscript.corpora.vocabularies import HubVocabulary
from offscript.errors import OffscriptError, require_package
from offscript.models.hub import HubLanguageModel
from offscript.models.language_model import State, weight_hash_of
from offscript.models.neural import NeuralLanguageModel
from offscript.models.pretrained import locate, open_pretrained, quietly, torch_dtype

KIND = "pretrained"
ADAPTER_FOLDER, CARD_BESIDE = "adapter", "training.json"
_CLOSE = 1e-3
_PROBE = 4


class LoraSettings(BaseModel):
    """W + (alpha / rank) B A in place of W, where A and B alone are taught (Hu et al. 2021)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rank: int = Field(8, ge=1)
    alpha: int = Field(16, ge=1)
    dropout: float = Field(0.0, ge=0, lt=1)
    targets: list[str] | None = Field(None, description="names of the layers to change; None: every linear one")


class PretrainedSettings(BaseModel):
    """Which model to begin with, and what of it is taught."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    base: str = Field(description="a folder, a .gguf file or hf/ID@REVISION of a causal model")
    lora: LoraSettings | None = Field(None, description="None: all weights are taught")


class PretrainedLanguageModel(NeuralLanguageModel):
    """A `transformers` causal model that can be taught like any network of this package.

    Its state, which checkpoints hold, is what is taught: with LoRA a hundredth of the weights.

    Args:
        vocabulary: The base's own, by `data.vocabulary: {kind: model, name: BASE}`.
        settings: The base, and what of it is taught.
    """

    kind: ClassVar[str] = KIND
    settings: PretrainedSettings
    vocabulary: HubVocabulary

    def __init__(self, vocabulary: HubVocabulary, settings: PretrainedSettings) -> None:
        super().__init__(vocabulary, settings)
        name = settings.base.removeprefix("hf/")
        network, tokenizer = open_pretrained("AutoModelForCausalLM", name, locate(name), torch_dtype("float32"))
        _require_projection(network, name, vocabulary)
        self.adapted = None if settings.lora is None else _with_lora(network, settings.lora, name)
        self.network = network  # LoRA changed its layers in place
        self._reader = HubLanguageModel(network, tokenizer, name)
        self._tokenizer, self.name = tokenizer, name

    def features(self, inputs: Tensor) -> Tensor:
        hidden: Tensor = self.network.base_model(inputs, use_cache=False).last_hidden_state
        return hidden

    def unnormalised(self, features: Tensor) -> Tensor:
        logits: Tensor = self.network.get_output_embeddings()(features)
        return logits

    def begin(self, rows: int) -> State:
        return self._reader.begin(rows)

    def advance(self, state: State, tokens: Tensor) -> tuple[Tensor, State]:
        with self.inference():
            return self._reader.advance(state, tokens)

    @property
    def weight_hash(self) -> str:
        return weight_hash_of(self.network)

    def taught(self) -> dict[str, nn.Parameter]:
        """The parameters that change, by name; a weight that two layers share is there once."""
        return {name: each for name, each in self.network.named_parameters() if each.requires_grad}

    def state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Tensor]:  # type: ignore[override]
        """What is taught, and nothing else."""
        return {name: each.detach() for name, each in self.taught().items()}

    def load_state_dict(self, state_dict: Mapping[str, Tensor], strict: bool = True, assign: bool = False) -> Any:
        """Put back what `state_dict` gave; other names or shapes are a RuntimeError."""
        taught = self.taught()
        if taught.keys() != state_dict.keys():
            raise RuntimeError(f"weights of another set of layers: {sorted(taught.keys() ^ state_dict.keys())[0]}")
        with torch.no_grad():
            for name, parameter in taught.items():
                parameter.copy_(state_dict[name])

    def export(self, folder: Path, card: dict[str, Any], *, half: bool = False) -> None:
        """Write a folder that `transformers` and `load_model` read, and with LoRA a PEFT folder beside it.

        Args:
            folder: Gets the whole model, the low-rank changes added to its weights.
            card: How it was taught; written as `training.json`.
            half: Whether weights are written in half precision.
        """
        network = self.network
        with quietly():
            if self.adapted is not None:
                self.adapted.save_pretrained(folder.parent / ADAPTER_FOLDER)
                network = self.adapted.merge_and_unload()
            (network.half() if half else network).save_pretrained(folder)
            self._tokenizer.save_pretrained(folder)
        write_json(folder / CARD_BESIDE, {**self.describe(), **card})


def _with_lora(network: Any, settings: LoraSettings, name: str) -> Any:
    """PEFT's model around the network, whose layers it replaces in place."""
    require_package("lora", "peft", extra="adapters")
    with quietly():
        from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        r=settings.rank,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        target_modules=settings.targets or "all-linear",
        task_type="CAUSAL_LM",
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PEFT's, about what it sets itself
            adapted = get_peft_model(network, config)
    except ValueError as fault:
        raise OffscriptError(f"LoRA does not fit {name}", why=str(fault), next="name layers under targets") from fault
    adapted.peft_config["default"].base_model_name_or_path = name
    return adapted


def _require_projection(network: Any, name: str, vocabulary: HubVocabulary) -> None:
    """Refuse a network that changes the logits after its output layer (caps, scales)."""
    if network.get_output_embeddings().weight.shape[0] != vocabulary.size:
        raise OffscriptError(
            f"{name} has another vocabulary than the data", next="write data.vocabulary: {kind: model, name: BASE}"
        )
    inputs = torch.arange(_PROBE).remainder(vocabulary.size).unsqueeze(0)
    with torch.inference_mode():
        answered = network(inputs).logits
        projected = network.get_output_embeddings()(network.base_model(inputs).last_hidden_state)
    if not torch.allclose(answered, projected, atol=_CLOSE, rtol=_CLOSE):
        raise OffscriptError(
            f"{name} cannot be fine-tuned here",
            why="its logits are more than a projection of its features",
            next="choose a model without capped or scaled logits",
        )
