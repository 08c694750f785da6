"""Forecasts that plain xarray reads, equal to the model's own."""

import importlib
import sys

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr

import stp.models
from stp.core.errors import StpError
from stp.data.prepared import Prepared
from stp.models import weights
from stp.models.compute import set_up_compute
from stp.models.create import create
from stp.models.normalisation import Normalisation
from stp.predict.forecasts import Forecasts
from stp.predict.run import run

SMALL = {"model": "convlstm", "options": {"num_hidden": [3], "filter_size": 3, "patch_size": 2}}


def read(job):
    return xr.open_zarr(job.out / "predictions.zarr", consolidated=False)


@pytest.fixture
def trained(make_trained):
    return make_trained(SMALL)


def test_plain_xarray_reads_the_forecasts(make_data, make_job):
    data = make_data()
    job = make_job(data)
    extras = run(job)
    assert (extras["samples"], extras["lead_times"]) == (7, 3)
    found = read(job)
    assert found.predictions.dims == ("sample", "lead", "channel", "y", "x")
    assert found.predictions.dtype == np.float32
    assert found.predictions.attrs["units"] == found.attrs["units"] == "K"
    assert found.sample.values.tolist() == list(range(7))
    assert found.lead.values.tolist() == [1, 2, 3]
    assert (found.attrs["dataset"], found.attrs["model"]) == ("toy", "persistence")
    # persistence: the last context frame, through the normalisation and back
    last = Prepared(data).clips("test").read(range(7))[:, 1]
    for lead in (1, 2, 3):
        np.testing.assert_allclose(found.predictions.sel(lead=lead), last, rtol=1e-6)


def test_the_index_names_the_samples_in_order(make_data, make_job):
    data = make_data()
    job = make_job(data)
    run(job)
    index = pd.read_parquet(job.out / "index.parquet")
    pd.testing.assert_frame_equal(index, Prepared(data).clips("test").index)


def test_forecasts_are_those_of_the_model(trained, make_job):
    data, folder = trained
    job = make_job(data, folder, **SMALL)
    run(job)
    model = create(job.recipe)
    model.load_state_dict(torch.load(folder / "model.pt", weights_only=True)["state_dict"])
    context = torch.from_numpy(Prepared(data).clips("test").read(range(7), length=2))
    with torch.inference_mode():
        expected = model.eval()((context - 280) / 10, 3) * 10 + 280
    np.testing.assert_allclose(read(job).predictions, expected, rtol=1e-5)


def test_training_data_decide_the_normalisation(trained, make_data, make_job):
    data, folder = trained
    other = make_data("other", normalisation={"offset": 0.0, "scale": 1.0})
    jobs = [make_job(which, folder, **SMALL) for which in (data, other)]
    for job in jobs:
        run(job)
    xr.testing.assert_equal(read(jobs[0]).predictions, read(jobs[1]).predictions)


def test_a_model_that_knows_the_month(tmp_path, make_data, make_job):
    data = make_data()
    what = {"model": "climatology", "options": {}}
    recipe = {**make_job(data, **what).recipe, "fit": "closed_form", "seed": None}
    # each month's mean is its number, in units of the normalisation
    means = torch.arange(12.0)[:, None, None, None].expand(12, 2, 4, 6).clone()
    weights.save(tmp_path / "model.pt", {"means": means}, recipe, Normalisation(280.0, 10.0))
    job = make_job(data, tmp_path, **what)
    run(job)
    # test clips start at frames 8, 12, 16, ...; 2 context frames; 12 months
    months = (8 + 4 * np.arange(7)[:, None] + 2 + np.arange(3)) % 12
    found = read(job).predictions
    np.testing.assert_allclose(found.isel(channel=1, y=2, x=3), months * 10 + 280)


def test_fewer_and_more_lead_times_than_trained(trained, make_job):
    data, folder = trained
    jobs = [make_job(data, folder, **SMALL, lead_times=leads) for leads in (1, 3)]
    for job in jobs:
        run(job)
    xr.testing.assert_allclose(read(jobs[0]).predictions, read(jobs[1]).predictions.sel(lead=[1]))
    with pytest.raises(StpError, match=r"5 frames[\s\S]*4 lead times"):
        run(make_job(data, folder, **SMALL, lead_times=4))


def test_batches_have_no_influence(make_trained, make_job):
    # not on batch norms either
    what = {"model": "simvpv2", "options": {"hid_s": 4, "hid_t": 8, "n_s": 2, "n_t": 2}}
    data, folder = make_trained(what)
    jobs = [make_job(data, folder, **what, predict={"batch_size": size}) for size in (1, 7)]
    for job in jobs:
        run(job)
    xr.testing.assert_allclose(read(jobs[0]).predictions, read(jobs[1]).predictions)


@pytest.mark.parametrize(
    "change",
    [
        {"model": "persistence", "options": {}},
        {"options": {**SMALL["options"], "num_hidden": [4]}},
        {"horizon": 2},
    ],
)
def test_a_model_of_another_recipe_is_refused(trained, make_job, change):
    data, folder = trained
    with pytest.raises(StpError, match=str(folder / "model.pt")):
        run(make_job(data, folder, **{**SMALL, **change}))


