"""Parts of speech and names: the words of a claim that a search can go by.

The tagger that ships is an averaged perceptron, trained by the project; a spaCy model takes its place where one is
installed.
"""

from offscript.factcheck.tagging.tagger import Tagger, Token, default_tagger, named_entities

__all__ = ["Tagger", "Token", "default_tagger", "named_entities"]
