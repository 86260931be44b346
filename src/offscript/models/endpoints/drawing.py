"""How a server is asked to draw: servers differ in the names that they take, and in what they do with unknown ones."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from offscript.errors import OffscriptError
from offscript.models.endpoints.client import RefusedError

_WHOLE = "generation_config"
_NARROWING = ("top_k", "min_p")
_HOT, _SEVERAL = 2.0, 16
"""The temperature and the number of tokens at which two texts are the same only if nothing is left to chance."""

_NO_PENALTY = {"repetition_penalty": 1.0, "repeat_penalty": 1.0}
"""As vLLM and llama.cpp call it; vLLM takes its default from the model's folder."""

Ask = Callable[[dict[str, Any]], str]
"""Sends the settings of a request and gives the text that comes back."""


@dataclass(frozen=True)
class Drawing:
    """What a server takes.

    Args:
        limit: Its name for the most tokens of a text.
        seeded: Whether it takes a seed.
        extra: What keeps it from changing its distribution by defaults of its own; empty where it takes nothing.
    """

    limit: str = "max_tokens"
    seeded: bool = True
    extra: dict[str, Any] = field(default_factory=dict)

    def request(self, most: int, settings: Mapping[str, Any], seed: int, whose: str) -> dict[str, Any]:
        """The part of a request that says how a text is drawn.

        Args:
            most: The most tokens.
            settings: `temperature`, `top_p`, `top_k`, `min_p`.
            seed: Tells draws apart; where the server takes none it is not sent, and each draw is still one of its own.
            whose: The model, for the message.
        """
        own = {self.limit: most, "temperature": 1.0, "top_p": 1.0, **self.extra, **settings}
        narrowing = {name: own.pop(name) for name in _NARROWING if name in settings}
        if narrowing and not self.extra:
            raise OffscriptError(
                f"{whose} cannot be drawn from with {' and '.join(narrowing)}",
                why="its server ignores or refuses it",
                next="use ancestral, greedy, tempered or nucleus",
            )
        if _WHOLE in own:
            own[_WHOLE] = json.dumps({**json.loads(own[_WHOLE]), **narrowing})
        else:
            own |= narrowing
        return {**own, ("seed" if self.seeded else "_seed"): seed}


def find_drawing(ask: Ask, *, chat: bool, end: int | None) -> dict[str, Any]:
    """What a server takes, by asking it.

    Some servers refuse a setting that they do not know, others ignore it. So a setting counts only if it does
    something: two hot texts must differ, and with `top_k=1` be the same. `transformers serve` is greedy unless told.

    Args:
        ask: Sends a request.
        chat: Whether it is the chat API, in which some models take `max_completion_tokens` alone.
        end: The token that ends a text, where it is known.

    Returns:
        The fields of a `Drawing`.
    """
    names = ("max_tokens", "max_completion_tokens") if chat else ("max_tokens",)
    forms = [Drawing(limit, seeded) for limit in names for seeded in (True, False)]
    taken = next((form for form in forms if _accepted(ask, form)), None)
    if taken is None:
        return asdict(Drawing())
    for extra, narrow in _candidates(end):
        form = Drawing(taken.limit, taken.seeded, extra)
        if _accepted(ask, form) and _obeyed(ask, form, narrow):
            return asdict(form)
    return asdict(taken)


def _candidates(end: int | None) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Settings that leave a distribution as it is, and with them those that leave one token of it.

    llama.cpp and vLLM take `top_k` and `min_p`, in which 0 or -1 is off; transformers takes a whole configuration.
    """
    known: list[dict[str, Any]] = [{"top_k": off, "min_p": 0.0, **_NO_PENALTY} for off in (0, -1)]
    pairs: list[tuple[dict[str, Any], dict[str, Any]]] = [(each, {**each, "top_k": 1}) for each in known]
    if end is not None:
        whole = {"do_sample": True, "top_k": 0, "eos_token_id": end}
        pairs.append(({_WHOLE: json.dumps(whole)}, {_WHOLE: json.dumps({**whole, "top_k": 1})}))
    return pairs


def _accepted(ask: Ask, form: Drawing) -> bool:
    try:
        ask(form.request(1, {}, 1, ""))
    except RefusedError:
        return False
    return True


def _obeyed(ask: Ask, form: Drawing, narrow: Mapping[str, Any]) -> bool:
    """Whether hot texts differ, and no longer do so with one token to choose from."""
    hot = [form.request(_SEVERAL, {"temperature": _HOT}, seed, "") for seed in (1, 2)]
    try:
        one, other = (ask(each) for each in hot)
        narrowed = {ask({**each, **narrow}) for each in hot}
    except RefusedError:
        return False
    return one != other and len(narrowed) == 1
