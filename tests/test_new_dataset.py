"""`stp new-dataset`: from files to a draft, and from there to scores, for each kind of input."""

import re
import shutil
from pathlib import Path

import h5py
import numpy as np
import own_data as made
import pandas as pd
import pyarrow.parquet as pq
import pytest
import xarray as xr
import yaml
from PIL import Image
from typer.testing import CliRunner

from stp.cli import app
from stp.core.errors import StpError
from stp.core.lock import matches
from stp.data.prepared import Clips, Prepared
from stp.data.raw_files import UnlockedFiles
from stp.fetch import raw as raw_files
from stp.inspect import own_options
from stp.inspect.draft import draft_dataset
from stp.inspect.draft_text import dataset_text, scale_text
from stp.inspect.first_look import (
    FIELD_METRICS,
    PIXEL_METRICS,
    guess_axes,
    look_at_pictures,
    look_at_videos,
)
from stp.inspect.new_dataset import new_dataset
from stp.plan import config
from stp.plan.cells import Plan
from stp.plan.checked_config import CONFIG_FOLDER, in_order
from stp.plan.manifests import manifest
from stp.plan.model import Size
from stp.prepare.own.reader import KINDS, build_options
from stp.prepare.own.splits import assign_splits, cut_windows
from stp.profiling.size import size
from stp.render.pictures.prepared import units_of
from stp.run import runner
from stp.run.costs import brief
from stp.run.costs.estimate import Costs
from stp.run.costs.work import forecast_gmacs


def moving(count: int, frames: int, height: int = 16, width: int = 16) -> np.ndarray:
    """Bars that move to the right, each from another place: uint8 (count, frames, H, W)."""
    column = np.arange(width)
    at = np.arange(count)[:, None] * 5 + np.arange(frames)
    bright = (column - at[..., None]) % width < 4
    return np.broadcast_to(bright[:, :, None] * np.uint8(220), (count, frames, height, width))


def make_videos(folder: Path) -> Path:
    import av

    for i, frames in enumerate(moving(8, 16)):
        path = folder / "waves" / f"take {i}.mp4"
        path.parent.mkdir(exist_ok=True)
        with av.open(str(path), "w") as container:
            stream = container.add_stream("mpeg4", rate=10)
            stream.height, stream.width, stream.pix_fmt = 16, 16, "yuv420p"
            for frame in frames:
                picture = np.repeat(frame[..., None], 3, axis=2)
                container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
            container.mux(stream.encode(None))
    return folder / "waves"


def make_pictures(folder: Path) -> Path:
    for i, frames in enumerate(moving(8, 12)):
        part = "train" if i < 5 else "val" if i < 6 else "test"
        for k, frame in enumerate(frames):
            made.picture(folder / "Seq-2" / part / f"s{i}" / f"{k:04d}.png", frame)
    return folder / "Seq-2"


def make_npy(folder: Path) -> Path:
    np.save(folder / "bars.npy", moving(12, 10).transpose(1, 0, 2, 3))  # time first
    return folder / "bars.npy"


def make_npz(folder: Path) -> Path:
    values = moving(12, 10)[..., None].astype(np.float64) / 3
    np.savez_compressed(
        folder / "bars.npz", x_train=values[:8], x_valid=values[8:10], x_test=values[10:], about=7
    )
    return folder / "bars.npz"


