"""Configuration files: YAML, dotted keys such as `data.train.0`, `$VARIABLES`, and checking against a schema.

A file comes from anywhere, so it is read within limits, and whatever is wrong with it is said in one line that names
the file and the place.
"""

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from offscript._specification import nearest
from offscript.errors import OffscriptError

MAX_BYTES = 1 << 18
"""Of a configuration file; the longest that ships has 4,000."""

MAX_DEPTH, MAX_VALUES = 40, 50_000
"""Levels of a document, and its values with every alias written out."""

MAX_DIGITS = 100

_RECIPES = Path(__file__).parent / "assets" / "recipes"
Schema = TypeVar("Schema", bound=BaseModel)


class Section(BaseModel):
    """A part of a configuration: unknown keys are refused, values do not change afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def read_mapping(path: Path, what: str, changes: Sequence[str] = ()) -> dict[str, Any]:
    """The keys of a YAML file.

    Args:
        path: The file.
        what: What the file should be, for messages: a recipe, a grid.
        changes: `key=value` to apply on top, as a command line gives them; values are YAML.
    """
    try:
        text = _text(path)
    except OSError as fault:
        raise OffscriptError(f"no {what} at {path}", why=fault.strerror or "", next="name a YAML file") from fault
    except UnicodeDecodeError as fault:
        raise OffscriptError(f"{path} is not YAML", why=str(fault)) from fault
    content = parse_yaml(text, str(path))
    if not isinstance(content, dict):
        raise OffscriptError(f"{path} is not a {what}", why="it is not a mapping of keys to values")
    for each in changes:
        key, equals, value = each.partition("=")
        if not equals or not key:
            raise OffscriptError(f"{each!r} is not key=value", next="write e.g. model.hidden=128")
        change(content, key, parse_yaml(value, f"{each!r}: the value"))
    return content


def shipped_recipes() -> dict[str, Path]:
    """The training recipes that come with the package, by name."""
    paths = sorted(_RECIPES.rglob("*.yaml"))
    return {path.relative_to(_RECIPES).with_suffix("").as_posix(): path for path in paths}


def find_recipe(text: str) -> Path:
    """A path that exists, else a shipped recipe's name."""
    path = Path(text)
    if path.exists():
        return path
    shipped = shipped_recipes()
    if text in shipped:
        return shipped[text]
    raise OffscriptError(
        f"no recipe {text!r}", why="no such file, and none of that name ships", next=nearest(text, shipped)
    )


def parse_yaml(text: str, origin: str) -> Any:
    """A YAML document of plain values: mappings, lists, text, numbers, true, false and null.

    Args:
        text: The document.
        origin: Where it comes from, for messages.
    """
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        if root is None:
            return None
        _check_nodes(root)
        return loader.construct_document(root)
    except yaml.YAMLError as fault:
        raise OffscriptError(f"{origin} is not YAML", why=" ".join(str(fault).split())) from fault
    except (ValueError, OverflowError) as fault:
        raise OffscriptError(f"{origin}: a value cannot be read", why=str(fault)) from fault
    except _LimitError as fault:
        raise OffscriptError(f"{origin}: {fault}") from fault


def change(content: Any, key: str, value: Any) -> None:
    """Set a value in place.

    Args:
        content: A mapping or a list, which may hold others.
        key: Dotted; a number in it is a place in a list, `*` every place. Mappings on the way are made where missing.
        value: What to put there.
    """
    *path, last = key.split(".")
    if len(path) > MAX_DEPTH:
        raise OffscriptError(f"{key!r} goes more than {MAX_DEPTH} levels deep", next="name a setting that is there")
    for place in _places(content, path, key):
        if isinstance(place, list):
            for index in _indices(place, last, key, path[-1] if path else ""):
                place[index] = value
        else:
            place[last] = value


