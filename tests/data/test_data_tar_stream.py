"""Folders of a tar stream in parts come out whole, and a stream that ends early is an error."""

import gzip
import io
import tarfile
from pathlib import Path

import pytest

from stp.core.errors import StpError
from stp.data.tar_stream import folders

FILES = {
    "top/b_2.zarr/x/0": b"0123",
    "top/b_2.zarr/.zgroup": b"{}",
    "top/readme.txt": b"beside",
    "top/a_1.zarr/x/0": b"4567",
}


def packed(files: dict[str, bytes], *, ends: bool = True) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
        whole = buffer.tell()
    return gzip.compress(buffer.getvalue() if ends else buffer.getvalue()[:whole])


def parts(tmp_path: Path, content: bytes, size: int = 50) -> list[Path]:
    found = []
    for at in range(0, len(content), size):
        found.append(tmp_path / f"x.tar.gz.{at:04d}")
        found[-1].write_bytes(content[at : at + size])
    return found


def everything(name: str) -> bool:
    return True


def test_folders_come_in_the_order_of_the_stream(tmp_path: Path) -> None:
    several = parts(tmp_path, packed(FILES))
    assert len(several) > 3
    found = list(folders(several, everything, suffix=".zarr"))
    assert [one.name for one in found] == ["b_2.zarr", "a_1.zarr"]
    assert found[0].files == {"x/0": b"0123", ".zgroup": b"{}"}
    assert found[1].files == {"x/0": b"4567"}


def test_only_what_is_wanted_comes(tmp_path: Path) -> None:
    several = parts(tmp_path, packed(FILES))
    found = folders(several, lambda name: name.startswith("a"), suffix=".zarr")
    assert [one.name for one in found] == ["a_1.zarr"]


def test_one_folder_at_a_time_lies_aside(tmp_path: Path) -> None:
    several, aside = parts(tmp_path, packed(FILES)), tmp_path / "aside"
    for folder in folders(several, everything, suffix=".zarr", aside=aside):
        assert folder.aside is not None and (folder.aside / "x/0").is_file()
        assert [path.name for path in aside.iterdir()] == [folder.name]
    assert list(aside.iterdir()) == []


@pytest.mark.parametrize("lost", [1, 8, 60, 120])
def test_a_stream_that_ends_early_is_an_error_after_what_was_whole(
    tmp_path: Path, lost: int
) -> None:
    several = parts(tmp_path, packed(FILES)[:-lost])
    with pytest.raises(StpError, match=r"x\.tar\.gz"):
        list(folders(several, everything, suffix=".zarr"))


def test_an_archive_that_was_cut_before_it_was_packed_is_an_error(tmp_path: Path) -> None:
    """The gzip stream is whole, so that only the missing end of the tar archive tells."""
    several = parts(tmp_path, packed(FILES, ends=False))
    with pytest.raises(StpError, match=r"x\.tar\.gz"):
        list(folders(several, everything, suffix=".zarr"))


def test_files_of_a_folder_that_do_not_lie_side_by_side(tmp_path: Path) -> None:
    files = {**FILES, "top/b_2.zarr/y/0": b"89"}
    with pytest.raises(StpError, match=r"b_2\.zarr"):
        list(folders(parts(tmp_path, packed(files)), everything, suffix=".zarr"))


def test_a_name_that_leaves_its_folder(tmp_path: Path) -> None:
    several = parts(tmp_path, packed({"top/a.zarr/../../x": b"1"}))
    with pytest.raises(StpError, match=r"\.\./x"):
        list(folders(several, everything, suffix=".zarr", aside=tmp_path / "aside"))
