"""Measures beside literal loops, and videos of four sizes through the reader."""

import csv
from importlib import import_module
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import zarr
from opinion_files import prepare

from stp.core.job import Job
from stp.datasets.pvqa.generator import SIZES, write_video
from stp.opinions import prepared, quality
from stp.opinions.measures import Unavailable, gradient_difference, resolution, video_mse
from stp.opinions.prepared import Database, Video
from stp.plan.cells import Plan
from stp.plan.checked_config import CONFIG_FOLDER
from stp.predict import opinions as predict

CONTEXT = 2


class Few(Database):
    """Three videos of two sizes in memory."""

    def videos(self):
        rng = np.random.default_rng(0)
        for shape in ((4, 3, 5, 3), (4, 3, 5, 3), (4, 6, 2, 3)):
            yield Video(*rng.integers(0, 256, (2, *shape), dtype=np.uint8))


def few(*has_truth: bool) -> Few:
    about = {"dataset": "A", "height": 200, "width": 200}
    rows = [{"video": str(n), "has_truth": known, **about} for n, known in enumerate(has_truth)]
    return Few(Path(), pa.Table.from_pylist(rows, prepared.OPINION_COLUMNS), CONTEXT)


def test_errors_and_gradient_differences_are_those_of_literal_loops():
    database = few(True, True, True)
    errors, gradients = [], []
    for video in database.videos():
        assert video.truth is not None
        squares, rows, columns = [], [], []
        x, y = video.predicted.astype(int), video.truth.astype(int)
        for t in range(CONTEXT, len(x)):
            for i, j, c in np.ndindex(x.shape[1:]):
                squares.append((x[t, i, j, c] - y[t, i, j, c]) ** 2)
                if i:
                    steps = (abs(one[t, i, j, c] - one[t, i - 1, j, c]) for one in (x, y))
                    rows.append(abs(np.subtract(*steps)))
                if j:
                    steps = (abs(one[t, i, j, c] - one[t, i, j - 1, c]) for one in (x, y))
                    columns.append(abs(np.subtract(*steps)))
        errors.append([np.mean(squares)])
        gradients.append([np.mean(rows) + np.mean(columns)])
    np.testing.assert_allclose(video_mse.values(database), errors, rtol=1e-5)
    np.testing.assert_allclose(gradient_difference.values(database), gradients, rtol=1e-5)


@pytest.mark.parametrize("measure", [video_mse, gradient_difference])
def test_without_all_true_futures_there_is_no_value(measure):
    actual = measure.values(few(True, False, True))
    assert actual == Unavailable("the true futures of 1 of 3 videos are missing")


def test_roles_say_which_measures_need_the_true_future():
    """As entries of config/models say, of which findings make who is compared."""
    models = Plan.load(CONFIG_FOLDER / "pvqa-demo.yaml").config.models
    measures = {name: about for name, about in models.items() if about.kind == "opinions"}
    for name, about in measures.items():
        if about.network is None:
            module = import_module(f"stp.opinions.measures.{name}")
            needs_truth = isinstance(module.values(few(False, False, False)), Unavailable)
        else:
            needs_truth = bool({"mse", "cosine", "lpips"} & set(about.predict["parts"]))
        assert (about.role == "full_reference") == needs_truth, name
    baselines = {name for name, about in measures.items() if about.role == "baseline"}
    assert baselines == {"mean_opinion", "source_dataset", "resolution", "sharpness"}


def clip(number: int) -> np.ndarray:
    """A ramp that moves, uint8 (T, H, W, 3); its size is that of every fourth video."""
    height, width = SIZES[number % 4]
    ramp = np.arange(width)[None, None] + 3 * np.arange(20)[:, None, None] + number
    frames = np.broadcast_to(ramp[..., None] % 256, (20, height, width, 3)).astype(np.uint8)
    return np.array(frames)


@pytest.mark.long(part="suites")
def test_videos_keep_their_size_and_resolution_is_the_mean_of_the_same_size(tmp_path: Path):
    folder = tmp_path / "raw" / "pvqa"
    names = [f"A_{number:03d}" for number in range(20)]
    for number, name in enumerate(names):
        for of, frames in (("Predicted", clip(number)), ("True", clip(number)[:, ::-1])):
            path = folder / f"{of}_Videos" / f"{name}.mp4"
            path.parent.mkdir(parents=True, exist_ok=True)
            write_video(path, frames)
    mos = [20 + 10 * (number % 4) + number // 4 for number in range(20)]
    with (folder / "MOS.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("Video Name", "MOS"), *zip(names, mos, strict=True)])
    out = tmp_path / "data"
    prepare(tmp_path / "raw", out)

    arrays = dict(zarr.open_group(str(out / prepared.VIDEOS), mode="r").arrays())
    sizes = [f"{height}x{width}" for height, width in SIZES]
    assert set(arrays) == {f"{of}_{size}" for of in ("predicted", "true") for size in sizes}
    assert {array.shape[0] for array in arrays.values()} == {5}
    database = prepared.open_database(out, 4)
    assert database.names == names
    for number, video in enumerate(database.videos()):
        np.testing.assert_array_equal(video.predicted, clip(number))
        np.testing.assert_array_equal(video.truth, clip(number)[:, ::-1])

    one_hot = resolution.values(database)
    assert one_hot.shape == (20, 4) and (one_hot.sum(axis=1) == 1).all()
    assert len({tuple(row) for row in one_hot[::4]}) == 1
    made = tmp_path / "made"
    made.mkdir()
    recipe = {"model": "resolution", "context": 4, "split": "random", "predict": {}}
    predict.run(Job(recipe, {"data": out}, made, made))
    rows = quality.read(made)[0].to_pylist()
    splits = dict(zip(*database.splits("random"), strict=True))
    for row in rows:
        number = names.index(row["video"])
        alike = [n for n in range(number % 4, 20, 4) if not splits[row["split"]][n]]
        assert row["predicted"] == pytest.approx(np.mean([mos[n] for n in alike]))
