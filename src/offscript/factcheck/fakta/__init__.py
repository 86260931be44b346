"""FAKTA, chapter 2 of the thesis: sources by kind, averaged stances, NOT ENOUGH INFO by the retrieval score.

It stands beside the checker of `offscript.factcheck.checking` and answers with the same `Check`.
"""

from offscript.factcheck.fakta.aggregation import Aggregate, Rule, aggregate, shipped_rule
from offscript.factcheck.fakta.pipeline import Fakta
from offscript.factcheck.fakta.retrieval import find_by_kind

__all__ = ["Aggregate", "Fakta", "Rule", "aggregate", "find_by_kind", "shipped_rule"]
