"""Numbers in, numbers out: intervals, tests and scores over plain arrays.

Nothing enters here that knows a model, a text, a question or a file.
"""

from offscript.statistics.differences import (
    contributions,
    holm,
    paired_difference,
    paired_differences,
    unpaired_difference,
    unpaired_difference_of,
)
from offscript.statistics.estimates import Curve, Difference, Estimate, Interval, Profile, samples_for_width, within
from offscript.statistics.jackknife import Unbiased, jackknife, leave_out_errors, leave_out_profile
from offscript.statistics.means import (
    mean_by_length,
    mean_interval,
    perplexity_interval,
    plan,
    proportion_interval,
    rate_interval,
    student_interval,
)
from offscript.statistics.ratios import pseudo_values, ratio, ratio_of_means_by_length, ratio_of_means_interval
from offscript.statistics.resampling import RESAMPLES, bootstrap, bootstrap_by_length, correlation_interval

__all__ = [
    "RESAMPLES",
    "Curve",
    "Difference",
    "Estimate",
    "Interval",
    "Profile",
    "Unbiased",
    "bootstrap",
    "bootstrap_by_length",
    "contributions",
    "correlation_interval",
    "holm",
    "jackknife",
    "leave_out_errors",
    "leave_out_profile",
    "mean_by_length",
    "mean_interval",
    "paired_difference",
    "paired_differences",
    "perplexity_interval",
    "plan",
    "proportion_interval",
    "pseudo_values",
    "rate_interval",
    "ratio",
    "ratio_of_means_by_length",
    "ratio_of_means_interval",
    "samples_for_width",
    "student_interval",
    "unpaired_difference",
    "unpaired_difference_of",
    "within",
]
