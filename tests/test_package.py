"""The package as a whole: what it exports, what its import costs, what its files may hold, what its wheel carries."""

import ast
import importlib
import inspect
import json
import os
import re
import socket
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import offscript

PACKAGE = Path(offscript.__file__).parent
REPOSITORY = Path(__file__).resolve().parent.parent
SOURCES = sorted(PACKAGE.rglob("*.py"))

# The public names of every room; a name that comes or goes is written down here and in CHANGELOG.md.
PUBLIC = {
    "offscript.assets": "",
    "offscript.audits": """
        compare_runs plan_audit read_record read_results read_runs run_audit write_results
    """,
    "offscript.cli": "main",
    "offscript.experiments": "",
    "offscript.corpora": """
        Batch Batches BucketedBatches CharacterVocabulary EncodedCorpus FixedBatches HubVocabulary Lines PackedBatches
        Schema Split Vocabulary WordVocabulary cut_into_pieces cut_to_length drop_rare_words drop_repeats encode_corpus
        exclude keep_lengths read_corpus read_json read_records read_rows read_sentences sentence_starts
        separate_punctuation split_sentences vocabulary_from
    """,
    "offscript.factcheck": """
        Check Checker Document Fakta Index LocalIndex Searcher Verdict add_documents build_checker build_index
        build_pipeline check check_index open_index read_documents
    """,
    "offscript.learning": """
        BEST Bfloat16 Course Fleet Loss Observer OptimiserSettings Standing StopSettings StoppedError TRAINERS Trained
        Trainer build_optimiser course_of find_trainer in_bfloat16 learn learning_rate read_weights seeded update
    """,
    "offscript.measures": """
        Answer Finding Measurement Need Question Settings Subject encode_texts measure_approximation
        measure_diversity measure_exposure measure_factuality measure_likelihood measure_quality measure_recovery
        measure_regret measure_stereotypes questions setting to_frame
    """,
    "offscript.models": """
        HistoryModel LanguageModel Scored State TokenSource approximate draws_needed load_model shipped_models
    """,
    "offscript.report": "save_chart write_against write_comparison write_page",
    "offscript.sampling": """
        Beams Generated Transform as_logits_processor beam_search check_properties generate generate_each
        parse_transform texts translate
    """,
    "offscript.statistics": """
        Classification CrossedVariance Curve Difference Estimate Interval Power Profile RESAMPLES ReliabilityBin Score
        Unbiased bootstrap bootstrap_by_length can_be_compared classification_differences classification_scores
        clustered_proportion_interval contributions correlation_interval crossed_difference crossed_interval
        crossed_mean crossed_variance curve_difference differences_from_best differences_of_draws estimates_of_draws
        f1_scores fleiss_kappa holm independent_difference intraclass_correlation jackknife krippendorff_alpha
        leave_out_errors leave_out_profile mean_by_length mean_interval p_value_of paired_differences
        perplexity_interval proportion_interval pseudo_values raters_needed rate_interval ratio
        ratio_of_means_by_length ratio_of_means_interval reliability samples_for_width share_difference
        student_interval two_stage_draws within
    """,
    "offscript.studies": """
        AssociationStore RatingStore StudyDesign StudyItem draw_rating_study read_design read_items study_ratings
    """,
    "offscript.training": "ALGORITHMS Algorithm AlgorithmSettings Recipe Trained read_recipe recipe_from train",
    "offscript.web": "Limits create_application",
}
ROOMS = {f"offscript.{folder.parent.name}" for folder in PACKAGE.glob("*/__init__.py")}

