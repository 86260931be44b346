"""The data described: how much there is, how it feels and what it is about (Tables 4.1 to 4.3, B.8)."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from offscript.corpora.associations import LABELS, AssociationTest
from offscript.corpora.wordlists import words_of
from offscript.measures.stereotypes.scores import OVERALL
from offscript.statistics import Estimate, proportion_interval, student_interval


@dataclass(frozen=True)
class Counts:
    """A row of Table 4.1: terms, tests, and words of a filled context or of a context with what follows it."""

    terms: int
    tests: int
    average_words: float


@dataclass(frozen=True)
class Keyword:
    """A word that a domain's associations use more than general English does; `pmi` is in bits."""

    word: str
    count: int
    pmi: float


def describe_tests(tests: Sequence[AssociationTest]) -> dict[str, Counts]:
    """Table 4.1: counts by `<task>.<domain>`, `<task>.overall` and `overall`."""
    groups: dict[str, list[AssociationTest]] = {}
    for test in tests:
        for name in (OVERALL, f"{test.task}.{OVERALL}", f"{test.task}.{test.domain}"):
            groups.setdefault(name, []).append(test)
    return {name: _counts(group) for name, group in sorted(groups.items())}


def words_per_test(tests: Sequence[AssociationTest]) -> dict[str, Estimate]:
    """Table 4.1's last column with intervals over tests: the mean number of words, by task.

    Args:
        tests: Of one or both tasks.

    Returns:
        By task.
    """
    words: dict[str, list[float]] = {}
    for test in tests:
        words.setdefault(test.task, []).append(_words(test) / len(LABELS))
    return {task: student_interval(np.array(own)) for task, own in words.items() if len(own) > 1}


@dataclass(frozen=True)
class Term:
    """An entry of Table B.8: a target term and how many tests are about it."""

    domain: str
    term: str
    tests: int


def target_terms(tests: Sequence[AssociationTest]) -> list[Term]:
    """Table B.8: the terms of each domain, the most frequent first.

    Args:
        tests: Of one or both tasks.

    Returns:
        By domain; terms that are equally frequent by the alphabet.
    """
    counts = Counter((test.domain, test.target) for test in tests)
    return [
        Term(domain, term, count)
        for (domain, term), count in sorted(counts.items(), key=lambda item: (item[0][0], -item[1], item[0][1]))
    ]


def tests_per_term(tests: Sequence[AssociationTest]) -> Estimate | None:
    """The second column of Table 4.1 over its first, with an interval over terms.

    Args:
        tests: Of one or both tasks.

    Returns:
        The mean; none for fewer than two terms.
    """
    counts = [term.tests for term in target_terms(tests)]
    return student_interval(np.array(counts, dtype=float)) if len(counts) > 1 else None


def sentiment_table(tests: Sequence[AssociationTest], negative: Callable[[str], bool]) -> dict[str, Estimate]:
    """Table 4.2: the share of negative sentences among stereotypes and anti-stereotypes; neutral ones are positive.

    Args:
        tests: Whose sentences are judged.
        negative: Says whether a sentence is.

    Returns:
        The share, by label.
    """
    sentences = {
        "stereotype": [test.stereotype.sentence for test in tests],
        "anti-stereotype": [test.anti_stereotype.sentence for test in tests],
    }
    return {label: proportion_interval(sum(map(negative, texts)), len(texts)) for label, texts in sentences.items()}


def keywords(
    tests: Sequence[AssociationTest], general: Counter[str], *, most: int = 16, minimum: int = 5
) -> dict[str, list[Keyword]]:
    """Table 4.3: the words of each domain with the highest pointwise mutual information, at least `minimum` times used.

    Only what an association adds to its context counts, and unrelated sentences are left out. Words that `general` does
    not have count as seen there once.
    """
    domains: dict[str, Counter[str]] = {}
    for test in tests:
        known = {*words_of(test.context), *words_of(test.target)}
        for association in (test.stereotype, test.anti_stereotype):
            added = (word for word in words_of(association.sentence) if word not in known)
            domains.setdefault(test.domain, Counter()).update(added)
    return {domain: _highest(domains[domain], general, most, minimum) for domain in sorted(domains)}


def _highest(counts: Counter[str], general: Counter[str], most: int, minimum: int) -> list[Keyword]:
    total, general_total = counts.total(), general.total()
    found = [
        Keyword(word, count, math.log2(count / total) - math.log2(max(1, general[word]) / general_total))
        for word, count in counts.items()
        if count >= minimum
    ]
    return sorted(found, key=lambda keyword: (-keyword.pmi, keyword.word))[:most]


def _counts(tests: Sequence[AssociationTest]) -> Counts:
    words = sum(map(_words, tests))
    return Counts(len({test.target for test in tests}), len(tests), words / (len(LABELS) * len(tests)))


def _words(test: AssociationTest) -> int:
    """Of a test's sentences together, with what each follows."""
    before = len(test.context.split()) if test.task == "intersentence" else 0
    return sum(len(association.sentence.split()) + before for association in test.associations)
