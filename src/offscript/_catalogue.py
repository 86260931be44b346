"""What can be named on the command line: models, samplers, questions, each described without importing torch.

The registries hold what is built in, what installed packages add by entry points, and what plug-ins register.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from offscript._plugins import Registry

ASSETS = Path(__file__).parent / "assets"
SHIPPED, HUB, ENDPOINTS = "offscript/", "hf/", "openai"
WEIGHTS, VOCABULARY, CARD = "weights.safetensors", "vocabulary.json", "card.json"
PROPERTIES = ("entropy reduction", "order preservation", "slope preservation")


@dataclass(frozen=True)
class SamplerEntry:
    """A built-in sampler: its class, what it does, a usual setting, and which of `PROPERTIES` it has there."""

    place: str
    about: str
    usual: str
    properties: tuple[bool, bool, bool] = (True, True, True)


def _sampler(module: str, kind: str, about: str, usual: str, broken: tuple[int, ...] = ()) -> SamplerEntry:
    has = (1 not in broken, 2 not in broken, 3 not in broken)
    return SamplerEntry(f"offscript.sampling.transforms.{module}:{kind}", about, usual, has)


BUILTIN_SAMPLERS: dict[str, SamplerEntry] = {
    entry.usual.partition(",")[0]: entry
    for entry in (
        _sampler("base", "Ancestral", "the model's own distribution", "ancestral"),
        _sampler("base", "Greedy", "always the most probable token", "greedy"),
        _sampler("truncation", "TopK", "the k most probable tokens", "top-k,k=30"),
        _sampler("truncation", "Nucleus", "the most probable tokens up to mass p", "nucleus,p=0.8"),
        _sampler("temperature", "Tempered", "logits divided by a temperature", "tempered,temperature=0.85"),
        _sampler(
            "temperature",
            "TemperedTopK",
            "a temperature, then the k most probable",
            "tempered-top-k,k=50,temperature=0.8",
        ),
        _sampler("randomised", "RandomTopK", "top-k with a random k up to the maximum", "random-top-k,maximum=90"),
        _sampler("temperature", "MaxEntropy", "cooled where the entropy exceeds a bound", "max-entropy,entropy=2.75"),
        _sampler("randomised", "RandomMask", "tokens dropped at random, never the best", "random-mask,rate=0.75", (2,)),
        _sampler("randomised", "RandomMaskAll", "tokens dropped at random", "random-mask-all,rate=0.75", (1, 2)),
        _sampler("randomised", "NoisedTopK", "top-k mixed with sorted noise", "noised-top-k,k=50,weight=0.005", (1, 3)),
        _sampler(
            "temperature", "TargetEntropy", "a temperature that gives this entropy", "target-entropy,entropy=2.75", (1,)
        ),
        _sampler("truncation", "MinP", "tokens with p times the best one's probability", "min-p,p=0.1"),
        _sampler("truncation", "Typical", "tokens of typical surprisal up to mass p", "typical,p=0.9", (1, 2)),
        _sampler("truncation", "Eta", "tokens above a bound that falls with the entropy", "eta,epsilon=0.01"),
        _sampler("truncation", "Epsilon", "tokens above a probability", "epsilon,epsilon=0.01"),
    )
}
"""In the order and with the settings of Table 5.1; those after target entropy are not in it and have usual settings."""

MODEL_STRINGS: dict[str, str] = {
    "FOLDER": "a model that `offscript train` wrote, a Hugging Face folder, or SeqGAN's oracle",
    "FILE.json": "a tabular model: every next-token distribution written down",
    "FILE.gguf": "a causal model in a GGUF file",
    "hf/ID@REVISION": "a causal or encoder-decoder model of the Hub; settings: dtype, adapter, load, chat …",
    "openai/MODEL@URL": "a model behind an OpenAI-compatible server; settings: tokenizer, key, max_requests …",
    "uniform": "every symbol equally likely; setting: vocabulary (a model string, or text8)",
    "MODEL,sources=FILE": "a model with an encoder, such as a translation model: targets of the file's sources",
    "MODEL+MODEL": "a mixture of models of one vocabulary: the mean of their distributions; setting: weights",
    "MODEL,approximate=N": "any model, known by N draws after each history alone; settings: seed, floor",
}
"""Model strings that are not shipped names, and what they stand for."""

MODELS: Registry[Any] = Registry(
    "model",
    "offscript.models",
    {
        "offscript": "offscript.models.registry:load_shipped",
        "hf": "offscript.models.hub_sources:load_pretrained",
        "uniform": "offscript.models.registry:load_uniform",
        ENDPOINTS: "offscript.models.endpoints.loading:load_endpoint",
    },
)
"""Loaders: what comes after `NAME/` in a model string, and its settings, in; a `LanguageModel` out."""

LEARNED = "learned,path=FILE"
"""The sampler that ratings teach: which properties it has depends on the file."""

SAMPLERS: Registry[Any] = Registry(
    "sampler",
    "offscript.samplers",
    {
        **{name: entry.place for name, entry in BUILTIN_SAMPLERS.items()},
        "learned": "offscript.sampling.transforms.learned:Learned",
    },
)
"""`Transform` classes, or functions from log-probabilities and settings to log-probabilities."""

_TRAINING = "offscript.training"
ALGORITHMS: Registry[Any] = Registry(
    "algorithm",
    "offscript.algorithms",
    {
        "teacher-forcing": f"{_TRAINING}.likelihood:TeacherForcing",
        "scheduled-sampling": f"{_TRAINING}.likelihood:ScheduledSampling",
        "searnn": f"{_TRAINING}.searnn:Searnn",
        "minimum-risk": f"{_TRAINING}.rewards:MinimumRisk",
        "minimum-risk-bleu": f"{_TRAINING}.translation_risk:TranslationRisk",
        "reinforce": f"{_TRAINING}.rewards:Reinforce",
        "cooperative": f"{_TRAINING}.cooperative:Cooperative",
        "seqgan": f"{_TRAINING}.adversarial:SeqGAN",
        "rankgan": f"{_TRAINING}.rankgan:RankGAN",
        "leakgan": f"{_TRAINING}.leakgan:LeakGAN",
        "recurrent-gan": f"{_TRAINING}.recurrent_gan:RecurrentGAN",
    },
)
"""`Algorithm` classes: what a recipe's `algorithm` may say for a language model."""

