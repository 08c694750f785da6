"""A sixth suite touches no file that exists: rain radar, with code and configuration of its own.

``tests/workflow/rain`` has a raw layout, a model, a metric with thresholds in mm/h, a table, a
figure, findings, a view and printed values. It is added as files of a checkout, and as a package.
"""

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import ROOT, Checkout

RAIN = Path(__file__).parent / "rain"
SCALE = "config/rain-demo.yaml"
TARGETS = (
    *("results/tables/nowcasting.csv", "results/tables/rain_rates.csv"),
    *("results/tables/rain_findings.csv", "results/tables/rain_best.csv"),
    "results/rain-demo/figures/nowcasting/reliability/rain_radar.png",
    "results/rain-demo/report/index.html",
)
pytestmark = [pytest.mark.slow, pytest.mark.long(part="suites")]


def rows(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


@pytest.fixture(scope="module")
def added(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A checkout with one more suite, none of whose files was there."""
    folder = tmp_path_factory.mktemp("sixth")
    copy = Checkout.create(folder / "checkout", folder / "shared")
    for source, target in ((RAIN / "modules", "stp"), (RAIN / "config", "config")):
        for path in filter(Path.is_file, source.rglob("*")):
            new = copy.folder / target / path.relative_to(source)
            assert not new.exists()
            new.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, new)
    shutil.copy(RAIN / "rain-demo.yaml", copy.folder / SCALE)
    return copy


def test_it_has_a_plan_costs_tables_figures_a_report_and_views(added: Checkout) -> None:
    planned = added.run("stp", "plan", "--configfile", SCALE)
    assert planned.returncode == 0 and "nowcasting" in planned.stdout, planned.stdout
    added.succeed("snakemake", "--profile", "local", "--configfile", SCALE, "--", *TARGETS)
    assert all((added.folder / name).stat().st_size for name in TARGETS)
    scores = {row["model"]: row for row in rows(added.folder / TARGETS[0])}
    assert float(scores["Drift"]["FSS"]) > float(scores["Persistence"]["FSS"])
    assert scores["Drift"]["FSS published"] == "0.75"
    rates = rows(added.folder / TARGETS[1])
    assert {row["rate"] for row in rates} == {"0.5", "2", "8"} and len(rates) == 2 * 2 * 3
    judged = rows(added.folder / TARGETS[2])
    assert {row["verdict"] for row in judged if row["side"] == "ours"} == {"holds"}
    best = rows(added.folder / TARGETS[3])
    assert [float(row["rate"]) for row in best] == [0.5, 2, 8]
    assert added.ask("SELECT count(*) FROM rain_best") == [(3,)]
    cited = added.run("stp", "list", "works", "rain")
    assert cited.returncode == 0 and "Roberts" in cited.stdout, cited.stdout


def test_a_package_of_other_people_adds_it(tmp_path: Path) -> None:
    site = tmp_path / "site"
    shutil.copytree(RAIN, site / "rain_lab")
    (site / "rain_lab" / "__init__.py").write_text("")
    (site / "rain_lab-1.0.dist-info").mkdir()
    (site / "rain_lab-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: rain-lab\nVersion: 1.0\n"
    )
    (site / "rain_lab-1.0.dist-info" / "entry_points.txt").write_text(
        "[stp.extensions]\nrain = rain_lab\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "stp", "plan", "--configfile", RAIN / "rain-demo.yaml", "--list"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "drift" in done.stdout and "rain_radar" in done.stdout
