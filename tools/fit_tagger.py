"""Make the shipped tagger again: `python tools/fit_tagger.py TRAIN.conllu HELD_OUT.conllu OUT`."""

import argparse
from pathlib import Path

from offscript import __version__
from offscript._files import sha256_of
from offscript.factcheck.tagging.tagger import EPOCHS, ROWS, PerceptronTagger, read_treebank

SEED = 1
ABOUT = "Universal parts of speech of English: an averaged perceptron over hashed features, one byte a weight."
DATA = "Universal Dependencies English Web Treebank (UD_English-EWT), train split"
LICENCE = (
    "CC BY-SA 4.0, as the treebank: weights learned from it are shipped under the same licence, "
    "with thanks to its annotators"
)


def main() -> None:
    """Train on one treebank, count what is right on another, write weights and card."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("train", type=Path)
    parser.add_argument("held_out", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    tagger = PerceptronTagger.train(read_treebank(options.train), seed=SEED)
    sentences = list(read_treebank(options.held_out))
    found = tagger.tag_words([sentence.words for sentence in sentences])
    pairs = [
        pair for sentence, tags in zip(sentences, found, strict=True) for pair in zip(sentence.tags, tags, strict=True)
    ]
    right = sum(gold == tag for gold, tag in pairs)
    card = {
        "layout": 1,
        "kind": "tagger",
        "about": ABOUT,
        "licence": LICENCE,
        "offscript": __version__,
        "settings": {"rows": ROWS, "epochs": EPOCHS, "seed": SEED},
        "data": {"train": DATA, "sha256": sha256_of(options.train)},
        "held_out": {"sha256": sha256_of(options.held_out), "words": len(pairs), "right": right},
        "made_by": "python tools/fit_tagger.py train.conllu.xz dev.conllu.xz OUT",
    }
    tagger.save(options.out, card)


if __name__ == "__main__":
    main()
