"""Searches, draws and measured properties against the same written plainly, row by row."""

import hashlib
import math
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from offscript._catalogue import PROPERTIES
from offscript.corpora.vocabularies import WordVocabulary
from offscript.errors import OffscriptError
from offscript.models.tabular import Tabular
from offscript.sampling import generation
from offscript.sampling.beams import beam_search
from offscript.sampling.generation import generate, generate_each
from offscript.sampling.randomness import Draws, as_normal, draw
from offscript.sampling.transforms.learned import Policy
from offscript.sampling.transforms.parsing import parse_transform
from offscript.sampling.transforms.properties import check_properties, random_distributions

SIZE, LENGTH = 6, 5


def table(seed: int, length: int = LENGTH, end: str | None = "<eos>") -> Tabular:
    """Random next-token distributions after every history."""
    generator = torch.Generator().manual_seed(seed)
    names = ["<eos>" if end else "z", *"abcde"[: SIZE - 1]]
    following = {
        history: (2 * torch.randn(SIZE, generator=generator)).softmax(0).double().tolist()
        for time in range(length)
        for history in product(range(SIZE), repeat=time)
    }
    return Tabular(WordVocabulary(names, end=end, unknown=None), length, following)


def search(model: Tabular, prefix: list[int], length: int, beams: int, penalty: float) -> tuple[list[int], float]:
    """Beam search for one row, with lists."""

    def log_probs(history: list[int]) -> list[float]:
        log_probs, _ = model.start(1, torch.tensor([history]) if history else None)
        return log_probs[0].tolist()

    open_, done = [(0.0, prefix)], []
    for step in range(len(prefix), length):
        every = [(total + p, [*row, token]) for total, row in open_ for token, p in enumerate(log_probs(row))]
        best = sorted(every, reverse=True)[: 2 * beams]
        ended = [row[-1] == 0 or step + 1 == length for _, row in best]
        scale = (step + 1 - len(prefix)) ** penalty
        done += [(total / scale, row) for (total, row), over in zip(best[:beams], ended, strict=False) if over]
        done = sorted(done, reverse=True)[:beams]
        open_ = [each for each, over in zip(best, ended, strict=True) if not over][:beams]
        if not open_ or (len(done) == beams and open_[0][0] / scale <= done[-1][0]):
            break
    return done[0][1], done[0][0]


@pytest.mark.parametrize("penalty", [0.0, 0.7, 2.0])
@pytest.mark.parametrize("beams", [1, 2, 3])
@pytest.mark.parametrize("begun", [0, 1, 2])
def test_beams_are_those_of_a_search_with_lists(beams: int, penalty: float, begun: int) -> None:
    model = table(beams)
    prefixes = [list(row) for row in product(range(1, SIZE), repeat=begun)]
    expected = [search(model, prefix, LENGTH, beams, penalty) for prefix in prefixes]
    asked = torch.tensor(prefixes) if begun else None
    counted: list[int] = []
    found = beam_search(
        model,
        len(prefixes),
        LENGTH,
        beams=beams,
        length_penalty=penalty,
        prefixes=asked,
        batch_size=7,
        progress=counted.append,
    )
    assert found.rows() == [row for row, _ in expected]
    assert found.scores.tolist() == pytest.approx([score for _, score in expected], abs=1e-5)
    assert sum(counted) == len(prefixes)
    assert max(counted) <= 7


def test_beams_by_default_and_too_many_of_them() -> None:
    model = table(5)
    with pytest.raises(OffscriptError, match="4 beams of 3 tokens after a prefix of 0"):
        beam_search(model, 1, 3)
    for beams in (0, 4):
        with pytest.raises(OffscriptError, match=f"{beams} beams"):
            beam_search(model, 1, 3, beams=beams)
    assert len(beam_search(model, 1, 3, beams=3)) == 1
    with pytest.raises(OffscriptError, match="after a prefix of 2"):
        beam_search(model, 1, 2, beams=2, prefixes=torch.tensor([[1, 2]]))
    assert beam_search(model, 1, 3, beams=2, prefixes=torch.tensor([[1, 2]])).tokens.shape == (1, 3)


def by_hand(model: Tabular, seed: int, row: int, prefix: list[int], length: int, sampler: str | None) -> list[int]:
    """One sequence, token by token, with the numbers that belong to its row."""
    tokens, draws = [*prefix], Draws(seed)
    transform = None if sampler is None else parse_transform(sampler)
    while len(tokens) < length and 0 not in tokens:
        log_probs, _ = model.start(1, torch.tensor([tokens]) if tokens else None)
        if transform is not None:
            log_probs = transform(log_probs)
        tokens.append(int(draw(log_probs, draws.uniform(len(tokens), row, 1))))
    return tokens


