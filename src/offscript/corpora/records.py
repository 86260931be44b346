"""Records of files: JSON documents, JSON lines and tables, each checked against a schema.

A schema is a small pydantic model that says what one kind of file holds. Whatever is wrong with a file, its reader
raises one OffscriptError that names the file, the line and the field.
"""

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, PlainValidator, ValidationError

from offscript._specification import nearest
from offscript.corpora.lines import Lines, check_file
from offscript.errors import OffscriptError, missing_package

HUB_PREFIX = "hf:"
Record = dict[str, Any]
Fault = Callable[..., OffscriptError]
"""Makes an error from `what`, `why` and `next`; it adds the place."""

_TYPES = {
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
}
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,18}")
_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")


class Schema(BaseModel):
    """What one record of a kind of file holds; fields that it does not name are ignored.

    Attributes:
        noun: What a record is, such as "a query"; errors then begin with "not a query".
        hint: What to do about a record that is none.
    """

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")
    noun: ClassVar[str] = ""
    hint: ClassVar[str] = ""


S = TypeVar("S", bound=Schema)


class RecordError(ValueError):
    """What is wrong with a record, phrased to follow its place, and how to mend it."""

    def __init__(self, what: str, why: str = "", hint: str = "", line: int = 0) -> None:
        super().__init__(what)
        self.what, self.why, self.hint, self.line = what, why, hint, line


