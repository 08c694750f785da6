"""The generated MNIST files have the official idx format, asserted without our reader."""

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from stp.datasets.moving_mnist.generator import enlarge
from stp.fetch.raw import run_generator


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("raw") / "made"
    run_generator("moving_mnist", {}, out)
    return out / "mnist"


def images(path: Path) -> np.ndarray:
    content = gzip.decompress(path.read_bytes())
    magic, count, height, width = struct.unpack(">IIII", content[:16])
    assert (magic, height, width) == (2051, 28, 28)
    assert len(content) == 16 + count * 784
    return np.frombuffer(content, np.uint8, offset=16).reshape(count, 28, 28)


def labels(path: Path) -> np.ndarray:
    content = gzip.decompress(path.read_bytes())
    magic, count = struct.unpack(">II", content[:8])
    assert magic == 2049
    assert len(content) == 8 + count
    return np.frombuffer(content, np.uint8, offset=8)


def test_the_four_files_are_idx_files(made: Path) -> None:
    # load_digits has 1797 images, 297 of them for testing
    assert images(made / "train-images-idx3-ubyte.gz").shape == (1500, 28, 28)
    assert images(made / "t10k-images-idx3-ubyte.gz").shape == (297, 28, 28)
    digits = [labels(made / f"{part}-labels-idx1-ubyte.gz") for part in ("train", "t10k")]
    together = np.bincount(np.concatenate(digits))
    np.testing.assert_array_equal(together, np.bincount(load_digits().target))


def test_smaller_pictures_hold_the_whole_digit() -> None:
    for scan in load_digits().images[:20] / 16:
        digit = enlarge(scan, 16)
        assert digit.shape == (16, 16) and digit.max() == 255
        assert digit[:, [0, -1]].max() == digit[[0, -1]].max() == 0
        # a box of 11 pixels, 20 of 28
        assert 9 <= np.ptp(np.argwhere(digit > 64), axis=0).max() + 1 <= 12


def test_no_source_image_is_in_both_parts(made: Path) -> None:
    unique = {image.tobytes() for image in map(enlarge, load_digits().images / 16)}
    train = {image.tobytes() for image in images(made / "train-images-idx3-ubyte.gz")}
    test = {image.tobytes() for image in images(made / "t10k-images-idx3-ubyte.gz")}
    assert train | test == unique
    assert not train & test


def test_a_folder_made_by_another_process_is_kept(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "theirs").write_text("finished first")
    run_generator("moving_mnist", {"test_images": 20, "side": 12}, tmp_path / "raw")
    assert [path.name for path in tmp_path.rglob("*")] == ["raw", "theirs"]
