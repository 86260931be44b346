"""What can be judged, and what is no claim."""

import pytest

from offscript.factcheck.inference.claim_kinds import claim_kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("The capital of Australia is Canberra.", "statement"),
        ("Japan uses the yen", "statement"),
        ("Portugal does not border France.", "statement"),
        ("U.S. exports rose by 3.5 percent in 2019.", "statement"),
        ("Will Smith was born in Philadelphia.", "statement"),
        ("Who Framed Roger Rabbit is a film.", "statement"),
        ("The Beatles' best-selling album is Abbey Road.", "statement"),
        ("Close Encounters of the Third Kind was released in 1977.", "statement"),
        ("Call the Midwife is a British series.", "statement"),
        ("Do the Right Thing was directed by Spike Lee.", "statement"),
        ("Is Canberra the capital of Australia?", "question"),
        ("Is the earth flat", "question"),
        ("What is the capital of France", "question"),
        ("How many people live in Paris?", "question"),
        ("Tell me the capital of France.", "command"),
        ("Please check whether this is true.", "command"),
        ("Don't trust the polls.", "command"),
        ("I think that Paris is lovely.", "opinion"),
        ("The government should lower taxes.", "opinion"),
        ("Rome is the most beautiful city in Europe.", "opinion"),
        ("Pizza tastes delicious.", "opinion"),
        ("Paris is in France. Rome is in Italy.", "several sentences"),
        ("", "statement"),
        ("Nigeria borders Cameroon", "statement"),
        ("Greece's capital is Athens", "statement"),
        ("of the in Paris blue was seven of never and", "no sentence"),
        ("the of capital is the France Paris and in", "no sentence"),
        ("qzv xkp wjfh zzq bdrt lpqw gx", "no sentence"),
        ("#@~^}{|<>*&^%$]=+`~^|<", "no sentence"),
        ("�\x03�^�<�}|�{~�", "no sentence"),
        ("1234567", "no sentence"),
    ],
)
def test_kinds(text: str, kind: str) -> None:
    assert claim_kind(text) == kind
