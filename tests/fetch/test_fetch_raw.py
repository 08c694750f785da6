"""Raw files are found, downloaded, verified and locked; whatever is wrong ends in one error."""

import gzip
import hashlib
import json
import shutil
from pathlib import Path

import pytest

from stp.core.errors import StpError
from stp.data.raw_files import RawFiles
from stp.fetch.download import DownloadSettings
from stp.fetch.raw import check, fetch

CONTENT = bytes(range(256)) * 20  # 5120 bytes
SHA = hashlib.sha256(CONTENT).hexdigest()


class Folders:
    """The folders of one user: a raw folder, a mirror and a store with the lock."""

    def __init__(self, root: Path):
        self.raw, self.mirror = root / "raw", root / "mirror"
        self.lock = root / "store" / "raw" / "toy" / "official.lock.json"
        self.mirror.mkdir()

    def arguments(self) -> dict:
        return {
            "dataset": "toy",
            "name": "official",
            "roots": [self.raw, self.mirror],
            "lock": self.lock,
        }

    def fetch(
        self,
        *files: dict,
        accept_incomplete: bool = False,
        registered: Path | None = None,
        **release: object,
    ) -> dict:
        fetch(
            {"source": "official", "files": list(files), **release},
            **self.arguments(),
            accept_incomplete=accept_incomplete,
            registered=registered,
            settings=DownloadSettings(backoff_s=0.0, timeout_s=5.0),
        )
        return json.loads(self.lock.read_text())

    def check(self, *files: dict) -> list:
        return check({"source": "official", "files": list(files)}, **self.arguments())

    def put(self, name: str, content: bytes, *, mirror: bool = False) -> Path:
        path = (self.mirror if mirror else self.raw) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(tmp_path)


def test_a_mirror_is_used_in_place_and_locked(folders: Folders) -> None:
    folders.put("toy/a.bin", CONTENT, mirror=True)
    lock = folders.fetch({"path": "toy/a.bin", "access": "registration"})
    assert lock == {
        "dataset": "toy",
        "release": "official",
        "source": "official",
        "files": {"toy/a.bin": {"bytes": 5120, "sha256": SHA}},
    }
    assert not folders.raw.exists()


def test_the_raw_folder_comes_before_the_mirror(folders: Folders) -> None:
    folders.put("toy/a.bin", b"mine")
    folders.put("toy/a.bin", b"theirs", mirror=True)
    lock = folders.fetch({"path": "toy/a.bin"})
    assert lock["files"]["toy/a.bin"]["sha256"] == hashlib.sha256(b"mine").hexdigest()


def test_an_open_file_is_downloaded(folders: Folders, server) -> None:
    server.files["/a.bin"] = CONTENT
    entry = {"path": "toy/a.bin", "url": f"{server.url}/a.bin", "bytes": 5120, "sha256": SHA}
    lock = folders.fetch(entry)
    assert (folders.raw / "toy/a.bin").read_bytes() == CONTENT
    assert lock["files"]["toy/a.bin"] == {"bytes": 5120, "sha256": SHA}
    assert [path.name for path in (folders.raw / "toy").iterdir()] == ["a.bin"]  # no leftovers
    folders.fetch(entry)
    assert len(server.ranges) == 1  # nothing was asked for again


def test_gated_files_stop_in_one_error_before_any_download(folders: Folders, server) -> None:
    server.files["/open.bin"] = CONTENT
    folders.put("toy/part2.zip", CONTENT)
    gated = {
        "access": "registration",
        "url": "https://example.org/toy",
        "instructions": "register at https://example.org/toy and accept the terms",
    }
    with pytest.raises(StpError) as caught:
        folders.fetch(
            {"path": "toy/open.bin", "url": f"{server.url}/open.bin"},
            {"path": "toy/part1.zip", "bytes": 123, **gated},
            {"path": "toy/part2.zip", **gated},
            {"path": "toy/part3.zip", **gated},
            {"path": "toy/by_hand.txt", "access": "manual", "instructions": "ask the authors"},
        )
    text = str(caught.value)
    for said in ("3 ", "part1.zip  (123 ", "toy/by_hand.txt: ask the authors"):
        assert said in text
    assert f"toy/part1.zip, toy/part3.zip: {gated['instructions']}" in text
    assert "part2" not in text and "STP_RAW_DIR" in text
    assert server.ranges == []
    assert not folders.lock.exists()


