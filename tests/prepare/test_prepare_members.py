"""Raw files are found and read alike, whether they lie there or in an archive."""

import io
import tarfile
import zipfile

import pytest

from stp.core.errors import StpError
from stp.data.raw_files import RawFiles
from stp.prepare.members import find, member_location, read

CONTENTS = {"train/a/1.png": b"one", "train/b/2.png": b"two" * 1000, "val/a/1.png": b"three"}


def as_files(root):
    for name, content in CONTENTS.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)


def as_zip(root):
    with zipfile.ZipFile(root / "all.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.mkdir("top/train")
        for name, content in CONTENTS.items():
            archive.writestr(f"top/{name}", content)


def as_tar(root):
    with tarfile.open(root / "all.tar", "w") as archive:
        for name, content in CONTENTS.items():
            entry = tarfile.TarInfo(f"./{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))


@pytest.fixture
def raw_of(tmp_path, make_job):
    def make(*pack):
        (tmp_path / "raw").mkdir()
        for one in pack:
            one(tmp_path / "raw")
        job = make_job("d", [1, 2, 2], {})
        return RawFiles(job.inputs["raw"], job.runtime["raw_roots"])

    return make


@pytest.mark.parametrize("pack", [as_files, as_zip, as_tar])
def test_members_are_found_by_the_end_of_their_path(raw_of, pack):
    raw = raw_of(pack)
    found = find(raw, r"(train|val)/(\w+)/(\d+)\.png")
    assert list(found) == [("train", "a", "1"), ("train", "b", "2"), ("val", "a", "1")]
    assert read(raw, found["train", "b", "2"]) == b"two" * 1000
    assert read(raw, found["val", "a", "1"]) == b"three"
    assert member_location(raw, found["val", "a", "1"]).endswith("val/a/1.png")


def test_files_win_over_archives(raw_of):
    raw = raw_of(as_files, as_zip, as_tar)
    assert {member.inside for member in find(raw, r"(\w+)/a/1\.png").values()} == {None}


@pytest.mark.parametrize(
    ("pack", "length"), [(as_zip, 0), (as_zip, 200), (as_tar, 100), (as_tar, 1024), (as_tar, 1400)]
)
def test_a_damaged_archive_is_named(raw_of, pack, length):
    def damaged(root):
        pack(root)
        path = next(root.iterdir())
        path.write_bytes(path.read_bytes()[:length])

    raw = raw_of(damaged)
    with pytest.raises(StpError, match=r"all\.(zip|tar)"):
        for member in find(raw, r"(\w+)/(\w+)/(\d)\.png").values():
            read(raw, member)


def test_an_archive_behind_another_is_not_passed_over(raw_of):
    def two(root):
        as_tar(root)
        path = root / "all.tar"
        path.write_bytes(2 * path.read_bytes())

    with pytest.raises(StpError, match=r"all\.tar"):
        find(raw_of(two), r"(\w)/(\d)\.png")


def sparse(root):
    """As GNU tar packs holes (tar -S): a map of what is there, and then only that."""
    content = b"1\n3\n2\n".ljust(512, b"\0") + b"ab"
    with tarfile.open(root / "all.tar", "w", format=tarfile.PAX_FORMAT) as archive:
        for name, headers in (
            (
                "train/a/1.png",
                {"major": "1", "minor": "0", "name": "train/a/1.png", "realsize": "9"},
            ),
            ("train/b/2.png", {}),
        ):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            entry.pax_headers = {f"GNU.sparse.{key}": value for key, value in headers.items()}
            archive.addfile(entry, io.BytesIO(content))


def test_a_file_packed_without_its_zeros_is_not_read_as_if_it_had_them(raw_of):
    with pytest.raises(StpError, match=r"all\.tar: .*train/a/1\.png"):
        raw = raw_of(sparse)
        raise AssertionError(read(raw, find(raw, r"(\w)/(\d)\.png")["a", "1"]))


def test_a_damaged_member_is_named(raw_of):
    def damaged(root):
        as_zip(root)
        content = bytearray((root / "all.zip").read_bytes())
        at = content.index(b"top/train/b/2.png") + len(b"top/train/b/2.png")
        content[at + 3] ^= 0xFF
        (root / "all.zip").write_bytes(bytes(content))

    raw = raw_of(damaged)
    with pytest.raises(StpError, match=r"all\.zip: top/train/b/2\.png"):
        read(raw, find(raw, r"train/b/(\d)\.png")["2",])
