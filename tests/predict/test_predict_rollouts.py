"""Forecasts that are scored while they are made: the same scores as those of stored predictions."""

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import xarray as xr
from conventions import defined
from kills import contents, run_until_it_ends
from test_predict_samples import CELL, MCVD

from stp.core.job import Interrupted, Job
from stp.predict.forecasts import Forecasts
from stp.predict.run import run as predict
from stp.score.rollout import run as roll_out
from stp.score.run import run as score

CONVLSTM = {"model": "convlstm", "options": {"num_hidden": [3], "filter_size": 3, "patch_size": 2}}
PLAIN = {"model": "persistence", "options": {}}
FILES = ("scores.parquet", "sample_scores.parquet", "cluster_sums.parquet")
# rmse.pooled and psnr.pooled finish sums; spectral_power keeps no samples
CONVENTIONS = ["mae.pixel_mean", "mse.pixel_sum", "rmse.pooled", "spectral_power.fine_detail"]
Both = Callable[..., tuple[Path, Job]]


@pytest.fixture(scope="module")
def scored() -> dict[str, tuple[Path, Job, dict[str, Any]]]:
    """Of each model and its options: scores, the job that predicts, the recipe of the scores."""
    return {}


@pytest.fixture
def both(tmp_path, make_data, make_trained, make_job, scored) -> Both:
    """Scores of stored predictions of a model, and the job that scores its rollout."""

    def stored(what: dict[str, Any], more: dict[str, Any]) -> tuple[Path, Job, dict[str, Any]]:
        data, trained = (make_data(), None) if what is PLAIN else make_trained(what)
        job = make_job(data, trained, **{**what, **more})
        if more.get("per_lead"):
            job.inputs.update({f"model-lead-{lead}": trained for lead in more["leads"]})
        predict(job)
        recipe = {
            "cell": {**dict.fromkeys(CELL, "x"), "seed": 0},
            "conventions": defined(*CONVENTIONS),
            "bootstrap": {"resamples": 100},
        }
        if job.recipe["predict"].get("samples", 1) > 1:
            recipe |= {"statistic": "mean_of_members"}
            recipe["conventions"] = defined(*CONVENTIONS, "crps.fair")
        out = tmp_path / "stored"
        out.mkdir()
        inputs = {"data": data, "predictions": job.out}
        score(Job(recipe, inputs, out, tmp_path / "state-of-stored"))
        return out, job, recipe

    def make(what: dict[str, Any], keep: int = 3, **more: Any) -> tuple[Path, Job]:
        key = repr((what, more))
        if key not in scored:
            scored[key] = stored(what, more)
        out, job, recipe = scored[key]
        recipe = {**recipe, "rollout": job.recipe, "keep": keep}
        (tmp_path / "rolled").mkdir()
        inputs = {name: path for name, path in job.inputs.items() if path}
        rolled = Job(
            recipe,
            inputs,
            tmp_path / "rolled",
            tmp_path / "state",
            {"device": "cpu", "block_samples": 2},
        )
        (tmp_path / "predicted").symlink_to(job.out)
        return out, rolled

    return make


def assert_same(one: Path, other: Path) -> None:
    """The three files hold the same bits."""
    for name in FILES:
        assert pq.read_table(one / name).equals(pq.read_table(other / name)), name


@pytest.mark.parametrize(
    ("what", "more"),
    [
        (PLAIN, {}),
        (CONVLSTM, {}),
        (CONVLSTM, {"lead_times": 2, "predict": {"batch_size": 4, "threads": 2}}),
        (MCVD, {"predict": {"batch_size": 3, "samples": 2}}),
    ],
)
def test_scores_are_those_of_stored_predictions_to_the_last_bit(both: Both, what, more):
    stored, job = both(what, **more)
    extras = roll_out(job)
    assert_same(stored, job.out)
    assert (extras["samples"], extras["kept"], extras["device"]) == (7, 3, "cpu")


@pytest.mark.parametrize("more", [{}, {"interpolated": True}], ids=["direct", "interpolated"])
def test_some_lead_times_are_scored_and_kept_as_those_that_are_stored(both: Both, tmp_path, more):
    stored, job = both(CONVLSTM, leads=[1, 3], per_lead=True, **more)
    roll_out(job)
    assert_same(stored, job.out)
    whole, kept = (
        xr.open_zarr(folder / "predictions.zarr", consolidated=False)
        for folder in (tmp_path / "predicted", job.out)
    )
    assert kept.lead.values.tolist() == ([1, 2, 3] if more else [1, 3])
    xr.testing.assert_identical(kept, whole.isel(sample=[0, 2, 4]))


