"""The Context Association Test: does a model prefer stereotypes, and meaning over nonsense (chapter 4 of the thesis).

A system is whatever gives each sentence a score, higher meaning more likely; no score knows how it came about.
"""

from offscript.measures.stereotypes.baselines import (
    ideal_judgements,
    random_scores,
    sentiment_scores,
    stereotyped_scores,
    weighted_ensemble,
)
from offscript.measures.stereotypes.causal import score_with_causal_model
from offscript.measures.stereotypes.comparison import Comparison, compare
from offscript.measures.stereotypes.description import describe_tests, keywords, sentiment_table
from offscript.measures.stereotypes.judgements import Judgements, judge
from offscript.measures.stereotypes.masked import score_with_masked_model
from offscript.measures.stereotypes.measured import measure_stereotypes
from offscript.measures.stereotypes.next_sentence import score_with_next_sentence_head
from offscript.measures.stereotypes.scores import CatScores, icat, score_groups, score_terms

__all__ = [
    "CatScores",
    "Comparison",
    "Judgements",
    "compare",
    "describe_tests",
    "icat",
    "ideal_judgements",
    "judge",
    "keywords",
    "measure_stereotypes",
    "random_scores",
    "score_groups",
    "score_terms",
    "score_with_causal_model",
    "score_with_masked_model",
    "score_with_next_sentence_head",
    "sentiment_scores",
    "sentiment_table",
    "stereotyped_scores",
    "weighted_ensemble",
]
