"""The data of the Context Association Test: counts, lengths, sentiment, keywords, terms (Tables 4.1 to 4.3, B.8)."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from offscript.measures.question import Answer, Need, Progress, Question, Settings, Table, setting

if TYPE_CHECKING:
    from offscript.measures.measurement import Measurement
    from offscript.measures.stereotypes.description import Term
    from offscript.measures.subject import Subject
    from offscript.statistics import Estimate


class AssociationSettings(Settings):
    """What the tests are described with."""

    lexicon: Path | None = setting(None, "Folder with positive-words.txt and negative-words.txt.")
    reviews: Path | None = setting(None, "Folder of data sets; its reviews teach what is negative.")
    frequencies: Path | None = setting(None, "General word frequencies: a word and its count per line.")


class Associations(Question[AssociationSettings]):
    """Tables of what the tests hold; lengths and sentiment shares are figures with intervals."""

    name = "associations"
    title = "What do the association tests hold?"
    about = "Counts and lengths; with --lexicon or --reviews sentiment; with --frequencies or --corpus keywords."
    Settings = AssociationSettings
    needs = (Need.associations,)
    figure_names = ("words.*", "tests_per_term", "negative.*")
    takes = (Need.corpus,)
    flags = ()

    def measure(self, subject: "Subject", settings: AssociationSettings, progress: Progress) -> Answer:
        """Describe the whole file."""
        from offscript.corpora.wordlists import count_words, read_frequencies
        from offscript.measures.stereotypes.description import (
            describe_tests,
            keywords,
            target_terms,
            tests_per_term,
            words_per_test,
        )

        tests, shares = subject.association_tests(), _negative_shares(subject, settings)
        tables: dict[str, list[dict[str, Any]]] = {
            "counts": [{"tests of": name, **asdict(counts)} for name, counts in describe_tests(tests).items()],
            "terms": _by_domain(target_terms(tests)),
        }
        if shares:
            tables["sentiment"] = [{"label": label, "negative": asdict(share)} for label, share in shares.items()]
        if settings.frequencies is not None or subject.corpus:
            if settings.frequencies is not None:
                general = read_frequencies(settings.frequencies)
            else:
                general = count_words(subject.sentences())
            tables["keywords"] = [
                {"domain": domain, **asdict(word)}
                for domain, words in keywords(tests, general).items()
                for word in words
            ]
        share = tests_per_term(tests)
        figures = {
            **{f"words.{task}": mean for task, mean in words_per_test(tests).items()},
            **({} if share is None else {"tests_per_term": share}),
            **{f"negative.{label}": share for label, share in shares.items()},
        }
        measurements = _measurements(subject, settings, figures)
        return Answer(measurements, details=tables, tables=[Table(rows) for rows in tables.values()])


def _by_domain(terms: "list[Term]") -> list[dict[str, Any]]:
    """A row per domain: its terms with their counts, as Table B.8 lists them."""
    rows: dict[str, list[str]] = {}
    for each in terms:
        rows.setdefault(each.domain, []).append(f"{each.term} {each.tests}")
    return [{"domain": domain, "terms": len(own), "with their tests": ", ".join(own)} for domain, own in rows.items()]


def _negative_shares(subject: "Subject", settings: AssociationSettings) -> "dict[str, Estimate]":
    """The shares of negative sentences by label, by what reviews teach or by a list of words; none without either."""
    from offscript.measures.stereotypes.description import sentiment_table

    tests = subject.association_tests()
    if settings.reviews is not None:
        from offscript.measures.stereotypes.sentiment import trained_on_reviews

        classifier = trained_on_reviews(settings.reviews)
        return sentiment_table(tests, lambda text: classifier.negative(text) > 0)
    if settings.lexicon is None:
        return {}
    from offscript.corpora.wordlists import read_sentiment_words, words_of

    words = read_sentiment_words(settings.lexicon)
    return sentiment_table(tests, lambda text: words.polarity(words_of(text)) < 0)


def _measurements(
    subject: "Subject", settings: AssociationSettings, figures: "dict[str, Estimate]"
) -> "list[Measurement]":
    from offscript.measures.measurement import Measurement, environment
    from offscript.measures.stereotypes.scores import data_recipe

    tests = subject.association_tests()
    by = {name: str(path) for name, path in settings.model_dump().items() if path is not None}
    recipe = {"measure": Associations.name, "data": data_recipe(tests), "by": by, **environment()}
    shared: dict[str, Any] = {"question": Associations.name, "n": len(tests), "seed": None, "seconds": 0.0}
    return [Measurement.of(estimate, name=name, recipe=recipe, **shared) for name, estimate in figures.items()]