@pytest.mark.parametrize("begun", [0, 1])
@pytest.mark.parametrize(("batch", "first_row"), [(512, 0), (3, 5)])
def test_sequences_are_those_drawn_one_by_one(begun: int, batch: int, first_row: int) -> None:
    model, rows = table(9), 11
    samplers = [None, "top-k,k=2", "tempered,temperature=2"]
    prefixes = [[1 + row % 5] * begun for row in range(rows)]
    asked, counted = torch.tensor(prefixes) if begun else None, []
    transforms = [None if each is None else parse_transform(each) for each in samplers]
    together = generate_each(
        model,
        transforms,
        rows,
        LENGTH,
        seed=4,
        prefixes=asked,
        first_row=first_row,
        batch_size=batch,
        progress=counted.append,
    )
    assert sum(counted) == 3 * rows
    for sampler, transform, drawn in zip(samplers, transforms, together, strict=True):
        expected = [by_hand(model, 4, first_row + row, prefixes[row], LENGTH, sampler) for row in range(rows)]
        assert drawn.rows() == expected
        ended = [row + [0] * (LENGTH - len(row)) for row in expected]
        assert drawn.tokens.tolist() == ended
        alone = generate(
            model, rows, LENGTH, seed=4, transform=transform, prefixes=asked, first_row=first_row, batch_size=batch
        )
        assert alone.tokens.tolist() == ended


def test_a_whole_prefix_leaves_nothing_to_draw() -> None:
    found = generate(table(9, 2), 2, 2, seed=1, prefixes=torch.tensor([[1, 2], [0, 3]]))
    assert found.tokens.tolist() == [[1, 2], [0, 3]]
    assert found.lengths.tolist() == [2, 1]


def test_a_model_without_an_end_goes_on() -> None:
    found = generate(table(9, end=None), 50, LENGTH, seed=1)
    assert found.lengths.tolist() == [LENGTH] * 50
    assert (found.tokens == 0).any()


@pytest.mark.parametrize(("rows", "length"), [(0, 1), (1, 0)])
def test_nothing_to_draw_is_refused(rows: int, length: int) -> None:
    with pytest.raises(OffscriptError, match="ask for at least one of each"):
        generate(table(1, 1), rows, length, seed=1)


def test_too_much_to_draw_and_prefixes_that_do_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model = table(1, 2)
    monkeypatch.setattr(generation, "MOST_TOKENS", 8)
    assert len(generate(model, 4, 2, seed=1)) == 4
    with pytest.raises(OffscriptError, match="fewer, or in parts"):
        generate(model, 9, 1, seed=1)
    for prefixes in (torch.tensor([1, 2]), torch.tensor([[1]]), torch.tensor([[1, 1, 1]] * 2)):
        with pytest.raises(OffscriptError, match="one prefix per sequence"):
            generate(model, 2, 2, seed=1, prefixes=prefixes)
    for token in (-1, SIZE):
        with pytest.raises(OffscriptError, match="outside the vocabulary"):
            generate(model, 1, 2, seed=1, prefixes=torch.tensor([[token]]))
    assert generate(model, 1, 2, seed=1, prefixes=torch.tensor([[SIZE - 1]])).tokens[0, 0] == SIZE - 1
    assert generate(model, 1, 2, seed=1, prefixes=torch.tensor([[0]])).tokens.tolist() == [[0, 0]]
    assert len(generate(model, 2, 2, seed=1, prefixes=torch.zeros(2, 0, dtype=torch.long))) == 2
    with pytest.raises(OffscriptError, match="no transform"):
        generate_each(model, [], 1, 1, seed=1)
    assert generation.MOST_TOKENS == 8


def test_noise_belongs_to_rows() -> None:
    rows = torch.tensor([2, 5])
    expected = as_normal(Draws(3).uniform(0, 0, 6, 4, stream=11))[rows].float()
    assert torch.equal(generation._normal(Draws(3), rows, 4), expected)
    assert torch.isfinite(as_normal(torch.zeros(1, dtype=torch.float64))).all()
    assert float(as_normal(torch.tensor([0.5], dtype=torch.float64))) == 0.0


@given(rows=st.integers(1, 40))
def test_a_batch_has_sixteen_rows_or_more(rows: int) -> None:
    assert generation._filled_up(rows).tolist() == [*range(rows), *[rows - 1] * (16 - rows)]


def test_a_server_gets_a_seed_of_its_own_for_each_row() -> None:
    seeds = [generation._server_seed(7, row) for row in range(50)] + [generation._server_seed(8, 0)]
    assert len(set(seeds)) == 51
    assert all(0 <= seed < 1 << 31 for seed in seeds)
    assert max(seeds) >= 1 << 30
    assert seeds[3] == int(hashlib.sha256(b"7 3").hexdigest()[:8], 16) // 2


