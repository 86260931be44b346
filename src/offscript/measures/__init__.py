"""What is measured: one file or folder per question, with its settings, needs, figures, conclusion and charts.

The names below load on first use, so that listing the questions costs no torch.
"""

from typing import TYPE_CHECKING

from offscript._lazy import loader

if TYPE_CHECKING:
    from offscript.measures.approximation.estimation import measure_approximation
    from offscript.measures.diversity.estimation import measure_diversity
    from offscript.measures.exposure.estimation import measure_exposure
    from offscript.measures.factuality.estimation import measure_factuality
    from offscript.measures.likelihood.estimation import measure_likelihood
    from offscript.measures.measurement import Measurement, to_frame
    from offscript.measures.quality import measure_quality
    from offscript.measures.question import Answer, Finding, Need, Question, Settings, setting
    from offscript.measures.recovery.estimation import measure_recovery
    from offscript.measures.registry import questions
    from offscript.measures.regret.estimation import measure_regret
    from offscript.measures.stereotypes.scores import measure_stereotypes
    from offscript.measures.subject import Subject
    from offscript.measures.texts import encode_texts

_PLACES = {
    "approximation.estimation": "measure_approximation",
    "diversity.estimation": "measure_diversity",
    "exposure.estimation": "measure_exposure",
    "factuality.estimation": "measure_factuality",
    "likelihood.estimation": "measure_likelihood",
    "measurement": "Measurement to_frame",
    "quality": "measure_quality",
    "question": "Answer Finding Need Question Settings setting",
    "recovery.estimation": "measure_recovery",
    "registry": "questions",
    "regret.estimation": "measure_regret",
    "stereotypes.scores": "measure_stereotypes",
    "subject": "Subject",
    "texts": "encode_texts",
}
__getattr__ = loader(__name__, _PLACES)

__all__ = [
    "Answer",
    "Finding",
    "Measurement",
    "Need",
    "Question",
    "Settings",
    "Subject",
    "encode_texts",
    "measure_approximation",
    "measure_diversity",
    "measure_exposure",
    "measure_factuality",
    "measure_likelihood",
    "measure_quality",
    "measure_recovery",
    "measure_regret",
    "measure_stereotypes",
    "questions",
    "setting",
    "to_frame",
]
