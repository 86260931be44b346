"""Damage: by bytes, and by the structure of JSON, YAML, tables, markup, safetensors and other binary files."""

import json
import random
import re
import struct
from collections.abc import Callable, Sequence
from typing import Any

import yaml

PIECES = [
    *(b"", b"\0", b"\xff", b"\r", b"\n", b"\r\n", b"\t", b",", b'"', b"'", b"[", b"]", b"{", b"}", b"<", b"</", b">"),
    *(b"&", b"&#99999999999;", b"\\u", b"\\ud800", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"1e999", b"-0", b"NaN", b"null"),
    *(b"9" * 5000, b"-9223372036854775809", b"..", b"/", b"%s", b"$HOME", b"*", b"&a", b"*a", b"!!python/name:os.x"),
    *(b": ", b"- ", b"|", b"=", b"  ", "é\u0301\u202e\u2028".encode(), "😀".encode()),
]
NUMBERS = [0, 1, -1, 2, 127, 255, 256, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1]
LEAVES: list[Any] = [
    *(
        None,
        True,
        False,
        "",
        "a",
        " ",
        "\ud800",
        "a\0b",
        "\n",
        "x" * 3000,
        "0",
        "-1",
        "nan",
        "1e400",
        "../..",
        "[",
        "{}",
    ),
    *(*NUMBERS, -(2**63), 10**400, 0.5, -0.5, 1e308, -1e308, 5e-324, float("nan"), float("inf"), float("-inf")),
    *([], {}, [[]], [None], {"": None}, [1, "a"], {"a": {"a": {}}}, [0] * 100),
]
MOST_BYTES = 1 << 16
MOST_REPEATS = 20_000
STRUCTURED = 0.6  # of the inputs, where a structure is known


