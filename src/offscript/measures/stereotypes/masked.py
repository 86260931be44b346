"""Sentences scored by a masked model: the words of a fill, unmasked from left to right."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from offscript._types import Count
from offscript.corpora.associations import BLANK, Association, AssociationTest
from offscript.errors import OffscriptError
from offscript.models.hub import MaskedLanguageModel


@dataclass(frozen=True)
class _Question:
    """Which token stands behind the one mask of an input; the answer counts for a sentence."""

    row: tuple[int, ...]
    token: int
    sentence: int


def score_with_masked_model(
    model: MaskedLanguageModel,
    tests: Sequence[AssociationTest],
    *,
    batch_size: int = 64,
    progress: Count | None = None,
) -> dict[str, float]:
    """Mean log-probability of the sub-words of a fill; a sub-word is asked for when those to its left stand (§4.6.1).

    Those to its right are not there yet, as in the authors' script, so the length of a fill is not given away. What
    follows a context is scored as the fill of a blank behind it. Inputs that several sentences share are read once.
    """
    questions: list[_Question] = []
    names: list[str] = []
    for test in tests:
        for association in test.associations:
            around, fill = _opened(test, association)
            asked = _questions(model, around, fill, len(names))
            if not asked:
                raise OffscriptError(f"{association.id}: no token fills the blank", next="look at the sentence")
            questions += asked
            names.append(association.id)
    sums, counts = np.zeros(len(names)), np.zeros(len(names))
    for sentence, log_prob in _answers(model, questions, batch_size, progress):
        sums[sentence] += log_prob
        counts[sentence] += 1
    return dict(zip(names, (sums / counts).tolist(), strict=True))


def _opened(test: AssociationTest, association: Association) -> tuple[list[str], str]:
    """The text around each blank, and what fills them."""
    if test.task == "intersentence":
        return [f"{test.context} ", ""], association.sentence
    return test.context.split(BLANK), test.fill(association)


def _questions(model: MaskedLanguageModel, around: Sequence[str], fill: str, sentence: int) -> list[_Question]:
    """One for each sub-word. The filled text is encoded as a whole, so sub-words are those the model would meet there.

    Where there are several blanks, all of them are opened alike and the first is asked.
    """
    encoded = model.tokenizer(fill.join(around), return_offsets_mapping=True)
    tokens, spans = encoded["input_ids"], encoded["offset_mapping"]
    blanks, start = [], 0
    for text in around[:-1]:
        start += len(text)
        blanks.append(_tokens_within(spans, start, start + len(fill)))
        start += len(fill)
    questions = []
    for step, place in enumerate(blanks[0]):
        row, done = [], 0
        for blank in blanks:
            row += [*tokens[done : min(blank.start + step, blank.stop)], model.mask]
            done = blank.stop
        questions.append(_Question((*row, *tokens[done:]), tokens[place], sentence))
    return questions


def _tokens_within(spans: Sequence[tuple[int, int]], start: int, stop: int) -> range:
    """Places of the tokens that hold any of the characters from start to stop."""
    inside = [place for place, (first, last) in enumerate(spans) if first < stop and last > max(start, first)]
    return range(inside[0], inside[-1] + 1) if inside else range(0)


def _answers(
    model: MaskedLanguageModel, questions: Sequence[_Question], batch_size: int, progress: Count | None
) -> list[tuple[int, float]]:
    """(sentence, log-probability) of every question, in the order of the questions' rows by length."""
    by_row: dict[tuple[int, ...], list[_Question]] = {}
    for question in questions:
        by_row.setdefault(question.row, []).append(question)
    rows, found = sorted(by_row, key=len), []
    for start in range(0, len(rows), batch_size):
        batch = rows[start : start + batch_size]
        log_probs = model.log_probs_at_mask(batch).cpu()
        for row, answer in zip(batch, log_probs, strict=True):
            found += [(question.sentence, float(answer[question.token])) for question in by_row[row]]
        if progress is not None:
            progress(sum(len(by_row[row]) for row in batch))
    return found
