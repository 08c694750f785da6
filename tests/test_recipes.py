"""What a recipe takes from where."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import xarray as xr
import yaml

from stp.core.errors import StpError
from stp.core.options import build
from stp.data.prepared import Prepared
from stp.datasets.chaosbench.reader import ChaosbenchOptions
from stp.datasets.weatherbench.reader import WeatherbenchOptions
from stp.plan.cells import Plan
from stp.plan.checked_config import CONFIG_FOLDER, check, in_order, merge, read_yaml
from stp.plan.dataset import Dataset
from stp.plan.recipes import Recipes
from stp.run import runner, workflow_files
from stp.score.checkpoint import Checkpoint as ScoreCheckpoint
from stp.train.checkpoint import recipe_hash


def settings(general: str | None, kth: str | None) -> SimpleNamespace:
    return SimpleNamespace(statistic=general, datasets={"kth": SimpleNamespace(statistic=kth)})


def test_a_statistic_of_the_scale_wins_and_the_particular_over_the_general():
    for scale, model, expected in (
        (None, settings(None, None), "mean_of_members"),
        (None, settings("general", None), "general"),
        (None, settings("general", "kth"), "kth"),
        (settings(None, None), settings("general", "kth"), "kth"),
        (settings("of scale", None), settings("general", "kth"), "of scale"),
        (settings("of scale", "kth of scale"), settings("general", "kth"), "kth of scale"),
    ):
        models = {} if scale is None else {"savp": scale}
        recipes = Recipes.__new__(Recipes)
        recipes.config = SimpleNamespace(
            scale=SimpleNamespace(models=models), models={"savp": model}
        )
        assert recipes._statistic("savp", "kth") == expected
    assert recipes._statistic("savp", "enso") == "of scale"


SEA: dict[str, Any] = {
    **{"title": "Sea", "shape": [2, 3, 4], "context": 1, "horizon": 1},
    **{"metrics": ["mse.pixel_mean"], "reader": "own.reader", "release": "own"},
    "releases": {"own": {"source": "own", "files": [{"path": "sea.nc"}]}},
    "prepare": {
        "kind": "grids",
        "variables": {"sst": None, "slp": None},
        "splits": {"by": "time", "train": 0.6, "val": 0.2, "test": 0.2},
        "normalisation": {"method": "fixed", "offset": [288, 101300], "scale": [4, 1000]},
    },
}
SEA_SCALE: dict[str, Any] = {
    "scale": "sea",
    "dimensions": {"short_term": {"models": ["persistence", "convlstm"], "datasets": ["sea"]}},
    "datasets": {"sea": SEA},
    "runtime": {"device": "cpu"},
}
TURNED = {"slp": None, "sst": None}


def of_sea(scale: dict[str, Any] = SEA_SCALE, **prepare: Any) -> Plan:
    changed = merge(scale, {"datasets": {"sea": {"prepare": prepare}}})
    return Plan.load(changed)


def test_the_order_of_variables_is_part_of_all_that_is_made_of_them(tmp_path):
    plans = of_sea(), of_sea(variables=TURNED)
    recipes = [plan.data("sea").recipe for plan in plans]
    assert recipes[0]["options"]["variables"] == [
        {"name": "sst", "levels": []},
        {"name": "slp", "levels": []},
    ]
    assert recipes[1]["options"]["variables"] == recipes[0]["options"]["variables"][::-1]
    for kind in (
        lambda plan: [plan.data("sea").folder],
        lambda plan: [model.folder for cell in plan.cells for model in cell.models],
        lambda plan: [cell.predictions.folder for cell in plan.cells],
        lambda plan: [cell.scores.folder for cell in plan.cells],
    ):
        first, second = (set(kind(plan)) for plan in plans)
        assert first and second and not first & second
    assert len({plan.recipes.prepare_digest("sea") for plan in plans}) == 2
    assert recipe_hash(recipes[0]) != recipe_hash(recipes[1])
    first, second = (ScoreCheckpoint(tmp_path, recipe, 1.0).recipe for recipe in recipes)
    assert first != second
    # The keys of all other mappings have no order.
    splits = dict(reversed(SEA["prepare"]["splits"].items()))
    turned = {**SEA, "prepare": {**SEA["prepare"], "splits": splits}}
    same = Plan.load({**SEA_SCALE, "datasets": {"sea": turned}})
    assert same.data("sea").folder == plans[0].data("sea").folder


def test_a_job_reads_the_variables_of_its_scale_in_their_order(tmp_path):
    """The effective configuration that jobs read is a file."""
    plans = of_sea(), of_sea(variables=TURNED)
    written = [workflow_files.write_config(plan, tmp_path) for plan in plans]
    assert written[0] != written[1]
    for path, plan in zip(written, plans, strict=True):
        assert Plan.load(path).data("sea").folder == plan.data("sea").folder


@pytest.mark.parametrize("names", [["sst", "slp"], ["slp", "sst"]])
def test_lists_by_channel_hit_the_variable_that_is_named_in_their_place(
    names, tmp_path, monkeypatch
):
    monkeypatch.setenv("STP_RAW_DIR", str(tmp_path / "raw"))
    monkeypatch.setenv("STP_STORE_DIR", str(tmp_path / "store"))
    about = {"sst": (288.0, 4.0), "slp": (101300.0, 1000.0)}
    times = np.datetime64("2000-01-01", "ns") + np.arange(20) * np.timedelta64(1, "D")
    wave = np.random.default_rng(0).uniform(-2, 2, (20, 3, 4)).astype(np.float32)
    fields = {
        name: (("time", "y", "x"), np.float32(mean) + np.float32(deviation) * wave)
        for name, (mean, deviation) in about.items()
    }
    (tmp_path / "raw").mkdir()
    xr.Dataset(fields, {"time": times}).to_netcdf(tmp_path / "raw" / "sea.nc")
    offset, scale = ([about[name][part] for name in names] for part in (0, 1))
    plan = of_sea(
        variables=dict.fromkeys(names),
        normalisation={"method": "fixed", "offset": offset, "scale": scale},
    )
    runner.fetch(plan, plan.raw("sea"))
    data = Prepared(runner.make(plan, plan.data("sea")))
    assert data.attrs["variables"] == names
    clips = data.clips("train")
    frames = clips.read(range(len(clips)))  # (N, T, C, H, W)
    given = data.attrs["normalisation"]
    offset, scale = (np.reshape(given[key], (-1, 1, 1)) for key in ("offset", "scale"))
    seen = (frames - offset) / scale
    assert -2.1 < seen.min() < -1 and 1 < seen.max() < 2.1


@pytest.mark.parametrize(
    ("dataset", "release", "kind", "channels"),
    [
        (
            *("weatherbench", "synthetic", WeatherbenchOptions),
            ["t_500", "t_850", "t2m", "tp", "u10", "v10", "z_500", "z_850"],
        ),
        ("weatherbench", "sample", WeatherbenchOptions, ["t_500", "t_850", "z_500", "z_850"]),
        (
            *("chaosbench", "synthetic", ChaosbenchOptions),
            [f"{name}_{level}" for name in "qtwz" for level in (500, 700, 850)],
        ),
    ],
)
def test_shipped_data_keep_their_channels_where_they_were(dataset, release, kind, channels):
    """Before the order of variables counted, they were in alphabetical order."""
    facts = check(Dataset, read_yaml(CONFIG_FOLDER / "datasets" / f"{dataset}.yaml"), dataset)
    options = in_order(merge(facts.prepare, facts.releases[release].prepare))
    assert build(kind, options, "options").channels == channels


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"metrics": []}, "sea.yaml: datasets.sea"),
        ({"metrics": ["mse.pixl_mean"]}, "sea.yaml: datasets.sea: metrics"),
        (
            {"release": "made", "releases": {"made": {"source": "own", "generator": "kth",
             "reads": ["nowhere.csv"]}}},
            "sea.yaml: datasets.sea: releases.made",
        ),
    ],
)  # fmt: skip
def test_a_dataset_of_a_scale_file_is_named_where_it_is(tmp_path, change, named):
    scale = tmp_path / "sea.yaml"
    content = {**SEA_SCALE, "datasets": {"sea": {**SEA, **change}}}
    scale.write_text(yaml.safe_dump(content, sort_keys=False))
    with pytest.raises(StpError) as caught:
        Plan.load(scale)
    assert named in str(caught.value) and "config/datasets" not in str(caught.value)


def test_lead_times_of_a_network_each_are_those_within_the_horizon():
    recipes = Plan.load(CONFIG_FOLDER / "chaosbench.yaml").recipes
    leads = recipes.leads("fno", "direct", 20)
    assert leads.lead_times == (1, 5, 10, 15, 20) and leads.per_lead
    assert recipes.leads("fno", "direct", 1).lead_times == (1,)
    assert recipes.leads("fno", "default", 20).lead_times == ()
    with pytest.raises(StpError, match="fno, direct"):
        recipes.leads("fno", "direct", 0)
