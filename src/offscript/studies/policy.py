"""A sampler learnt from ratings (section 6.1 of the thesis): a temperature that depends on entropy and position.

Three steps. A reward model, ridge regression, tells a text's rating from what its tokens are like: surprisal, rank and
entropy, early and late. Because its features are means over tokens, the expected reward of one step at any temperature
is a sum over the vocabulary, so that the best policy is found without sampling. It is pulled towards the best single
temperature: how strongly is chosen by cross-validation over prompts.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from offscript._files import write_json
from offscript._types import FloatArray
from offscript.corpora.ratings import Ratings
from offscript.errors import OffscriptError, explaining
from offscript.models.language_model import LanguageModel
from offscript.sampling.transforms import parse_transform
from offscript.sampling.transforms.learned import COLDEST, HOTTEST, Policy
from offscript.statistics import Estimate, bootstrap, mean_interval
from offscript.studies.design import CHECK, GOLD, StudyItem

GRID = np.exp(np.linspace(math.log(COLDEST), math.log(HOTTEST), 19))
PULLS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""How strongly a policy is pulled towards the best fixed temperature; cross-validation chooses."""
FEATURES = 9
MOST_DOUBTFUL = 10
"""Effective texts below which an off-policy figure says little."""
_NEARBY = math.log(1.6)
_LEVEL_PULL = 10.0
"""The level was rated itself; the reward model may move it only a little."""
_PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0)
_CONTEXTS = 2000
_FOLDS = 5


class RewardModel(NamedTuple):
    """Tells a rating from the mean features of a text's tokens."""

    mean: FloatArray  # [features]
    deviation: FloatArray  # [features]
    weights: FloatArray  # [features]
    intercept: float
    correlation: float
    """With held-out ratings: 0 means that it learnt nothing."""

    def predict(self, features: FloatArray) -> FloatArray:
        """Ratings [n] of mean features [n, features]."""
        predicted: FloatArray = (features - self.mean) / self.deviation @ self.weights + self.intercept
        return predicted


@dataclass(frozen=True)
class Fitted:
    """A policy with what it was chosen from, and what it should bring."""

    policy: Policy
    fixed: float
    """The best single temperature."""
    pull: float
    reward: RewardModel
    expected: Mapping[str, float]
    """Rating that the reward model expects of the best fixed temperature, and of the policy."""
    off_policy: Mapping[str, Any]

    def write(self, path: Path, recipe: Mapping[str, Any]) -> None:
        """As the file that the sampler `learned` reads."""
        reward = {name: np.asarray(value).tolist() for name, value in self.reward._asdict().items()}
        document = {"policy": asdict(self.policy), "fixed": self.fixed, "pull": self.pull, "reward": reward}
        shown = {"expected": dict(self.expected), "off_policy": dict(self.off_policy), "recipe": dict(recipe)}
        write_json(path, {**document, **shown})


def token_features(log_probs: FloatArray, entropies: FloatArray, ranks: FloatArray, places: FloatArray) -> FloatArray:
    """What a reward may depend on, for every token: [..., 9] from arrays of one shape; places run from 0 to 1."""
    surprisal = np.minimum(-log_probs, 15.0)
    excess = surprisal - entropies
    rank = np.log(ranks)
    centred = places - 0.5
    columns = [
        surprisal,
        surprisal**2,
        excess,
        excess**2,
        rank,
        rank**2,
        surprisal * entropies,
        surprisal * centred,
        entropies,
    ]
    return np.stack(np.broadcast_arrays(*columns), axis=-1)


def item_features(item: StudyItem) -> FloatArray:
    """The mean features of an item's tokens [features]."""
    places = (np.arange(len(item.log_probs)) + 0.5) / len(item.log_probs)
    ranks = np.array(item.ranks, dtype=np.float64)
    features = token_features(np.array(item.log_probs), np.array(item.entropies), ranks, places)
    return np.asarray(features.mean(axis=0))