def test_a_pattern_takes_all_matches_of_both_roots(folders: Folders) -> None:
    folders.put("toy/x/1.avi", b"1")
    folders.put("toy/y/2.avi", b"2", mirror=True)
    folders.put("toy/x/deep/3.avi", b"3")  # * stays within one folder
    lock = folders.fetch({"path": "toy/*/*.avi", "many": True, "min_files": 2})
    assert list(lock["files"]) == ["toy/x/1.avi", "toy/y/2.avi"]


def test_a_pattern_with_too_few_matches_says_how_many(folders: Folders) -> None:
    folders.put("toy/x/1.avi", b"1")
    with pytest.raises(StpError, match=r"toy/\*/\*\.avi .*1 .*2 "):
        folders.fetch({"path": "toy/*/*.avi", "many": True, "min_files": 2})


def test_once_locked_a_pattern_means_the_locked_files(folders: Folders) -> None:
    entry = {"path": "toy/*.avi", "many": True}
    folders.put("toy/1.avi", b"1")
    folders.fetch(entry)
    folders.put("toy/2.avi", b"2")  # what is on disk never chooses what is computed
    assert list(folders.fetch(entry)["files"]) == ["toy/1.avi"]
    (folders.raw / "toy/1.avi").unlink()
    with pytest.raises(StpError, match=r"toy/1\.avi"):
        folders.fetch(entry)


def test_a_lock_is_kept_and_a_changed_byte_is_refused(folders: Folders) -> None:
    path = folders.put("toy/a.bin", CONTENT)
    folders.put("toy/b.bin", b"b")
    entries = ({"path": "toy/a.bin"}, {"path": "toy/b.bin"})
    folders.fetch(*entries)
    before = folders.lock.read_bytes(), folders.lock.stat().st_mtime_ns
    folders.fetch(*entries)
    path.write_bytes(b"X" + CONTENT[1:])
    with pytest.raises(StpError, match=r"a\.bin") as caught:
        folders.fetch(*entries)
    assert str(path) in str(caught.value)
    assert SHA in caught.value.expected
    assert "b.bin" not in str(caught.value)
    assert (folders.lock.read_bytes(), folders.lock.stat().st_mtime_ns) == before


def test_the_lock_is_the_same_text_whatever_the_order(folders: Folders) -> None:
    folders.put("toy/a.bin", b"a")
    folders.put("toy/b.bin", b"b")
    folders.fetch({"path": "toy/b.bin"}, {"path": "toy/a.bin"})
    text = folders.lock.read_text()
    folders.lock.unlink()
    folders.fetch({"path": "toy/a.bin"}, {"path": "toy/b.bin"})
    assert folders.lock.read_text() == text
    assert text.index("toy/a.bin") < text.index("toy/b.bin")


def test_a_changed_list_of_files_needs_a_new_release(folders: Folders) -> None:
    folders.put("toy/a.bin", b"a")
    folders.put("toy/b.bin", b"b")
    folders.fetch({"path": "toy/a.bin"})
    with pytest.raises(StpError, match=r"toy/b\.bin"):
        folders.fetch({"path": "toy/a.bin"}, {"path": "toy/b.bin"})


def test_a_lock_of_another_source_is_refused(folders: Folders) -> None:
    folders.put("toy/a.bin", b"a")
    folders.fetch({"path": "toy/a.bin"})
    with pytest.raises(StpError, match="sample"):
        folders.fetch({"path": "toy/a.bin"}, source="sample")


@pytest.mark.parametrize(("key", "value"), [("bytes", 5121), ("sha256", "0" * 64)])
def test_declared_numbers_are_checked(folders: Folders, key: str, value: object) -> None:
    path = folders.put("toy/a.bin", CONTENT, mirror=True)
    with pytest.raises(StpError, match=key) as caught:
        folders.fetch({"path": "toy/a.bin", key: value})
    assert str(path) in caught.value.what
    assert str(value) in caught.value.expected
    assert not folders.lock.exists()


