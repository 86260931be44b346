"""Sentences made to stand alone, by rules: pronouns and "the company" become names."""

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass, field

from offscript.factcheck.inference.slots import VALUES
from offscript.factcheck.stance.tokens import STOP_WORDS
from offscript.factcheck.tagging import Tagger, default_tagger
from offscript.factcheck.texts.naming import Describe, Described, within

_PERSON_NOUNS = """actor actress artist athlete author chairman chairwoman chancellor chemist composer director doctor
    economist engineer explorer founder governor inventor journalist king mayor mathematician minister musician novelist
    painter philosopher physicist player poet politician president professor queen scientist singer swimmer writer"""
_THING_NOUNS = """agency airline airport album bank bay bridge building canal castle cathedral championship church city
    club college commission company corporation country county dam desert election factory festival film firm garden
    group harbour hospital island journal kingdom lake library lighthouse magazine mine mountain museum nation newspaper
    novel observatory opera orchestra organisation organization palace park party planet plant port programme project
    province railway republic reserve river school ship society stadium state station store team temple theatre theater
    tower town treaty tunnel university vaccine valley village volcano war zoo"""
_PART_NOUNS = """airport bridge building castle cathedral church factory garden harbour hospital library lighthouse
    museum palace park port school stadium station store temple theatre theater tower zoo"""
_TITLES = """archbishop baron bishop captain chancellor count countess doctor dr duke emperor empress father general
    king lady lord mayor mr mrs ms pope president prince princess professor queen saint sir sister"""
_FIRM_NOUNS = "agency airline bank company corporation factory firm group newspaper store"
_PLACE_NOUNS = """bay city country county desert harbour island kingdom lake mountain nation planet port province
    republic river state town valley village volcano"""
_FAMILIES = [
    frozenset(nouns.split())
    for nouns in (
        "author novelist writer poet journalist playwright",
        "company corporation firm group manufacturer business maker retailer",
        "club side team",
        "city town",
        "museum gallery collection",
        "scientist chemist physicist biologist researcher",
        "law act bill statute",
        "medicine drug treatment",
        "river stream",
        "line railway",
    )
]
"""Nouns of which one can stand for the other."""
_NO_SUBJECTS = VALUES["day"] | VALUES["month"] | VALUES["people"]  # what no pronoun means, though it has a capital
_FIRMS, _PLACES = frozenset(_FIRM_NOUNS.split()), frozenset(_PLACE_NOUNS.split())
PERSONS, THINGS = frozenset(_PERSON_NOUNS.split()), frozenset(_THING_NOUNS.split())
_PARTS, _RANKS = frozenset(_PART_NOUNS.split()), frozenset(_TITLES.split())
_PRONOUN = re.compile(r"(He|She|It|They|His|Her|Its|Their|The ([a-z]+)(['’]s)?|This ([a-z]+))\s+", re.DOTALL)
_LEADING = re.compile(
    r"(?:(?:[A-Z][a-z]+ly|However|Moreover|Meanwhile|Also|Then|Today|Later|Still|Yet|But|And|So),?\s+|"
    r"(?:In|On|Since|By|After|Before|Until|During|At|From|According to) (?:[\w'’-]+ ){1,4}?"
    r"(?=(?:he|she|it|the [a-z]+) )|"
    r"(?:In|On|Since|By|After|Before|Until|During|According to) [^,]{1,60}, )"
)
_CLEFT = re.compile(r"It (?:is|was) ([^,;]{2,60}?) (?:who|that) (?=[a-z])")
"""`It was Marie Curie who found it`: `it` means nothing."""
_EMPTY = re.compile(
    r"It (?:takes|took|does|did|seems?|seemed|rain(?:s|ed)|feels?|felt|happen(?:s|ed)|turn(?:s|ed) out|"
    r"(?:is|was|will be|would be|['’]s) (?:(?:a|an|not|too|so|very|already|still|almost) )*(?:\w+ )?"
    r"(?:raining|snowing|cold|hot|warm|dark|loud|late|early|clear|true|likely|possible|said|believed|known|thought|hard|"
    r"easy|time|pity|shame|day|night|morning|evening|winter|summer|"
    r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)\b|"
    r"(?:is|was) thanks to\b|"
    r"(?:is|was|has been|had been|became|remains?) (?:(?:not|now|long|still|also|very|only) )*"
    r"(?:against the law|(?:il)?legal|forbidden|allowed|(?:im)?possible|customary|common|usual|normal|rare|necessary|"
    r"important|difficult|dangerous|safe|wrong|right|best|better) (?:for [\w ]{1,30})?(?:to|that)\b)"
)
"""`It` that means nothing: `It is a grey Tuesday`, `It takes a while`."""
_OF_THEM = re.compile(r"((?:[\w,.]+ ){0,3}[\w,.]+) of them\b")  # `Fewer than 1,000 of them`
_CAPITALS = re.compile(r"\b[A-Z][a-z'’-]+(?: [A-Z][a-z'’-]+)+")
_HEAD = re.compile(r"\b[A-Z][a-z]+ of (?:the )?$")
_INSIDE = re.compile(r"(?<=[a-z,;] )[A-Z][\w'’-]+")  # words with a capital that do not begin a sentence
_CAPITAL = re.compile(r"\b[A-Z][\w'’-]+")
_COMMON = re.compile(r"(?:graphy|logy|tion|sion|ism|body|thing)$")  # how few names of one word end
_PHRASES = [re.compile(rf"The ([a-z]+(?: [a-z]+){{{more}}})\s+") for more in (2, 1)]
POSSESSIVE = ("His", "Her", "Its", "Their")
_ARTICLES = frozenset(["a", "an", "the", "this", "that", "its", "his", "her", "their", "our", "my"])