@pytest.mark.parametrize("block", [1, 5])
def test_blocks_have_no_influence(both: Both, block: int):
    """Forecasts come in batches of 3, whatever is asked for at a time."""
    stored, job = both(CONVLSTM)
    roll_out(replace(job, runtime={**job.runtime, "block_samples": block}))
    assert_same(stored, job.out)


def test_each_forecast_is_made_once(both: Both, monkeypatch):
    made: list[int] = []
    of = Forecasts.of

    def counted(self: Forecasts, rows: np.ndarray) -> np.ndarray:
        made.extend(rows.tolist())
        return of(self, rows)

    _, job = both(CONVLSTM)
    monkeypatch.setattr(Forecasts, "of", counted)
    roll_out(job)
    assert made == list(range(7))


def test_a_few_are_stored_as_predictions_are(both: Both, tmp_path):
    _, job = both(CONVLSTM)
    roll_out(job)
    stored, kept = (
        xr.open_zarr(folder / "predictions.zarr", consolidated=False)
        for folder in (tmp_path / "predicted", job.out)
    )
    assert kept.sample.values.tolist() == [0, 2, 4]  # evenly spread over 7
    xr.testing.assert_identical(kept, stored.isel(sample=[0, 2, 4]))
    index = pd.read_parquet(job.out / "index.parquet")
    assert index["sample"].tolist() == [0, 2, 4]
    everything = pd.read_parquet(tmp_path / "predicted" / "index.parquet")
    assert index["clip"].tolist() == everything["clip"][[0, 2, 4]].tolist()


def test_more_than_there_are_is_all_and_none_is_none(both: Both):
    _, job = both(PLAIN, keep=100)
    assert roll_out(job)["kept"] == 7
    recipe = {key: value for key, value in job.recipe.items() if key != "keep"}
    out = job.out.with_name("without")
    out.mkdir()
    assert roll_out(replace(job, recipe=recipe, out=out))["kept"] == 0
    assert sorted(path.name for path in out.iterdir()) == sorted(FILES)


class Killed(BaseException):
    """Stands for the end of the process."""


def killed_at(sample: int) -> Callable[[str, int, int], None]:
    def report(what: str, done: int, total: int) -> None:
        if done >= sample:
            raise Killed

    return report


def again(job: Job, name: str, **more: Any) -> Job:
    """The same job with an empty folder to write to, as the runner makes them."""
    out = job.out.with_name(name)
    out.mkdir()
    return replace(job, out=out, **more)


@pytest.mark.parametrize("what", [CONVLSTM, MCVD])
def test_a_killed_rollout_goes_on_to_the_same_bits(both: Both, monkeypatch, what, tmp_path):
    stored, job = both(what)
    job = replace(job, runtime={**job.runtime, "checkpoint_every_s": 0})
    with pytest.raises(Killed):
        roll_out(again(job, "first", report=killed_at(2)))
    with pytest.raises(Killed):
        roll_out(again(job, "second", report=killed_at(4)))
    batches: list[int] = []
    of = Forecasts.of
    monkeypatch.setattr(
        Forecasts, "of", lambda self, rows: (batches.append(int(rows[0])), of(self, rows))[1]
    )
    roll_out(job)
    # sample 4 lies in the batch of 3, 4, 5; forecasts of 0..2 are not made again, kept ones neither
    assert batches == [3, 6]
    assert_same(stored, job.out)
    kept = xr.open_zarr(job.out / "predictions.zarr", consolidated=False)
    predicted = xr.open_zarr(tmp_path / "predicted" / "predictions.zarr", consolidated=False)
    xr.testing.assert_identical(kept, predicted.isel(sample=[0, 2, 4]))


def test_a_rollout_that_is_asked_to_stop_saves_its_state(both: Both):
    stored, job = both(CONVLSTM)
    with pytest.raises(Interrupted, match="2 of 7 samples"):
        roll_out(again(job, "first", interrupted=lambda: True))
    reported: list[int] = []
    roll_out(replace(job, report=lambda what, done, total: reported.append(done)))
    assert reported[0] == 4
    assert_same(stored, job.out)