def test_the_md5_of_the_content_is_independent_of_the_gzip_header(folders: Folders) -> None:
    folders.put("toy/old.gz", gzip.compress(CONTENT, mtime=1))
    folders.put("toy/new.gz", gzip.compress(CONTENT, mtime=2))
    md5 = hashlib.md5(CONTENT).hexdigest()
    entries = [{"path": f"toy/{name}.gz", "md5_uncompressed": md5} for name in ("old", "new")]
    lock = folders.fetch(*entries)
    assert len({entry["sha256"] for entry in lock["files"].values()}) == 2
    folders.lock.unlink()
    folders.put("toy/new.gz", gzip.compress(b"other"))
    with pytest.raises(StpError, match=r"new\.gz.*MD5"):
        folders.fetch(*entries)


@pytest.mark.parametrize("damage", ["cut short", "no gzip"])
def test_a_gzip_file_that_cannot_be_read_is_named(folders: Folders, damage: str) -> None:
    packed = gzip.compress(CONTENT)
    path = folders.put("toy/a.gz", packed[:-9] if damage == "cut short" else b"no gzip")
    with pytest.raises(StpError, match=str(path)):
        folders.fetch({"path": "toy/a.gz"})


def test_a_full_disk_is_one_readable_error(folders: Folders, server) -> None:
    server.files["/a.bin"] = CONTENT
    part = folders.raw / "toy/a.bin.part"
    part.parent.mkdir(parents=True)
    part.symlink_to("/dev/full")  # every write fails with "No space left on device"
    with pytest.raises(StpError, match="No space left on device") as caught:
        folders.fetch({"path": "toy/a.bin", "url": f"{server.url}/a.bin"})
    assert "a.bin.part" in caught.value.what
    assert not folders.lock.exists()


def test_a_folder_that_cannot_be_written_is_one_readable_error(folders: Folders, server) -> None:
    server.files["/a.bin"] = CONTENT
    folders.raw.write_text("a file where a folder should be")
    with pytest.raises(StpError, match="raw"):
        folders.fetch({"path": "toy/a.bin", "url": f"{server.url}/a.bin"})


