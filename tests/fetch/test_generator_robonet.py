"""The generated RoboNet files are built like the real ones of the same robots."""

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import av
import h5py
import numpy as np
import pandas as pd
import pytest

from stp.fetch.raw import run_generator

OPTIONS = {"train": 5, "val": 1, "test": 1, "shrink": 8, "most_frames": 5}
REAL = {  # of the generated ones: the recorded sample of the same robot
    "berkeley_sawyer": "berkeley_sawyer_cornoise_traj1",
    "berkeley_widowx": "berkeley_widowx_traj169",
    "google": "google_traj5793",
    "penn_baxter_left": "penn_baxter_left_traj917",
    "penn_kuka": "penn_kuka_traj519",
    "stanford_fetch": "stanford_fetch_traj464",
    "stanford_franka": "stanford_franka_corr_noise_traj2239",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("raw") / "made"
    run_generator("robonet", OPTIONS, out)
    return out


def file_of(made: Path, robot: str) -> Path:
    (path,) = (made / "robonet" / "hdf5").glob(f"{robot}_traj*.hdf5")
    return path


def test_files_and_lists(made: Path) -> None:
    names = {p.relative_to(made).as_posix() for p in made.rglob("*") if p.is_file()}
    files = {name for name in names if name.endswith(".hdf5")}
    assert names - files == {
        "robonet/hdf5/meta_data.pkl",
        "predbench_annotations/robonet/robonet_val.json",
        "predbench_annotations/robonet/robonet_test.json",
    }
    assert len(files) == 7
    lists = {
        split: json.loads(
            (made / f"predbench_annotations/robonet/robonet_{split}.json").read_text()
        )
        for split in ("val", "test")
    }
    assert len(lists["val"]) == len(lists["test"]) == 1
    listed = {f"robonet/hdf5/{name}" for names in lists.values() for name in names}
    assert len(listed) == 2 and listed < files


def test_a_file_has_what_was_recorded_of_the_real_ones(made: Path) -> None:
    with h5py.File(file_of(made, "berkeley_sawyer")) as file:
        assert set(file) == {"env", "file_version", "metadata", "misc", "policy"}
        env = file["env"]
        assert dict(env.attrs) == {"cam_encoding": "mp4", "n_cams": 5}
        assert isinstance(env.attrs["cam_encoding"], str)
        frames = env["cam4_video/frames"]
        assert frames.dtype == np.uint8 and frames.ndim == 1
        assert {key: np.asarray(value).tolist() for key, value in frames.attrs.items()} == {
            "T": 5,
            "image_format": "RGB",
            "shape": [30, 40, 3],
        }
        assert env["state"].shape == (5, 5) and file["policy/actions"].shape == (4, 4)
        assert file["file_version"][()] == b"0.1.0"
        assert file["misc/traj_ok"][()] == np.True_
    with h5py.File(file_of(made, "google")) as file:
        assert set(file["env"]) == {"cam0_video", "state"}
        assert file["env/cam0_video/frames"].attrs["image_format"] == "BGR"
        assert file["env/state"].dtype == np.float32 and len(file["misc"]) == 0


def test_videos_are_mp4_with_h264(made: Path) -> None:
    with h5py.File(file_of(made, "berkeley_sawyer")) as file:
        content = file["env/cam0_video/frames"][:].tobytes()
    assert content[4:12] == b"ftypisom"
    with av.open(io.BytesIO(content)) as video:
        stream = video.streams.video[0]
        assert stream.codec_context.name == "h264" and stream.codec_context.pix_fmt == "yuv420p"
        assert stream.average_rate == 10
        assert [frame.to_ndarray(format="rgb24").shape for frame in video.decode(stream)] == [
            (30, 40, 3)
        ] * 5


def test_blue_and_red_are_swapped_where_the_file_says_so(made: Path) -> None:
    """The wooden table is redder than blue."""

    def tint(robot: str) -> float:
        with h5py.File(file_of(made, robot)) as file:
            content = file["env/cam0_video/frames"][:].tobytes()
        with av.open(io.BytesIO(content)) as video:
            picture = next(video.decode(video=0)).to_ndarray(format="rgb24").astype(float)
        return float((picture[..., 0] - picture[..., 2]).mean())

    assert tint("berkeley_sawyer") > 10 and tint("google") < -10


def test_the_table_of_metadata_is_as_predbench_reads_it(made: Path) -> None:
    # written here, a moment ago: safe to unpickle
    table = pd.read_pickle(made / "robonet/hdf5/meta_data.pkl", compression="gzip")
    wanted = table.loc[:, ["sha256", "img_T", "ncam", "image_format", "img_encoding"]]
    path = file_of(made, "google")
    assert wanted.loc[path.name].to_dict() == {
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        **{"img_T": 5, "ncam": 1, "image_format": "BGR", "img_encoding": "mp4"},
    }
    assert len(table) == 7


def structure(path: Path) -> dict[str, Any]:
    """All there is in a file, with types, but not the sizes and values that may differ."""
    found: dict[str, Any] = {}

    def visit(name: str, item: Any) -> None:
        attrs = {key: type(value).__name__ for key, value in item.attrs.items()}
        if isinstance(item, h5py.Dataset):
            found[name] = (str(item.dtype), item.ndim, item.chunks, item.compression, attrs)
        else:
            found[name] = attrs

    with h5py.File(path) as file:
        file.visititems(visit)
    return found


@pytest.mark.sample_bytes
@pytest.mark.parametrize("robot", sorted(REAL))
def test_structure_equals_that_of_a_real_file(made: Path, raw_mirror: Path, robot: str) -> None:
    ours = structure(file_of(made, robot))
    real = structure(raw_mirror / "robonet" / "hdf5" / f"{REAL[robot]}.hdf5")
    about = real.pop("metadata"), ours.pop("metadata")
    assert ours == real
    # Which attributes the metadata have differs even between files of one robot.
    assert {"robot", "gripper", "background", "camera_type", "action_space"} <= set(about[1])
    assert set(about[1]) <= set(about[0])