@dataclass
class Memory:
    """The names that a text has used so far, latest last, and what each is: a person or a thing."""

    title: str = ""
    persons: list[str] = field(default_factory=list)
    things: list[str] = field(default_factory=list)
    nouns: dict[str, str] = field(default_factory=dict)  # what a thing was called: {"company": "Acme"}
    subject: str = ""  # the name that the latest sentence begins with
    describe: Describe | None = None
    described: dict[str, Described] = field(default_factory=dict)  # what documents say of names
    titles: set[str] = field(default_factory=set)  # that were put in the place of `the lantern festival`

    def antecedent(self, word: str, noun: str) -> str:
        """The name that a pronoun or `the company` stands for; empty where none fits."""
        if noun:
            if noun in self.nouns:
                return self.nouns[noun]
            known = self.persons if noun in PERSONS else self.things if noun in THINGS else []
            known = [name for name in known if not self._is_other(name, noun)]
            called = [name for name in known if noun in name.lower().split()]
            if not called and (name := self._called(noun)):
                return name
            if noun in _PARTS and not called:
                return ""  # `the harbour` is that of a town, and not the town
            return (called or known or [""])[-1]
        if word in ("He", "She", "His", "Her"):
            if self.subject in self.things:
                self._found_person([self.subject])
            pronoun = "he" if word in ("He", "His") else "she"
            fitting = [name for name in self.persons if self._pronoun(name) in ("", pronoun)]
            if not fitting and not self.persons:
                return self._found_person(self.things)
            return fitting[-1] if fitting else ""
        if word in ("It", "Its"):
            return self.things[-1] if self.things else ""
        return ""  # `they` may be anybody

    def _called(self, noun: str) -> str:
        """The latest name that documents call so, or the only document whose title has the noun in it."""
        alike = next((family for family in _FAMILIES if noun in family), {noun})
        names = [self.described[name].name for name in (*self.things, *self.persons) if self._noun(name) in alike]
        if not names and self.describe and (titled := self.describe(noun)):
            self.titles.add(titled.name)
            names = [titled.name]
        return names[-1] if names else ""

    def _noun(self, name: str) -> str:
        return self.described[name].noun if name in self.described else ""

    def _pronoun(self, name: str) -> str:
        return self.described[name].pronoun if name in self.described else ""

    def _found_person(self, names: Sequence[str]) -> str:
        """The latest name of two or three words of which nothing is known, which can be what `she` means; if any.

        From then on it is known as a person.
        """
        unknown = (
            name for name in reversed(names) if name not in self.nouns.values() and self._noun(name) not in THINGS
        )
        whole = (name for name in unknown if 2 <= len(name.split()) <= 3 and " of " not in name)
        person = next((name for name in whole if not THINGS & set(name.lower().split())), "")
        if person:
            self.persons.append(person)
            self.things = [name for name in self.things if name not in (person, person.split()[-1])]
        return person

    def _is_other(self, name: str, noun: str) -> bool:
        """Whether a name is known for what the noun cannot mean: a city is no company."""
        called = {other for other, known in self.nouns.items() if known == name}
        return any(noun in one and called & two for one, two in ((_FIRMS, _PLACES), (_PLACES, _FIRMS)))

    def full_name(self, name: str) -> str:
        """A surname or a short form by the longest name that ends or begins with it."""
        known = [each for each in (*self.persons, *self.things) if len(each) > len(name)]
        if " " in name:
            return name
        return next((each for each in reversed(known) if each.split()[-1] == name and each in self.persons), name)


