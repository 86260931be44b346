"""LSTM and transformer: every way of asking for a distribution gives the same one."""

import copy

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from offscript.corpora import Vocabulary, WordVocabulary
from offscript.errors import OffscriptError
from offscript.models import language_model as contract
from offscript.models import lstm as lstm_module
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.models.neural import NeuralLanguageModel
from offscript.models.transformer import TransformerLanguageModel, TransformerSettings

ROWS, TIME, SIZE = 5, 7, 11


def _vocabulary() -> Vocabulary:
    return WordVocabulary([f"w{index}" for index in range(SIZE)], end=None, unknown=None)


def _lstm(layers: int = 1, *, tied: bool = False, dropout: float = 0.0) -> LSTMLanguageModel:
    settings = LSTMSettings(hidden=12, embedding=12 if tied else 8, layers=layers, tied=tied, dropout=dropout)
    return _initialised(LSTMLanguageModel(_vocabulary(), settings))


def _transformer(
    positions: str = "rotary", layers: int = 2, *, tied: bool = False, dropout: float = 0.0
) -> TransformerLanguageModel:
    settings = TransformerSettings(
        width=12, heads=3, layers=layers, context=TIME, positions=positions, tied=tied, dropout=dropout
    )
    return _initialised(TransformerLanguageModel(_vocabulary(), settings))


