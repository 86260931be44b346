"""Sentences with the names that they take from their document."""

import pytest

from offscript.factcheck.inference.context import in_document

LINE = ("Dunmore Line", "The Dunmore Line is a railway between Brennick and Dunmore.")
ROVERS = ("Brennick Rovers", "Brennick Rovers is a football club from Brennick.")
UNIVERSITY = ("University of Corvane", "The University of Corvane was founded in 1607.")
VOSS = ("Almira Voss", "Almira Voss (1854–1931) was a Scottish botanist who was born in Brennick.")


@pytest.mark.parametrize(
    ("document", "sentence", "meant"),
    [
        (LINE, "The line was opened in 1872.", "The Dunmore Line was opened in 1872."),
        (LINE, "A landslide closed the railway for a week.", "A landslide closed Dunmore Line for a week."),
        (LINE, "The Dunmore Line is a railway.", "The Dunmore Line is a railway."),
        (LINE, "The line of the coast is broken.", "The line of the coast is broken."),
        (LINE, "It has eleven stations.", "Dunmore Line: It has eleven stations."),
        (ROVERS, "The club's ground is Quay Park.", "Brennick Rovers's ground is Quay Park."),
        (ROVERS, "The club of clubs.", "Brennick Rovers: The club of clubs."),
        (UNIVERSITY, "The university has 22,000 students.", "The University of Corvane has 22,000 students."),
        (VOSS, "The botanist never married.", "Almira Voss never married."),
        (("", "A text."), "The line was opened.", "The line was opened."),
    ],
)
def test_half_a_name_becomes_the_whole_one(document: tuple[str, str], sentence: str, meant: str) -> None:
    assert in_document(*document, sentence) == meant


def test_a_headline_names_nothing() -> None:
    title = "Police close the line after a landslide near Astle"
    assert in_document(title, "The line is closed.", "The line is closed.") == "The line is closed."
