"""Nothing in the package names a suite or a dimension: they are data in config/suites."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import stp
from stp.plan.checked_config import CONFIG_FOLDER, read_yaml
from stp.plan.suite import read_suites

PACKAGE = Path(stp.__file__).parent
SUITES = read_suites()
NAMES = {*SUITES, *(name for suite in SUITES.values() for name in suite.dimensions)}
SUBSETS = {
    "plan/setting.py",
    "datasets/bridge/reader.py",
    "datasets/nuscenes/reader.py",
    "datasets/weatherbench/reader.py",
}
"""Where a part of a test dataset, too, is called robustness."""


def named() -> Iterator[tuple[str, int, str]]:
    """File, line and name wherever one is a whole string, in Python or JavaScript.

    Texts that hold a name among other words are examples (docs, help) and no logic.
    """
    for path in sorted(PACKAGE.rglob("*.py")):
        file = path.relative_to(PACKAGE).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and node.value in NAMES:
                yield file, node.lineno, str(node.value)
    for path in sorted(PACKAGE.rglob("*.js")):
        file = path.relative_to(PACKAGE).as_posix()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            for name in re.findall(r"""["'`](\w+)["'`]""", line):
                if name in NAMES:
                    yield file, number, name


def test_no_module_names_a_suite_or_a_dimension() -> None:
    found = [(file, *rest) for file, *rest in named() if file not in SUBSETS]
    assert found == [], "ask stp.plan.suite, the manifest's `suite`, or the table `dimensions`"


def test_the_exceptions_are_still_needed() -> None:
    assert {file for file, *_ in named()} == SUBSETS


def test_no_query_of_the_package_reads_a_setting_by_a_pattern() -> None:
    """The table `settings` has a column for each key."""
    folders = [PACKAGE, PACKAGE.parent / "config"]
    found = [
        path.name
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if path.suffix in (".py", ".sql")
        and re.search(r"regexp_\w+\([^)]*setting", path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_the_page_of_suites_lists_the_files_of_the_sixth_one() -> None:
    folder = PACKAGE.parent / "tests" / "workflow" / "rain"
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    page = (PACKAGE.parent / "docs" / "own_suite.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE)
    assert set(listed) == {file for file in files if "__pycache__" not in file}


def test_every_suite_says_where_paper_and_code_differ_and_names_what_there_is() -> None:
    folder = CONFIG_FOLDER / "conventions"
    known = {
        f"{path.stem}.{name}"
        for path in folder.glob("*.yaml")
        for name in read_yaml(path)["conventions"]
    }
    for name, suite in SUITES.items():
        assert suite.deviations, name
        for one in suite.deviations:
            said = re.findall(r"`([a-z0-9_]+\.[a-z0-9_]+)`", f"{one.paper} {one.code} {one.strict}")
            assert set(said) <= known, (name, one.about)
            assert set(one.dimensions) <= set(suite.dimensions), (name, one.about)
