"""Arrays in HDF5 files: what is read, and what is refused."""

import h5py
import numpy as np
import pytest

from stp.core.errors import StpError
from stp.prepare.hdf5 import open_array, read


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["env/values"] = np.arange(12.0).reshape(3, 4)
        file["swapped"] = np.arange(3, dtype=">i2")
        file["text"] = np.array(["ab", "cd"], "S2")
        file["words"] = ["one", "another"]
        file["empty"] = h5py.Empty("f4")
        noise = np.random.default_rng(0).integers(0, 255, (8, 1000), np.uint8)
        file.create_dataset("packed", data=noise, chunks=(1, 1000), compression="gzip")
    return path


def test_a_part_is_read(path):
    with open_array(path, "env/values", ndim=2, dtypes=("float64",)) as dataset:
        assert dataset.shape == (3, 4)
        np.testing.assert_array_equal(read(dataset, np.s_[1:, :2], path), [[4.0, 5.0], [8.0, 9.0]])


def test_either_byte_order_text_and_words(path):
    with open_array(path, "swapped", ndim=1, dtypes=("int16",)) as dataset:
        assert read(dataset, slice(None), path).tolist() == [0, 1, 2]
    with open_array(path, "text", ndim=1, dtypes=("bytes",)) as dataset:
        assert read(dataset, slice(None), path).tolist() == [b"ab", b"cd"]
    with open_array(path, "words", ndim=1, dtypes=("object",)) as dataset:
        assert read(dataset, slice(None), path).tolist() == [b"one", b"another"]


@pytest.mark.parametrize(
    ("name", "ndim", "dtypes", "message"),
    [
        ("values", 1, ("float64",), "'values'.*empty, env, packed"),
        ("env", 1, ("float64",), "'env'"),
        ("env/values", 3, ("float64",), r"float64 .*\(3, 4\)[^$]* 3 "),
        ("env/values", 2, ("uint8",), r"float64 .*\(3, 4\)[^$]*uint8"),
        ("empty", 1, ("float32",), "float32 .*None"),
    ],
)
def test_another_array_than_expected(path, name, ndim, dtypes, message):
    with (
        pytest.raises(StpError, match=message) as caught,
        open_array(path, name, ndim=ndim, dtypes=dtypes),
    ):
        pass
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("how", ["virtual", "external", "link"])
@pytest.mark.parametrize("is_there", [True, False])
def test_values_in_other_files(path, tmp_path, how, is_there):
    other = tmp_path / "other.h5"
    with h5py.File(other, "w") as file:
        file["values"] = np.ones((3, 4))
    with h5py.File(path, "a") as file:
        if how == "virtual":
            layout = h5py.VirtualLayout((3, 4), "f8")
            layout[:] = h5py.VirtualSource(str(other), "values", (3, 4))
            file.create_virtual_dataset("x", layout)
        elif how == "external":
            file.create_dataset("x", (3, 4), "f8", external=[(str(other), 0, 96)])
        else:
            file["x"] = h5py.ExternalLink(str(other), "values")
    if not is_there:
        other.unlink()
    with (
        pytest.raises(StpError, match=r"a\.h5: .* '?x\b"),
        open_array(path, "x", ndim=2, dtypes=("float64",)),
    ):
        pass


@pytest.mark.parametrize("content", [b"", b"not HDF5", None, "half"])
def test_files_that_are_damaged(path, content):
    whole = path.read_bytes()
    path.unlink() if content is None else path.write_bytes(
        whole[: len(whole) // 2] if content == "half" else content
    )
    with (
        pytest.raises(StpError, match=r"a\.h5"),
        open_array(path, "env/values", ndim=2, dtypes=("float64",)),
    ):
        pass


def test_a_damaged_block_is_found_when_it_is_read(path):
    with h5py.File(path) as file:
        block = file["packed"].id.get_chunk_info(5)
    content = bytearray(path.read_bytes())
    content[block.byte_offset + 20 : block.byte_offset + 40] = bytes(20)
    path.write_bytes(bytes(content))
    with open_array(path, "packed", ndim=2, dtypes=("uint8",)) as dataset:
        assert read(dataset, 4, path).shape == (1000,)
        with pytest.raises(StpError, match=r"a\.h5: /packed"):
            read(dataset, 5, path)


def test_other_errors_pass_unchanged(path):
    with (
        pytest.raises(ZeroDivisionError),
        open_array(path, "swapped", ndim=1, dtypes=("int16",)),
    ):
        raise ZeroDivisionError
