"""Forecasts of some lead times, by one network or by one for each; and weights after an update."""

import sys
import types
from pathlib import Path

import numpy as np
import pytest
import torch
import xarray as xr

from stp.core.errors import StpError
from stp.core.job import Job
from stp.data.prepared import Prepared
from stp.models import weights
from stp.models.create import create
from stp.models.model import ForecastModel
from stp.models.normalisation import Normalisation
from stp.predict.run import run

CONVLSTM = {"model": "convlstm", "options": {"num_hidden": [3], "filter_size": 3, "patch_size": 2}}


def stored(job: Job) -> xr.Dataset:
    return xr.open_zarr(job.out / "predictions.zarr", consolidated=False)


def opened(job: Job) -> xr.DataArray:
    return stored(job)["predictions"]


def trained(folder: Path, recipe: dict, seed: int, name: str = weights.MODEL) -> Path:
    """A network with other weights for each seed."""
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(seed)
    state = create(recipe).state_dict()
    weights.save(folder / name, state, recipe, Normalisation(280.0, 10.0))
    return folder


def test_each_lead_time_is_forecast_by_its_own_network(tmp_path, make_data, make_job):
    data = make_data()
    single = {**CONVLSTM, "horizon": 1}
    recipe = make_job(data, **single).recipe
    folders = {lead: trained(tmp_path / f"lead{lead}", recipe, lead) for lead in (1, 3)}

    direct = make_job(data, **single, leads=[1, 3], per_lead=True)
    direct.inputs.update({f"model-lead-{lead}": folder for lead, folder in folders.items()})
    extras = run(direct)
    found = opened(direct)
    assert found.dims == ("sample", "lead", "channel", "y", "x")
    assert found["lead"].values.tolist() == [1, 3]
    assert stored(direct).attrs["leads"] == extras["leads"] == [1, 3]
    for lead, folder in folders.items():  # a forecast of one frame, by that network
        alone = make_job(data, folder, **single, lead_times=1)
        run(alone)
        assert np.array_equal(found.sel(lead=lead), opened(alone).sel(lead=1))
    assert not np.array_equal(found.sel(lead=1), found.sel(lead=3))


def test_lead_times_between_are_interpolated_and_channels_may_be_left_out(
    tmp_path, make_data, make_job
):
    """Networks of one of two channels, for lead times 1 and 3."""
    data = make_data()
    network = {**CONVLSTM, "horizon": 1}
    folders = {
        f"model-lead-{lead}": trained(
            tmp_path / f"lead{lead}", make_job(data, **network, shape=[1, 4, 6]).recipe, lead
        )
        for lead in (1, 3)
    }
    about = {**network, "leads": [1, 3], "per_lead": True, "channels": ["s*"]}
    direct, between = make_job(data, **about), make_job(data, **about, interpolated=True)
    for job in (direct, between):
        job.inputs.update(folders)
        run(job)
    own, found = opened(direct), opened(between)
    assert found["lead"].values.tolist() == [1, 2, 3] and found.sizes["channel"] == 1
    assert stored(between).attrs["variables"] == ["sst"]
    assert np.array_equal(found.sel(lead=[1, 3]), own)
    np.testing.assert_allclose(found.sel(lead=2), own.mean("lead"), rtol=1e-6)
    # What it is not shown cannot matter.
    clips = Prepared(data).select_channels(["s*"]).clips("test")
    assert np.array_equal(clips.read([0])[:, :, 0], Prepared(data).clips("test").read([0])[:, :, 1])
    with pytest.raises(StpError, match=r"channel .*'x'"):
        Prepared(data).select_channels(["x"])


def test_each_member_is_forecast_by_a_training_of_its_own(tmp_path, make_data, make_job):
    data = make_data()
    recipe = make_job(data, **CONVLSTM).recipe
    folders = [trained(tmp_path / f"seed{seed}", recipe, seed) for seed in (0, 1)]
    predict = {"batch_size": 3, "trainings": 2}
    both = make_job(data, **CONVLSTM, predict=predict)
    both.inputs.update({f"model-member-{n}": folder for n, folder in enumerate(folders)})
    assert run(both)["members"] == 2
    for member, folder in enumerate(folders):
        alone = make_job(data, folder, **CONVLSTM)
        run(alone)
        assert np.array_equal(opened(both).isel(member=member), opened(alone))
    with pytest.raises(StpError, match=r"predict\.trainings is 2"):
        run(make_job(data, **CONVLSTM, predict={**predict, "samples": 2}))


