"""Sentences scored by a model that predicts the next token: the mean log-probability of their tokens."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from offscript.corpora.associations import AssociationTest
from offscript.corpora.running_text import encode_prose
from offscript.corpora.vocabularies import Vocabulary
from offscript.errors import OffscriptError
from offscript.models.language_model import LanguageModel
from offscript.sampling.randomness import Draws, RowDraws
from offscript.sampling.transforms import Transform

Progress = Callable[[int], None]


@dataclass(frozen=True)
class _Sentence:
    """Tokens to score: those before `given` are a prompt, those before `counted` do not enter the mean."""

    id: str
    number: int
    tokens: list[int]
    given: int
    counted: int


def score_with_causal_model(
    model: LanguageModel,
    tests: Sequence[AssociationTest],
    *,
    transform: Transform | None = None,
    seed: int = 1,
    batch_size: int = 64,
    progress: Progress | None = None,
) -> dict[str, float]:
    """Mean log-probability of the filled sentence's tokens, the first one after the start token (§4.6.4).

    What follows a context is scored by the mean log-probability of its own tokens after the context. Under a transform
    the score is that of what would really be generated: the tokens that the three sentences begin with, or the context,
    are read and keep the model's own probability; the rest is generated. What a transform cuts scores `-inf`.
    """
    sentences = [sentence for number, test in enumerate(tests) for sentence in _encoded(model.vocabulary, test, number)]
    sentences.sort(key=lambda sentence: (sentence.counted, len(sentence.tokens)))
    scores: dict[str, float] = {}
    for start in range(0, len(sentences), batch_size):
        batch = sentences[start : start + batch_size]
        log_probs = _log_probs(model, batch, transform, _SentenceDraws(Draws(seed), batch)).double().cpu()
        for sentence, found in zip(batch, log_probs, strict=True):
            scores[sentence.id] = float(found[sentence.counted : len(sentence.tokens)].mean())
        if progress is not None:
            progress(len(batch))
    return scores


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
    for place, (association, row) in enumerate(zip(test.associations, tokens, strict=True)):
        given = _in_common(prompt, row)
        counted = given if inter else 0
        if counted == len(row):
            raise OffscriptError(
                f"{association.id}: the sentence adds no token of its own", next="look at the sentence"
            )
        yield _Sentence(association.id, 3 * number + place, row, given, counted)


def _in_common(*rows: Sequence[int]) -> int:
    """How many tokens the rows begin with alike."""
    same = (len(set(column)) == 1 for column in zip(*rows, strict=False))
    return next((place for place, equal in enumerate(same) if not equal), min(map(len, rows)))


def _log_probs(
    model: LanguageModel, batch: Sequence[_Sentence], transform: Transform | None, draws: RowDraws
) -> Tensor:
    """Log-probabilities [batch, time] of the tokens; 0 where nobody counts them."""
    longest = max(len(sentence.tokens) for sentence in batch)
    tokens = torch.zeros(len(batch), longest, dtype=torch.long)
    for row, sentence in zip(tokens, batch, strict=True):
        row[: len(sentence.tokens)] = torch.tensor(sentence.tokens)
    given = torch.tensor([sentence.given for sentence in batch])
    found = torch.zeros(len(batch), longest)
    for scored in model.score(tokens, range(min(sentence.counted for sentence in batch), longest)):
        for column, position in enumerate(scored.positions):
            log_probs, token = scored.log_probs[:, column], tokens[:, position, None].to(scored.log_probs.device)
            chosen = log_probs.gather(1, token)[:, 0].cpu()
            if transform is not None and bool((given <= position).any()):
                generated = transform(log_probs, draws, position).gather(1, token)[:, 0].cpu()
                chosen = torch.where(given <= position, generated, chosen)
            found[:, position] = chosen
    return found
