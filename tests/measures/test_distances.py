import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy

from offscript.errors import OffscriptError
from offscript.measures import distances as module
from offscript.measures.distances import DISTANCES, check_log_probabilities, distances

ALL = list(DISTANCES)
SYMMETRIC = [name for name, distance in DISTANCES.items() if distance.symmetric]


def logs(*rows: list[float]) -> torch.Tensor:
    return torch.tensor(rows, dtype=torch.float64).log()


def brute_force(log_p: torch.Tensor, log_q: torch.Tensor) -> dict[str, np.ndarray]:
    """Every distance by its definition, in float64 and by scipy where it has one."""
    p, q = log_p.double().exp().numpy(), log_q.double().exp().numpy()
    with np.errstate(divide="ignore"):
        return {
            "tv": 0.5 * np.abs(p - q).sum(-1),
            "js": np.nan_to_num(jensenshannon(p, q, axis=-1)) ** 2,  # scipy takes the root of rounding below zero
            "gd": (p.argmax(-1) != q.argmax(-1)).astype(float),
            "kl": entropy(p, q, axis=-1),
            "kl_reverse": entropy(q, p, axis=-1),
            "hellinger": np.sqrt(0.5 * ((np.sqrt(p) - np.sqrt(q)) ** 2).sum(-1)),
        }


@st.composite
def pairs(draw: st.DrawFn) -> tuple[torch.Tensor, torch.Tensor]:
    """Two tables of distributions: smooth, extreme, holding zeros, one-hot, and close to each other."""
    rows, size = draw(st.integers(1, 4)), draw(st.integers(1, 9))
    weights = hnp.arrays(np.float64, (rows, size), elements=st.floats(0, 1) | st.sampled_from([0.0, 1e-30, 1e-12, 1.0]))
    first = draw(weights)
    second = draw(weights | st.just(first * (1 + 1e-4 * np.arange(size))))
    tables = []
    for table in (first, second):
        table[table.sum(1) == 0, draw(st.integers(0, size - 1))] = 1.0
        tables.append(torch.tensor(table / table.sum(1, keepdims=True)).log())
    return tables[0], tables[1]


@given(pairs())
def test_float64_equals_the_definitions(pair: tuple[torch.Tensor, torch.Tensor]) -> None:
    found, expected = distances(*pair, ALL), brute_force(*pair)
    for name in ("tv", "gd", "hellinger"):
        np.testing.assert_allclose(found[name], expected[name], atol=1e-12, rtol=1e-9)
    for name in ("js", "kl", "kl_reverse"):  # scipy's own rounding bounds the comparison near zero
        np.testing.assert_allclose(found[name], np.maximum(expected[name], 0), atol=1e-9, rtol=1e-9)


@given(pairs())
def test_float32_equals_the_definitions(pair: tuple[torch.Tensor, torch.Tensor]) -> None:
    single = [side.float() for side in pair]
    found, expected = distances(*single, ALL), brute_force(*single)
    for name in ALL:
        assert found[name].dtype == torch.float32
        np.testing.assert_allclose(found[name], np.maximum(expected[name], 0), atol=2e-5, rtol=2e-5)


@given(pairs())
def test_ranges_symmetry_and_identity(pair: tuple[torch.Tensor, torch.Tensor]) -> None:
    for log_p, log_q in (pair, [side.float() for side in pair]):
        there, back, same = distances(log_p, log_q, ALL), distances(log_q, log_p, ALL), distances(log_p, log_p, ALL)
        for name, values in there.items():
            lowest, highest = DISTANCES[name].range
            assert ((values >= lowest) & (values <= highest)).all(), name  # so none is NaN
            assert (same[name] == 0).all(), name
        for name in SYMMETRIC:
            torch.testing.assert_close(there[name], back[name], atol=1e-6, rtol=1e-6)
        torch.testing.assert_close(there["kl"], back["kl_reverse"], atol=1e-6, rtol=1e-6)


