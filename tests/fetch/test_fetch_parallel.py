"""Several files at a time, few from each host; what goes wrong with one stops no other."""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from stp.core.errors import StpError
from stp.core.lock import Checksum
from stp.fetch import parallel
from stp.fetch.download import DownloadSettings, Host
from stp.fetch.meter import TransferMeter
from stp.fetch.raw import fetch

NAMES = [f"{letter}.bin" for letter in "abcdefgh"]
CONTENTS = {name: name.encode() * 500 for name in NAMES}


class Release:
    """Eight files on the server, wanted in a raw folder."""

    def __init__(self, root: Path, server) -> None:
        self.root, self.server = root, server
        self.lock = root / "store" / "official.lock.json"
        self.said: list[str] = []
        server.files |= {f"/{name}": content for name, content in CONTENTS.items()}

    def fetch(self, *, declared: dict | None = None, **settings: object) -> None:
        files = [
            {"path": f"toy/{name}", "url": f"{self.server.url}/{name}", **(declared or {})}
            for name in NAMES
        ]
        fetch(
            {"source": "official", "files": files},
            dataset="toy",
            name="official",
            roots=[self.root / "raw"],
            lock=self.lock,
            report=lambda what, done, total: self.said.append(what),
            settings=DownloadSettings(**{"backoff_s": 0.0, "timeout_s": 5.0, **settings}),
        )

    def there(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (self.root / "raw/toy").iterdir()}


@pytest.fixture
def release(tmp_path: Path, server) -> Release:
    return Release(tmp_path, server)


def test_files_are_downloaded_side_by_side(release: Release) -> None:
    together = threading.Barrier(3)  # each answer waits for two others
    release.server.faults = [("meet", together)] * 3
    release.fetch(connections=3)
    assert not together.broken
    assert release.there() == CONTENTS
    assert release.server.most == 3


@pytest.mark.parametrize("connections", [1, 2])
def test_a_host_gets_no_more_connections_than_allowed(release: Release, connections: int) -> None:
    release.fetch(connections=connections)
    assert release.there() == CONTENTS
    assert 1 <= release.server.most <= connections


def test_the_error_of_one_file_does_not_lose_the_others(release: Release) -> None:
    release.server.faults_of["/c.bin"] = [("status", 403)]
    release.server.faults_of["/e.bin"] = [("cut", 700), *[("status", 500)] * 9]
    with pytest.raises(StpError) as caught:
        release.fetch()
    assert caught.value.what.startswith("2 of 8 ")
    assert re.search(r"c\.bin .*403(.|\n)*e\.bin .*500", caught.value.what)
    found = release.there()
    assert found.pop("e.bin.part") == CONTENTS["e.bin"][:700]
    found.pop("e.bin.part.version")
    assert found == {n: c for n, c in CONTENTS.items() if n not in ("c.bin", "e.bin")}
    assert not release.lock.exists()
    assert release.said[-1].endswith("2 failed")

    release.server.asked.clear(), release.server.ranges.clear()
    release.server.faults_of.clear()
    release.fetch()
    assert sorted(release.server.asked) == ["/c.bin", "/e.bin"]
    assert sorted(release.server.ranges, key=str) == [None, "bytes=700-"]
    assert release.there() == CONTENTS


def test_a_host_that_fails_for_everything_is_soon_left_alone(release: Release) -> None:
    release.server.faults = [("status", 500)] * 1000
    with pytest.raises(StpError, match="8 of 8 ") as caught:
        release.fetch(connections=1, attempts=2)
    assert len(release.server.asked) == parallel.FAILED_IN_A_ROW * 2
    assert caught.value.what.count("3 others of 127.0.0.1") == 5


def test_the_files_of_a_host_share_its_pauses(release: Release, monkeypatch) -> None:
    busy: list[Host] = []
    waited: dict[Host, set[int]] = {}

    def wait(host: Host, seconds: float = 0.0) -> None:
        waited.setdefault(host, set()).add(threading.get_ident())

    monkeypatch.setattr(Host, "leave_alone", lambda host, seconds: busy.append(host))
    monkeypatch.setattr(Host, "wait", wait)
    together = threading.Barrier(2)
    release.server.faults_of["/a.bin"] = [("meet", together)]
    release.server.faults_of["/b.bin"] = [("meet", together)]
    release.server.faults_of["/c.bin"] = [("status", 503)]
    release.fetch(connections=2)
    assert busy and len(set(busy)) == 1 and set(waited) == set(busy)
    assert len(waited[busy[0]]) == 2


def test_wrong_bytes_of_one_are_not_kept(release: Release) -> None:
    release.fetch()
    shutil.rmtree(release.root / "raw")
    release.server.files["/d.bin"] = b"X" * len(CONTENTS["d.bin"])
    with pytest.raises(StpError, match=r"d\.bin.*sha256"):
        release.fetch()
    assert release.there() == {n: c for n, c in CONTENTS.items() if n != "d.bin"}


