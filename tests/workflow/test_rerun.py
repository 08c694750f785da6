"""Only what changed runs again: by dry runs, and for real.

What an edit of each module, and each kind of edit of the configuration, reaches is proven in
tests/fingerprints; here, that Snakemake runs just that. Whatever happens to the checkout, the last
steps (collect, table) may run: they are cheap and belong to the checkout, not to the store.
"""

import os
import random
import shutil
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest
from checkout import TABLE, Checkout

pytestmark = pytest.mark.slow
PRINTED = "motion,short_term,ConvLSTM,KTH,KTH,,,,,,SSIM,0.5,0.5,\n"
LAST = Counter(["collect_short_term", "render_short_term"])
STAGES = ("train", "predict_short_term", "score_short_term")


@pytest.fixture(scope="module")
def finished(tiny, tmp_path_factory) -> Checkout:
    """A checkout whose table was made."""
    checkout = Checkout.beside(tiny, tmp_path_factory.mktemp("workflow"))
    checkout.make()
    return checkout


@pytest.fixture
def checkout(tiny, tmp_path) -> Checkout:
    """A fresh clone next to the finished store, for dry runs: no results, no .snakemake."""
    return Checkout.create(tmp_path / "clone", tiny.shared)


@pytest.fixture
def private(tiny, tmp_path) -> Checkout:
    """A checkout with a copy of the finished store, to really run things in."""
    return Checkout.beside(tiny, tmp_path)


@pytest.fixture
def made(finished, tmp_path) -> Checkout:
    """A fresh clone next to the finished store, with all results of the finished checkout."""
    return take_results(Checkout.create(tmp_path / "clone", finished.shared), finished)


def take_results(checkout: Checkout, finished: Checkout) -> Checkout:
    """Copy results with their times."""
    shutil.copytree(finished.folder / "results", checkout.folder / "results", dirs_exist_ok=True)
    return checkout


def test_a_second_run_has_nothing_to_do(tiny):
    before = tiny.receipts()
    assert tiny.planned() == Counter()
    tiny.make()
    assert tiny.receipts() == before


@pytest.mark.long(part="reruns")
def test_the_table_that_was_asked_for_has_all_of_its_files_and_none_of_an_older_run(finished):
    copies = finished.folder / "results" / "tables"
    made = {
        path.name: path.read_bytes()
        for path in (finished.folder / "results" / "tiny" / "tables").glob("[!.]*")
    }
    assert {"short_term.csv", "short_term_tidy.csv", "short_term.tex"} < made.keys()
    (copies / "short_term_leads.csv").write_text("of an older run")
    finished.make()
    assert {path.name: path.read_bytes() for path in copies.glob("[!.]*")} == made


# What a change reaches: in a fresh clone, which has no memory of earlier runs


def test_an_edited_model_and_an_edited_metric_run_again_with_what_is_made_of_them(checkout):
    checkout.edit("stp/models/simvpv2.py")
    checkout.edit("stp/metrics/ssim.py")  # moving_mnist has it, enso does not
    others = ("persistence", "climatology", "convlstm")
    reached = Counter({f"{stage} simvpv2": 2 for stage in STAGES})
    assert checkout.planned() == LAST + reached + Counter(f"score_short_term {m}" for m in others)


def test_what_cannot_change_a_result_re_runs_nothing(checkout):
    text = (checkout.folder / "stp/metrics/ssim.py").read_text()
    message = text[text.index('"', text.index("raise StpError")) + 1 :][:12]
    for name, old, new in [
        ("stp/models/simvpv2.py", "", "\n# a comment\n"),
        ("stp/models/simvpv2.py", '"""', '"""Another docstring. '),
        ("stp/metrics/ssim.py", "raise StpError(\n", "raise StpError(  # why\n"),
        ("stp/metrics/ssim.py", message, "Oh dear. " + message),
        ("stp/cli.py", "", "\nCHANGED = 1\n"),
        ("stp/run/runner.py", "", "\nCHANGED = 1\n"),
        ("stp/core/errors.py", "", "\nCHANGED = 1\n"),
        ("stp/core/job.py", "", "\nCHANGED = 1\n"),
        ("stp/__init__.py", "", "\nCHANGED = 1\n"),
        ("stp/models/__init__.py", "", "\nCHANGED = 1\n"),
        ("workflow/rules/collect.smk", "mem_mb=4000", "mem_mb=3000"),
        ("README.md", "", "\nMore.\n"),
    ]:
        checkout.edit(name, old, new)
    assert checkout.planned() == LAST


