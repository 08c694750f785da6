"""Suites: their tables, the dimension of own data, and the suite of a scale file."""

import shutil
from pathlib import Path

import pytest

from stp.core.errors import ConfigurationError
from stp.plan.checked_config import CONFIG_FOLDER
from stp.plan.suite import draft_for, read_suite, read_suites, suite_file, suite_for, suites_with

SUITES = CONFIG_FOLDER / "suites"


def test_own_data_are_drafted_into_the_dimension_of_their_kind() -> None:
    assert draft_for("frames") == ("predbench", "short_term")
    assert draft_for("tracks")[0] == "atlas"
    suites = {name: suite for name, suite in read_suites().items() if name != "predbench"}
    for kind, known in (("frames", suites), ("opinions", None)):
        with pytest.raises(ConfigurationError, match=kind):
            draft_for(kind, known)


def test_a_scale_file_is_of_the_suite_of_any_of_its_dimensions() -> None:
    suites = read_suites()
    assert suite_for(["mine", "s2s_control"], suites) == "chaosbench"
    assert suite_for(["scv_benchmark"], suites) == "scv"
    assert suite_for(["mine"], suites) == suite_for([], suites) == "predbench"


def test_tables_of_dimensions_come_first_and_know_their_dimension() -> None:
    for name, suite in read_suites().items():
        tables = list(suite.all_tables())
        assert tables[: len(suite.dimensions)] == list(suite.dimensions)
        assert set(tables) >= {*suite.tables, *suite.view_tables}
        for dimension, declared in suite.dimensions.items():
            for table in declared.tables:
                assert suite.table_of(table) == dimension and name not in suites_with(table)
        assert all(suite.table_of(table) is None for table in (*suite.tables, "none"))
        assert all(name in suites_with(table) for table in suite.tables)
        published = SUITES / name / "published.csv"
        assert suite.published_file == (published if published.is_file() else None)
        findings = suite.folder / "findings"
        assert suite.queries == (sorted(findings.glob("*.sql")) if suite.findings else [])


def test_two_suites_have_no_table_of_one_name(tmp_path: Path) -> None:
    for name in ("scv", "second"):
        shutil.copytree(SUITES / "scv", tmp_path / "suites" / name)
    with pytest.raises(ConfigurationError, match="scv_benchmark"):
        read_suites(tmp_path / "suites")
    shutil.rmtree(tmp_path / "suites" / "second")
    assert list(read_suites(tmp_path / "suites")) == ["scv"]
    assert read_suite(suite_file("scv")) == read_suites()["scv"]
