"""Loops that numba turns into machine code, kept on disk between runs and free of the interpreter's lock."""

import contextlib
import functools
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

from offscript._files import cache_folder
from offscript.errors import missing_package

try:
    import numba
except ImportError as error:
    raise missing_package("offscript", "numba") from error

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile a function of arrays and numbers on its first call; several threads may run it at once."""
    return _compiled(function)


def elementwise(function: Function) -> Function:
    """Compile arithmetic on numbers so that a loop can do it for a vector of them: dividing by zero gives infinity."""
    return _compiled(function, error_model="numpy", fastmath={"contract"})


def multiplying(function: Function) -> Function:
    """Compile loops that add products in a fixed order; a product and its addition may be rounded once."""
    return _compiled(function, fastmath={"contract"})


def summing(function: Function) -> Function:
    """Compile loops that add up what `elementwise` functions give, in any order."""
    return _compiled(function, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})


def _compiled(function: Function, **settings: Any) -> Function:
    with _machine_code_kept():
        try:
            return cast(Function, numba.njit(cache=True, nogil=True, **settings)(function))
        except RuntimeError:  # numba found no folder that it may write to
            return cast(Function, numba.njit(nogil=True, **settings)(function))


@contextlib.contextmanager
def _machine_code_kept() -> Iterator[None]:
    given = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = given or str(cache_folder() / "compiled" / _sources_digest())
    try:
        yield
    finally:
        numba.config.CACHE_DIR = given


@functools.cache
def _sources_digest() -> str:
    """A name for the compiled sources as they are: numba itself would miss a change in a file that others inline."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        source = path.read_bytes()
        if any(mark in source for mark in (b"@compiled", b"@elementwise", b"@summing")):
            digest.update(source)
    return digest.hexdigest()[:16]
