"""RoboNet from small HDF5 files made here, and from real ones of seven robots."""

import io
import json
import shutil
import struct

import av
import h5py
import numpy as np
import pandas as pd
import pytest

from stp.core.errors import StpError
from stp.data.prepared import Prepared
from stp.data.raw_files import RawFiles
from stp.datasets.robonet.reader import FILES, LISTS, count, run, trajectory_of
from stp.fetch.film_write import encode_picture
from stp.plan.checked_config import CONFIG_FOLDER, read_yaml
from stp.prepare.members import find
from stp.prepare.planned_counts import Lists

SHAPE = [3, 16, 24]
RED, GREEN, BLUE = (200, 40, 30), (40, 190, 60), (30, 50, 210)


def pictures(colour, frames, height=16, width=24):
    """Frames of one colour that get lighter by 1 in each frame."""
    light = np.arange(frames, dtype=np.uint8).reshape(-1, 1, 1, 1)
    return np.full((frames, height, width, 3), colour, np.uint8) + light


def mp4(frames):
    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=10, options={"qp": "1"})
        stream.height, stream.width = frames.shape[1:3]
        stream.pix_fmt = "yuv420p"
        for picture in frames:
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return np.frombuffer(file.getvalue(), np.uint8)


def jpg(picture):
    return np.frombuffer(encode_picture(picture, "JPEG", quality=100, subsampling=0), np.uint8)


