"""Results are current by what they were made from: no memory of Snakemake and no clock decides.

Dry runs beside a finished store; those that run jobs are long.
"""

import os
import shutil
import time
from collections import Counter
from pathlib import Path

import pytest
from checkout import TABLE, Checkout

pytestmark = pytest.mark.slow
SCALE = "tests/workflow/tiny.yaml"
OTHER = "tests/workflow/other.yaml"
RENDERED, COLLECTED = Counter(["render_short_term"]), Counter(["collect_short_term"])
PRINTED = "motion,short_term,ConvLSTM,KTH,KTH,,,,,,SSIM,0.5,0.5,\n"
FINDINGS = "results/tables/findings.csv"


@pytest.fixture
def made(tiny: Checkout, tmp_path: Path) -> Checkout:
    """A fresh clone beside a finished store, with its results, and nothing that Snakemake knows."""
    clone = Checkout.create(tmp_path / "clone", tiny.shared)
    shutil.copytree(tiny.folder / "results", clone.folder / "results", dirs_exist_ok=True)
    return clone


@pytest.fixture
def private(tiny: Checkout, tmp_path: Path) -> Checkout:
    """A checkout with a copy of the finished store, and its results."""
    clone = Checkout.beside(tiny, tmp_path)
    shutil.copytree(tiny.folder / "results", clone.folder / "results", dirs_exist_ok=True)
    return clone


def other_scale(checkout: Checkout) -> None:
    """A scale of another name with the same cells, and other settings of the runtime."""
    text = (checkout.folder / SCALE).read_text().replace("scale: tiny", "scale: other")
    (checkout.folder / OTHER).write_text(text)


def set_times(folder: Path, moment: float) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (moment, moment))


def test_without_metadata_only_what_an_edit_reaches_is_made_again(made: Checkout) -> None:
    for path, edit, reached in (
        ("stp/render/tables/paper_table.py", "\nCHANGED = 1\n", RENDERED),
        ("stp/render/tables/findings.py", "\nCHANGED = 1\n", Counter()),
        ("config/suites/predbench/published.csv", PRINTED, COLLECTED + RENDERED),
    ):
        made.edit(path, new=edit)
        assert made.planned() == reached, path
        made.restore(path)


@pytest.mark.parametrize("name", ["tiny/tables/short_term.md", "tiny/collected/short_term.parquet"])
def test_files_that_somebody_changed_are_made_again(made: Checkout, name: str) -> None:
    (made.folder / "results" / name).write_text("from elsewhere")
    assert made.planned() == RENDERED + (COLLECTED if name.endswith("parquet") else Counter())


def test_clocks_and_profiles_make_nothing_again(made: Checkout) -> None:
    for moment in (0.0, time.time() + 600):
        set_times(made.folder / "results", moment)
        assert made.planned() == Counter()
    done = made.run("snakemake", "--profile", "slurm", "-n", "--configfile", SCALE, "--", TABLE)
    assert done.returncode == 0 and "Nothing to be done" in done.stdout, done.stdout


def test_another_scale_finds_the_same_artefacts_and_makes_its_own_table(made: Checkout) -> None:
    other_scale(made)
    printed = made.make("-n", "--quiet", "host", config=OTHER)
    for rule, planned in (("collect_short_term", 1), ("table", 1), ("score_short_term", 0)):
        assert printed.count(f"rule {rule}:") == planned, printed
    assert made.planned() == Counter(), "a plan of another scale changes nothing"


def test_deleted_receipts_are_put_back_before_jobs_are_planned(private: Checkout) -> None:
    """Snakemake deletes those of finished jobs that were submitted with one that failed."""
    before = private.receipts()
    for path in before:
        (private.store / path).unlink()
    assert private.planned() == COLLECTED + RENDERED, "of a store in another place"
    assert {path: content for path, (_, content) in private.receipts().items()} == {
        path: content for path, (_, content) in before.items()
    }


@pytest.mark.long(part="reruns")
def test_scales_by_turns_make_their_tables_and_leave_those_of_each_other(private: Checkout) -> None:
    other_scale(private)
    private.make()
    before, text = private.receipts(), (private.folder / TABLE).read_text()
    private.make(targets=(FINDINGS,))
    findings = (private.folder / FINDINGS).read_text()
    private.make(config=OTHER)
    assert ",other," in (private.folder / TABLE).read_text()
    assert (private.folder / FINDINGS).read_text() == findings, "this scale made no such table"
    assert private.planned() == Counter(), "the scale has its table still; only the copy is made"
    private.make()
    assert (private.folder / TABLE).read_text() == text
    assert private.receipts() == before


@pytest.mark.long(part="reruns")
def test_artefacts_and_results_of_a_clock_that_runs_ahead(private: Checkout) -> None:
    """Snakemake refuses a result that is older than what it was made from."""
    private.forget("persistence", "scores")
    before = private.receipts()
    for folder in (private.store, private.folder / "results"):
        set_times(folder, time.time() + 600)
    private.edit("stp/render/tables/paper_table.py")
    private.make()
    after = private.receipts()
    assert {path: after[path][1] for path in before} == {path: r[1] for path, r in before.items()}
    assert {path.split("/")[0] for path in after.keys() - before.keys()} == {"scores"}
    assert private.planned() == Counter()


@pytest.mark.long(part="reruns")
def test_what_snakemake_remembers_decides_nothing(private: Checkout) -> None:
    private.edit("stp/render/tables/paper_table.py")
    private.make()
    memory = private.folder / ".snakemake"
    shutil.copytree(memory, memory.with_name("earlier"))
    private.restore("stp/render/tables/paper_table.py")
    private.make()
    for folder in (None, memory.with_name("earlier")):
        shutil.rmtree(memory)
        if folder is not None:
            shutil.copytree(folder, memory)
        before = private.receipts()
        assert private.planned() in (Counter(), RENDERED), "a table may be made again"
        private.make()
        assert private.receipts() == before and private.planned() == Counter()
