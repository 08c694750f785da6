"""Commands of README and docs: each is understood, names what exists, and runs in a test.

A command that no test can run has a mark, a comment that ends with what it needs, downloads or
takes: `# needs a GPU`, `# one table; downloads 3 GB`, `# takes minutes`. A command for Slurm is
marked by this word.
"""

import re
import shlex
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import click
import duckdb
import pytest

from stp.cli import command
from stp.collect import schema
from stp.collect.empty import create, write_empty
from stp.collect.settings import key_columns
from stp.collect.suite_views import views_of
from stp.plan.cells import Plan
from stp.plan.checked_config import read_yaml
from stp.plan.manifests import suite_facts
from stp.plan.suite import OF_ALL, read_suites, suite_for
from stp.workflow.figures import Figures

ROOT = Path(__file__).parents[1]
PAGES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
}
FILES_OF_SAMPLES = (
    schema.SAMPLE_SCORES,
    schema.PERSON_ERRORS,
    schema.PREDICTED_OPINIONS,
    schema.OPINION_RATINGS,
)
"""Views over files of score artefacts, which an empty store does not have."""
BEGINNINGS = ("stp", "snakemake", "make", "python", "pytest")
MARK = re.compile(r"#(?:.*[;,])? (needs|takes|downloads) .+$", re.MULTILINE)
FOLLOWED = {
    "docs/cluster.md": "tests/slurm/test_guide.py",
    "docs/external.md": "tests/workflow/test_external.py",
    "docs/models.md": "tests/profiling/test_profiling_table.py",
    "docs/own_data.md": "tests/workflow/test_own_data.py",
    "docs/own_metrics.md": "tests/workflow/test_own_metric.py",
    "docs/own_models.md": "tests/workflow/test_own_model.py",
    "docs/own_suite.md": "tests/workflow/test_sixth_suite.py",
    "docs/projects.md": "tests/workflow/test_installed.py",
    "docs/training.md": "tests/workflow/test_own_training_parts.py",
}
"""Page -> the test module that runs its commands, one after the other."""
SUITES = {
    "docs/chaosbench.md": "chaosbench-demo",
    "docs/fvd.md": "fvd-demo",
    "docs/human_motion.md": "atlas-demo",
    "docs/pvqa.md": "pvqa-demo",
    "docs/scv.md": "scv-demo",
}
"""Page of a suite -> the scale that its commands are about, unless they name another one."""
SCALES = {
    **dict.fromkeys(["demo", "chaosbench"], "tests/workflow/test_whole_scales.py"),
    **dict.fromkeys(SUITES.values(), "tests/slurm/demos.py"),
    "mine": "tests/workflow/test_own_forecasts.py",
    "reliability": "tests/workflow/test_reliability.py",
}
"""Scale -> the test module that runs the commands about it, `commands_about(scale)`."""


class Command(NamedTuple):
    """A command of a page: its words after those of variables, and whether it has a mark."""

    page: str
    words: tuple[str, ...]
    is_marked: bool

    @property
    def program(self) -> str:
        return self.words[0]

    @property
    def scale(self) -> str:
        """Name of the scale that it is about; plans and lists of any scale need no run of it."""
        text = " ".join(self.words)
        if folder := re.search(r"results/([\w-]+-demo)/", text):
            return folder[1]
        if self.words[:2] in (("stp", "plan"), ("stp", "list")):
            return "demo"
        named = re.search(r"--configfile \S+?([\w-]+)\.yaml", text)
        return named[1] if named else SUITES.get(self.page, "demo")


def commands(page: str) -> Iterator[Command]:
    """Commands in the shell blocks of a page, continued lines joined."""
    for block in re.findall(r"```sh\n(.*?)```", PAGES[page], re.DOTALL):
        for line in re.split(r"\n(?=[\w.$#-])", block.replace("\\\n", " ")):
            try:
                words = shlex.split(line, comments=True)
            except ValueError as error:
                raise AssertionError(f"{page}: {line}: {error}") from None
            while words and re.match(r"[A-Z_]+=", words[0]):
                words = words[1:]
            if words and words[0] in BEGINNINGS:
                ends = [words.index(end) for end in (">", "|", "&&", "||") if end in words]
                is_marked = "slurm" in words or MARK.search(line) is not None
                yield Command(page, tuple(words[: min(ends, default=None)]), is_marked)


def commands_about(scale: str) -> list[tuple[str, ...]]:
    """Commands that a test runs with the results of a scale, in the order of the pages."""
    about = [
        line.words
        for line in COMMANDS
        if line.program in ("stp", "snakemake") and not line.is_marked
        if line.page not in FOLLOWED and line.scale == scale
    ]
    return list(dict.fromkeys(about))


COMMANDS = [command for page in PAGES for command in commands(page)]


def of(program: str) -> dict[str, list[Command]]:
    """Commands of a program by their pages."""
    by_page = defaultdict(list)
    for line in COMMANDS:
        if line.program == program:
            by_page[line.page].append(line)
    return by_page


def verb(words: list[str]) -> tuple[click.Command, list[str]]:
    """The verb that words call, and the rest of them."""
    called = command()
    while words and isinstance(called, click.Group) and not words[0].startswith("-"):
        assert words[0] in called.commands, f"there is no verb {words[0]}"
        called, words = called.commands[words[0]], words[1:]
    return called, words


@pytest.mark.parametrize("page", sorted({*of("stp"), *of("snakemake"), *of("pytest")}))
def test_a_command_runs_in_a_test_or_says_what_it_needs(page: str) -> None:
    for line in commands(page):
        if line.program in ("stp", "snakemake", "pytest") and not line.is_marked:
            module = FOLLOWED.get(page) or SCALES.get(line.scale)
            assert module, f"{page}: {shlex.join(line.words)}: mark it, or name the test"
            text = (ROOT / module).read_text(encoding="utf-8")
            assert any(name in text for name in ("commands_about", page, f"{line.scale}.yaml")), (
                f"{module} does not run {shlex.join(line.words)} of {page}"
            )


