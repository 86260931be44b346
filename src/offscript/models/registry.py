"""Model strings: `offscript/news`, a folder, a tabular file, a `.gguf` file, `hf/gpt2@main,dtype=float32`.

Any of them with `,approximate=2000` is the model that 2,000 draws after each history make of it.
A model with an encoder and `,sources=FILE` is the model of the targets of that file's sources.
`a+b` is the mixture of two models, and `openai/MODEL@URL` is behind an API.
`uniform,vocabulary=text8` knows nothing but the symbols. Plug-ins add names of their own: `toy/REST,setting=2`.
"""

import difflib
import re
from collections.abc import Callable
from pathlib import Path

import torch

from offscript._catalogue import ASSETS, CARD, ENDPOINTS, HUB, MODELS, SHIPPED, shipped_models
from offscript._files import is_there
from offscript._plugins import settings_for
from offscript._specification import Setting, Specification, nearest, parse_specification
from offscript._untrusted import refuse_pickles
from offscript.corpora.lines import is_folder
from offscript.corpora.parallel import read_sources
from offscript.corpora.vocabularies import CharacterVocabulary
from offscript.errors import OffscriptError
from offscript.models.approximated import approximate
from offscript.models.conditional import load_table
from offscript.models.generator import FLOOR
from offscript.models.hub_sources import load_pretrained
from offscript.models.language_model import LanguageModel
from offscript.models.mixture import Mixture
from offscript.models.pretrained import looks_pretrained, refuse_url
from offscript.models.sources import Seq2SeqLanguageModel
from offscript.models.storage import is_seqgan_oracle, load, load_seqgan_oracle
from offscript.models.tabular import Uniform

_SOURCES, _WEIGHTS = "sources", "weights"
_QUOTED, _PLUS = re.compile(r'"[^"]*"'), "\0"
_APPROXIMATION = ("approximate", "floor", "seed")


def load_model(text: str, *, device: str = "cpu") -> LanguageModel:
    """The model a string names: a scheme (`hf/…`, a plug-in's) or a shipped name, else a path, else a Hub id.

    Args:
        text: The model string, with settings after commas.
        device: Where the model computes, such as `cpu`, `cuda:1` or `mps`.

    Returns:
        A model ready to be asked, in evaluation mode.
    """
    usable_device(device)
    if len(parts := mixed_parts(text)) > 1:
        return _mixture(parts, device)
    named = parse_specification(text)
    if _SOURCES in named.settings:
        path = str(named.settings[_SOURCES])
        others = {key: value for key, value in named.settings.items() if key != _SOURCES}
        return with_sources(load_model(str(Specification(named.name, others)), device=device), path)
    if "approximate" not in named.settings:
        return _loaded(named, device)
    asked = {key: value for key, value in named.settings.items() if key in _APPROXIMATION}
    others = {key: value for key, value in named.settings.items() if key not in _APPROXIMATION}
    return _approximated(_loaded(Specification(named.name, others), device), asked)


def mixed_parts(text: str) -> list[str]:
    """The model strings of a mixture `a,setting=1+b`, or the text itself.

    A `+` in a name parts two models, unless a file or folder is called so. In a setting it does so only before what is
    surely a model, so that `chat=1+1` needs no quotes. A model behind an API is no part of a mixture.
    """
    hidden = _QUOTED.sub(lambda found: found[0].replace("+", _PLUS), text)
    name = hidden.partition(",")[0]
    if "+" not in hidden or hidden.startswith(f"{ENDPOINTS}/") or ("+" in name and is_there(Path(name))):
        return [text]
    first, *others = hidden.split("+")
    parts = [first]
    for part in others:
        in_setting = "=" in parts[-1].rpartition(",")[2]
        if not part or not parts[-1] or (in_setting and not _surely_names_a_model(part.partition(",")[0])):
            parts[-1] += f"+{part}"
        else:
            parts.append(part)
    return [part.strip().replace(_PLUS, "+") for part in parts]


def _surely_names_a_model(name: str) -> bool:
    return name.partition("/")[0] in MODELS or name in _bare_names() or is_there(Path(name))


def _mixture(parts: list[str], device: str) -> LanguageModel:
    """Settings of the whole stand at the end: `weights`, and those of an approximation."""
    last = parse_specification(parts[-1])
    whole = {key: value for key, value in last.settings.items() if key in (_WEIGHTS, *_APPROXIMATION)}
    own = Specification(last.name, {key: value for key, value in last.settings.items() if key not in whole})
    models = [load_model(part, device=device) for part in (*parts[:-1], str(own))]
    mixture = Mixture(models, _numbers(whole.pop(_WEIGHTS)) if _WEIGHTS in whole else None)
    return _approximated(mixture, whole) if "approximate" in whole else mixture


def _numbers(listed: Setting) -> list[float]:
    try:
        return [float(part) for part in str(listed).split(",")]
    except ValueError as fault:
        raise OffscriptError(
            f"cannot read the weights {listed}", why=str(fault), next='write e.g. weights="0.7,0.3"'
        ) from fault