def make_hdf5(folder: Path) -> Path:
    (folder / "h").mkdir()
    for i, frames in enumerate(moving(6, 12)):
        with h5py.File(folder / "h" / f"{i}.h5", "w") as file:
            file["images"] = np.stack([frames, frames // 2], axis=1)  # two channels
            file["times"] = np.arange(12)
    return folder / "h"


def make_netcdf(folder: Path) -> Path:
    made.grid(made.times("2000-01-01", 80), 16, 16).to_netcdf(folder / "field.nc")
    return folder / "field.nc"


def make_zarr(folder: Path) -> Path:
    made.grid(made.times("2000-01-01", 80), 16, 16).to_zarr(
        folder / "field.zarr", consolidated=False
    )
    return folder / "field.zarr"


MAKERS = {
    "videos": (make_videos, [3, 16, 16], {"by": "file"}),
    "pictures": (make_pictures, [1, 16, 16], {"by": "list", "val": ["Seq-2/val"]}),
    "npy": (make_npy, [1, 16, 16], {"by": "sequence"}),
    "npz": (make_npz, [1, 16, 16], {"by": "list", "test": ["bars.npz:x_test"]}),
    "hdf5": (make_hdf5, [2, 16, 16], {"by": "file"}),
    "netcdf": (make_netcdf, [3, 16, 16], {"by": "time", "train": ["2000-01-01", "2000-01-14"]}),
    "zarr": (make_zarr, [3, 16, 16], {"by": "time"}),
}


@pytest.fixture
def facts(tmp_path, monkeypatch) -> Path:
    """A copy of config/, and folders of its own."""
    for name, folder in (("STP_STORE_DIR", "store"), ("STP_RAW_DIR", "raw")):
        monkeypatch.setenv(name, str(tmp_path / folder))
    monkeypatch.delenv("STP_RAW_MIRROR", raising=False)
    shutil.copytree(CONFIG_FOLDER, tmp_path / "config")
    (tmp_path / "data").mkdir()
    return tmp_path / "config"


@pytest.mark.parametrize(
    "kind",
    [
        kind
        if kind in ("videos", "netcdf")
        else pytest.param(kind, marks=pytest.mark.long(part="own"))
        for kind in MAKERS
    ],
)
def test_from_files_to_scores(facts, tmp_path, monkeypatch, kind):
    """The draft is used as it is; nothing but the models is made smaller."""
    make, shape, splits = MAKERS[kind]
    printed = "\n".join(new_dataset(make(tmp_path / "data"), "mine", facts))
    assert "snakemake --profile local --configfile" in printed
    written = yaml.safe_load((facts / "datasets" / "mine.yaml").read_text())
    assert written["shape"] == shape
    assert {k: written["prepare"]["splits"][k] for k in splits} == splits

    scale = yaml.safe_load((facts / "mine.yaml").read_text())
    scale["dimensions"]["short_term"]["models"] = ["persistence", "simvpv2"]
    scale["models"]["simvpv2"]["options"] = {"hid_s": 4, "hid_t": 8, "n_s": 2, "n_t": 2}
    scale["train"] |= {"epochs": 1, "batch_size": 2, "max_clips": 4}
    scale["runtime"] = {"device": "cpu"}
    scale["bootstrap"] = {"resamples": 100}
    monkeypatch.setattr(config, "CONFIG_FOLDER", facts)
    plan = Plan(config.load(scale, facts))
    assert plan.raw_mirror == tmp_path / "data"
    runner.fetch(plan, plan.raw("mine"))
    for artefact in plan.artefacts.values():
        runner.make(plan, artefact)

    clips = {split: int(n) for split, n in re.findall(r"(\w+): (\d+) clips? in ", printed)}
    receipt = yaml.safe_load((plan.store / plan.data("mine").receipt).read_text())
    assert receipt["extras"]["clips"] == clips
    for made_cell in plan.cells:
        scores = pq.read_table(plan.store / made_cell.scores.folder / "scores.parquet").to_pylist()
        overall = {r["convention"]: r["value"] for r in scores
                   if r["lead"] is None and r["statistic"] == "mean"}  # fmt: skip
        assert set(overall) == {convention_of(column) for column in written["metrics"]}
        assert all(np.isfinite(value) for value in overall.values()), overall
    described = manifest(plan, "short_term")
    assert {cell.source for cell in described.cells} == {"own"}
    assert not any(cell.follows_paper for cell in described.cells)
    assert "mine" not in described.published_names.datasets
    columns = described.tables["short_term"].columns["mine"]
    assert [column.convention for column in columns] == list(map(convention_of, written["metrics"]))
    if kind == "netcdf":  # z500, z850 in m2 s-2, t2m in K: each is scored for itself
        assert written["metrics"][0]["convention"] == "wrmse.per_frame"
        rows = [r for r in scores if r["lead"] is None and r["statistic"] == "mean"]
        assert {r["variable"] for r in rows} == {m["variable"] for m in written["metrics"]}
        prepared = Prepared(plan.store / plan.data("mine").folder)
        assert sorted(units_of(prepared)) == ["K", "m2 s-2", "m2 s-2"]


@pytest.mark.parametrize(
    ("count", "test", "clusters"), [(40, 0.25, 10), (30, 0.33, 10), (12, 0.15, 2)]
)
def test_a_draft_leaves_enough_clusters_to_test_where_there_are(tmp_path, count, test, clusters):
    (tmp_path / "many").mkdir()
    for i in range(count):
        np.save(tmp_path / "many" / f"{i:02d}.npy", np.full((8, 8, 8), i, np.uint8))
    draft = draft_dataset(tmp_path / "many")
    assert draft.options["splits"]["test"] == test
    assert draft.clusters["test"] == clusters
    assert draft.clusters["train"] >= count // 2


def make_few(folder: Path) -> Path:
    (folder / "few").mkdir()
    for i in range(4):
        np.save(folder / "few" / f"{i}.npy", np.full((400, 8, 8), i, np.uint8))
    return folder / "few"


def make_months(folder: Path, count: int = 240) -> Path:
    when = pd.date_range("2000-01-01", periods=count, freq="MS").to_numpy()
    made.grid(when, 2, 2)[["t2m"]].to_netcdf(folder / "months.nc")
    return folder / "months.nc"


@pytest.mark.parametrize("make", [make_few, make_months])
def test_a_draft_with_few_clusters_says_the_edit_that_gets_ten(tmp_path, make):
    """The edit is made, and gives them."""
    path = make(tmp_path)
    draft = draft_dataset(path)
    assert draft.clusters["test"] < 10 and draft.more_clusters
    assert draft.more_clusters in dataset_text(draft)
    changed = yaml.safe_load("{" + draft.more_clusters.partition(" (")[0] + "}")
    assert changed["splits"]["by"] == "time"
    files = [path] if path.is_file() else sorted(path.iterdir())
    raw = UnlockedFiles(draft.root, [file.relative_to(draft.root).as_posix() for file in files])
    span = changed.pop("context", draft.context) + changed.pop("horizon", draft.horizon)
    options = build_options(in_order({"kind": draft.kind, **draft.options, **changed}))
    found = KINDS[draft.kind].raw_contents(raw, options, tuple(draft.shape), tmp_path)
    clips = cut_windows(found, assign_splits(found, options, lambda name: []), options, span)
    assert len({clip.cluster for clip in clips if clip.split == "test"}) >= 10


def test_one_clip_is_not_clips(tmp_path):
    draft = draft_dataset(make_months(tmp_path, 48))
    draft.clips["val"], draft.clusters["val"] = 1, 1
    assert "val 1 clip in 1 cluster," in dataset_text(draft)


def test_the_settings_of_a_drafted_scale_say_what_they_win_over(tmp_path):
    lines = scale_text(draft_dataset(make_months(tmp_path, 48))).splitlines()
    (number,) = (n for n, line in enumerate(lines) if line.startswith("train:"))
    assert lines[number - 1].startswith("#") and "config/models/" in lines[number - 1]


def test_a_draft_of_too_few_frames_says_how_many_are_needed(tmp_path):
    draft = draft_dataset(make_months(tmp_path, 48))
    assert draft.clusters["test"] < 10 and draft.more_clusters is None
    needed = -(-48 * 10 // draft.clusters["test"])
    assert f"About {needed} frames" in dataset_text(draft)


@pytest.mark.parametrize(
    ("wrong", "where"),
    [({"axes": "NTXY"}, "axes is 'NTXY'"), ({"shares": 0.9}, "splits is"), ({"kid": 1}, "kid")],
)
def test_a_mistake_in_own_options_is_found_by_the_plan(facts, tmp_path, wrong, where):
    path, planned = drafted(facts, tmp_path)
    own_options.check(planned())
    written = yaml.safe_load(path.read_text())
    if share := wrong.pop("shares", None):
        written["prepare"]["splits"]["test"] = share
    written["prepare"] |= wrong
    path.write_text(yaml.safe_dump(written, sort_keys=False))
    with pytest.raises(StpError, match="dataset bars, prepare") as error:
        own_options.check(planned())
    assert where in str(error.value)


def test_estimates_of_uncounted_data_are_guesses_until_prepare_counted(facts, tmp_path):
    path, planned = drafted(facts, tmp_path)
    written = yaml.safe_load(path.read_text())
    counts = written.pop("counts")
    path.write_text(yaml.safe_dump(written, sort_keys=False))
    guess = "a guess: the clips of bars"
    assert guess in "".join(brief.lines(planned(), "short_term", 2))
    plan = planned()
    runner.fetch(plan, plan.raw("bars"))
    runner.make(plan, plan.data("bars"))
    known = Costs(planned()).workload.facts.clips(plan.data("bars"))
    assert known.value == {split: counts[split] for split in ("train", "val", "test")}
    assert guess not in "".join(brief.lines(planned(), "short_term", 2))


def drafted(facts, tmp_path):
    """The YAML of a drafted dataset `bars`, and what makes the plan of its scale."""
    make_npy(tmp_path / "data")
    list(new_dataset(tmp_path / "data" / "bars.npy", None, facts))
    scale = yaml.safe_load((facts / "bars.yaml").read_text())
    scale["dimensions"]["short_term"]["models"] = ["persistence"]
    return facts / "datasets" / "bars.yaml", lambda: Plan(config.load(scale, facts))


def test_a_draft_says_that_frames_are_not_resampled(tmp_path):
    folder = tmp_path / "shots"
    for i in range(4):
        made.video(folder / f"a{i}.mkv", [40] * 20, codec="mpeg4")
    assert "kind: videos\n" in dataset_text(draft_dataset(folder))
    made.video(folder / "b.mkv", [40] * 20, codec="mpeg4", times=[*range(19), 30])
    written = dataset_text(draft_dataset(folder))
    assert (
        "kind: videos # CHECK: frames are not resampled, and those of shots/b.mkv are at uneven"
        in written
    )
    made.video(folder / "c.mkv", [40] * 20, codec="mpeg4", rate=30)
    (folder / "b.mkv").unlink()
    written = dataset_text(draft_dataset(folder))
    assert "CHECK: frames are not resampled, and the videos have 12, 30 a second\n" in written


def test_a_draft_has_the_shape_of_what_a_turned_camera_saw(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # a quarter turn
    Image.new("L", (64, 32)).save(tmp_path / "0.jpg", exif=exif)
    made.video(tmp_path / "a.mp4", [40, 80], (32, 64), "mpeg4", rotate=90)
    for look, name in ((look_at_pictures, "0.jpg"), (look_at_videos, "a.mp4")):
        shape, _, _, notes = look(UnlockedFiles(tmp_path, [name]))
        assert shape[1:] == [64, 32] and notes["shape"].endswith(f"{name} has 64 x 32")


@pytest.mark.parametrize("model", ["convlstm", "simvpv2"])
def test_what_a_draft_costs_is_counted(tmp_path, model):
    draft = draft_dataset(make_hdf5(tmp_path))  # two channels of 16 x 16
    settings = yaml.safe_load(scale_text(draft))["models"][model]
    recipe = {"model": model, "options": settings["options"], "shape": draft.shape,
              "context": draft.context, "horizon": draft.horizon}  # fmt: skip
    counted = size(recipe)
    assert settings["size"]["parameters"] == counted.parameters
    steps = {"convlstm": "frame", "simvpv2": "pass"}[model]
    planned = forecast_gmacs(Size(**settings["size"], steps=steps), recipe, draft.horizon)
    assert planned * 1e9 == pytest.approx(counted.forecast, rel=1e-3)


@pytest.mark.parametrize(
    ("step", "count", "cycle"),
    [("6h", 3000, "day_of_year"), ("6h", 80, "day"), ("3h", 16, None), ("48h", 400, None)],
)
def test_the_climatology_of_a_draft_repeats_what_training_holds(tmp_path, step, count, cycle):
    when = made.times("2000-01-01", count, step)
    made.grid(when, 2, 2)[["t2m"]].to_netcdf(tmp_path / "f.nc")
    assert draft_dataset(tmp_path / "f.nc").options.get("cycle") == cycle


def test_the_verb(facts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_npy(tmp_path / "data")
    done = CliRunner().invoke(app, ["new-dataset", "data/bars.npy"])
    assert done.exit_code == 0, done.output
    assert "wrote config/datasets/bars.yaml" in done.output
    assert "train: 8 clips in 8 clusters" in done.output
    text = (facts / "datasets" / "bars.yaml").read_text()
    assert "axes: TNHW # guessed from bars.npy: (10, 12, 16, 16), uint8" in text
    assert len([line for line in text.splitlines() if not line.startswith("#")]) <= 25
    again = CliRunner().invoke(app, ["new-dataset", "data/bars.npy"])
    assert isinstance(again.exception, StpError) and "bars.yaml exists" in str(again.exception)


def test_files_in_the_raw_folder_need_no_mirror(facts, tmp_path):
    (tmp_path / "raw" / "deep").mkdir(parents=True)
    draft = draft_dataset(make_npy(tmp_path / "raw" / "deep"))
    assert draft.files == [{"path": "deep/bars.npy"}]
    list(new_dataset(tmp_path / "raw" / "deep" / "bars.npy", None, facts))
    assert "mirror" not in (facts / "bars.yaml").read_text()


def test_patterns_stand_for_all_depths_and_endings(facts, tmp_path):
    values = np.zeros((20, 8, 8), np.uint8)
    for name in ("a.npy", "x/b.npy", "x/c.npy", "y/z/d.NPY"):
        path = tmp_path / "data" / "all" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            np.save(file, values + np.arange(20, dtype=np.uint8)[:, None, None])
    draft = draft_dataset(tmp_path / "data" / "all")
    assert [entry["path"] for entry in draft.files] == [
        "all/*.npy", "all/*/*.npy", "all/*/*/*.NPY",
    ]  # fmt: skip


def test_hidden_files_and_folders_of_like_names_are_not_taken(facts, tmp_path):
    """By the draft, and by its patterns."""
    for path in (
        "take [2]/a.npy",
        "take [2]/.ipynb_checkpoints/a.npy",
        "take [2]/._a.npy",
        "take 2/b.npy",
    ):
        write(tmp_path / "data", path)
        np.save(tmp_path / "data" / path, moving(1, 80)[0])
    folder = tmp_path / "data" / "take [2]"
    draft = draft_dataset(folder, "take")
    assert draft.notes["splits"] == "1 sequences, 80 frames"
    (entry,) = draft.files
    assert raw_files._glob(entry["path"], [folder.parent]) == {"take [2]/a.npy"}
    assert matches("take [2]/a.npy", entry["path"])


def test_links_to_folders_are_followed(facts, tmp_path):
    for name in ("one", "two"):
        write(tmp_path, f"elsewhere/{name}/a.npy")
        np.save(tmp_path / "elsewhere" / name / "a.npy", moving(1, 80)[0])
    folder = tmp_path / "data" / "take"
    folder.mkdir()
    for name in ("one", "two"):
        (folder / name).symlink_to(tmp_path / "elsewhere" / name)
    (folder / "circle").symlink_to(folder)
    assert draft_dataset(folder).notes["splits"] == "2 sequences, 160 frames"


@pytest.mark.parametrize("axes", ["NTHW", "TNHW", "NTCHW", "TNCHW"])
def test_the_axis_along_which_pictures_move_is_time(facts, tmp_path, axes):
    values = moving(6, 20)[:, :, None] if "C" in axes else moving(6, 20)
    np.save(tmp_path / "data" / "a.npy", values.swapaxes(0, 1) if axes[0] == "T" else values)
    assert draft_dataset(tmp_path / "data" / "a.npy").options["axes"] == axes


def test_whole_numbers_that_are_missing_everywhere_need_a_fill(facts, tmp_path):
    path = tmp_path / "data" / "a.h5"
    with h5py.File(path, "w") as file:
        frames = file.create_dataset("frames", data=moving(6, 20).astype(np.int16))
        frames.attrs["_FillValue"] = np.int16(0)
    assert "CHECK: some values are missing" in draft_dataset(path).notes["axes"]


@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((100, 64, 64), "THW"),
        ((20, 10000, 64, 64), "TNHW"),
        ((10000, 20, 64, 64), "NTHW"),
        ((500, 64, 64, 3), "THWC"),
        ((500, 2, 32, 32), "TCHW"),
        ((64, 48, 3, 500), "HWCT"),
        ((8, 20, 64, 64, 1), "NTHWC"),
        ((8, 20, 2, 64, 64), "NTCHW"),
        ((8, 3, 20, 64, 64), "NCTHW"),
    ],
)
def test_guessed_axes(shape, axes):
    assert guess_axes(shape) == axes


def write(folder: Path, name: str, content: bytes = b"?") -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "no files"),
        (["a.txt", "b.doc"], "no files"),
        (["b.csv"], "no column for frame or time, person, x, y"),
        (["a.mp4", "b.npy"], "1 of videos, 1 of arrays"),
        (["a.mp4"], r"a\.mp4: cannot be decoded"),
        (["a/1.png"], r"1\.png: cannot be decoded"),
        (["a.npy"], r"a\.npy: cannot be read"),
        (["a.npz"], r"a\.npz: cannot be read"),
        (["a.h5"], r"a\.h5: cannot be read"),
        (["a.nc"], r"a\.nc: it cannot be read"),
        (["a.zarr/zarr.json"], r"a\.zarr/zarr\.json: cannot be read"),
        (["a.grib2"], "convert it"),
    ],
)
def test_what_cannot_be_a_dataset(facts, tmp_path, names, message):
    (tmp_path / "data" / "d").mkdir()
    for name in names:
        write(tmp_path / "data" / "d", name)
    with pytest.raises(StpError, match=message):
        list(new_dataset(tmp_path / "data" / "d", None, facts))
    assert not list(facts.rglob("d.yaml"))


