"""A taste that is known is learnt: the reward, the policy, and the choice among settings."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from offscript.corpora.ratings import ratings_of, read_ratings
from offscript.corpora.vocabularies import WordVocabulary
from offscript.errors import OffscriptError
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.sampling.transforms import parse_transform
from offscript.sampling.transforms.learned import Policy
from offscript.studies.design import StudyItem, read_items
from offscript.studies.drawing import draw_rating_study
from offscript.studies.policy import (
    GRID,
    Contexts,
    best_fixed,
    choose_setting,
    fit_policy,
    fit_reward,
    improve,
    item_features,
    policy_value,
    rerank,
)

WORDS = [f"w{n}" for n in range(60)]


def contexts(seed: int = 1) -> Contexts:
    """Steps whose best log-temperature is -0.4 times the standardised entropy."""
    rng = np.random.default_rng(seed)
    entropies, places = rng.normal(3, 1, 600), rng.random(600)
    best = -0.4 * np.clip(entropies - 3, -3, 3)
    rewards = -((np.log(GRID)[None, :] - best[:, None]) ** 2)
    return Contexts(entropies, places, rewards, np.repeat([f"p{n}" for n in range(60)], 10))


def test_the_best_policy_is_found_and_beats_every_fixed_temperature() -> None:
    steps = contexts()
    start = Policy(level=math.log(best_fixed(steps)), entropy_mean=3.0)
    policy = improve(steps, start, pull=1e-4)
    assert policy.by_entropy == pytest.approx(-0.4, abs=0.05)
    assert abs(policy.by_position) < 0.05
    assert policy_value(policy, steps) > policy_value(start, steps) + 0.1


def test_a_strong_pull_keeps_the_fixed_temperature() -> None:
    steps = contexts()
    start = Policy(level=math.log(best_fixed(steps)), entropy_mean=3.0)
    pulled = improve(steps, start, pull=1e4)
    assert pulled.by_entropy == pytest.approx(0.0, abs=0.01)


def test_the_reward_is_learnt_and_noise_is_not() -> None:
    rng = np.random.default_rng(1)
    features, groups = rng.normal(size=(300, 9)), [f"p{n % 50}" for n in range(300)]
    learnt = fit_reward(features, features[:, 0] - features[:, 3] + rng.normal(0, 0.5, 300), groups)
    assert learnt.correlation > 0.9
    assert learnt.predict(np.eye(9)[:1])[0] > learnt.predict(np.eye(9)[3:4])[0] + 1
    assert abs(fit_reward(features, rng.normal(size=300), groups).correlation) < 0.25


@pytest.fixture(scope="module")
def model() -> LSTMLanguageModel:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        network = LSTMLanguageModel(WordVocabulary(["<unk>", "<eos>", *WORDS]), LSTMSettings(hidden=8, embedding=8))
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(6)  # so that distributions differ from step to step
    return network.eval()


def test_a_policy_is_fitted_to_a_study(model: LSTMLanguageModel, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    text = [" ".join(rng.choice(WORDS, 14)) for _ in range(60)]
    settings = [f"tempered,temperature={t}" for t in (0.5, 0.8, 1.2)]
    draw_rating_study(
        model, text, settings, tmp_path / "s", samples=30, prefix=3, shortest=8, longest=14, gold=True, seed=1
    )
    items = read_items(tmp_path / "s")
    assert {item.system for item in items} == {*settings, "gold", "check"}
    drawn = [item for item in items if item.system in settings]
    assert all(8 <= len(item.tokens) <= 14 and len(item.log_probs) == len(item.tokens) - 3 for item in drawn)
    rows = [
        {"item": item.item, "rater": f"r{rater}", "rating": np.mean(item.log_probs) + rng.normal(0, 0.1)}
        for item in drawn
        for rater in range(3)
    ]
    fitted = fit_policy(model, items, ratings_of(rows), seed=1)
    assert fitted.reward.correlation > 0.8
    assert fitted.fixed <= 0.55  # raters like what is probable
    assert fitted.expected["policy"] >= fitted.expected["fixed"] - 1e-6
    assert fitted.off_policy["effective"] >= 1
    fitted.write(tmp_path / "policy.json", {"model": "a"})
    assert str(parse_transform(f"learned,path={tmp_path / 'policy.json'}")).startswith("learned")
    groups = [drawn[n : n + 3] for n in range(0, 30, 3)]
    chosen = rerank(groups, fitted.reward)
    assert np.mean([np.mean(i.log_probs) for i in chosen]) > np.mean([np.mean(i.log_probs) for g in groups for i in g])
    with pytest.raises(OffscriptError, match="too few to learn from"):
        fit_policy(model, items[:5], ratings_of(rows), seed=1)


def test_features_are_means_over_tokens() -> None:
    item = StudyItem(item="a", system="s", text="t", log_probs=[-1.0, -3.0], entropies=[2.0, 2.0], ranks=[1, 8])
    features = item_features(item)
    assert features.shape == (9,)
    assert 2.0 in features


def test_choosing_among_the_settings_of_the_min_p_study(data_folder: Path) -> None:
    path = data_folder / "minp-user-study" / "ratings.csv.xz"
    ratings = read_ratings(path, where=["study=v2", "passed_attention_check=1"])
    found = choose_setting(ratings)
    assert found["choice"] == "high/1.0/min-p"
    assert found["beyond_chance"]
    assert not choose_setting(ratings, baseline="high/1.0/min-p")["beyond_chance"]


def test_nothing_is_gained_by_choosing_among_equals() -> None:
    false_alarms = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        rows = [
            {"item": f"s{s}", "rater": f"r{r}", "system": f"s{s}", "rating": float(rng.normal())}
            for r in range(40)
            for s in range(6)
        ]
        false_alarms += choose_setting(ratings_of(rows), seed=seed)["beyond_chance"]
    assert false_alarms <= 6
