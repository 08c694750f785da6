"""The demo of ChaosBench: from generated archives to tables, with three centres less."""

import csv

import duckdb
import pytest
import yaml
from checkout import Checkout

pytestmark = [pytest.mark.slow, pytest.mark.long(part="kinds")]
SCALE = "config/chaosbench-demo.yaml"
TABLES = ("results/tables/s2s_control.csv", "results/tables/s2s_ensemble.csv")
CONTROL = ["persistence", "daily_climatology", "ecmwf"]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    folder = tmp_path_factory.mktemp("chaosbench")
    checkout = Checkout.create(folder / "checkout", folder / "shared")
    path = checkout.folder / SCALE
    scale = yaml.safe_load(path.read_text())
    control, ensemble = scale["dimensions"].values()
    control["models"] = CONTROL
    ensemble["models"] = ["ecmwf_ensemble"]
    del scale["models"]["probabilistic_climatology"], scale["models"]["ncep_ensemble"]
    path.write_text(yaml.safe_dump(scale))
    done = checkout.run("snakemake", "--profile", "local", "--configfile", SCALE, "--", *TABLES)
    assert done.returncode == 0, done.stdout
    return checkout


def test_tables_have_a_row_for_each_model_and_say_that_bytes_are_made_up(demo: Checkout) -> None:
    numbers = []
    for name in TABLES:
        with (demo.folder / name).open(newline="") as file:
            found = list(csv.DictReader(file))
        numbers.append(len(found))
        assert all(row["source"] == "synthetic" and row["comparable"] == "NO" for row in found)
        assert all(float(row["z500 RMSE week 1"]) > 0 for row in found)
    assert numbers == [3, 1]


def test_forecasts_are_good_at_first_and_then_no_better_than_climatology(demo: Checkout) -> None:
    with duckdb.connect(str(demo.folder / "results/results.duckdb"), read_only=True) as store:
        found = store.execute(
            "select model, lead, value from scores where convention = 'wrmse.pooled'"
            " and variable = 't850' and statistic = 'mean' and lead in (1, 44)"
        ).fetchall()
    error = {(model, lead): value for model, lead, value in found}
    climatology = error["daily_climatology", 1]
    assert error["ecmwf", 1] < 0.5 * climatology
    assert error["ecmwf_ensemble", 1] < 0.5 * climatology
    assert error["ecmwf", 44] > 1.1 * climatology
    # The mean of members that have lost all skill is close to climatology, a single one is not.
    assert error["ecmwf_ensemble", 44] < 0.95 * error["ecmwf", 44]


def test_values_at_lead_44_rest_on_too_few_blocks_for_an_interval(demo: Checkout) -> None:
    with duckdb.connect(str(demo.folder / "results/results.duckdb"), read_only=True) as store:
        found = store.execute(
            "select distinct lead, statistic, reason from scores where model = 'ecmwf'"
            " and convention = 'wrmse.pooled' and variable = 't850' and lead in (1, 44)"
            " and statistic != 'mean'"
        ).fetchall()
    assert any("blocks longer than 44" in (reason or "") for lead, _, reason in found if lead == 44)