def test_too_few_frames(facts, tmp_path):
    np.save(tmp_path / "data" / "a.npy", np.zeros((5, 8, 8)))
    with pytest.raises(StpError, match="has no clips"):
        draft_dataset(tmp_path / "data" / "a.npy")


def test_further_dimensions_are_selected(facts, tmp_path):
    field = made.grid(made.times("2000-01-01", 40))[["t2m"]].expand_dims(number=[5, 6], axis=1)
    field.to_netcdf(tmp_path / "data" / "members.nc")
    draft = draft_dataset(tmp_path / "data" / "members.nc")
    assert draft.options["select"] == {"number": 5} and draft.shape == [1, 4, 6]


def test_era5_beside_its_preliminary_version_is_merged(facts, tmp_path):
    field = made.grid(made.times("2000-01-01", 40))[["t2m"]]
    later = np.arange(40)[:, None, None] >= 30
    both = [field.where(~later), field.where(later)]
    both = xr.concat(both, xr.Variable("expver", [1, 5])).transpose("time", "expver", "lat", "lon")
    both.to_netcdf(tmp_path / "data" / "era5.nc")
    draft = draft_dataset(tmp_path / "data" / "era5.nc")
    assert "select" not in draft.options and draft.frames == 40
    assert "expver" in draft.notes["variables"] and "CHECK" not in draft.notes["variables"]


