"""Document lengths as scoring sees them: exact, or rounded to what Lucene's one length byte can hold."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from offscript._specification import nearest
from offscript.errors import OffscriptError

Norms = Literal["exact", "lucene"]
FREE_VALUES = 24  # Lucene's SmallFloat.intToByte4 keeps so many lengths as they are
SIGNIFICANT_BITS = 4


def scoring_lengths(lengths: NDArray[np.int32], norms: Norms) -> NDArray[np.float64]:
    """The lengths that similarities are given."""
    if norms == "exact":
        return lengths.astype(np.float64)
    if norms == "lucene":
        return lucene_lengths(lengths).astype(np.float64)
    raise OffscriptError(f"unknown norms {norms!r}", next=nearest(norms, ("exact", "lucene")))


def lucene_lengths(lengths: NDArray[np.int32]) -> NDArray[np.int64]:
    """What is left of lengths after SmallFloat.byte4ToInt(intToByte4(length)): 4 significant bits above 24."""
    excess = np.maximum(lengths.astype(np.int64) - FREE_VALUES, 0)
    bits = np.frexp(excess.astype(np.float64))[1]
    shift = np.maximum(bits - SIGNIFICANT_BITS, 0)
    return np.where(lengths < FREE_VALUES, lengths, FREE_VALUES + ((excess >> shift) << shift))
