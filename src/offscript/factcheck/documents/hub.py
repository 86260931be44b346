"""Hugging Face datasets, streamed."""

from collections.abc import Iterator

from offscript.errors import OffscriptError, missing_package
from offscript.factcheck.documents.document import Document
from offscript.factcheck.documents.records import RecordError, plain_document, record_fault

HUB_PREFIX = "hf:"


def read_hub(source: str) -> Iterator[Document]:
    """Documents of `hf:NAME[:CONFIG[:SPLIT]]`, a dataset with the fields id and text, and maybe title, url and date."""
    try:
        import datasets
    except ImportError as error:
        raise missing_package(source, "datasets", extra="datasets") from error
    name, config, split, *rest = (*source.removeprefix(HUB_PREFIX).split(":"), "", "")
    if not name or any(rest):
        raise OffscriptError(
            f"{source!r} names no dataset", next="write hf:NAME, hf:NAME:CONFIG or hf:NAME:CONFIG:SPLIT"
        )
    try:
        records = datasets.load_dataset(name, config or None, split=split or "train", streaming=True)
        for number, record in enumerate(records, start=1):
            try:
                yield plain_document(dict(record))
            except RecordError as fault:
                raise record_fault(source, number, fault) from fault
    except (OSError, ValueError) as error:
        raise OffscriptError(
            f"{source} cannot be read", why=str(error), next="check name, config, split and network"
        ) from error
