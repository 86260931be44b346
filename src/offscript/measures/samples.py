"""What does its text look like? Samples of the model, beside the oracle's where there is one."""

from typing import TYPE_CHECKING

from offscript._abilities import Gives
from offscript.measures.question import Answer, Need, Progress, Question, Settings, Table, setting

if TYPE_CHECKING:
    from offscript.measures.subject import Subject

_SHOWN = 8


class SampleSettings(Settings):
    """How many samples are shown."""

    samples: int = setting(_SHOWN, "Samples of each model.", ge=1)
    length: int = setting(50, "Tokens at most of a sample.", ge=1)


class Samples(Question[SampleSettings]):
    """Texts to look at; there are no figures."""

    name = "samples"
    title = "Samples"
    about = "Texts of the model and of the oracle, drawn with the same random numbers."
    Settings = SampleSettings
    takes = (Need.oracle,)
    reads = Gives.texts
    flags = ("seed", "device")
    figure_names = ()
    asked_by_default = True
    share = 0

    def plan(self, subject: "Subject") -> SampleSettings:
        """A handful."""
        return SampleSettings(length=subject.length)

    def measure(self, subject: "Subject", settings: SampleSettings, progress: Progress) -> Answer:
        """The same random numbers through each model."""
        from offscript.measures.subject import columns_of_texts
        from offscript.sampling.generation import generate, texts

        sources = [subject.model, *([] if subject.oracle is None else [subject.oracle])]
        count, columns = progress.start(len(sources)), []
        for source in sources:
            generated = generate(
                source, settings.samples, settings.length, seed=(subject.seed, 2), batch_size=settings.samples
            )
            columns.append((source.name, list(texts(source, generated))))
            count(1)
        rows = [
            dict(zip((name for name, _ in columns), row, strict=True))
            for row in zip(*(rows for _, rows in columns), strict=True)
        ]
        exhibit = columns_of_texts(columns, "The same random numbers, drawn through each model")
        return Answer([], [exhibit], details={"samples": rows}, tables=[Table(rows)])
