"""What a network sees of forecasts is the same whether they are stored or made again."""

import sys
import types

import numpy as np
import pytest
from test_predict_samples import MCVD

from stp.core.errors import StpError
from stp.core.job import Job
from stp.data import feature_table
from stp.data.ensembles import ensemble_mean
from stp.features.rollout import run as see_rollout
from stp.features.run import run as see
from stp.predict.run import run as predict

SUMS = {"sha256": "0" * 64}
CONVLSTM = {"model": "convlstm", "options": {"num_hidden": [3], "filter_size": 3, "patch_size": 2}}


@pytest.fixture(autouse=True)
def network(monkeypatch):
    """A network that gives all pixels, and notes how many clips it sees at once."""
    blocks = []

    def embed(weights, layer):
        def look(clips):
            blocks.append(len(clips))
            return clips.reshape(len(clips), -1).astype(np.float64)

        return look

    module = types.ModuleType("stp.features.networks.pixels")
    vars(module).update(LAYERS=("all",), SHORTEST=1, embed=embed)
    monkeypatch.setitem(sys.modules, "stp.features.networks.pixels", module)
    return blocks


def features(tmp_path, name, core, inputs, **more):
    out = tmp_path / name
    out.mkdir()
    recipe = {
        **{"network": "pixels", "module": "pixels", "layer": "all", "frames": "with_context"},
        **{"weights": SUMS, "split": "test", "lead_times": 3},
        **more,
    }
    runtime = {"weights": {"pixels": "pixels.pt"}, "device": "cpu"}
    core(Job(recipe, inputs, out, tmp_path / "state", runtime))
    return feature_table.read(out).values


@pytest.mark.parametrize("what", [CONVLSTM, MCVD], ids=["one", "three members"])
def test_features_of_stored_forecasts_and_of_rollouts_are_equal(
    tmp_path, make_trained, make_job, network, what
):
    samples = {"samples": 3} if what is MCVD else {}
    data, model = make_trained(what)
    job = make_job(data, model, **what, predict={"batch_size": 3, **samples})
    predict(job)
    stored = {"data": data, "predictions": job.out}
    of_stored = features(tmp_path, "stored", see, stored)
    # of several members, the first alone is drawn again
    alone = {**job.recipe, "predict": {"batch_size": 3}}
    rolled = features(tmp_path, "rolled", see_rollout, job.inputs, rollout=alone)
    assert of_stored.shape == (7, 5 * 2 * 4 * 6) and np.array_equal(of_stored, rolled)
    assert network == [7, 7], "blocks are of the same size, whatever the batches"


def test_the_mean_of_members_is_looked_at_where_that_is_scored(tmp_path, make_trained, make_job):
    data, model = make_trained(MCVD)
    job = make_job(data, model, **MCVD, predict={"batch_size": 3, "samples": 3})
    predict(job)
    import xarray as xr

    members = xr.open_zarr(job.out / "predictions.zarr", consolidated=False)["predictions"].values
    inputs = {"data": data, "predictions": job.out}
    mean = features(tmp_path, "mean", see, inputs, member="mean", frames="predicted_only")
    assert np.array_equal(mean, ensemble_mean(members).reshape(7, -1).astype(np.float64))
    rolled = features(
        tmp_path, "rolled", see_rollout, job.inputs, member="mean", frames="predicted_only",
        rollout=job.recipe,
    )  # fmt: skip
    assert np.array_equal(mean, rolled)


def test_networks_look_at_whole_clips_alone(tmp_path, make_data, make_job):
    job = make_job(make_data(), leads=[1, 3])
    predict(job)
    inputs = {"data": job.inputs["data"], "predictions": job.out}
    with pytest.raises(StpError, match="2 lead times"):
        features(tmp_path, "wrong", see, inputs)
