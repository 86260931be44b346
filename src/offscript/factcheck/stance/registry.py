"""Stance models by name: the one that ships, the lexical baseline, and folders of trained ones."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

from offscript._specification import nearest
from offscript.errors import OffscriptError
from offscript.factcheck.stance import storage
from offscript.factcheck.stance.committee import JOINT, Committee
from offscript.factcheck.stance.stance import StanceModel

SHIPPED = "offscript/stance"
LEXICAL = "lexical"
_ASSET = Path(__file__).parents[2] / "assets" / "stance"


@cache
def stance_model(name: str = SHIPPED) -> StanceModel:
    """`offscript/stance`, `lexical`, the folder of a model that `offscript train` made, or several joined by `+`."""
    if JOINT in name and not Path(name).exists():
        return Committee([stance_model(member) for member in name.split(JOINT)])
    if name == LEXICAL:
        from offscript.factcheck.stance.lexical import LexicalStance

        return LexicalStance()
    folder = _ASSET if name == SHIPPED else Path(name)
    if not (folder / storage.CARD).is_file():
        known = (SHIPPED, LEXICAL)
        raise OffscriptError(
            f"no stance model {name!r}", why="no such name, and no such folder", next=nearest(name, known)
        )
    kind = str(storage.read_card(folder)["kind"])
    if kind not in _LOADERS:
        raise OffscriptError(f"{folder} holds a stance model of kind {kind!r}", next=nearest(kind, _LOADERS))
    return _LOADERS[kind](folder, name)


def _onnx(folder: Path, name: str) -> StanceModel:
    from offscript.factcheck.stance.served import load

    return load(folder, name=name)


def _mtranssan(folder: Path, name: str) -> StanceModel:
    from offscript.factcheck.stance.mtranssan import load

    return load(folder, name=name)


def _features(folder: Path, name: str) -> StanceModel:
    from offscript.factcheck.stance.perceptron import load

    return load(folder, name=name)


def _boosting(folder: Path, name: str) -> StanceModel:
    from offscript.factcheck.stance.boosting import load

    return load(folder, name=name)


def _hierarchy(folder: Path, name: str) -> StanceModel:
    from offscript.factcheck.stance.hierarchy import load

    return load(folder, name=name)


_LOADERS: dict[str, Callable[[Path, str], StanceModel]] = {
    "onnx": _onnx,
    "mtranssan": _mtranssan,
    "features": _features,
    "boosting": _boosting,
    "hierarchy": _hierarchy,
}
