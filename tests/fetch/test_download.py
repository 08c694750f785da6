"""Downloads survive the faults of real servers, or say why not."""

import email.utils
import hashlib
import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from stp.core.disk import write_text_once
from stp.core.errors import StpError
from stp.fetch.download import (
    DownloadSettings,
    GivenUpError,
    Host,
    Stopped,
    download,
    open_part,
    require_web,
)
from stp.fetch.raw import fetch

QUICK = DownloadSettings(backoff_s=0.0, timeout_s=5.0)
CONTENT = bytes(range(256)) * 20  # 5120 bytes
SHA = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def get(tmp_path: Path, server):
    """Fetch one file from the server into ``tmp_path/raw``; returns its bytes."""
    server.files["/a.bin"] = CONTENT

    def get(*, settings: DownloadSettings = QUICK, **declared: object) -> bytes:
        entry = {"path": "toy/a.bin", "url": f"{server.url}/a.bin", **declared}
        fetch(
            {"source": "official", "files": [entry]},
            dataset="toy",
            name="official",
            roots=[tmp_path / "raw"],
            lock=tmp_path / "lock.json",
            report=lambda what, done, total: steps.append(what),
            settings=settings,
        )
        return (tmp_path / "raw/toy/a.bin").read_bytes()

    steps: list[str] = []
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
    assert "3.0 kB of 5.1 kB" in get.steps[0]


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


def test_a_server_that_changes_the_file_is_noticed_even_if_it_ignores_if_range(get, server) -> None:
    server.faults = [("cut", 1000), ("replace", CONTENT[::-1], '"v2"', "no if-range")]
    assert get() == CONTENT[::-1]
    assert server.ranges == [None, "bytes=1000-", None]


def test_a_file_that_changes_between_two_tries_is_fetched_anew(get, server) -> None:
    server.faults = [("cut", 1000), ("replace", CONTENT[::-1], '"v2"')]
    assert get() == CONTENT[::-1]
    assert server.ranges == [None, "bytes=1000-"]


def test_a_connection_that_stalls_is_given_up_and_resumed(get, server) -> None:
    server.faults = [("stall", 1000), ("stall", 500)]
    assert get(settings=DownloadSettings(backoff_s=0.0, timeout_s=0.2)) == CONTENT
    assert server.ranges == [None, "bytes=1000-", "bytes=1500-"]


def test_a_redirect_is_followed(get, server) -> None:
    server.files["/elsewhere.bin"] = server.files["/a.bin"]
    server.faults_of["/a.bin"] = [("redirect", "/elsewhere.bin")] * 2
    server.faults_of["/elsewhere.bin"] = [("cut", 1000)]
    assert get(sha256=SHA) == CONTENT
    assert server.asked == ["/a.bin", "/elsewhere.bin"] * 2
    assert server.ranges[-1] == "bytes=1000-"


@pytest.mark.parametrize("url", ["ftp://127.0.0.1:9/a.bin", "file:///etc/hostname", "data:,x"])
def test_only_addresses_of_the_web_are_opened(get, server, tmp_path: Path, url: str) -> None:
    with pytest.raises(StpError, match=re.escape(url)) as caught:
        get(url=url)
    assert "http:// or https://" in caught.value.expected
    server.faults = [("redirect", url)]
    with pytest.raises(StpError, match=r"/a\.bin|Redirection"):
        get()
    assert not (tmp_path / "raw/toy/a.bin").exists()


def test_a_redirect_does_not_leave_https() -> None:
    require_web("https://example.org", "x")
    require_web("https://example.org", "x", "http")
    with pytest.raises(StpError) as caught:
        require_web("http://example.org", "x", "https")
    assert "https://" in caught.value.expected and "http://" not in caught.value.expected


def test_redirects_in_a_circle_are_one_error(get, server) -> None:
    server.faults = [("redirect", "/a.bin")] * 20
    with pytest.raises(StpError, match="302"):
        get()


def test_a_web_page_is_not_taken_for_the_file(get, server) -> None:
    server.faults = [("type", "text/html; charset=utf-8")] * 2
    with pytest.raises(StpError, match=r"a\.bin"):
        get()
    assert get(bytes=5120) == CONTENT  # a server that calls everything text/html


def test_a_busy_server_is_asked_again(get, server) -> None:
    server.faults = [("status", 503), ("status", 429), ("status", 500)]
    assert get() == CONTENT
    assert len(server.ranges) == 4


