"""Numbers in, numbers out: intervals, tests and scores over plain arrays.

Nothing enters here that knows a model, a text, a question or a file.
"""

from offscript.statistics.agreement import fleiss_kappa, intraclass_correlation, krippendorff_alpha
from offscript.statistics.classification import (
    Classification,
    ReliabilityBin,
    Score,
    classification_differences,
    classification_scores,
    f1_scores,
    reliability,
)
from offscript.statistics.crossed import (
    CrossedVariance,
    Power,
    crossed_difference,
    crossed_interval,
    crossed_mean,
    crossed_variance,
    raters_needed,
)
from offscript.statistics.differences import (
    can_be_compared,
    contributions,
    curve_difference,
    differences_from_best,
    differences_of_draws,
    holm,
    independent_difference,
    p_value_of,
    paired_differences,
    share_difference,
)
from offscript.statistics.estimates import Curve, Difference, Estimate, Interval, Profile, samples_for_width, within
from offscript.statistics.jackknife import (
    Unbiased,
    correlation_interval,
    jackknife,
    leave_out_errors,
    leave_out_profile,
)
from offscript.statistics.means import (
    clustered_proportion_interval,
    mean_by_length,
    mean_interval,
    perplexity_interval,
    proportion_interval,
    rate_interval,
    student_interval,
)
from offscript.statistics.ratios import pseudo_values, ratio, ratio_of_means_by_length, ratio_of_means_interval
from offscript.statistics.resampling import (
    RESAMPLES,
    bootstrap,
    bootstrap_by_length,
    estimates_of_draws,
    two_stage_draws,
)

__all__ = [
    "RESAMPLES",
    "Classification",
    "CrossedVariance",
    "Curve",
    "Difference",
    "Estimate",
    "Interval",
    "Power",
    "Profile",
    "ReliabilityBin",
    "Score",
    "Unbiased",
    "bootstrap",
    "bootstrap_by_length",
    "can_be_compared",
    "classification_differences",
    "classification_scores",
    "clustered_proportion_interval",
    "contributions",
    "correlation_interval",
    "crossed_difference",
    "crossed_interval",
    "crossed_mean",
    "crossed_variance",
    "curve_difference",
    "differences_from_best",
    "differences_of_draws",
    "estimates_of_draws",
    "f1_scores",
    "fleiss_kappa",
    "holm",
    "independent_difference",
    "intraclass_correlation",
    "jackknife",
    "krippendorff_alpha",
    "leave_out_errors",
    "leave_out_profile",
    "mean_by_length",
    "mean_interval",
    "p_value_of",
    "paired_differences",
    "perplexity_interval",
    "proportion_interval",
    "pseudo_values",
    "rate_interval",
    "raters_needed",
    "ratio",
    "ratio_of_means_by_length",
    "ratio_of_means_interval",
    "reliability",
    "samples_for_width",
    "share_difference",
    "student_interval",
    "two_stage_draws",
    "within",
]