HEAVY = {"datasets", "scipy", "torch", "transformers", "vl_convert"}
PICKLING = {"_pickle", "cloudpickle", "dill", "joblib", "pickle", "shelve"}
REGISTRIES = [".".join(name) for name in (("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("npmjs", "com"))]


def test_version_is_a_release_number() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", offscript.__version__)


def test_types_are_announced() -> None:
    assert (PACKAGE / "py.typed").is_file()


def test_every_room_is_listed() -> None:
    assert set(PUBLIC) == ROOMS


@pytest.mark.parametrize("room", sorted(PUBLIC))
def test_public_names_are_pinned_and_there(room: str) -> None:
    module = importlib.import_module(room)
    pinned = PUBLIC[room].split()
    assert sorted(getattr(module, "__all__", ())) == sorted(pinned)
    assert [name for name in pinned if not hasattr(module, name)] == []
    assert [name for name in pinned if inspect.ismodule(getattr(module, name))] == []  # a module would hide the name


@pytest.mark.parametrize("room", sorted(PUBLIC))
def test_exported_functions_explain_their_arguments(room: str) -> None:
    module = importlib.import_module(room)
    functions = [getattr(module, name) for name in PUBLIC[room].split() if inspect.isfunction(getattr(module, name))]
    assert [each.__name__ for each in functions if _unexplained(inspect.unwrap(each))] == []


def _unexplained(function: Callable[..., object]) -> list[str]:
    """Parameters that `Args:` leaves out, and `Returns` where that section is missing."""
    text = inspect.getdoc(function) or ""
    listed = text.partition("Args:")[2].partition("Returns:")[0]
    signature = inspect.signature(function)
    missing = [
        name for name in signature.parameters if not re.search(rf"^ +\*{{0,2}}{name}\b.*:", listed, re.MULTILINE)
    ]
    if signature.return_annotation not in (None, Iterator[None]) and "Returns:" not in text:
        missing.append("Returns")
    return missing


@pytest.mark.parametrize("module", ["offscript", "offscript.cli", "offscript.cli.app"])
def test_import_is_light(module: str) -> None:
    code = f"import sys, {module}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert "offscript" in loaded
    assert HEAVY.intersection(loaded) == set()


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_source_keeps_the_house_rules(source: Path) -> None:
    text = source.read_text(encoding="utf-8")
    nodes = list(ast.walk(ast.parse(text)))
    assert [node.lineno for node in nodes if isinstance(node, ast.ExceptHandler) and _is_broad(node.type)] == []
    assert [node.lineno for node in nodes if PICKLING & _imported(node)] == []
    assert [host for host in REGISTRIES if host in text] == []


@pytest.mark.parametrize(
    ("code", "broad"),
    [
        ("try: f()\nexcept: g()", True),
        ("try: f()\nexcept Exception as error: g()", True),
        ("try: f()\nexcept (ValueError, BaseException): g()", True),
        ("try: f()\nexcept (ValueError, OSError): g()", False),
        ("try: f()\nexcept json.JSONDecodeError: g()", False),
    ],
)
def test_broad_handlers_are_recognised(code: str, broad: bool) -> None:
    [handler] = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ExceptHandler)]
    assert _is_broad(handler.type) == broad


def test_wheel_carries_every_file_of_the_package(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(build, check=True, capture_output=True, cwd=REPOSITORY)
    [wheel] = tmp_path.glob("*.whl")
    carried = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("offscript/")}
    written = [path for path in PACKAGE.rglob("*") if path.is_file() and path.parent.name != "__pycache__"]
    assert "offscript/py.typed" in carried
    assert carried == {path.relative_to(PACKAGE.parent).as_posix() for path in written}


def test_network_is_out_of_reach_of_tests() -> None:
    with pytest.raises(pytest.fail.Exception, match="asked the network"):
        socket.getaddrinfo("host.invalid", 80)
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams,  # connecting it would send nothing
        pytest.raises(pytest.fail.Exception, match="asked the network"),
    ):
        datagrams.connect(("192.0.2.1", 9))


def test_loopback_is_in_reach_of_tests() -> None:
    with socket.create_server(("localhost", 0)) as server, socket.create_connection(server.getsockname()) as client:
        assert client.getpeername() == server.getsockname()


def _is_broad(caught: ast.expr | None) -> bool:
    if isinstance(caught, ast.Tuple):
        return any(map(_is_broad, caught.elts))
    return caught is None or (isinstance(caught, ast.Name) and caught.id in ("Exception", "BaseException"))


def _imported(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name.partition(".")[0] for alias in node.names}
    if isinstance(node, ast.ImportFrom):
        return {(node.module or "").partition(".")[0]}
    return set()


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({}, {"GOMP_SPINCOUNT": "1000"}),
        ({"GOMP_SPINCOUNT": "7"}, {"GOMP_SPINCOUNT": "7"}),
        ({"OMP_WAIT_POLICY": "ACTIVE"}, {"OMP_WAIT_POLICY": "ACTIVE"}),
    ],
)
def test_threads_wait_shortly_unless_the_user_says_how(given: dict[str, str], kept: dict[str, str]) -> None:
    names = {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"}
    environment = {key: value for key, value in os.environ.items() if key not in names}
    script = "import json, os, offscript; print(json.dumps(dict(os.environ)))"
    done = subprocess.run([sys.executable, "-c", script], env={**environment, **given}, capture_output=True, text=True)
    assert {key: value for key, value in json.loads(done.stdout).items() if key in names} == kept
