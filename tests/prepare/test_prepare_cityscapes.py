"""CityScapes from small snippets made here, and from generated ones."""

import numpy as np
import pytest
import xarray as xr

from stp.core.errors import StpError
from stp.data.prepared import Prepared
from stp.datasets.cityscapes.reader import count, find_snippets, run
from stp.fetch.film_write import encode_picture
from stp.prepare.members import Member
from stp.prepare.planned_counts import Lists

ANY = {"snippets": None}


def png(grey, height=8, width=16):
    picture = np.zeros((height, width, 3), np.uint8)
    # the square in the middle is grey, what is left and right of it is red
    picture[..., 0] = 255
    picture[:, (width - height) // 2 : (width + height) // 2] = grey
    return encode_picture(picture)


def write_snippet(root, split, city, sequence, first, grey=0):
    folder = root / "cityscapes" / "leftImg8bit_sequence" / split / city
    folder.mkdir(parents=True, exist_ok=True)
    for n in range(30):
        name = f"{city}_{sequence:06d}_{first + n:06d}_leftImg8bit.png"
        (folder / name).write_bytes(png(grey + n))


@pytest.fixture
def raw(tmp_path):
    root = tmp_path / "raw"
    write_snippet(root, "train", "aachen", 0, 0, 10)
    write_snippet(root, "train", "hamburg", 0, 23, 50)  # two blocks of one long sequence,
    write_snippet(root, "train", "hamburg", 0, 53, 80)  # even without a gap between them
    write_snippet(root, "val", "ulm", 1, 0, 120)
    write_snippet(root, "test", "bonn", 0, 0, 150)
    return root


def snippet(root, split="test", city="bonn"):
    return sorted((root / "cityscapes" / "leftImg8bit_sequence" / split / city).iterdir())


def test_windows_and_values(make_job, raw):
    job = make_job("cityscapes", [3, 4, 4], ANY, context=2, horizon=5)
    extras = run(job)
    # windows of 7 in 30 frames, every 10: 0, 10, 20; of the test the first only
    assert extras["clips"] == {"train": 9, "val": 3, "test": 1}
    assert extras["clusters"] == {"train": 3, "val": 1, "test": 1}
    data = Prepared(job.out)
    index = data.index[data.index["split"] == "train"]
    assert index["clip"].tolist()[3:6] == [f"hamburg_000000_000023/{s}" for s in ("00", "10", "20")]
    assert index["start"].tolist() == [0, 10, 20, 30, 40, 50, 60, 70, 80]
    frames = np.rint(data.clips("train").read(range(9)) * 255).astype(int)
    assert frames.shape == (9, 7, 3, 4, 4)
    firsts = [10, 20, 30, 50, 60, 70, 80, 90, 100]
    # nothing of the red borders: the middle was cut out before it was resized
    np.testing.assert_array_equal(
        frames, np.broadcast_to(np.add.outer(firsts, range(7))[..., None, None, None], frames.shape)
    )
    test = np.rint(data.clips("test").read([0])[0, :, 1, 2, 2] * 255)
    np.testing.assert_array_equal(test, range(150, 157))
    assert data.attrs["fps"] == 17
    assert (
        xr.open_zarr(job.out / "frames.zarr", consolidated=False, chunks=None)["frames"].dtype
        == np.uint8
    )


def test_the_published_numbers_follow_from_the_rule():
    recipe = {"options": {}, "context": 2, "horizon": 5}
    assert count(recipe, Lists([])).numbers == {"train": 8925, "val": 1500, "test": 1525}
    planned = count({"options": ANY, "context": 2, "horizon": 5}, Lists([]))
    assert not planned.numbers and set(planned.unknown) == {"train", "val", "test"}


def test_a_missing_frame(make_job, raw):
    snippet(raw)[12].unlink()
    with pytest.raises(StpError, match=r"bonn_000000 .*12 .*000012"):
        run(make_job("cityscapes", [3, 4, 4], ANY))


def test_a_missing_snippet_in_one_of_two_blocks():
    names = [("train", "ulm", "000000", f"{n:06d}") for n in (*range(30), *range(49, 79))]
    pictures = {name: Member("x") for name in names}
    assert [s.name for s in find_snippets(pictures)] == ["ulm_000000_000000", "ulm_000000_000049"]
    with pytest.raises(StpError, match=r"29 .*000050"):
        list(find_snippets({name: Member("x") for name in names if name[3] != "000049"}))
