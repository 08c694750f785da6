"""Futures of somebody's own frames and tracks, and the door for notebooks."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
import torch
import xarray as xr
import zarr
from own_data import video
from typer.testing import CliRunner

import stp
from stp.cli import app
from stp.core.errors import StpError
from stp.forecast import frames, tracks, write
from stp.forecast.frames import FrameModel
from stp.models import weights
from stp.models.create import create
from stp.models.normalisation import Normalisation
from stp.plan.checked_config import CONFIG_FOLDER
from stp.prepare.own import videos

CONTEXT, HORIZON, SHAPE = 3, 2, (1, 8, 12)
RECIPE: dict[str, Any] = {
    "model": "convlstm",
    "options": {"num_hidden": [4], "patch_size": 2},
    "shape": list(SHAPE),
    "context": CONTEXT,
    "horizon": HORIZON,
}
CONSTANTS = Normalisation(280.0, 10.0)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, torch.nn.Module]:
    """The folder of a model with weights of chance, and its network."""
    folder = tmp_path_factory.mktemp("model")
    torch.manual_seed(0)
    network = create(RECIPE).eval()
    weights.save(folder / "model.pt", network.state_dict(), {**RECIPE, "seed": 0}, CONSTANTS)
    return folder, network


def test_a_trained_model_forecasts_in_the_units_of_its_data(
    trained: tuple[Path, torch.nn.Module],
) -> None:
    folder, network = trained
    given = np.random.default_rng(0).normal(285, 5, (2, CONTEXT, *SHAPE)).astype(np.float32)
    with torch.inference_mode():
        normal = network((torch.from_numpy(given) - 280) / 10, HORIZON)
    expected = (normal * 10 + 280).numpy()
    for what in (folder, folder / "model.pt"):
        model = stp.load_model(what)
        assert isinstance(model, FrameModel) and model.horizon == HORIZON
        found = model.forecast(given, device="cpu")
        np.testing.assert_allclose(found[:, 0], expected, rtol=1e-5)
    # Of more frames the last ones count; other lead times are asked for.
    longer = np.concatenate([given[:, :1] + 9, given], axis=1)
    again = model.forecast(longer, 1, device="cpu")
    np.testing.assert_allclose(again[:, 0], expected[:, :1], rtol=1e-5)


@pytest.mark.parametrize(
    ("shape", "more", "expected"),
    [
        ((2, 8, 8), {}, "frames of shape"),
        ((1, 8, 12), {"samples": 2}, "all would be the same"),
        ((1, 8, 12), {"frames": 2}, "2 frames"),
        ((1, 8, 12), {"value": np.nan}, "not finite"),
    ],
)
def test_frames_that_do_not_suit_a_model_are_refused(
    trained: tuple[Path, torch.nn.Module], shape: tuple[int, ...], more: Any, expected: str
) -> None:
    model = stp.load_model(trained[0])
    assert isinstance(model, FrameModel)
    given = np.full((more.get("frames", CONTEXT), *shape), more.get("value", 1.0))
    with pytest.raises(StpError, match=expected):
        model.forecast(given, samples=more.get("samples", 1))


def test_videos_are_read_as_they_are_prepared(tmp_path: Path) -> None:
    video(tmp_path / "a.mkv", [10, 20, 30, 40, 50])
    video(tmp_path / "b.mkv", [60, 70, 80])
    model = FrameModel("any", {"shape": [1, 8, 12], "context": 3})
    found = frames.read(tmp_path, model)
    assert [Path(name).name for name in found.names] == ["a.mkv", "b.mkv"]
    assert found.is_picture and found.seconds == pytest.approx(1 / 12)
    levels = found.frames.mean(axis=(2, 3, 4)) * 255
    np.testing.assert_allclose(levels, [[30, 40, 50], [60, 70, 80]], atol=1.5)
    with pytest.raises(StpError, match="3 frames without a gap"):
        frames.read(tmp_path, FrameModel("any", {"shape": [1, 8, 12], "context": 4}))


def test_a_video_does_not_end_in_copies_of_its_last_frame(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some formats have packets without frames."""
    video(tmp_path / "a.avi", [40, 60, 80, 100])
    probe = videos.probe

    def more(path: Path) -> tuple[list[Any], Any]:
        stamps, rate = probe(path)
        return [*stamps, 4, 5], rate

    monkeypatch.setattr(videos, "probe", more)
    with pytest.raises(StpError, match=r"a\.avi: 2 of its last 3 frames do not exist"):
        frames.read(tmp_path / "a.avi", FrameModel("any", {"shape": [1, 8, 12], "context": 3}))


def test_a_forecast_of_arrays_as_zarr_picture_and_movie(tmp_path: Path) -> None:
    values = np.random.default_rng(1).normal(280, 5, (12, 8, 12)).astype(np.float32)
    np.save(tmp_path / "field.npy", values)
    out = tmp_path / "out"
    for _ in range(2):  # the second one replaces the first
        done = CliRunner().invoke(
            app,
            f"forecast persistence {tmp_path}/field.npy --leads 2 --out {out}".split(),
        )
        assert done.exit_code == 0, done.exception or done.output
    stored = zarr.open_group(out / "predictions.zarr", mode="r")
    predicted = np.asarray(stored["predictions"])
    assert predicted.shape == (1, 2, 1, 8, 12)
    np.testing.assert_array_equal(predicted[0, :, 0], [values[-1], values[-1]])
    assert stored.attrs["model"] == "persistence" and stored.attrs["clips"] == ["field.npy"]
    assert (out / "forecast.png").stat().st_size > 1000
    with av.open(str(out / "forecast.mp4")) as movie:
        # what is shown, and what follows
        assert sum(1 for _ in movie.decode(video=0)) == frames.CONTEXT + 2


