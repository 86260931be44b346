"""A study's ratings on their way out and in: the layout that everything reads, as CSV or JSON lines."""

import csv
import hashlib
import io
import json
from pathlib import Path
from typing import Any

from offscript._files import write_text
from offscript.corpora.ratings import RatedText, Ratings, ratings_of, read_ratings
from offscript.errors import OffscriptError
from offscript.studies.design import CHECK, DESIGN, read_design, read_items
from offscript.studies.store import RatingStore

COLUMNS = ("item", "rater", "system", "rating", "seconds", "passed")


def rating_rows(folder: Path | str) -> list[dict[str, Any]]:
    """Every rating of a study with the columns of the layout; checks of attention become the column `passed`."""
    if read_design(folder).kind == "associations":
        from offscript.studies.associations import AssociationStore

        return AssociationStore(folder).validation_rows()
    store = RatingStore(folder)
    query = (
        "SELECT item, rater, value, seconds, passed FROM ratings JOIN participants USING (code) ORDER BY rater, item"
    )
    rows = store.rows(query)
    failed, checked = set(), set()
    for item, rater, value, _, passed in rows:
        if passed is not None:  # imported with what was known of the rater
            checked.add(rater)
            failed.update([] if passed else [rater])
        known = store.items[item]
        if known.system == CHECK:
            checked.add(rater)
            if known.answer is not None and value != str(known.answer):
                failed.add(rater)
    return [
        {
            "item": item,
            "rater": rater,
            "system": store.items[item].system,
            "rating": value,
            "seconds": None if seconds is None else round(seconds, 3),
            "passed": int(rater not in failed) if rater in checked else None,
        }
        for item, rater, value, seconds, _ in rows
        if store.items[item].system != CHECK
    ]


def study_ratings(folder: Path | str) -> Ratings:
    """The ratings of a study.

    Args:
        folder: The study's.

    Returns:
        The ratings, with the log-probabilities and texts of the items.
    """
    rows = rating_rows(folder)
    if not rows:
        raise OffscriptError(f"nobody has rated anything in {folder}", next=f"offscript serve --study {folder}")
    if read_design(folder).kind == "associations":
        return ratings_of(rows)
    items = {item.item: item for item in read_items(folder)}
    return ratings_of(
        [{**row, "log_prob": items[row["item"]].log_prob, "text": items[row["item"]].text} for row in rows]
    )


def study_texts(folder: Path | str) -> list[RatedText]:
    """The texts of a study."""
    if read_design(folder).kind == "associations":
        return []
    items = (item for item in read_items(folder) if item.system != CHECK)
    return [RatedText(item.item, item.system, item.text, item.log_prob) for item in items]


def study_hash(folder: Path | str) -> str:
    """Of the design and of every rating."""
    digest = hashlib.sha256((Path(folder) / DESIGN).read_bytes())
    digest.update(json.dumps(rating_rows(folder)).encode())
    return digest.hexdigest()


def export_ratings(folder: Path | str, path: Path) -> int:
    """Write the ratings of a study, as JSON lines for `.jsonl`, else as CSV; tells how many."""
    rows = rating_rows(folder)
    if path.suffix == ".jsonl":
        write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        return len(rows)
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue())
    return len(rows)


def import_ratings(folder: Path | str, path: Path, **reading: Any) -> int:
    """Add ratings that were given elsewhere, such as a crowd platform's CSV; tells how many are new."""
    ratings = read_ratings(path, **reading)
    values = [f"{value:g}" if ratings.numeric else str(value) for value in ratings.values.tolist()]
    seconds = [None if time != time else time for time in ratings.seconds.tolist()]
    entries = list(zip(ratings.items.tolist(), ratings.raters.tolist(), values, seconds, strict=True))
    failed: dict[str, bool] = {}
    for rater, passed in zip(ratings.raters.tolist(), ratings.passed.tolist(), strict=True):
        if passed == passed:
            failed[rater] = failed.get(rater, False) or passed == 0
    return RatingStore(folder).add_ratings(entries, failed)
