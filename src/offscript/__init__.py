"""offscript finds out where a language model goes off script: from its data, human text, fairness and the facts."""

import os

__version__ = "0.1.0"

# PyTorch's threads wait for each other in loops that keep a core busy. On two cores, drawing took twice as long as it
# must beside one busy process and six times as long beside two (`benchmarks/busy.py`); a short wait costs nothing where
# cores are free. OpenMP reads this once, when torch is imported.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
