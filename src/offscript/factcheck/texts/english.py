"""Whether a text is English, by its function words: what is not is not checked."""

import re

# The commonest words of languages written with Latin letters, those that English has too left out.
_WORDS = {
    "English": "the of and to in is was that for it as with on by he his from at are this be which or had not have",
    "German": "der die und das den von zu mit sich des auf für ist im dem nicht ein eine als auch es werden aus er hat",
    "French": "le la de les des et du une est pour dans que qui par sur au pas plus avec ce sont il elle cette été aux",
    "Spanish": "el la de los las y del que en un una por con se para su al es lo como más pero fue este entre sus ya",
    "Italian": "il lo di che la un per è una sono della con del le dei nel alla anche più gli ha si dal come nella",
    "Portuguese": "o de é os do da dos das em um uma que para com não se por mais como foi ao ele seu sua são também",
    "Dutch": "de het een van en dat op te zijn met voor niet aan er om ook bij uit naar door werd heeft maar wordt",
    "Swedish": "och att det som en på är av för med den till inte har de ett om var men så från vid kan sig eller",
    "Polish": "w i na z do się nie jest to że o jak po co od przez za dla oraz był jego tym które przy jako",
}
_PROFILES = {name: frozenset(words.split()) for name, words in _WORDS.items()}
_SHORT_ENGLISH = frozenset(
    ["a", "an", "were", "has", "its", "their", "her", "who", "than", "into", "they", "she", "did"]
)
_WORD = re.compile(r"[^\W\d_]+")
_IN_NAMES = re.compile(
    r"(\b[A-ZÀ-Þ]\w*)(?: (?:de|la|las|los|el|le|del|du|des|di|da|do|dos|van|der|den|von|zu|y|e|und))+(?= [A-ZÀ-Þ])"
)
"""Particles between two names: `Gilles de la Tourette` is no French."""
_LATIN = re.compile(r"[A-Za-zÀ-ɏ]")
NOT_ENGLISH = "not English: not checked"
FEWEST = 12  # words from which shares are told; of fewer, function words of another language and none of English's
FOREIGN, SHARE = 2, 0.25  # different ones of these at least, and their share, names in capitals not counted
LEAST_LATIN = 0.6  # of the letters
MANY = 25  # words in which English has function words without exception
LEAST_ENGLISH, LEAST_OTHER = 0.08, 0.12  # of the words; prose has 0.3 to 0.5


def is_english(text: str) -> bool:
    """Whether a text is English. One of few words is taken for it, unless it has another language's words."""
    written = _WORD.findall(_IN_NAMES.sub(r"\1", text))
    words = [word.lower() for word in written]
    letters = sum(map(len, words))
    if letters and len(_LATIN.findall(text)) < LEAST_LATIN * letters:
        return False
    if len(words) < FEWEST:
        return _short_is_english(written)
    shares = {name: sum(word in profile for word in words) / len(words) for name, profile in _PROFILES.items()}
    other = max(share for name, share in shares.items() if name != "English")
    if other >= LEAST_OTHER and other > shares["English"]:
        return False
    return len(words) < MANY or shares["English"] >= LEAST_ENGLISH


def _short_is_english(words: list[str]) -> bool:
    """Of few words: none of English, and two or more of another language, say that a text is not English.

    A word in small letters with a letter that English has not counts too: `Der Rhein fließt durch Köln`.
    """
    counted = [word.lower() for place, word in enumerate(words) if place == 0 or word.islower()]
    if any(word in _PROFILES["English"] or word in _SHORT_ENGLISH for word in counted):
        return True
    strange = {word for word in counted if not word.isascii()}
    others = [set(counted) & profile for name, profile in _PROFILES.items() if name != "English"]
    return not any(
        own and len(own) + len(strange) >= FOREIGN and len(own) + len(strange) >= SHARE * len(words) for own in others
    )
