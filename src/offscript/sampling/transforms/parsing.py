"""Transforms by name: `nucleus,p=0.9`."""

from offscript._specification import Setting, nearest, parse_specification
from offscript.errors import OffscriptError
from offscript.sampling.transforms.base import Ancestral, Greedy, Transform
from offscript.sampling.transforms.entropy import MaxEntropy, TargetEntropy
from offscript.sampling.transforms.randomised import NoisedTopK, RandomMask, RandomMaskAll, RandomTopK
from offscript.sampling.transforms.settings import Range, ranges
from offscript.sampling.transforms.temperature import Tempered, TemperedTopK
from offscript.sampling.transforms.truncation import Epsilon, Eta, MinP, Nucleus, TopK, Typical

TRANSFORMS: dict[str, type[Transform]] = {
    transform.name: transform
    for transform in (
        Ancestral,
        Greedy,
        TopK,
        Nucleus,
        Tempered,
        TemperedTopK,
        TargetEntropy,
        MaxEntropy,
        RandomMask,
        RandomMaskAll,
        NoisedTopK,
        RandomTopK,
        MinP,
        Typical,
        Eta,
        Epsilon,
    )
}

_ALSO = {"none": "ancestral"}


def parse_transform(text: str) -> Transform:
    """The transform that a string names, such as `nucleus,p=0.9` or `tempered-top-k,k=500,temperature=0.8`.

    The thesis's letters (t, e, r, w, m) serve as short names of settings, and `none` as one of `ancestral`.
    """
    specification = parse_specification(text)
    name = _ALSO.get(specification.name, specification.name)
    if name not in TRANSFORMS:
        raise OffscriptError(f"no sampler {specification.name!r}", next=nearest(name, [*TRANSFORMS, *_ALSO]))
    transform = TRANSFORMS[name]
    allowed = ranges(transform)
    settings = _spelled_out(name, specification.settings, allowed)
    if missing := [setting for setting in allowed if setting not in settings]:
        described = " and ".join(allowed[setting].describe(setting) for setting in missing)
        raise OffscriptError(f"{text!r} lacks {', '.join(missing)}", next=f"add {missing[0]}=…: it takes {described}")
    return transform(**settings)


def _spelled_out(name: str, settings: dict[str, Setting], allowed: dict[str, Range]) -> dict[str, Setting]:
    letters = {allowed[setting].letter: setting for setting in allowed if allowed[setting].letter}
    full: dict[str, Setting] = {}
    for given, value in settings.items():
        setting = letters.get(given, given)
        if setting not in allowed:
            hint = nearest(given, allowed) if allowed else f"write {name} alone"
            raise OffscriptError(f"{name} has no setting {given!r}", next=hint)
        if setting in full:
            raise OffscriptError(f"{name} gets {setting!r} twice", next="give it once")
        full[setting] = value
    return full
