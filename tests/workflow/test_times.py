"""Times of rows and tables follow what they were made from; without a run of Snakemake."""

import os
import shutil
import time
from pathlib import Path

import pytest

from stp.run import workflow_files

AHEAD = 3600
TABLE = "short_term.csv"


@pytest.fixture
def results(tmp_path) -> Path:
    """Results of one dimension, all made from the manifest that is planned."""
    scale = tmp_path / "demo"
    for name in ("plan", "collected", "tables", "figures"):
        (scale / name).mkdir(parents=True)
    (scale / "plan" / "short_term.json").write_text("planned")
    (scale / "collected" / "short_term.parquet").write_text("rows")
    shutil.copy(scale / "plan" / "short_term.json", scale / "collected")
    table = scale / "tables" / TABLE
    table.write_text("numbers")
    table.with_suffix(".md").write_text("| numbers |")
    (scale / "figures" / "ranks.png").write_text("dots")
    workflow_files.note_made_from(scale / "plan" / "short_term.json", table)
    return scale


def outdated(results: Path) -> set[str]:
    """What Snakemake would make again, by the times that it looks at."""
    workflow_files.follow_content(["short_term"], results)
    manifest, rows, table = (
        (results / name).stat().st_mtime
        for name in (
            "plan/short_term.json",
            "collected/short_term.parquet",
            "tables/short_term.csv",
        )
    )
    found = {"rows"} if rows < manifest else set()
    return found | ({"table"} if table < max(rows, manifest) else set())


def edit(results: Path, text: str) -> None:
    (results / "plan" / "short_term.json").write_text(text)


def test_what_was_made_from_the_plan_stays(results):
    assert outdated(results) == set()


@pytest.mark.parametrize("ahead", [0, AHEAD])
def test_another_plan_makes_rows_and_table_again_whatever_the_clocks_said(results, ahead):
    moment = time.time() + ahead
    for path in results.rglob("*"):
        os.utime(path, (moment, moment))
    edit(results, "fewer models")
    if not ahead:  # written in the same instant
        os.utime(results / "plan" / "short_term.json", (moment, moment))
    assert outdated(results) == {"rows", "table"}
    assert (results / "figures" / "ranks.png").stat().st_mtime <= time.time()


def test_a_revert_finds_the_table_current(results):
    edit(results, "fewer models")
    assert outdated(results) == {"rows", "table"}
    edit(results, "planned")
    workflow_files.follow_content(["short_term"], results)
    table = results / "tables" / "short_term.csv"
    assert workflow_files.is_table_current(table, results / "plan" / "short_term.json")


@pytest.mark.parametrize("name", ["short_term.csv", "short_term.md"])
def test_a_file_of_the_table_that_somebody_brought_is_made_again(results, name):
    (results / "tables" / name).write_text("from elsewhere")
    assert outdated(results) == {"table"}


def is_copied_again(results: Path) -> bool:
    """Would Snakemake copy the table to where people look?"""
    workflow_files.follow_content(["short_term"], results)
    copy, table = (folder / "tables" / "short_term.csv" for folder in (results.parent, results))
    return copy.stat().st_mtime < table.stat().st_mtime


def test_all_files_of_a_copied_table_are_those_of_the_table(results):
    tidy, copies = results / "tables" / "short_term_tidy.csv", results.parent / "tables"
    tidy.write_text("all numbers")
    workflow_files.note_made_from(results / "plan" / "short_term.json", tidy.with_name(TABLE))
    shutil.copytree(results / "tables", copies)
    assert not is_copied_again(results)
    (copies / tidy.name).write_text("numbers of before")
    assert is_copied_again(results)
    os.utime(copies / TABLE)
    (copies / tidy.name).write_text("all numbers")
    assert not is_copied_again(results)
    (copies / "short_term_leads.csv").write_text("which the table no longer has")
    assert is_copied_again(results)


def test_a_table_without_a_note_is_made_again(results):
    (note,) = (results / "tables").glob(".*")
    note.unlink()
    assert outdated(results) == {"table"}
    note.write_text("{")
    assert outdated(results) == {"table"}