def fit_reward(features: FloatArray, ratings: FloatArray, groups: Sequence[str]) -> RewardModel:
    """Ridge regression whose penalty is chosen by cross-validation over prompts.

    Args:
        features: Mean features of each item [n, features].
        ratings: Mean rating of each item [n].
        groups: The prompt of each item: items of one prompt are never on both sides.

    Returns:
        The model, with its correlation on held-out prompts.
    """
    folds = _folds(groups)
    held = [
        np.concatenate([_ridge(features, ratings, folds != f, p).predict(features[folds == f]) for f in range(_FOLDS)])
        for p in _PENALTIES
    ]
    right = np.concatenate([ratings[folds == fold] for fold in range(_FOLDS)])
    errors = [float(((predicted - right) ** 2).mean()) for predicted in held]
    best = int(np.argmin(errors))
    correlation = float(np.corrcoef(held[best], right)[0, 1]) if np.ptp(held[best]) > 0 and np.ptp(right) > 0 else 0.0
    return _ridge(features, ratings, np.ones(len(ratings), dtype=bool), _PENALTIES[best])._replace(
        correlation=correlation
    )


def _ridge(features: FloatArray, ratings: FloatArray, chosen: Any, penalty: float) -> RewardModel:
    own, rated = features[chosen], ratings[chosen]
    mean, deviation = own.mean(axis=0), np.maximum(own.std(axis=0), 1e-9)
    table = (own - mean) / deviation
    weights = np.linalg.solve(table.T @ table + penalty * np.eye(table.shape[1]), table.T @ (rated - rated.mean()))
    return RewardModel(mean, deviation, weights, float(rated.mean()), 0.0)


def _folds(groups: Sequence[str]) -> Any:
    _, places = np.unique(np.asarray(groups), return_inverse=True)
    return np.random.default_rng(0).permutation(int(places.max()) + 1)[places] % _FOLDS


class Contexts(NamedTuple):
    """Steps of logged texts: what the model could have drawn there, by temperature."""

    entropies: FloatArray  # [steps]
    places: FloatArray  # [steps], from 0 to 1
    rewards: FloatArray  # [steps, temperatures], expected reward of the token
    prompts: Any  # [steps]


def expected_rewards(
    model: LanguageModel, items: Sequence[StudyItem], reward: RewardModel, *, seed: int, most: int = _CONTEXTS
) -> Contexts:
    """For steps of the items, the reward that each temperature of `GRID` should bring, summed over the vocabulary.

    Args:
        model: Whose samples were rated.
        items: Rated items with their tokens.
        reward: What a token is worth.
        seed: Chooses the steps.
        most: How many steps at most.
    """
    generator = np.random.default_rng(seed)
    chosen = generator.permutation(len(items))
    parts: list[tuple[FloatArray, FloatArray, FloatArray, list[str]]] = []
    steps = 0
    for place in chosen:
        item = items[place]
        tokens = torch.tensor([item.tokens])
        for scored in model.score(tokens, range(item.prefix, len(item.tokens))):
            log_probs = scored.log_probs[0].double().cpu()
            places = (np.array(scored.positions) - item.prefix + 0.5) / (len(item.tokens) - item.prefix)
            parts.append((*_rewards_of(log_probs, places, reward), [item.prompt] * len(places)))
            steps += len(places)
        if steps >= most:
            break
    entropies, places, rewards = (np.concatenate([part[k] for part in parts]) for k in range(3))
    return Contexts(entropies, places, rewards, np.array([name for part in parts for name in part[3]]))


def _rewards_of(
    log_probs: Tensor, places: FloatArray, reward: RewardModel
) -> tuple[FloatArray, FloatArray, FloatArray]:
    ordered = log_probs.sort(dim=-1, descending=True).values.numpy()  # [steps, V]
    entropies = -(np.exp(ordered) * np.maximum(ordered, -1e4)).sum(axis=1)
    ranks = np.arange(1, ordered.shape[1] + 1, dtype=np.float64)
    features = token_features(ordered, entropies[:, None], ranks, places[:, None])  # [steps, V, features]
    worth = ((features - reward.mean) / reward.deviation) @ reward.weights + reward.intercept
    columns = []
    for temperature in GRID:
        scaled = ordered / temperature
        weights = np.exp(scaled - scaled.max(axis=1, keepdims=True))
        columns.append((weights * worth).sum(axis=1) / weights.sum(axis=1))
    return entropies, places, np.stack(columns, axis=1)


