"""Models behind an API: the local model's figures, nothing paid twice, and one line for everything that goes wrong."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from offscript._abilities import Gives
from offscript.corpora.associations import Association, AssociationTest
from offscript.errors import OffscriptError
from offscript.measures.calibration.estimation import measure_calibration
from offscript.measures.likelihood.estimation import measure_likelihood
from offscript.measures.question import Silent
from offscript.measures.registry import question
from offscript.measures.stereotypes.causal import score_with_causal_model
from offscript.measures.subject import Subject
from offscript.measures.texts import encode_texts
from offscript.models import load_model
from offscript.models.endpoints.model import Mode
from offscript.sampling import generate, texts
from offscript.sampling.transforms import parse_transform

SECRET = "sk-very-secret-0123456789"
SENTENCES = [f"w{a} w{b} w{(a * b) % 29} w{(a + b) % 29}" for a in range(4) for b in range(3)]


@pytest.fixture
def named(served: Any, folder: Path) -> str:
    return f"openai/tiny@{served.url},tokenizer={folder}"


@pytest.fixture
def local(folder: Path) -> Any:
    return load_model(str(folder))


def _modes(served: Any, mode: str) -> None:
    served.echo = mode.startswith("echo")
    served.ids = mode != "echo_text"
    served.log_probs = mode != "texts"


def _told(call: Any) -> str:
    with pytest.raises(OffscriptError) as fault:
        call()
    assert "\n" not in str(fault.value)
    return str(fault.value)


@pytest.mark.parametrize(("mode", "records"), [("echo_ids", False), ("echo_text", False), ("next_token", True)])
def test_figures_are_those_of_the_local_model(served: Any, named: str, local: Any, mode: str, records: bool) -> None:
    _modes(served, mode)
    served.records = records
    model = load_model(f"{named},top=32")
    assert model.mode is Mode[mode]
    assert model.gives is Gives.likelihoods
    told = encode_texts(SENTENCES, local.vocabulary)
    for own, other in zip(measure_likelihood(model, told), measure_likelihood(local, told), strict=True):
        assert own.name == other.name
        assert own.value == pytest.approx(other.value, abs=1e-5)
        assert own.interval.lower == pytest.approx(other.interval.lower, abs=1e-5)
    tests = [_test(number) for number in range(4)]
    scores = score_with_causal_model(local, tests)
    assert score_with_causal_model(model, tests) == pytest.approx(scores, abs=1e-5)
    data = generate(local, 20, 8, seed=3, stop_at_end=False).tokens
    expected = {entry.name: entry for entry in measure_calibration(local, data, prefix=2, seed=1)}
    for entry in measure_calibration(model, data, prefix=2, seed=1):
        assert entry.value == pytest.approx(expected[entry.name].value, abs=1e-5)
        assert not entry.name.startswith("entropy")


def _test(number: int) -> AssociationTest:
    kinds = ("stereotype", "anti_stereotype", "unrelated")
    made = {
        kind: Association(id=f"{number}{kind}", sentence=f"w1 w{number} w{number + place + 5} w2")
        for place, kind in enumerate(kinds)
    }
    task = "intrasentence" if number % 2 else "intersentence"
    return AssociationTest(id=str(number), task=task, domain="d", target="t", context="w7 w9", **made)


def test_a_token_beyond_the_listed_ones_is_not_guessed(served: Any, named: str) -> None:
    _modes(served, "next_token")
    told = _told(lambda: load_model(f"{named},top=1").log_likelihoods(torch.tensor([[5, 6, 7, 8]])))
    assert "does not list" in told
    assert "raise top=" in told


def test_a_whole_vocabulary_is_made_to_add_up(served: Any, named: str, local: Any) -> None:
    """As llama.cpp has it: all log-probabilities are too large, by what single precision lost of the sum."""
    _modes(served, "next_token")
    served.records, served.excess = True, 2.5e-4
    tokens = generate(local, 1, 4, seed=1, transform=parse_transform("greedy"), stop_at_end=False).tokens
    expected = local.log_likelihoods(tokens).double()
    whole, part = (load_model(f"{named},top={top}").log_likelihoods(tokens) for top in (32, 31))
    torch.testing.assert_close(whole, expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(part, expected + 2.5e-4, atol=1e-5, rtol=0)  # what is left out is not known


def test_a_server_that_adds_the_start_is_sent_none(served: Any, named: str, local: Any) -> None:
    served.ids, served.adds_start = False, True
    model = load_model(named)
    assert model.mode is Mode.echo_added
    tokens = torch.tensor([[5, 6, 7, 8]])
    torch.testing.assert_close(model.log_likelihoods(tokens), local.log_likelihoods(tokens).double(), atol=1e-5, rtol=0)
    generate(model, 1, 6, seed=1)
    assert not any("<s>" in str(body["prompt"]) for body in served.asked[-2:])


def test_a_server_that_fails_at_log_probabilities_gives_texts(served: Any, named: str) -> None:
    """As llama-cpp-python does where it was started without them; one that fails at everything is another matter."""
    served.failing = {"logprobs"}
    model = load_model(named)
    assert model.mode is Mode.texts
    assert generate(model, 2, 6, seed=1).tokens.shape == (2, 6)


def test_what_was_answered_is_not_asked_again(served: Any, named: str) -> None:
    tokens = torch.tensor([[3, 4, 5], [3, 4, 5], [6, 7, 8]])
    first = load_model(named).log_likelihoods(tokens)
    asked = len(served.asked)
    assert len(set(served.answered)) == len(served.answered) == 3  # what it can do, and two different texts
    assert torch.equal(load_model(f"{named},concurrency=2,max_requests={asked}").log_likelihoods(tokens), first)
    assert len(served.asked) == asked


def test_another_seed_temperature_or_model_is_another_answer(served: Any, named: str) -> None:
    model, other = load_model(named), load_model(named.replace("openai/tiny", "openai/other"))
    cold = parse_transform("tempered,temperature=0.5")
    drawn = [
        generate(model, 6, 8, seed=1),
        generate(model, 6, 8, seed=2),
        generate(model, 6, 8, seed=1, transform=cold),
        generate(other, 6, 8, seed=1),
    ]
    assert len({tuple(each.tokens.flatten().tolist()) for each in drawn}) == 3
    assert torch.equal(drawn[0].tokens, drawn[3].tokens)  # two names of one network: asked twice, answered alike
    assert sum(json.loads(each)["asked"]["max_tokens"] == 8 for each in served.answered) == 24
    before = len(served.asked)
    assert torch.equal(generate(load_model(named), 6, 8, seed=1, batch_size=2).tokens, drawn[0].tokens)
    assert len(served.asked) == before


def test_texts_are_drawn_as_the_server_draws_them(served: Any, named: str) -> None:
    model = load_model(named)
    greedy = generate(model, 1, 6, seed=1, transform=parse_transform("greedy"), prefixes=torch.tensor([[5, 9]]))
    ids = [0, 5, 9]
    while len(ids) < 7:
        ids.append(int(served.distribution(ids).argmax()))
    assert greedy.tokens[0].tolist() == ids[1:]
    assert "cannot be drawn from with typical" in _told(
        lambda: generate(model, 1, 6, seed=1, transform=parse_transform("typical,p=0.9"))
    )


def test_without_a_tokenizer_there_are_texts_in_words(served: Any) -> None:
    model = load_model(f"openai/tiny@{served.url},start=w1")
    assert model.gives is Gives.texts
    drawn = generate(model, 4, 9, seed=1)
    assert [text.strip() for text in texts(model, drawn)]
    assert not any("logprobs" in body for body in served.asked)
    assert model.vocabulary.decode(model.vocabulary.encode("One, two;\n  three ")) == "One, two;\n  three "
    told = _told(lambda: model.log_likelihoods(torch.tensor([[3]])))
    assert "tokenizer=ID" in told


@pytest.mark.parametrize("name", ["likelihood", "exposure", "places", "calibration"])
def test_questions_say_what_an_endpoint_cannot_answer(served: Any, named: str, name: str, tmp_path: Path) -> None:
    _modes(served, "texts")
    corpus = tmp_path / "text.txt"
    corpus.write_text("\n".join(SENTENCES))
    lack = question(name).missing(Subject(named, corpus=[str(corpus)]), {})
    assert lack is not None
    assert str(lack).startswith(f"needs {question(name).reads.words} (openai/tiny@")
    assert "gives texts" in str(lack)


@pytest.mark.parametrize("several", [True, False])
def test_an_approximated_endpoint_counts_the_servers_draws(served: Any, named: str, several: bool) -> None:
    served.several = several
    model = load_model(f"{named},approximate=80,floor=0")
    [scored] = model.score(torch.tensor([[5, 9]]))
    truth = torch.stack([served.distribution([0]), served.distribution([0, 5])]).exp()
    assert scored.log_probs.exp().sum(dim=-1)[0].tolist() == pytest.approx([1, 1])
    error = (scored.log_probs[0].exp() - truth).abs().max()
    assert float(error) < math.sqrt(math.log(2 * 2 * 32 / 1e-3) / 160)  # Hoeffding's bound, risk 1 in 1000


@pytest.mark.parametrize("limit", ["max_requests=9", "max_tokens=120"])
def test_a_budget_is_never_exceeded_and_can_be_raised(served: Any, named: str, limit: str) -> None:
    tokens = torch.randint(3, 31, (30, 6), generator=torch.Generator().manual_seed(1))
    told = _told(lambda: load_model(f"{named},{limit}").log_likelihoods(tokens))
    assert told.startswith(f"the budget of {limit.partition('=')[2]} {limit[4:].partition('=')[0]} is spent")
    assert len(served.asked) <= 9 if "requests" in limit else served.tokens <= 120
    paid = list(served.answered)
    assert len(paid) > 3
    again = _told(lambda: load_model(f"{named},{limit}").log_likelihoods(tokens))  # a new run has not a new budget
    assert again == told or "is spent" in again
    assert len(load_model(f"{named},max_requests=1000").log_likelihoods(tokens)) == 30
    assert len(set(served.answered)) == len(served.answered)
    assert served.answered[: len(paid)] == paid


def test_a_server_that_dies_and_comes_back_loses_nothing(served: Any, named: str, local: Any) -> None:
    import threading

    tokens = torch.randint(3, 31, (40, 6), generator=torch.Generator().manual_seed(2))
    model = load_model(f"{named},concurrency=4,retries=40")
    assert model.mode is Mode.echo_ids
    served.stop_after = 15  # then it hangs up on everybody, and is gone for a while

    def restart() -> None:
        while len(served.answered) < 15:
            pass
        served.stop()
        served.start()

    restarting = threading.Thread(target=restart)
    restarting.start()
    values = model.log_likelihoods(tokens)
    restarting.join()
    torch.testing.assert_close(values, local.log_likelihoods(tokens).double(), atol=1e-5, rtol=0)
    assert len(set(served.answered)) == len(served.answered) == 41


def test_busy_and_failing_servers_are_asked_again(served: Any, named: str) -> None:
    served.failures = [
        (429, {"Retry-After": "0.02"}, b'{"error": {"message": "slow down"}}'),
        (500, {}, b"oops"),
        (503, {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, b""),
    ]
    assert load_model(named).gives is Gives.likelihoods
    assert len(served.asked) == 4


@pytest.mark.parametrize(
    ("status", "headers", "content", "expected"),
    [
        (429, {}, b'{"error": {"message": "slow down"}}', "does not answer after 3 tries; it answers 429: slow down"),
        (500, {}, b"oops", "does not answer after 3 tries; it answers 500"),
        (500, {"Content-Type": "text/plain"}, b"out of memory\n", "it answers 500: out of memory; run"),
        (500, {"Content-Type": "text/html"}, b"<html>oops", "it answers 500: HTML; run"),
        (200, {"Content-Type": "text/html"}, b"<html>hello</html>", "answers with HTML, not with completions"),
        (200, {}, b'{"hello": 1}', "answers with other JSON, not with completions"),
        (200, {}, b'{"choices": [1]}', "answers with other JSON, not with completions"),
        (404, {}, b'{"detail": "no"}', "has no model 'tiny', or is not the right address"),
        (404, {}, b'{"detail": "no"}', "a server of chats alone needs chat=MESSAGE"),
        (307, {"Location": "http://127.0.0.1:1/"}, b"", "sends requests elsewhere"),
        (200, {}, b'{"choices": [{"logprobs": {"tokens": 3}}]}', "a layout that is not known"),
        (200, {}, b'{"choices": [{"logprobs": {"tokens": ["a"], "token_logprobs": [NaN]}}]}', "gives nan as a log-"),
    ],
)
def test_what_goes_wrong_is_one_line(
    served: Any, named: str, status: int, headers: dict[str, str], content: bytes, expected: str
) -> None:
    served.failures = [(status, headers, content)] * 30
    told = _told(lambda: load_model(f"{named},retries=2").gives)
    assert expected in told


def test_the_tokenizer_of_another_model_is_refused(served: Any, named: str, folder: Path, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    document = json.loads((folder / "tokenizer.json").read_text())
    vocabulary = document["model"]["vocab"]
    vocabulary |= {f"w{index}": vocabulary[f"w{(index + 1) % 29}"] for index in range(29)} | {"w28": 3}
    AutoTokenizer.from_pretrained(folder).save_pretrained(tmp_path / "other")
    (tmp_path / "other" / "tokenizer.json").write_text(json.dumps(document))
    model = load_model(f"openai/tiny@{served.url},tokenizer={tmp_path / 'other'}")
    told = _told(lambda: model.log_likelihoods(torch.tensor([[5, 6]])))
    assert told.startswith("the server's tokens are not those of tokenizer=")
    assert "where that has" in told


def test_a_key_reaches_the_server_and_nothing_else(
    served: Any, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    served.key = SECRET
    told = [_told(lambda: load_model(named).gives)]
    assert "OFFSCRIPT_API_KEY is not set" in told[0]
    monkeypatch.setenv("MINE", SECRET + "x")  # the server repeats what it was sent
    told.append(_told(lambda: load_model(f"{named},key=MINE").gives))
    told.append(_told(lambda: load_model(f"{named},key={SECRET}").gives))
    told.append(_told(lambda: load_model(f"openai/tiny@http://me:{SECRET}@127.0.0.1:{served.port}/v1")))
    told.append(_told(lambda: load_model(f"openai/tiny@{served.url}?key={SECRET}")))
    monkeypatch.setenv("OFFSCRIPT_API_KEY", SECRET)
    model = load_model(named)
    model.log_likelihoods(torch.tensor([[5, 6]]))
    served.failures = [(400, {}, f"you sent {SECRET}".encode()), (400, {}, json.dumps({"error": SECRET}).encode())]
    told += [_told(lambda last=last: model.log_likelihoods(torch.tensor([[7, last]]))) for last in (8, 9)]
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.suffix == ".sqlite" for path in written)
    assert not any(SECRET.encode() in path.read_bytes() for path in written)
    assert not any(
        SECRET in each for each in (*told, *capfd.readouterr(), model.name, model.reading, model.weight_hash)
    )


@pytest.mark.parametrize(
    "text",
    [
        "openai/tiny",
        "openai/tiny@ftp://host/v1",
        "openai/@http://host/v1",
        "openai/tiny@http://",
        "openai/tiny@http://host:99999/v1",
        "openai/tiny@http://host/v1,concurrency=0",
        "openai/tiny@http://host/v1,max_tokens=many",
        "openai/tiny@http://host/v1,system=You",
        "openai/tiny@http://host/v1,tokeniser=x",
    ],
)
def test_an_address_that_cannot_be_used_is_refused_before_anything_is_sent(
    text: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OFFSCRIPT_CACHE", str(tmp_path))
    _told(lambda: load_model(text))


def test_a_chat_takes_the_beginning_of_a_text_where_its_message_says(served: Any) -> None:
    model = load_model(f'openai/tiny@{served.url},chat="w3 w4 {{}}",system=w9')
    prefix = model.vocabulary.encode("w5 w6")
    generate(model, 1, 6, seed=1, prefixes=torch.tensor([prefix]))
    assert served.asked[-1]["messages"] == [
        {"role": "system", "content": "w9"},
        {"role": "user", "content": "w3 w4 w5 w6"},
    ]
    fixed = load_model(f"openai/tiny@{served.url},chat=w3")
    assert "has no place for one" in _told(
        lambda: generate(fixed, 1, 6, seed=1, prefixes=torch.tensor([fixed.vocabulary.encode("w5")]))
    )


def test_defaults_of_a_server_that_cut_its_distribution_are_named(served: Any, named: str) -> None:
    assert "defaults of its own" not in load_model(named).reading
    served.extensions = False
    assert "defaults of its own" in load_model(named.replace("openai/tiny", "openai/strict")).reading
    served.extensions, served.ignores = True, True
    careless = load_model(named.replace("openai/tiny", "openai/careless"))
    assert "defaults of its own" in careless.reading
    told = _told(lambda: generate(careless, 1, 6, seed=1, transform=parse_transform("top-k,k=2")))
    assert told.startswith("openai/careless@")
    assert "cannot be drawn from with top_k; its server ignores or refuses it" in told


def test_settings_of_a_whole_configuration_are_put_into_it(served: Any, named: str) -> None:
    served.unknown = {"top_k", "min_p"}
    generate(load_model(named), 1, 6, seed=1, transform=parse_transform("top-k,k=2"))
    assert json.loads(served.asked[-1]["generation_config"]) == {"do_sample": True, "top_k": 2, "eos_token_id": 1}


def test_a_server_that_is_greedy_unless_told_is_told(served: Any, named: str) -> None:
    """As `transformers serve`; with it two texts are the same with top_k=1 and without."""
    served.greedy = True
    assert "do_sample" in load_model(named)._drawing.extra["generation_config"]
    assert len({tuple(row) for row in generate(load_model(named), 6, 8, seed=1).tokens.tolist()}) > 2


def test_a_chat_without_seeds_draws_every_text_by_itself(served: Any) -> None:
    served.unknown = {"seed", "max_tokens", "top_k"}
    model = load_model(f"openai/tiny@{served.url},chat=w3")
    drawn = generate(model, 8, 12, seed=1).tokens
    assert len({tuple(row) for row in drawn.tolist()}) > 4
    before = len(served.asked)
    assert torch.equal(generate(load_model(f"openai/tiny@{served.url},chat=w3"), 8, 12, seed=1).tokens, drawn)
    assert len(served.asked) == before
    assert not any(name.startswith("_") for body in served.asked for name in body)


def test_texts_of_a_server_and_of_the_local_model_have_the_same_statistics(served: Any, named: str, local: Any) -> None:
    """The means of 120 lengths, drawn apart: no further from each other than chance allows at 1 in 10,000."""
    lengths = [generate(model, 120, 8, seed=5).lengths.double().numpy() for model in (load_model(named), local)]
    error = math.sqrt(sum(float(np.var(each)) / len(each) for each in lengths))
    assert abs(lengths[0].mean() - lengths[1].mean()) < 3.9 * error


def test_diversity_and_samples_are_measured_of_texts_alone(served: Any) -> None:
    subject = Subject(f"openai/tiny@{served.url},start=w1")
    answer = question("diversity").answer(
        subject, question("diversity").settings({"samples": 20, "length": 8}), Silent()
    )
    assert {entry.name for entry in answer.measurements} >= {"self_bleu_2", "distinct_1", "repetition"}
    shown = question("samples").answer(subject, question("samples").settings({"samples": 3, "length": 8}), Silent())
    assert len(shown.exhibits[0]["columns"][0]["texts"]) == 3


def test_an_answer_without_end_is_refused(served: Any, named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from offscript.models.endpoints import client

    monkeypatch.setattr(client, "LARGEST", 1000)
    served.failures = [(200, {}, b"x" * 2000)]
    assert "sends more than" in _told(lambda: load_model(named).gives)


def test_nothing_more_is_sent_after_a_failure(served: Any, named: str) -> None:
    model = load_model(f"{named},concurrency=2")
    assert model.mode is Mode.echo_ids
    before = len(served.asked)
    served.failures = [(400, {}, b'{"error": "no"}')]
    _told(lambda: model.log_likelihoods(torch.randint(3, 31, (60, 6), generator=torch.Generator().manual_seed(1))))
    assert len(served.asked) - before < 10
