"""Arrays written by `zarr_write` are plain Zarr v3, and `zarr_rows` reads the same rows."""

import ast
import pickle
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st

from stp.core.errors import StpError
from stp.core.receipts import RECEIPT, Receipt, RecordedFile, checksum, receipt_text
from stp.data.prepared import Prepared
from stp.data.zarr_read import array_attributes, array_names, read_array, read_decoded
from stp.data.zarr_rows import MappedRows, seal_arrays
from stp.data.zarr_write import SequentialWriter, create_array, create_group
from stp.prepare.output import write_coordinate


def write(path: Path, rows: np.ndarray, *, chunk: int = 3, max_files: int = 4, block: int = 2):
    group = create_group(path, {"units": "1"})
    dims = ("frame", "channel", "y", "x")
    array = create_array(
        group, "frames", rows.shape, rows.dtype, dims, (chunk, *rows.shape[1:]), max_files=max_files
    )
    with SequentialWriter(array) as writer:
        for i in range(0, len(rows), block):
            writer.append(rows[i : i + block])
    return path / "frames"


def numbers(n: int, dtype: str = "uint8") -> np.ndarray:
    # Frames of zeros in between: an all-zero chunk must be written as well.
    rows = np.arange(n * 6, dtype=dtype).reshape(n, 1, 2, 3)
    rows[n // 3 : 2 * n // 3] = 0
    return rows


def test_xarray_reads_the_same_frames_with_named_dimensions(tmp_path):
    rows = numbers(40)
    write(tmp_path / "frames.zarr", rows)
    dataset = xr.open_zarr(tmp_path / "frames.zarr", consolidated=False, chunks=None)
    assert dataset["frames"].dims == ("frame", "channel", "y", "x")
    assert dataset.attrs == {"units": "1"}
    np.testing.assert_array_equal(dataset["frames"], rows)


def test_at_most_max_files_shards(tmp_path):
    # 40 rows in chunks of 3 are 14 chunks; 4 files hold ceil(14 / 4) = 4 chunks each.
    folder = write(tmp_path / "frames.zarr", numbers(40), max_files=4)
    assert len([p for p in (folder / "c").rglob("*") if p.is_file()]) == 4
    assert zarr.open_array(str(folder)).shards == (12, 1, 2, 3)


@settings(max_examples=25, deadline=None)
@given(
    n=st.integers(1, 50),
    chunk=st.integers(1, 7),
    max_files=st.integers(1, 5),
    block=st.integers(1, 60),
    dtype=st.sampled_from(["uint8", "float32", "int64"]),
    cuts=st.tuples(st.integers(0, 50), st.integers(0, 50)),
)
def test_mapped_rows_equal_the_written_rows(
    tmp_path_factory, n, chunk, max_files, block, dtype, cuts
):
    rows = numbers(n, dtype)
    folder = write(
        tmp_path_factory.mktemp("z") / "frames.zarr",
        rows,
        chunk=chunk,
        max_files=max_files,
        block=block,
    )
    start, stop = sorted(min(c, n) for c in cuts)
    mapped = MappedRows(folder)
    assert mapped.dtype == rows.dtype
    np.testing.assert_array_equal(mapped.read(start, stop), rows[start:stop])


def test_an_array_without_rows(tmp_path):
    mapped = MappedRows(write(tmp_path / "frames.zarr", numbers(0)))
    assert mapped.read(0, 0).shape == (0, 1, 2, 3)


def test_rows_beyond_the_array_are_refused(tmp_path):
    mapped = MappedRows(write(tmp_path / "frames.zarr", numbers(10)))
    with pytest.raises(IndexError, match=r"5:11 of 10"):
        mapped.read(5, 11)


def test_a_copy_for_another_process_opens_the_files_anew(tmp_path):
    mapped = MappedRows(write(tmp_path / "frames.zarr", numbers(1000), chunk=500))
    expected = mapped.read(3, 9).copy()
    sent = pickle.dumps(mapped)
    assert len(sent) < 2000, "the rows themselves (6000 bytes) must not travel"
    np.testing.assert_array_equal(pickle.loads(sent).read(3, 9), expected)


@pytest.mark.parametrize("damage", ["missing", "short", "index", "metadata"])
def test_damage_is_an_error_that_names_the_file(tmp_path, damage):
    folder = write(tmp_path / "frames.zarr", numbers(40))
    shard = folder / "c" / "1" / "0" / "0" / "0"
    if damage == "missing":
        shard.unlink()
    elif damage == "short":
        shard.write_bytes(shard.read_bytes()[:-1])
    elif damage == "index":
        content = bytearray(shard.read_bytes())
        content[-4 - 4 * 16] ^= 1  # first offset of four (offset, bytes) pairs, then the CRC
        shard.write_bytes(content)
    else:
        shard = folder / "zarr.json"
        shard.write_text(shard.read_text()[:100])
    with pytest.raises(StpError, match=str(shard)):
        MappedRows(folder)


def test_a_compressed_array_is_refused(tmp_path):
    group = create_group(tmp_path / "frames.zarr", {})
    group.create_array("frames", shape=(4, 2), chunks=(2, 2), dtype="uint8")
    with pytest.raises(StpError, match="frames"):
        MappedRows(tmp_path / "frames.zarr" / "frames")


def test_a_writer_that_was_not_filled_says_so(tmp_path):
    group = create_group(tmp_path / "a.zarr", {})
    writer = SequentialWriter(create_array(group, "a", (4, 2), "uint8", ("n", "x"), (2, 2)))
    writer.append(np.ones((3, 2), np.uint8))
    with pytest.raises(AssertionError):
        writer.close()


def flip_a_bit(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 4
    path.write_bytes(content)


@pytest.mark.parametrize("dtype", ["uint8", "float32", "int64"])
def test_a_flipped_bit_is_an_error_as_soon_as_its_rows_are_read(tmp_path, dtype):
    folder = write(tmp_path / "frames.zarr", numbers(40, dtype))
    MappedRows(folder).seal()
    expected = MappedRows(folder).read(0, 40).copy()
    # Shards have 12 rows and chunks 3: row 17 is in the second shard, in the chunk of rows 15..17.
    shard = folder / "c" / "1" / "0" / "0" / "0"
    flip_a_bit(shard, 5 * 6 * np.dtype(dtype).itemsize)
    mapped = MappedRows(folder)
    for start, stop in ((0, 15), (18, 40)):
        np.testing.assert_array_equal(mapped.read(start, stop), expected[start:stop])
    for start, stop in ((17, 18), (0, 40), (14, 16)):
        with pytest.raises(StpError, match=rf"{shard}: .*15\.\.17"):
            mapped.read(start, stop)
    with pytest.raises(StpError, match=rf"{shard}"):
        pickle.loads(pickle.dumps(mapped)).read(15, 18)


def test_checksums_are_those_of_crc32c_and_other_readers_ignore_them(tmp_path):
    rows = np.frombuffer(b"123456789" * 2, np.uint8).reshape(18, 1, 1, 1)
    folder = write(tmp_path / "frames.zarr", rows, chunk=9)
    MappedRows(folder).seal()
    # 0xE3069283 is the check value of CRC-32C, as RFC 3720 and catalogues of CRCs print it.
    assert (folder / "crc32c").read_bytes() == bytes.fromhex("839206e3") * 2
    np.testing.assert_array_equal(
        xr.open_zarr(tmp_path / "frames.zarr", consolidated=False, chunks=None)["frames"], rows
    )


def test_checksums_of_another_number_of_chunks_are_refused(tmp_path):
    folder = write(tmp_path / "frames.zarr", numbers(40))
    MappedRows(folder).seal()
    (folder / "crc32c").write_bytes(bytes(8))
    with pytest.raises(StpError, match=r"crc32c: 2 (.|\n)*14"):
        MappedRows(folder).read(0, 1)


@pytest.fixture
def artefact(tmp_path) -> Path:
    """A finished artefact with coordinates of numbers, of times and of text."""
    store = tmp_path / "frames.zarr"
    write(store, numbers(40))
    group = zarr.open_group(str(store), mode="r+")
    write_coordinate(group, "lat", "y", np.array([60.0, -60.0]))
    write_coordinate(group, "time", "frame", np.arange(40), units="days since 2000-01-01")
    write_coordinate(group, "channel_units", "channel", np.array(["m s-1"], object))
    seal_arrays(tmp_path)
    files = {
        path.relative_to(tmp_path).as_posix(): RecordedFile(path.stat().st_size, checksum(path))
        for path in sorted(tmp_path.rglob("*"))
        if path.is_file()
    }
    (tmp_path / RECEIPT).write_text(receipt_text(Receipt(fingerprint="f", files=files)))
    return tmp_path


def test_coordinates_are_read_whole(artefact):
    store = artefact / "frames.zarr"
    assert array_names(store) == ["channel_units", "frames", "lat", "time"]
    assert read_array(store / "lat").tolist() == [60.0, -60.0]
    assert read_array(store / "channel_units").tolist() == ["m s-1"]
    assert array_attributes(store / "time") == {"units": "days since 2000-01-01"}
    with xr.open_zarr(store, consolidated=False, chunks=None) as opened:
        np.testing.assert_array_equal(read_decoded(store / "time"), opened["time"])


@pytest.mark.parametrize("name", ["lat", "time", "channel_units"])
@pytest.mark.parametrize("what", ["c", "zarr.json"])
def test_a_flipped_bit_and_a_lost_file_of_a_coordinate_are_errors(artefact, name, what):
    folder = artefact / "frames.zarr" / name
    (path,) = [p for p in folder.rglob("*") if p.is_file() and what in p.relative_to(folder).parts]
    flip_a_bit(path, 1 if what == "c" else path.read_bytes().index(b"[") + 1)
    with pytest.raises(StpError, match=rf"{path}: .*damaged"):
        read_array(folder)
    path.unlink()
    with pytest.raises(StpError, match=str(path)):
        read_array(folder)


def test_flipped_attributes_are_an_error(artefact):
    """Such as the factor from stored values to units."""
    path = artefact / "frames.zarr" / "zarr.json"
    flip_a_bit(path, path.read_bytes().index(b'"1"') + 1)
    with pytest.raises(StpError, match=rf"{path}: .*damaged"):
        Prepared(artefact)


OPENERS = {"open", "open_array", "open_group", "open_consolidated", "open_zarr", "load"}
OPEN_ELSEWHERE = {
    "data/zarr_read.py": "the way to open an array of ours",
    "prepare/frames.py": "opens what it is writing",
    "datasets/chaosbench/generator.py": "writes",
    "data/daily_fields.py": "raw files, which the lock verifies",
    "datasets/chaosbench/levels.py": "raw files, which the lock verifies",
    "prepare/own/field_files.py": "files of others: raw ones, which the lock verifies; forecasts",
    "external/submitted.py": "a store of somebody else, without checksums",
}


def test_no_other_module_opens_arrays():
    """Zarr and xarray compare no checksums of ours."""
    package = Path(__file__).parents[2] / "stp"
    found = set()
    for path in package.rglob("*.py"):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if "zarr" in text else ():
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("zarr"):
                opens = bool(OPENERS & {alias.name for alias in node.names})
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                of_zarr = node.value.id == "zarr" and node.attr in OPENERS
                opens = of_zarr or (node.value.id in ("xr", "xarray") and node.attr == "open_zarr")
            else:
                opens = False
            if opens:
                found.add(path.relative_to(package).as_posix())
    assert found == set(OPEN_ELSEWHERE)
