"""What is asked about, compared with what, and with how much work; the one place where gold text is made."""

import hashlib
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from offscript._catalogue import ENDPOINTS, MODELS
from offscript._files import sha256_of
from offscript.corpora.associations import AssociationTest, read_association_tests
from offscript.corpora.domains import domains_of, in_turn
from offscript.corpora.filters import HALVES, cut_into_pieces
from offscript.corpora.readers import read_corpus
from offscript.errors import OffscriptError
from offscript.measures.likelihood import GoldSettings
from offscript.measures.question import Need, TextSettings
from offscript.measures.texts import Texts, encode_texts
from offscript.models.language_model import LanguageModel, require_same_vocabulary
from offscript.models.registry import load_model
from offscript.models.tabular import Tabular
from offscript.sampling.generation import Generated, generate, texts

_PLAIN = TextSettings()
_LENGTH, _DRAWN = 50, 1000
"""Tokens of a sequence, and sequences drawn from the oracle, where nobody says how many."""

FEWEST = 50
"""Samples below which no budget goes: intervals would say nothing."""

_LOG_PROBABILITIES = 1 << 23
"""Of one step of a batch: 32 MB, and several times that while they are sampled from."""

TOKENS_OF_A_TEST = 60
"""About what the three sentences of an association test come to, contexts included."""

SMALL = 20_000_000
"""Weights up to which a model is asked as much as the budget says on any machine, for the same figures anywhere."""

_WORKING = 0.75
"""The part of an audit's time in which the model works; loading, statistics and the page take the rest."""


class Budget(str, Enum):
    """How much work an audit may be: minutes on two cores, an hour or two, or the papers' own settings."""

    quick = "quick"
    standard = "standard"
    paper = "paper"

    @property
    def samples(self) -> int:
        """Sequences drawn from each source."""
        return {"quick": 500, "standard": 20_000, "paper": 100_000}[self.value]

    @property
    def seconds(self) -> float:
        """How long an audit of a large model may take."""
        return {"quick": 600.0, "standard": 7200.0, "paper": math.inf}[self.value]


