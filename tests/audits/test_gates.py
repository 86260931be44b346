"""Gates are read as written, look at the value or a bound, and refuse what names nothing."""

import math
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offscript.audits.gates import Gate, check_gates, parse_gate, require_asked
from offscript.errors import OffscriptError
from offscript.measures.question import Question, Settings
from offscript.measures.subject import Subject
from offscript.statistics import Interval


@dataclass(frozen=True)
class Found:
    value: float
    interval: Interval


FIGURES = {
    "exposure.eb_c.js": Found(1.15, Interval(1.08, 1.22, 0.95, "bootstrap")),
    "likelihood.ppl": Found(math.inf, Interval(3.0, math.inf, 0.95, "delta")),
    "regret.q_per_token": Found(0.5, Interval.exact(0.5)),
}
names = st.from_regex(r"[A-Za-z0-9_=,. -]*[A-Za-z0-9_]", fullmatch=True).filter(
    lambda name: name == name.strip() and not name.endswith((".lower", ".upper"))
)
gates = st.builds(
    Gate,
    st.builds("{}.{}".format, st.from_regex(r"[a-z][a-z0-9_-]*", fullmatch=True), names),
    st.sampled_from(["value", "lower", "upper"]),
    st.sampled_from([">", ">=", "<", "<="]),
    st.floats(allow_nan=False),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("exposure.eb_c.js>1.1", Gate("exposure.eb_c.js", "value", ">", 1.1)),
        (" exposure.eb_c.js >= 1.1 ", Gate("exposure.eb_c.js", "value", ">=", 1.1)),
        ("stereotypes.icat<-1e-3", Gate("stereotypes.icat", "value", "<", -0.001)),
        ("likelihood.ppl.upper<=inf", Gate("likelihood.ppl", "upper", "<=", math.inf)),
        ("sampling.nucleus;p=0.9.self_bleu_4>0.3", Gate("sampling.nucleus,p=0.9.self_bleu_4", "value", ">", 0.3)),
        ("sampling.nucleus,p=0.9.self_bleu_4>0.3", Gate("sampling.nucleus,p=0.9.self_bleu_4", "value", ">", 0.3)),
        ("sampling.real text.self_bleu_4.lower>0.3", Gate("sampling.real text.self_bleu_4", "lower", ">", 0.3)),
    ],
)
def test_gates_are_read(text: str, expected: Gate) -> None:
    assert parse_gate(text) == expected


@given(gates)
def test_a_written_gate_is_read_back(gate: Gate) -> None:
    assert parse_gate(str(gate)) == gate


@given(st.text(max_size=40) | st.from_regex(r"[a-z.]{0,9}[<>=]{0,3}[0-9.e]{0,4}", fullmatch=True))
def test_any_text_is_a_gate_or_an_error_of_ours(text: str) -> None:
    try:
        gate = parse_gate(text)
    except OffscriptError:
        return
    assert parse_gate(str(gate)) == gate
    assert not math.isnan(gate.threshold)


@pytest.mark.parametrize(
    "text", ["", "exposure", "exposure>1", "exposure.eb_c.js", "a.b>", "a.b>x", "a.b>nan", "a.b=1", ">1"]
)
def test_what_is_no_gate_is_refused(text: str) -> None:
    with pytest.raises(OffscriptError, match="exposure.eb_c.js>1.1"):
        parse_gate(text)


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        ("exposure.eb_c.js>1.1", True),
        ("exposure.eb_c.js>1.15", False),
        ("exposure.eb_c.js>=1.15", True),
        ("exposure.eb_c.js.lower>1.1", False),
        ("exposure.eb_c.js.lower>1.05", True),
        ("exposure.eb_c.js.upper>1.2", True),
        ("exposure.eb_c.js<1.2", True),
        ("exposure.eb_c.js.upper<=1.2", False),
        ("likelihood.ppl>1000", True),
        ("regret.q_per_token.upper>0.5", False),
    ],
)
def test_a_gate_looks_at_the_value_or_a_bound(text: str, failed: bool) -> None:
    (judged,) = check_gates([parse_gate(text)], FIGURES)
    assert judged.failed == failed


def test_the_message_says_figure_interval_and_gate() -> None:
    texts = ["exposure.eb_c.js>1.1", "exposure.eb_c.js.lower>1.1", "regret.q_per_token>0.1"]
    told = [str(judged) for judged in check_gates([parse_gate(text) for text in texts], FIGURES)]
    assert told == [
        "exposure.eb_c.js is 1.15 (95%: 1.08 to 1.22): > 1.1",
        "exposure.eb_c.js is 1.15 (95%: 1.08 to 1.22): its lower bound not > 1.1",
        "regret.q_per_token is 0.5 (exact): > 0.1",
    ]


def test_unknown_questions_and_figures_are_named_with_what_is_near() -> None:
    gate = parse_gate("exposur.eb_c.js>1")
    with pytest.raises(OffscriptError, match="'exposure'"):
        require_asked([gate], {"exposure": None, "regret": None})
    with pytest.raises(OffscriptError, match="did you mean 'exposure.eb_c.js'"):
        check_gates([parse_gate("exposure.eb_c.jss>1")], FIGURES)


def test_a_gate_on_a_figure_that_will_not_be_there_is_refused_before_the_run() -> None:
    known = {"exposure": ["eb_c.js", "cgd_*.js"], "mine": None}
    gates = [parse_gate(text) for text in ("exposure.eb_c.js.lower>1", "exposure.cgd_random.js>1", "mine.any>0")]
    require_asked(gates, known)
    with pytest.raises(
        OffscriptError, match=r"will have no figure exposure\.eb_m\.js; did you mean 'exposure\.eb_c\.js'"
    ):
        require_asked([parse_gate("exposure.eb_m.js>1")], known)


def test_a_gate_on_a_question_without_figures_is_refused() -> None:
    with pytest.raises(OffscriptError, match="samples has no figures"):
        require_asked([parse_gate("samples.any>0")], {"samples": ()})


def test_a_plugin_names_its_figures() -> None:
    class Mine(Question[Settings]):
        name, title, about = "mine", "Mine?", "Mine."
        figure_names = ("share", "share.*")

    with pytest.raises(OffscriptError, match=r"no figure mine\.shares; did you mean 'mine\.share'"):
        require_asked([parse_gate("mine.shares>0")], {"mine": Mine().figures(Subject(None), Settings())})