@pytest.mark.parametrize(
    ("name", "units", "factor"),
    [
        ("latitude", "radians", np.pi / 180),
        ("lat", None, np.pi / 180),
        ("nlat", None, 1 / 30),
        ("latitude", "1", 1),
    ],
)
def test_a_draft_weighs_rows_only_by_latitudes_in_degrees(facts, tmp_path, name, units, factor):
    field = made.grid(made.times("2000-01-01", 40))[["t2m"]]
    lat = xr.DataArray(field["lat"] * factor, attrs={"units": units} if units else {})
    field.assign_coords(lat=lat).rename({"lat": name} if name != "lat" else {}).to_netcdf(
        tmp_path / "data" / "g.nc"
    )
    assert draft_dataset(tmp_path / "data" / "g.nc").metrics == FIELD_METRICS


@pytest.mark.parametrize("order", [1, -1])
def test_rows_without_coordinates_are_numbers_and_those_in_degrees_latitudes(
    facts, tmp_path, order
):
    field = made.grid(made.times("2000-01-01", 40))[["t2m"]].isel(lat=slice(None, None, order))
    field.to_netcdf(tmp_path / "data" / "g.nc")
    assert draft_dataset(tmp_path / "data" / "g.nc").metrics == [
        {"convention": "wrmse.per_frame", "variable": "t2m"}
    ]
    field.drop_vars("lat").to_netcdf(tmp_path / "data" / "h.nc")
    assert draft_dataset(tmp_path / "data" / "h.nc").metrics == FIELD_METRICS


