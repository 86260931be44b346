"""What is no claim to judge: questions, commands, opinions, several sentences at once, and what is no sentence."""

import re

from offscript.corpora.prose import sentence_starts
from offscript.factcheck.inference.wording import is_sentence

STATEMENT = "statement"
KINDS = (STATEMENT, "question", "command", "opinion", "several sentences", "no sentence")

_ASKED = re.compile(
    r"(?:who|whom|whose|what|where|why|how|which)\s+(?:is|are|was|were|do|does|did|can|could|will|would|should|has|have|"
    r"many|much|old|long|far|often|tall|big|come)\b|when\s+(?:is|are|was|were|do|does|did|will)\b",
    re.IGNORECASE,
)
_INVERTED = re.compile(
    r"(?:is|are|was|were|do|does|did|can|could|will|would|should|has|have|had|am)(?:n't)?\s+(?:the|an?|it|he|she|they|we|"
    r"you|i|there|this|that|these|those|his|her|its|their|[A-Z]\w+)\s+(.*[^.])$",
    re.IGNORECASE,
)
_COMMAND = re.compile(
    r"(?:please\b|let's\b|let us\b|don't\b|do not\b|never (?:forget|trust|give)\b|"
    r"(?:tell|show|give|check|find|explain|write|stop|vote|buy|click|read|go|come|take|make|try|remember|imagine|consider|"
    r"look|listen|wait|call|send|open|close|turn|help|keep|leave|bring|ask|believe|trust|ignore|follow|share|support|save|"
    r"watch|wash|wear|stay|prove|name|list|compare|describe)\s+(?:me|us|it|them|him|her|this|that|these|those|the|a|an|your|"
    r"my|our|for|to|in|on|at|up|down|out|off|more|less|now|here|home|if|whether|all|no|not|everyone|everything)\b)",
    re.IGNORECASE,
)
_STATED = re.compile(r"\b(?:is|are|was|were|has|have|had|will|can|does|did)\b")
_VIEW = re.compile(
    r"\b(?:i|we) (?:really |firmly |honestly )?(?:think|believe|feel|guess|hope|love|like|hate|prefer|doubt|wish)\b|"
    r"\bin (?:my|our) (?:opinion|view)\b|\bto my mind\b|\bpersonally\b|\b(?:should|ought to|must never|deserves? to)\b|"
    r"\bit(?:'s| is) (?:a shame|a pity|wrong|right|unfair|good|bad|sad|great|terrible) (?:that|to)\b",
    re.IGNORECASE,
)
_TASTE = re.compile(
    r"\b(?:is|are|was|were|looks?|sounds?|tastes?|feels?)\s+(?:so |very |really |quite |simply |the most |far too )?"
    r"(?:beautiful|ugly|boring|delicious|awful|amazing|overrated|underrated|wonderful|disgusting|fantastic|brilliant|"
    r"stupid|silly|lovely|ridiculous|disgraceful|adorable|terrible|horrible|gorgeous|cool|fun|annoying|"
    r"(?:much )?(?:nicer|prettier|funnier|tastier) than\b.*|"
    r"the (?:best|worst|greatest|nicest|prettiest|funniest|coolest)\b(?!-)(?! (?:selling|known|paid|director|actor|"
    r"actress|picture|film award|song award)))",
    re.IGNORECASE,
)


def claim_kind(text: str) -> str:
    """One of `KINDS`. Where the rules are not sure, a text is a statement.

    Args:
        text: What somebody asks to have checked.

    Returns:
        `statement` for what can be true or false, else what it is instead.
    """
    text = text.strip().strip("\"“”'").strip()
    if len([start for start in sentence_starts(text) if text[start:].strip()]) > 1:
        return "several sentences"
    if _is_question(text):
        return "question"
    if _is_command(text):
        return "command"
    if _VIEW.search(text) or _TASTE.search(text):
        return "opinion"
    return STATEMENT if not text or is_sentence(text) else "no sentence"


def _is_question(text: str) -> bool:
    """With its mark, or by its first words; `Will Smith was …` has its verb later and is a name."""
    inverted = _INVERTED.match(text)
    return text.endswith("?") or bool(_ASKED.match(text)) or (inverted is not None and not _STATED.search(inverted[1]))


def _is_command(text: str) -> bool:
    """Begins with a verb and states nothing; `Call the Midwife is …` is a title."""
    surely = text.lower().startswith(("please ", "don't ", "do not ", "tell me ", "show me "))
    return bool(_COMMAND.match(text)) and (surely or not _STATED.search(text))