def with_sources(model: LanguageModel, path: str) -> LanguageModel:
    """A model that was given the sources of a file: sequence i is a target of source i.

    Args:
        model: A model with an encoder.
        path: A text file with a source per line, or a parallel corpus in one file.
    """
    if not isinstance(model, Seq2SeqLanguageModel):
        raise OffscriptError(f"{model.name} reads no source", next=f"leave out ,{_SOURCES}={path}")
    given = model.given(model.read_sources(list(read_sources(path))))
    given.name = f"{model.name},{_SOURCES}={path}"
    return given


def usable_device(name: str) -> torch.device:
    """The device of a name such as `cpu`, `cuda:1` or `mps`, after a tensor was put there."""
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as fault:
        raise OffscriptError(
            f"the device {name!r} cannot be used", why=str(fault).splitlines()[0], next="name cpu, or one that is here"
        ) from fault


def load_shipped(name: str, *, device: str = "cpu") -> LanguageModel:
    """A model that ships with the package, by its name without `offscript/`."""
    if name not in _bare_names():
        raise OffscriptError(f"no shipped model is called {SHIPPED + name!r}", next=nearest(name, _bare_names()))
    return load(ASSETS / name, device=device, name=SHIPPED + name)


def load_uniform(rest: str, *, vocabulary: Setting | None = None, device: str = "cpu") -> LanguageModel:
    """The uniform model over the symbols of `text8`, or over those of the model that `vocabulary` names."""
    if rest:
        raise OffscriptError(f"uniform/{rest} names no model", next="write uniform,vocabulary=MODEL")
    if vocabulary is None:
        return Uniform(CharacterVocabulary(), "uniform")
    is_text8 = vocabulary == "text8"
    symbols = CharacterVocabulary() if is_text8 else load_model(str(vocabulary), device=device).vocabulary
    return Uniform(symbols, f"uniform,vocabulary={vocabulary}")


def _approximated(model: LanguageModel, asked: dict[str, Setting]) -> LanguageModel:
    n, seed, floor = asked["approximate"], asked.get("seed", 0), asked.get("floor", FLOOR)
    for key, value, kind in (("approximate", n, int), ("seed", seed, int), ("floor", floor, (int, float))):
        if isinstance(value, bool) or not isinstance(value, kind):
            raise OffscriptError(f"cannot use {key}={value} of {model.name}", next=f"give a number, such as {key}=1")
    return approximate(model, int(n), seed=int(seed), floor=float(floor))


def _loaded(named: Specification, device: str) -> LanguageModel:
    scheme, _, rest = named.name.partition("/")
    if scheme != ENDPOINTS:
        refuse_url(named.name)
    if scheme in MODELS:
        return _by(MODELS[scheme], rest, named, device)
    if named.name in _bare_names():
        return _by(load_shipped, named.name, named, device)
    path = Path(named.name)
    if is_there(path):
        return _from_path(path, named, device)
    if _reads_like_a_path(named.name):
        raise OffscriptError(f"there is no file or folder {named.name}", next=f"check the path, or write {HUB}ID")
    if close := difflib.get_close_matches(named.name, _bare_names(), n=1):
        hint = f"did you mean {close[0]!r}? write {HUB}{named.name} for the Hub's"
        raise OffscriptError(f"no model is called {named.name!r} here", next=hint)
    return _by(load_pretrained, named.name, named, device)


def _reads_like_a_path(name: str) -> bool:
    """Whether a name that is not there was meant as a path: a Hub id has at most one slash, after no folder of ours."""
    path = Path(name)
    below_a_folder = len(path.parts) > 1 and is_folder(path.parent)
    return bool(path.suffix) or path.is_absolute() or name.startswith(".") or len(path.parts) > 2 or below_a_folder


def _by(loader: Callable[..., LanguageModel], rest: str | Path, named: Specification, device: str) -> LanguageModel:
    settings = settings_for(loader, named.name, named.settings, also=("approximate",), device=device)
    model = loader(rest, **settings)
    if not isinstance(model, LanguageModel):
        kind = type(model).__name__
        raise OffscriptError(f"the loader of {named.name} returned a {kind}", next="return a LanguageModel")
    if model.name == LanguageModel.name:
        model.name = str(named)
    return model


def _bare_names() -> list[str]:
    """Shipped names without what they all begin with, which would make every one of them look near."""
    return [name.removeprefix(SHIPPED) for name in shipped_models()]


def _from_path(path: Path, named: Specification, device: str) -> LanguageModel:
    if path.is_file():
        refuse_pickles(path)
    if path.suffix == ".json":
        return _by(load_table, path, named, device)
    if looks_pretrained(path) and not (path / CARD).is_file():
        return _by(load_pretrained, str(path), named, device)
    return _by(load_seqgan_oracle if is_seqgan_oracle(path) else _load_trained, path, named, device)


def _load_trained(folder: Path, *, device: str) -> LanguageModel:
    return load(folder, device=device)