def best_fixed(contexts: Contexts) -> float:
    """The single temperature of `GRID` with the highest expected reward."""
    return float(GRID[int(contexts.rewards.mean(axis=0).argmax())])


def policy_value(policy: Policy, contexts: Contexts, chosen: Any = slice(None)) -> float:
    """The mean reward that the policy should bring over steps."""
    logs = _log_temperatures(policy, contexts)[chosen]
    grid = np.log(GRID)
    above = np.clip(np.searchsorted(grid, logs), 1, len(grid) - 1)
    share = np.clip((logs - grid[above - 1]) / (grid[above] - grid[above - 1]), 0, 1)
    rewards, rows = contexts.rewards[chosen], np.arange(len(logs))
    return float((rewards[rows, above - 1] * (1 - share) + rewards[rows, above] * share).mean())


def _log_temperatures(policy: Policy, contexts: Contexts) -> FloatArray:
    steps = torch.tensor(contexts.places * (policy.length - policy.prefix) + policy.prefix)
    return np.asarray(policy.log_temperatures(torch.tensor(contexts.entropies), steps).numpy())


def improve(contexts: Contexts, start: Policy, pull: float, chosen: Any = slice(None)) -> Policy:
    """The policy with the highest expected reward, less `pull` times its squared distance from the start."""
    from scipy.optimize import minimize

    near = np.abs(np.log(GRID) - start.level) < _NEARBY
    scale = float(np.ptp(contexts.rewards[:, near], axis=1).mean()) or 1.0

    def loss(numbers: FloatArray) -> float:
        policy = _moved(start, numbers)
        distance = float((numbers * [_LEVEL_PULL, 1.0, 1.0]) @ numbers)
        return -policy_value(policy, contexts, chosen) / scale + pull * distance

    found = minimize(loss, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-3, "fatol": 1e-5, "maxiter": 400})
    return _moved(start, found.x)


def _moved(start: Policy, numbers: FloatArray) -> Policy:
    from dataclasses import replace

    level, entropy, position = (float(number) for number in numbers)
    return replace(start, level=start.level + level, by_entropy=entropy, by_position=position)


def fit_policy(model: LanguageModel, items: Sequence[StudyItem], ratings: Ratings, *, seed: int = 1) -> Fitted:
    """Learn a policy from a study's ratings.

    Args:
        model: Whose samples were rated.
        items: The study's, with tokens and what the model says of them.
        ratings: Of the items; human text and checks are not learnt from.
        seed: Of folds and resamples.

    Returns:
        The policy and what is expected of it.
    """
    rated = _mean_ratings(ratings)
    known = [item for item in items if item.item in rated and item.system not in (GOLD, CHECK) and item.log_probs]
    if len(known) < 4 * FEATURES:
        raise OffscriptError(
            f"{len(known)} rated samples are too few to learn from", next=f"rate at least {4 * FEATURES} samples"
        )
    known = _near_the_best(known, rated)
    features = np.stack([item_features(item) for item in known])
    values = np.array([rated[item.item] for item in known])
    prompts = [item.prompt for item in known]
    reward = fit_reward(features, values, prompts)
    contexts = expected_rewards(model, known, reward, seed=seed)
    fixed = _best_rated_temperature(known, values) or best_fixed(contexts)
    start = Policy(
        level=math.log(fixed),
        entropy_mean=float(contexts.entropies.mean()),
        entropy_deviation=float(contexts.entropies.std()) or 1.0,
        prefix=known[0].prefix,
        length=max(len(item.tokens) for item in known),
    )
    pull = _chosen_pull(contexts, start)
    policy = improve(contexts, start, pull)
    expected = {"fixed": policy_value(start, contexts), "policy": policy_value(policy, contexts)}
    off_policy = evaluate_off_policy(model, policy, known, values, reward, expected["policy"], seed=seed)
    return Fitted(policy, fixed, pull, reward, expected, off_policy)


