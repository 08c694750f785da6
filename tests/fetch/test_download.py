"""Downloads survive the faults of real servers, or say why not."""

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from stp.disk import write_text_once
from stp.errors import StpError
from stp.fetch import download
from stp.fetch.raw import fetch

CONTENT = bytes(range(256)) * 20  # 5120 bytes
SHA = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def get(tmp_path: Path, server):
    """Fetch one file from the server into ``tmp_path/raw``; returns its bytes."""
    server.files["/a.bin"] = CONTENT

    def get(**declared: object) -> bytes:
        entry = {"path": "toy/a.bin", "url": f"{server.url}/a.bin", **declared}
        fetch(
            {"source": "official", "files": [entry]},
            dataset="toy",
            name="official",
            roots=[tmp_path / "raw"],
            lock=tmp_path / "lock.json",
            report=lambda what, done, total: steps.append((what, done, total)),
        )
        return (tmp_path / "raw/toy/a.bin").read_bytes()

    steps: list[tuple[str, int, int]] = []
    get.steps = steps
    return get


def put_part(folder: Path, content: bytes, version: str = "") -> None:
    (folder / "raw/toy").mkdir(parents=True)
    (folder / "raw/toy/a.bin.part").write_bytes(content)
    if version:
        (folder / "raw/toy/a.bin.part.version").write_text(version)


def test_a_cut_connection_is_resumed_where_it_broke(get, server) -> None:
    server.faults = [("cut", 1000), ("cut", 500)]
    assert get(sha256=SHA) == CONTENT
    assert server.ranges == [None, "bytes=1000-", "bytes=1500-"]


def test_the_part_of_an_earlier_run_is_resumed(get, server, tmp_path: Path) -> None:
    put_part(tmp_path, CONTENT[:3000], version=server.etag)
    assert get() == CONTENT
    assert server.ranges == ["bytes=3000-"]
    assert get.steps[0] == ("download a.bin", 5120, 5120)


def test_parts_of_two_versions_are_never_joined(get, server, tmp_path: Path) -> None:
    put_part(tmp_path, b"old" * 100, version='"v0"')
    assert get() == CONTENT  # If-Range fails, so the server sends everything
    assert server.ranges == ["bytes=300-"]


def test_without_version_and_checksum_a_part_is_not_trusted(get, server, tmp_path: Path) -> None:
    server.etag = None
    put_part(tmp_path, b"anything")
    assert get() == CONTENT
    assert server.ranges == [None]


def test_a_server_that_cannot_resume_starts_over(get, server) -> None:
    server.faults = [("cut", 1000), ("no range",)]
    assert get(sha256=SHA) == CONTENT


def test_a_complete_part_needs_no_request(get, server, tmp_path: Path) -> None:
    put_part(tmp_path, CONTENT, version=server.etag)
    assert get(bytes=5120) == CONTENT
    assert server.ranges == []


def test_a_complete_part_of_unknown_size_is_recognised(get, server, tmp_path: Path) -> None:
    put_part(tmp_path, CONTENT, version=server.etag)
    assert get() == CONTENT  # the server answers 416: nothing beyond
    assert server.ranges == ["bytes=5120-"]


def test_a_busy_server_is_asked_again(get, server) -> None:
    server.faults = [("status", 503), ("status", 429), ("status", 500)]
    assert get() == CONTENT
    assert len(server.ranges) == 4


def test_a_server_that_stays_busy_is_given_up(get, server) -> None:
    server.faults = [("status", 503)] * 20
    with pytest.raises(StpError, match="503") as caught:
        get()
    assert len(server.ranges) == download.ATTEMPTS
    assert "toy/a.bin" in caught.value.remedy


def test_progress_is_not_a_failure(get, server) -> None:
    server.faults = [("cut", 100)] * 40  # more cuts than ATTEMPTS, but each brings new bytes
    assert get(sha256=SHA) == CONTENT


def test_a_missing_file_is_not_asked_for_again(get, server) -> None:
    server.files.clear()
    with pytest.raises(StpError, match="404"):
        get()
    assert len(server.ranges) == 1


def test_a_server_that_is_not_there_is_given_up(get, server, tmp_path: Path) -> None:
    with pytest.raises(StpError, match="could not be downloaded"):
        get(url="http://127.0.0.1:9/nobody")  # the discard port; nothing listens


def test_wrong_bytes_are_not_kept(get, server, tmp_path: Path) -> None:
    server.files["/a.bin"] = CONTENT[::-1]
    with pytest.raises(StpError, match="not the expected ones") as caught:
        get(sha256=SHA)
    assert server.url in caught.value.what
    assert list((tmp_path / "raw/toy").iterdir()) == []
    assert not (tmp_path / "lock.json").exists()


def test_another_size_is_noticed_before_the_download(get, server) -> None:
    with pytest.raises(StpError, match="offers 5120 bytes"):
        get(bytes=9999)
    assert get.steps == []


def test_a_lock_protects_against_a_changed_server(get, server, tmp_path: Path) -> None:
    get()
    lock = json.loads((tmp_path / "lock.json").read_text())
    (tmp_path / "raw/toy/a.bin").unlink()
    server.files["/a.bin"] = CONTENT[::-1]
    with pytest.raises(StpError, match="not the expected ones"):
        get()
    assert not (tmp_path / "raw/toy/a.bin").exists()
    assert json.loads((tmp_path / "lock.json").read_text()) == lock


def test_two_downloads_of_the_same_file_do_not_mix(server, tmp_path: Path) -> None:
    server.files["/a.bin"] = CONTENT
    entry = {"path": "toy/a.bin", "url": f"{server.url}/a.bin"}

    def get(number: int) -> None:
        fetch(
            {"source": "official", "files": [entry]},
            dataset="toy",
            name="official",
            roots=[tmp_path / "raw"],
            lock=tmp_path / f"{number}.lock.json",
        )

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(get, range(4)))
    assert len(server.ranges) == 1  # the others waited for the first
    locks = {(tmp_path / f"{number}.lock.json").read_text() for number in range(4)}
    assert len(locks) == 1
    assert SHA in locks.pop()


def test_a_text_is_written_once(tmp_path: Path) -> None:
    path = tmp_path / "new" / "lock.json"
    assert write_text_once(path, "first")
    assert not write_text_once(path, "second")
    assert path.read_text() == "first"
    assert list(path.parent.iterdir()) == [path]
