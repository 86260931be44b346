"""Pretrained models as `transformers` stores them: where they are, what they may run, and a cache of GGUF files."""

import contextlib
import io
import logging
import re
import shutil
import struct
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from offscript._files import cache_folder, is_there, sha256_of
from offscript._specification import Setting
from offscript._untrusted import hush_hub, refuse_endless_layers, refuse_pickles, refuse_remote_code
from offscript.errors import OffscriptError, require_package
from offscript.models.adapters import ADAPTER, base_of

DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
CONFIGURATION, GGUF = "config.json", ".gguf"
_SIGNS = (CONFIGURATION, ADAPTER, "tokenizer.json", "tokenizer_config.json", "model.safetensors")
_SOURCE = "pretrained_model_name_or_path"
_HUB_PAGE = re.compile(
    r"https?://(?:www\.)?(?:huggingface\.co|hf\.co)/([^/?#]+(?:/(?!tree/|blob/|resolve/)[^/?#]+)?)"
    r"(?:/(?:tree|blob|resolve)/([^/?#]+))?"
)
_DAMAGE = (
    *(OSError, ValueError, KeyError, ImportError, RuntimeError, SafetensorError, struct.error),
    *(TypeError, AttributeError, IndexError, AssertionError, ZeroDivisionError, OverflowError),
)
"""What `transformers` raises for files that are missing, damaged or out of reach."""


def looks_pretrained(path: Path) -> bool:
    """Whether a file is a GGUF, or a folder has the layout of `transformers`, whole or not."""
    return path.suffix == GGUF or any((path / name).is_file() for name in _SIGNS)


def locate(name: str, *, trust: Setting = 0) -> dict[str, Any]:
    """Where `from_pretrained` finds a folder, a `.gguf` file or a Hub id (`ID@REVISION`), and what it may run there.

    A folder that cannot be loaded is refused with what is missing, and one that brings code unless `trust` is 1.
    """
    path, place = Path(name), {_SOURCE: name}
    if path.suffix == GGUF:
        require_package(name, "gguf", extra="gguf")
        place = {_SOURCE: str(path.parent), "gguf_file": path.name}
    elif is_there(path) and path.is_dir():
        _refuse_incomplete(path)
    else:
        source, _, revision = name.partition("@")
        place = {_SOURCE: source, "revision": revision or "main"}
    return place | _code_policy(place, trust)


def torch_dtype(name: Setting) -> torch.dtype:
    """The precision of a setting `dtype=…`."""
    if name not in DTYPES:
        raise OffscriptError(f"unknown dtype {name!r}", next=f"known: {', '.join(DTYPES)}")
    return DTYPES[str(name)]


def open_pretrained(
    kind: str, name: str, place: Mapping[str, Any], dtype: torch.dtype, more: Mapping[str, Any] | None = None
) -> tuple[Any, Any]:
    """Network and tokenizer, both whole: `transformers` would fill in weights and symbols that are missing.

    Args:
        kind: The class that reads the network, such as `AutoModelForCausalLM`.
        name: What the user called the model, for messages.
        place: Where it is, from `locate`.
        dtype: The precision of the weights.
        more: What else decides how the network is loaded, from `how_to_load`.
    """
    if "gguf_file" in place:
        return _open_gguf(kind, name, place, dtype, more)
    with loading(name):
        import transformers

        tokenizer: Any = transformers.AutoTokenizer.from_pretrained(**place)
        network, report = getattr(transformers, kind).from_pretrained(
            **place, **(more or {}), use_safetensors=True, dtype=dtype, output_loading_info=True
        )
    _require_whole(name, tokenizer, report)
    return network, tokenizer


def how_to_load(name: str, load: Setting | None, device_map: Setting | None, device: str) -> dict[str, Any]:
    """What `from_pretrained` is told for weights in fewer bits, and for a network on several devices.

    Args:
        name: What the user called the model, for messages.
        load: `int8` or `int4`: linear layers in so many bits, by bitsandbytes (LLM.int8, NF4).
        device_map: `auto` spreads the network over the devices that are here.
        device: Where it goes otherwise.
    """
    if device_map is not None:
        if device_map != "auto":
            raise OffscriptError(f"{name} with device_map={device_map}", next="write device_map=auto, or use --device")
        require_package("device_map=auto", "accelerate", extra="gguf")
    more: dict[str, Any] = {} if device_map is None else {"device_map": "auto"}
    if load is None:
        return more
    if load not in ("int8", "int4"):
        raise OffscriptError(f"{name} with load={load}", next="write load=int8 or load=int4")
    for package in ("bitsandbytes", "accelerate"):
        require_package(f"load={load}", package, extra="quantised")
    from transformers import BitsAndBytesConfig

    # It tells of every matrix that it rounds to half precision.
    logging.getLogger("bitsandbytes").setLevel(logging.ERROR)
    if load == "int8":
        config = BitsAndBytesConfig(load_in_8bit=True)
    else:
        config = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.float32)
    return {"device_map": device, **more, "quantization_config": config}