def _near_the_best(items: Sequence[StudyItem], rated: Mapping[str, float]) -> list[StudyItem]:
    """Items of the settings in the upper half of the ratings: what fails altogether says little about the best.

    All items are kept where that would leave too few.
    """
    means: dict[str, list[float]] = {}
    for item in items:
        means.setdefault(item.system, []).append(rated[item.item])
    levels = {system: float(np.mean(values)) for system, values in means.items()}
    least = (max(levels.values()) + min(levels.values())) / 2
    near = [item for item in items if levels[item.system] >= least]
    return near if len(near) >= 4 * FEATURES else list(items)


def _best_rated_temperature(items: Sequence[StudyItem], ratings: FloatArray) -> float | None:
    """The top of a parabola through the ratings over log temperature, within what was rated.

    None where fewer than three of the settings are temperatures.
    """
    temperatures = np.array([getattr(parse_transform(item.system), "temperature", math.nan) for item in items])
    plain = np.array([item.system.startswith("tempered,") for item in items]) & np.isfinite(temperatures)
    logs = np.log(temperatures[plain])
    if len(np.unique(logs)) < 3:
        return None
    curve, slope, _ = np.polyfit(logs, ratings[plain], 2)
    lowest, highest = float(logs.min()), float(logs.max())
    if curve >= 0:
        tried = np.unique(logs)
        return math.exp(max(tried, key=lambda log: float(ratings[plain][logs == log].mean())))
    return math.exp(min(max(-slope / (2 * curve), lowest), highest))


def _mean_ratings(ratings: Ratings) -> dict[str, float]:
    """By item, after each rater's severity is taken off."""
    _, raters = np.unique(ratings.raters, return_inverse=True)
    severity = np.bincount(raters, ratings.values - ratings.values.mean()) / np.bincount(raters)
    names, places = np.unique(ratings.items, return_inverse=True)
    means = np.bincount(places, ratings.values - severity[raters]) / np.bincount(places)
    return dict(zip(names.tolist(), means.tolist(), strict=True))


def _chosen_pull(contexts: Contexts, start: Policy) -> float:
    """The pull with the highest reward on prompts that the policy was not fitted to."""
    folds = _folds(contexts.prompts)
    scores = []
    for pull in PULLS:
        kept = [(improve(contexts, start, pull, folds != fold), folds == fold) for fold in range(_FOLDS)]
        scores.append(np.mean([policy_value(policy, contexts, held) for policy, held in kept]))
    return PULLS[int(np.argmax(scores))]


def evaluate_off_policy(
    model: LanguageModel,
    policy: Policy,
    items: Sequence[StudyItem],
    ratings: FloatArray,
    reward: RewardModel,
    expected: float,
    *,
    seed: int,
) -> dict[str, Any]:
    """The policy's mean rating from texts that others drew, weighted by how much likelier the policy makes them.

    Args:
        model: Whose texts they are.
        policy: What is evaluated.
        items: The texts.
        ratings: Their mean ratings.
        reward: The reward model.
        expected: What the reward model expects of the policy.
        seed: Of the resamples.

    Returns:
        `weighted`, the weighted mean rating, and `doubly_robust`, what the reward model expects plus its weighted
        error, each with an interval over texts; `effective`, how many texts the weights amount to. Below ten of these
        the figures say little, and fresh samples must decide.
    """
    logs = np.array([_log_weight(model, policy, item) for item in items])
    weights = np.exp(np.clip(logs - logs.max(), -50, 0))
    surprise = ratings - reward.predict(np.stack([item_features(item) for item in items]))

    def weighted(values: FloatArray) -> Estimate:
        def figure(shares: FloatArray) -> FloatArray:
            mass = shares * weights
            means: FloatArray = (mass @ values) / np.maximum(mass.sum(axis=1), 1e-300)
            return means

        return bootstrap(figure, [len(items)], generator=np.random.default_rng(seed))

    plain, error = weighted(ratings), weighted(surprise)
    return {
        "weighted": plain.value,
        "weighted_ci": [plain.interval.lower, plain.interval.upper],
        "doubly_robust": expected + error.value,
        "doubly_robust_ci": [expected + error.interval.lower, expected + error.interval.upper],
        "effective": float(weights.sum() ** 2 / (weights**2).sum()),
    }


