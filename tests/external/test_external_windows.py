"""`stp external windows`: exactly what is tested, in every format, and what it is known by."""

import json

import av
import numpy as np
import pandas as pd
import pytest
import xarray as xr
import zarr

from stp.core.errors import StpError
from stp.data.prepared import Prepared
from stp.external.evaluation import choose
from stp.external.readme import readme
from stp.external.windows import export
from stp.plan.cells import Plan
from stp.predict.windows import window_checksum, windows_checksum


def clips(world, name):
    return Prepared(world.plan().store / world.plan().data(name).folder).clips("test")


@pytest.mark.parametrize("kind", ["zarr", "npz"])
@pytest.mark.parametrize("name", ["dots", "field"])
def test_windows_are_those_that_are_tested(world, tmp_path, monkeypatch, name, kind):
    monkeypatch.setattr("stp.external.windows.BLOCK_BYTES", 20_000)  # several blocks
    out = world.export(name, tmp_path / "w", kind=kind, with_truth=True)
    tested = clips(world, name)
    context = tested.prepared.context
    truth = tested.read(range(len(tested)))
    found = zarr.open(str(out / "windows.zarr"), mode="r") if kind == "zarr" else np.load(
        out / "windows.npz"
    )  # fmt: skip
    np.testing.assert_array_equal(found["context"][...], truth[:, :context])
    np.testing.assert_array_equal(found["truth"][...], truth[:, context:])
    assert sorted(p.name for p in out.iterdir()) == [
        "README.md", "index.csv", "windows.json", f"windows.{kind}"
    ]  # fmt: skip


def test_the_description_says_all_that_is_needed(world):
    described = json.loads((world.folder / "windows-field" / "windows.json").read_text())
    tested = clips(world, "field")
    frames = tested.read(range(len(tested)), length=2)
    assert described["evaluation"] == {
        "dimension": "short_term",
        "trained_on": "field",
        "train_subset": "all",
        "tested_on": "field",
        "subset": "test",
        "setting": "horizon-2",
    }
    assert described["samples"] == len(tested) and described["variables"] == ["t2m", "u10"]
    assert described["data"]["fingerprint"] == world.plan().data("field").fingerprint
    np.testing.assert_allclose(described["values"]["mean"], frames.mean((0, 1, 3, 4)), rtol=1e-5)
    np.testing.assert_allclose(described["values"]["std"], frames.std((0, 1, 3, 4)), rtol=1e-5)
    np.testing.assert_allclose(described["values"]["high"], frames.max((0, 1, 3, 4)), rtol=1e-6)
    assert described["normalisation"] == tested.prepared.attrs["normalisation"]


def test_the_readme_states_an_interval_only_if_frames_are_left_out(world, tmp_path):
    description = json.loads((world.folder / "windows-field" / "windows.json").read_text())
    assert description["interval"] == 1
    assert "every 2 frames" not in readme(description, "npz")
    assert "every 2 frames" in readme({**description, "interval": 2}, "npz")


def test_the_index_has_clips_times_and_checksums(world):
    folder = world.folder / "windows-field"
    index = pd.read_csv(folder / "index.csv")
    context = np.load(folder / "windows.npz")["context"]
    assert index["sample"].tolist() == list(range(len(context)))
    assert index["clip"].tolist() == clips(world, "field").index["clip"].tolist()
    # 6-hourly from 2020-01-01; the time is that of the second, the latest context frame
    first = np.datetime64("2020-01-01") + (index["start"].to_numpy() + 1) * np.timedelta64(6, "h")
    np.testing.assert_array_equal(pd.to_datetime(index["time"]).to_numpy(), first)
    assert index["window"].tolist() == [window_checksum(one) for one in context]
    wanted = json.loads((folder / "windows.json").read_text())["index_sha256"]
    assert windows_checksum(zip(index["clip"], index["window"], strict=True)) == wanted


