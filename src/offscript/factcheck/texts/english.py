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
    "Danish": "og er det på af med til ikke har som der blev han hun fra ved et ud kan sig efter også eller ligger end",
    "Turkish": "bir ve ile bu için çok daha olarak gibi olan değil yılında sonra kadar ancak veya oldu ise",
}
_PROFILES = {name: frozenset(words.split()) for name, words in _WORDS.items()}
# Words by which a short sentence is told, beside the commonest: none of them is a word of English.
_MORE_WORDS = {
    "German": "wurde wurden liegt sind einen einem einer eines durch nach bei über bis vom zum zur hatte haben sie ihr "
    "sein seine zwei drei viele mehr kein keine geboren starb begann",
    "French": "se en un fut ont ses leur mais où né née mort entre deux trois très aussi était étaient "
    "trouve ville guerre pays à",
    "Spanish": "tiene está son muy también fueron sobre hasta desde donde cuando dos tres nació murió ciudad país "
    "guerra ella él muchos muchas estado",
    "Italian": "nel è fu ha sono dell della degli delle nella alla al dal non molto anche due tre nacque morì città "
    "guerra paese lei lui si trova molti ad",
    "Portuguese": "na no nas nos pela pelo tem são foram muito também dois duas três nasceu morreu cidade país guerra "
    "ela ele fica faz com muitas muitos à",
    "Dutch": "ligt werden waren hebben hij zij ze deze dit als nog geen meer haar hun tussen onder tegen zal zou moet "
    "veel eerste twee drie stad jaar geboren dan",
    "Swedish": "ligger hon han många två tre mer än också blev hade ska under efter mellan föddes dog bor",
    "Danish": "ligger mange to tre mere blev var havde efter mellem født døde bor en",
    "Polish": "we ma są była było były oraz roku ona on ich jej nad pod między leży urodził zmarł miasto dwa dwie",
    "Turkish": "dır dir ilk büyük bin yüz doğdu öldü başkenti ülke şehir",
}
_SHARED_SPELLINGS = (
    "a i o an am as at be by do en for has hat he her his in is it man me men met more no of on or over pass per so "
    "son ten the to under van var war was we will die den dan tie mare mere due come pour plus con dog bin pays ad non "
    "al us com pas par"
)
_ENGLISH_TOO = frozenset(_SHARED_SPELLINGS.split())
_TOLD_BY = {
    name: (own | frozenset(_MORE_WORDS.get(name, "").split())) - _ENGLISH_TOO - _PROFILES["English"]
    for name, own in _PROFILES.items()
    if name != "English"
}
_MORE_ENGLISH = (
    "were its their who than into they she did been most during between when where there only called used after before "
    "about both because while does can could would may must two three all some many other through against one"
)
_ALSO_ELSEWHERE = frozenset(["is", "in", "was", "on", "at", "as", "for", "be", "to", "had", "have", "he", "his"])
_ENGLISH_ALONE = (_PROFILES["English"] - _ALSO_ELSEWHERE) | frozenset(_MORE_ENGLISH.split())
_STRANGE = re.compile(r"[ãõäöüßåøæłśćżźęąńğışčřůőűțăâîûòìù]")
"""Letters that no English word in small letters has; é and the like stand in words that English took over."""
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_IN_NAMES = re.compile(
    r"(\b[A-ZÀ-Þ]\w*)(?: (?:de|la|las|los|el|le|del|du|des|di|da|do|dos|van|der|den|von|zu|y|e|und))+(?= [A-ZÀ-Þ])"
)
"""Particles between two names: `Gilles de la Tourette` is no French."""
_LATIN = re.compile(r"[A-Za-zÀ-ɏ]")
NOT_ENGLISH = "not English: not checked"
FEWEST = 12  # words from which shares are told
FOREIGN = 2  # so many more words of another language than of English say that a short text is not English
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
    """Of few words: one of another language, or letters that English has not, unless English words outweigh them.

    Words with a capital are names and tell nothing, but for the first, unless a name goes on after it. Words that
    languages share, such as `is` and `in`, count for none.
    """
    first_is_name = len(words) > 1 and words[1][:1].isupper()
    counted = [word.lower() for place, word in enumerate(words) if word.islower() or (place == 0 and not first_is_name)]
    english = sum(word in _ENGLISH_ALONE for word in counted)
    strange = {word for word in counted if _STRANGE.search(word)}
    foreign = max(len(strange | (set(counted) & own)) for own in _TOLD_BY.values())
    return foreign == 0 or (english > 0 and foreign < english + FOREIGN)
