"""Several forecasts of a clip: which random numbers they see, and how they are stored."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
import xarray as xr
import yaml
from conventions import defined

from stp.core.errors import StpError
from stp.core.job import Job
from stp.models.create import create
from stp.plan.checked_config import CONFIG_FOLDER
from stp.predict.run import run
from stp.score.run import run as score

MCVD = {
    "model": "mcvd",
    "options": {
        "width": 8,
        "multipliers": [1],
        "blocks": 1,
        "attention_widths": [],
        "spade_width": 8,
        "noise_levels": 20,
        "sampler": {"steps": 2},
    },
}
Predict = Callable[..., np.ndarray]


@pytest.fixture
def trained(make_trained):
    return make_trained(MCVD)


@pytest.fixture
def predict(trained, make_job) -> Predict:
    """Forecasts (N, M, T, C, H, W) of the test clips."""

    def predicted(**options) -> np.ndarray:
        job = make_job(*trained, **MCVD, predict={"batch_size": 3, **options})
        run(job)
        found = xr.open_zarr(job.out / "predictions.zarr", consolidated=False).predictions
        if options.get("samples", 1) == 1:
            assert found.dims == ("sample", "lead", "channel", "y", "x")
            return found.values[:, None]
        assert found.dims == ("sample", "member", "lead", "channel", "y", "x")
        assert found.member.values.tolist() == list(range(options["samples"]))
        return found.values

    return predicted


def test_a_member_does_not_depend_on_how_many_there_are(predict: Predict):
    one, two, three = predict(), predict(samples=2), predict(samples=3)
    np.testing.assert_array_equal(two[:, :1], one)
    np.testing.assert_array_equal(three[:, :2], two)


def test_members_of_a_clip_and_clips_differ(predict: Predict):
    found = predict(samples=3).reshape(21, -1)
    assert len({row.tobytes() for row in found}) == 21


def test_batches_have_no_influence_on_what_is_drawn(predict: Predict):
    np.testing.assert_allclose(
        predict(samples=2, batch_size=1), predict(samples=2, batch_size=7), rtol=1e-4
    )


def test_one_sample_is_drawn_as_before_there_were_several(trained, make_job):
    """The noise of the first member: from the sampler's seed and the frames alone."""
    model = create(make_job(*trained, **MCVD).recipe)
    frames = torch.rand(2, 2, 2, 4, 6)
    with torch.inference_mode():
        torch.testing.assert_close(model(frames, 3), model(frames, 3, member=0), rtol=0, atol=0)
        assert not torch.equal(model(frames, 3), model(frames, 3, member=1))


def test_several_forecasts_of_a_model_without_randomness_are_refused(make_data, make_job):
    with pytest.raises(StpError, match=r"samples is 5[\s\S]*is_sampled"):
        run(make_job(make_data(), predict={"samples": 5}))


def test_the_configuration_knows_which_models_draw_their_forecasts():
    for path in (CONFIG_FOLDER / "models").glob("*.yaml"):
        facts = yaml.safe_load(path.read_text())
        if facts.get("kind") == "tracks":  # of any predictor of people, samples can be drawn
            assert facts["is_sampled"], path.stem
            continue
        if facts.get("kind") == "opinions":  # measures draw nothing
            assert "is_sampled" not in facts, path.stem
            continue
        if facts["fit"] == "read":  # nothing is drawn: members lie in an archive
            continue
        module = __import__(f"stp.models.{path.stem}", fromlist=["Model"])
        is_sampled = getattr(module.Model, "is_sampled", False)
        assert facts.get("is_sampled", False) == is_sampled, path.stem


def test_they_are_scored_as_an_ensemble_and_by_a_statistic(trained, make_job, tmp_path):
    """The best of three is at least as good as each, and their mean lies between."""
    values = {}
    for samples, statistic in ((1, None), (3, "mean_of_members"), (3, "best_of_members")):
        predicted = make_job(*trained, **MCVD, predict={"samples": samples})
        run(predicted)
        recipe = {
            "cell": {**dict.fromkeys(CELL, "x"), "seed": 0},
            "conventions": defined("mse.pixel_mean", "crps.fair", "spread.pooled"),
            **({"statistic": statistic} if statistic else {}),
            "higher_is_better": {"mse.pixel_mean": False},
        }
        out = tmp_path / f"scores{samples}{statistic}"
        out.mkdir()
        inputs = {"data": trained[0], "predictions": predicted.out}
        job = Job(recipe, inputs, out, tmp_path / "nothing")
        values[samples, statistic] = score(job)["values"]
    one, mean, best = values.values()
    assert best["mse.pixel_mean"] < min(one["mse.pixel_mean"], mean["mse.pixel_mean"])
    assert one["spread.pooled"] is None and mean["spread.pooled"] == best["spread.pooled"] > 0
    assert mean["crps.fair"] == best["crps.fair"] < one["crps.fair"]


CELL = ("suite", "dimension", "model", "variant", "trained_on", "train_subset", "tested_on",
        "subset", "setting")  # fmt: skip
