"""The almanac: facts of geography and chemistry that come with the package, so that a claim can be checked at once."""

from offscript.factcheck.almanac.facts import AlmanacClaim, Fact, Prompt, Relation, draw_claims, prompts
from offscript.factcheck.almanac.storage import almanac_documents, almanac_facts, almanac_index, almanac_is_written

__all__ = [
    "AlmanacClaim",
    "Fact",
    "Prompt",
    "Relation",
    "almanac_documents",
    "almanac_facts",
    "almanac_index",
    "almanac_is_written",
    "draw_claims",
    "prompts",
]