@pytest.mark.parametrize("damage", ["truncated", "gone", "another recipe"])
def test_a_damaged_state_costs_what_came_after_it(both: Both, damage: str):
    stored, job = both(CONVLSTM)
    often = replace(job, runtime={**job.runtime, "checkpoint_every_s": 0})
    with pytest.raises(Killed):
        roll_out(again(often, "first", report=killed_at(6)))
    parts = sorted((job.state / "scored").glob("*.npz"))
    assert len(parts) == 3
    if damage == "truncated":
        parts[1].write_bytes(parts[1].read_bytes()[:-100])
    elif damage == "gone":
        parts[1].unlink()
    else:
        other = {**job.recipe, "bootstrap": {"resamples": 200}}
        with pytest.raises(Killed):
            roll_out(again(replace(often, recipe=other), "other", report=killed_at(2)))
    for path in (job.state / "kept").glob("*.npy"):
        path.unlink()  # made again
    first: list[int] = []
    roll_out(replace(job, report=lambda what, done, total: first.append(done)))
    assert first[0] == (2 if damage == "another recipe" else 4)
    assert_same(stored, job.out)
    assert len(pd.read_parquet(job.out / "index.parquet")) == 3


SIMVP = {
    "model": "simvpv2",
    "horizon": 1,  # goes on after each lead time
    "options": {"hid_s": 4, "hid_t": 8, "n_s": 2, "n_t": 2},
}


@pytest.mark.parametrize(("what", "leads"), [(CONVLSTM, 2), (SIMVP, 1), (SIMVP, 2)])
def test_blocks_of_lead_times_have_no_influence(both: Both, tmp_path, what, leads: int):
    stored, job = both(what)
    roll_out(replace(job, runtime={**job.runtime, "block_leads": leads}))
    assert_same(stored, job.out)
    kept = xr.open_zarr(job.out / "predictions.zarr", consolidated=False)
    predicted = xr.open_zarr(tmp_path / "predicted" / "predictions.zarr", consolidated=False)
    xr.testing.assert_identical(kept, predicted.isel(sample=[0, 2, 4]))


def test_a_model_that_makes_parts_is_never_asked_for_all(both: Both, monkeypatch):
    stored, job = both(SIMVP)
    made: list[tuple[int, ...]] = []
    parts_of = Forecasts.parts_of

    def counted(self: Forecasts, rows: np.ndarray):
        for part in parts_of(self, rows):
            made.append((int(rows[0]), part.shape[2]))
            yield part

    def refused(self: Forecasts, rows: np.ndarray) -> np.ndarray:
        raise AssertionError("all lead times at once")

    monkeypatch.setattr(Forecasts, "parts_of", counted)
    monkeypatch.setattr(Forecasts, "of", refused)
    roll_out(replace(job, runtime={**job.runtime, "block_leads": 1, "block_samples": 1}))
    # Batches of 3 samples, one lead time after the other; each is made once.
    assert made == [(first, 1) for first in (0, 3, 6) for _ in range(3)]
    assert_same(stored, job.out)


def test_a_killed_rollout_in_parts_goes_on_to_the_same_bits(both: Both, tmp_path):
    stored, job = both(SIMVP)
    job = replace(job, runtime={**job.runtime, "block_leads": 2, "checkpoint_every_s": 0})
    with pytest.raises(Killed):
        roll_out(again(job, "first", report=killed_at(3)))
    roll_out(job)
    assert_same(stored, job.out)
    kept = xr.open_zarr(job.out / "predictions.zarr", consolidated=False)
    predicted = xr.open_zarr(tmp_path / "predicted" / "predictions.zarr", consolidated=False)
    xr.testing.assert_identical(kept, predicted.isel(sample=[0, 2, 4]))


@pytest.mark.long(part="processes")
@pytest.mark.parametrize("what", [CONVLSTM, SIMVP])  # whole, and in parts
def test_a_rollout_that_is_killed_at_any_time_ends_in_the_same_bytes(both: Both, what):
    stored, job = both(what)
    job = replace(job, runtime={**job.runtime, "block_leads": 1, "checkpoint_every_s": 0})
    whole = again(job, "whole", state=job.state.with_name("state-of-whole"))
    roll_out(whole)
    numbers = count()
    out, killed = run_until_it_ends(lambda: again(job, f"killed{next(numbers)}"), roll_out)
    assert len(killed) >= 3
    assert_same(stored, out)
    expected, found = contents(whole.out), contents(out)
    assert found.keys() == expected.keys()
    assert [name for name in found if found[name] != expected[name]] == []