def test_a_policy_by_hand() -> None:
    policy = Policy(0.1, 0.2, 0.3, 3.0, 2.0, prefix=10, length=50)
    # log T = level + by_entropy (H - mean) / deviation + by_position (u - 1/2)
    assert float(policy.log_temperatures(torch.tensor(4.0), 20)) == pytest.approx(0.1 + 0.2 * 0.5 + 0.3 * (0.25 - 0.5))
    assert float(policy.log_temperatures(torch.tensor(4.0), 5)) == pytest.approx(0.1 + 0.1 - 0.15)
    assert float(policy.log_temperatures(torch.tensor(4.0), 99)) == pytest.approx(0.1 + 0.1 + 0.15)
    assert float(policy.log_temperatures(torch.tensor(99.0), 30)) == pytest.approx(0.1 + 0.2 * 3)
    assert float(policy.log_temperatures(torch.tensor(-99.0), 30)) == pytest.approx(0.1 - 0.2 * 3)
    assert float(Policy(9.0).log_temperatures(torch.tensor(3.0), 0)) == pytest.approx(math.log(3.0))
    assert float(Policy(-9.0).log_temperatures(torch.tensor(3.0), 0)) == pytest.approx(math.log(0.2))
    plain = Policy(0.5, 1.0, 1.0)
    assert float(plain.log_temperatures(torch.tensor(3.5), 25)) == pytest.approx(1.0)
    assert float(Policy(0.0, 0.0, 1.0, length=1).log_temperatures(torch.tensor(3.0), 1)) == pytest.approx(0.5)


def rows_of(*probabilities: list[float]) -> torch.Tensor:
    return torch.tensor(probabilities, dtype=torch.float64).log()


def broken(before: torch.Tensor, after: torch.Tensor) -> set[str]:
    return {found.violated for found in check_properties(lambda _: after, before).counterexamples}


FLAT, STEEP = [0.3, 0.3, 0.25, 0.15], [0.5, 0.3, 0.15, 0.05]


def test_a_property_is_broken_where_it_should_be() -> None:
    before = rows_of(STEEP)
    assert broken(before, before) == set()
    assert broken(before, before / 0.5) == set()
    assert broken(before, before / 2.0) == {PROPERTIES[0]}
    swapped = check_properties(lambda _: rows_of([0.05, 0.6, 0.3, 0.05]), before)
    example = next(found for found in swapped.counterexamples if "order" in found.violated)
    assert example.tokens == (0, 1)
    assert example.before == pytest.approx((0.5, 0.3))
    assert example.after == pytest.approx((0.05, 0.6))
    assert swapped.rows == 1
    bent = check_properties(lambda _: rows_of([0.7, 0.16, 0.13, 0.01]), before)
    example = next(found for found in bent.counterexamples if "slope" in found.violated)
    assert (example.tokens[0], example.tokens[2]) == (0, 3)
    assert broken(before, rows_of([0.7, 0.3, 0.0, 0.0])) == set()  # two values have no slope to change
    assert broken(before, rows_of([0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95, 0.0])) == set()
    assert broken(rows_of([0.25] * 4), rows_of([0.25] * 4)) == set()
    ties = broken(rows_of([0.4, 0.4, 0.2]), rows_of([0.6, 0.25, 0.15]))
    assert not any("order" in name for name in ties)


def test_the_worst_row_is_the_example() -> None:
    before = rows_of(STEEP, FLAT, STEEP)
    after = rows_of([0.45, 0.3, 0.17, 0.08], FLAT, [0.3, 0.3, 0.25, 0.15])
    (found,) = [
        each for each in check_properties(lambda _: after, before).counterexamples if "entropy" in each.violated
    ]
    assert found.row == 2
    assert found.tokens == (0, 1, 2)
    was, became = (-sum(p * math.log(p) for p in row) for row in (STEEP, FLAT))
    assert found.why == f"entropy {was:.4f} became {became:.4f}"


def test_a_rise_of_entropy_that_changes_next_to_nothing_is_rounding() -> None:
    before = rows_of(STEEP)
    barely = before / (1 + 1e-11)
    assert broken(before, barely) == set()
    reversed_ = rows_of(STEEP[::-1])  # as much entropy, another distribution
    assert any("entropy" in name for name in broken(before, reversed_))


def test_random_distributions_run_from_flat_to_sharp() -> None:
    drawn = random_distributions(300, 50, 1)
    assert drawn.shape == (300, 50)
    assert drawn.dtype == torch.float64
    assert torch.allclose(drawn.exp().sum(dim=1), torch.ones(300, dtype=torch.float64))
    entropies = -(drawn.exp() * drawn).sum(dim=1)
    assert float(entropies.max()) > 3.89  # log 50 is 3.912
    assert float(entropies.min()) < 0.2
    scales = (drawn - drawn.mean(dim=1, keepdim=True)).std(dim=1)
    assert float(scales.min()) == pytest.approx(math.exp(-2.3), rel=0.3)
    assert float(scales.max()) == pytest.approx(math.exp(2.3), rel=0.3)
    assert not torch.equal(random_distributions(3, 50, 1), random_distributions(3, 50, 2))
    report = check_properties("nucleus,p=0.9")
    assert report.rows == 500
    with pytest.raises(OffscriptError, match="return"):
        check_properties(lambda rows: rows[:1])
    with pytest.raises(OffscriptError, match="return"):
        check_properties(lambda rows: rows * math.nan)