@pytest.mark.long(part="reruns")
def test_scrambled_times_re_run_nothing_in_the_store(finished):
    dice = random.Random(0)
    for path in finished.folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            moment = dice.randrange(1_000_000_000, 1_700_000_000)
            os.utime(path, (moment, moment))
    for path in finished.store.rglob("*"):
        moment = dice.randrange(1_000_000_000, 1_700_000_000)
        os.utime(path, (moment, moment))
    assert finished.planned() - LAST == Counter()
    finished.make()
    assert finished.planned() == Counter()


# For real


def only_enso(checkout: Checkout) -> None:
    """Ask for the cells of one dataset; they are those of the finished store."""
    checkout.edit("tests/workflow/tiny.yaml", "datasets: [moving_mnist, enso]", "datasets: [enso]")


def kinds(new: set[str]) -> Counter[str]:
    """Count new receipts by the first folder of their path."""
    return Counter(path.partition("/")[0] for path in new)


@pytest.mark.long(part="reruns")
def test_edit_run_revert_run(private):
    only_enso(private)
    first = private.receipts()

    private.edit("stp/models/simvpv2.py")
    private.make()
    second = private.receipts()
    assert {path: second[path] for path in first} == first, "finished work was touched"
    new = set(second) - set(first)
    assert kinds(new) == {"models": 1, "predictions": 1, "scores": 1}
    assert all("/simvpv2/" in path for path in new)

    private.restore("stp/models/simvpv2.py")
    private.make()
    assert private.receipts() == second, "going back must find the old results"
    assert private.planned() == Counter()


@pytest.mark.long(part="reruns")
def test_an_edit_of_a_table_makes_that_table_again_and_no_picture(private):
    """What is drawn or written depends on what it reads, and on its own code."""
    findings = "results/tiny/tables/findings.csv"
    movie = "results/tiny/figures/short_term/movies/moving_mnist.gif"
    cited = "results/tiny/CITATION.md"
    targets = (TABLE, findings, movie, cited)
    private.make(targets=targets)
    assert private.planned(targets=targets) == Counter()
    expected: Counter[str] = Counter()
    for name, reached in (  # one after the other
        ("stp/core/errors.py", []),
        ("stp/render/tables/findings.py", ["render_findings"]),
        ("stp/render/tables/paper_table.py", ["render_short_term"]),
        ("stp/export/cite.py", ["cite"]),
        ("config/suites/predbench/published.csv", ["collect_short_term"]),
        ("stp/render/pictures/movie_files.py", ["render_movie"]),
    ):
        private.edit(name, new="\nCHANGED = 1\n" if name.endswith(".py") else PRINTED)
        expected += Counter(reached)
        assert private.planned(targets=targets) == expected, name


@pytest.mark.long(part="reruns")
def test_a_damaged_score_file_is_named_and_nothing_else_is_lost(private, finished):
    take_results(private, finished)
    before = (private.folder / TABLE).read_bytes()
    (scores,) = [
        path
        for path in private.store.glob("scores/predbench/short_term/persistence/**/scores.parquet")
        if "/enso/" in str(path)
    ]
    scores.write_bytes(scores.read_bytes()[:100])
    private.edit("stp/render/tables/paper_table.py")  # the table has to be made again
    done = private.snakemake()
    assert done.returncode != 0
    assert str(scores.parent) in done.stdout and "rm -r" in done.stdout
    assert (private.folder / TABLE).read_bytes() == before

    shutil.rmtree(scores.parent)  # the remedy
    private.make()


