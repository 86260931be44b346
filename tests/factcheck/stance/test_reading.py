"""Pairs, sentence choice, relatedness, schedules and class weights."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from offscript.errors import OffscriptError
from offscript.factcheck.stance.pairs import EVIDENCE, Pair, new_topics, read_pairs, split_document
from offscript.factcheck.stance.relatedness import Terms, choose_sentences, features_of_pairs
from offscript.factcheck.stance.served import PairEncoder, unlimited
from offscript.factcheck.stance.stance import STANCES
from offscript.factcheck.stance.teaching.baselines import Words, overlap_features
from offscript.factcheck.stance.teaching.exporting import best_weights
from offscript.factcheck.stance.teaching.mtranssan import fit_relatedness
from offscript.factcheck.stance.teaching.tasks import ROUNDS, TASKS, epoch_batches, read_task


@pytest.fixture(scope="module")
def terms(encoder_folder: Path, small_data: Path) -> Terms:
    tokenizer = unlimited(Tokenizer.from_file(str(encoder_folder / "tokenizer.json")))
    pairs = read_pairs(f"{small_data / 'fnc-1'},split=train").pairs
    return Terms.fitted(tokenizer, [pair.sentences for pair in pairs])


def test_fnc_is_split_by_body(small_data: Path) -> None:
    parts = {split: read_pairs(f"{small_data / 'fnc-1'},split={split}") for split in ("train", "hold-out", "all")}
    assert [len(part.pairs) for part in parts.values()] == [16, 8, 24]
    train, held = ({pair.group for pair in parts[split].pairs} for split in ("train", "hold-out"))
    assert not train & held
    with pytest.raises(OffscriptError, match="no split 'tests'; did you mean 'test'"):
        read_pairs(f"{small_data / 'fnc-1'},split=tests")


RELATED = st.tuples(st.sampled_from("ABCDEF"), st.sampled_from("uvwxyz"), st.sampled_from(STANCES))


@given(st.lists(RELATED, min_size=1), st.floats(0, 1), st.integers(0, 9))
def test_new_topics_share_nothing_with_the_others(drawn: list[tuple[str, str, str]], share: float, seed: int) -> None:
    pairs = [Pair(claim, (text,), label, text) for claim, text, label in drawn]
    new = new_topics(pairs, share=share, seed=seed)
    for stance in STANCES[:3]:
        own = [pair.claim in new for pair in pairs if pair.label == stance]
        assert sum(own) <= share * len(own)
    for pair in pairs:
        assert pair.label == "unrelated" or (pair.claim in new) == (pair.sentences in new)


def test_topics_are_told_apart_by_what_is_related() -> None:
    joined = [Pair("A", ("u",), "agree", "u"), Pair("B", ("u",), "discuss", "u"), Pair("B", ("v",), "agree", "v")]
    alone = [Pair("C", ("w",), "agree", "w"), Pair("C", ("u",), "unrelated", "u")]
    assert new_topics([*joined, *alone], share=0.5) == {"C", ("w",)}
    assert new_topics([*joined, *alone], share=1.0) == {"A", "B", "C", ("u",), ("v",), ("w",)}
    assert new_topics(alone[1:]) == set()


def test_new_topics_of_the_challenge(data_folder: Path) -> None:
    known, new = (read_pairs(f"{data_folder / 'fnc-1'},split={part}-topics").pairs for part in ("known", "new"))
    counts = [[sum(pair.label == stance for pair in part) for stance in STANCES] for part in (known, new)]
    assert counts == [[2943, 742, 7128, 22_954], [735, 98, 1781, 1258]]
    assert {pair.claim for pair in known}.isdisjoint(pair.claim for pair in new)
    assert {pair.sentences for pair in known}.isdisjoint(pair.sentences for pair in new)


def test_published_counts(data_folder: Path) -> None:
    train, held = (read_pairs(f"{data_folder / 'fnc-1'},split={split}") for split in ("train", "hold-out"))
    counts = [sum(pair.label == stance for pair in held.pairs) for stance in STANCES]
    assert counts == [762, 162, 1800, 6898]
    assert len(train.pairs) + len(held.pairs) == 49_972
    science = read_pairs(str(data_folder / "scifact"))
    assert len(science.pairs) == 450
    symmetric = read_pairs(str(data_folder / "fever-symmetric/symmetric_v0.2/fever_symmetric_test.jsonl.xz"))
    assert [sum(pair.label == label for pair in symmetric.pairs) for label in symmetric.labels] == [356, 356]
    assert symmetric.labels == EVIDENCE[:2]


def test_every_auxiliary_task_can_be_read(data_folder: Path) -> None:
    for name in TASKS:
        task = read_task(name, data_folder, limit=50)
        assert len(task.examples) == 50
        assert {label for _, _, label in task.examples} <= set(range(len(task.labels)))
        assert task.examples == read_task(name, data_folder, limit=50).examples
        assert task.single == (name in ("sst", "imdb"))
    with pytest.raises(OffscriptError, match="no task 'snil'; did you mean 'snli'"):
        read_task("snil", data_folder)


@given(st.text(max_size=80), st.text(max_size=80), st.sampled_from(STANCES))
def test_json_lines_are_read_back(tmp_path_factory: pytest.TempPathFactory, claim: str, text: str, label: str) -> None:
    path = tmp_path_factory.mktemp("pairs") / "own.jsonl"
    path.write_text(json.dumps({"claim": claim, "text": [text], "label": label}) + "\n")
    assert read_pairs(str(path)).pairs == (Pair(claim, (text,), label, claim),)


@pytest.mark.parametrize(
    "line",
    [
        "[]",
        "{",
        '{"claim": "a"}',
        '{"claim": "a", "text": "b", "label": "maybe"}',
        '{"claim": 1, "text": "", "label": "agree"}',
    ],
)
def test_what_is_no_pair_is_refused_with_its_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text('{"claim": "a", "text": "b", "label": "agree"}\n' + line + "\n")
    with pytest.raises(OffscriptError, match="own.jsonl, line 2: not a claim"):
        read_pairs(str(path))


def test_stances_and_evidence_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text("".join(json.dumps({"claim": "a", "text": "b", "label": x}) + "\n" for x in ("agree", "SUPPORTS")))
    with pytest.raises(OffscriptError, match="mixes stances with evidence"):
        read_pairs(str(path))


@given(st.text())
def test_sentences_hold_all_words_of_a_text(text: str) -> None:
    assert "".join("".join(split_document(text)).split()) == "".join(text.split())


def test_coverage_is_the_share_of_the_claims_weight(terms: Terms) -> None:
    covered = terms.coverage(["the president died", "cats"], ["the president died", "cats eat", ""])
    np.testing.assert_allclose(covered[0], [1, 0, 0], atol=1e-6)
    np.testing.assert_allclose(covered[1], [0, 1, 0], atol=1e-6)


@given(st.lists(st.text(min_size=1, max_size=30), max_size=8), st.integers(1, 100), st.data())
def test_chosen_sentences_fit_the_budget(sentences: list[str], budget: int, data: st.DataObject) -> None:
    coverage = np.array(data.draw(st.lists(st.floats(0, 1), min_size=len(sentences), max_size=len(sentences))))
    chosen = choose_sentences(coverage, sentences, budget)
    assert chosen == sorted(set(chosen))
    assert bool(chosen) == bool(sentences)
    if len(chosen) > 1:
        assert sum(len(sentences[number]) for number in chosen) <= max(budget, max(map(len, sentences)))


def test_the_sentence_that_holds_the_claim_is_read_not_the_first() -> None:
    sentences = ["Good morning to all readers."] * 9 + ["The president died, police say."]
    assert choose_sentences(np.array([0.0] * 9 + [0.9]), sentences, 31) == [9]


def test_relatedness_tells_documents_apart(terms: Terms, small_data: Path) -> None:
    pairs = read_pairs(f"{small_data / 'fnc-1'},split=train").pairs
    features, coverage = features_of_pairs(terms, pairs)
    related = np.array([pair.label != "unrelated" for pair in pairs])
    level = fit_relatedness(terms, features, related)
    np.testing.assert_array_equal(level.of(features) > 0.5, related)
    assert [len(row) for row in coverage] == [len(pair.sentences) for pair in pairs]
    again = fit_relatedness(terms, features, related)
    np.testing.assert_array_equal(level.hidden, again.hidden)


def test_pairs_are_packed_with_masks_for_claim_and_text(encoder_folder: Path) -> None:
    tokenizer = unlimited(Tokenizer.from_file(str(encoder_folder / "tokenizer.json")))
    arrays = PairEncoder(tokenizer, 8)([("cats eat", "police deny fish"), ("cats", "")])
    assert arrays["claim"].tolist() == [[0, 1, 1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0, 0, 0]]
    assert arrays["text"].tolist() == [[0, 0, 0, 0, 1, 1, 1, 0], [0, 0, 0, 0, 0, 0, 0, 0]]
    assert arrays["real"].tolist() == [[1] * 8, [1, 1, 1, 1, 0, 0, 0, 0]]
    single = PairEncoder(tokenizer, 8)([("cats eat", None)])
    assert single["claim"].tolist() == [[0, 1, 1, 0]]


@given(
    st.dictionaries(st.sampled_from(TASKS), st.lists(st.integers(1, 50), min_size=1, max_size=60)), st.integers(1, 9)
)
def test_an_epoch_shows_every_example_once_in_ten_rounds(lengths: dict[str, list[int]], size: int) -> None:
    batches = epoch_batches(lengths, size, seed=1, epoch=0)
    for name, own in lengths.items():
        assert sorted(row for task, rows in batches if task == name for row in rows) == list(range(len(own)))
    assert all(len(rows) <= size for _, rows in batches)
    if lengths and all(len(own) >= ROUNDS for own in lengths.values()):
        tenths = (math.ceil(len(own) / ROUNDS) for own in lengths.values())
        first = {task for task, _ in batches[: sum(math.ceil(tenth / size) for tenth in tenths)]}
        assert first == set(lengths)  # the first round goes over all tasks


def test_best_weights_lift_a_class_that_is_said_too_seldom() -> None:
    gold = np.repeat([0, 1, 2, 3], 50)
    probabilities = np.full((200, 4), 0.1)
    probabilities[np.arange(200), gold] = 0.7
    probabilities[gold == 1] = [0.45, 0.35, 0.1, 0.1]
    weights = best_weights(probabilities, gold)
    assert ((probabilities * weights).argmax(axis=1) == gold).all()


def test_best_weights_count_stances_by_their_shares() -> None:
    gold = np.repeat([0, 2], 50)
    probabilities = np.tile([0.5, 0.0, 0.5, 0.0], (100, 1))  # which of the two is said is a matter of weights alone
    often = [best_weights(probabilities, gold, np.array(shares)) for shares in ((0.9, 0, 0.1, 0), (0.1, 0, 0.9, 0))]
    assert often[0][0] > often[0][2]
    assert often[1][0] < often[1][2]


def test_words_are_those_of_the_training_text() -> None:
    words = Words.fitted(["cats eat fish", "cats sleep"], 3)
    assert words.listed == ("cats", "eat", "fish")
    np.testing.assert_allclose(words.inverse_frequencies, [1, np.log(1.5) + 1, np.log(1.5) + 1], rtol=1e-6)
    rows = words.frequencies(["cats cats eat zebra", ""]).toarray()
    np.testing.assert_allclose(rows, [np.array([2, 1, 0]) / np.sqrt(5), [0, 0, 0]], rtol=1e-6)


def test_words_never_seen_count_as_the_rarest() -> None:
    words = Words.fitted(["cats eat fish", "cats sleep"], 3)
    rare = np.log(1.5) + 1
    first, second = ["cats zebra", "", "cats"], ["zebra zebra", "fish"]
    found = words.cosines(first, second, np.array([[0, 0], [1, 0], [2, 1], [0, 1]]))
    np.testing.assert_allclose(found, [rare / np.hypot(1, rare), 0, 0, 0], rtol=1e-6)


def test_the_official_features_of_a_worked_example() -> None:
    [row] = overlap_features([Pair("fake cats", ("Cats eat fish.", "Not fake."), "", "")])
    assert row[0] == pytest.approx(2 / 5)  # fake, cats of cats, eat, fish, not, fake
    assert row[1:16].tolist() == [1.0] + [0.0] * 14  # "fake" is the first refuting word
    assert row[16:20].tolist() == [1, 0, 2, 2]  # polarities: one refuting word, and two; words held, and held early