@given(pairs())
def test_the_inequalities_between_distances_hold(pair: tuple[torch.Tensor, torch.Tensor]) -> None:
    found = {name: values + 0.0 for name, values in distances(*pair, ALL).items()}
    slack = 1e-9
    squared = found["hellinger"] ** 2
    assert (squared <= found["tv"] + slack).all()  # Le Cam
    assert (found["tv"] <= found["hellinger"] * (2 - squared).sqrt() + slack).all()  # Le Cam
    assert (found["tv"] <= (found["kl"] / 2).sqrt() + slack).all()  # Pinsker
    assert (found["tv"] <= (found["kl_reverse"] / 2).sqrt() + slack).all()
    assert (found["js"] <= found["tv"] * math.log(2) + slack).all()  # Lin
    assert (found["js"] >= found["tv"] ** 2 / 2 - slack).all()


def test_known_answers() -> None:
    found = distances(logs([0.5, 0.5], [0.9, 0.1]), logs([0.9, 0.1], [0.9, 0.1]), ALL)
    assert found["tv"].tolist() == pytest.approx([0.4, 0.0])
    assert found["kl"].tolist() == pytest.approx([0.5 * math.log(5 / 9) + 0.5 * math.log(5), 0.0])
    assert found["kl_reverse"][0].item() == pytest.approx(0.9 * math.log(9 / 5) + 0.1 * math.log(1 / 5))
    assert found["js"][0].item() == pytest.approx(jensenshannon([0.5, 0.5], [0.9, 0.1]) ** 2)
    assert found["hellinger"][0].item() == pytest.approx(math.sqrt(1 - math.sqrt(0.45) - math.sqrt(0.05)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_one_hot_rows_are_exact(dtype: torch.dtype) -> None:
    one_hot = torch.eye(3, dtype=dtype).log()
    found = distances(one_hot[[0, 0]], one_hot[[1, 0]], ALL)
    assert found["tv"].tolist() == [1.0, 0.0]
    assert found["gd"].tolist() == [1.0, 0.0]
    assert found["hellinger"].tolist() == [1.0, 0.0]
    assert found["kl"].tolist() == found["kl_reverse"].tolist() == [math.inf, 0.0]
    assert found["js"].tolist() == [torch.tensor(math.log(2), dtype=dtype).item(), 0.0]


def test_kl_is_infinite_exactly_where_what_is_possible_is_excluded() -> None:
    whole, part = logs([0.5, 0.5, 0.0]), logs([1.0, 0.0, 0.0])
    found = distances(torch.cat([whole, part]), torch.cat([part, whole]), ["kl", "kl_reverse"])
    assert found["kl"].tolist() == [math.inf, math.log(2)]
    assert found["kl_reverse"].tolist() == [math.log(2), math.inf]
    underflows = torch.tensor([[0.0, -200.0]]), torch.tensor([[0.0, -math.inf]])  # exp(-200) is 0 in float32
    assert distances(*underflows, ["kl"])["kl"].item() == math.inf


def test_ties_go_to_the_lowest_index() -> None:
    tied, first, second = logs([0.4, 0.4, 0.2]), logs([0.5, 0.3, 0.2]), logs([0.3, 0.5, 0.2])
    assert distances(tied, first, ["gd"])["gd"].item() == 0.0
    assert distances(tied, second, ["gd"])["gd"].item() == 1.0


@pytest.mark.parametrize("noise", [1.0, 1e-1, 1e-2, 1e-3])
def test_close_distributions_keep_their_digits_in_float32(noise: float) -> None:
    generator = torch.Generator().manual_seed(0)
    logits = 4 * torch.randn(64, 2000, generator=generator)
    log_p = torch.log_softmax(logits, -1)
    log_q = torch.log_softmax(logits + noise * torch.randn(64, 2000, generator=generator), -1)
    single, double = distances(log_p, log_q, ["js", "tv", "hellinger"]), distances(log_p.double(), log_q.double(), ALL)
    for name, values in single.items():
        torch.testing.assert_close(values.double(), double[name], rtol=2e-5 + 1e-6 / noise, atol=0)
        assert values.double().mean().item() == pytest.approx(double[name].mean().item(), rel=2e-6 + 1e-7 / noise)


def test_both_ways_to_the_jensen_shannon_divergence_agree_where_they_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(2)
    logits = torch.randn(200, 300, generator=generator, dtype=torch.float64)
    log_p, log_q = (torch.log_softmax(logits + torch.randn(200, 300, generator=generator) * 0.14, -1) for _ in range(2))
    mixed = distances(log_p, log_q, ["js"])["js"]
    assert (mixed > module._CLOSE).any()
    assert (mixed < module._CLOSE).any()
    for threshold in (-1.0, 1.0):  # the fast sum alone, the careful one alone
        monkeypatch.setattr(module, "_CLOSE", threshold)
        torch.testing.assert_close(distances(log_p, log_q, ["js"])["js"], mixed, rtol=1e-10, atol=0)


def test_steps_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(1)
    log_p, log_q = (torch.log_softmax(torch.randn(7, 5, 11, generator=generator), -1) for _ in range(2))
    whole = distances(log_p, log_q, ALL)
    monkeypatch.setattr(module, "ELEMENTS_AT_ONCE", 33)
    for name, values in distances(log_p, log_q, ALL).items():
        assert values.shape == (7, 5)
        assert values.tolist() == whole[name].tolist()
        assert values.tolist() == distances(log_p, log_q, [name])[name].tolist()


def test_views_half_precision_and_gradients_are_taken() -> None:
    generator = torch.Generator().manual_seed(2)
    table = torch.log_softmax(torch.randn(6, 4, 10, generator=generator), -1)
    view, other = table.transpose(0, 1), table.flip(0).transpose(0, 1)
    expected = distances(view.contiguous(), other.contiguous(), ALL)
    for name, values in distances(view.requires_grad_(), other, ALL).items():
        assert values.tolist() == expected[name].tolist()
        assert not values.requires_grad
    halved = distances(table.bfloat16(), table.flip(0).bfloat16(), ALL)
    assert halved["tv"].dtype == torch.float32
    torch.testing.assert_close(halved["tv"].T, expected["tv"], atol=0.02, rtol=0.02)


def test_inputs_are_left_as_they_were() -> None:
    log_p, log_q = logs([0.5, 0.5, 0.0]), logs([0.2, 0.3, 0.5])
    kept = log_p.clone(), log_q.clone()
    distances(log_p, log_q, ALL)
    assert torch.equal(log_p, kept[0])
    assert torch.equal(log_q, kept[1])


@pytest.mark.parametrize("name", ["tv", "js", "kl", "kl_reverse", "hellinger"])
def test_nan_is_not_hidden(name: str) -> None:
    broken = torch.tensor([[0.0, math.nan]])
    for pair in ((broken, logs([0.5, 0.5])), (logs([0.5, 0.5]), broken)):
        assert distances(*pair, [name])[name].isnan().all()


def test_no_rows_give_no_distances() -> None:
    assert distances(torch.empty(0, 5), torch.empty(0, 5), ["tv"])["tv"].shape == (0,)
    assert distances(logs([0.5, 0.5])[0], logs([0.9, 0.1])[0], ["tv"])["tv"].item() == pytest.approx(0.4)


def test_names_and_shapes_are_checked() -> None:
    with pytest.raises(OffscriptError, match="did you mean 'hellinger'"):
        distances(logs([1.0]), logs([1.0]), ["helinger"])
    with pytest.raises(OffscriptError, match="same vocabulary"):
        distances(logs([0.5, 0.5]), logs([1.0]), ["tv"])


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (torch.tensor([[math.nan, 0.0]]), "student gave NaN"),
        (torch.tensor([[-math.inf, -math.inf]]), "sum to 0"),
        (torch.tensor([[0.0, 0.0]]), "sum to 2"),
        (torch.tensor([[1.5, -2.0]]), "sum to 4.6"),
        (torch.tensor(0.0), r"shape \(\)"),
        (torch.empty(2, 0), "were expected"),
        (torch.zeros(2, 1, dtype=torch.long), "were expected"),
    ],
)
def test_what_is_not_a_table_of_log_probabilities_is_refused(bad: torch.Tensor, message: str) -> None:
    with pytest.raises(OffscriptError, match=message):
        check_log_probabilities(bad, whose="the student")


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_log_probabilities_pass(dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(3)
    table = torch.log_softmax(5 * torch.randn(3, 4, 1000, generator=generator, dtype=torch.float64), -1).to(dtype)
    before = table.clone()
    check_log_probabilities(table)
    check_log_probabilities(torch.eye(4, dtype=dtype).log())
    assert torch.equal(table, before)