def mutated(
    content: bytes, structure: str, generator: random.Random, words: Sequence[str] = (), other: bytes = b""
) -> bytes:
    """The content with one to four changes; `other` is another input that parts may come from."""
    for _ in range(generator.choice((1, 1, 1, 2, 2, 3, 4))):
        change = STRUCTURES.get(structure)
        if change is not None and generator.random() < STRUCTURED:
            try:
                content = change(content, generator)
                continue
            except (ValueError, yaml.YAMLError, RecursionError, IndexError, struct.error):
                pass  # what an earlier change left has no such structure
        content = change_bytes(content, generator, words, other)
    return content[: max(MOST_BYTES, 2 * len(content) // 3)] if len(content) > 4 * MOST_BYTES else content


def change_bytes(content: bytes, generator: random.Random, words: Sequence[str] = (), other: bytes = b"") -> bytes:
    """One change that knows nothing of the structure."""
    start = generator.randint(0, len(content))
    length = generator.choice((0, 1, 1, 2, 4, 8, generator.randint(0, 64)))
    before, taken, after = content[:start], content[start : start + length], content[start + length :]
    kind = generator.random()
    if kind < 0.3:
        piece = generator.choice(PIECES)
        return before + (generator.choice(words).encode() if words and generator.random() < 0.6 else piece) + after
    if kind < 0.45:
        return before + after
    if kind < 0.55:
        return before + bytes(generator.randrange(256) for _ in range(max(1, length))) + after
    if kind < 0.65 and taken:
        return before + bytes([taken[0] ^ 1 << generator.randrange(8)]) + taken[1:] + after
    if kind < 0.75:
        return content[:start]
    if kind < 0.85:
        size = generator.choice((1, 2, 3, 8, 64))
        count = min(generator.choice((2, 2, 10, 1000, MOST_REPEATS)), MOST_BYTES // size)
        return before + content[start : start + size] * count + after
    if kind < 0.93:
        return before + other[generator.randint(0, len(other)) :][: generator.randint(1, 200)] + after
    return change_number(content, generator)


def change_number(content: bytes, generator: random.Random) -> bytes:
    """One number of 1 to 8 bytes replaced by one at an edge, mostly where such numbers stand: at multiples of 4."""
    size = generator.choice((1, 2, 4, 4, 8, 8))
    if len(content) < size:
        return content
    start = generator.randint(0, min(len(content) - size, generator.choice((64, 1024, len(content)))))
    start -= start % 4 if generator.random() < 0.7 else 0
    old = int.from_bytes(content[start : start + size], "little")
    number = generator.choice((*NUMBERS, old + 1, old - 1, 2 * old, old // 2, -old)) % (1 << 8 * size)
    return content[:start] + number.to_bytes(size, "little") + content[start + size :]


def change_tree(value: Any, generator: random.Random) -> Any:
    """A value with another one somewhere in it, or with a part gone, twice there or in another place."""
    if not isinstance(value, dict | list) or not value or generator.random() < 0.2:
        return generator.choice(LEAVES)
    if isinstance(value, list):
        return _change_list(value, generator)
    key = generator.choice(list(value))
    kind = generator.random()
    if kind < 0.12:
        return {name: each for name, each in value.items() if name != key}
    if kind < 0.2:
        return {**value, str(generator.choice(("", "a", key, "0"))) + generator.choice(("", "_")): value[key]}
    if kind < 0.3:
        return {**value, key: value[generator.choice(list(value))]}
    return {**value, key: change_tree(value[key], generator)}


def _change_list(values: list[Any], generator: random.Random) -> list[Any]:
    place, kind = generator.randrange(len(values)), generator.random()
    if kind < 0.12:
        return values[:place] + values[place + 1 :]
    if kind < 0.24:
        return values[:place] + [values[place]] * generator.choice((2, 2, 3, 50)) + values[place + 1 :]
    if kind < 0.3:
        return values[::-1]
    return [change_tree(each, generator) if index == place else each for index, each in enumerate(values)]


def _json(content: bytes, generator: random.Random) -> bytes:
    return json.dumps(change_tree(json.loads(content), generator)).encode()


def _json_lines(content: bytes, generator: random.Random) -> bytes:
    lines = content.splitlines()
    place = generator.randrange(len(lines))
    lines[place] = _json(lines[place], generator)
    if generator.random() < 0.1:
        lines.insert(place, lines[place])
    return b"\n".join(lines) + b"\n"


def _yaml(content: bytes, generator: random.Random) -> bytes:
    changed = change_tree(yaml.safe_load(content.decode("utf-8", "replace")), generator)
    if generator.random() < 0.5:
        return json.dumps(changed).encode()
    return str(yaml.safe_dump(changed, allow_unicode=True)).encode("utf-8", "surrogatepass")


def _table(separator: bytes) -> Callable[[bytes, random.Random], bytes]:
    def change(content: bytes, generator: random.Random) -> bytes:
        rows = [line.split(separator) for line in content.split(b"\n")]
        row = generator.choice(rows)
        place, kind = generator.randrange(len(row)), generator.random()
        if kind < 0.5:
            row[place] = generator.choice((*PIECES, str(generator.choice(LEAVES))[:200].encode("utf-8", "replace")))
        elif kind < 0.6:
            row.pop(place)
        elif kind < 0.7:
            row.insert(place, row[place])
        elif kind < 0.8:
            rows.insert(generator.randrange(len(rows)), list(row))
        elif kind < 0.9:
            for each in rows:  # a column that is gone
                del each[place : place + 1]
        else:
            generator.shuffle(rows)
        return b"\n".join(separator.join(each) for each in rows)

    return change


_MARKS = re.compile(rb"(<[^<>]{0,200}>|\{\{|\}\}|\[\[|\]\]|\{\||\|\}|&[#\w]{0,20};|''+|==+|\n)")


def _markup(content: bytes, generator: random.Random) -> bytes:
    parts = _MARKS.split(content)
    place, kind = generator.randrange(len(parts)), generator.random()
    other = generator.choice(parts)
    if kind < 0.3:
        parts.pop(place)
    elif kind < 0.6:
        parts.insert(place, other)
    elif kind < 0.8:
        parts[place] = other
    elif kind < 0.9:
        parts.insert(place, (other or b"<a>") * generator.choice((2, 10, 2000)))
    else:
        parts.insert(
            place, generator.choice((b'<!DOCTYPE a [<!ENTITY a "a">]>', b"<a b='", b"<!--", b"<![CDATA[", b"&a;"))
        )
    return b"".join(parts)


def _words(content: bytes, generator: random.Random) -> bytes:
    """Text of words and signs, such as `nucleus,p=0.9` or a command's arguments."""
    parts = re.split(rb"([^\w.-]+)", content)
    place, kind = generator.randrange(len(parts)), generator.random()
    if kind < 0.4:
        parts[place] = str(generator.choice(LEAVES))[:300].encode("utf-8", "replace")
    elif kind < 0.55:
        parts.pop(place)
    elif kind < 0.75:
        parts.insert(place, generator.choice(parts))
    else:
        parts[place] = generator.choice(PIECES)
    return b"".join(parts)


def _safetensors(content: bytes, generator: random.Random) -> bytes:
    """The header's JSON, its length, or a number among the data."""
    (size,) = struct.unpack_from("<Q", content)
    if size > len(content) - 8:
        raise ValueError("a header longer than the file")
    header, data = content[8 : 8 + size], content[8 + size :]
    kind = generator.random()
    if kind < 0.4:
        header = _json(header, generator)
        header += b" " * (-len(header) % 8)
        return struct.pack("<Q", len(header)) + header + data
    if kind < 0.45:
        return struct.pack("<Q", generator.choice(NUMBERS) % 2**64) + header + data
    return content[: 8 + size] + change_number(data, generator)


STRUCTURES: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "json": _json,
    "jsonl": _json_lines,
    "yaml": _yaml,
    "csv": _table(b","),
    "tsv": _table(b"\t"),
    "conllu": _table(b"\t"),
    "qrels": _table(b" "),
    "xml": _markup,
    "sgml": _markup,
    "html": _markup,
    "markup": _markup,
    "words": _words,
    "safetensors": _safetensors,
    "binary": change_number,
}