def test_a_draft_shows_the_range_of_each_variable(facts, tmp_path):
    path = tmp_path / "data" / "g.nc"
    field = made.grid(made.times("2000-01-01", 40))
    field["z"][3, 0, 0, 0] = np.nan
    field.to_netcdf(path)
    written = "".join(new_dataset(path, "mine", facts))
    text = (facts / "datasets" / "mine.yaml").read_text()
    assert "t2m 0 to 39035" in text and "z500 500 to 539" in text and written
    assert "CHECK: some values are missing" in text


@pytest.mark.parametrize("value", [-9999.0, 1e20, 32767.0])
@pytest.mark.parametrize("name", ["g.nc", "a.npy"])
def test_a_draft_refuses_a_lone_far_value(facts, tmp_path, name, value):
    path = tmp_path / "data" / name
    values = np.random.default_rng(1).normal(280, 9, (40, 4, 6)).astype("f4")
    values[7, 2, 3] = value
    field = xr.DataArray(values, dims=("time", "lat", "lon"), name="t")
    field = field.assign_coords(time=made.times("2000-01-01", 40))
    if name == "a.npy":
        np.save(path, values)
    else:
        field.to_netcdf(path)
    with pytest.raises(
        StpError, match=rf"{name}: .* has the value {value:g}, far from all".replace("+", r"\+")
    ):
        draft_dataset(path)
    if name == "g.nc":
        field.attrs["missing_value"] = np.float32(value)
        field.to_netcdf(path)
        assert f"{value:g}" not in draft_dataset(path).notes["variables"]


