"""Write the almanac's people and works again, from first sentences of Wikipedia articles that FEVER's evidence holds.

    python tools/extract_people.py --data ../shared/data

FEVER's evidence is text of Wikipedia, CC BY-SA 3.0; so is what this writes (`assets/almanac/LICENCE.md`).
"""

import argparse
import json
import lzma
import re
from collections.abc import Iterator
from pathlib import Path

from offscript.factcheck.inference.fever import FeverTraining, read_fever_training

OUT = Path(__file__).parents[1] / "src" / "offscript" / "assets" / "almanac" / "wikipedia.jsonl.xz"
MONTHS = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
]  # fmt: skip
DATE = re.compile(rf"(?:({'|'.join(MONTHS)}) (\d{{1,2}}), (\d{{4}})|(\d{{1,2}}) ({'|'.join(MONTHS)}) (\d{{4}}))")
FIRST = re.compile(
    r"(?P<name>[A-Z][^()]{2,60}?),? \((?P<aside>[^()]{0,120})\),? (?P<verb>is|was) (?P<what>an? [^.;]{5,200}?)"
    r"(?:,? (?:best known|known|who|whose|which|and (?:is|was)|noted|famous|widely|at times|that|from|"
    r"of the|with|for)\b.*)?\."
)
FILM = re.compile(
    r"(?P<name>[A-Z0-9][^()]{1,60}?) (?:\([^()]{0,80}\) )?is an? (?P<year>\d{4}) (?P<what>[^.]{3,70}?film) "
    r"(?:[^.]{0,80}?)directed by (?P<director>[A-Z][\w.'-]*(?: [A-Z][\w.'-]*){1,3})(?=[ ,.])"
)
LONGEST = 70
CUT = 2  # letters of an abbreviation that ended the match


def dates_in(text: str) -> list[str]:
    """Dates as `4 August 1961`."""
    found = []
    for month, day, year, day_first, month_second, year_second in DATE.findall(text):
        found.append(f"{int(day or day_first)} {month or month_second} {year or year_second}")
    return found


def common_name(full: str, title: str) -> str:
    """What claims call somebody, where it is made of the full name's words; else the name without its nickname."""
    full = full.partition(",")[0]
    words = re.findall(r"[\w.'-]+", full)
    if title and len(title.split()) > 1 and all(word in words for word in re.findall(r"[\w.'-]+", title)):
        return title
    return re.sub(r'\s*"[^"]*"\s*', " ", full).strip(" ,")


def people(training: FeverTraining) -> Iterator[dict[str, str]]:
    """Persons with a date of birth."""
    for title, sentence in zip(training.titles, training.sentences, strict=True):
        found = FIRST.match(sentence)
        if found is None or not (dates := dates_in(found["aside"])):
            continue
        born = "born" in found["aside"] and found["verb"] == "is"
        lived = len(dates) == 2 and found["verb"] == "was"
        what = found["what"].strip(" ,")
        if (born or lived) and len(what) <= LONGEST and '"' not in what and len(what.split()[-1]) > CUT:
            record = {"kind": "person", "name": common_name(found["name"], title), "full": found["name"].strip(" ,")}
            yield {**record, "what": what, "born": dates[0], "died": dates[1] if lived else ""}


def films(training: FeverTraining) -> Iterator[dict[str, str]]:
    """Films with their year and who directed them."""
    for sentence in training.sentences:
        found = FILM.match(sentence)
        if found is not None and not found["name"].startswith(("It ", "The film ")):
            record = {"kind": "film", "name": found["name"], "what": found["what"], "year": found["year"]}
            yield {**record, "director": found["director"]}


def main() -> None:
    """Write them, every name once; a name with two entries is left out, for it may mean either."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    training = read_fever_training(given.data)
    by_name: dict[tuple[str, str], list[dict[str, str]]] = {}
    for record in (*people(training), *films(training)):
        by_name.setdefault((record["kind"], record["name"]), []).append(record)
    kept = [own[0] for own in by_name.values() if all(each == own[0] for each in own)]
    given.out.parent.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(each, ensure_ascii=False, sort_keys=True) + "\n" for each in kept)
    given.out.write_bytes(lzma.compress(lines.encode(), preset=9))
    kinds = [each["kind"] for each in kept]
    print(f"{kinds.count('person')} people, {kinds.count('film')} films, {given.out.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