def test_a_busy_server_says_when_it_wants_to_be_asked_again(
    get, server, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(Host, "leave_alone", lambda host, seconds: pauses.append(seconds))
    monkeypatch.setattr(Host, "wait", lambda host, seconds=0.0: None)
    later = email.utils.formatdate(time.time() + 100, usegmt=True)
    past = email.utils.formatdate(time.time() - 100, usegmt=True)
    headers = [{"Retry-After": text} for text in ("7", later, past, "soon")]
    server.faults = [("status", code, h) for code, h in zip([503, 429] * 2, headers, strict=True)]
    assert get(settings=DownloadSettings(backoff_s=0.5)) == CONTENT
    assert pauses[0] == 7
    assert 90 < pauses[1] <= 100
    assert pauses[2:] == [2, 4]  # 0.5 s, doubled for the third and fourth try


def test_a_server_that_wants_to_be_left_alone_for_long_is_given_up(get, server) -> None:
    server.faults = [("status", 503, {"Retry-After": "86400"})]
    with pytest.raises(StpError, match="86400 s"):
        get()
    assert len(server.ranges) == 1


class Clock:
    """Time that passes only when somebody waits."""

    now = 100.0
    stopped = False

    def monotonic(self) -> float:
        return self.now

    def wait(self, seconds: float) -> bool:
        self.now += seconds
        return self.stopped

    def is_set(self) -> bool:
        return self.stopped


def test_everybody_waits_for_a_busy_host(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("stp.fetch.download.time", clock)
    host = Host(DownloadSettings(), clock)
    host.wait()
    assert clock.now == 100
    host.leave_alone(30)
    host.leave_alone(10)  # the longer one counts
    host.wait(5)
    assert clock.now == 130
    host.wait(5)
    assert clock.now == 135
    clock.stopped = True
    with pytest.raises(Stopped):
        host.wait()


def test_a_download_that_is_stopped_keeps_its_part(server, tmp_path: Path) -> None:
    server.files["/a.bin"] = CONTENT
    server.faults = [("stall", 1000)]
    host = Host(DownloadSettings(timeout_s=5.0))
    with open_part(tmp_path / "a.bin") as part, pytest.raises(Stopped):
        download(
            f"{server.url}/a.bin",
            tmp_path / "a.bin",
            part,
            host,
            advance=lambda have, total: host.stop.set() if have else None,
        )
    assert (tmp_path / "a.bin.part").read_bytes() == CONTENT[:1000]


def test_a_server_that_stays_busy_is_given_up(get, server) -> None:
    server.faults = [("status", 503)] * 20
    with pytest.raises(GivenUpError, match="503") as caught:
        get()
    assert len(server.ranges) == QUICK.attempts
    assert "toy/a.bin" in caught.value.remedy


def test_progress_is_not_a_failure(get, server) -> None:
    server.faults = [("cut", 100)] * 40  # more cuts than attempts, but each brings new bytes
    assert get(sha256=SHA) == CONTENT


def test_a_missing_file_is_not_asked_for_again(get, server) -> None:
    server.files.clear()
    with pytest.raises(StpError, match="404"):
        get()
    assert len(server.ranges) == 1


def test_a_server_that_is_not_there_is_given_up(get, server, tmp_path: Path) -> None:
    with pytest.raises(StpError, match="nobody"):
        get(url="http://127.0.0.1:9/nobody")  # the discard port; nothing listens


def test_wrong_bytes_are_not_kept(get, server, tmp_path: Path) -> None:
    server.files["/a.bin"] = CONTENT[::-1]
    with pytest.raises(StpError, match="sha256") as caught:
        get(sha256=SHA)
    assert server.url in caught.value.what
    assert list((tmp_path / "raw/toy").iterdir()) == []
    assert not (tmp_path / "lock.json").exists()


def test_another_size_is_noticed_before_the_download(get, server) -> None:
    with pytest.raises(StpError, match="5120"):
        get(bytes=9999)
    assert get.steps[:-1] == []  # but that it failed


def test_a_lock_protects_against_a_changed_server(get, server, tmp_path: Path) -> None:
    get()
    lock = json.loads((tmp_path / "lock.json").read_text())
    (tmp_path / "raw/toy/a.bin").unlink()
    server.files["/a.bin"] = CONTENT[::-1]
    with pytest.raises(StpError, match="sha256"):
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