class loading:  # noqa: N801 (used as a function is)
    """Convert what `transformers` raises for a model that cannot be loaded into one line; no bars off a terminal."""

    def __init__(self, name: str) -> None:
        self.name, self._bars = name, contextlib.ExitStack()

    def __enter__(self) -> None:
        import transformers  # noqa: F401 (its log handler takes standard error as it is now)

        hush_hub()
        self._bars.enter_context(quietly())

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, trace: object) -> None:
        from huggingface_hub.errors import StrictDataclassError

        self._bars.close()
        # The tokenizers, which are written in Rust, raise `Exception` itself.
        if kind is Exception or isinstance(fault, (*_DAMAGE, StrictDataclassError)):
            raise OffscriptError(
                f"the model {self.name!r} cannot be loaded",
                why=" ".join(str(fault).split())[:300],
                next="name a folder with safetensors, a .gguf file or a Hub id that can be reached",
            ) from fault


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Progress bars are for a terminal; elsewhere they fill a log."""
    with contextlib.nullcontext() if sys.stderr.isatty() else contextlib.redirect_stderr(io.StringIO()):
        yield


def refuse_url(name: str) -> None:
    """A model string names a model, not a page about it."""
    if "://" not in name:
        return
    page = _HUB_PAGE.match(name)
    known = "" if page is None else f"write hf/{page[1]}" + (f"@{page[2]}" if page[2] not in (None, "main") else "")
    raise OffscriptError(
        f"{name} is a URL",
        why="a model string names a shipped model, a folder, a file or a Hub id",
        next=known or "download it and name the folder or file",
    )


def _code_policy(place: Mapping[str, Any], trust: Setting) -> dict[str, bool]:
    if trust not in (0, 1):  # also false and true
        raise OffscriptError(f"trust={trust} is neither 0 nor 1", next="write trust=1, or leave it out")
    if not trust:
        refuse_remote_code(
            place[_SOURCE],
            revision=place.get("revision"),
            next="add ,trust=1 to the model string if you have read the code and trust it",
        )
    return {"trust_remote_code": bool(trust)}


def _refuse_incomplete(folder: Path) -> None:
    """Name what a folder lacks or has too much of; `transformers` would ask the Hub for it, or never end."""
    if not any(folder.glob("*.safetensors")):
        refuse_pickles(folder)
    if (folder / CONFIGURATION).is_file():
        refuse_endless_layers(folder)
        return
    if (folder / ADAPTER).is_file():
        raise OffscriptError(
            f"{folder} is a LoRA adapter, not a model",
            why=f"it changes the weights of {base_of(folder / ADAPTER)}",
            next=f"write BASE,adapter={folder}",
        )
    raise OffscriptError(
        f"{folder} has no {CONFIGURATION}",
        why="a Hugging Face model needs it beside its weights",
        next="copy it from where the model came from",
    )


def _require_whole(name: str, tokenizer: Any, report: Mapping[str, Any]) -> None:
    if missing := sorted(report["missing_keys"]):
        raise OffscriptError(
            f"the model {name!r} lacks weights", why=f"there is no {missing[0]}", next="copy the model's files again"
        )
    if set(tokenizer.get_vocab()) <= set(tokenizer.all_special_tokens):
        raise OffscriptError(f"the model {name!r} has no tokenizer", next="save its tokenizer to the same place")


def _open_gguf(
    kind: str, name: str, place: Mapping[str, Any], dtype: torch.dtype, more: Mapping[str, Any] | None
) -> tuple[Any, Any]:
    """From the cache, where the file is kept as safetensors; reading it takes a minute for 100 MB."""
    with loading(name):
        import transformers

        key = f"{sha256_of(Path(name))}-{str(dtype).removeprefix('torch.')}-{transformers.__version__}"
        folder = cache_folder() / "gguf" / key
        if (folder / CONFIGURATION).is_file():
            return open_pretrained(kind, name, {_SOURCE: str(folder), "trust_remote_code": False}, dtype, more)
        tokenizer = transformers.AutoTokenizer.from_pretrained(**place)
        network, report = getattr(transformers, kind).from_pretrained(**place, dtype=dtype, output_loading_info=True)
    _require_whole(name, tokenizer, report)
    network.hf_quantizer = network.config.quantization_config = None  # its weights are ordinary ones now
    _keep(folder, network, tokenizer)
    return _open_gguf(kind, name, place, dtype, more) if more and folder.is_dir() else (network, tokenizer)


def _keep(folder: Path, *parts: Any) -> None:
    """Save to a folder that is either whole or absent; where that cannot be done, the next command reads the GGUF.

    Where another process was first, its folder is as good, and nothing is said.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".", suffix=".partial"))
        try:
            with quietly():
                for part in parts:
                    part.save_pretrained(temporary)
            temporary.replace(folder)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    except (OSError, SafetensorError) as fault:
        if (folder / CONFIGURATION).is_file():
            return
        logging.getLogger(__name__).warning("the model is not cached in %s: %s", folder.parent, fault)
