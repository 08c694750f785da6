"""Raw files are found by preference and refused when they differ from the lock file."""

import hashlib
import json

import pytest

from stp.core.errors import StpError
from stp.data.raw_files import RawFiles


def lock_of(path, contents):
    entry = {
        n: {"bytes": len(b), "sha256": hashlib.sha256(b).hexdigest()} for n, b in contents.items()
    }
    path.write_text(json.dumps({"dataset": "d", "release": "r", "files": entry}))
    return path


def put(root, name, content):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_the_first_folder_that_has_a_file_wins(tmp_path):
    lock = lock_of(tmp_path / "lock.json", {"d/b": b"bb", "d/a": b"aa"})
    mirror_a, own_b = put(tmp_path / "mirror", "d/a", b"aa"), put(tmp_path / "own", "d/b", b"bb")
    put(tmp_path / "mirror", "d/b", b"bb")
    raw = RawFiles(lock, [tmp_path / "own", tmp_path / "mirror"])
    assert raw.names == ["d/a", "d/b"]
    assert raw.find("d/a") == mirror_a and raw.find("d/b") == own_b
    assert raw.checksums()["d/a"] == hashlib.sha256(b"aa").hexdigest()


@pytest.mark.parametrize(("content", "found"), [(b"aaa", "3 "), (b"ab", "fb8e20fc")])
def test_bytes_that_differ_from_the_lock_file(tmp_path, content, found):
    lock = lock_of(tmp_path / "lock.json", {"d/a": b"aa"})
    put(tmp_path, "d/a", content)
    with pytest.raises(StpError, match=f"d/a: .*{found}"):
        RawFiles(lock, [tmp_path]).find("d/a")


def test_a_missing_file_names_the_folders(tmp_path):
    lock = lock_of(tmp_path / "lock.json", {"d/a": b"aa"})
    with pytest.raises(StpError, match=r"d/a: (.|\n)*own(.|\n)*mirror"):
        RawFiles(lock, [tmp_path / "own", tmp_path / "mirror"]).find("d/a")


def test_a_file_that_the_release_does_not_list(tmp_path):
    lock = lock_of(tmp_path / "lock.json", {"d/a": b"aa"})
    with pytest.raises(StpError, match="d/c: "):
        RawFiles(lock, [tmp_path]).find("d/c")


@pytest.mark.parametrize("content", [None, "", "[]", "{}"])
def test_a_lock_file_that_cannot_be_read(tmp_path, content):
    lock = tmp_path / "lock.json"
    if content is not None:
        lock.write_text(content)
    with pytest.raises(StpError, match=r"lock\.json"):
        RawFiles(lock, [tmp_path])
