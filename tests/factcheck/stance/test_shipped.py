"""The model that ships: whole, small, independent of torch, and right about plain cases."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import offscript
from offscript._config import expanded, find_recipe, read_mapping
from offscript._files import sha256_of
from offscript.errors import OffscriptError
from offscript.factcheck.stance.registry import SHIPPED, read_card, stance_model
from offscript.factcheck.stance.stance import STANCES, StanceModel
from offscript.factcheck.stance.teaching import stance_recipe

ASSET = Path(offscript.__path__[0]) / "assets" / "stance"


@pytest.fixture(scope="module")
def model() -> StanceModel:
    return stance_model(SHIPPED)


def test_files_are_those_of_the_card_and_small() -> None:
    card = read_card(ASSET)
    assert {name: sha256_of(ASSET / name) for name in card["sha256"]} == card["sha256"]
    assert sum(path.stat().st_size for path in ASSET.iterdir()) < 30e6
    assert {"about", "data", "licence", "scores", "known_failures", "make_again"} <= card.keys()


def test_the_card_has_the_shipped_recipe(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OFFSCRIPT_DATA", str(tmp_path))
    recipe = stance_recipe(expanded(read_mapping(find_recipe("stance"), "recipe")))
    written = {**read_card(ASSET)["recipe"], "data": str(tmp_path)}
    assert stance_recipe(written) == recipe  # keys that came later have their defaults


@pytest.mark.parametrize("name", ["stance", "fakta", "fever-perceptron"])
def test_shipped_stance_recipes_are_right(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OFFSCRIPT_DATA", str(tmp_path))
    (tmp_path / "fever-train").mkdir()
    assert stance_recipe(expanded(read_mapping(find_recipe(name), "recipe"))).name == name


def test_it_runs_without_torch() -> None:
    code = (
        "import sys; from offscript.factcheck.stance.registry import stance_model;"
        "stance_model().of_documents('cats eat fish', [['cats eat fish']]); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


_NEGATED = ("Greyson Chance sings.", "Greyson Chance never sang in his life.", "disagree")


@pytest.mark.parametrize(
    ("claim", "sentence", "stance"),
    [
        ("Cats eat fish", "Cats eat fish every day.", "agree"),
        ("Cats eat fish", "Cats do not eat fish.", "disagree"),
        ("Tom Hanks is an actor.", "The Eiffel Tower is in Paris.", "unrelated"),
        ("The president died", "Officials denied that the president died.", "disagree"),
        ("The film was released in 1999.", "The film was released in 2003.", "disagree"),
        ("Tom Hanks is an actor.", "Thomas Jeffrey Hanks is an American actor and filmmaker.", "agree"),
        ("Tom Hanks is not an actor.", "Thomas Jeffrey Hanks is an American actor and filmmaker.", "disagree"),
        ("Greyson Chance sings.", "Greyson Chance is a pop singer.", "agree"),
        ("Greyson Chance sings.", "Paris is in France.", "unrelated"),
        pytest.param(*_NEGATED, marks=pytest.mark.xfail(strict=True, reason="a known failure, in the model's card")),
    ],
)
def test_plain_cases(model: StanceModel, claim: str, sentence: str, stance: str) -> None:
    assert STANCES[int(model.of_sentences(claim, [sentence])[0].argmax())] == stance


def test_answers_do_not_depend_on_what_is_asked_beside(model: StanceModel) -> None:
    claim = "A tropical spider burrowed under a man's skin"
    documents = [
        ["Doctors removed a tropical spider from under a man's skin.", "He is well."],
        ["Experts say the story of the spider is a hoax.", "No spider burrows under skin."],
        ["Shares fell on Monday."],
        [],
    ]
    together = model.of_documents(claim, documents)
    alone = np.concatenate([model.of_documents(claim, [document]) for document in documents])
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_allclose(together.sum(axis=1), 1, atol=1e-6)
    said = [STANCES[place] for place in together.argmax(axis=1)]
    assert said == ["agree", "disagree", "unrelated", "unrelated"]
    assert model.of_documents(claim, []).shape == (0, 4)


def test_a_folder_that_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OffscriptError, match="no stance model"):
        stance_model(str(tmp_path))
    (tmp_path / "card.json").write_text("{}")
    with pytest.raises(OffscriptError, match="is not a stance model; its card is of another kind"):
        stance_model(str(tmp_path))


def test_a_committee_votes_with_equal_weights(model: StanceModel) -> None:
    claim, sentences = "Cats eat fish", ["Cats never eat fish."]
    both = stance_model(f"{SHIPPED}+lexical")
    expected = (model.of_sentences(claim, sentences) + stance_model("lexical").of_sentences(claim, sentences)) / 2
    np.testing.assert_allclose(both.of_sentences(claim, sentences), expected)
    assert both.name == "offscript/stance+lexical"