@pytest.mark.parametrize("page", sorted(of("stp")))
def test_a_command_of_stp_is_understood(page: str) -> None:
    for line in of("stp")[page]:
        called, words = verb(list(line.words[1:]))
        try:
            called.make_context("stp", words)
        except click.exceptions.Exit as end:
            assert "--help" in words and end.exit_code == 0
        except click.BadParameter as error:  # a file of the reader's own
            assert isinstance(error.param.type if error.param else None, click.Path), line
        except click.UsageError as error:
            raise AssertionError(f"{shlex.join(line.words)}: {error.message}") from None


@pytest.mark.parametrize("page", sorted(PAGES))
def test_a_verb_that_a_text_names_exists(page: str) -> None:
    for text in re.findall(r"`(stp [a-z][^`]*)`", PAGES[page]):
        verb(re.split(r"\s+", text)[1:])


@cache
def tables(configfile: Path) -> set[str]:
    """Names of the tables that the suite of a scale file has."""
    content = read_yaml(configfile)
    suites = read_suites()
    suite = suites[content.get("suite") or suite_for(content["dimensions"], suites)]
    names = {*OF_ALL, *suite.dimensions, *suite.tables, *suite.view_tables}
    return names.union(*(dimension.tables for dimension in suite.dimensions.values()), ["all"])


@cache
def figures(configfile: Path) -> set[str]:
    """Paths of the figures that a scale makes, without their endings."""
    plan = Plan.load(configfile)
    manifests = {name: Path(f"{name}.json") for name in plan.config.scale.dimensions}
    paths = [Path(path) for path in Figures(plan, manifests).paths]
    return {str(path.with_suffix("")) for path in paths}


def check_target(target: str, configfile: Path) -> None:
    """Raise an AssertionError unless a rule makes a target."""
    path = Path(target).with_suffix("")
    if path.parent == Path("results/tables"):
        assert path.name in tables(configfile), target
    elif path.parts[2] == "figures" and path.name != "all":
        assert str(path) in figures(configfile), target
    else:
        named = ("figures/all", "data/all", "report/index", "CITATION", "human_study/questionnaire")
        assert "/".join(path.parts[2:]) in named, target


@pytest.mark.parametrize("page", sorted(of("snakemake")))
def test_a_command_of_snakemake_is_understood(page: str) -> None:
    from snakemake.cli import get_argument_parser  # a second, which each worker would spend

    for line in of("snakemake")[page]:
        given, unknown = get_argument_parser().parse_known_args(list(line.words[1:]))
        assert not unknown, line
        (profile,) = given.profile
        assert (ROOT / "profiles" / profile).is_dir(), line
        named = [str(path) for path in given.configfile or []]
        configfile = ROOT / (named[0] if named else default_scale(profile))
        if not configfile.is_file():  # a scale file of the reader's own, which the page writes
            assert configfile.name in PAGES[page].replace(shlex.join(line.words), "", 1), line
            continue
        for target in given.targets or []:
            check_target(target, configfile)


def default_scale(profile: str) -> str:
    """The scale file of a profile without `--configfile`."""
    return "config/paper.yaml" if profile == "slurm" else "config/demo.yaml"


@pytest.mark.parametrize("page", sorted({*of("make"), *of("python")}))
def test_what_make_and_python_are_told_to_run_exists(page: str) -> None:
    rules = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for line in of("make").get(page, []):
        assert {word for word in line.words[1:] if "=" not in word} <= rules, line
    for line in of("python").get(page, []):
        script = next(word for word in line.words[1:] if not word.startswith("-"))
        if script not in ("pytest", "-c") and line.words[1] != "-c":
            assert (ROOT / script).exists() or script in PAGES[page], line


@pytest.fixture(scope="module")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """A results store without rows, with the views of all suites."""
    path = tmp_path_factory.mktemp("store") / "results.duckdb"
    write_empty(path, key_columns([]))
    suites = [(name, suite_facts(name, suite).views) for name, suite in read_suites().items()]
    asked = "".join(text for page in PAGES for text in queries(page))
    with duckdb.connect(str(path)) as database:
        create(database, FILES_OF_SAMPLES, ())
        for convention in sorted(set(re.findall(r'"(\w+\.\w+)"', asked))):
            database.execute(f'ALTER TABLE sample_scores ADD COLUMN "{convention}" DOUBLE[]')
        for view in views_of(suites):
            database.execute(f'CREATE VIEW "{view.name}" AS {view.sql}')
        database.execute(
            "CREATE SCHEMA demo; CREATE VIEW demo.leaderboard AS FROM main.leaderboard"
        )
        yield database


def queries(page: str) -> list[str]:
    """Statements in SQL of a page."""
    asked = [line.words[-1] for line in of("stp").get(page, []) if line.words[1] == "query"]
    asked = [text for text in asked if " " in text]
    for block in re.findall(r"```sql\n(.*?)```", PAGES[page], re.DOTALL):
        asked += [statement.query for statement in duckdb.extract_statements(block)]
    return asked


@pytest.mark.parametrize("page", sorted(page for page in PAGES if queries(page)))
def test_a_query_can_be_asked(
    empty_store: duckdb.DuckDBPyConnection,
    page: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)  # some write files
    for text in queries(page):
        if not re.search(r"\.(parquet|csv)'", text):  # a file of the reader's own
            empty_store.execute(text)