def test_a_draft_fills_land_with_the_mean_of_the_sea(facts, tmp_path):
    field = made.grid(made.times("2000-01-01", 40), 16, 16)
    sea = field["t2m"].where(field["lon"] > 8)  # 5 of 16 columns are land
    sea.to_dataset().to_netcdf(tmp_path / "data" / "sea.nc")
    draft = draft_dataset(tmp_path / "data" / "sea.nc")
    assert draft.options["fill"] == pytest.approx(float(sea.mean()), rel=1e-5)
    assert "80 of 256" in draft.notes["fill"]


@pytest.mark.parametrize(
    ("dtype", "most", "divide_by", "note"),
    [
        ("uint8", 255, 255, ""),
        ("uint8", 9, 255, "CHECK: values reach only 9 of 255"),
        ("uint8", 1, None, "black and white"),
        ("bool", 1, None, "black and white"),
        ("int64", 1, None, "black and white"),
        ("float32", 1, None, "black and white"),
    ],
)
def test_the_range_of_whole_numbers_follows_type_and_values(
    facts, tmp_path, dtype, most, divide_by, note
):
    values = np.random.default_rng(1).integers(0, most + 1, (12, 20, 8, 8)).astype(dtype)
    np.save(tmp_path / "data" / "a.npy", values)
    draft = draft_dataset(tmp_path / "data" / "a.npy")
    assert draft.options.get("divide_by") == divide_by and draft.metrics == PIXEL_METRICS
    assert "normalisation" not in draft.options
    assert note in draft.notes["axes"] + draft.notes.get("divide_by", "")


