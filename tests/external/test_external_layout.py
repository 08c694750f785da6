"""Forecasts that are reversed, rolled, transposed or one frame early, and those that are not."""

import numpy as np
import pytest
import xarray as xr
import yaml
import zarr
from elsewhere import forecast, returned

from stp.core.errors import StpError
from stp.external.layout import LayoutCheck
from stp.external.scoring import evaluate

LEADS = {"dots": 3, "field": 2}
CHANGES = {
    "upside down": lambda p: p[..., ::-1, :],
    "mirrored": lambda p: p[..., ::-1],
    "turned": lambda p: p[..., ::-1, ::-1],
    "rolled": lambda p: np.roll(p, p.shape[-1] // 2, axis=-1),
    "rolled and reversed": lambda p: np.roll(p, p.shape[-1] // 2, axis=-1)[..., ::-1, :],
}
OF_DOTS = {  # frames of dots are square and change much
    "lead times reversed": lambda p: p[:, ::-1],
    "transposed": lambda p: np.swapaxes(p, -1, -2),
    "turned by a quarter": lambda p: np.rot90(p, axes=(-2, -1)),
}
WRONG = [
    *((name, change) for name in LEADS for change in CHANGES),
    *(("dots", change) for change in OF_DOTS),
]


def truth_of(world, name):
    return np.load(world.folder / f"windows-{name}" / "windows.npz")["truth"]


@pytest.fixture
def submit(world, tmp_path):
    """Return predictions, with arrays beside them, and import them."""
    count = iter(range(100))

    def run(name, predictions, *, accept_layout=False, **arrays):
        folder = tmp_path / str(next(count))
        returned(world.folder / f"windows-{name}", folder, predictions, **arrays)
        return world.submit(folder, accept_layout=accept_layout)

    return run


@pytest.mark.parametrize(("name", "change"), WRONG)
def test_a_wrong_layout_is_refused_and_its_remedy_is_right(world, submit, name, change):
    mean = truth_of(world, name).mean(axis=(-1, -2), keepdims=True)
    good = 0.9 * truth_of(world, name) + 0.1 * mean  # a good forecast, not a perfect one
    predictions = (CHANGES | OF_DOTS)[change](good)
    with pytest.raises(StpError, match=r"predictions\.npz") as raised:
        submit(name, predictions)
    expression = raised.value.remedy.removeprefix("write ").partition(";")[0]
    undone = eval(expression, {"np": np, "predictions": predictions})
    np.testing.assert_array_equal(undone, good)


def test_a_wrong_layout_that_is_accepted_is_noted_in_the_file_of_the_model(world, submit):
    predictions = forecast(world.folder / "windows-dots", 3)[..., ::-1, :]
    with pytest.raises(StpError, match="--accept-layout"):
        submit("dots", predictions)
    done = submit("dots", predictions, accept_layout=True)
    (entry,) = yaml.safe_load(done.entry.read_text())["submissions"]
    assert "upside down" in entry["note"] and entry["note"] in done.warnings[-1]


def test_one_channel_upside_down_is_named(world, submit):
    predictions = truth_of(world, "field")
    predictions[:, :, 1] = predictions[:, :, 1, ::-1]
    with pytest.raises(StpError, match=r"u10 .*upside down"):
        submit("field", predictions)


@pytest.mark.parametrize("name", LEADS)
def test_forecasts_that_begin_with_the_last_context_frame_are_early(world, submit, name):
    latest, truth = forecast(world.folder / f"windows-{name}", 1), truth_of(world, name)
    early = np.concatenate([latest, truth[:, :-1]], axis=1)
    rounded = early + np.random.default_rng(0).uniform(-1e-4, 1e-4, early.shape).astype(np.float32)
    for predictions in (early, rounded):
        with pytest.raises(StpError, match=r"predictions\.npz: .*early"):
            submit(name, predictions)


def noise(truth, shape):
    """Noise of the standard deviation of each channel."""
    others = tuple(axis for axis in range(truth.ndim) if axis != truth.ndim - 3)
    return np.random.default_rng(0).normal(0, 1, shape) * truth.std(axis=others, keepdims=True)


RIGHT = {
    "persistence": lambda latest, truth: np.repeat(latest, truth.shape[1], axis=1),
    "nearly persistence": lambda latest, truth: latest + 1e-3 * (truth - latest),
    "damped persistence": lambda latest, truth: (
        latest
        + 0.2 * np.arange(1, truth.shape[1] + 1)[:, None, None, None] * (truth.mean() - latest)
    ),
    "nearly perfect": lambda latest, truth: 0.9 * truth + 0.1 * truth.mean((-1, -2), keepdims=True),
    "ensemble": lambda latest, truth: (
        truth[:, None] + noise(truth[:, None], (len(truth), 3, *truth.shape[1:]))
    ),
}


@pytest.mark.parametrize("name", LEADS)
@pytest.mark.parametrize("kind", RIGHT)
def test_bad_forecasts_in_the_right_layout_are_imported(world, submit, name, kind):
    latest = forecast(world.folder / f"windows-{name}", 1)
    done = submit(name, RIGHT[kind](latest, truth_of(world, name)).astype(np.float32))
    assert done.warnings == [] and done.submission.note == ""


# Scenes that neither dataset has


def mistake(forecasts, truth, latest):
    """The mistake in forecasts (N, T, C, H, W)."""
    shape = truth.shape[1:]
    check = LayoutCheck(len(truth), shape, [f"channel {c}" for c in range(shape[0])])
    check.add(0, forecasts[:, None], truth, latest)
    return check.mistake()


@pytest.fixture
def pictures():
    """Two frames that follow each other, of colours that differ, each (40, 3, 9, 12)."""
    random = np.random.default_rng(3)
    latest = random.random((40, 3, 9, 12)) * np.array([1, 0.5, 0.2])[:, None, None]
    return latest + random.normal(0, 0.02, latest.shape), latest


def test_reversed_colours_are_found(pictures):
    truth, latest = pictures
    assert "BGR" in mistake(truth[:, None, ::-1], truth, latest).what
    assert mistake(truth[:, None], truth, latest) is None
    grey = np.repeat(latest[:, :1], 3, axis=1)
    assert mistake(grey[:, None, ::-1], grey, grey) is None


def test_a_scene_that_is_mirrored_from_frame_to_frame_is_right(pictures):
    _, latest = pictures
    truth = latest[..., ::-1]  # as a pendulum is
    for forecasts in (truth, latest, (truth + latest) / 2):
        assert mistake(np.stack([forecasts, latest], axis=1), truth, latest) is None


def test_a_scene_that_stands_still_is_right(pictures):
    _, latest = pictures
    assert mistake(np.stack([latest, latest[..., ::-1]], axis=1), latest, latest) is None


def test_symmetric_scenes_tell_nothing(pictures):
    _, latest = pictures
    symmetric = latest + latest[..., ::-1]
    off = symmetric + np.linspace(0, 0.005, 12)
    assert mistake(off[:, None, :, :, ::-1], off, off) is None


def test_a_layout_is_told_from_a_few_samples_and_missing_values(pictures):
    truth, latest = (frames.copy() for frames in pictures)
    truth[..., :4], latest[..., :4] = np.nan, np.nan
    forecasts = np.nan_to_num(truth)[:, None, :, ::-1]
    assert "upside down" in mistake(forecasts, truth, latest).what
    assert mistake(forecasts[:2], truth[:2], latest[:2]) is None
    truth[:, 1], latest[:, 1] = np.nan, np.nan
    assert "upside down" in mistake(forecasts, truth, latest).what


def test_scores_of_videos_note_a_wrong_layout(pictures):
    truth, latest = (np.clip(frames, 0, 1) for frames in pictures)
    true = np.stack([latest, truth, truth], axis=1)
    for predicted, named in ((true[..., ::-1, :], "upside down"), (true[..., ::-1], "mirrored")):
        for context in (0, 1):
            (score,) = evaluate(predicted, true, ["mse.pixel_mean"], context=context)
            assert named in score.note
    early = np.stack([latest, latest, truth], axis=1)
    (score,) = evaluate(early, true, ["mse.pixel_mean"], context=1)
    assert "early" in score.note


# Coordinates decide


@pytest.mark.parametrize(
    ("change", "name", "remedy"),
    [
        ({"lat": lambda lat: lat[::-1]}, "lat", "[..., ::-1, :]"),
        ({"latitude": lambda lat: lat[::-1]}, "lat", "[..., ::-1, :]"),
        ({"lon": lambda lon: lon - 180}, "lon", "np.roll(predictions, 4, axis=-1)"),
        ({"lon": lambda lon: np.roll(lon, 3)}, "lon", "np.roll(predictions, 5, axis=-1)"),
        ({"variable": lambda names: names[::-1]}, "variable", "[..., ::-1, :, :]"),
        ({"lat": lambda lat: lat + 5}, "lat", "state"),
        ({"lead": lambda lead: lead - 1}, "lead", "state"),
    ],
    ids=["reversed", "other name", "from -180", "rolled", "variables", "shifted", "lead"],
)
def test_other_coordinates_are_refused(world, submit, change, name, remedy):
    stored = np.load(world.folder / "windows-field" / "windows.npz")
    ((alias, function),) = change.items()
    beside = {alias: function(stored[name])}
    with pytest.raises(StpError, match=rf"predictions\.npz: {name} ") as raised:
        submit("field", stored["truth"], **beside)
    assert remedy in raised.value.remedy
    assert submit("field", stored["truth"], accept_layout=True, **beside).submission.note


def test_equal_coordinates_are_accepted(world, submit):
    stored = np.load(world.folder / "windows-field" / "windows.npz")
    good = forecast(world.folder / "windows-field", 2)
    beside = {"latitude": stored["lat"].astype(np.float32), "variable": stored["variable"]}
    beside["lon"] = (stored["lon"] + 180) % 360 - 180  # the same meridians in the same order
    assert submit("field", good, **beside, lead=stored["lead"]).submission.note == ""


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_predictions_that_xarray_sorted_are_refused(world, submit, tmp_path, zarr_format):
    stored = np.load(world.folder / "windows-field" / "windows.npz")
    dims = ("sample", "lead", "channel", "lat", "lon")
    beside = {name: stored[name] for name in ("lat", "lon")}
    good = forecast(world.folder / "windows-field", 2)
    predictions = xr.Dataset({"predictions": (dims, good)}, beside)
    folder = returned(world.folder / "windows-field", tmp_path / "a", good)
    (folder / "predictions.npz").unlink()
    options = {"zarr_format": zarr_format, "consolidated": False, "mode": "w"}
    predictions.to_zarr(folder / "predictions.zarr", **options)
    assert world.submit(folder).submission.note == ""
    predictions.sortby("lat").to_zarr(folder / "predictions.zarr", **options)
    with pytest.raises(StpError, match=r"predictions\.zarr: lat .*10\.0, 20\.0"):
        world.submit(folder)


def test_dimensions_in_another_order_are_refused(world, tmp_path):
    truth = truth_of(world, "dots")
    folder = returned(world.folder / "windows-dots", tmp_path / "a", truth)
    (folder / "predictions.npz").unlink()
    names = ["sample", "lead", "channel", "x", "y"]
    zarr.create_array(folder / "predictions.zarr", data=truth, dimension_names=names)
    with pytest.raises(StpError, match=r"predictions\.zarr: .*channel, x, y"):
        world.submit(folder)
