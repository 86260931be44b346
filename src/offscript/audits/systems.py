"""Measures of what is no language model: a retriever, a stance model, a fact checker.

An experiment asks them with a seed and settings that are plain data; a variant without a model tells by its settings
which system it is.
"""

from collections.abc import Callable

from offscript.measures.measurement import Measurement

SYSTEMS: dict[str, Callable[..., list[Measurement]]] = {}
"""By question; each is called as `measure(seed=…, **settings)`."""
