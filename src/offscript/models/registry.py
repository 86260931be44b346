"""Model strings: `offscript/news`, a folder, a tabular file, a `.gguf` file, `hf/gpt2@main,dtype=float32`.

Any of them with `,approximate=2000` is the model that 2,000 draws after each history make of it.
`uniform,vocabulary=text8` knows nothing but the symbols.
"""

import difflib
from pathlib import Path
from typing import Any

from offscript._specification import Setting, Specification, nearest, parse_specification
from offscript.corpora.vocabularies import CharacterVocabulary
from offscript.errors import OffscriptError
from offscript.models.approximated import approximate
from offscript.models.devices import usable_device
from offscript.models.generator import FLOOR
from offscript.models.hub import HubLanguageModel, trusts_code
from offscript.models.language_model import LanguageModel
from offscript.models.pickles import refuse_pickles
from offscript.models.seqgan_oracle import is_seqgan_oracle, load_seqgan_oracle
from offscript.models.storage import CARD, WEIGHTS, load, read_card
from offscript.models.tabular import Tabular
from offscript.models.uniform import Uniform

SHIPPED, HUB, UNIFORM = "offscript/", "hf/", "uniform"
_ASSETS = Path(__file__).parent.parent / "assets"
_HUB_SETTINGS = ("dtype", "trust")
_APPROXIMATION = ("approximate", "floor", "seed")


def shipped_models() -> dict[str, dict[str, Any]]:
    """The cards of the language models that come with the package, by their full name.

    What else ships with a card, such as a model of stances, holds its weights in other files.
    """
    folders = sorted(card.parent for card in _ASSETS.glob(f"*/{CARD}") if (card.parent / WEIGHTS).is_file())
    return {SHIPPED + folder.name: read_card(folder) for folder in folders}


def load_model(text: str, *, device: str = "cpu") -> LanguageModel:
    """The model a string names: a bare name is a shipped one, else a path, else a Hub id."""
    usable_device(device)
    named = parse_specification(text)
    if "approximate" not in named.settings:
        return _loaded(named, device)
    asked = {key: value for key, value in named.settings.items() if key in _APPROXIMATION}
    others = {key: value for key, value in named.settings.items() if key not in _APPROXIMATION}
    return _approximated(_loaded(Specification(named.name, others), device), asked)


def _approximated(model: LanguageModel, asked: dict[str, Setting]) -> LanguageModel:
    n, seed, floor = asked["approximate"], asked.get("seed", 0), asked.get("floor", FLOOR)
    for key, value, kind in (("approximate", n, int), ("seed", seed, int), ("floor", floor, (int, float))):
        if isinstance(value, bool) or not isinstance(value, kind):
            raise OffscriptError(f"{key}={value} of {model.name}", next=f"give a number, such as {key}=1")
    return approximate(model, int(n), seed=int(seed), floor=float(floor))


def _loaded(named: Specification, device: str) -> LanguageModel:
    if named.name == UNIFORM:
        return _uniform(named, device)
    if named.name.startswith(SHIPPED):
        return _shipped(named, device)
    if named.name.startswith(HUB):
        return _from_hub(named.name.removeprefix(HUB), named, device)
    if named.name in _bare_names():
        return _shipped(Specification(SHIPPED + named.name, named.settings), device)
    path = Path(named.name)
    if path.exists():
        return _from_path(path, named, device)
    if path.suffix or path.is_absolute() or named.name.startswith("."):
        raise OffscriptError(f"there is no file or folder {named.name}", next="check the path")
    if close := difflib.get_close_matches(named.name, _bare_names(), n=1):
        hint = f"did you mean {close[0]!r}? write {HUB}{named.name} for the Hub's"
        raise OffscriptError(f"no model is called {named.name!r} here", next=hint)
    return _from_hub(named.name, named, device)


def _uniform(named: Specification, device: str) -> LanguageModel:
    _refuse_settings(named, ("vocabulary",))
    of = str(named.settings.get("vocabulary", "text8"))
    return Uniform(CharacterVocabulary() if of == "text8" else load_model(of, device=device).vocabulary, str(named))


def _shipped(named: Specification, device: str) -> LanguageModel:
    _refuse_settings(named, ())
    bare = named.name.removeprefix(SHIPPED)
    if bare not in _bare_names():
        raise OffscriptError(f"no shipped model is called {named.name!r}", next=nearest(bare, _bare_names()))
    return load(_ASSETS / bare, device=device, name=named.name)


def _bare_names() -> list[str]:
    """Shipped names without what they all begin with, which would make every one of them look near."""
    return [name.removeprefix(SHIPPED) for name in shipped_models()]


def _from_path(path: Path, named: Specification, device: str) -> LanguageModel:
    if path.is_file():
        refuse_pickles(path)
    if path.suffix == ".json":
        _refuse_settings(named, ())
        return Tabular.load(path)
    if path.suffix == ".gguf" or (path / "config.json").is_file():
        return _from_hub(str(path), named, device)
    _refuse_settings(named, ())
    if is_seqgan_oracle(path):
        return load_seqgan_oracle(path, device=device)
    return load(path, device=device)


def _from_hub(name: str, named: Specification, device: str) -> LanguageModel:
    _refuse_settings(named, _HUB_SETTINGS)
    source, _, revision = (name, "", "") if Path(name).exists() else name.partition("@")
    dtype = str(named.settings.get("dtype", "float32"))
    trust = trusts_code(named.settings)
    return HubLanguageModel.load(source, revision=revision or None, dtype=dtype, device=device, trust=trust)


def _refuse_settings(named: Specification, known: tuple[str, ...]) -> None:
    for key in named.settings:
        if key not in known:
            hint = nearest(key, (*known, "approximate")) if known else "leave it out"
            raise OffscriptError(f"{named.name} takes no setting {key!r}", next=hint)
