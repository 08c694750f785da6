"""Our list of a zip archive against that of Python's zipfile."""

import tracemalloc
import zipfile

import pytest

from stp.core.errors import StpError
from stp.prepare.zip_index import entries, read_entry

FILES = {"a/im_0.jpg": b"stored" * 10, "a/ä.txt": b"", "b/long": bytes(5000), "b/x": b"x" * 200}


def pack(path, comment=b"", large=False, monkeypatch=None):
    if large:  # as if these were beyond 4 GB and 65,535 files
        monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 20)
        monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 2)
    with zipfile.ZipFile(path, "w") as archive:
        archive.mkdir("a")
        for i, (name, content) in enumerate(FILES.items()):
            kind = zipfile.ZIP_DEFLATED if i % 2 == 0 else zipfile.ZIP_STORED
            archive.writestr(name, content, kind)
        archive.comment = comment
    return path


@pytest.mark.parametrize("comment", [b"", b"a comment", b"c" * 60000])
@pytest.mark.parametrize("large", [False, True])
def test_everything_is_found_and_read(tmp_path, monkeypatch, comment, large):
    path = pack(tmp_path / "x.zip", comment, large, monkeypatch)
    found = dict(entries(path))
    assert {name: read_entry(path, entry, name) for name, entry in found.items()} == FILES
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if not info.is_dir():
                entry = found[info.filename]
                assert entry.offset == info.header_offset
                assert (entry.packed, entry.bytes) == (info.compress_size, info.file_size)
                assert entry.crc == info.CRC


def test_an_archive_of_nothing_holds_nothing(tmp_path):
    """It is nothing but its end."""
    with zipfile.ZipFile(tmp_path / "x.zip", "w"):
        pass
    assert dict(entries(tmp_path / "x.zip")) == {}


def test_large_sizes_are_in_the_zip64_field(tmp_path, monkeypatch):
    """The archive above really uses ZIP64: its 32-bit fields are all ones."""
    content = pack(tmp_path / "x.zip", large=True, monkeypatch=monkeypatch).read_bytes()
    assert b"PK\x06\x06" in content and b"PK\x06\x07" in content
    first = content.index(b"PK\x01\x02", content.index(b"PK\x01\x02") + 1)  # after the folder
    assert content[first + 24 : first + 28] == b"\xff\xff\xff\xff"


def test_memory_does_not_grow_with_the_list(tmp_path):
    """Blocks of the list are let go of; zipfile needs about 600 bytes a file."""
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for i in range(5000):
            archive.writestr(f"{'folder/' * 30}{i}", b"")
    tracemalloc.start()
    assert sum(1 for _ in entries(path)) == 5000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert path.stat().st_size > 2e6
    assert peak < 5000 * 600


@pytest.mark.parametrize("content", [b"", b"PK but no zip", b"PK\x05\x06", bytes(100_000)])
def test_what_is_no_archive(tmp_path, content):
    (tmp_path / "x.zip").write_bytes(content)
    with pytest.raises(StpError, match=r"x\.zip"):
        list(entries(tmp_path / "x.zip"))


def test_an_archive_that_is_cut_off(tmp_path):
    path = pack(tmp_path / "x.zip")
    content = path.read_bytes()
    path.write_bytes(content[100:])
    with pytest.raises(StpError, match=r"x\.zip"):
        list(entries(path))
    path.write_bytes(content[:-30])
    with pytest.raises(StpError, match=r"x\.zip"):
        list(entries(path))


def test_a_damaged_file_in_an_archive(tmp_path):
    path = pack(tmp_path / "x.zip")
    found = dict(entries(path))
    content = bytearray(path.read_bytes())
    content[content.index(b"x" * 200) + 100] ^= 1
    path.write_bytes(content)
    for name, listed, named in (
        ("b/x", {}, "b/x"),
        ("b/x", {"offset": 7}, "b/x"),
        ("b/x", {"method": 99}, "b/x.*99"),
        ("b/x", {"packed": 10**6}, "b/x"),
        ("b/long", {"bytes": 100}, "b/long"),
        ("b/x", {"packed": 2**40}, "268435456"),
        ("b/x", {"offset": 2**63}, r"x\.zip"),
    ):
        with pytest.raises(StpError, match=named):
            read_entry(path, found[name]._replace(**listed), name)
