"""Whether a text is about something else than a claim."""

import pytest

from offscript.factcheck.inference.entities import about_others


@pytest.mark.parametrize(
    ("claim", "text", "other"),
    [
        ("The mayor of Paris is a lawyer.", "Lyon: The mayor is a lawyer.", True),
        ("The mayor of Paris is a lawyer.", "The mayor of Paris is a teacher.", False),
        ("The mayor of Paris is a lawyer.", "The mayor is a teacher.", False),
        ("Masks prevent the spread of COVID-19.", "In New York, masks could avert many deaths.", False),
        ("Lower DBP comes with a higher risk.", "The study by Framingham found a lower risk.", False),
        ("Masks prevent the spread of COVID-19 in Italy.", "In New York, masks could avert many deaths.", True),
        ("water boils at 100 degrees.", "Madrid lies in Spain.", False),
    ],
)
def test_what_names_others_alone_is_about_them(claim: str, text: str, other: bool) -> None:
    assert about_others(claim, [text]).tolist() == [other]


def test_no_texts_are_about_nothing() -> None:
    assert about_others("Paris is in France.", []).tolist() == []
