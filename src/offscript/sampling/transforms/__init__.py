"""Sampling algorithms as transforms of next-token distributions. What draws tokens or scores text may not enter."""

from offscript.sampling.transforms.base import Ancestral, Greedy, Transform
from offscript.sampling.transforms.parsing import as_logits_processor, parse_transform
from offscript.sampling.transforms.properties import PropertyReport, check_properties, property_table
from offscript.sampling.transforms.randomised import NoisedTopK, RandomMask, RandomMaskAll, RandomTopK
from offscript.sampling.transforms.temperature import MaxEntropy, TargetEntropy, Tempered, TemperedTopK
from offscript.sampling.transforms.truncation import Epsilon, Eta, MinP, Nucleus, TopK, Typical

__all__ = [
    "Ancestral",
    "Epsilon",
    "Eta",
    "Greedy",
    "MaxEntropy",
    "MinP",
    "NoisedTopK",
    "Nucleus",
    "PropertyReport",
    "RandomMask",
    "RandomMaskAll",
    "RandomTopK",
    "TargetEntropy",
    "Tempered",
    "TemperedTopK",
    "TopK",
    "Transform",
    "Typical",
    "as_logits_processor",
    "check_properties",
    "parse_transform",
    "property_table",
]
