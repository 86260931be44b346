"""Whether the learnt sampler recovers a known taste, and what choosing by ratings gains on the min-p study.

    python tools/learned_sampler.py [--samples 60] [--fresh 200] [--corpus FILE] [--minp FOLDER]

Raters are simulated: their taste is a formula, so that every text's true rating is known. The study is drawn with seven
temperatures; a policy and a re-ranker are fitted to noisy ratings; fresh texts are judged by the true taste.
"""

import argparse
import math
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from offscript.corpora.ratings import ratings_of, read_ratings
from offscript.corpora.readers import read_corpus
from offscript.measures.ratings.estimation import without_failed
from offscript.models import load_model
from offscript.models.language_model import LanguageModel
from offscript.statistics import mean_interval
from offscript.studies.design import StudyItem, read_items
from offscript.studies.drawing import draw_rating_study
from offscript.studies.policy import choose_setting, fit_policy, rerank

FloatArray = npt.NDArray[np.float64]
TEMPERATURES = (0.4, 0.55, 0.7, 0.85, 1.0, 1.25, 1.6)
RATERS, PER_ITEM = 30, 5


def _of(item: StudyItem) -> tuple[FloatArray, FloatArray]:
    return -np.array(item.log_probs), np.array(item.entropies)


def fixed_taste(item: StudyItem) -> float:
    """Surprisal near three quarters of the entropy everywhere, as one temperature gives it."""
    surprisal, entropy = _of(item)
    return 4.5 - 0.35 * float(((surprisal - 0.75 * entropy) ** 2).mean())


def even_taste(item: StudyItem) -> float:
    """Two nats of surprisal at every step, however sure the model is: no single temperature gives that."""
    surprisal, _ = _of(item)
    return 4.5 - 0.35 * float(((surprisal - 2) ** 2).mean())


def rated(items: list[StudyItem], taste: Callable[[StudyItem], float], seed: int) -> list[dict[str, object]]:
    """Ratings from 0 to 5 by raters of different severity, with noise of one point."""
    rng = np.random.default_rng(seed)
    severity = rng.normal(0, 0.4, RATERS)
    rows = []
    for item in items:
        for rater in rng.permutation(RATERS)[:PER_ITEM]:
            value = float(np.clip(np.floor(taste(item) + severity[rater] + rng.normal(0, 1) + 0.5), 0, 5))
            rows.append({"item": item.item, "rater": f"r{rater}", "system": item.system, "rating": value})
    return rows


def drawn(model: LanguageModel, corpus: str, samplers: list[str], samples: int, seed: int) -> list[StudyItem]:
    """Items of each sampler."""
    with tempfile.TemporaryDirectory() as folder:
        draw_rating_study(
            model, read_corpus([corpus]), samplers, Path(folder) / "s", samples=samples, prefix=6, shortest=16,
            longest=28, gold=False, checks=0, seed=seed,
        )  # fmt: skip
        return sorted(read_items(Path(folder) / "s"), key=lambda item: (item.system, int(item.item.partition("-")[2])))


def recover(model: LanguageModel, corpus: str, name: str, samples: int, fresh: int) -> None:
    """Fit to simulated raters, and judge fresh texts by their true taste."""
    taste = {"fixed": fixed_taste, "even": even_taste}[name]
    settings = [f"tempered,temperature={t}" for t in TEMPERATURES]
    logged = drawn(model, corpus, settings, samples, seed=1)
    fitted = fit_policy(model, logged, ratings_of(rated(logged, taste, seed=1)), seed=1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.json"
        fitted.write(path, {})
        best_known = f"tempered,temperature={fitted.fixed:.4f}"
        level = f"tempered,temperature={math.exp(fitted.policy.level):.4f}"  # the policy without its slopes
        fixed_settings = dict.fromkeys([*settings, best_known, level])
        new = drawn(model, corpus, [*fixed_settings, f"learned,path={path}"], fresh, seed=2)
    scores = {s: np.array([taste(i) for i in new if i.system == s]) for s in dict.fromkeys(i.system for i in new)}
    learned = next(s for s in scores if s.startswith("learned"))
    fixed = {s: values for s, values in scores.items() if s.startswith("tempered")}
    best = max(fixed, key=lambda s: float(fixed[s].mean()))
    worst = min(float(values.mean()) for values in fixed.values())
    pool = [item for item in new if item.system == best_known]
    groups = [pool[k : k + 4] for k in range(0, len(pool) - 3, 4)]
    chosen = np.array([taste(item) for item in rerank(groups, fitted.reward)])
    print(f"\ntaste {name}: reward model correlates {fitted.reward.correlation:.2f} with held-out ratings")
    policy = fitted.policy
    slopes = f"by entropy {policy.by_entropy:+.2f}, by position {policy.by_position:+.2f}"
    print(f"policy: T = {math.exp(policy.level):.2f}, {slopes}")
    print("off-policy:", {key: np.round(value, 2).tolist() for key, value in fitted.off_policy.items()})
    for label, values in ((f"best fixed, {best}", fixed[best]), ("learnt", scores[learned]), ("best of 4", chosen)):
        found = mean_interval(values, share=False)
        print(f"{label:36} {found.value:.3f} ({found.interval.lower:.3f} … {found.interval.upper:.3f})")
    size = min(len(scores[learned]), len(fixed[best]))
    gain = mean_interval(scores[learned][:size] - fixed[best][:size], share=False)
    spread = float(fixed[best].mean()) - worst
    bounds = f"({gain.interval.lower:+.3f} … {gain.interval.upper:+.3f})"
    print(f"learnt minus best fixed {gain.value:+.3f} {bounds}; best minus worst fixed {spread:.3f}")
    print(f"shortfall {max(0.0, -gain.value) / spread:.1%} of the regret of the worst fixed setting, at most "
          f"{max(0.0, -gain.interval.lower) / spread:.1%}")  # fmt: skip


def minp(folder: Path) -> None:
    """Human ratings: the curve over temperature, and what a choice by other raters gains."""
    for study in ("v2", "v3"):
        ratings = without_failed(read_ratings(folder / "ratings.csv.xz", where=[f"study={study}"]))
        print(f"\nmin-p study {study}, mean quality by temperature")
        for setting in ("low", "high"):
            for sampler in ("temperature-only", "top-p", "min-p"):
                means = [ratings.of(f"{setting}/{t}.0/{sampler}").values.mean() for t in (1, 2, 3)]
                print(f"{setting:5} {sampler:18} " + " ".join(f"{mean:.2f}" for mean in means))
        for baseline in (None, "high/1.0/temperature-only", "high/1.0/min-p"):
            found = choose_setting(ratings, baseline=baseline)
            bounds = f"({found['ci'][0]:+.2f} … {found['ci'][1]:+.2f})"
            told = "beyond chance" if found["beyond_chance"] else "not beyond chance"
            print(f"choice {found['choice']} against {found['baseline']}: {found['gain']:+.2f} {bounds}, {told}")


def main() -> None:
    """All of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--samples", type=int, default=60)
    parser.add_argument("--fresh", type=int, default=200)
    parser.add_argument("--corpus", default="../shared/data/emnlp2017-wmt-news/test_emnlp.txt.xz")
    parser.add_argument("--minp", type=Path, default=Path("../shared/data/minp-user-study"))
    parser.add_argument("--taste", nargs="*", default=["fixed", "even"])
    asked = parser.parse_args()
    if asked.minp.is_dir():
        minp(asked.minp)
    model = load_model("offscript/news")
    for name in asked.taste:
        recover(model, asked.corpus, name, asked.samples, asked.fresh)


if __name__ == "__main__":
    main()