def test_own_files_are_locked_anew_until_something_is_made_of_them(facts, tmp_path, monkeypatch):
    path = make_npy(tmp_path / "data")
    list(new_dataset(path, "mine", facts))
    monkeypatch.setattr(config, "CONFIG_FOLDER", facts)
    plan = Plan(config.load(yaml.safe_load((facts / "mine.yaml").read_text()), facts))
    lock = runner.fetch(plan, plan.raw("mine"))
    before = lock.read_text()
    values = np.load(path)
    np.save(path, values[::-1])
    with pytest.raises(StpError, match=r"differs? from the lock file(.|\n)*stp fetch"):
        runner.make(plan, plan.data("mine"))
    runner.fetch(plan, plan.raw("mine"))
    assert lock.read_text() != before
    runner.make(plan, plan.data("mine"))
    runner.fetch(plan, plan.raw("mine"))
    np.save(path, values)
    locked = lock.read_text()
    with pytest.raises(StpError, match=r"differs? from the lock file(.|\n)*new release"):
        runner.fetch(plan, plan.raw("mine"))
    assert lock.read_text() == locked


def test_names_that_are_none(facts, tmp_path):
    path = make_npy(tmp_path / "data")
    with pytest.raises(StpError, match="'My data' cannot be the name"):
        draft_dataset(path, "My data")
    with pytest.raises(StpError, match=r"kth\.yaml exists"):
        list(new_dataset(path, "kth", facts))
    with pytest.raises(StpError, match="does not exist"):
        draft_dataset(tmp_path / "nowhere")


# The configuration


def convention_of(column):
    """Of a column as a dataset names it."""
    return column if isinstance(column, str) else column["convention"]


def own(facts: Path, **changes) -> dict:
    """A scale with a dataset that has the fewest keys that are possible."""
    dataset = {
        "title": "Mine", "shape": [1, 8, 8], "context": 2, "horizon": 2, "reader": "own.reader",
        "metrics": ["mse.pixel_mean"], "release": "own",
        "releases": {"own": {"source": "own", "files": [{"path": "a.npy"}]}},
    }  # fmt: skip
    dataset = {k: v for k, v in {**dataset, **changes}.items() if v is not None}
    (facts / "datasets" / "mine.yaml").write_text(yaml.safe_dump(dataset))
    return {
        "scale": "own",
        "dimensions": {"short_term": {"datasets": ["mine"], "models": ["persistence"]}},
    }


def test_the_fewest_keys(facts):
    plan = Plan(config.load(own(facts), facts))
    assert plan.recipes.conventions("mine") == ["mse.pixel_mean"]
    assert plan.recipes.prepare("mine").units == "1"
    assert "stp.prepare.own.grids" in plan.data("mine").code.modules


def test_a_dataset_may_stand_in_the_scale_file(facts):
    scale = own(facts)
    path = facts / "datasets" / "mine.yaml"
    scale["datasets"] = {"mine": yaml.safe_load(path.read_text())}
    path.unlink()
    plan = Plan(config.load(scale, facts))
    assert plan.data("mine").recipe["reader"] == "own.reader"
    assert manifest(plan, "short_term").cells[0].follows_paper is False
    del scale["datasets"]["mine"]["title"]
    with pytest.raises(StpError, match=r"datasets\.mine: title"):
        config.load(scale, facts)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metrics": None}, "mine(.|\n)*metrics"),
        ({"metrics": ["mse"]}, r"metrics\.0\.convention is 'mse'"),
        (
            {"metrics": ["mes.pixel_mean"]},
            "mine.yaml: metrics(.|\n)*unknown metric 'mes'(.|\n)*mse",
        ),
        (
            {"metrics": [{"convention": "mse.pixel_mean", "variable": "t2m"}]},
            "mine.yaml: metrics(.|\n)*unknown variable of mine 't2m'",
        ),
        ({"shape": None}, "shape"),
        ({"release": "mine"}, "unknown release 'mine'"),
    ],
)
def test_what_is_missing_is_named(facts, changes, message):
    with pytest.raises(StpError, match=message):
        Plan(config.load(own(facts, **changes), facts))


def test_a_dataset_of_a_suite_may_have_further_columns(facts):
    scale = own(facts)
    scale["datasets"] = {"kth": {"metrics": ["csi.mean"]}}
    recipes = Plan(config.load(scale, facts)).recipes
    names = [column.name for column in recipes.columns("kth")]
    assert names == ["SSIM", "PSNR", "LPIPS", "FVD", "csi.mean"]
    assert "csi.mean" in recipes.job_conventions("kth", False)
    again = {"heading": "SSIM", "convention": "ssim.range1"}
    scale["datasets"] = {"kth": {"metrics": [again]}}
    with pytest.raises(StpError, match=r"kth\.yaml: metrics(.|\n)*'SSIM'"):
        Plan(config.load(scale, facts)).recipes.conventions("kth")


