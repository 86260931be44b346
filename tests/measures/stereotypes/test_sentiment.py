"""The sentiment baseline that reviews teach, on reviews small enough to count by hand."""

import io
import math
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offscript.corpora.associations import AssociationTest
from offscript.corpora.lines import archived_texts
from offscript.errors import OffscriptError
from offscript.measures.stereotypes.judgements import judge
from offscript.measures.stereotypes.scores import score_groups
from offscript.measures.stereotypes.sentiment import SentimentClassifier, classifier_scores, trained_on_reviews


def test_log_odds_by_hand() -> None:
    known = SentimentClassifier.learn([("bad bad film", True), ("good film", False), ("good", False)])
    # Features: bad, film, (bad, bad), (bad, film) of one negative text; good, film, (good, film), good of two positive.
    # Six are known; each kind has four, so that the shares are (count + 1) / 10 on both sides.
    assert known.prior == math.log(1 / 2)
    assert known.negative("BAD!") == pytest.approx(math.log(1 / 2) + math.log(2 / 1))
    assert known.negative("good") == pytest.approx(math.log(1 / 2) + math.log(1 / 3))
    assert known.negative("film") == pytest.approx(math.log(1 / 2))
    assert known.negative("never seen") == known.prior


@given(st.lists(st.tuples(st.text("ab ", max_size=6), st.booleans()), min_size=2, max_size=8))
def test_turning_every_label_turns_every_sign(examples: list[tuple[str, bool]]) -> None:
    if len({negative for _, negative in examples}) < 2:
        with pytest.raises(OffscriptError, match="all of one kind"):
            SentimentClassifier.learn(examples)
        return
    known = SentimentClassifier.learn(examples)
    turned = SentimentClassifier.learn([(text, not negative) for text, negative in examples])
    assert known.negative("a b a") == pytest.approx(-turned.negative("a b a"))


def test_an_archive_is_read_in_memory(tmp_path: Path) -> None:
    import re

    path = tmp_path / "texts.tar.xz"
    with tarfile.open(path, "w:xz") as archive:
        for name, text in (("a/pos/1.txt", "gut"), ("../evil.txt", "no"), ("a/neg/2.txt", "schlecht")):
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    found = list(archived_texts(path, re.compile(r"a/(pos|neg)/\d+\.txt")))
    assert found == [("a/pos/1.txt", "gut"), ("a/neg/2.txt", "schlecht")]
    path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(OffscriptError, match="cannot be read"):
        list(archived_texts(path, re.compile(".*")))


def test_negative_sentiment_finds_stereotypes(data_folder: Path, development_set: list[AssociationTest]) -> None:
    scores = classifier_scores(development_set, trained_on_reviews(data_folder))
    ss = score_groups(judge(development_set, scores), seed=1)[""].ss
    assert ss.interval.lower > 50  # section 4.7; counting a lexicon's words gives 44.7