def test_a_lone_far_value_is_refused_unless_it_is_declared(tmp_path: Path) -> None:
    values = np.random.default_rng(1).normal(280, 5, (12, 8, 12)).astype(np.float32)
    values[11, 2, 3] = -9999
    np.save(tmp_path / "field.npy", values)
    model = FrameModel("any", {"shape": [1, 8, 12], "context": 3})
    with pytest.raises(StpError, match=r"field\.npy: channel 0 has the value -9999"):
        frames.read(tmp_path / "field.npy", model)


def test_people_go_on_as_they_walk(tmp_path: Path) -> None:
    # Annotations at 2.5 a second. Person 3 comes late, person 4 is gone at the end.
    rows = [
        (frame, person, 0.5 * frame / 10 + person, 2.0 * person)
        for frame in range(0, 120, 10)
        for person in (1, 2, 3, 4)
        if (person != 3 or frame >= 100) and (person != 4 or frame < 60)
    ]
    text = "\n".join(["frame,id,x,y", *(",".join(map(str, row)) for row in rows)])
    (tmp_path / "hall.csv").write_text(text + "\n")
    crowd = tracks.read(tmp_path / "hall.csv", 8, fps=25)
    assert crowd.person.tolist() == [1, 2] and crowd.left_out == 1
    assert crowd.dt == pytest.approx(0.4)
    out = tmp_path / "out"
    done = CliRunner().invoke(
        app,
        f"forecast constant_velocity {tmp_path}/hall.csv --fps 25 --leads 3 --out {out}".split(),
    )
    assert done.exit_code == 0, done.exception or done.output
    assert "1 people" in done.output
    stored = zarr.open_group(out / "predictions.zarr", mode="r")
    assert np.asarray(stored["person"]).tolist() == [1, 2]
    predicted = np.asarray(stored["predictions"])
    last = np.array([[6.5, 2.0], [7.5, 4.0]])
    expected = last[:, None] + np.array([0.5, 0]) * np.arange(1, 4)[:, None]
    np.testing.assert_allclose(predicted, expected[None], atol=1e-6)
    assert (out / "forecast.png").is_file() and (out / "forecast.mp4").is_file()


def test_a_forecast_of_people_has_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the store; the test above draws people."""
    rows = [
        f"{frame},{name},{0.05 * frame},{number}"
        for frame in range(0, 100, 10)
        for number, name in enumerate(("p-17", "anna"))
    ]
    (tmp_path / "hall.csv").write_text("\n".join(["frame,id,x,y", *rows]) + "\n")
    crowd = tracks.read(tmp_path / "hall.csv", 8, fps=25)
    assert crowd.names == ["anna", "p-17"]
    forecast = np.zeros((1, 2, 3, 2))
    monkeypatch.setattr(write.people, "write", lambda scene, path: None)
    write.tracks(tmp_path / "out", crowd, forecast, "constant_velocity")
    with xr.open_zarr(tmp_path / "out" / "predictions.zarr", consolidated=False) as stored:
        assert stored["predictions"].sel(person="anna").shape == (1, 3, 2)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("convlstmm", r"no file(.|\n)*did you mean convlstm"),
        ("convlstm/kth", r"is not done(.|\n)*stp train convlstm kth"),
        ("convlstm", r"[2-9] trainings of .*demo"),
        ("social_force", "no trainings of"),
    ],
)
def test_a_model_that_is_not_there(
    model: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STP_STORE_DIR", str(tmp_path))
    with pytest.raises(StpError, match=expected):
        stp.load_model(model)
    with pytest.raises(StpError, match="is no trained model"):
        path = tmp_path / "notes.pt"
        path.write_text("no weights")
        stp.load_model(path)


# The door for notebooks


def test_prepared_clips_come_as_xarray(tmp_path: Path) -> None:
    from test_data_prepared import ATTRS, prepare

    shown = prepare(tmp_path, attrs={**ATTRS, "units": "1", "fps": 25})
    clips = stp.load_data(tmp_path, "train")
    assert clips.dims == ("sample", "step", "channel", "y", "x")
    assert clips["step"].values.tolist() == [-1, 0, 1]
    assert clips["clip"].values.tolist() == ["a", "b"] and "fps" not in clips.attrs  # two strides
    assert stp.load_data(tmp_path, "train", most=1).attrs["fps"] == 25
    np.testing.assert_allclose(clips[1] * 255, shown[[5, 8, 11]], rtol=1e-6)
    assert len(stp.load_data(tmp_path, "train", most=1)) == 1
    with pytest.raises(StpError, match="there is no split 'tests'"):
        stp.load_data(tmp_path, "tests")


def test_data_that_are_not_prepared_or_no_frames(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STP_STORE_DIR", str(tmp_path))
    with pytest.raises(StpError, match=r"not prepared(.|\n)*stp prepare kth"):
        stp.load_data("kth")
    with pytest.raises(StpError, match="a dataset of frames"):
        stp.load_data("atlas_eth", configfile=CONFIG_FOLDER / "atlas-demo.yaml")
    with pytest.raises(StpError, match="no such database"):
        stp.open_store(tmp_path / "results.duckdb")


def test_the_door_imports_nothing_before_it_is_used() -> None:
    heavy = "torch", "numpy", "duckdb", "xarray", "stp.plan"
    code = f"import sys, stp; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