def _identifier(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _not_empty(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty")
    return text


def whole_number(value: object) -> int:
    """A whole number of at most 18 digits, also one written as text; a ValueError says that it is none."""
    if isinstance(value, bool) or not isinstance(value, int | str) or not _WHOLE_NUMBER.fullmatch(str(value).strip()):
        raise ValueError("is not a whole number")
    return int(value)


def _whole_numbers(value: object) -> list[int]:
    parts = value.strip("[] ").replace(",", " ").split() if isinstance(value, str) else value
    if not isinstance(parts, list):
        raise RecordError(f"is not a list but {type(value).__name__}")
    return [whole_number(part) for part in parts]


def _texts(value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise RecordError("is not a list of texts")
    return value


# Lists are checked at once: pydantic would collect an error for every element that is wrong.
Identifier = Annotated[str, BeforeValidator(_identifier), AfterValidator(_not_empty)]
"""A name: text that is not empty, or a whole number."""
FilledText = Annotated[str, AfterValidator(_not_empty)]
"""Text that is not blank."""
Texts = Annotated[list[str], PlainValidator(_texts)]
"""A list of texts."""
WholeNumbers = Annotated[list[int], PlainValidator(_whole_numbers)]
"""Whole numbers, also as a printed array such as `[2 5]`."""


def one_of(choices: Mapping[str, Any] | Iterable[str], convert: Callable[[str], str] = str) -> BeforeValidator:
    """A validator for text that must be one of the choices.

    Args:
        choices: The choices; of a mapping the validator gives the value.
        convert: Applied to the text first, such as `str.lower`.
    """
    known = choices if isinstance(choices, Mapping) else {choice: choice for choice in choices}

    def chosen(value: object) -> Any:
        if not isinstance(value, str | bool):
            raise RecordError(f"is not text but {type(value).__name__}")
        if (text := convert(str(value))) not in known:
            raise RecordError(f"is {value!r}; {nearest(text, filter(None, known))}")
        return known[text]

    return BeforeValidator(chosen)


def checked(schema: type[S], record: object, fault: Fault) -> S:
    """A record as its schema.

    Args:
        schema: What the record must hold.
        record: The parsed record.
        fault: Makes the error, such as `Lines.fault`.
    """
    try:
        return schema.model_validate(record)
    except ValidationError as error:
        wrong = _first_fault(error, record)
    raise _named(schema, fault, wrong)


def fault_at(place: str) -> Fault:
    """Makes errors for a place that is not a line of a file."""
    return lambda what, **rest: OffscriptError(f"{place}: {what}", **rest)


def read_json(path: Path | str, schema: type[S], *, hint: str = "check the name") -> S:
    """A whole JSON document, plain or compressed.

    Args:
        path: The file.
        schema: What the document must hold.
        hint: What to do if there is no such file.

    Returns:
        The document as the schema's object.
    """
    return checked(schema, read_json_value(path, hint=hint, schema=schema), fault_at(str(path)))


def read_json_value(path: Path | str, *, hint: str = "check the name", schema: type[Schema] = Schema) -> Any:
    """A whole JSON document of any layout; errors call it what the schema does. See `read_json`."""
    try:
        return _parsed(Lines(check_file(Path(path), hint)).whole())
    except RecordError as error:
        place = f"{path}, line {error.line}" if error.line else str(path)
        raise _named(schema, fault_at(place), error) from error


def read_json_list(path: Path | str, schema: type[S]) -> list[S]:
    """The records of a JSON document that is a list of them, plain or compressed."""
    records = read_json_value(path)
    if not isinstance(records, list):
        raise OffscriptError(f"{path}: not a list but {type(records).__name__}", next="give a list of records")
    return [checked(schema, record, fault_at(f"{path}, record {n}")) for n, record in enumerate(records, start=1)]


def read_objects(lines: Lines, schema: type[Schema] = Schema) -> Iterator[Record]:
    """The JSON objects of a file with one per line, as they are; blank lines are left out."""
    for line in lines:
        if line.strip():
            try:
                yield _object(line)
            except RecordError as error:
                raise _named(schema, lines.fault, error) from error


def read_records(lines: Lines, schema: type[S], *, unique: str = "") -> Iterator[S]:
    """The records of a file with one JSON object per line; blank lines are left out.

    Args:
        lines: The file.
        schema: What every record must hold.
        unique: A field whose value no two records may share.

    Returns:
        One object per line.
    """
    return _validated(read_objects(lines, schema), lines, schema, unique)


def read_rows(
    lines: Lines, schema: type[S], *, delimiter: str = ",", quoted: bool = True, unique: str = ""
) -> Iterator[S]:
    """The rows of a table under its header.

    Args:
        lines: The file.
        schema: The columns that the table must have and what they hold; others are ignored.
        delimiter: What divides the values of a row.
        quoted: Whether values may stand in quotation marks; else these are characters like others.
        unique: A field whose value no two rows may share.

    Returns:
        One object per row.
    """
    rows = table_rows(lines, delimiter=delimiter, quoted=quoted)
    header = next(rows, [])
    required = [field.alias or name for name, field in schema.model_fields.items() if field.is_required()]
    for name in required:
        if header.count(name) != 1:
            what = f"two columns {name!r}" if name in header else f"no column {name!r}"
            raise lines.fault(what, next=f"begin with {delimiter.join(required)}")
    return _validated((dict(zip(header, row, strict=True)) for row in rows), lines, schema, unique)


def _validated(records: Iterable[Record], lines: Lines, schema: type[S], unique: str) -> Iterator[S]:
    """Records as their schema; no two with the same value in the field `unique`."""
    first: dict[Hashable, int] = {}
    for each in records:
        record = checked(schema, each, lines.fault)
        if unique:
            value = getattr(record, unique)
            if (line := first.setdefault(value, lines.number)) != lines.number:
                what = f"{unique} {value!r} is given twice, first on line {line}"
                raise lines.fault(what, next=f"give every {unique} once")
        yield record


def table_rows(lines: Lines, *, delimiter: str = ",", quoted: bool = True) -> Iterator[list[str]]:
    """The rows of a table, its header first; values in quotation marks may span lines, blank rows are left out."""
    feed = _RowFeed(lines)
    rows = csv.reader(feed, delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE, strict=True)
    width = 0
    while (row := feed.next_row(rows)) is not None:
        if not row:
            continue
        width = width or len(row)
        if len(row) != width:
            raise lines.fault(f"{len(row)} values under {width} columns", next="quote values that hold the separator")
        yield row


class _RowFeed:
    """Lines for `csv.reader`, which would take in a quote that is never closed to the end of the file."""

    def __init__(self, lines: Lines) -> None:
        self._lines, self._texts = lines, iter(lines)
        self._taken = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._texts)
        self._taken += len(line)
        if self._taken > self._lines.max_line_bytes:
            most = self._lines.max_line_bytes
            raise self._lines.fault(f"a row longer than {most:,} characters", next="close the quote")
        return line

    def next_row(self, rows: Iterator[list[str]]) -> list[str] | None:
        """The next row, or None at the end."""
        self._taken, first = 0, self._lines.number + 1
        try:
            return next(rows, None)
        except csv.Error as error:
            what = f"not valid CSV in the row from line {first}"
            raise self._lines.fault(what, why=str(error), next="close the quote") from error


def is_hub(source: Path | str) -> bool:
    """Whether a source names a Hub dataset."""
    return isinstance(source, str) and source.startswith(HUB_PREFIX)


def read_hub(source: str, *, configs: Sequence[str] = (), split: str = "train") -> Iterator[tuple[str, Record]]:
    """The records of `hf:NAME[:CONFIG[:SPLIT]]`, streamed; before each its configuration.

    Args:
        source: The dataset.
        configs: The configurations there may be; without a CONFIG all of them are read.
        split: What to read without a SPLIT.
    """
    name, config, part, *rest = (*source.removeprefix(HUB_PREFIX).split(":"), "", "")
    if not name or any(rest):
        raise OffscriptError(f"{source!r} names no dataset", next="write hf:NAME[:CONFIG[:SPLIT]]")
    if config and configs and config not in configs:
        raise OffscriptError(f"{source!r} asks for {config!r}", next=nearest(config, configs))
    try:
        import datasets
    except ImportError as error:
        raise missing_package(source, "datasets", extra="datasets") from error

    def records() -> Iterator[tuple[str, Record]]:
        try:
            for each in [config] if config else configs or [""]:
                for record in datasets.load_dataset(name, each or None, split=part or split, streaming=True):
                    yield each, dict(record)
        except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
            raise OffscriptError(
                f"{source} cannot be read", why=str(error), next="check its name, config, split and network"
            ) from error

    return records()


def text_field(record: Mapping[str, Any], field: str, fault: Fault) -> str:
    """The text of one field of a record whose other fields do not matter."""
    if field not in record:
        raise fault(f"no field {field!r}", next=nearest(field, record) if record else "")
    text = record[field]
    if not isinstance(text, str):
        raise fault(f"field {field!r} is not text but {type(text).__name__}")
    return text


def _object(line: str) -> Record:
    record = _parsed(line)
    if not isinstance(record, dict):
        raise RecordError(f"not a JSON object but {type(record).__name__}", hint="write one JSON object per line")
    return record


def _parsed(text: str) -> Any:
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        where = f"{error.msg.removesuffix(' at')} at column {error.colno}"
        raise RecordError("not valid JSON", where, line=error.lineno) from error
    except RecursionError as error:
        raise RecordError("not valid JSON", "it is nested too deeply") from error
    except RecordError:
        raise
    except ValueError as error:
        raise RecordError("not valid JSON", str(error)) from error
    if _HALF_CHARACTER.search(text):
        _check_characters(value)
    return value


def _distinct(pairs: list[tuple[str, Any]]) -> Record:
    record = dict(pairs)
    if len(record) < len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise RecordError(f"field {twice!r} is given twice", hint="keep one")
    return record


def _check_characters(value: Any) -> None:
    """Half of a surrogate pair is no character: it could not be written down again."""
    for name, part in value.items() if isinstance(value, dict) else [("", value)]:
        try:
            json.dumps([name, part], ensure_ascii=False).encode()
        except (UnicodeEncodeError, RecursionError) as error:
            what = f"field {name!r}" if name else "the text"
            raise RecordError(f"{what} holds half a character", "a surrogate stands alone") from error


def _first_fault(error: ValidationError, record: object) -> RecordError:
    """The first thing wrong with a record, and a hint."""
    fault = error.errors(include_url=False, include_context=False)[0]
    place = fault["loc"]
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).removeprefix(".")
    if fault["type"] == "missing":
        near = nearest(str(place[-1]), record) if len(place) == 1 and isinstance(record, dict) and record else ""
        return RecordError(f"no field {path!r}", hint=near)
    subject = f"field {path!r} " if path else ""
    if (type_name := _TYPES.get(fault["type"])) is not None:
        verb = "is " if path else ""
        return RecordError(f"{subject}{verb}not {type_name} but {type(fault['input']).__name__}")
    return RecordError(subject + fault["msg"].removeprefix("Value error, "))


def _named(schema: type[Schema], fault: Fault, error: RecordError) -> OffscriptError:
    """The error for a record, under what the schema calls one."""
    if not schema.noun:
        return fault(error.what, why=error.why, next=error.hint)
    why = f"{error.what}, {error.why}" if error.why else error.what
    return fault(f"not {schema.noun}", why=why, next=error.hint or schema.hint)


_DECODER = json.JSONDecoder(object_pairs_hook=_distinct)
