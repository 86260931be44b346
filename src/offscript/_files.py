"""Files that are either whole or absent: write to a temporary name in the same folder, then rename."""

import contextlib
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; rename it over `path` when the block ends well, else remove it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".partial")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)
        _flush_to_disk(temporary)
        temporary.replace(path)
        if os.name == "posix":  # elsewhere a folder cannot be opened
            _flush_to_disk(path.parent)  # a rename that is not on disk is lost with the power
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_tensors(path: Path, tensors: Mapping[str, Any], metadata: dict[str, str] | None = None) -> None:
    """Write torch tensors as safetensors, whole or not at all; a full disk is an OSError, as it is for other files."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    with replacing(path) as temporary:
        try:
            save_file(dict(tensors), temporary, metadata=metadata)
        except SafetensorError as fault:
            code = re.search(r"(?:os error|code:) (\d+)", str(fault))
            if code is None:
                raise
            raise OSError(int(code[1]), os.strerror(int(code[1])), str(path)) from fault


def write_json(path: Path, value: Any) -> None:
    """Write a JSON document whole or not at all."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, sort_keys=False) + "\n")


def is_there(path: Path) -> bool:
    """Whether a path names a file or a folder; one that nothing can be called, such as a long one, does not."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's bytes, read in blocks."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def cache_folder() -> Path:
    """Where offscript may keep what it can make again: `OFFSCRIPT_CACHE`, else the user's cache folder."""
    if named := os.environ.get("OFFSCRIPT_CACHE"):
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "offscript"


def _flush_to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