def _initialised(model: NeuralLanguageModel) -> NeuralLanguageModel:
    """Larger weights than training begins with, so that every part has a say in the result."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.5 * torch.randn(parameter.shape, generator=generator))
    return model.eval()


MODELS = {
    "lstm": lambda: _lstm(),
    "lstm, 2 layers, dropout": lambda: _lstm(2, dropout=0.5),
    "lstm, 3 layers, tied": lambda: _lstm(3, tied=True),
    "transformer, rotary": lambda: _transformer(),
    "transformer, learned": lambda: _transformer("learned"),
    "transformer, rotary, 1 layer, tied, dropout": lambda: _transformer(layers=1, tied=True, dropout=0.5),
    "transformer, learned, 3 layers, tied": lambda: _transformer("learned", 3, tied=True),
}


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> NeuralLanguageModel:
    return MODELS[request.param]()


@pytest.fixture
def tokens() -> Tensor:
    return torch.randint(SIZE, (ROWS, TIME), generator=torch.Generator().manual_seed(2))


def _scored(model: NeuralLanguageModel, tokens: Tensor, positions: range | None = None) -> Tensor:
    return torch.cat([scored.log_probs for scored in model.score(tokens, positions)], dim=1)


def _close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_steps_agree_with_scores(model: NeuralLanguageModel, tokens: Tensor) -> None:
    expected = _scored(model, tokens)
    state = model.begin(ROWS)
    read = torch.full((ROWS,), model.vocabulary.start)
    for position in range(TIME):
        log_probs, state = model.advance(state, read)
        _close(log_probs, expected[:, position])
        read = tokens[:, position]


@pytest.mark.parametrize("length", [0, 1, 4, TIME - 1])
def test_a_prefix_read_at_once_agrees_with_scores(model: NeuralLanguageModel, tokens: Tensor, length: int) -> None:
    expected = _scored(model, tokens)
    log_probs, state = model.start(ROWS, tokens[:, :length])
    _close(log_probs, expected[:, length])
    if length + 1 < TIME:
        log_probs, _ = model.read(state, tokens[:, length : TIME - 1])
        _close(log_probs, expected[:, -1])


def test_training_logits_agree_with_scores(model: NeuralLanguageModel, tokens: Tensor) -> None:
    _close(model(tokens).log_softmax(dim=-1), _scored(model, tokens))


def test_likelihoods_are_the_scores_of_the_tokens(model: NeuralLanguageModel, tokens: Tensor) -> None:
    expected = _scored(model, tokens).gather(2, tokens.unsqueeze(2)).squeeze(2)
    _close(model.log_likelihoods(tokens), expected)


def test_scores_are_distributions(model: NeuralLanguageModel, tokens: Tensor) -> None:
    _close(_scored(model, tokens).exp().sum(dim=-1), torch.ones(ROWS, TIME))


def test_what_follows_a_position_has_no_say_in_it(model: NeuralLanguageModel, tokens: Tensor) -> None:
    changed = tokens.clone()
    changed[:, 4:] = (changed[:, 4:] + 1) % SIZE
    before, after = _scored(model, tokens), _scored(model, changed)
    _close(after[:, :5], before[:, :5])
    assert ((after[:, 5:] - before[:, 5:]).abs().amax(dim=-1) > 1e-3).all()


@pytest.mark.parametrize("budget", [1, ROWS * SIZE, 2 * ROWS * SIZE + 1])
def test_chunks_do_not_change_scores(
    model: NeuralLanguageModel, tokens: Tensor, budget: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, likelihoods = _scored(model, tokens), model.log_likelihoods(tokens)
    monkeypatch.setattr(contract, "FEWEST_AT_ONCE", 1)
    monkeypatch.setattr(contract, "SCORE_BUDGET", budget)
    chunks = list(model.score(tokens))
    assert [position for chunk in chunks for position in chunk.positions] == list(range(TIME))
    assert max(chunk.log_probs.numel() for chunk in chunks) <= max(budget, ROWS * SIZE)
    _close(torch.cat([chunk.log_probs for chunk in chunks], dim=1), whole)
    _close(model.log_likelihoods(tokens), likelihoods)


@pytest.mark.parametrize("positions", [range(1), range(3, 5), range(TIME - 1, TIME)])
def test_positions_pick_from_all(model: NeuralLanguageModel, tokens: Tensor, positions: range) -> None:
    _close(_scored(model, tokens, positions), _scored(model, tokens)[:, positions.start : positions.stop])


def test_a_state_goes_on_in_several_ways(model: NeuralLanguageModel, tokens: Tensor) -> None:
    chosen = torch.tensor([3, 0, 3, 3, 4, 1])
    following = torch.arange(len(chosen))
    _, state = model.start(ROWS, tokens[:, :3])
    found, _ = model.advance(state.select(chosen), following)
    expected, _ = model.start(len(chosen), torch.cat([tokens[chosen, :3], following.unsqueeze(1)], dim=1))
    _close(found, expected)


def test_a_selected_state_is_a_copy(model: NeuralLanguageModel, tokens: Tensor) -> None:
    _, state = model.start(ROWS, tokens[:, :3])
    copied = state.select(torch.arange(ROWS))
    expected, _ = model.advance(state, tokens[:, 3])
    found, _ = model.advance(copied, tokens[:, 3])
    _close(found, expected)


@pytest.mark.parametrize("training", [True, False])
def test_inference_is_repeatable_and_leaves_no_trace(
    model: NeuralLanguageModel, tokens: Tensor, training: bool
) -> None:
    model.train(training)
    likelihoods = model.log_likelihoods(tokens)
    assert torch.equal(model.log_likelihoods(tokens), likelihoods)
    answers = [
        _scored(model, tokens),
        likelihoods,
        model.start(ROWS)[0],
        model.advance(model.begin(2), tokens[:2, 0])[0],
    ]
    assert not any(answer.requires_grad for answer in answers)
    assert all(module.training == training for module in model.modules())


def test_the_training_flag_is_put_back_after_a_fault(tokens: Tensor) -> None:
    model = _transformer().train()
    with pytest.raises(OffscriptError):
        model.start(ROWS, tokens)
    assert model.training


def test_dropout_acts_in_training_alone(tokens: Tensor) -> None:
    for model in (_lstm(2, dropout=0.5), _transformer(dropout=0.5)):
        model.train()
        with torch.random.fork_rng():
            torch.manual_seed(1)
            assert not torch.equal(model(tokens), model(tokens))


def test_the_hash_follows_the_weights(model: NeuralLanguageModel) -> None:
    before = model.weight_hash
    assert copy.deepcopy(model).weight_hash == before
    with torch.no_grad():
        next(model.parameters()).view(-1)[0] += 1e-3
    assert model.weight_hash != before


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_the_lstm_is_torchs(layers: int, tokens: Tensor) -> None:
    model = _lstm(layers)
    reference = nn.LSTM(8, 12, layers, batch_first=True)
    reference.load_state_dict(model.recurrence.state_dict())
    assert model.output is not None
    inputs = torch.cat([torch.full((ROWS, 1), SIZE), tokens[:, :-1]], dim=1)
    with torch.no_grad():
        hidden, _ = reference(functional.embedding(inputs, model.embedding.weight))
        expected = functional.linear(hidden, model.output.weight, model.bias).log_softmax(dim=-1)
    _close(_scored(model, tokens), expected)


@pytest.mark.parametrize("layers", [1, 2])
def test_the_gate_table_changes_nothing(layers: int, tokens: Tensor, monkeypatch: pytest.MonkeyPatch) -> None:
    model = _lstm(layers)
    with_table, state = model.start(ROWS)
    assert state.table is not None
    monkeypatch.setattr(lstm_module, "_LARGEST_TABLE", 0)
    without, plain = model.start(ROWS)
    assert plain.table is None
    for position in range(TIME):
        _close(with_table, without)
        with_table, state = model.advance(state, tokens[:, position])
        without, plain = model.advance(plain, tokens[:, position])


def test_few_rows_do_not_repay_a_table() -> None:
    vocabulary = WordVocabulary([f"w{index}" for index in range(200)], end=None, unknown=None)
    model = LSTMLanguageModel(vocabulary, LSTMSettings(hidden=4, embedding=4))
    assert model.begin(2).table is None
    assert model.begin(20).table is not None


def _first_of_fresh_copy(model: LSTMLanguageModel) -> Tensor:
    fresh = LSTMLanguageModel(model.vocabulary, model.settings)
    fresh.load_state_dict(model.state_dict())
    return fresh.start(ROWS)[0]


@pytest.mark.parametrize("fused", [True, False])
def test_the_gate_table_follows_the_optimiser(fused: bool, tokens: Tensor) -> None:
    model = _lstm()
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2, fused=fused)
    for _ in range(3):
        before = model.start(ROWS)[0]
        model.train()
        functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten()).backward()
        optimiser.step()
        assert torch.equal(model.start(ROWS)[0], _first_of_fresh_copy(model))
        assert not torch.equal(model.start(ROWS)[0], before)


def test_the_gate_table_follows_changes_that_keep_every_sum() -> None:
    model = _lstm()
    model.start(ROWS)
    with torch.no_grad():
        model.embedding.weight.copy_(model.embedding.weight.flip(0))
    assert torch.equal(model.start(ROWS)[0], _first_of_fresh_copy(model))


def test_a_model_that_has_drawn_can_be_copied() -> None:
    model = _lstm()
    expected = model.start(ROWS)[0]
    assert torch.equal(copy.deepcopy(model).start(ROWS)[0], expected)


def test_a_tied_output_shares_its_weights() -> None:
    for tied, untied in ((_lstm(tied=True), _lstm()), (_transformer(tied=True), _transformer())):
        assert tied.output is None
        assert untied.output is not None


def test_rotary_positions_are_relative() -> None:
    """Attention between two tokens depends on their distance alone (Su et al. 2021, section 3.1)."""
    from offscript.models.transformer import _rotated

    generator = torch.Generator().manual_seed(1)
    query, key = (torch.randn(1, 1, 1, 8, generator=generator) for _ in range(2))
    near, far = ((_rotated(query, shift + 3) * _rotated(key, shift)).sum() for shift in (0, 50))
    _close(near, far)
    assert abs(float(near - (query * key).sum())) > 1e-2


@pytest.mark.parametrize("positions", ["rotary", "learned"])
def test_more_tokens_than_the_context_are_refused(positions: str, tokens: Tensor) -> None:
    model = _transformer(positions)
    longer = torch.cat([tokens, tokens[:, :1]], dim=1)
    message = f"{TIME + 1} tokens are more than the model's context of {TIME}"
    for ask in (lambda: list(model.score(longer)), lambda: model.start(ROWS, tokens), lambda: model(longer)):
        with pytest.raises(OffscriptError, match=message):
            ask()


@pytest.mark.parametrize(
    ("settings", "values", "message"),
    [
        (LSTMSettings, {"tied": True, "embedding": 3, "hidden": 4}, "embedding = hidden, not 3 and 4"),
        (LSTMSettings, {"dropout": 1.0}, "less than 1"),
        (LSTMSettings, {"hiden": 3}, "hiden"),
        (TransformerSettings, {"width": 10, "heads": 3}, "width 10 does not divide into 3 heads"),
        (TransformerSettings, {"width": 9, "heads": 3}, "even size"),
        (TransformerSettings, {"positions": "absolute"}, "'rotary' or 'learned'"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings: type, values: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        settings(**values)


def test_learned_positions_need_no_even_heads() -> None:
    assert TransformerSettings(width=9, heads=3, positions="learned").width == 9
