"""Generic code knows no suite, no dataset and no model: not even a word of their names.

Words are those of files, identifiers, imports and texts without a space, in Python, JavaScript, SQL
and rules. Sentences, docstrings and comments may give examples.
"""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from stp.core import named_modules
from stp.core.errors import StpError
from stp.plan.suite import read_suites

ROOT = Path(__file__).parents[1]
LEAVES = (
    *("stp/datasets/", "stp/suites/", "stp/models/", "stp/metrics/"),
    *("stp/tracks/predictors/", "stp/opinions/measures/"),  # models of tracks and of opinions
)
EXEMPT = {
    "around": "an English word",
    "bridge": "an English word",
    "chasing": "a situation that stp.tracks.generators makes",
    "crossing": "likewise",
    "fvd": "a metric, and a verb",
    "groups": "an English word",
    "hotel": "an English word",
    "mnist": "digits, which scikit-learn carries",
    "moving": "an English word",
    "opposing": "a situation that stp.tracks.generators makes",
    "study": "an English word: studies ask people",
}
"""Words of names of suites and datasets that mean something else besides, each with its reason."""
PLACES = {
    "stp/options/protocols.py": "the name of a protocol in stores and tables, declared once",
    "stp/plan/setting.py": "a part of a test dataset is called like a dimension",
    "stp/plan/removed.py": "names of before, which lead to those of today",
    "stp/report/page/ask.js": "everyday questions, examples for people",
    "stp/profiling/__init__.py": "the dataset on which networks are measured unless one is named",
}
"""Files that may name a suite or dataset, each with its reason."""
OTHER_THINGS = {
    "resolution": "an English word",
    "source_dataset": "a column of the results store",
    "svg": "a format of pictures",
}
"""Names of models that are names of other things, each with its reason."""
NAME_MODELS = {
    "stp/data/distortions.py": "the functions that distort clips, which models of these names call",
    "stp/inspect/draft_text.py": "a draft names models, for people to choose others",
    "stp/inspect/new_tracks.py": "likewise",
    "stp/profiling/table19.py": "how a paper counted single networks",
    "stp/verbs/perceptual.py": "the measure of a verb that takes none",
}
"""Files that may name a model, each with its reason."""


def names(*patterns: str) -> set[str]:
    """The stems of files and folders in the repository."""
    return {path.stem for pattern in patterns for path in ROOT.glob(pattern)} - {"__init__"}


LEAF_NAMES = names("config/suites/[a-z]*", "config/datasets/*.yaml", "stp/datasets/[a-z]*")
MODELS = names("config/models/*.yaml")


def dimensions() -> set[str]:
    """The names of the dimensions of all suites."""
    return {name for suite in read_suites().values() for name in suite.dimensions}


@functools.cache
def words(text: str) -> set[str]:
    """Split at underscores, hyphens and other signs, and also before capitals."""
    parts = [
        *re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", text),
        *re.findall("[a-zA-Z0-9]+", text),
    ]
    return {part.lower() for part in parts}


WORDS = {word for name in LEAF_NAMES for word in words(name) if len(word) > 2 if word.isalnum()}
WORDS = {word for word in WORDS - set(EXEMPT) if not word.isdigit()} | {"s2s"}
"""The last one begins the names of ChaosBench's tables and views."""


NAMED = {"id", "attr", "name", "arg", "module", "asname"}
"""Fields of nodes of a syntax tree that are identifiers or names of modules."""


def in_python(path: Path) -> Iterator[tuple[int, str, bool]]:
    """Line and text of each identifier, import and literal, and whether it is a literal."""
    waiting: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str) and " " not in node.value.strip():
                yield node.lineno, node.value.strip(), True
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue  # a docstring
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, ast.AST):
                waiting.append(value)
            elif isinstance(value, list):
                waiting += [one for one in value if isinstance(one, ast.AST)]
            elif isinstance(value, str) and field in NAMED:
                yield getattr(node, "lineno", 0), value, False


def in_text(path: Path) -> Iterator[tuple[int, str, bool]]:
    """Line and text of each word of JavaScript, SQL or rules, without comments and sentences."""
    comment = {".js": "//", ".sql": "--"}.get(path.suffix, "#")
    for line, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        code = text.partition(comment)[0]
        literals = re.findall(r"""(["'`])(.*?)\1""", code)
        for _, literal in literals:
            if " " not in literal.strip():
                yield line, literal, True
        for word in re.findall(r"[\w-]+", re.sub(r"""(["'`]).*?\1""", "", code)):
            yield line, word, False


def generic() -> Iterator[tuple[str, int, str, bool]]:
    """File, line and text of all generic code; the name of a file is its line 0."""
    found = [
        *ROOT.glob("stp/**/*.py"),
        *ROOT.glob("stp/**/*.js"),
        *ROOT.glob("stp/**/*.sql"),
        *ROOT.glob("workflow/**/*.smk"),
        ROOT / "workflow" / "Snakefile",
    ]
    for path in sorted(found):
        file = path.relative_to(ROOT).as_posix()
        if not file.startswith(LEAVES):
            yield file, 0, path.stem, False
            for line, text, literal in (in_python if path.suffix == ".py" else in_text)(path):
                yield file, line, text, literal


@pytest.fixture(scope="module")
def code() -> list[tuple[str, int, str, bool]]:
    return list(generic())


def test_generic_code_names_no_suite_dimension_or_dataset(code: list[tuple[str, int, str, bool]]):
    whole = dimensions() | {name for name in LEAF_NAMES if "_" in name}
    hits = [
        f"{file}:{line}: {text}"
        for file, line, text, literal in code
        if file not in PLACES
        if words(text) & WORDS or (literal and text in whole)
    ]
    assert not hits, "ask the suite, the dataset or the kind of sample"


def test_generic_code_has_no_literal_that_is_the_name_of_a_model(
    code: list[tuple[str, int, str, bool]],
):
    hits = [
        f"{file}:{line}: {text}"
        for file, line, text, literal in code
        if literal and text in MODELS - set(OTHER_THINGS) and file not in NAME_MODELS
    ]
    assert not hits, "ask the entry of the model, or an attribute of its class"


def test_a_module_is_found_in_its_room_or_in_a_suite(tmp_path: Path):
    for file in (
        "stp/metrics/mae.py",
        "stp/suites/rain/metrics/fss.py",
        "stp/datasets/hail/reader.py",
    ):
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    assert named_modules.module_of("stp.metrics", "mae", tmp_path) == "stp.metrics.mae"
    assert named_modules.module_of("stp.metrics", "fss", tmp_path) == "stp.suites.rain.metrics.fss"
    assert named_modules.module_of("stp.metrics", "none", tmp_path) == "stp.metrics.none"
    assert named_modules.reader("hail", tmp_path) == "stp.datasets.hail.reader"


@pytest.mark.parametrize("other", ["stp/metrics/fss.py", "stp/suites/hail/metrics/fss.py"])
def test_a_name_in_two_places_is_an_error(tmp_path: Path, other: str):
    for file in ("stp/suites/rain/metrics/fss.py", other):
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    with pytest.raises(StpError) as caught:
        named_modules.module_of("stp.metrics", "fss", tmp_path)
    assert other in str(caught.value) and "suites/rain/metrics/fss.py" in str(caught.value)