def write(path, cameras, order="RGB", encoding="mp4", says=None, n_cams=None):
    """A trajectory; `cameras` are the frames of each, as its video holds them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        env = file.create_group("env")
        env.attrs["cam_encoding"] = encoding
        env.attrs["n_cams"] = n_cams or len(cameras)
        for k, frames in enumerate(cameras):
            if encoding == "mp4":
                data = env.create_dataset(f"cam{k}_video/frames", data=mp4(frames))
                data.attrs["T"] = says or len(frames)
                data.attrs["image_format"] = order
                data.attrs["shape"] = frames.shape[1:]
            else:
                for t, picture in enumerate(frames):
                    data = env.create_dataset(f"cam{k}_video/frame{t}", data=jpg(picture))
                    data.attrs["image_format"] = order
                    data.attrs["shape"] = frames.shape[1:]


def write_lists(root, val, test):
    for split, names in (("val", val), ("test", test)):
        path = root / LISTS[split]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(names))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    root = tmp_path_factory.mktemp("robonet")
    folder = root / "robonet" / "hdf5"
    write(folder / "a_traj1.hdf5", [pictures(RED, 6), pictures(BLUE, 6)])
    write(folder / "b_traj2.hdf5", [pictures(BLUE, 7)[..., ::-1]], order="BGR")
    write(folder / "c_traj3.hdf5", [pictures(GREEN, 5)], encoding="jpg")
    write(folder / "d_traj4.hdf5", [pictures(GREEN, 2)])  # too short
    write_lists(root, ["b_traj2.hdf5"], ["c_traj3.hdf5"])
    return root


@pytest.fixture
def raw(written, tmp_path):
    return shutil.copytree(written, tmp_path / "raw")


JOB = ("robonet", SHAPE, {})


def mean_colours(job, split):
    """The mean colour of the first frame of each clip."""
    clips = Prepared(job.out).clips(split)
    return np.rint(clips.read(range(len(clips)))[:, 0].mean(axis=(2, 3)) * 255)


def test_lists_cameras_and_windows(make_job, raw):
    job = make_job(*JOB)
    extras = run(job)
    assert extras["clips"] == {"train": 1, "val": 1, "test": 1}
    assert extras["trajectories shorter than 3 frames"] == 1
    index = Prepared(job.out).index
    assert index[["split", "clip", "cluster", "length"]].values.tolist() == [
        ["train", "a_traj1/cam0", "a_traj1", 6],
        ["val", "b_traj2/cam0", "b_traj2", 3],
        ["test", "c_traj3/cam0", "c_traj3", 3],
    ]
    # windows of 3: offset (7 - 3 + 1) // 2 = 2 and (5 - 3 + 1) // 2 = 1
    assert index["start"].tolist() == [0, 6 + 2, 6 + 7 + 1]
    # H.264 and JPEG lose a little
    for split, colour in (("train", RED), ("val", BLUE), ("test", GREEN)):
        offset = {"train": 0, "val": 2, "test": 1}[split]
        expected = np.array([colour]) + offset
        assert np.abs(mean_colours(job, split) - expected).max() <= 4, split


def test_training_takes_camera_0_and_tests_one_by_name(make_job, tmp_path):
    root = tmp_path / "many"
    names = [f"x_traj{i}.hdf5" for i in range(12)]
    first = root / "robonet" / "hdf5" / names[0]
    write(first, [pictures(colour, 3) for colour in (RED, GREEN, BLUE)])
    for name in names[1:]:
        shutil.copy(first, first.with_name(name))
    write_lists(root, names[4:5], names[5:])

    job = make_job("robonet", SHAPE, {}, root=root)
    run(job)
    index = Prepared(job.out).index
    cameras = {row.cluster: int(row.clip[-1]) for row in index.itertuples()}
    assert {cameras[f"x_traj{i}"] for i in range(4)} == {0}
    assert {cameras[f"x_traj{i}"] for i in range(5, 12)} == {0, 1, 2}
    # what the name says is what was decoded
    clips = Prepared(job.out).clips("test")
    for camera, colour in zip(
        clips.index["clip"].str[-1].astype(int), mean_colours(job, "test"), strict=True
    ):
        assert np.argmax(colour) == camera


def test_the_channel_order_of_camera_0_holds_for_all(make_job, tmp_path):
    """Real files of the Franka robot say it for camera 0 only."""
    root = tmp_path / "raw"
    names = [f"x_traj{i}.hdf5" for i in range(10)]
    first = root / "robonet" / "hdf5" / names[0]
    write(first, [pictures(RED, 3)[..., ::-1], pictures(BLUE, 3)[..., ::-1]], order="BGR")
    change(first, lambda env: env["cam1_video/frames"].attrs.pop("image_format"))
    for name in names[1:]:
        shutil.copy(first, first.with_name(name))
    write_lists(root, names[1:2], names[2:])
    job = make_job(*JOB, root=root)
    run(job)
    cameras = Prepared(job.out).clips("test").index["clip"].str[-1].astype(int).tolist()
    assert set(cameras) == {0, 1}
    for camera, colour in zip(cameras, mean_colours(job, "test"), strict=True):
        assert np.abs(colour - [RED, BLUE][camera]).max() <= 4


def test_splits_in_the_options(make_job, raw):
    splits = {"train": ["b_traj2.hdf5"], "val": ["a_traj1.hdf5"], "test": ["c_traj3.hdf5"]}
    job = make_job("robonet", SHAPE, {"splits": splits})
    run(job)
    index = Prepared(job.out).index
    assert dict(zip(index["split"], index["cluster"], strict=True)) == {
        "train": "b_traj2",
        "val": "a_traj1",
        "test": "c_traj3",
    }


def test_videos_with_other_numbers_of_frames_than_they_say(make_job, raw):
    write(raw / "robonet/hdf5/b_traj2.hdf5", [pictures(BLUE, 9)], says=7)
    assert run(make_job(*JOB))["frames"] == 6 + 7 + 5
    write(raw / "robonet/hdf5/b_traj2.hdf5", [pictures(BLUE, 5)], says=7)
    with pytest.raises(StpError, match=r"b_traj2\.hdf5: cam0_video: .*5 (.|\n)*7"):
        run(make_job(*JOB))


def change(path, how):
    with h5py.File(path, "r+") as file:
        how(file["env"])


def set_attribute(name, value, of=""):
    return lambda env: (env[of] if of else env).attrs.__setitem__(name, value)


def replace_frames(values):
    def how(env):
        attrs = dict(env["cam0_video/frames"].attrs)
        del env["cam0_video/frames"]
        env.create_dataset("cam0_video/frames", data=values).attrs.update(attrs)

    return how


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (lambda env: env.pop("cam0_video"), r"b_traj2\.hdf5"),
        (lambda env: env.attrs.pop("n_cams"), r"b_traj2\.hdf5"),
        (set_attribute("n_cams", 0), "n_cams .*0"),
        (set_attribute("cam_encoding", np.arange(3)), "cam_encoding"),
        (set_attribute("cam_encoding", "gif"), "cam_encoding .*gif"),
        (set_attribute("T", 10**9, "cam0_video/frames"), "1000000000"),
        (set_attribute("image_format", "HSV", "cam0_video/frames"), "image_format .*HSV"),
        (replace_frames(np.zeros((3, 4), np.uint8)), r"uint8 \(3, 4\)"),
        (replace_frames(np.zeros(3)), r"float64 \(3,\)"),
        (replace_frames(np.zeros(300, np.uint8)), "cam0_video"),
        (replace_frames(np.zeros(0, np.uint8)), "cam0_video"),
    ],
)
def test_what_is_wrong_in_a_file(make_job, raw, how, message):
    change(raw / "robonet/hdf5/b_traj2.hdf5", how)
    with pytest.raises(StpError, match=message):
        run(make_job(*JOB))


def test_a_picture_that_is_missing_or_damaged(make_job, raw):
    path = raw / "robonet/hdf5/c_traj3.hdf5"
    change(path, lambda env: env["cam0_video"].pop("frame3"))
    with pytest.raises(StpError, match=r"c_traj3\.hdf5.*frame3"):
        run(make_job(*JOB))
    write(path, [pictures(GREEN, 5)], encoding="jpg")
    change(path, lambda env: env["cam0_video/frame2"].__setitem__(slice(2, 60), 0))
    with pytest.raises(StpError, match="cam0_video: frame2"):
        run(make_job(*JOB))


def test_a_heap_in_which_the_library_would_not_end(make_job, raw):
    """The free space (object 0) of size 0, and an object that reaches beyond the heap."""
    path = raw / "robonet/hdf5/b_traj2.hdf5"
    whole = path.read_bytes()
    heap = whole.index(b"GCOL\x01\0\0\0")
    for place, number, length in ((heap + 16, 0, 0), (heap + 16, 1, 1 << 20)):
        damaged = bytearray(whole)
        damaged[place : place + 16] = struct.pack("<HHIQ", number, 1, 0, length)
        path.write_bytes(damaged)
        with pytest.raises(StpError, match=r"b_traj2\.hdf5: .*heap"):
            run(make_job(*JOB))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", r"robonet_val\.json"),
        ("[1]", r"robonet_val\.json"),
        ("[", r"robonet_val\.json"),
        ('["c_traj3.hdf5"]', r"c_traj3\.hdf5"),
        ("[]", "val"),
    ],
)
def test_lists_that_are_wrong(make_job, raw, text, message):
    (raw / LISTS["val"]).write_text(text)
    with pytest.raises(StpError, match=message):
        run(make_job(*JOB))


@pytest.mark.sample_bytes
def test_published_lists(raw_mirror):
    declared = read_yaml(CONFIG_FOLDER / "datasets" / "robonet.yaml")
    planned = count({"options": {}, "context": 2, "horizon": 10}, Lists([raw_mirror]))
    splits = pd.Series([clip.split for clip in planned.clips]).value_counts()
    assert dict(splits) == {"val": 16217, "test": 256}
    assert declared["counts"]["val"] == 16217 and declared["counts"]["published"]["val"] == 16218
    assert set(planned.unknown) == {"train"}
    clusters = {clip.cluster for clip in planned.clips}
    assert len(clusters) == 16217 + 256  # nothing in both
    # those of the sample are in neither
    assert not clusters & {p.stem for p in (raw_mirror / "robonet" / "hdf5").iterdir()}


@pytest.mark.sample_bytes
def test_real_trajectories(make_job, raw_mirror):
    release = read_yaml(CONFIG_FOLDER / "datasets" / "robonet.yaml")["releases"]["sample"]
    names = [file["path"] for file in release["files"]]
    options = release["prepare"]
    job = make_job(
        "robonet", [3, 120, 160], options, context=2, horizon=10, root=raw_mirror, names=names
    )
    extras = run(job)
    assert extras["clips"] == {"train": 4, "val": 2, "test": 2}
    index = Prepared(job.out).index.set_index("cluster")
    # the numbers of frames that were recorded when the files were first looked at
    lengths = {"berkeley_sawyer_cornoise_traj1": 31, "google_traj5793": 20}
    lengths |= {"penn_kuka_traj519": 31, "stanford_fetch_traj464": 15}
    assert index[index["split"] == "train"]["length"].to_dict() == lengths
    data = Prepared(job.out)
    for cluster, row in index.iterrows():
        frames = data.frames.read(row["start"], row["start"] + row["length"]).astype(float)
        assert frames.std() > 20, cluster
        # slow motion in front of a still camera: 1.2 to 12 grey levels were recorded
        assert 0.3 < np.abs(np.diff(frames, axis=0)).mean() < 15, cluster
    # Every camera of every file can be read, whatever the name of the file.
    raw = RawFiles(job.inputs["raw"], [raw_mirror])
    for (name,), member in find(raw, FILES).items():
        views = (trajectory_of(raw, f"{i} {name}", member, "test") for i in range(40))
        with h5py.File(raw_mirror / "robonet/hdf5" / name) as file:
            assert {view.camera for view in views} == set(range(file["env"].attrs["n_cams"]))
    # Google's files say BGR, and so they look: cardboard is blue in the video, brown as prepared.
    google = index.loc["google_traj5793"]
    frames = data.frames.read(google["start"], google["start"] + 1)[0].astype(float)
    with h5py.File(raw_mirror / "robonet/hdf5/google_traj5793.hdf5") as file:
        video = io.BytesIO(file["env/cam0_video/frames"][:].tobytes())
    with av.open(video) as container:
        decoded = next(container.decode(video=0)).to_ndarray(format="rgb24").astype(float)
    assert frames[:, 60, 20].argmax() == 0 and decoded[256, 80].argmax() == 2
    np.testing.assert_allclose(frames.mean(axis=(1, 2)), decoded.mean(axis=(0, 1))[::-1], atol=1.0)
