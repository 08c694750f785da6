"""Ten lines of docs/chaosbench.md and one command: a scorecard of one's own forecasts.

The made-up world is coarser than that of the demo, which the page says to take instead of ERA5, and
the forecasts are what happens in it with errors that grow.
"""

import csv
import re

import numpy as np
import pytest
import xarray as xr
import yaml
from asking import csv_rows
from checkout import ROOT, Checkout

from stp.datasets.chaosbench.chaotic_waves import Atmosphere, truth

pytestmark = [pytest.mark.slow, pytest.mark.long(part="own")]
PAGE = (ROOT / "docs" / "chaosbench.md").read_text()
OWN = PAGE[PAGE.index("## Your own forecasts") :].partition("\n## ")[0]
((NAME, TEN_LINES),) = re.findall(r"`(config/mine\.yaml)`:\n\n```yaml\n(.*?)```", OWN, re.DOTALL)
(COMMAND,) = re.findall(r"```sh\n(snakemake [^#\n]*)", OWN)
(QUERY,) = re.findall(r'`(stp query "from s2s_skill_horizon[^`]*)`', OWN)
DEGREES, FIRST_YEAR, DAYS, EVERY, LEADS = 30, 2012, 100, 8, 44
STARTS = range(0, DAYS - 1 - LEADS, EVERY)
RELEASE = {
    "options": {"degrees": DEGREES, "years": [2012, 2013, 2014, 2022], "days": DAYS},
    "prepare": {
        "years": {"train": [2012, 2013], "val": [2014, 2014], "test": [2022, 2022]},
        "stride": {"train": 1, "val": 16, "test": EVERY},
        "days_per_year": DAYS,
    },
}
WORLD = {"release": "synthetic", "shape": [12, 7, 12], "releases": {"synthetic": RELEASE}}
ENSEMBLE = {
    "forecasts": {"my_members": {"files": "members/*.nc", "members": 3}},
    "dimensions": {
        "s2s_ensemble": {"models": ["my_members"], "cells": [{"trained_on": "chaosbench"}]}
    },
}
"""What one adds for an ensemble; its files name their variables as the data do."""


def forecasts(members: int | None) -> xr.Dataset:
    """Temperatures at 850 hPa and heights at 500: the truth, and errors that are larger later."""
    lat, lon = np.linspace(90, -90, 180 // DEGREES + 1), np.arange(360 // DEGREES) * DEGREES
    levels = np.array([500, 850])
    atmosphere = Atmosphere(lat, lon.astype(float), levels, ("z", "t"))
    days = np.datetime64("2022-01-01") + np.arange(DAYS)
    valid = np.array(STARTS)[:, None] + 1 + np.arange(LEADS)
    rng = np.random.default_rng(0)
    size = np.minimum(0.05 * 1.2 ** np.arange(LEADS), 1.5)[:, None, None]
    outer = {} if members is None else {"number": members}
    fields = {}
    made = atmosphere.fields(truth(FIRST_YEAR, days, 0), days)
    for name, level, short, deviation in (("ta", 1, "t", 5.0), ("zg", 0, "z", 80.0)):
        values = made[short][valid, level]
        errors = size * deviation * rng.normal(size=(*outer.values(), *values.shape))
        fields[name] = (values + errors).astype(np.float32)
    dims = (*outer, "start", "lead", "latitude", "longitude")
    coordinates = {
        "start": days[np.array(STARTS)].astype("datetime64[ns]"),
        "lead": ("lead", np.arange(1, LEADS + 1), {"units": "days"}),
        **{"latitude": lat, "longitude": lon},
        **({name: np.arange(count) for name, count in outer.items()}),
    }
    if members is not None:
        names = {"t_850": ("ta", "K"), "z_500": ("zg", "gpm")}
        return xr.Dataset(
            {new: (dims, fields[old], {"units": unit}) for new, (old, unit) in names.items()},
            coordinates,
        )
    # As the page has it: with a dimension of levels.
    whole = {}
    for name, place, unit in (("ta", 1, "K"), ("zg", 0, "gpm")):
        values = np.full((*fields[name].shape[:2], 2, *fields[name].shape[2:]), np.nan, np.float32)
        values[:, :, place] = fields[name]
        whole[name] = (("start", "lead", "level", *dims[2:]), values, {"units": unit})
    return xr.Dataset(whole, {**coordinates, "level": ("level", levels, {"units": "hPa"})})


@pytest.fixture(scope="module")
def scorecard(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A checkout with the ten lines, the world, and an ensemble besides; all was asked for."""
    folder = tmp_path_factory.mktemp("own-forecasts")
    copy = Checkout.create(folder / "checkout", folder / "shared")
    for name, members in (("mine", None), ("members", 3)):
        (copy.shared / "raw" / name).mkdir(parents=True)
        forecasts(members).to_netcdf(copy.shared / "raw" / name / "2022.nc")
    assert len(TEN_LINES.strip().splitlines()) == 10
    scale = yaml.safe_load(TEN_LINES)
    scale["datasets"] = {"chaosbench": WORLD}
    for key, more in ENSEMBLE.items():
        scale[key] |= more
    (copy.folder / NAME).write_text(yaml.safe_dump(scale))
    copy.succeed("bash", "-c", COMMAND)
    return copy


def test_there_are_tables_curves_and_maps(scorecard: Checkout) -> None:
    results = scorecard.folder / "results" / "mine"
    rows = {row["model"]: row for row in csv_rows(results / "tables" / "s2s_control.csv")}
    assert len(rows) == 3
    mine, still = rows["my_model"], rows["Persistence"]
    assert float(mine["t850 RMSE day 1"]) < float(still["t850 RMSE day 1"])
    assert mine["q700 RMSE day 1"] == "" and mine["source"] == "synthetic"
    days = [
        row
        for row in csv_rows(results / "tables" / "s2s_skill_horizon.csv")
        if row["forecast"] == "my_model"
    ]
    assert {"t850", "z500"} <= {row["variable"] for row in days if row["skilful_leads"]}
    page = (results / "tables" / "s2s_weeks.md").read_text()
    assert "## s2s_control, test, ACC, 3-4, z500" in page and "my_model" in page
    for kind in ("leads", "strips", "detail"):
        assert (results / f"figures/s2s_control/{kind}/chaosbench.png").is_file(), kind
    assert (results / "figures/s2s_ensemble/rank_histogram/chaosbench.png").is_file()


def test_skill_horizons_are_asked_for_by_the_command_of_the_page(scorecard: Checkout) -> None:
    printed = scorecard.succeed("bash", "-c", f'{QUERY[:-1]} order by all" --format csv')
    rows = list(csv.DictReader(line for line in printed.splitlines() if "," in line))
    found = {(row["variable"], row["threshold"].split()[0]): row for row in rows}
    for variable in ("t850", "z500"):
        for score in ("RMSE", "ACC"):
            # Errors grow to 1.5 deviations of the weather in 19 days.
            assert 3 < int(found[variable, score]["skilful_leads"]) < 30
            assert int(found[variable, score]["n"]) == len(STARTS)


def test_ranks_of_the_members_are_scored(scorecard: Checkout) -> None:
    query = (
        "select count(distinct threshold) from scores where model = 'my_members' and variable = "
        "'t850' and convention = 'rank_histogram.weighted' and value is not null"
    )
    done = scorecard.run("stp", "query", query, "--format", "csv")
    assert done.stdout.split()[-1] == "4", done.stdout
