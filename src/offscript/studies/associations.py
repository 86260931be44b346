"""Association tests written and validated by people (sections 4.4.2 and 4.4.3), in StereoSet's layout when they pass.

A writer gets a target term and writes a context with a stereotypical, an anti-stereotypical and a meaningless
association. Five validators classify each association without knowing what it was written as; a test is kept where at
least three of them see every association as its writer did.
"""

import re
import sqlite3
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from offscript.corpora.associations import BLANK, LABELS, TASKS, read_association_tests
from offscript.corpora.lines import Lines, kind_of
from offscript.corpora.records import FilledText, Schema, read_rows
from offscript.errors import OffscriptError
from offscript.studies.design import StudyDesign, new_secret, write_study
from offscript.studies.store import _PARTICIPANTS, Database

SHORTEST, LONGEST = 3, 50
"""Words of a sentence; StereoSet's have 8 on average, its contexts with what follows 16 (Table 4.1)."""
MOST_CHARACTERS = 400
WRITE, VALIDATE = "write", "validate"

_TABLES = """
CREATE TABLE IF NOT EXISTS targets (
    number INTEGER PRIMARY KEY, term TEXT NOT NULL, domain TEXT NOT NULL, task TEXT NOT NULL,
    UNIQUE (term, domain, task)
);
CREATE TABLE IF NOT EXISTS tests (
    id TEXT PRIMARY KEY,
    code TEXT NOT NULL REFERENCES participants(code) ON DELETE CASCADE,
    target INTEGER NOT NULL REFERENCES targets(number),
    context TEXT NOT NULL, stereotype TEXT NOT NULL, anti_stereotype TEXT NOT NULL, meaningless TEXT NOT NULL,
    UNIQUE (code, target)
);
CREATE TABLE IF NOT EXISTS validations (
    code TEXT NOT NULL REFERENCES participants(code) ON DELETE CASCADE,
    test TEXT NOT NULL REFERENCES tests(id) ON DELETE CASCADE,
    label TEXT NOT NULL, judged TEXT NOT NULL,
    PRIMARY KEY (code, test, label)
)
"""


class TargetRow(Schema):
    """A target term of a table."""

    noun: ClassVar[str] = "a target term"

    term: FilledText
    domain: FilledText


class Target(NamedTuple):
    """A term to write about."""

    number: int
    term: str
    domain: str
    task: str


@dataclass(frozen=True)
class Written:
    """What a writer wrote; of an intrasentence test the associations are the words for the blank."""

    id: str
    target: Target
    context: str
    associations: Mapping[str, str]

    def sentence(self, label: str) -> str:
        """The sentence that is scored."""
        word = self.associations[label]
        return self.context.replace(BLANK, word) if self.target.task == TASKS[0] else word


def read_targets(source: str | Path) -> list[tuple[str, str]]:
    """(term, domain) pairs: the targets of tests in StereoSet's layout, or a CSV file with the columns term and domain.

    Args:
        source: The file.
    """
    path = Path(source)
    if kind_of(path) in (".csv", ".tsv"):
        rows = read_rows(Lines(path), TargetRow, delimiter="\t" if kind_of(path) == ".tsv" else ",")
        return list(dict.fromkeys((row.term.strip(), row.domain.strip()) for row in rows))
    return list(dict.fromkeys((test.target, test.domain) for test in read_association_tests(source)))


def create_association_study(
    folder: Path,
    targets: Sequence[tuple[str, str]],
    *,
    tasks: Sequence[str] = TASKS,
    title: str = "Association tests",
    contact: str = "",
    per_participant: int = 5,
    validators: int = 5,
    agreeing: int = 3,
    recipe: Mapping[str, Any] | None = None,
) -> "AssociationStore":
    """A new study of association tests.

    Args:
        folder: Where to write it.
        targets: Terms with their domains.
        tasks: Which kinds of tests are written for each term.
        title: Shown to participants.
        contact: Whom they can ask.
        per_participant: Tests that one person writes, or validates.
        validators: How many classify each test.
        agreeing: How many of them must see every association as it was written.
        recipe: What the terms were read from.

    Returns:
        The study's store.
    """
    if agreeing > validators:
        raise OffscriptError(f"{agreeing} of {validators} validators cannot agree", next="give fewer --agreeing")
    design = StudyDesign(
        kind="associations",
        title=title,
        owner=new_secret(),
        contact=contact,
        per_participant=per_participant,
        ratings_per_item=validators,
        agreeing=agreeing,
        recipe=dict(recipe or {}),
    )
    write_study(folder, design, [])
    store = AssociationStore(folder)
    with store.changing() as database:
        for term, domain in targets:
            for task in tasks:
                values = (term, domain, task)
                database.execute("INSERT OR IGNORE INTO targets (term, domain, task) VALUES (?, ?, ?)", values)
    return store


