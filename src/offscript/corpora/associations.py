"""Context Association Tests in StereoSet's layout, and the scores that a system gave to their sentences."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, PlainValidator

from offscript._specification import nearest
from offscript.corpora.records import (
    FilledText,
    RecordError,
    Schema,
    checked,
    fault_at,
    is_hub,
    one_of,
    read_hub,
    read_json_value,
)
from offscript.errors import OffscriptError

TASKS = ("intrasentence", "intersentence")
LABELS = ("stereotype", "anti-stereotype", "unrelated")
BLANK = "BLANK"
_HINT = "check the name, or write hf:NAME for a Hub dataset"


@dataclass(frozen=True)
class Association:
    """A sentence that can be scored: the filled context, or what follows the context."""

    id: str
    sentence: str


@dataclass(frozen=True)
class AssociationTest:
    """One context about a target term with its stereotypical, anti-stereotypical and unrelated association (§4.2)."""

    id: str
    task: str
    domain: str
    target: str
    context: str
    stereotype: Association
    anti_stereotype: Association
    unrelated: Association

    @property
    def associations(self) -> tuple[Association, Association, Association]:
        """Stereotype, anti-stereotype, unrelated."""
        return self.stereotype, self.anti_stereotype, self.unrelated

    def fill(self, association: Association) -> str:
        """What an intrasentence association puts into the context's blank; letter case aside, the rest must agree."""
        parts = self.context.split(BLANK)
        rest, blanks = len(association.sentence) - sum(map(len, parts)), len(parts) - 1
        before, after, *more = map(re.escape, parts)
        # Knowing the fill's length, `re` need not try every one.
        pattern = f"{before}(?P<fill>.{{{rest // blanks}}}){after}" + "".join("(?P=fill)" + part for part in more)
        whole = rest >= blanks and rest % blanks == 0
        match = re.fullmatch(pattern, association.sentence, re.IGNORECASE | re.DOTALL) if whole else None
        if match is None:
            raise OffscriptError(
                f"{association.id}: {association.sentence!r} does not fill the blank of {self.context!r}",
                next="repeat the context's words around what fills the blank",
            )
        return match["fill"]


class SentenceRecord(Schema):
    """An association in StereoSet's layout."""

    id: FilledText
    sentence: FilledText
    gold_label: Annotated[str, one_of(LABELS)]


def _one_of_each(sentences: list[SentenceRecord]) -> list[SentenceRecord]:
    labels = [sentence.gold_label for sentence in sentences]
    for label in LABELS:
        if labels.count(label) != 1:
            raise RecordError(f"has {labels.count(label) or 'no'} sentences labelled {label!r} instead of one")
    return sentences


class ContextRecord(Schema):
    """A test in StereoSet's layout."""

    id: FilledText
    target: FilledText
    bias_type: FilledText
    context: FilledText
    sentences: Annotated[list[SentenceRecord], AfterValidator(_one_of_each)]

    def test(self, task: str) -> AssociationTest:
        """The test."""
        labelled = {each.gold_label: Association(each.id, each.sentence) for each in self.sentences}
        associations = (labelled[label] for label in LABELS)
        return AssociationTest(self.id, task, self.bias_type, self.target, self.context, *associations)


def _score(value: object) -> float:
    try:
        score = math.nan if isinstance(value, bool) or not isinstance(value, int | float) else float(value)
    except OverflowError:
        score = math.nan
    if math.isnan(score):
        raise RecordError(f"is {value!r}, not a number")
    return score


class PredictionRecord(Schema):
    """The score of a sentence in the authors' format."""

    id: FilledText
    score: Annotated[float, PlainValidator(_score)]


