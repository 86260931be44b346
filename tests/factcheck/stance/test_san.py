import torch
from hypothesis import given
from hypothesis import strategies as st

from offscript.factcheck.stance.teaching.network import LinearAnswer, StochasticAnswer

WIDTH, LABELS = 6, 3


def inputs(rows: int = 2, time: int = 5) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    encoded = torch.randn(rows, time, WIDTH, generator=generator)
    claim = torch.tensor([[1, 1, 0, 0, 0]] * rows)[:, :time]
    text = torch.tensor([[0, 0, 1, 1, 0]] * rows)[:, :time]
    return encoded, claim, encoded, text


def test_one_step_is_the_plain_attention_classifier() -> None:
    head = StochasticAnswer(WIDTH, LABELS, steps=1, prediction_dropout=0.0)
    encoded, claim_mask, _, text_mask = inputs()
    claim, text = encoded[:, :2], encoded[:, 2:4]
    state = (head.pooling(claim).softmax(dim=1) * claim).sum(dim=1)
    scores = torch.einsum("rtw,rw->rt", text, state @ head.attention.weight.T)
    read = (scores.softmax(dim=1).unsqueeze(2) * text).sum(dim=1)
    plain = head.answer(torch.cat([state, read, (state - read).abs(), state * read], dim=1)).softmax(dim=1)
    torch.testing.assert_close(head(encoded, claim_mask, encoded, text_mask), plain)


def test_gradients_flow_through_every_step() -> None:
    for step in range(5):
        head = StochasticAnswer(WIDTH, LABELS, steps=5)
        answers = head.predictions(*inputs())
        answers[:, step, 0].sum().backward()
        assert head.attention.weight.grad is not None
        assert head.attention.weight.grad.abs().sum() > 0
        assert head.pooling.weight.grad.abs().sum() > 0  # back to the first state
        if step:
            assert head.state.weight_ih.grad.abs().sum() > 0


def test_inference_averages_all_steps_exactly() -> None:
    head = StochasticAnswer(WIDTH, LABELS, steps=5).eval()
    torch.testing.assert_close(head(*inputs()), head.predictions(*inputs()).mean(dim=1), rtol=0, atol=0)


def test_dropped_predictions_leave_a_distribution_made_of_the_kept_ones() -> None:
    head = StochasticAnswer(WIDTH, LABELS, steps=3, prediction_dropout=0.9).train()
    predictions = head.predictions(*inputs(rows=50))
    torch.manual_seed(3)
    answers = head(*inputs(rows=50))
    torch.testing.assert_close(answers.sum(dim=1), torch.ones(50))
    nearest = (predictions - answers.unsqueeze(1)).abs().amax(dim=2).amin(dim=1)
    assert (nearest < 1e-6).sum() > 25  # at 0.9 mostly a single prediction is left
    assert (nearest > 1e-4).any()


def test_masked_places_do_not_matter() -> None:
    head = StochasticAnswer(WIDTH, LABELS).eval()
    encoded, claim, _, text = inputs()
    changed = encoded.clone()
    changed[:, 4] = 100.0
    torch.testing.assert_close(head(encoded, claim, encoded, text), head(changed, claim, changed, text))


@given(st.integers(1, 6), st.integers(1, 7))
def test_answers_are_distributions_even_without_a_text(rows: int, steps: int) -> None:
    head = StochasticAnswer(WIDTH, LABELS, steps=steps).eval()
    encoded, claim, _, text = inputs(rows)
    answers = head(encoded, claim, encoded, torch.zeros_like(text))
    torch.testing.assert_close(answers.sum(dim=1), torch.ones(rows))


def test_the_linear_answer_reads_the_first_place() -> None:
    head = LinearAnswer(WIDTH, LABELS)
    encoded = inputs()[0]
    torch.testing.assert_close(head(encoded), head.answer(encoded[:, 0]).softmax(dim=1))
