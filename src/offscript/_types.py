"""Types that every package shares."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Float32Array = NDArray[np.float32]
Count = Callable[[int], None]
"""Called with how many more rows are done."""