def check_test(target: Target, context: str, associations: Mapping[str, str]) -> list[str]:
    """What is wrong with a test as it was written; nothing if it can be used.

    Args:
        target: The term it must be about, and the kind of test.
        context: The sentence about the term, with a blank for an intrasentence test.
        associations: By label.

    Returns:
        Sentences that tell a writer what to change.
    """
    faults = []
    blanks = context.count(BLANK)
    if target.task == TASKS[0] and blanks != 1:
        faults.append(f"Write {BLANK} once in the sentence, where the three words differ.")
    if target.task == TASKS[1] and blanks:
        faults.append(f"Leave {BLANK} out: this sentence has no gap.")
    if not re.search(rf"(?<!\w){re.escape(target.term)}(s|es)?(?!\w)", context, re.IGNORECASE):
        faults.append(f"Use the term “{target.term}” in the sentence.")
    faults += _length_faults("The sentence", context, SHORTEST)
    least, noun = (1, "word") if target.task == TASKS[0] else (SHORTEST, "sentence")
    for label in LABELS:
        faults += _length_faults(f"The {NAMES[label]} {noun}", associations[label], least)
    if len({_plain(text) for text in associations.values()}) < len(LABELS):
        faults.append(f"Write three different {noun}s.")
    if target.task == TASKS[0] and any(len(text.split()) > 3 for text in associations.values()):
        faults.append("Fill the gap with one word, three at most.")
    return faults


NAMES = {"stereotype": "stereotypical", "anti-stereotype": "anti-stereotypical", "unrelated": "meaningless"}


def clean(text: str) -> str:
    """What somebody typed, on one line, without control characters and cut to what a sentence can be."""
    visible = "".join(
        " " if unicodedata.category(letter)[0] == "C" else letter for letter in text[: 4 * MOST_CHARACTERS]
    )
    return " ".join(visible.split())


def _length_faults(name: str, text: str, least: int) -> list[str]:
    words = len(text.split())
    if words < least:
        return [f"{name} needs at least {least} word{'s' if least > 1 else ''}."]
    if words > LONGEST or len(text) > MOST_CHARACTERS:
        return [f"{name} is too long: at most {LONGEST} words and {MOST_CHARACTERS} characters."]
    return []


def _plain(text: str) -> str:
    return re.sub(r"\W+", " ", text.lower()).strip()


