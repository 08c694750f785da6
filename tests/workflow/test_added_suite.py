"""A suite is data: one is added by files of configuration alone, and has everything others have."""

import csv

import duckdb
import pytest
import yaml
from checkout import ROOT, Checkout

SUITE = {
    "title": "Toys",
    "tables": {},
    "dimensions": {
        "toy_forecasts": {
            "title": "Forecasts of toys",
            "question": "Which reference line is best?",
            "about": "two reference lines on two datasets",
            "printed": "Table 1",
            "figures": ["leads", "ranks"],
        }
    },
    "columns": {"toys": [{"heading": "error", "convention": "mse.pixel_mean"}]},
    "datasets": {"moving_mnist": "toys", "enso": "toys"},
}
TABLE = "results/tables/toy_forecasts.csv"
pytestmark = [pytest.mark.slow, pytest.mark.long(part="suites")]


@pytest.fixture(scope="module")
def added(tiny: Checkout, tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A checkout with one more suite; the data of the tiny scale are there."""
    copy = Checkout.beside(tiny, tmp_path_factory.mktemp("added"))
    config = copy.folder / "config"
    (config / "suites" / "toys").mkdir()
    (config / "suites" / "toys" / "suite.yaml").write_text(yaml.safe_dump(SUITE))
    (config / "suites" / "toys" / "published.csv").write_text(
        (ROOT / "config" / "suites" / "atlas" / "published.csv").read_text().splitlines()[0] + "\n"
    )
    scale = yaml.safe_load((ROOT / "tests" / "workflow" / "tiny.yaml").read_text())
    scale |= {
        "scale": "toys",
        "suite": "toys",
        "dimensions": {
            "toy_forecasts": {
                "datasets": ["moving_mnist", "enso"],
                "models": ["persistence", "climatology"],
            }
        },
    }
    scale["models"] = {}
    (config / "toys-small.yaml").write_text(yaml.safe_dump(scale))
    references = config / "references.yaml"
    references.write_text(
        references.read_text().replace("of: [suite predbench]", "of: [suite predbench, suite toys]")
    )
    return copy


def test_the_plan_has_rules_costs_and_captions_of_its_own(added: Checkout):
    done = added.run(
        "snakemake", "--profile", "local", "--configfile", "config/toys-small.yaml", "-n",
        "--quiet", "host", "--", TABLE,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "score_toy_forecasts" in done.stdout and "render_toy_forecasts" in done.stdout
    planned = added.run("stp", "plan", "--configfile", "config/toys-small.yaml")
    assert planned.returncode == 0, planned.stdout
    assert "toy_forecasts" in planned.stdout


def test_tables_figures_report_and_store_are_made(added: Checkout):
    done = added.run(
        "snakemake", "--profile", "local", "--configfile", "config/toys-small.yaml", "--",
        TABLE, "results/toys/figures/toy_forecasts/ranks.png", "results/toys/report/index.html",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    with (added.folder / TABLE).open() as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    assert {row["scale"] for row in rows} == {"toys"} and len(rows) == 4
    with duckdb.connect(str(added.folder / "results/results.duckdb"), read_only=True) as store:
        (suite,) = store.execute("SELECT DISTINCT suite FROM toys.cells").fetchone() or ("",)
        assert suite == "toys"
        found = store.execute("SELECT title, question FROM dimensions").fetchall()
        assert found == [("Forecasts of toys", "Which reference line is best?")]
        assert store.execute("SELECT count(*) FROM leaderboard").fetchall()[0][0] >= 4
    page = (added.folder / "results/toys/report/index.html").read_text()
    assert "toy_forecasts" in page
    cited = added.run("stp", "list", "works", "toys")
    assert cited.returncode == 0 and "PredBench" in cited.stdout, cited.stdout
    listed = added.run("stp", "table")
    assert "toy_forecasts" in listed.stdout and "Table 1" in listed.stdout


@pytest.mark.long(part="suites")
def test_a_table_is_never_that_of_another_scale(added: Checkout):
    """The same name at another scale: the copy follows the run, and each scale keeps its own."""
    path = added.folder / "config" / "toys-small.yaml"
    other = yaml.safe_load(path.read_text()) | {"scale": "toys-two"}
    other["dimensions"]["toy_forecasts"]["datasets"] = ["moving_mnist"]
    (path.parent / "toys-two.yaml").write_text(yaml.safe_dump(other))
    command = ("snakemake", "--profile", "local", "--configfile")
    for config, scale in (
        ("toys-two", "toys-two"),
        ("toys-small", "toys"),
        ("toys-two", "toys-two"),
    ):
        done = added.run(*command, f"config/{config}.yaml", "--", TABLE)
        assert done.returncode == 0, done.stdout
        assert f",{scale}," in (added.folder / TABLE).read_text().splitlines()[1]
    assert (added.folder / "results/toys/tables/toy_forecasts.csv").is_file()
    with duckdb.connect(str(added.folder / "results/results.duckdb"), read_only=True) as store:
        scales = store.execute(
            'SELECT scale FROM toys.cells UNION SELECT scale FROM "toys-two".cells ORDER BY ALL'
        ).fetchall()
        assert scales == [("toys",), ("toys-two",)]
        assert store.execute("SELECT DISTINCT scale FROM cells").fetchall() == [("toys-two",)]
