"""Sentences split into claims by a language model, with examples in its prompt; what it makes up is left out."""

import re
from collections.abc import Callable

import torch

from offscript.errors import OffscriptError
from offscript.factcheck.inference.entities import names_of
from offscript.factcheck.texts.splitting import split_claims
from offscript.models.language_model import LanguageModel
from offscript.models.registry import load_model

PROMPT = """Split every sentence into short facts. Each fact is one sentence that can be read alone.

Sentence: Marie Curie was born in Warsaw and won two Nobel Prizes.
Facts:
- Marie Curie was born in Warsaw.
- Marie Curie won two Nobel Prizes.

Sentence: The bridge, which opened in 1932, is 503 metres long.
Facts:
- The bridge opened in 1932.
- The bridge is 503 metres long.

Sentence: Oslo is the capital of Norway.
Facts:
- Oslo is the capital of Norway.

Sentence: {sentence}
Facts:
-"""
MOST_FACTS, FEWEST_WORDS = 8, 3
TOKENS_PER_WORD, SPARE = 4, 24  # of what the model may write, by the words of the sentence
_NUMBER = re.compile(r"\d[\d,.]*")
_LONGEST = 120  # words of a sentence that is given to the model


def decomposer(name: str, *, device: str = "cpu") -> Callable[[str], list[str]]:
    """What splits a sentence into claims with a language model.

    Args:
        name: A model string; the model writes greedily.
        device: Where it computes.

    Returns:
        A function of a sentence. Facts with a name or a number that the sentence does not have are left out; where
        none is left, or the model writes none, the rules for conjunctions split the sentence.
    """
    model = load_model(name, device=device)
    if not model.vocabulary.encode("Facts"):
        raise OffscriptError(f"{name} cannot read the instructions", next="name a model of English, such as hf/ID")
    return lambda sentence: decompose(model, sentence)


def decompose(model: LanguageModel, sentence: str) -> list[str]:
    """The claims of a sentence, by a model; see `decomposer`."""
    words = sentence.split()
    if len(words) > _LONGEST:
        return split_claims(sentence)
    return kept_facts(sentence, _written(model, sentence, SPARE + TOKENS_PER_WORD * len(words))) or split_claims(
        sentence
    )


def kept_facts(sentence: str, written: str) -> list[str]:
    """The facts that a model wrote for a sentence, as far as they hold nothing but what the sentence has.

    Args:
        sentence: What was split.
        written: What follows the prompt, which ends in the first dash.

    Returns:
        Facts in order, each once; none that brings in a name or a number.
    """
    facts: list[str] = []
    for place, line in enumerate(written.split("\n")):
        if place and not line.lstrip().startswith("-"):
            break
        fact = " ".join(line.strip().removeprefix("-").split())
        if len(fact.split()) >= FEWEST_WORDS and _says_nothing_new(sentence, fact):
            facts.append(fact if fact.endswith((".", "!", "?")) else f"{fact}.")
    return list(dict.fromkeys(facts))[:MOST_FACTS]


def _says_nothing_new(sentence: str, fact: str) -> bool:
    lower = sentence.lower()
    numbers = {number.rstrip(".,") for number in _NUMBER.findall(sentence)}
    return all(name in lower for name in names_of(fact)) and all(
        number.rstrip(".,") in numbers for number in _NUMBER.findall(fact)
    )


def _written(model: LanguageModel, sentence: str, tokens: int) -> str:
    """What the model writes after the prompt, the likeliest token each time, up to an empty line or its end.

    One row alone: `generate` fills batches up so that draws do not depend on them, and greedy choices need no draws.
    """
    prefix = model.vocabulary.encode(PROMPT.format(sentence=" ".join(sentence.split())))
    chosen: list[int] = []
    log_probs, state = model.start(1, torch.tensor([prefix]))
    for _ in range(tokens):
        token = log_probs.argmax(dim=1)
        if int(token) == model.vocabulary.end:
            break
        chosen.append(int(token))
        if "\n\n" in (text := model.vocabulary.decode(chosen)):
            return text.partition("\n\n")[0]
        log_probs, state = model.advance(state, token)
    return model.vocabulary.decode(chosen)