LANGUAGE_MODEL = "language-model"
"""The trainer that has every algorithm which no other trainer has."""

TRAINERS: Registry[Any] = Registry(
    "trainer",
    "offscript.trainers",
    {
        LANGUAGE_MODEL: f"{_TRAINING}.loop:TRAINER",
        "next-sentence": f"{_TRAINING}.next_sentence:TRAINER",
        "stance": "offscript.factcheck.stance.teaching.recipe:TRAINER",
        "inference": "offscript.factcheck.inference.training:TRAINER",
    },
)
"""`Trainer` objects, by the algorithm that asks for each."""

QUESTIONS: Registry[Any] = Registry(
    "question",
    "offscript.questions",
    {
        "places": "offscript.measures.places:Places",
        "divergence": "offscript.measures.divergence:Divergence",
        "likelihood": "offscript.measures.likelihood:Likelihood",
        "exposure": "offscript.measures.exposure:Exposure",
        "regret": "offscript.measures.regret:Regret",
        "recovery": "offscript.measures.recovery:Recovery",
        "translation": "offscript.measures.translation:Translation",
        "calibration": "offscript.measures.calibration:Calibration",
        "degeneration": "offscript.measures.degeneration:Degeneration",
        "memorisation": "offscript.measures.memorisation:Memorisation",
        "sampling": "offscript.measures.sampling:Sampling",
        "text-distance": "offscript.measures.text_distance:TextDistance",
        "quality": "offscript.measures.quality:Quality",
        "diversity": "offscript.measures.diversity:Diversity",
        "approximation": "offscript.measures.approximation:Approximation",
        "stereotypes": "offscript.measures.stereotypes:Stereotypes",
        "associations": "offscript.measures.associations:Associations",
        "ratings": "offscript.measures.ratings:RatingsQuestion",
        "factuality": "offscript.measures.factuality:Factuality",
        "retrieval": "offscript.measures.retrieval:Retrieval",
        "stance": "offscript.measures.stance:Stance",
        "verdicts": "offscript.measures.verdicts:Verdicts",
        "tagging": "offscript.measures.tagging:Tagging",
        "samples": "offscript.measures.samples:Samples",
        "deviations": "offscript.measures.exposure:Deviations",
    },
)
"""Classes of questions, in the order of the page; samples stand last."""


def shipped_models() -> dict[str, dict[str, Any]]:
    """The cards of the language models that ship with the package, by their full name.

    What else ships with a card, such as a stance model, has no vocabulary.

    Returns:
        One card per model, as it stands in `card.json`.
    """
    folders = sorted(card.parent for card in ASSETS.glob(f"*/{CARD}") if (card.parent / VOCABULARY).is_file())
    return {SHIPPED + folder.name: json.loads((folder / CARD).read_text(encoding="utf-8")) for folder in folders}


def model_rows() -> list[dict[str, str]]:
    """One row for each shipped model, each kind of model string and each plug-in, for `offscript ls models`."""
    rows = [
        _model_row(name, card["kind"], card.get("about", ""), f"{card['validation']['ppl']:.2f}")
        for name, card in shipped_models().items()
    ]
    rows += [_model_row(form, "", about) for form, about in MODEL_STRINGS.items()]
    return rows + [_model_row(f"{name}/…", "plug-in", first_line(MODELS[name])) for name in MODELS.added]


def _model_row(name: str, kind: str, about: str, perplexity: str = "") -> dict[str, str]:
    return {"name": name, "kind": kind, "validation ppl": perplexity, "about": about}


def first_line(thing: object) -> str:
    """The first line of a docstring."""
    return (thing.__doc__ or "").strip().partition("\n")[0]