def test_a_scale_file_adds_conventions_and_their_columns(facts, tmp_path, monkeypatch):
    """Thresholds in the units of the data, and a composition; scored by the real stages."""
    list(new_dataset(make_npy(tmp_path / "data"), "mine", facts))
    scale = yaml.safe_load((facts / "mine.yaml").read_text())
    scale["dimensions"]["short_term"]["models"] = ["persistence"]
    scale["definitions"] = {
        "csi.bright": {
            "about": "of brightness (ours)", "function": "csi", "thresholds": [0.25, 0.6]
        },
        "rmse.batches": {
            "about": "means of pairs (ours)", "function": "rmse", "root": "frames", "batch": 2
        },
        "exceedance.pooled": {
            "about": "of brightness (ours)", "function": "pod", "thresholds": [0.6],
            "title": "Exceedance", "unit": "1", "higher_is_better": True,
        },
    }  # fmt: skip
    bright = {"heading": "CSI", "convention": "csi.bright"}
    further = ["rmse.batches", "exceedance.pooled"]
    columns = [bright, bright | {"heading": "CSI 0.6", "threshold": 0.6}, *further]
    scale["datasets"] = {"mine": {"metrics": columns}}
    scale["runtime"], scale["bootstrap"] = {"device": "cpu"}, {"resamples": 100}
    monkeypatch.setattr(config, "CONFIG_FOLDER", facts)
    plan = Plan(config.load(scale, facts))
    runner.fetch(plan, plan.raw("mine"))
    for artefact in plan.artefacts.values():
        runner.make(plan, artefact)
    (made_cell,) = plan.cells
    scores = pq.read_table(plan.store / made_cell.scores.folder / "scores.parquet").to_pylist()
    found = {
        (row["convention"], row["threshold"]): row["value"]
        for row in scores
        if row["lead"] is None and row["statistic"] == "mean"
    }

    data = Prepared(plan.store / plan.data("mine").folder)
    clips = Clips(data, "test")
    frames = clips.read(range(len(clips))).astype(float)
    observed = frames[:, data.context :]
    predicted = np.broadcast_to(frames[:, data.context - 1 : data.context], observed.shape)

    def share(threshold, of_events):
        forecast, event = predicted >= threshold, observed >= threshold
        return (forecast & event).sum() / (event if of_events else forecast | event).sum()

    each = [share(0.25, False), share(0.6, False)]
    assert found["csi.bright", 0.6] == pytest.approx(each[1])
    assert found["csi.bright", None] == pytest.approx(np.mean(each))
    assert found["exceedance.pooled", 0.6] == pytest.approx(share(0.6, True))
    roots = np.sqrt(((predicted - observed) ** 2).mean(axis=(2, 3, 4))).mean(axis=1)
    batches = [roots[i : i + 2].mean() for i in range(0, len(roots), 2)]
    assert found["rmse.batches", None] == pytest.approx(np.mean(batches), rel=1e-5)
    described = manifest(plan, "short_term")
    assert described.conventions["exceedance.pooled"].title == "Exceedance"
    shown = [column.name for column in described.tables["short_term"].columns["mine"]]
    assert shown == ["CSI", "CSI 0.6", "rmse.batches", "exceedance.pooled"]


@pytest.mark.parametrize(
    ("definitions", "metrics", "message"),
    [
        ({"csi.mean": {"about": "a", "function": "csi"}}, [], r"definitions\.csi\.mean"),
        ({"new.own": {"about": "a", "function": "mse"}}, [], "new.own: title, unit"),
        ({"csi.own": {"about": "a", "function": "csi"}}, ["csi.own"], "csi needs thresholds"),
        (
            {"csi.own": {"about": "a", "function": "csi", "thresholds": [3]}},
            [{"convention": "csi.own", "threshold": 4}],
            "csi.own has no threshold 4",
        ),
    ],
)
def test_the_plan_refuses_wrong_definitions(facts, definitions, metrics, message):
    scale = own(facts, metrics=metrics or ["mse.pixel_mean"])
    with pytest.raises(StpError, match=message):
        Plan(config.load(scale | {"definitions": definitions}, facts))


def test_dates_in_a_file_stay_text(facts):
    splits = {"by": "time"}
    scale = own(facts, prepare={"kind": "grids", "splits": splits})
    path = facts / "datasets" / "mine.yaml"
    path.write_text(path.read_text().replace("by: time", "train: [2001-01-01, 2001-06-30]"))
    recipe = Plan(config.load(scale, facts)).recipes.prepare("mine")
    assert recipe.options["splits"]["train"] == ["2001-01-01", "2001-06-30"]
