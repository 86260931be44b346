"""LoRA and other adapters of peft: small weights that change those of a base model."""

import contextlib
import io
import json
import re
from pathlib import Path
from typing import Any

from offscript._files import is_there
from offscript._untrusted import refuse_pickles
from offscript.errors import OffscriptError, explaining, require_package

ADAPTER, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
_MERGED = ("LORA", "ADALORA", "LOHA", "LOKR", "IA3", "OFT", "BOFT", "VERA", "HRA", "FOURIERFT", "RANDLORA", "BONE")
"""Kinds that end up in the base's own weights; others put tokens before the text."""


def with_adapter(network: Any, base: str, adapter: str) -> Any:
    """The network with an adapter merged into its weights.

    Args:
        network: The base.
        base: What the user called it.
        adapter: A folder or a Hub id (`ID@REVISION`) with the configuration and safetensors.
    """
    require_package(f"adapter={adapter}", "peft", extra="adapters")
    folder = _located(adapter)
    config = _configuration(folder, adapter)
    _require_same_base(config, base, adapter)
    from peft import PeftModel
    from safetensors import SafetensorError

    failed = f"the adapter {adapter} cannot be loaded"
    with explaining(failed, also=(OSError, RuntimeError, ImportError, SafetensorError)):
        _require_fitting(network, folder, base, adapter)
        with contextlib.redirect_stderr(io.StringIO()):
            adapted = PeftModel.from_pretrained(network, str(folder), is_trainable=False, autocast_adapter_dtype=False)
        return adapted.merge_and_unload(safe_merge=True)


def base_of(path: Path) -> str:
    """The base that an adapter's configuration names."""
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["base_model_name_or_path"])
    except (OSError, ValueError, KeyError, TypeError):
        return "another model"


def _located(adapter: str) -> Path:
    folder = Path(adapter)
    if not is_there(folder) and not (folder.is_absolute() or adapter.startswith(".")):
        from huggingface_hub import snapshot_download

        source, _, revision = adapter.partition("@")
        with explaining(f"the adapter {adapter} is not here and cannot be fetched", also=(OSError, ValueError)):
            return Path(snapshot_download(source, revision=revision or None, allow_patterns=[ADAPTER, WEIGHTS]))
    if not (folder / ADAPTER).is_file():
        raise OffscriptError(f"{adapter} is not an adapter", why=f"it has no {ADAPTER}", next="name its folder")
    return folder


def _configuration(folder: Path, adapter: str) -> dict[str, Any]:
    with explaining(f"the configuration of the adapter {adapter} cannot be read", also=(OSError,)):
        config = dict(json.loads((folder / ADAPTER).read_text(encoding="utf-8")))
    kind = config.get("peft_type")
    if kind not in _MERGED:
        raise OffscriptError(
            f"the adapter {adapter} is of the kind {kind!r}", why="it is not merged into weights", next="name a LoRA"
        )
    if not (folder / WEIGHTS).is_file():
        refuse_pickles(folder)
        raise OffscriptError(f"the adapter {adapter} has no {WEIGHTS}", next="save it as safetensors")
    return config


def _require_same_base(config: dict[str, Any], base: str, adapter: str) -> None:
    """By name, as far as names tell: one begins with the other where a copy was quantised or moved."""
    told = config.get("base_model_name_or_path")
    if not isinstance(told, str) or not told:
        return
    first, second = sorted((_short(told), _short(base)), key=len)
    if first and not second.startswith(first):
        raise OffscriptError(
            f"the adapter {adapter} belongs to {told}, not to {base}",
            next=f"name its base, or write {base!r} into its {ADAPTER} if they are the same model",
        )


def _short(name: str) -> str:
    """The last part of a name or path, without revision and case; of the Hub's cache, the model's."""
    cached = re.search(r"models--[^/]*?--([^/]+?)/snapshots/", name)
    last = cached[1] if cached else name.partition("@")[0].rstrip("/").rpartition("/")[2]
    return re.sub(r"[^a-z0-9]", "", last.removesuffix(".gguf").lower())


def _require_fitting(network: Any, folder: Path, base: str, adapter: str) -> None:
    """Every weight of a LoRA belongs to a part of the base, of the same width; peft would leave out what does not."""
    from safetensors import safe_open

    parts = dict(network.named_modules())
    with safe_open(folder / WEIGHTS, framework="pt") as stored:
        for key in stored.keys():  # noqa: SIM118 (no mapping)
            found = re.fullmatch(r"base_model\.model\.(.+)\.(lora_[AB])(?:\.\w+)?\.weight", key)
            if found is None:
                continue
            weight = getattr(parts.get(found[1]), "weight", None)
            shape = stored.get_slice(key).get_shape()
            width = shape[1] if found[2] == "lora_A" else shape[0]
            if weight is None or (weight.dim() == 2 and weight.is_floating_point() and width not in weight.shape):
                raise OffscriptError(
                    f"the adapter {adapter} does not fit {base}",
                    why=f"there is no {found[1]} of width {width}",
                    next="name the base that it was trained on",
                )