def read_association_tests(source: str | Path) -> list[AssociationTest]:
    """Tests of a JSON file in StereoSet's layout, plain or compressed, or of `hf:NAME[:CONFIG[:SPLIT]]`, checked.

    The layout is `{"data": {"intrasentence": […], "intersentence": […]}}`; either task may be missing.

    Args:
        source: The file or the Hub dataset.
    """
    if is_hub(source):
        rows = read_hub(str(source), configs=TASKS, split="validation")
        records = ((task, {**row, "sentences": _sentences_of_hub(row.get("sentences"))}) for task, row in rows)
        return _checked_tests(records, str(source))
    document = read_json_value(source, hint=_HINT)
    data = document.get("data") if isinstance(document, dict) else None
    if not isinstance(data, dict) or not data:
        raise OffscriptError(f"{source} is not in StereoSet's layout", why='it has no "data" with tests in it')
    for task in data:
        if task not in TASKS:
            raise OffscriptError(f"{source}: unknown task {task!r}", next=nearest(task, TASKS))
    return _checked_tests(
        ((task, record) for task in data for record in _listed(data[task], f"{source}: {task}")), str(source)
    )


def read_predictions(path: str | Path) -> dict[str, float]:
    """Scores by sentence id from a file in the authors' format: a list of `{"id", "score"}` per task.

    Args:
        path: The file, plain or compressed.
    """
    document = read_json_value(path)
    if not isinstance(document, dict) or not document:
        raise OffscriptError(f"{path} holds no predictions", next='write {"intrasentence": [{"id": …, "score": …}]}')
    scores: dict[str, float] = {}
    for task, records in document.items():
        for number, record in enumerate(_listed(records, f"{path}: {task}"), start=1):
            prediction = checked(PredictionRecord, record, fault_at(f"{path}: {task}, record {number}"))
            if prediction.id in scores:
                raise OffscriptError(f"{path}: {prediction.id} is scored twice", next="give one score per sentence")
            scores[prediction.id] = prediction.score
    return scores


def predictions_document(tests: Sequence[AssociationTest], scores: Mapping[str, float]) -> dict[str, Any]:
    """Scores in the authors' format, ready to be written as JSON."""
    return {
        task: [
            {"id": association.id, "score": scores[association.id]}
            for test in tests
            if test.task == task
            for association in test.associations
        ]
        for task in TASKS
    }


def _listed(records: Any, place: str) -> list[Any]:
    if not isinstance(records, list):
        raise OffscriptError(f"{place} is not a list but {type(records).__name__}", next="give a list of records")
    return records


def _checked_tests(records: Iterable[tuple[str, Any]], source: str) -> list[AssociationTest]:
    tests, seen = [], set[str]()
    for number, (task, record) in enumerate(records, start=1):
        id = record.get("id") if isinstance(record, dict) else None
        place = f"{source}: {id}" if id and isinstance(id, str) else f"{source}, test {number}"
        test = checked(ContextRecord, record, fault_at(place)).test(task)
        if task == "intrasentence" and BLANK not in test.context:
            hint = f"write {BLANK} where the associations differ"
            raise OffscriptError(f"{place}: the context has no {BLANK}", next=hint)
        for name in (test.id, *(association.id for association in test.associations)):
            if name in seen:
                hint = "give every test and sentence its own"
                raise OffscriptError(f"{source}: {name}: the id stands twice", next=hint)
            seen.add(name)
        tests.append(test)
    if not tests:
        raise OffscriptError(f"{source} holds no test", next="check its name and layout")
    return tests


def _sentences_of_hub(sentences: Any) -> Any:
    """The Hub keeps columns instead of records, and the place of a label in an alphabetical list for its name."""
    if isinstance(sentences, dict):
        sentences = [dict(zip(sentences, values, strict=True)) for values in zip(*sentences.values(), strict=True)]
    if not isinstance(sentences, list):
        return sentences
    alphabetical = sorted(LABELS)
    return [{**entry, "gold_label": _label_name(entry.get("gold_label"), alphabetical)} for entry in sentences]


def _label_name(label: Any, names: Sequence[str]) -> Any:
    return names[label] if isinstance(label, int) and 0 <= label < len(names) else label
