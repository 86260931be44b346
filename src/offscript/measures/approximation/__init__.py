"""What a generator's draws tell of its distribution: approximate bits per character, and how many draws that takes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from offscript._abilities import Gives
from offscript.measures.charts import Chart, curve_chart, curves_of
from offscript.measures.likelihood import GoldSettings
from offscript.measures.question import Answer, Need, Progress, Question, setting

if TYPE_CHECKING:
    from offscript.measures.measurement import Measurement
    from offscript.measures.subject import Subject


class ApproximationSettings(GoldSettings):
    """How many draws are made, and where the error is taken."""

    draws: int = setting(2000, "Draws after each history.", ge=1)
    step: int = setting(200, "Take the error at every so many draws …", ge=11)
    highest: int = setting(3000, "… up to this many.", ge=11)
    subset: int = setting(50, "Texts that the error is averaged over.", ge=2)


class Approximation(Question[ApproximationSettings]):
    """Bits per character from draws alone, the gap to the true ones, and how many draws are needed."""

    name = "approximation"
    title = "How many draws does it take to know its distribution?"
    about = "Approximate bits per character from draws alone, the gap to the true ones, and how many draws are needed."
    Settings = ApproximationSettings
    needs = (Need.model, Need.gold)
    reads = Gives.texts
    headlines = ("bpc",)
    figure_names = ("nll*", "ppl*", "bpc", "never_drawn", "bpc_gap", "error", "draws", "bound")

    def plan(self, subject: "Subject") -> ApproximationSettings:
        """A few texts: every history is drawn from thousands of times."""
        return ApproximationSettings(samples=min(subject.samples, 50), length=min(subject.length, 20))

    def measure(self, subject: "Subject", settings: ApproximationSettings, progress: Progress) -> Answer:
        """On the texts that `likelihood` takes."""
        from offscript.measures.approximation.estimation import measure_approximation

        chosen = settings.model_dump(include={"draws", "step", "highest", "subset"})
        measurements = measure_approximation(subject.model, subject.gold(settings), seed=subject.seed, **chosen)
        return Answer(measurements, title=f"{subject.model.name} by {settings.draws} draws")

    def charts(self, measurements: "Sequence[Measurement]") -> list[Chart]:
        """The error by number of draws."""
        curves = curves_of(measurements)
        if "error" not in curves:
            return []
        title = "How far ten more draws move an approximated distribution; the line is the paper's boundary"
        return [(title, curve_chart({"error": curves["error"]}, x="draws, in steps", y="‖G₋₁₀ - G‖∞", reference=1e-3))]