def test_a_generated_release_is_made_once_and_locked(folders: Folders) -> None:
    root = folders.raw / "generated" / "toy"
    release = {"source": "synthetic", "generator": "moving_mnist"}
    release["options"] = {"test_images": 20, "side": 12}
    arguments = {**folders.arguments(), "name": "synthetic", "roots": [root]}
    fetch(release, **arguments)
    lock = json.loads(folders.lock.read_text())
    assert sorted(lock["files"]) == [
        "mnist/t10k-images-idx3-ubyte.gz",
        "mnist/t10k-labels-idx1-ubyte.gz",
        "mnist/train-images-idx3-ubyte.gz",
        "mnist/train-labels-idx1-ubyte.gz",
    ]
    for name, recorded in lock["files"].items():
        assert hashlib.sha256((root / name).read_bytes()).hexdigest() == recorded["sha256"]

    shutil.rmtree(root)  # deterministic: made again, it agrees with the lock
    (state,) = check(release, **arguments)
    assert (state.path, state.state) == (str(root), "missing")
    fetch(release, **arguments)
    assert {state.state for state in check(release, **arguments)} == {"present"}
    (root / "mnist/t10k-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(StpError, match=r"t10k-labels-idx1-ubyte.gz"):
        fetch(release, **arguments)


def test_declared_files_take_the_place_of_generated_ones(folders: Folders) -> None:
    root, name = folders.raw / "generated" / "toy", "mnist/t10k-labels-idx1-ubyte.gz"
    there = gzip.compress(b"labels of others", mtime=0)
    declared = {"path": name, "sha256": hashlib.sha256(there).hexdigest(), "instructions": "ask"}
    release = {"source": "synthetic", "generator": "moving_mnist", "files": [declared]}
    release["options"] = {"test_images": 20, "side": 12}
    arguments = {**folders.arguments(), "name": "synthetic", "roots": [root]}
    arguments["beside"] = [folders.raw, folders.mirror]
    with pytest.raises(StpError, match=name) as caught:
        fetch(release, **arguments)
    assert caught.value.remedy.startswith("ask") and not root.exists()
    path = folders.put(name, gzip.compress(b"others", mtime=0), mirror=True)
    with pytest.raises(StpError, match="sha256"):
        fetch(release, **arguments)
    path.write_bytes(there)
    fetch(release, **arguments)
    lock = json.loads(folders.lock.read_text())["files"]
    assert (root / name).read_bytes() == there and len(lock) == 4
    assert lock[name]["sha256"] == declared["sha256"]
    path.unlink()  # it was copied
    fetch(release, **arguments)


def test_an_unknown_generator_is_refused(folders: Folders) -> None:
    with pytest.raises(StpError, match="'moving_minst'") as caught:
        fetch({"source": "synthetic", "generator": "moving_minst"}, **folders.arguments())
    assert "moving_mnist" in caught.value.remedy
    assert not folders.raw.exists()


def test_check_tells_present_missing_and_damaged(folders: Folders) -> None:
    good = folders.put("toy/good.bin", b"good")
    folders.put("toy/changed.bin", b"before")
    folders.put("toy/cut.gz", gzip.compress(CONTENT))
    entries = [
        {"path": "toy/good.bin"},
        {"path": "toy/changed.bin"},
        {"path": "toy/cut.gz"},
        {"path": "toy/gone.bin"},
    ]
    folders.put("toy/gone.bin", b"gone")
    folders.fetch(*entries)
    folders.put("toy/changed.bin", b"after")
    folders.put("toy/cut.gz", gzip.compress(CONTENT)[:-9])
    (folders.raw / "toy/gone.bin").unlink()
    entries[3]["url"] = "https://example.org/gone.bin"
    states = {state.path: state for state in folders.check(*entries)}
    assert {path: state.state for path, state in states.items()} == {
        "toy/good.bin": "present",
        "toy/changed.bin": "damaged",
        "toy/cut.gz": "damaged",
        "toy/gone.bin": "missing",
    }
    assert states["toy/good.bin"].detail == str(good)
    assert "example.org" in states["toy/gone.bin"].how


@pytest.mark.sample_bytes
def test_real_mnist_files_have_the_official_content(folders: Folders, raw_mirror: Path) -> None:
    folders.mirror = raw_mirror
    lock = folders.fetch(
        {
            "path": "mnist/t10k-images-idx3-ubyte.gz",
            "bytes": 1648877,
            "md5_uncompressed": "2646ac647ad5339dbf082846283269ea",
        }
    )
    manifest = (raw_mirror / "MANIFEST.tsv").read_text().splitlines()
    listed = {row.split("\t")[0]: row.split("\t")[2] for row in manifest if row.count("\t") > 2}
    name = "mnist/t10k-images-idx3-ubyte.gz"
    assert lock["files"][name]["sha256"] == listed[name]


OUTSIDE = ["../escaped.bin", "/tmp/escaped.bin", "toy/../../escaped.bin", "toy/a\nb.bin"]


@pytest.mark.parametrize("name", OUTSIDE)
def test_files_outside_of_the_raw_folder_are_neither_read_nor_written(
    folders: Folders, server, name: str
) -> None:
    server.files["/a.bin"] = CONTENT
    entry = {"path": name, "url": f"{server.url}/a.bin"}
    for call in (folders.fetch, folders.check):
        with pytest.raises(StpError, match=r"escaped|a.*b\.bin"):
            call(entry)
    with pytest.raises(StpError, match=r"escaped|a.*b\.bin"):
        folders.fetch({"path": "a.bin"}, archives=[{"path": "b.tgz", "into": name}])
    assert not server.asked and not (folders.raw.parent / "escaped.bin").exists()


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_lock_that_names_files_outside_is_refused(folders: Folders, name: str) -> None:
    folders.put("toy/a.bin", CONTENT)
    folders.fetch({"path": "toy/a.bin"})
    lock = json.loads(folders.lock.read_text())
    lock["files"] = {name: lock["files"]["toy/a.bin"]}
    folders.lock.write_text(json.dumps(lock))
    with pytest.raises(StpError, match=r"escaped|a.*b\.bin"):
        folders.fetch({"path": "toy/*.bin", "many": True})
    if not name.startswith("/"):  # as given weights may be
        with pytest.raises(StpError, match=r"escaped|a.*b\.bin"):
            RawFiles(folders.lock, [folders.raw])


def test_links_inside_the_raw_folder_are_followed(folders: Folders, tmp_path: Path) -> None:
    elsewhere = tmp_path / "disk2"
    elsewhere.mkdir()
    (elsewhere / "a.bin").write_bytes(CONTENT)
    folders.raw.mkdir()
    (folders.raw / "toy").symlink_to(elsewhere)
    assert folders.fetch({"path": "toy/a.bin"})["files"]["toy/a.bin"]["sha256"] == SHA
    assert RawFiles(folders.lock, [folders.raw]).find("toy/a.bin").read_bytes() == CONTENT
