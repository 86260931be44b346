"""The changes that can be made to a module, and the changed code."""

import ast
import functools
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

from mutants import SOURCE

_SWAPS: dict[type[ast.AST], tuple[type[ast.AST], str]] = {
    ast.Lt: (ast.LtE, "< to <="),
    ast.LtE: (ast.Lt, "<= to <"),
    ast.Gt: (ast.GtE, "> to >="),
    ast.GtE: (ast.Gt, ">= to >"),
    ast.Eq: (ast.NotEq, "== to !="),
    ast.NotEq: (ast.Eq, "!= to =="),
    ast.Add: (ast.Sub, "+ to -"),
    ast.Sub: (ast.Add, "- to +"),
    ast.Mult: (ast.Div, "* to /"),
    ast.Div: (ast.Mult, "/ to *"),
    ast.FloorDiv: (ast.Mult, "// to *"),
    ast.Mod: (ast.Mult, "% to *"),
    ast.Pow: (ast.Mult, "** to *"),
    ast.And: (ast.Or, "and to or"),
    ast.Or: (ast.And, "or to and"),
    ast.Is: (ast.IsNot, "is to is not"),
    ast.IsNot: (ast.Is, "is not to is"),
    ast.In: (ast.NotIn, "in to not in"),
    ast.NotIn: (ast.In, "not in to in"),
    ast.BitAnd: (ast.BitOr, "& to |"),
    ast.BitOr: (ast.BitAnd, "| to &"),
}
_COMPILED = ("compiled", "elementwise", "summing")  # machine code is made anew only when the module is imported
_AMOUNTS = ("AT_ONCE", "ELEMENTS", "_CHUNK", "_PIECE")
_GUARDS = ("strict", "frozen", "maxsize")
_LOOKS = ("opacity", "size", "dx", "dy", "strokeDash", "strokeWidth", "fontWeight", "labelAngle", "symbolOpacity")


@dataclass(frozen=True)
class Mutant:
    """One change: the number of the place among those of the module.

    Attributes:
        path: The module's file.
        place: Which of the module's places is changed.
        line: Of that place.
        change: What becomes of it.
        text: The line as it stands.
        function: The first line of the innermost function around it; 0 where the module or a class is, or where the
            function becomes machine code: then the module must be imported anew.
    """

    path: Path
    place: int
    line: int
    change: str
    text: str
    function: int

    @property
    def key(self) -> str:
        """What names it across runs: it stays as long as the line does."""
        return f"{self.path.relative_to(SOURCE / 'offscript')}: {self.text} [{self.change}]"

    @property
    def module(self) -> str:
        """The dotted name of the module."""
        parts = self.path.relative_to(SOURCE).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def code(self) -> CodeType:
        """The changed module, compiled."""
        tree = ast.parse(self.path.read_text(encoding="utf-8"))
        for place, (_, _, apply, _) in enumerate(_places(tree)):
            if place == self.place:
                apply()
                break
        for node in ast.walk(tree):
            if isinstance(node, ast.UnaryOp) and isinstance(node.op, _Same):
                node.op, node.operand = ast.Not(), ast.UnaryOp(ast.Not(), node.operand)
        return compile(ast.fix_missing_locations(tree), str(self.path), "exec")


def mutants_of(path: Path) -> list[Mutant]:
    """Every change of a module."""
    text = path.read_text(encoding="utf-8")
    lines, seen, mutants = text.splitlines(), Counter[str](), []
    for place, (line, function, _, change) in enumerate(_places(ast.parse(text))):
        told = " ".join(lines[line - 1].split())
        seen[f"{told} {change}"] += 1
        number = seen[f"{told} {change}"]
        mutants.append(Mutant(path, place, line, change if number == 1 else f"{change}, {number}", told, function))
    return mutants


def _places(tree: ast.Module) -> Iterator[tuple[int, int, Callable[[], object], str]]:
    """Line, line of the function, what changes the tree there, and the change; always in the same order."""
    for node, function in _code(tree, 0):
        if isinstance(node, ast.Compare):
            for index, operator in enumerate(node.ops):
                other, change = _SWAPS[type(operator)]
                yield node.lineno, function, functools.partial(node.ops.__setitem__, index, other()), change
        elif isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in _SWAPS:
            other, change = _SWAPS[type(node.op)]
            yield node.lineno, function, functools.partial(setattr, node, "op", other()), change
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
            sign = "not x to x" if isinstance(node.op, ast.Not) else "-x to x"
            replaced = ast.UAdd() if sign[0] == "-" else _Same()
            yield node.lineno, function, functools.partial(setattr, node, "op", replaced), sign
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
            other = not node.value if isinstance(node.value, bool) else node.value + 1
            yield (
                node.lineno,
                function,
                functools.partial(setattr, node, "value", other),
                f"{node.value} to {other}",
            )


class _Same(ast.Not):
    """Twice not: the truth of what follows."""


def _code(node: ast.AST, function: int) -> Iterator[tuple[ast.AST, int]]:
    """All nodes that tests should notice a change of, each with the function that it stands in (see `mutants`)."""
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert):
        return
    if isinstance(node, ast.keyword) and node.arg in ("dim", "axis") and isinstance(node.value, ast.UnaryOp):
        yield node.value.operand, function  # the number, not its sign
        return
    yield node, function
    for name, child in _children(node):
        within = function
        if name == "body" and isinstance(node, ast.FunctionDef):
            within = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if any(ast.unparse(decorator) in _COMPILED for decorator in node.decorator_list):
                within = 0
        yield from _code(child, within)


def _children(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """What a node is made of, without annotations, guards, amounts and looks, and the name of the field."""
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        yield from (("values", part) for key, part in pairs if not (_is_look(key) and _is_number(part)))
    elif isinstance(node, ast.arguments):
        yield from (("defaults", default) for name, default in _defaults(node) if name != "batch_size")
    elif not _is_guard_or_amount(node):
        for name, value in ast.iter_fields(node):
            if name not in ("annotation", "returns", "type_params"):
                children = value if isinstance(value, list) else [value]
                yield from ((name, child) for child in children if isinstance(child, ast.AST))


def _is_look(key: ast.AST | None) -> bool:
    return isinstance(key, ast.Constant) and key.value in _LOOKS


def _is_guard_or_amount(node: ast.AST) -> bool:
    if isinstance(node, ast.Assign):
        return ast.unparse(node.targets[0]).endswith(_AMOUNTS)
    return isinstance(node, ast.keyword) and node.arg in _GUARDS


def _defaults(node: ast.arguments) -> Iterator[tuple[str, ast.AST]]:
    """Arguments that have a default, and the default."""
    placed = [*node.posonlyargs, *node.args]
    pairs = [*zip(placed[len(placed) - len(node.defaults) :], node.defaults, strict=True)]
    pairs += [(name, default) for name, default in zip(node.kwonlyargs, node.kw_defaults, strict=True) if default]
    return ((argument.arg, default) for argument, default in pairs)


def _is_number(node: ast.AST) -> bool:
    """Whether a value is a number, or a list of numbers."""
    parts = node.elts if isinstance(node, ast.List) else [node]
    return all(isinstance(part.operand if isinstance(part, ast.UnaryOp) else part, ast.Constant) for part in parts)
