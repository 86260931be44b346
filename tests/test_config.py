"""Configuration files: what is read, what is changed, and what a file that means harm is told."""

import contextlib
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from offscript._config import MAX_BYTES, MAX_DEPTH, MAX_VALUES, Section, change, checked, parse_yaml, read_mapping
from offscript.errors import OffscriptError


class Inner(Section):
    size: int = Field(1, ge=1)


class Outer(Section):
    inner: Inner = Inner()
    listed: list[Inner] = Field([])


def _refusal(text: str) -> str:
    with pytest.raises(OffscriptError) as caught:
        parse_yaml(text, "mine.yaml")
    message = str(caught.value)
    assert message.startswith("mine.yaml")
    assert "\n" not in message
    return message


def test_plain_values_are_read() -> None:
    text = "a: [1, 2.5, true, null, text]\nb: &shared {c: 'x'}\nd: *shared\ne: {<<: *shared, f: 3}\n"
    expected = {"a": [1, 2.5, True, None, "text"], "b": {"c": "x"}, "d": {"c": "x"}, "e": {"c": "x", "f": 3}}
    assert parse_yaml(text, "mine.yaml") == expected
    assert parse_yaml("", "mine.yaml") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2020-01-01\n", "line 2: 2020-01-01 is a date; put it in quotes"),
        ("b: 2020-01-01T10:00:00Z\n", "is a date; put it in quotes"),
        ("b: 2020-13-45\n", "is a date; put it in quotes"),
        ("a: !!binary aGVsbG8=\n", "line 1: aGVsbG8= is of a type not used here"),
        ("a: !!set {x, y}\n", "line 1: is of a type not used here"),
        ("a: !!omap [x: 1]\n", "is of a type not used here"),
        ("a: &a [1, *a]\n", "line 1 refers to itself"),
        ("a: &a {b: {c: *a}}\n", "refers to itself"),
        (f"a: {'[' * 1000}", f"line 1 is nested more than {MAX_DEPTH} levels deep"),
        ("".join(f"{' ' * n}k:\n" for n in range(100)), "levels deep"),
        (f"a: {'9' * 5000}", "line 1: a number has more than 100 digits"),
        (f"a: 1{':1' * 5000}", "line 1: a number has more than 100 digits"),
        ("a: 0b_\n", "a value cannot be read"),
        ("a: {[1]: 2}\n", "is not YAML"),
        ("a: !!python/object/apply:os.system [ls]\n", "is not YAML"),
        ("a: 1\n---\nb: 2\n", "is not YAML"),
        ("a: \x07\n", "is not YAML"),
        ("a: [\n", "is not YAML"),
    ],
)
def test_odd_documents_get_one_line(text: str, message: str) -> None:
    assert message in _refusal(text)


def test_aliases_cannot_multiply_without_end() -> None:
    levels = "".join(f"l{n + 1}: &l{n + 1} [{', '.join([f'*l{n}'] * 10)}]\n" for n in range(30))
    assert f"holds more than {MAX_VALUES:,} values" in _refusal(f"l0: &l0 [x]\n{levels}")
    merged = "".join(f"l{n + 1}: &l{n + 1} {{<<: [{', '.join([f'*l{n}'] * 10)}]}}\n" for n in range(30))
    assert f"holds more than {MAX_VALUES:,} values" in _refusal(f"l0: &l0 {{x: 1}}\n{merged}")


@given(st.text(alphabet="ab:-[]{}&*!<>|%@`'\"#,. \n\t0129_", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(OffscriptError):
        parse_yaml(text, "mine.yaml")


def test_files_that_cannot_be_read_get_one_line(tmp_path: Path) -> None:
    (tmp_path / "long.yaml").write_text("#" * (MAX_BYTES + 1))
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "list.yaml").write_text("[1]")
    for name, message in (
        ("long.yaml", "is longer than"),
        ("pipe", "is not a regular file"),
        ("a\0b", "cannot hold a null byte"),
        ("none.yaml", "no grid at"),
        ("list.yaml", "is not a grid; it is not a mapping"),
    ):
        with pytest.raises(OffscriptError, match=message):
            read_mapping(tmp_path / name, "grid")


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("a", {"a": 9, "b": [{"c": 1}, {"c": 2}]}),
        ("n.m", {"a": 0, "b": [{"c": 1}, {"c": 2}], "n": {"m": 9}}),
        ("b.1.c", {"a": 0, "b": [{"c": 1}, {"c": 9}]}),
        ("b.*.c", {"a": 0, "b": [{"c": 9}, {"c": 9}]}),
        ("b.0", {"a": 0, "b": [9, {"c": 2}]}),
        ("b.*", {"a": 0, "b": [9, 9]}),
    ],
)
def test_dotted_keys_reach_into_mappings_and_lists(key: str, expected: dict[str, Any]) -> None:
    content: dict[str, Any] = {"a": 0, "b": [{"c": 1}, {"c": 2}]}
    change(content, key, 9)
    assert content == expected


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("a.b", "'a.b' cannot be set; 'a' holds no keys"),
        ("b.c", "'b.c' cannot be set; 'b' holds no keys"),
        ("b.7", "'b.7' cannot be set; 'b' has 2 entries, counted from 0"),
        ("b.-1.c", "'b.-1.c' cannot be set"),
        ("b.0.c.d", "'b.0.c.d' cannot be set; 'c' holds no keys"),
    ],
)
def test_keys_that_lead_nowhere_are_refused(key: str, message: str) -> None:
    with pytest.raises(OffscriptError) as caught:
        change({"a": 0, "b": [{"c": 1}, {"c": 2}]}, key, 9)
    assert message in str(caught.value)


def test_a_schema_names_the_file_and_the_place() -> None:
    assert checked(Outer, {"inner": {"size": 3}}, "mine.yaml").inner.size == 3
    for content, message in (
        ({"iner": {}}, "mine.yaml: unknown key 'iner'; did you mean 'inner'?"),
        ({"listed": [{}, {"size": 0}]}, "mine.yaml: listed[1].size: Input should be greater than or equal to 1"),
        (3, "mine.yaml: Input should be a valid dictionary"),
    ):
        with pytest.raises(OffscriptError) as caught:
            checked(Outer, content, "mine.yaml")
        assert message in str(caught.value)


def test_a_key_of_many_levels_is_refused() -> None:
    content: dict[str, Any] = {}
    with pytest.raises(OffscriptError, match="levels deep"):
        change(content, "a." * 500 + "b", 1)
    assert content == {}
    change(content, "a.b.c", 1)
    assert content == {"a": {"b": {"c": 1}}}
