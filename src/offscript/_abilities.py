"""What a model can be asked for: an endpoint may give less than weights do."""

from enum import IntEnum


class Gives(IntEnum):
    """What a model gives, each with what stands before it."""

    texts = 1
    """Texts that continue a beginning."""
    likelihoods = 2
    """Log-probabilities of the tokens of a given text, and of the likeliest token at each place."""
    distributions = 3
    """The log-probability of every token of the vocabulary at each place."""

    @property
    def words(self) -> str:
        """What it is called in a message."""
        return {
            Gives.texts: "texts",
            Gives.likelihoods: "log-probabilities of given texts",
            Gives.distributions: "whole next-token distributions",
        }[self]
