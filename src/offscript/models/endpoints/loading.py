"""`openai/MODEL@URL` with its settings, as a model."""

from offscript._files import cache_folder
from offscript._specification import Setting
from offscript.corpora.open_words import OpenWords
from offscript.corpora.vocabularies import HubVocabulary, Vocabulary
from offscript.errors import OffscriptError
from offscript.models.endpoints.address import Address, parse_address
from offscript.models.language_model import LanguageModel


def load_endpoint(
    rest: str,
    *,
    tokenizer: str | None = None,
    start: Setting | None = None,
    chat: Setting | None = None,
    system: Setting | None = None,
    top: Setting = 5,
    key: Setting | None = None,
    concurrency: Setting = 8,
    retries: Setting = 8,
    timeout: Setting = 120,
    max_requests: Setting | None = None,
    max_tokens: Setting | None = None,
) -> LanguageModel:
    """A model of an OpenAI-compatible completions server: `openai/MODEL@http://host:port/v1`.

    Args:
        rest: `MODEL@URL`.
        tokenizer: The folder or Hub id of the served model's tokenizer; without it the server gives texts alone.
        start: The text before position 0, where it is not the tokenizer's start token.
        chat: A message that every text answers, through the chat API; `{}` in it takes the beginning of a text.
        system: What the system says before it.
        top: How many of the likeliest tokens a server without `echo` is asked for.
        key: The environment variable that holds the key: OFFSCRIPT_API_KEY, or OPENAI_API_KEY for OpenAI's own server.
        concurrency: Requests under way at once.
        retries: How often a request that failed is sent again.
        timeout: Seconds to wait for an answer.
        max_requests: The most requests that this model may cost, all runs together.
        max_tokens: The most tokens, those of prompts included.
    """
    from offscript.models.endpoints.client import Client, Manners
    from offscript.models.endpoints.ledger import Ledger
    from offscript.models.endpoints.model import Endpoint

    address = parse_address(rest, key)
    if system is not None and chat is None:
        raise OffscriptError(f"{address} with system= and without chat=", next="add chat=MESSAGE, the user's part")
    manners = Manners(
        concurrency=_whole("concurrency", concurrency, address),
        retries=_whole("retries", retries, address, least=0),
        timeout=float(_whole("timeout", timeout, address)),
    )
    most = {
        name: None if value is None else _whole(f"max_{name[5:]}", value, address, least=0)
        for name, value in (("most_requests", max_requests), ("most_tokens", max_tokens))
    }
    ledger = Ledger(cache_folder() / "endpoints" / f"{address.digest}.sqlite", **most)
    vocabulary: Vocabulary = OpenWords() if tokenizer is None else HubVocabulary.load(str(tokenizer))
    model = Endpoint(
        Client(address, ledger, manners),
        vocabulary,
        start=_text(start),
        chat=_text(chat),
        system=_text(system),
        top=_whole("top", top, address),
    )
    decides = {"tokenizer": tokenizer, "start": start, "chat": chat, "system": system}
    model.name = _named(model.name, decides | ({"top": top} if top != 5 else {}))
    return model


def _named(name: str, settings: dict[str, Setting | None]) -> str:
    """The name with the settings that decide answers; budgets, keys and the like do not."""
    from offscript._specification import Specification

    return str(Specification(name, {key: value for key, value in settings.items() if value is not None}))


def _text(value: Setting | None) -> str | None:
    return None if value is None else str(value)


def _whole(name: str, value: Setting, address: Address, *, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise OffscriptError(f"cannot use {name}={value} of {address}", next=f"give a whole number of {least} or more")
    return value
