"""How anything is taught with gradients: one step loop with checkpoints, schedules, a log and progress.

`training/` teaches language models with it, `factcheck/` its stance and inference models. See `loop` for how to use it,
and `trainers` for how `offscript train` finds what a recipe asks for.
"""

from offscript._catalogue import TRAINERS
from offscript.learning.checkpoints import Standing, read_weights
from offscript.learning.interruption import StoppedError
from offscript.learning.loop import BEST, Course, Loss, Observer, StopSettings, course_of, learn
from offscript.learning.precision import Bfloat16, in_bfloat16
from offscript.learning.trainers import Trained, Trainer, find_trainer
from offscript.learning.updates import Fleet, OptimiserSettings, build_optimiser, learning_rate, seeded, update

__all__ = [
    "BEST",
    "TRAINERS",
    "Bfloat16",
    "Course",
    "Fleet",
    "Loss",
    "Observer",
    "OptimiserSettings",
    "Standing",
    "StopSettings",
    "StoppedError",
    "Trained",
    "Trainer",
    "build_optimiser",
    "course_of",
    "find_trainer",
    "in_bfloat16",
    "learn",
    "learning_rate",
    "read_weights",
    "seeded",
    "update",
]
