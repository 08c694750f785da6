"""Files are read once; whatever changes them makes them be read again."""

import hashlib
import json
import os
import pickle
from pathlib import Path

import pytest

from stp.core.errors import StpError
from stp.data.known_checksums import RECENT_NS, KnownChecksums
from stp.data.raw_files import RawFiles

SHA = hashlib.sha256(b"aa").hexdigest()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of last year, so not one that may be written right now."""
    path = tmp_path / "raw" / "a"
    path.parent.mkdir()
    path.write_bytes(b"aa")
    age(path)
    return path


def age(path: Path, seconds: int = 30_000_000) -> None:
    then = path.stat().st_mtime_ns - seconds * 10**9
    os.utime(path, ns=(then, then))


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    path = tmp_path / "official.lock.json"
    path.write_text(json.dumps({"files": {"a": {"bytes": 2, "sha256": SHA}}}))
    return path


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What RawFiles reads."""
    digest, names = hashlib.file_digest, []

    def counted(file, name):
        names.append(file.name)
        return digest(file, name)

    monkeypatch.setattr("stp.data.raw_files.hashlib.file_digest", counted)
    return names


def test_a_file_is_read_once_for_all_processes(file, lock, reads) -> None:
    for _ in range(3):
        assert RawFiles(lock, [file.parent]).find("a") == file
    again = pickle.loads(pickle.dumps(RawFiles(lock, [file.parent])))
    assert again.find("a") == file
    assert reads == [str(file)]


@pytest.mark.parametrize("keep_time", [False, True])
def test_a_changed_file_is_read_again_and_refused(file, lock, reads, keep_time) -> None:
    RawFiles(lock, [file.parent]).find("a")
    then = file.stat()
    file.write_bytes(b"bb")
    if keep_time:  # as copying programs do; the time of the last change to its entry stays
        os.utime(file, ns=(then.st_atime_ns, then.st_mtime_ns))
    with pytest.raises(StpError, match=SHA[:8]):
        RawFiles(lock, [file.parent]).find("a")
    assert len(reads) == 2


def test_a_replaced_file_is_read_again(file, lock, reads) -> None:
    RawFiles(lock, [file.parent]).find("a")
    other = file.with_name("b")
    other.write_bytes(b"aa")
    age(other)
    other.replace(file)
    RawFiles(lock, [file.parent]).find("a")
    assert len(reads) == 2


def test_a_file_that_may_still_be_written_is_not_remembered(file, lock, reads) -> None:
    assert RECENT_NS == 2 * 10**9
    file.write_bytes(b"aa")  # now
    for _ in range(2):
        RawFiles(lock, [file.parent]).find("a")
    assert len(reads) == 2


def test_a_file_that_changes_while_it_is_read_is_not_remembered(file, tmp_path) -> None:
    known = KnownChecksums(tmp_path / "known")
    seen = file.stat()
    file.write_bytes(b"bb")
    age(file)
    known.add(file, seen, SHA)
    assert known.get(file, file.stat()) is None
    assert not known.path.exists()


def test_a_lock_with_other_bytes_is_not_satisfied_by_what_is_known(file, lock, reads) -> None:
    RawFiles(lock, [file.parent]).find("a")
    lock.write_text(json.dumps({"files": {"a": {"bytes": 2, "sha256": "0" * 64}}}))
    with pytest.raises(StpError, match=SHA[:8]):
        RawFiles(lock, [file.parent]).find("a")


def test_torn_and_damaged_lines_are_ignored(file, tmp_path) -> None:
    known = KnownChecksums(tmp_path / "known")
    known.add(file, file.stat(), SHA)
    line = known.path.read_text()
    damaged = line.replace(SHA, "0" * 64)
    for text in (line[:50], line[:-3] + "\n", damaged, "\n", "garbage\n", line[:50] + line):
        known.path.write_text(text)
        assert KnownChecksums(known.path).get(file, file.stat()) is None, text
    known.path.write_text("garbage\n" + damaged + line)
    assert KnownChecksums(known.path).get(file, file.stat()) == SHA


def test_a_store_that_cannot_be_written_forgets(file, tmp_path, monkeypatch) -> None:
    (tmp_path / "there").write_text("a file where a folder should be")
    known = KnownChecksums(tmp_path / "there" / "known")
    known.add(file, file.stat(), SHA)
    assert known.get(file.with_name("other"), file.stat()) is None
    assert KnownChecksums(known.path).get(file, file.stat()) is None
    known.forget()


def test_two_processes_add_lines_to_one_file(file, tmp_path) -> None:
    one, two = KnownChecksums(tmp_path / "known"), KnownChecksums(tmp_path / "known")
    other = file.with_name("ü\udcff")  # a name that is not UTF-8
    other.write_bytes(b"bb")
    age(other)
    one.add(file, file.stat(), SHA)
    two.add(other, other.stat(), "1" * 64)
    third = KnownChecksums(tmp_path / "known")
    assert third.get(file, file.stat()) == SHA
    assert third.get(other, other.stat()) == "1" * 64
    third.forget()
    assert third.get(file, file.stat()) is None


def test_a_raw_file_that_cannot_be_read_is_one_error(file, lock, monkeypatch) -> None:
    def refuse(*args: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("stp.data.raw_files.hashlib.file_digest", refuse)
    with pytest.raises(StpError, match="Input/output error"):
        RawFiles(lock, [file.parent]).find("a")
