"""offscript finds out where a language model goes off script: from its data, human text, fairness and the facts."""

__version__ = "0.1.0"