def test_what_does_not_fit_is_refused_before_it_is_begun(
    release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = shutil.disk_usage("/")._replace(free=15_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: free)
    with pytest.raises(StpError, match=r"8 (.|\n)*15\.0 kB") as caught:
        release.fetch(declared={"bytes": 2500})
    assert "20.0 kB" in caught.value.expected
    assert release.server.asked == []
    (release.root / "raw/toy").mkdir(parents=True)
    for name in NAMES:  # parts count
        (release.root / f"raw/toy/{name}.part").write_bytes(CONTENTS[name][:1000])
    release.fetch(declared={"bytes": 2500})
    assert release.there() == CONTENTS


def test_a_full_disk_keeps_the_parts(release: Release) -> None:
    folder = release.root / "raw/toy"
    folder.mkdir(parents=True)
    (folder / "b.bin.part").symlink_to("/dev/full")
    release.server.faults_of["/a.bin"] = [("cut", 300), *[("status", 500)] * 9]
    with pytest.raises(StpError, match="No space left on device") as caught:
        release.fetch(connections=1)
    assert (folder / "a.bin.part").read_bytes() == CONTENTS["a.bin"][:300]
    assert caught.value.what.count("disk is full") == 6
    assert set(release.server.asked) == {"/a.bin", "/b.bin"}  # and nobody is asked in vain


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_one_error(release: Release) -> None:
    (release.root / "raw").mkdir(mode=0o500)
    with pytest.raises(StpError, match="Permission denied"):
        release.fetch()


def test_ctrl_c_ends_a_download_at_once_and_it_can_be_gone_on_with(release: Release) -> None:
    """The server is silent, with a minute's patience; nobody waits for that."""
    release.server.faults = [("stall", 700)] * 8
    program = f"""
from stp.fetch.raw import fetch
from pathlib import Path
root = Path({str(release.root)!r})
files = [{{"path": f"toy/{{n}}", "url": f"{release.server.url}/{{n}}"}} for n in {NAMES}]
fetch({{"source": "official", "files": files}}, dataset="toy", name="official",
      roots=[root / "raw"], lock=root / "lock.json")
"""
    process = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE)
    parts = [release.root / f"raw/toy/{name}.part" for name in NAMES[:3]]
    try:
        while process.poll() is None and not all(p.exists() and p.stat().st_size for p in parts):
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=300)
    finally:
        process.kill()
    assert b"KeyboardInterrupt" in said
    release.server.over.set()
    assert [p.read_bytes() for p in parts] == [CONTENTS[name][:700] for name in NAMES[:3]]
    release.server.faults.clear()
    release.fetch()
    assert release.server.ranges.count("bytes=700-") == 3
    assert release.there() == CONTENTS


def test_progress_adds_up_all_files() -> None:
    now, said = [100.0], []
    sizes = {"a": 1000, "b": 3000, "c": None, "d": None}
    meter = TransferMeter("download", sizes, lambda *line: said.append(line), lambda: now[0])
    meter.at("a", 500)  # of an earlier run
    assert said.pop() == ("download 0 of 4 files, 500 B of 8.0 kB", 0, 0)
    now[0] += 10
    meter.at("a", 1000)
    # 500 bytes in 10 s; unknown sizes are as the others on average
    assert said.pop()[0] == "download 0 of 4 files, 1.0 kB of 8.0 kB, 50 B/s, 2:20 min left"
    meter.finish()
    assert said.pop()[0].startswith("download 1 of 4 files")
    now[0] += 10
    meter.at("c", 0, 5000)
    meter.at("c", 500, 5000)
    assert said[-1][0].startswith("download 1 of 4 files, 1.0 kB of 12.0 kB")
    now[0] += 10
    meter.at("c", 100, 5000)  # it began again
    assert "1.1 kB of 12.0 kB" in said[-1][0]
    meter.finish(failed=True)
    assert said[-1][0].endswith("1 failed")
    assert len(said) == 3  # not for every block


def test_checksums_are_taken_side_by_side_and_in_order(tmp_path: Path) -> None:
    from stp.fetch.checksum import THREADS, in_threads

    together = threading.Barrier(min(2, THREADS))

    def work(item: int, advance) -> Checksum:
        if item < together.parties:
            together.wait(60)
        if item == 5:
            raise StpError("five")
        advance(item)
        return Checksum(item, "")

    counted: list[int] = []
    found = list(in_threads(work, range(200), counted.append))
    assert [item for item, _ in found] == list(range(200))
    assert isinstance(found[5][1], StpError) and found[6][1] == Checksum(6, "")
    assert sum(counted) == sum(range(200)) - 5


def test_reading_stops_when_nobody_wants_the_rest() -> None:
    from contextlib import closing

    from stp.fetch.checksum import in_threads

    begun = threading.Event()

    def work(item: int, advance) -> Checksum:
        if item:
            begun.set()
            for _ in range(10_000):  # ends as soon as it is told, long before 100 s
                time.sleep(0.01)
                advance(1)
        else:
            begun.wait(60)
        return Checksum(item, "")

    with closing(in_threads(work, range(100), lambda count: None)) as results:
        assert next(results)[0] == 0


def test_a_downloaded_file_is_not_read_again(release: Release, monkeypatch) -> None:
    monkeypatch.setattr("stp.data.known_checksums.RECENT_NS", 0)
    release.fetch()
    digests = [hashlib.sha256(content).hexdigest() for content in CONTENTS.values()]
    text = release.lock.with_suffix(".known").read_text()
    assert all(digest in text for digest in digests)

    def refuse(*args: object) -> None:
        raise AssertionError("read again")

    monkeypatch.setattr("stp.fetch.checksum.checksum", refuse)
    release.fetch()
