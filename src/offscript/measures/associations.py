"""The data of the Context Association Test described: counts, lengths, sentiment, keywords (Tables 4.1 to 4.3)."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from offscript.measures.question import Answer, Need, Progress, Question, Settings, Table, setting

if TYPE_CHECKING:
    from offscript.measures.subject import Subject


class AssociationSettings(Settings):
    """What the tests are described with."""

    lexicon: Path | None = setting(None, "Folder with positive-words.txt and negative-words.txt.")
    frequencies: Path | None = setting(None, "General word frequencies: a word and its count per line.")


class Associations(Question[AssociationSettings]):
    """Tables of what the tests hold; sentiment shares have intervals."""

    name = "associations"
    title = "What do the association tests hold?"
    about = "Counts and lengths; with --lexicon sentiment; with --frequencies or --corpus the keywords of each domain."
    Settings = AssociationSettings
    needs = (Need.associations,)
    figure_names = ()
    takes = (Need.corpus,)
    flags = ()

    def measure(self, subject: "Subject", settings: AssociationSettings, progress: Progress) -> Answer:
        """Describe the whole file."""
        from offscript.corpora.wordlists import count_words, read_frequencies, read_sentiment_words
        from offscript.measures.stereotypes.description import describe_tests, keywords, sentiment_table

        tests = subject.association_tests()
        tables: dict[str, list[dict[str, Any]]] = {
            "counts": [{"tests of": name, **asdict(counts)} for name, counts in describe_tests(tests).items()]
        }
        if settings.lexicon is not None:
            shares = sentiment_table(tests, read_sentiment_words(settings.lexicon))
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
        return Answer([], details=tables, tables=[Table(rows) for rows in tables.values()])
