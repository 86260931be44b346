"""The recurrent GAN's generator: certain given its noise, a vote of its states without."""

from pathlib import Path

import pytest
import torch

from offscript.corpora import CharacterVocabulary
from offscript.models import approximate, load_model
from offscript.models import noise_lstm as module
from offscript.models.noise_lstm import NoiseLSTM, NoiseLSTMSettings
from offscript.models.storage import save
from offscript.sampling import generate


@pytest.fixture
def model() -> NoiseLSTM:
    with torch.random.fork_rng():
        torch.manual_seed(4)
        built = NoiseLSTM(CharacterVocabulary(), NoiseLSTMSettings(hidden=12, embedding=6, noise=4, states=32))
        with torch.no_grad():
            for parameter in built.parameters():
                parameter.mul_(3.0)
    return built.eval()


def _emitted(model: NoiseLSTM, noise: torch.Tensor, length: int) -> list[int]:
    """Token after token, the likeliest each time, the whole history read anew."""
    tokens = [model.vocabulary.start]
    for _ in range(length):
        logits = model.unnormalised(model.features(torch.tensor([tokens]), noise.unsqueeze(0)))
        tokens.append(int(logits[0, -1].argmax()))
    return tokens[1:]


def test_a_drawn_sequence_is_what_its_noise_emits(model: NoiseLSTM) -> None:
    noise = torch.randn(20, 4, generator=torch.Generator().manual_seed(1))
    given = model.given(noise)
    log_probs, state = given.start(20)
    columns = []
    for _ in range(6):
        columns.append(log_probs.argmax(dim=1))
        assert ((log_probs == 0).sum(dim=1) == 1).all()
        log_probs, state = given.advance(state, columns[-1])
    drawn = torch.stack(columns, dim=1).tolist()
    assert drawn == [_emitted(model, row, 6) for row in noise]


def test_draws_have_noise_of_their_own_whatever_the_batch(model: NoiseLSTM) -> None:
    together = generate(model, 40, 8, seed=3).tokens
    assert torch.equal(together, generate(model, 40, 8, seed=3, batch_size=7).tokens)
    assert torch.equal(together[10:], generate(model, 30, 8, seed=3, first_row=10).tokens)
    assert len(together.unique(dim=0)) > 5
    assert not torch.equal(together, generate(model, 40, 8, seed=4).tokens)


def test_its_distribution_is_the_vote_of_its_states(model: NoiseLSTM) -> None:
    tokens = torch.tensor([[3, 7, 1]])
    votes = torch.zeros(27, dtype=torch.float64)
    for noise in model.states:
        read = torch.cat([torch.tensor([[model.vocabulary.start]]), tokens[:, :2]], dim=1)
        votes[model.unnormalised(model.features(read, noise.unsqueeze(0)))[0, -1].argmax()] += 1
    *_, last = model.score(tokens)
    assert torch.allclose(last.log_probs[0, -1].exp(), (votes + 0.5) / (32 + 13.5))


def test_states_run_in_parts_give_the_same_votes(model: NoiseLSTM, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = torch.randint(27, (9, 4), generator=torch.Generator().manual_seed(1))
    whole = approximate(model, 100).log_likelihoods(tokens)
    monkeypatch.setattr(module, "SCORE_BUDGET", 2 * 100 * 48)  # two rows at once
    assert torch.equal(approximate(model, 100).log_likelihoods(tokens), whole)


def test_noise_states_come_back_from_disk(model: NoiseLSTM, tmp_path: Path) -> None:
    save(model, tmp_path)
    loaded = load_model(str(tmp_path))
    tokens = torch.randint(27, (5, 4), generator=torch.Generator().manual_seed(1))
    assert torch.equal(loaded.log_likelihoods(tokens), model.log_likelihoods(tokens))
    assert loaded.weight_hash == model.weight_hash
    assert torch.equal(generate(loaded, 5, 8, seed=1).tokens, generate(model, 5, 8, seed=1).tokens)


def test_relaxed_outputs_are_distributions_that_can_be_learnt_from(model: NoiseLSTM) -> None:
    first = model.embedding[model.vocabulary.start].expand(3, -1)
    emitted = model.relaxed(first, model.first_memory(torch.randn(3, 4)), 5)
    assert torch.allclose(emitted.sum(dim=-1), torch.ones(3, 5))
    emitted[:, -1, 0].sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