def expanded(value: Any) -> Any:
    """The value with `$VARIABLES` filled in, inside lists and mappings too; an unset one is refused."""
    if isinstance(value, dict):
        return {key: expanded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [expanded(item) for item in value]
    if not isinstance(value, str):
        return value
    for name in re.findall(r"\$\{?(\w+)\}?", value):
        if name not in os.environ:
            raise OffscriptError(f"{value!r} names the variable {name}, which is not set", next=f"export {name}=…")
    return os.path.expandvars(value)


def checked(schema: type[Schema], content: Any, origin: str) -> Schema:
    """The content as a schema has it.

    Args:
        schema: A pydantic model.
        content: What was read.
        origin: Where it comes from: a refusal begins with it, and names the key.
    """
    try:
        return schema.model_validate(content)
    except ValidationError as fault:
        raise OffscriptError(f"{origin}: {first_fault(fault, schema)}") from fault


def digest_of(settings: Any) -> str:
    """A short hash of plain values: two recipes with the same one are the same recipe."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]


def first_fault(fault: ValidationError, schema: type[BaseModel]) -> str:
    """What pydantic found first: where, what, and which key was probably meant."""
    found = fault.errors()[0]
    path, known = _walked(found["loc"], schema)
    if found["type"] == "extra_forbidden":
        return f"unknown key {path!r}; {nearest(str(found['loc'][-1]), known)}"
    message = found["msg"].removeprefix("Value error, ")
    return f"{path}: {message}" if path else message


def _text(path: Path) -> str:
    if "\0" in str(path):
        raise OffscriptError("a file's name cannot hold a null byte", next="name a YAML file")
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # opening a pipe would wait for its writer
        raise OffscriptError(f"{path} is not a regular file", next="name a YAML file")
    with path.open("rb") as stream:
        content = stream.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise OffscriptError(f"{path} is longer than {MAX_BYTES:,} bytes", why="no configuration needs to be")
    return content.decode("utf-8")


class _LimitError(Exception):
    """A document that is YAML, but not one to work with."""


class _Loader(yaml.SafeLoader):
    """YAML's plain types; nesting is counted while it is read, as the reader itself is recursive."""

    _depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _LimitError(f"line {self.line + 1} is nested more than {MAX_DEPTH} levels deep")
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_ODD = {
    "tag:yaml.org,2002:timestamp": "is a date; put it in quotes",
    **{f"tag:yaml.org,2002:{kind}": "is of a type not used here" for kind in ("binary", "omap", "pairs", "set")},
}


def _check_nodes(root: yaml.Node) -> None:
    """Refuse odd types, references to oneself, and what is too large once aliases are written out."""
    sizes: dict[int, int] = {}  # of finished nodes; 0 of those above the one that is looked at

    def size(node: yaml.Node) -> int:
        line = node.start_mark.line + 1
        if node.tag in _ODD:
            shown = f" {node.value}" if isinstance(node, yaml.ScalarNode) else ""
            raise _LimitError(f"line {line}:{shown[:40]} {_ODD[node.tag]}")
        if node.tag in _NUMBERS and len(node.value) > MAX_DIGITS:
            raise _LimitError(f"line {line}: a number has more than {MAX_DIGITS} digits")
        if sizes.get(id(node)) == 0:
            raise _LimitError(f"line {line} refers to itself")
        if id(node) not in sizes:
            sizes[id(node)] = 0
            sizes[id(node)] = 1 + sum(size(child) for child in _children(node))
        if sizes[id(node)] > MAX_VALUES:
            raise _LimitError(f"line {line} holds more than {MAX_VALUES:,} values")
        return sizes[id(node)]

    size(root)


def _children(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        for pair in node.value:
            yield from pair
    elif isinstance(node, yaml.SequenceNode):
        yield from node.value


def _places(content: Any, path: list[str], key: str) -> list[Any]:
    """The mappings and lists that a path leads to."""
    places, before = [content], ""
    for part in path:
        following: list[Any] = []
        for place in places:
            if isinstance(place, list):
                following += [place[index] for index in _indices(place, part, key, before)]
            else:
                following.append(place.setdefault(part, {}))
        for place in following:
            if not isinstance(place, dict | list):
                raise OffscriptError(f"{key!r} cannot be set", why=f"{part!r} holds no keys")
        places, before = following, part
    return places


def _indices(place: list[Any], part: str, key: str, before: str) -> range:
    if part == "*":
        return range(len(place))
    if not part.isdecimal():
        raise OffscriptError(f"{key!r} cannot be set", why=f"{before!r} holds no keys")
    if int(part) >= len(place):
        raise OffscriptError(f"{key!r} cannot be set", why=f"{before!r} has {len(place)} entries, counted from 0")
    return range(int(part), int(part) + 1)


def _walked(location: tuple[int | str, ...], schema: type[BaseModel]) -> tuple[str, list[str]]:
    """A location as the user wrote it, and the keys that would have been right in its last place.

    Pydantic's locations also hold the chosen `kind` wherever the schema allows several.
    """
    path, known, allowed = "", list(schema.model_fields), [schema]
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        elif len(allowed) > 1:
            allowed = [one for one in allowed if part in _kinds_of(one)]
        else:
            path += f".{part}" if path else part
            known = list(allowed[0].model_fields) if allowed else []
            allowed = _models_in(allowed[0].model_fields[part].annotation) if part in known else []
    return path, known


def _kinds_of(schema: type[BaseModel]) -> tuple[Any, ...]:
    """The values of `kind` that choose a schema among several; a schema may also have none."""
    kind = schema.model_fields.get("kind")
    return () if kind is None else get_args(kind.annotation)


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    """The schemas that an annotation such as `list[Source]` or `A | B` holds."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for argument in get_args(annotation) for found in _models_in(argument)]
