"""Sentences scored by a model that predicts the next token: the mean log-probability of their tokens."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from offscript._types import Count
from offscript.corpora.associations import AssociationTest
from offscript.corpora.vocabularies import Vocabulary, encode_prose
from offscript.errors import OffscriptError
from offscript.models.language_model import LanguageModel
from offscript.sampling.randomness import Draws, RowDraws
from offscript.sampling.transforms import Transform


@dataclass(frozen=True)
class _Sentence:
    """Tokens of which the first `given` are a prompt; those before `counted` do not enter the mean.

    Tokens are predicted from `predicted` on: a prompt that counts is predicted once, with the first of its sentences.
    Associations of a test that have the same tokens are one sentence, so that they tie.
    """

    ids: tuple[str, ...]
    number: int  # of all associations; three belong to a test
    tokens: list[int]
    given: int
    counted: int
    predicted: int

    @property
    def test(self) -> int:
        """The number of its test."""
        return self.number // 3


def score_with_causal_model(
    model: LanguageModel,
    tests: Sequence[AssociationTest],
    *,
    transform: Transform | None = None,
    seed: int = 1,
    batch_size: int = 32,
    progress: Count | None = None,
) -> dict[str, float]:
    """Mean log-probability of the filled sentence's tokens, the first one after the start token (§4.6.4).

    What follows a context is scored by the mean log-probability of its own tokens after the context. Under a transform
    the score is that of what would really be generated: the tokens that the three sentences begin with, or the context,
    are read and keep the model's own probability; the rest is generated. What a transform cuts scores `-inf`.

    What three sentences begin with is projected onto the vocabulary once: for small models that is most of the work.
    """
    sentences = [sentence for number, test in enumerate(tests) for sentence in _encoded(model.vocabulary, test, number)]
    sentences.sort(key=_neighbourhood)
    prompts, own = np.zeros(len(tests)), np.zeros(3 * len(tests))
    for start in range(0, len(sentences), batch_size):
        batch = sentences[start : start + batch_size]
        log_probs = _log_probs(model, batch, transform, _SentenceDraws(Draws(seed), batch)).numpy()
        for sentence, found in zip(batch, log_probs, strict=True):
            own[sentence.number] = found[sentence.given : len(sentence.tokens)].sum()
            if sentence.number % 3 == 0:
                prompts[sentence.test] = found[sentence.counted : sentence.given].sum()
        if progress is not None:
            progress(sum(len(sentence.ids) for sentence in batch))
    return {
        name: float(prompts[sentence.test] + own[sentence.number]) / (len(sentence.tokens) - sentence.counted)
        for sentence in sentences
        for name in sentence.ids
    }


def _neighbourhood(sentence: _Sentence) -> tuple[int, int]:
    """Like goes with like: predicted from the same place, then about as long; lengths rise and fall in turn."""
    length = len(sentence.tokens)
    return sentence.predicted, -length if sentence.predicted % 2 else length


class _SentenceDraws:
    """Random numbers that belong to a sentence, wherever in a batch it stands."""

    def __init__(self, draws: Draws, batch: Sequence[_Sentence]) -> None:
        self._draws, self._batch = draws, batch

    def uniform(self, step: int, first_row: int, rows: int, width: int = 1, stream: int = 0) -> Tensor:
        """[rows, width] numbers in [0, 1)."""
        chosen = self._batch[first_row : first_row + rows]
        return torch.cat([self._draws.uniform(step, sentence.number, 1, width, stream) for sentence in chosen])


def _encoded(vocabulary: Vocabulary, test: AssociationTest, number: int) -> Iterator[_Sentence]:
    inter = test.task == "intersentence"
    texts = [f"{test.context} {found.sentence}" if inter else found.sentence for found in test.associations]
    tokens = [encode_prose(vocabulary, text) for text in texts]
    prompt = encode_prose(vocabulary, test.context) if inter else tokens[0][: _in_common(*tokens)]
    for place, row in enumerate(tokens):
        if row in tokens[:place]:
            continue
        ids = tuple(found.id for found, other in zip(test.associations, tokens, strict=True) if other == row)
        given = _in_common(prompt, row)
        counted = given if inter else 0
        if counted == len(row):
            raise OffscriptError(f"{ids[0]}: the sentence adds no token of its own", next="look at the sentence")
        predicted = counted if place == 0 else min(given, len(row) - 1)
        yield _Sentence(ids, 3 * number + place, row, given, counted, predicted)


def _in_common(*rows: Sequence[int]) -> int:
    """How many tokens the rows begin with alike."""
    same = (len(set(column)) == 1 for column in zip(*rows, strict=False))
    return next((place for place, equal in enumerate(same) if not equal), min(map(len, rows)))


def _log_probs(
    model: LanguageModel, batch: Sequence[_Sentence], transform: Transform | None, draws: RowDraws
) -> Tensor:
    """Log-probabilities [batch, time] of the tokens; 0 where none of them is predicted."""
    longest = max(len(sentence.tokens) for sentence in batch)
    padded = [[*sentence.tokens, *[0] * (longest - len(sentence.tokens))] for sentence in batch]
    tokens = torch.tensor(padded, device=model.device)
    given = torch.tensor([sentence.given for sentence in batch], device=model.device)
    first = min(sentence.predicted for sentence in batch)
    if transform is None:
        lengths = [len(sentence.tokens) for sentence in batch]
        found = model.log_likelihoods(tokens, range(first, longest), lengths).double().cpu()
        return torch.cat([torch.zeros(len(batch), first, dtype=torch.float64), found], dim=1)
    columns = [torch.zeros(len(batch), first, device=model.device)]
    for scored in model.score(tokens, range(first, longest)):
        chosen = tokens[:, scored.positions.start : scored.positions.stop].unsqueeze(-1)
        found = scored.log_probs.gather(-1, chosen).squeeze(-1)  # [batch, positions]
        for column, position in enumerate(scored.positions):
            generated = transform(scored.log_probs[:, column], draws, position).gather(1, chosen[:, column])[:, 0]
            found[:, column] = torch.where(given <= position, generated, found[:, column])
        columns.append(found)
    return torch.cat(columns, dim=1).double().cpu()