class Subject:
    """A model, and the oracle, the real text and the association tests it is asked about with, where there are any.

    Models may be given by name and are loaded when a question first uses them.

    Args:
        model: the language model that is asked about, or its name.
        oracle: a model that stands for the data's true distribution, or its name.
        corpus: files of real text; `NAME=FILE` of several domains, which are read in turn.
        budget: how much work an audit may be.
        seed: same seed, same figures, whatever the batch size.
        length: tokens of a sequence in an audit.
        batch_size: sequences that go through a model at once; a question has its usual number.
        limit: read or draw only so many.
        associations: a file of association tests in StereoSet's layout.
        device: where models run.
        against: a second model that the first is compared with, or its name.
        shared_deviations: finds the deviations behind EB-C on several workers.
        pace: tokens per second that pass through the models, for planning; measured where it is not given.
    """

    def __init__(
        self,
        model: LanguageModel | str | None = None,
        oracle: LanguageModel | str | None = None,
        corpus: Sequence[str] = (),
        *,
        budget: Budget = Budget.quick,
        seed: int = 1,
        length: int = 50,
        batch_size: int | None = None,
        limit: int | None = None,
        associations: str | None = None,
        device: str = "cpu",
        against: LanguageModel | str | None = None,
        shared_deviations: Callable[..., Any] | None = None,
        pace: float | None = None,
    ) -> None:
        self._model, self._oracle, self._against = model, oracle, against
        self.corpus, self.budget, self.seed, self.length = tuple(corpus), budget, seed, length
        self._batch_size, self.limit, self.associations, self.device = batch_size, limit, associations, device
        self.domains, self.shared_deviations = domains_of(self.corpus), shared_deviations
        self._pace, self.part = pace, 1.0
        self._gold: dict[Any, Any] = {}
        if isinstance(model, LanguageModel) and isinstance(oracle, LanguageModel):
            require_same_vocabulary(model, oracle)

    @property
    def has_model(self) -> bool:
        """Whether there is a model to ask about."""
        return self._model is not None

    @property
    def has_oracle(self) -> bool:
        """Whether there is an oracle."""
        return self._oracle is not None

    @property
    def model_string(self) -> str | None:
        """The string that the model was given by, if it was; it need not be loaded for that."""
        return self._model if isinstance(self._model, str) else None

    @cached_property
    def model(self) -> LanguageModel:
        """The model; a question that needs one says so."""
        if self._model is None:
            raise OffscriptError("no model is given", next="name a MODEL (offscript ls models)")
        return load_model(self._model, device=self.device) if isinstance(self._model, str) else self._model

    @cached_property
    def oracle(self) -> LanguageModel | None:
        """The oracle, which shares the model's vocabulary."""
        if self._oracle is None:
            return None
        oracle = load_model(self._oracle, device=self.device) if isinstance(self._oracle, str) else self._oracle
        require_same_vocabulary(self.model, oracle)
        return oracle

    @property
    def partial_models(self) -> list[LanguageModel]:
        """The models that may give less than distributions; what names weights is not loaded to find out."""
        named = [("model", self._model), ("oracle", self._oracle), ("against", self._against)]
        chosen = [name for name, given in named if given is not None and not (isinstance(given, str) and _whole(given))]
        return [getattr(self, name) for name in chosen]

    @property
    def has_against(self) -> bool:
        """Whether there is a second model."""
        return self._against is not None

    @cached_property
    def against(self) -> LanguageModel:
        """The second model; its vocabulary may be another."""
        if self._against is None:
            raise OffscriptError("no second model is given", next=f"add {Need.against.hint}")
        return load_model(self._against, device=self.device) if isinstance(self._against, str) else self._against

    @property
    def shares_vocabulary(self) -> bool:
        """Whether the tokens of both models mean the same."""
        return self.model.vocabulary.fingerprint == self.against.vocabulary.fingerprint

    def counterpart(self, shared_deviations: Callable[..., Any] | None = None) -> "Subject":
        """The second model, asked about with the same text and the same random numbers.

        Args:
            shared_deviations: as for a subject, for the second model.
        """
        made = Subject(
            self._against,
            self._oracle,
            self.corpus,
            budget=self.budget,
            seed=self.seed,
            length=self.length,
            batch_size=self._batch_size,
            limit=self.limit,
            associations=self.associations,
            device=self.device,
            shared_deviations=shared_deviations,
            pace=self.pace if self.is_large else self._pace,
        )
        made.__dict__.update(model=self.against, oracle=self.oracle)  # they are loaded: not a second time
        return made

    def named(self) -> dict[str, Any]:
        """The arguments that make this subject again elsewhere, as plain data; its models must be given by name."""
        models = {"model": self._model, "oracle": self._oracle, "against": self._against}
        for kind, model in models.items():
            if model is not None and not isinstance(model, str):
                raise OffscriptError(f"the {kind} has no name to find it by on a worker", next="give a model string")
        return {
            **models,
            "corpus": list(self.corpus),
            "budget": self.budget.value,
            "seed": self.seed,
            "length": self.length,
            "batch_size": self._batch_size,
            "limit": self.limit,
            "associations": self.associations,
            "pace": self.pace if self.is_large else self._pace,
        }

    @property
    def required_oracle(self) -> LanguageModel:
        """The oracle, for questions that need one."""
        if self.oracle is None:
            raise OffscriptError("no oracle is given", next="add --oracle MODEL (`oracle:` in an experiment)")
        return self.oracle

    @property
    def samples(self) -> int:
        """Sequences drawn from each source: the budget's, or the limit."""
        return min(self.budget.samples, self.limit or self.budget.samples)

    def affordable(self, tokens: int, most: int | None = None) -> int:
        """How many samples a question may take whose every sample costs so many tokens of the model.

        For small models that is the budget's number on any machine; for large ones it is what the question's part of
        the time pays for.
        """
        return min(self.samples, most or self.samples, self._within_time(tokens, self.samples))

    def _within_time(self, tokens: int, wanted: int) -> int:
        if not self.is_large or math.isinf(self.budget.seconds):
            return max(FEWEST, wanted)
        available = self.budget.seconds * _WORKING * self.part * self.pace
        return max(FEWEST, int(min(available / max(1, tokens), wanted)))

    @cached_property
    def is_large(self) -> bool:
        """Whether sizes depend on how fast the models are here."""
        return sum(_weights_of(model) for model in self._models) > SMALL

    @property
    def _models(self) -> list[LanguageModel]:
        audited = [self.model, self.against] if self.has_against else [self.model]
        return [model for each in audited for model in (each, self.oracle) if model is not None]

    @cached_property
    def pace(self) -> float:
        """Tokens per second that pass through all models: as given, else measured now."""
        from offscript.measures.pace import measure_pace

        return self._pace or measure_pace(self._models, rows=self.rows_at_once())

    def seconds_for(self, tokens: int) -> float:
        """How long so many tokens will take, with what else there is to do."""
        return tokens / self.pace / _WORKING

    def rows_at_once(self, usual: int = 256) -> int:
        """The batch size, or a question's usual one; less where the vocabulary is large."""
        return max(1, min(self._batch_size or usual, _LOG_PROBABILITIES // self.model.vocabulary.size))

    def sentences(self, reading: TextSettings = _PLAIN, domain: str | None = None) -> Iterator[str]:
        """The corpus, sentence by sentence, or the half, the pieces or the domain of it that are asked for."""
        if self.domains and domain is None:
            return in_turn([self.sentences(reading, name) for name in self.domains])
        sources = list(self.corpus if domain is None else self.domains[domain])
        texts = read_corpus(sources, format=reading.format, field=reading.field)  # type: ignore[arg-type]
        if reading.pieces is not None:
            texts = cut_into_pieces(texts, reading.pieces)
        return iter(texts if reading.half is None else HALVES.select(texts, reading.half))

    def gold_by_domain(self, settings: GoldSettings) -> dict[str, Texts]:
        """The text of each domain that a question with these settings predicts, as much of each as it asks for."""
        count, vocabulary = settings.samples or self.limit, self.model.vocabulary
        return {
            name: encode_texts(
                islice(self.sentences(settings, name), count),
                vocabulary,
                longest=settings.length,
                recipe={"corpus": list(sources), "longest": settings.length},
            )
            for name, sources in self.domains.items()
        }

    def gold(self, settings: GoldSettings) -> Texts:
        """The text that a question with these settings predicts."""
        return self.texts(settings, count=settings.samples or self.limit, longest=settings.length, whole=settings.whole)

    @property
    def gold_name(self) -> str:
        """Where gold text comes from."""
        return ", ".join(self.corpus) if self.corpus else f"text of {self.required_oracle.name}"

    def texts(
        self,
        reading: TextSettings = _PLAIN,
        *,
        count: int | None = None,
        longest: int | None = None,
        whole: bool = False,
    ) -> Texts:
        """Text to predict, with its ends: `count` sentences of the corpus, else as many drawn from the oracle.

        `longest` cuts sentences to so many tokens. Sequences drawn `whole` have exactly so many, with no end.
        """
        made: Texts = self._kept("texts", self._texts, _plain(reading), count, longest, whole)
        return made

    def tokens(self, reading: TextSettings = _PLAIN, *, count: int | None = None, length: int = 50) -> list[list[int]]:
        """The tokens of `count` sentences of the corpus, uncut; else of so many drawn from the oracle."""
        made: list[list[int]] = self._kept("tokens", self._tokens, _plain(reading), count, length)
        return made

    def rows(self, reading: TextSettings = _PLAIN, *, count: int | None = None, length: int) -> Tensor:
        """The first `length` tokens of every sentence of the corpus that has so many: [n, length]."""
        rows = [row[:length] for row in self.tokens(reading, count=count) if len(row) >= length]
        if not rows:
            where = ", ".join(self.corpus)
            raise OffscriptError(f"no sentence of {where} has {length} tokens", next="ask for a shorter --length")
        return torch.tensor(rows)

    def usual_length(self, count: int | None = None) -> int:
        """The length that half of the corpus's sentences or more reach, and at most the audit's."""
        sizes = sorted(len(row) for row in self.tokens(count=count))
        return min(self.length, sizes[len(sizes) // 2]) if sizes else self.length

    def _kept(self, kind: str, make: Callable[..., Any], *arguments: Any) -> Any:
        """What several questions of an audit use is made once."""
        if (kind, arguments) not in self._gold:
            self._gold[kind, arguments] = make(*arguments)
        return self._gold[kind, arguments]

    def _texts(self, reading: TextSettings, count: int | None, longest: int | None, whole: bool) -> Texts:
        if self.corpus:
            self._require_aligned(reading, count)
            recipe = {**self.gold_recipe, "longest": longest, **reading.model_dump(exclude_defaults=True)}
            sentences = islice(self.sentences(reading), count)
            return encode_texts(sentences, self.model.vocabulary, longest=longest, recipe=recipe)
        oracle, length = self.required_oracle, longest or self.length
        generated = self._drawn(count, length, whole=whole)
        if whole:
            rows = generated.tokens.tolist()
            characters = [len(self.model.vocabulary.decode(row)) for row in rows]
        else:
            rows = generated.rows()
            characters = [len(text) + 1 for text in texts(oracle, generated)]
        return Texts(rows, characters, {**self.gold_recipe, "length": length})

    @property
    def gold_recipe(self) -> dict[str, Any]:
        """What gold text is made from."""
        if self.corpus:
            return {"corpus": list(self.corpus)}
        return {"drawn from": self.required_oracle.name, "seed": self.seed}

    def _require_aligned(self, reading: TextSettings, count: int | None) -> None:
        """Where the model has sources, sentence i of the corpus must be a target of source i."""
        sources = self.model.conditions
        if sources == 1:
            return
        sentences = sum(1 for _ in islice(self.sentences(reading), sources + 1))
        if reading.half is not None or reading.pieces is not None or sentences != sources:
            raise OffscriptError(
                f"{sources} sources for another number of sentences",
                why="sentence i of the corpus is read as the target of source i",
                next="give a corpus whose line n belongs to line n of the sources",
            )

    def _tokens(self, reading: TextSettings, count: int | None, length: int) -> list[list[int]]:
        if self.corpus and self.model.conditions > 1:
            raise OffscriptError(
                f"{self.model.name} has sources, and the sentences of a corpus would be taken in another order",
                next="give an oracle with the same sources instead of a corpus",
            )
        if self.corpus:
            return [self.model.vocabulary.encode(text) for text in islice(self.sentences(reading), count)]
        return self._drawn(count, length).rows()

    def _drawn(self, count: int | None, length: int, *, whole: bool = False) -> Generated:
        settings: dict[str, Any] = {"stop_at_end": not whole, "batch_size": self.rows_at_once()}
        return generate(self.required_oracle, count or _DRAWN, length, seed=(self.seed, 1), **settings)

    def association_tests(self, path: str | None = None, *, most: int | None = None) -> list[AssociationTest]:
        """Tests of the file, or so many of them, taken at equal steps."""
        source = path or self.associations
        if source is None:
            raise OffscriptError("no association tests are given", next=Need.associations.hint)
        tests = read_association_tests(source)
        allowed = min(most or len(tests), self.limit or len(tests), len(tests))
        return [tests[number * len(tests) // allowed] for number in range(allowed)]

    def affordable_tests(self) -> int:
        """How many association tests the budget allows."""
        return self._within_time(TOKENS_OF_A_TEST, sys.maxsize)

    def _hash_of(self, source: str) -> str:
        """Of a corpus as it was given, with its domain's name before it where it has one."""
        return content_hash(source.partition("=")[2] if self.domains else source)

    @cached_property
    def recipe(self) -> dict[str, Any]:
        """What decides the answers, question and environment aside."""
        oracle = None if self.oracle is None else {"name": self.oracle.name, "weights": self.oracle.weight_hash}
        return {
            "model": {"name": self.model.name, "weights": self.model.weight_hash},
            "oracle": oracle,
            "corpus": {source: self._hash_of(source) for source in self.corpus},
            "budget": self.budget.value,
            "samples": self.samples,
            "length": self.length,
            "seed": self.seed,
        }


def _whole(text: str) -> bool:
    """Whether a model string surely names a model that gives distributions."""
    scheme = text.partition(",")[0].partition("/")[0]
    return scheme != ENDPOINTS and scheme not in MODELS.added


def _weights_of(model: LanguageModel) -> int:
    network = getattr(model, "network", model)
    return sum(weight.numel() for weight in network.parameters()) if isinstance(network, nn.Module) else 0


def content_hash(source: str) -> str:
    """The hash of a file's content; of another source, such as one of the Hub, that of its name."""
    path = Path(source)
    return sha256_of(path) if path.is_file() else hashlib.sha256(source.encode()).hexdigest()


def natural_length(model: LanguageModel, length: int | None) -> int:
    """The length asked for, else the one a table was written for, else 50."""
    if length is not None:
        return length
    return model.length if isinstance(model, Tabular) else _LENGTH


def columns_of_texts(columns: Sequence[tuple[str, Sequence[str]]], title: str) -> dict[str, Any]:
    """An exhibit of example texts, one column per source."""
    return {
        "kind": "texts",
        "title": title,
        "columns": [{"title": name, "texts": list(rows)} for name, rows in columns],
    }


def _plain(reading: TextSettings) -> TextSettings:
    """Only how the corpus is read, so that questions share what they read alike."""
    return TextSettings(**{name: getattr(reading, name) for name in TextSettings.model_fields})