def test_zarr_opens_in_xarray_with_its_coordinates(world, tmp_path):
    world.export("field", tmp_path / "w")
    found = xr.open_zarr(tmp_path / "w" / "windows.zarr", consolidated=False, chunks=None)
    assert found["context"].dims == ("sample", "time", "channel", "y", "x")
    assert found["time"].values.tolist() == [-1, 0]
    np.testing.assert_allclose(found["lat"], np.linspace(60, 10, 6))
    assert "truth" not in found


def test_videos_differ_by_less_than_is_said(world, tmp_path):
    out = world.export("dots", tmp_path / "w", kind="mp4")
    context = np.load(world.folder / "windows-dots" / "windows.npz")["context"]
    assert "LOSSY" in (out / "README.md").read_text()
    for sample, clip in enumerate(context):
        with av.open(str(out / "context" / f"{sample:06d}.mp4")) as file:
            frames = [frame.to_ndarray(format="rgb24") for frame in file.decode(video=0)]
        assert np.abs(np.stack(frames)[..., 0] / 255 - clip[:, 0]).max() <= 3.5 / 255


def test_fields_are_no_video(world, tmp_path):
    with pytest.raises(StpError, match="MP4"):
        world.export("field", tmp_path / "w", kind="mp4")
    assert not any(tmp_path.iterdir())


def test_windows_at_an_interval_take_every_other_frame(world, tmp_path):
    out = world.export("dots", tmp_path / "w", dimension="robustness", kind="npz", with_truth=True)
    found = np.load(out / "windows.npz")
    frames = clips(world, "dots").read(range(12), length=11)
    np.testing.assert_array_equal(found["context"], frames[:, 0:8:2])
    np.testing.assert_array_equal(found["truth"], frames[:, 8:9])
    with pytest.raises(StpError, match=r"6 [\s\S]*4 [\s\S]*3 "):
        changes = {"horizon": 3, "interval": 2}
        cells = [{"trained_on": "dots", "setting": changes}]
        plan = world.config(dimensions={"robustness": {"models": [], "cells": cells}})
        export(Plan(plan), choose(plan, "dots", **changes), tmp_path / "v")


def test_validation_windows_are_for_training_only(world, tmp_path):
    out = world.export("dots", tmp_path / "w", subset="val", with_truth=True)
    assert "for training" in (out / "README.md").read_text()
    with pytest.raises(StpError, match=r"val .*dots"):
        world.submit(out)


def test_data_that_are_not_prepared_say_how(world, tmp_path, monkeypatch):
    monkeypatch.setenv("STP_STORE_DIR", str(tmp_path / "empty"))
    with pytest.raises(StpError, match="stp prepare dots"):
        world.export("dots", tmp_path / "w")


def test_a_folder_is_never_replaced_and_never_half_written(world, tmp_path, monkeypatch):
    (tmp_path / "w").mkdir()
    with pytest.raises(StpError, match=str(tmp_path / "w")):
        world.export("dots", tmp_path / "w")
    (tmp_path / ".v.unfinished").mkdir()  # of an export that was killed
    (tmp_path / ".v.unfinished" / "rest").touch()
    world.export("dots", tmp_path / "v")
    assert not (tmp_path / "v" / "rest").exists()
    monkeypatch.setattr("stp.external.windows.readme", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        world.export("dots", tmp_path / "u")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["v", "w"]


def test_options_choose_one_evaluation_or_all_are_listed(world):
    loaded = world.config()
    chosen = choose(loaded, "dots", interval=2)
    assert (chosen.dimension, chosen.setting) == ("robustness", "horizon-1+interval-2")
    with pytest.raises(StpError, match=r"2 [\s\S]*--dimension robustness"):
        choose(loaded, "dots")
    with pytest.raises(StpError, match=r"--horizon 3"):
        choose(loaded, "dots", horizon=20)
    with pytest.raises(StpError, match="dots"):
        choose(loaded, "dot")
