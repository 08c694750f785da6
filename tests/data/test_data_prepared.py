"""Clips come back in the dataset's units, exactly, in any order."""

import multiprocessing

import numpy as np
import pandas as pd
import pytest

from stp.core.errors import StpError
from stp.data.moving_digits import render
from stp.data.prepared import Prepared
from stp.data.zarr_write import create_array, create_group

ATTRS = {"shape": [1, 2, 3], "context": 2, "horizon": 1, "stored_scale": 1 / 255}


def prepare(folder, *, frames=None, attrs=ATTRS, rows=None, arrays=None):
    if frames is None:
        frames = np.arange(20 * 6, dtype=np.uint8).reshape(20, 1, 2, 3)
    group = create_group(folder / "frames.zarr", attrs)
    for name, values in {"frames": frames, **(arrays or {})}.items():
        dims = tuple(f"{name}_{i}" for i in range(values.ndim))
        chunk = (4, *values.shape[1:])
        array = create_array(group, name, values.shape, values.dtype, dims, chunk, max_files=3)
        array[:] = values
    if rows is None:
        rows = [
            ("train", "a", 0, 1, 4, "v1", 0),
            ("train", "b", 5, 3, 5, "v1", 5),
            ("test", "a", 16, 1, 4, "v2", 11),
        ]
    columns = ["split", "clip", "start", "stride", "length", "cluster", "phase"]
    pd.DataFrame(rows, columns=columns).to_parquet(folder / "index.parquet")
    return frames


def test_bytes_become_v_over_255(tmp_path):
    frames = np.arange(256, dtype=np.uint8).reshape(256, 1, 1, 1).repeat(2, 2).repeat(3, 3)
    prepare(tmp_path, frames=frames, rows=[("train", "a", 0, 1, 256, "v", 0)])
    clip = Prepared(tmp_path).clips("train").read([0], length=256)
    assert clip.dtype == np.float32 and clip.shape == (1, 256, 1, 2, 3)
    # v / 255 in double precision, rounded once to single precision
    np.testing.assert_array_equal(clip[0, :, 0, 0, 0], (np.arange(256) / 255).astype(np.float32))


def test_physical_values_with_scale_and_offset(tmp_path):
    # Kelvin kept as degC * 2: stored 6 -> 6 * 0.5 + 273 = 276
    frames = np.full((3, 1, 2, 3), 6, np.float32)
    attrs = {**ATTRS, "stored_scale": 0.5, "stored_offset": 273.0}
    prepare(tmp_path, frames=frames, attrs=attrs, rows=[("train", "a", 0, 1, 3, "v", 0)])
    assert (Prepared(tmp_path).clips("train").read([0]) == 276).all()


def test_every_second_or_third_frame_of_a_clip(tmp_path):
    rows = [("robustness", "a", 2, 1, 9, "v1", 0), ("robustness", "b", 1, 2, 9, "v1", 0)]
    frames = prepare(tmp_path, rows=rows)
    by_interval = {n: Prepared(tmp_path).clips("robustness", interval=n) for n in (1, 2, 3)}
    for interval, clips in by_interval.items():
        found = clips.read([0, 1], length=3) * 255
        np.testing.assert_allclose(found[0], frames[[2, 2 + interval, 2 + 2 * interval]], rtol=1e-6)
        np.testing.assert_allclose(found[1], frames[1 : 1 + 6 * interval : 2 * interval][:3])
    # 9 frames: 1st, 3rd, ... 9th are five, 1st, 4th, 7th are three
    assert [list(clips.index["length"]) for clips in by_interval.values()] == [
        [9, 9],
        [5, 5],
        [3, 3],
    ]
    with pytest.raises(StpError, match="3 "):
        by_interval[3].read([0], length=4)


def test_drawn_clips_have_no_frame_interval(tmp_path):
    prepare(tmp_path, attrs={**ATTRS, "random_windows": {"train": 3}})
    with pytest.raises(StpError, match="'train'"):
        Prepared(tmp_path).clips("train", interval=2)


def test_clips_in_any_order_with_stride_and_length(tmp_path):
    frames = prepare(tmp_path)
    clips = Prepared(tmp_path).clips("train")
    assert len(clips) == 2 and not clips.virtual
    both = clips.read([1, 0], length=4) * 255
    np.testing.assert_allclose(both[0], frames[[5, 8, 11, 14]], rtol=1e-6)
    np.testing.assert_allclose(both[1], frames[0:4], rtol=1e-6)
    assert clips.read([0]).shape == (1, 3, 1, 2, 3), "context + horizon by default"
    assert clips.read([]).shape == (0, 3, 1, 2, 3)
    assert clips.phases([1, 0]).tolist() == [5, 0]