class AssociationStore(Database):
    """Gives out target terms, keeps what is written, gives it to validators, and says what is kept."""

    tables = _PARTICIPANTS + _TABLES

    def consent(self, code: str) -> None:
        """A participant agrees to take part."""
        with self.changing() as database:
            changed = database.execute("UPDATE participants SET consented = 1 WHERE code = ?", (code,)).rowcount
        if not changed:
            raise OffscriptError("this link is not known", next="ask whoever sent it to you")

    def written_by(self, code: str) -> int:
        """How many tests a participant wrote."""
        return int(self.rows("SELECT COUNT(*) FROM tests WHERE code = ?", code)[0][0])

    def validated_by(self, code: str) -> int:
        """How many tests a participant validated."""
        return int(self.rows("SELECT COUNT(DISTINCT test) FROM validations WHERE code = ?", code)[0][0])

    def next_target(self, code: str) -> Target | None:
        """The term to write about: of those with the fewest tests, one that depends on the code; None when done."""
        if self.written_by(code) >= self.design.per_participant:
            return None
        query = """
            SELECT number, term, domain, task, (SELECT COUNT(*) FROM tests WHERE target = number) AS n FROM targets
            WHERE number NOT IN (SELECT target FROM tests WHERE code = ?) ORDER BY n, number
        """
        rows = self.rows(query, code)
        fewest = [Target(*row[:4]) for row in rows if row[4] == rows[0][4]]
        return fewest[hash_of(code) % len(fewest)] if fewest else None

    def write(self, code: str, number: int, context: str, associations: Mapping[str, str]) -> list[str]:
        """Keep a test; returns what is wrong with it, and keeps it only where nothing is."""
        rows = self.rows("SELECT number, term, domain, task FROM targets WHERE number = ?", number)
        if not rows or self.role(code) != WRITE:
            raise OffscriptError("this term is not yours to write about", next="reload the page")
        target, context = Target(*rows[0]), clean(context)
        texts = {label: clean(associations.get(label, "")) for label in LABELS}
        faults = check_test(target, context, texts)
        if not faults:
            with self.changing() as database:
                values = (new_secret(), code, number, context, *(texts[label] for label in LABELS))
                database.execute("INSERT OR IGNORE INTO tests VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        return faults

    def next_test(self, code: str) -> Written | None:
        """A test to validate, by another person and with validators missing: those with the most so far come first."""
        if self.validated_by(code) >= self.design.per_participant:
            return None
        query = """
            SELECT id, (SELECT COUNT(DISTINCT code) FROM validations WHERE test = id) AS n FROM tests
            WHERE code != ? AND n < ? AND id NOT IN (SELECT test FROM validations WHERE code = ?)
            ORDER BY n DESC, rowid
        """
        rows = self.rows(query, code, self.design.ratings_per_item, code)
        return self.tests(rows[0][0])[0] if rows else None

    def order(self, code: str, test: str) -> list[str]:
        """The labels in the order in which a validator sees them: always the same for them, and not telling."""
        return sorted(LABELS, key=lambda label: hash_of(f"{code}/{test}/{label}"))

    def validate(self, code: str, test: str, judged: Mapping[str, str]) -> bool:
        """Keep a validator's labels of all three associations, by the label each was written as; the first count."""
        if set(judged) != set(LABELS) or not set(judged.values()) <= set(LABELS):
            raise OffscriptError("classify each of the three", next="choose one answer for each")
        with self.changing() as database:
            row = database.execute("SELECT code FROM tests WHERE id = ?", (test,)).fetchone()
            if row is None or row[0] == code or self.role(code) != VALIDATE:
                raise OffscriptError("this test is not yours to validate", next="reload the page")
            if self._full(database, code, test):
                return False
            added = 0
            for label, answer in judged.items():
                values = (code, test, label, answer)
                added += database.execute("INSERT OR IGNORE INTO validations VALUES (?, ?, ?, ?)", values).rowcount
            return bool(added)

    def _full(self, database: sqlite3.Connection, code: str, test: str) -> bool:
        query = "SELECT COUNT(DISTINCT code) FROM validations WHERE test = ? AND code != ?"
        return bool(database.execute(query, (test, code)).fetchone()[0] >= self.design.ratings_per_item)

    def tests(self, id: str | None = None) -> list[Written]:
        """What was written."""
        query = """
            SELECT id, number, term, domain, task, context, stereotype, anti_stereotype, meaningless
            FROM tests JOIN targets ON target = number WHERE ? IS NULL OR id = ? ORDER BY tests.rowid
        """
        return [
            Written(row[0], Target(*row[1:5]), row[5], dict(zip(LABELS, row[6:], strict=True)))
            for row in self.rows(query, id, id)
        ]

    def judgements(self) -> dict[str, dict[str, Counter[str]]]:
        """By test and by the label it was written as: how often validators saw which label."""
        counted: dict[str, dict[str, Counter[str]]] = {}
        for test, label, judged in self.rows("SELECT test, label, judged FROM validations"):
            counted.setdefault(test, {name: Counter() for name in LABELS})[label][judged] += 1
        return counted

    def accepted(self) -> dict[str, bool]:
        """For each test with all its validators, whether enough of them see every association as it was written."""
        return {
            test: all(labels[label][label] >= self.design.agreeing for label in LABELS)
            for test, labels in self.judgements().items()
            if min(sum(each.values()) for each in labels.values()) >= self.design.ratings_per_item
        }

    def acceptance(self) -> list[dict[str, Any]]:
        """By domain and task: how many tests were written, validated in full, and kept."""
        accepted = self.accepted()
        rows: dict[tuple[str, str], Counter[str]] = {}
        for test in self.tests():
            row = rows.setdefault((test.target.domain, test.target.task), Counter[str]())
            row["written"] += 1
            row["validated"] += test.id in accepted
            row["kept"] += accepted.get(test.id, False)
        return [
            {"domain": domain, "task": task, **{name: row[name] for name in ("written", "validated", "kept")}}
            for (domain, task), row in sorted(rows.items())
        ]

    def document(self) -> dict[str, Any]:
        """The kept tests in StereoSet's layout, with the validators' labels."""
        accepted, judged = self.accepted(), self.judgements()
        kept = [test for test in self.tests() if accepted.get(test.id)]
        if not kept:
            raise OffscriptError("no test is validated and kept yet", next="wait for more validators")
        data: dict[str, list[dict[str, Any]]] = {}
        for test in kept:
            sentences = [
                {
                    "id": f"{test.id}-{place}",
                    "sentence": test.sentence(label),
                    "gold_label": label,
                    "labels": [{"label": name} for name, n in judged[test.id][label].items() for _ in range(n)],
                }
                for place, label in enumerate(LABELS)
            ]
            entry = {"id": test.id, "target": test.target.term, "bias_type": test.target.domain}
            data.setdefault(test.target.task, []).append({**entry, "context": test.context, "sentences": sentences})
        return {"version": "1.0", "data": data}

    def validation_rows(self) -> list[dict[str, Any]]:
        """The validators' labels in the layout of ratings: an item is one association."""
        query = """
            SELECT test, label, rater, domain, judged FROM validations JOIN participants USING (code)
            JOIN tests ON test = id JOIN targets ON target = number ORDER BY rater, test, label
        """
        return [
            {
                "item": f"{test}/{label}",
                "rater": rater,
                "system": domain,
                "rating": judged,
                "seconds": None,
                "passed": None,
            }
            for test, label, rater, domain, judged in self.rows(query)
        ]


def hash_of(text: str) -> int:
    """A number that depends on the text alone."""
    import hashlib

    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
