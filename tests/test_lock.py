"""The lock file: every direct dependency at a version that is allowed, every file with its hash, no address."""

import re
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli")

REPOSITORY = Path(__file__).resolve().parent.parent
LOCK = (REPOSITORY / "requirements.lock").read_text(encoding="utf-8")
PINNED = re.findall(r"^([\w.-]+)(?:\[[^]]*\])?==(\S+)((?: \\\n +--hash=sha256:[0-9a-f]{64})*)", LOCK, re.MULTILINE)


def requirements() -> list[Requirement]:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    listed = [
        *project["dependencies"],
        *(each for extra in project["optional-dependencies"].values() for each in extra),
    ]
    return [each for each in map(Requirement, listed) if each.name != project["name"]]


def test_every_direct_dependency_is_pinned_within_its_bounds() -> None:
    versions = {canonicalize_name(name): version for name, version, _ in PINNED}
    faults = [
        f"{each}: {versions.get(canonicalize_name(each.name))}"
        for each in requirements()
        if versions.get(canonicalize_name(each.name), "") not in each.specifier
    ]
    assert not faults, "make lock"


def test_every_pin_has_a_hash_and_the_file_names_no_place() -> None:
    assert len(PINNED) == len(re.findall(r"^\w", LOCK, re.MULTILINE)) > 100
    assert [name for name, _, hashes in PINNED if not hashes] == []
    assert "://" not in LOCK