def stand_alone(
    sentences: Sequence[str], *, title: str = "", describe: Describe | None = None, tagger: Tagger | None = None
) -> list[str]:
    """Sentences in the order of their text, with what they take from the ones before put into them.

    Args:
        sentences: Of one text.
        title: What the text is about, for a first sentence that begins with a pronoun.
        describe: What is known of a name, so that `the town` is a town and `she` a woman.
        tagger: Finds names; the one that ships by default.

    Returns:
        As many sentences; those that need nothing, or for which no name fits, as they were.
    """
    known = within(describe, sentences) if describe else None
    tagger, memory = tagger or default_tagger(), Memory(title, describe=known)
    inside = frozenset(word for sentence in sentences for word in _INSIDE.findall(sentence))
    resolved = []
    for sentence in sentences:
        text = _resolved(sentence, memory)
        resolved.append(text)
        _remember(text, _known_names(text, inside, memory, tagger), memory)
    return resolved


def _known_names(sentence: str, inside: Container[str], memory: Memory, tagger: Tagger) -> list[str]:
    """The names of a sentence in order: what looks like one, and words with a capital that a document has."""
    titles = sorted((title for title in memory.titles if title in sentence), key=lambda title: (-len(title), title))
    names: list[str] = []
    words = [word for word in _CAPITAL.findall(sentence) if word.lower() not in STOP_WORDS]
    missed = [word for word in words if memory.describe and memory.describe(word)]
    for name in (*titles, *(each for each in _names(sentence, tagger) if _is_name(each, sentence, inside)), *missed):
        if not any(name in known for known in names):
            names.append(name)
    return sorted(names, key=sentence.find)


def _is_name(name: str, sentence: str, inside: Container[str]) -> bool:
    """Whether a candidate is a name: `nan` is not capitalised, and `Geography` only because it begins a sentence."""
    if name == name.lower():
        return False
    begins = sentence.startswith((name, f'"{name}', f"“{name}"))
    return " " in name or not begins or name in inside or not _COMMON.search(name)


def _resolved(sentence: str, memory: Memory) -> str:
    leading = _LEADING.match(sentence)
    start = leading.end() if leading else 0
    rest = sentence[start:]
    begun = _with_title(capital(rest), memory)
    if (cleft := _CLEFT.match(begun)) is not None and _is_noun_phrase(cleft[1]):
        return f"{sentence[:start]}{cleft[1] if start else capital(cleft[1])} {begun[cleft.end() :]}"
    if pronoun := _PRONOUN.match(begun):
        noun = pronoun[2] or pronoun[4] or ""
        if _EMPTY.match(begun) or cleft is not None:
            return sentence
        name = memory.antecedent(pronoun[1], noun)
        if name and not (noun and _names_itself(begun, pronoun)):
            possessive = pronoun[1] in POSSESSIVE or bool(pronoun[3])
            return f"{sentence[:start]}{name}{apostrophe(name) if possessive else ''} {begun[pronoun.end() :]}"
        return sentence
    if begun[:4] != "The " and rest[:4] in ("The ", "the "):
        return f"{sentence[:start]}{begun}"
    if (many := _OF_THEM.match(begun)) and memory.things and _is_many(memory.things[-1]):
        return f"{sentence[:start]}{many[1]} {memory.things[-1]}{begun[many.end() :]}"
    first = re.match(r"([A-Z][\w-]+)(['’]s)?(?=\s+[a-z])", begun)
    if first and (name := memory.full_name(first[1])) != first[1]:
        return f"{sentence[:start]}{name}{first[2] or ''}{begun[first.end() :]}"
    return sentence


def _is_many(name: str) -> bool:
    """Whether a name is that of many: `Ostriches`, not `Berit Aas`."""
    return name.endswith("s") and " " not in name


def _with_title(sentence: str, memory: Memory) -> str:
    """`The lantern festival takes place` with the title of the only document that is about a lantern festival."""
    if (describe := memory.describe) is None:
        return sentence
    for phrase in _PHRASES:
        found = phrase.match(sentence)
        if found and found[1].split()[-1] in THINGS | PERSONS and (titled := describe(found[1])):
            memory.titles.add(titled.name)
            return f"{titled.name} {sentence[found.end() :]}"
    return sentence