@pytest.mark.long(part="reruns")
def test_a_failing_cell_leaves_a_partial_table_and_the_others_finish(tiny, tmp_path):
    checkout = Checkout.beside(tiny, tmp_path)
    only_enso(checkout)
    before = {path for path in checkout.receipts() if "/convlstm/default/enso/" in path}
    checkout.forget("simvpv2")
    checkout.forget("convlstm", "scores")
    forward = "def _pass(self, frames: Tensor) -> Tensor:\n"
    checkout.edit(
        "stp/models/simvp.py", forward, forward + "        raise ValueError('hopeless')\n"
    )
    done = checkout.snakemake()
    assert done.returncode != 0
    assert not (checkout.folder / TABLE).exists()
    partial = (checkout.folder / "results/tiny/partial/short_term.csv").read_text()
    assert "hopeless" in partial
    made = {path for path in checkout.receipts() if "/convlstm/default/enso/" in path}
    assert made == before and len(made) == 2, "the other network was scored"
    assert "simvpv2" in done.stdout and "hopeless" in done.stdout

    database = "results/tiny/partial/results.duckdb"
    assert f"wrote {database}; scored cells: 3, " in done.stdout
    sql = "SELECT DISTINCT model, stage, how, detail FROM missing"
    asked = checkout.run("stp", "query", "--database", database, "--format", "csv", sql)
    assert asked.stdout.strip().splitlines()[1:] == ["simvpv2,train,failed,hopeless"], asked.stdout
    assert (checkout.folder / "results/tiny/partial/report/index.html").is_file()

    checkout.restore("stp/models/simvp.py")
    checkout.make()
    assert (checkout.folder / TABLE).exists()
    assert not (checkout.folder / database).exists(), "it is no longer true"


@pytest.mark.long(part="reruns")
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root: run as root, as in a container")
def test_a_finished_store_on_a_read_only_disk_serves(private):
    shutil.rmtree(private.folder / "results")
    for options in ("bind", "remount,bind,ro"):
        mounted = subprocess.run(
            ["mount", "-o", options, str(private.shared), str(private.shared)], check=False
        )
        if mounted.returncode:
            pytest.skip("this machine does not allow mounting: run on one that does")
    try:
        before = private.receipts()
        said = private.make()
        assert "is read-only" in said
        assert "SimVP" in (private.folder / TABLE).read_text()
        config = ("--configfile", "tests/workflow/tiny.yaml")
        for words in (
            ("status", *config),
            ("table", "short_term"),
            ("query", "SELECT count(*) FROM sample_scores"),
            ("store", "verify", *config),
            ("why", *config),
        ):
            done = private.run("stp", *words)
            assert done.returncode == 0, (words, done.stdout)
        assert private.receipts() == before
    finally:
        subprocess.run(["umount", str(private.shared)], check=True)


# Tables follow content: whatever the clocks said where files were written


def in_an_hour(folder: Path) -> None:
    """Give all results the times of a machine whose clock runs ahead."""
    moment = time.time() + 3600
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (moment, moment))


def without_simvpv2(checkout: Checkout) -> str:
    text = (checkout.folder / "tests/workflow/tiny.yaml").read_text()
    (checkout.folder / "fewer.yaml").write_text(text.replace("convlstm, simvpv2]", "convlstm]"))
    return "fewer.yaml"


@pytest.mark.long(part="reruns")
def test_a_dropped_model_leaves_the_table_though_clocks_ran_ahead(made):
    in_an_hour(made.folder / "results")
    made.make(config=without_simvpv2(made))
    assert "SimVP" not in (made.folder / TABLE).read_text()
    assert made.planned("--configfile", "fewer.yaml") == Counter()

    in_an_hour(made.folder / "results")
    made.make()  # the model comes back
    assert "SimVP" in (made.folder / TABLE).read_text()
    assert made.planned() == Counter()


@pytest.mark.long(part="reruns")
def test_results_that_rsync_brought_from_another_plan_are_made_again(made, tmp_path):
    """Whole, and the table alone; newer than what the plan is."""
    text = (made.folder / TABLE).read_text()
    other = tmp_path / "other"
    shutil.copytree(made.folder / "results", other)
    made.make(config=without_simvpv2(made))
    fewer = (made.folder / TABLE).read_text()
    assert fewer != text
    for names in (
        ("tiny/collected", "tiny/tables", "tables"),
        ("tiny/tables", "tables"),
        ("tables/short_term.csv",),
    ):
        for name in names:
            if (other / name).is_dir():
                shutil.copytree(
                    other / name,
                    made.folder / "results" / name,
                    copy_function=shutil.copyfile,  # with the times of now
                    dirs_exist_ok=True,
                )
            else:
                shutil.copyfile(other / name, made.folder / "results" / name)
        assert (made.folder / TABLE).read_text() == text
        made.make(config="fewer.yaml")
        assert (made.folder / TABLE).read_text() == fewer, names