def test_splits_clips_and_frames_that_do_not_exist(tmp_path):
    prepare(tmp_path)
    with pytest.raises(StpError, match=r"5 (.|\n)* 4 "):
        Prepared(tmp_path).clips("train").read([1, 0], length=5)
    with pytest.raises(IndexError):
        Prepared(tmp_path).clips("train").read([-1])
    with pytest.raises(StpError, match="'dev'"):
        Prepared(tmp_path).clips("dev")
    with pytest.raises(StpError, match="nowhere"):
        Prepared(tmp_path / "nowhere")
    path = tmp_path / "index.parquet"
    pd.read_parquet(path).drop(columns="cluster").to_parquet(path)
    with pytest.raises(StpError, match="cluster"):
        Prepared(tmp_path)


def test_virtual_clips_are_rendered(tmp_path):
    digits = np.random.default_rng(0).integers(0, 256, (5, 3, 3), np.uint8)
    options = {"seed": 7, "size": 8, "n_digits": 1, "step": 0.2}
    virtual = {"renderer": "moving_digits", "array": "digits", "clips_per_epoch": 6, **options}
    attrs = {**ATTRS, "shape": [1, 8, 8], "virtual": {"train": virtual}}
    frames = np.zeros((3, 1, 8, 8), np.uint8)
    rows = [("test", "a", 0, 1, 3, "a", 0)]
    prepare(tmp_path, frames=frames, attrs=attrs, rows=rows, arrays={"digits": digits})
    clips = Prepared(tmp_path).clips("train")
    assert clips.virtual and len(clips) == 6 and clips.index.empty
    expected = render(digits, np.array([4, 1]), epoch=2, length=3, **options) / np.float32(255)
    np.testing.assert_array_equal(clips.read([4, 1], epoch=2), expected)
    assert clips.phases([4, 1]).tolist() == [0, 0]
    with pytest.raises(IndexError):
        clips.read([6])


def test_a_forked_worker_reads_after_its_parent_has_read(tmp_path):
    prepare(tmp_path)
    clips = Prepared(tmp_path).clips("train")
    expected = clips.read([1, 0])
    fork = multiprocessing.get_context("fork")
    answers = fork.SimpleQueue()
    worker = fork.Process(target=lambda: answers.put(clips.read([1, 0])))
    worker.start()
    np.testing.assert_array_equal(answers.get(), expected)
    worker.join()
    assert worker.exitcode == 0


def test_an_index_that_reaches_beyond_the_frames(tmp_path):
    # last frame of the clip: 10 + (4 - 1) * 4 = 22, but there are 20
    prepare(tmp_path, rows=[("train", "late", 10, 4, 4, "v", 0)])
    with pytest.raises(StpError, match=r"'late'(.|\n)*0\.\.19"):
        Prepared(tmp_path)


@pytest.mark.parametrize("name", ["index.parquet", "frames.zarr/frames/zarr.json"])
def test_a_lost_or_damaged_file(tmp_path, name):
    prepare(tmp_path)
    (tmp_path / name).write_bytes(b"PAR1 and nothing else")
    with pytest.raises(StpError, match=name):
        Prepared(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(StpError, match=name):
        Prepared(tmp_path)


def test_frames_of_another_shape_than_the_attributes_say(tmp_path):
    prepare(tmp_path, attrs={**ATTRS, "shape": [1, 4, 4]})
    with pytest.raises(StpError, match=r"\(1, 2, 3\)(.|\n)*\(1, 4, 4\)"):
        Prepared(tmp_path)


def test_random_windows_of_a_video_depend_on_epoch_and_row_alone(tmp_path):
    # One row per video of 20 frames, of which a clip has 3; frame n is full of n.
    frames = np.repeat(np.arange(40, dtype=np.uint8), 6).reshape(40, 1, 2, 3)
    rows = [("train", "a", 0, 1, 20, "v1", 0), ("train", "b", 20, 1, 20, "v2", 0)]
    attrs = {**ATTRS, "stored_scale": 1.0, "random_windows": {"train": 5}}
    prepare(tmp_path, frames=frames, attrs=attrs, rows=rows)
    clips = Prepared(tmp_path).clips("train")
    drawn = np.array([clips.read([0, 1], epoch=epoch)[:, :, 0, 0, 0] for epoch in range(200)])
    assert (np.diff(drawn, axis=2) == 1).all()  # consecutive frames
    first = drawn[:, :, 0] - [0, 20]
    assert set(first.flat) == set(range(18))  # every window, and none that reaches beyond
    assert (first[:, 0] != first[:, 1]).any()
    alone = clips.read([1], epoch=7)[0, :, 0, 0, 0]
    np.testing.assert_array_equal(alone, drawn[7, 1])


def test_subsets_have_clips_of_their_own(tmp_path):
    rows = [
        ("train", "a", 0, 1, 4, "v1", 0),
        ("strict-train", "b", 4, 1, 4, "v2", 0),
        ("moscow", "c", 8, 1, 4, "v3", 0),
    ]
    prepare(tmp_path, rows=rows)
    data = Prepared(tmp_path)
    assert data.clips("train", "strict").index["clip"].tolist() == ["b"]
    moscow = data.clips("moscow").index
    assert moscow.index.tolist() == [0] and moscow["clip"].tolist() == ["c"]