def _is_noun_phrase(text: str) -> bool:
    """Whether a text is somebody or something: `the council`, `Marie Curie`; not `thanks to her`."""
    first, *others = text.split()
    return (first[:1].isupper() or first in _ARTICLES) and not any(word in ("to", "for", "because") for word in others)


def capital(text: str) -> str:
    """The text with its first letter as a capital."""
    return text[:1].upper() + text[1:]


def _names_itself(sentence: str, pronoun: re.Match[str]) -> bool:
    """`The company Acme`, `The river Rhine`, `The city of Rome` name themselves; `the town hall` is no town."""
    after = sentence[pronoun.end() :]
    if pronoun[3]:
        return False
    following = default_tagger().tag([sentence])[0][2:3]
    compound = [token for token in following if token.tag == "NOUN" and not token.text.endswith("s")]  # no verb
    return after[:1].isupper() or after.startswith("of ") or bool(compound)


def apostrophe(name: str) -> str:
    """What makes a name a possessive."""
    return "'" if name.endswith("s") else "'s"


def _remember(sentence: str, names: Sequence[str], memory: Memory) -> None:
    """Take in the names of a sentence; its first one, mostly its subject, is what pronouns mean next."""
    names = [name.removeprefix("The ").removeprefix("the ") for name in names]
    names = [name for name in names if not _NO_SUBJECTS & set(name.split())]
    for name in reversed(names):
        place = sentence.find(name)
        if whole := _HEAD.search(sentence[: max(place, 0)]):  # the tagger leaves out `Lighthouse of`
            name, place = f"{whole[0]}{name}", whole.start()
        if (known_of := memory.describe(name) if memory.describe else None) is not None:
            _learn(name, known_of, memory)
        is_person = _is_person(name, sentence[: max(place, 0)], sentence[place + len(name) :], memory)
        known = memory.persons if is_person else memory.things
        if name in known:
            known.remove(name)
        known.append(name)
    memory.subject = next((name for name in names if sentence.startswith(name)), "")
    if names and (introduced := _introduced(sentence)) and names[0] not in memory.described:
        memory.nouns[introduced] = names[0]


def _learn(name: str, described: Described, memory: Memory) -> None:
    """Keep what the documents say of a name; the latest thing of a kind is what `the town` means."""
    memory.described[name] = described
    if described.noun in THINGS:
        memory.nouns[described.noun] = described.name  # whole: `the line` is not the town that it leads to
        memory.titles.add(described.name)
        memory.persons = [each for each in memory.persons if each != name]


def _names(sentence: str, tagger: Tagger) -> list[str]:
    """The names of a sentence in order: what the tagger finds, and words with capitals in a row that it misses."""
    names = [name for name in tagger.entities(sentence) if any(letter.isalpha() for letter in name)]
    for found in _CAPITALS.finditer(sentence):
        run = found[0].split()
        missed = " ".join(run[1:] if run[0].lower() in STOP_WORDS else run)
        if " " in missed and not any(name in missed or missed in name for name in names):
            names.append(missed)
    return sorted(names, key=sentence.find)


def _introduced(sentence: str) -> str:
    """The first noun that says what a name is: `a company`, `a large old port town`; not one that is known already."""
    words: list[str] = re.findall(r"[A-Za-z'’-]+", sentence[:200])
    for place, noun in enumerate(words):
        if noun in PERSONS or noun in THINGS:
            before = [word.lower() for word in words[max(place - 4, 0) : place]]
            article = next((word for word in reversed(before) if word in _ARTICLES), "")
            named = words[place + 1 : place + 2]
            if article in ("a", "an", "") or (named and named[0][0].isupper()):
                return noun
    return ""


def _is_person(name: str, before: str, after: str, memory: Memory) -> bool:
    words, title = name.split(), before.split()[-1:]
    described = memory.described.get(name)
    if described is not None and (described.noun in PERSONS | THINGS or described.pronoun):
        return described.noun in PERSONS or (described.noun not in THINGS and described.pronoun != "")
    if name in memory.persons or (len(words) > 1 and words[0].lower().rstrip(".") in _RANKS):
        return True
    if name in memory.things or any(word.lower() in THINGS for word in words):
        return False
    told = re.match(r"[^.]{0,80}?\b(?:born|died|he|she|his|her|" + "|".join(sorted(PERSONS)) + r")\b", after)
    return 2 <= len(words) <= 4 and (told is not None or any(word.lower() in PERSONS for word in title))
