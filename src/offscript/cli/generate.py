"""`offscript generate`: text from a model."""

from typing import Annotated

import typer

from offscript.cli._options import BatchSize, Device, Json, Model, Quiet, Seed


def generate(
    model: Model,
    n: Annotated[int, typer.Option("-n", "--samples", min=1, max=1 << 31, help="How many sequences.")] = 10,
    sampler: Annotated[str, typer.Option(help="e.g. nucleus,p=0.9 (offscript ls samplers).")] = "ancestral",
    length: Annotated[int, typer.Option(min=1, help="Tokens at most, the prefix included.")] = 50,
    prefix: Annotated[str, typer.Option(help="Text that every sequence begins with.")] = "",
    stop_at_end: Annotated[bool, typer.Option(help="Stop a sequence at its end token.")] = True,
    seed: Seed = 1,
    device: Device = "cpu",
    batch_size: BatchSize = 256,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Draw text from a model, one sequence per line.

    Example: offscript generate offscript/news --sampler nucleus,p=0.9 -n 5
    """
    import json

    import torch

    from offscript.cli._progress import counting
    from offscript.models import load_model
    from offscript.sampling import generate as draw_sequences
    from offscript.sampling import texts
    from offscript.sampling.transforms import parse_transform

    transform = parse_transform(sampler)
    loaded = load_model(model, device=device)
    encoded = loaded.vocabulary.encode(prefix)
    prefixes = torch.tensor(encoded).expand(n, -1) if encoded else None
    with counting("generate", n, quiet=quiet) as progress:
        drawn = draw_sequences(
            loaded, n, length, seed=seed, transform=transform, prefixes=prefixes,
            stop_at_end=stop_at_end, batch_size=batch_size, progress=progress,
        )  # fmt: skip
    lines = [" ".join(text.splitlines()) for text in texts(loaded, drawn)]
    if as_json:
        typer.echo(
            json.dumps({"model": loaded.name, "sampler": sampler, "seed": seed, "texts": lines}, ensure_ascii=False)
        )
        return
    for line in lines:
        typer.echo(line)
