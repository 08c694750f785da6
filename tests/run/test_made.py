"""Notes of what results were made from say whether these are current, whatever times files have."""

import json
import os
import shutil
import sys
import time
from pathlib import Path

import pytest

from stp.run import input_digest

NAME = "short_term"


@pytest.fixture
def note(tmp_path: Path) -> Path:
    """A table of two files, and its note."""
    folder = tmp_path / "demo" / "tables"
    folder.mkdir(parents=True)
    files = [folder / f"{NAME}.csv", folder / f"{NAME}_tidy.csv"]
    for path in files:
        path.write_text("numbers")
    path = Path(input_digest.note_of(files[0]))
    input_digest.write_note("planned", path, files)
    return path


@pytest.fixture
def copy(note: Path, tmp_path: Path) -> Path:
    """A copy of the table."""
    copied = tmp_path / "tables" / f"{NAME}.csv"
    copied.parent.mkdir()
    input_digest.copy_table(note.with_name(f"{NAME}.csv"), copied)
    return copied


@pytest.mark.parametrize(
    ("path", "note"),
    [
        ("results/demo/tables/ranks.csv", "results/demo/tables/.ranks.made"),
        ("figures/{dimension}/{kind}/{case}.png", "figures/{dimension}/{kind}/.{case}.made"),
        ("results/demo/data/all", "results/demo/data/.all.made"),
    ],
)
def test_a_note_lies_beside_its_result(path: str, note: str) -> None:
    assert input_digest.note_of(path) == note


def test_a_table_is_current_as_long_as_its_plan_and_its_files_are(note: Path) -> None:
    for moment in (0, 2_000_000_000_000):
        for path in note.parent.iterdir():
            os.utime(path, ns=(moment, moment))
        assert input_digest.is_current(note, "planned")
    assert not input_digest.is_current(note, "another plan")
    (note.parent / f"{NAME}_tidy.csv").write_text("numbers from elsewhere")
    assert not input_digest.is_current(note, "planned")
    (note.parent / f"{NAME}_tidy.csv").unlink()
    assert not input_digest.is_current(note, "planned")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"digest": "planned", "files": 3}'])
def test_a_damaged_note_is_not_current(note: Path, text: str) -> None:
    note.write_text(text)
    assert not input_digest.is_current(note, "planned")
    note.unlink()
    assert not input_digest.is_current(note, "planned")


def test_a_copy_has_the_files_of_its_table_and_no_others(note: Path, copy: Path) -> None:
    assert input_digest.is_copy_current(copy, "planned")
    assert not input_digest.is_copy_current(copy, "another scale")
    (copy.parent / f"{NAME}_tidy.csv").write_text("numbers of before")
    assert not input_digest.is_copy_current(copy, "planned")
    (copy.parent / f"{NAME}_tidy.csv").write_text("numbers")
    (copy.parent / f"{NAME}_leads.csv").write_text("which the table no longer has")
    (copy.parent / "short_term_of_mine.csv").write_text("another table")
    assert not input_digest.is_copy_current(copy, "planned")
    input_digest.copy_table(note.with_name(f"{NAME}.csv"), copy)
    assert input_digest.is_copy_current(copy, "planned")
    names = {path.name for path in copy.parent.iterdir()}
    assert names == {f"{NAME}.csv", f"{NAME}_tidy.csv", note.name, "short_term_of_mine.csv"}


def test_rules_write_notes_and_copies_by_a_module(note: Path, tmp_path: Path, python) -> None:
    written, copied = note.with_name(".other.made"), tmp_path / "tables" / f"{NAME}.csv"
    copied.parent.mkdir()
    shutil.copy(note.parent / f"{NAME}.csv", note.with_name("other.csv"))
    python("note", "a digest", str(written), str(note.with_name("other.csv")))
    assert input_digest.is_current(written, "a digest")
    assert set(json.loads(written.read_text())["files"]) == {"other.csv"}
    python("copy", str(note.with_name(f"{NAME}.csv")), str(copied))
    assert input_digest.is_copy_current(copied, "planned")


@pytest.fixture
def python(monkeypatch: pytest.MonkeyPatch):
    """Runs the module as rules do."""
    import runpy

    def run(*words: str) -> None:
        monkeypatch.setattr("sys.argv", ["made", *words])
        monkeypatch.delitem(sys.modules, "stp.run.input_digest", raising=False)
        runpy.run_module("stp.run.input_digest", run_name="__main__")

    return run


def test_what_is_outdated_has_an_input_newer_than_results_of_any_clock(
    note: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(input_digest, "OUTDATED", tmp_path / "plan" / "outdated")
    for moment in (0, time.time() - 10, time.time() + 3600):
        for path in note.parent.iterdir():
            os.utime(path, (moment, moment))
        input_digest.write_outdated(note.parent)
        times = {path.stat().st_mtime for path in note.parent.iterdir()}
        assert len(times) == 1, "none is newer than another"
        assert input_digest.OUTDATED.stat().st_mtime > max(times)