def _log_weight(model: LanguageModel, policy: Policy, item: StudyItem) -> float:
    """The logarithm of how much likelier a text is under the policy than under the sampler that drew it."""
    transform, total = parse_transform(item.system), 0.0
    for scored in model.score(torch.tensor([item.tokens]), range(item.prefix, len(item.tokens))):
        log_probs = scored.log_probs[0].double().cpu()
        entropies = -(log_probs.exp() * log_probs.clamp(min=-1e4)).sum(dim=-1)
        steps = torch.tensor(list(scored.positions), dtype=torch.float64)
        temperatures = policy.log_temperatures(entropies, steps).exp().unsqueeze(-1)
        gold = torch.tensor(item.tokens)[list(scored.positions)].unsqueeze(-1)
        mine = (log_probs / temperatures).log_softmax(dim=-1).gather(-1, gold)
        drawn = transform(log_probs).gather(-1, gold)
        total += float((mine - drawn).clamp(-30, 30).sum())
    return total


def rerank(items: Sequence[Sequence[StudyItem]], reward: RewardModel) -> list[StudyItem]:
    """The baseline: of several texts of one prompt, the one that the reward model likes best."""
    best = []
    for group in items:
        scores = reward.predict(np.stack([item_features(item) for item in group]))
        best.append(group[int(scores.argmax())])
    return best


def read_reward(path: Path) -> RewardModel:
    """The reward model of a policy's file, for a re-ranker."""
    with explaining(f"{path} holds no reward model", next="make one with offscript study fit", also=(OSError,)):
        known = json.loads(path.read_text(encoding="utf-8"))["reward"]
        parts = [np.array(known[name], dtype=np.float64) for name in ("mean", "deviation", "weights")]
        if len({part.shape for part in parts}) > 1 or parts[0].ndim != 1:
            raise ValueError("mean, deviation and weights are not lists of one length")
        mean, deviation, weights = parts
        return RewardModel(mean, deviation, weights, float(known["intercept"]), float(known["correlation"]))


def choose_setting(ratings: Ratings, *, baseline: str | None = None, folds: int = 10, seed: int = 1) -> dict[str, Any]:
    """The best-rated setting, and what choosing by ratings gains with raters who had no part in the choice.

    Args:
        ratings: Of several systems, each rated by the same raters.
        baseline: The system that the choice is compared with; the mean of all systems without it.
        folds: Parts of the raters, each held out once.
        seed: Of the parts.

    Returns:
        The choice of all raters, the choices of the folds, and the mean gain over held-out raters with its interval.
    """
    raters, systems = np.unique(ratings.raters), ratings.names
    table = np.full((len(raters), len(systems)), np.nan)
    for place, name in enumerate(systems):
        own = ratings.of(name)
        for rater, value in zip(own.raters, own.values, strict=True):
            table[np.searchsorted(raters, rater), place] = value
    whole = table[~np.isnan(table).any(axis=1)]
    if len(whole) < 2 * folds:
        raise OffscriptError(f"{len(whole)} raters rated every system", next=f"need {2 * folds}, or fewer folds")
    parts = np.random.default_rng(seed).permutation(len(whole)) % folds
    gains, choices = np.empty(len(whole)), []
    for part in range(folds):
        best = int(whole[parts != part].mean(axis=0).argmax())
        choices.append(systems[best])
        held = whole[parts == part]
        reference = held.mean(axis=1) if baseline is None else held[:, systems.index(baseline)]
        gains[parts == part] = held[:, best] - reference
    gain: Estimate = mean_interval(gains, share=False)
    return {
        "choice": systems[int(whole.mean(axis=0).argmax())],
        "choices_of_folds": choices,
        "raters": len(whole),
        "gain": gain.value,
        "ci": [gain.interval.lower, gain.interval.upper],
        "baseline": baseline or "mean of all systems",
        "beyond_chance": gain.interval.lower > 0,
    }