def flip_a_bit(path):
    content = bytearray(path.read_bytes())
    # somewhere in the weights: torch itself does not notice
    stored = torch.load(path, weights_only=True)["state_dict"]["cells.0.from_input.weight"]
    content[content.find(stored.numpy().tobytes()) + 100] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(path.read_bytes()[:500]),
        lambda path: path.write_bytes(b""),
        lambda path: torch.save({"other": 1}, path),
        flip_a_bit,
    ],
    ids=["truncated", "empty", "something else", "one bit"],
)
def test_a_damaged_model_is_named(trained, make_job, damage):
    data, folder = trained
    damage(folder / "model.pt")
    with pytest.raises(StpError, match=r"model\.pt"):
        run(make_job(data, folder, **SMALL))


def test_a_missing_model_is_named(trained, make_job):
    data, folder = trained
    (folder / "model.pt").unlink()
    with pytest.raises(StpError, match=r"model\.pt"):
        run(make_job(data, folder, **SMALL))
    with pytest.raises(StpError, match="convlstm"):
        run(make_job(data, **SMALL))


def test_forecasts_that_are_not_finite_are_refused(trained, make_job):
    data, folder = trained
    content = torch.load(folder / "model.pt", weights_only=True)
    content["state_dict"]["readout.weight"].fill_(float("inf"))
    constants = Normalisation(**content["normalisation"])
    weights.save(folder / "model.pt", content["state_dict"], content["recipe"], constants)
    with pytest.raises(StpError, match=r"convlstm on toy[\s\S]*3 samples.* 'clip2'"):
        run(make_job(data, folder, **SMALL))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"shape": [2, 8, 8]}, "shape"),
        ({"context": 1}, "context"),
        ({"split": "future"}, "split"),
        ({"predict": {"batch_size": 0}}, "batch_size"),
        ({"predict": {"batches": 3}}, "batch_size"),
        ({"predict": {"precision": "half"}}, "precision"),
    ],
)
def test_recipes_that_do_not_fit_are_refused(make_data, make_job, change, named):
    with pytest.raises(StpError, match=named):
        run(make_job(make_data(), **change))


def test_splits_without_stored_clips_are_refused(make_data, make_job):
    data = make_data()
    index = pd.read_parquet(data / "index.parquet")
    index[index["split"] != "test"].to_parquet(data / "index.parquet", index=False)
    with pytest.raises(StpError, match="the test split"):
        run(make_job(data))


OWN = """
from stp.models.model import ForecastModel


class Model(ForecastModel):
    def __init__(self, shape, context, horizon):
        super().__init__(context)

    def forward(self, frames, horizon):
        found = frames[:, -1:].repeat(1, horizon, 1, 1, 1)
        return {}
"""
PARTS = """
    def parts(self, frames, horizon):
        found = self(frames, horizon)
        return iter({})
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """own(text) -> the file of a model."""
    monkeypatch.setattr(stp.models, "__path__", [*stp.models.__path__, str(tmp_path)])

    def write(text):
        path = tmp_path / "own_forecast.py"
        path.write_text(text)
        importlib.invalidate_caches()
        return path

    yield write
    sys.modules.pop("stp.models.own_forecast", None)


def test_forecasts_of_finite_weights_that_are_not_finite_name_the_code(make_data, make_job, own):
    path = own(OWN.format("found * float('inf')"))
    with pytest.raises(StpError, match="own_forecast on toy") as caught:
        run(make_job(make_data(), model="own_forecast"))
    assert str(path) in caught.value.remedy


@pytest.mark.parametrize(
    ("wrong", "shape"),
    [
        ("found.mean((-2, -1), keepdim=True)", (3, 3, 2, 1, 1)),
        ("found[:, :, :1]", (3, 3, 1, 4, 6)),
        ("found[:, 1:]", (3, 2, 2, 4, 6)),
        ("found[:1]", (1, 3, 2, 4, 6)),
    ],
)
def test_a_forecast_of_another_shape_names_the_file_of_its_model(
    make_data, make_job, own, wrong, shape
):
    path = own(OWN.format(wrong))
    job = make_job(make_data(), model="own_forecast")
    with pytest.raises(StpError) as caught:
        run(job)
    assert str(path) in caught.value.what and str(shape) in caught.value.what
    assert str((3, 3, 2, 4, 6)) in caught.value.expected


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("[found[:, :, :1]]", "(3, 3, 1, 4, 6)"),
        ("[found[:, :2]]", "2 lead times"),
        ("[found[:, :2], found[:, :2]]", "4 lead times"),
        ("[found[:, 0]]", "(3, 2, 4, 6)"),
    ],
)
def test_parts_of_a_forecast_are_looked_at_as_well(make_data, make_job, own, wrong, says):
    path = own(OWN.format("found") + PARTS.format(wrong))
    job = make_job(make_data(), model="own_forecast")
    with set_up_compute("cpu", 1, "float32") as compute, pytest.raises(StpError) as caught:
        forecasts = Forecasts(job.recipe, Prepared(job.inputs["data"]), job.inputs, compute)
        list(forecasts.parts_of(np.arange(3)))
    assert str(path) in caught.value.what and says in caught.value.what
