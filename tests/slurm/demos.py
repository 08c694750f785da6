"""Whole demos on a real Slurm, their scores compared row by row with those of a local run.

``python tests/slurm/demos.py fvd-demo [--ungrouped] [--local RESULTS]`` runs one by hand, with the
raw samples and weights that the environment names, and ends with a row of a table: suite, jobs,
grouped or not, outcome. Without ``--local``, the folder ``results`` of a run that has made the
tables already, the local run is made first.
"""

import argparse
import math
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "workflow"))

import yaml
from asking import ask
from checkout import Checkout
from cluster import Cluster
from scenario import Scenario
from test_docs_commands import commands_about

from stp.options.score import CELL_KEYS
from stp.plan.cells import Plan

ROBUSTNESS = "robustness"
"""The dimension of PredBench that is a demo of its own here: each of its cells has two settings."""
DEMOS = {
    "demo": f"results/tables/{ROBUSTNESS}.csv",
    "fvd-demo": "results/tables/all",
    "atlas-demo": "results/tables/all",
    "pvqa-demo": "results/tables/all",
    "scv-demo": "results/tables/all",
    "chaosbench-demo": "results/tables/all",
}
"""Scale file, without its ending -> what is asked for."""
PATIENCE_S = 3 * 3600
ROUNDING = 1e-9
"""The largest relative difference that is no difference."""
SITE: dict[str, Any] = {
    "accounting": False,
    "cpu": {"partition": "cpu"},
    "gpu": {"partition": "gpu"},
    "first_status_seconds": 2,
}

Row = tuple[Any, ...]


class Outcome(NamedTuple):
    """How a demo went.

    Attributes:
        suite: of the scale.
        scale: name of its file.
        jobs: of Slurm.
        failed: of these, did not complete.
        grouped: whether short jobs were submitted together.
        rows: of scores.
        difference: from the local run; None where there is none.
        seconds: from the first job to the last table.
    """

    suite: str
    scale: str
    jobs: int
    failed: int
    grouped: bool
    rows: int
    difference: str | None
    seconds: float

    def __str__(self) -> str:
        """A row of a table in Markdown."""
        outcome = self.difference or f"the {self.rows:,} rows of the local run"
        jobs = f"{self.jobs}, {self.failed} failed" if self.failed else str(self.jobs)
        told = [self.suite, self.scale, jobs, "yes" if self.grouped else "no", outcome]
        return f"| {' | '.join(told)} | {self.seconds / 60:.0f} min |"


def score_rows(database: Path, scale: str) -> list[Row]:
    """All scores of what a demo asks for, sorted; settings by their names of today."""
    measured = "convention, variable, level, threshold, leads, lead, statistic, n, reason, value"
    keys = ", ".join(name for name in CELL_KEYS if name != "setting")
    only = f"WHERE dimension = '{ROBUSTNESS}'" if scale == "demo" else ""
    return ask(
        database,
        f"SELECT {keys}, replace(setting, ',', '+') AS setting, {measured} FROM "
        f"(SELECT NULL AS leads, * FROM scores) {only} ORDER BY ALL",
    )


def difference(ours: list[Row], theirs: list[Row]) -> str | None:
    """Say how two lists of rows differ by more than rounding; None if they are the same.

    Sums over threads may round differently in a job with other cores than the local run had.
    """
    if len(ours) != len(theirs):
        return f"{len(ours)} rows, and {len(theirs)} of the local run"
    unlike = [
        (a, b)
        for a, b in zip(ours, theirs, strict=True)
        if a[:-1] != b[:-1] or not is_close(a[-1], b[-1])
    ]
    return f"{len(unlike)} rows differ: {unlike[0][0]} and {unlike[0][1]}" if unlike else None


def is_close(value: float | None, other: float | None) -> bool:
    """Whether two values, which may be missing or NaN, are equal up to rounding."""
    if value is None or other is None:
        return value is other
    return math.isclose(value, other, rel_tol=ROUNDING) or (math.isnan(value) and math.isnan(other))


def local_run(scale: str, folder: Path) -> Path:
    """Run a demo and the commands of its page without Slurm; its folder of results."""
    checkout = Checkout.create(folder / "checkout", folder / "shared")
    done = checkout.snakemake(config=f"config/{scale}.yaml", targets=(DEMOS[scale],))
    assert done.returncode == 0, done.stdout[-5000:]
    if scale != "demo":  # whose table here is one of several
        for words in commands_about(scale):
            done = checkout.run(*words)
            assert done.returncode == 0, f"{words}\n{done.stdout[-5000:]}"
    return checkout.folder / "results"


def on_slurm(cluster: Cluster, scale: str, folder: Path, grouped: bool, results: Path) -> Outcome:
    """Run a whole demo on Slurm with the profile, and compare its scores with those of a local run.

    Args:
        cluster: where.
        scale: name of the file in config/.
        folder: for the checkout and its store.
        grouped: submit short jobs together, as by default.
        results: of the local run.

    Raises:
        AssertionError: the run fails.
    """
    run = Scenario.on(cluster, folder)
    site = SITE if grouped else {**SITE, "group_minutes": 0}
    (run.folder / "site.yaml").write_text(yaml.safe_dump(site))
    config = f"config/{scale}.yaml"
    begun = time.monotonic()
    command = ("snakemake", "--profile", "slurm", "--configfile", config, "--")
    try:
        if grouped:  # only what waits for nothing is submitted together
            run._start(*command, *_data(run, scale)).succeed(PATIENCE_S)
        run._start(*command, DEMOS[scale]).succeed(PATIENCE_S)
    except BaseException:
        run.saved_logs(Path(__file__).parents[2] / "results" / "slurm-tests" / scale)
        raise
    finally:
        jobs = run.cluster.jobs()
        mine = [jobs[name]["JobState"] for name in run.jobs()]
        run.clean_up()
    ours = score_rows(run.folder / f"results/{scale}/results.duckdb", scale)
    theirs = score_rows(results / scale / "results.duckdb", scale)
    suite = yaml.safe_load((run.folder / config).read_text())["suite"]
    failed = sum(state != "COMPLETED" for state in mine)
    unlike = difference(ours, theirs)
    seconds = time.monotonic() - begun
    return Outcome(suite, scale, len(mine), failed, grouped, len(ours), unlike, seconds)


def _data(run: Scenario, scale: str) -> list[str]:
    """The receipts of the data that a demo needs."""
    cells = Plan.load(run.folder / f"config/{scale}.yaml").cells
    return sorted(
        {
            f"{run.store}/{made.data.receipt}"
            for made in cells
            if scale != "demo" or made.cell.dimension == ROBUSTNESS
        }
    )


def main() -> int:
    """Run one demo by hand; 0 if its rows are those of the local run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("scale", choices=sorted(DEMOS))
    parser.add_argument("--ungrouped", action="store_true", help="a job of Slurm for each")
    parser.add_argument("--local", type=Path, help="results of a run without Slurm")
    chosen = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="stp-demo-"))
    results = chosen.local or local_run(chosen.scale, folder / "local")
    with Cluster(folder / "slurm") as cluster:
        outcome = on_slurm(
            cluster, chosen.scale, folder / "run", not chosen.ungrouped, results.absolute()
        )
    print("| suite | scale | jobs | grouped | outcome | time |")
    print("|---|---|---|---|---|---|")
    print(outcome)
    if outcome.difference:
        print(f"everything is kept in {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