def test_all_lead_times_are_listed_where_none_is_left_out(make_data, make_job):
    job = make_job(make_data())
    run(job)
    assert stored(job).attrs["leads"] == [1, 2, 3]


def test_lead_times_that_are_not_wanted_are_left_out(make_trained, make_job):
    data, model = make_trained(CONVLSTM)
    whole, some = make_job(data, model, **CONVLSTM), make_job(data, model, **CONVLSTM, leads=[1, 3])
    run(whole)
    run(some)
    assert np.array_equal(opened(some), opened(whole).sel(lead=[1, 3]))
    assert opened(some).shape[1] == 2


def test_clips_need_only_reach_the_last_lead_time(make_data, make_job):
    job = make_job(make_data(), lead_times=30, leads=[1, 3])
    run(job)
    assert opened(job).shape[1] == 2
    with pytest.raises(StpError, match="30 lead times"):
        run(make_job(job.inputs["data"], lead_times=30, leads=[1, 4]))


def test_a_model_may_be_told_its_lead_times(make_data, make_job, monkeypatch):
    told = []

    class Model(ForecastModel):
        needs_lead_times = True

        def __init__(self, shape, context, horizon):
            super().__init__(context)

        def forward(self, frames, horizon, lead_times):
            told.append((horizon, tuple(lead_times)))
            last = frames[:, -1:]
            return torch.cat([last + lead for lead in lead_times], dim=1)

    module = types.ModuleType("stp.models.told")
    module.Model = Model
    monkeypatch.setitem(sys.modules, "stp.models.told", module)
    job, plain = make_job(make_data(), model="told", leads=[1, 3]), None
    run(job)
    assert set(told) == {(2, (1, 3))}
    plain = make_job(job.inputs["data"])  # persistence
    run(plain)
    added = opened(job) - opened(plain).sel(lead=[1, 3])
    assert np.allclose(added.mean(("sample", "channel", "y", "x")), [10, 30], atol=1e-3)


def test_a_network_of_one_lead_time_alone_is_told_that_one(tmp_path, make_data, make_job):
    """As it was in its training, and as a network of all lead times is."""
    data = make_data()
    options = {"patch": 2, "width": 8, "depth": 1, "heads": 2, "initial_std": 0.5}
    network = {"model": "climax", "options": options}
    recipe = make_job(data, **network).recipe
    folder = trained(tmp_path / "all", recipe, 0)
    direct = make_job(data, **network, horizon=1, leads=[1, 3], per_lead=True)
    same = trained(tmp_path / "each", direct.recipe, 0)
    direct.inputs.update({f"model-lead-{lead}": same for lead in (1, 3)})
    told = make_job(data, folder, **network, leads=[1, 3])
    run(direct)
    run(told)
    found = opened(direct)
    np.testing.assert_allclose(found, opened(told), rtol=1e-6)
    assert abs(found.sel(lead=1) - found.sel(lead=3)).mean() > 0.1


def test_forecasts_with_the_weights_after_an_update(tmp_path, make_data, make_job):
    data = make_data()
    recipe = make_job(data, **CONVLSTM).recipe
    model = trained(tmp_path / "model", recipe, 0)
    trained(model, recipe, 1, weights.snapshot_name(20))
    alone = trained(tmp_path / "alone", recipe, 1)
    jobs = [
        make_job(data, model, **CONVLSTM),
        make_job(data, model, **CONVLSTM, update=20),
        make_job(data, alone, **CONVLSTM),
    ]
    for job in jobs:
        run(job)
    best, after, same = map(opened, jobs)
    assert np.array_equal(after, same) and not np.array_equal(after, best)
    with pytest.raises(StpError, match=r"update-30\.pt"):
        run(make_job(data, model, **CONVLSTM, update=30))
