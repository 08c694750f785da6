"""Archives are unpacked into place, no further than needed, and never out of place."""

import gzip
import io
import json
import random
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from stp.core.errors import StpError
from stp.fetch import raw
from stp.fetch.archive import read_listing
from stp.fetch.download import DownloadSettings
from stp.fetch.raw import check, fetch
from stp.plan import checked_config
from stp.plan.dataset import Release

PICTURES = {f"samples/CAM_FRONT/{i}.jpg": random.Random(i).randbytes(700 * i) for i in range(1, 6)}
OTHERS = {"samples/LIDAR/1.bin": b"lidar", "LICENSE": b"text"}
KINDS = ("tgz", "tar.gz", "tar", "zip")
ENTRY = {"path": "toy/samples/CAM_FRONT/*.jpg", "many": True, "min_files": 5}


def pack(path: Path, contents: dict[str, bytes], change=lambda info: None) -> Path:
    """Write an archive whose kind is in its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in contents.items():
                info = zipfile.ZipInfo(name)
                change(info)
                archive.writestr(info, content)
        return path
    with tarfile.open(path, "w:" if path.suffix == ".tar" else "w:gz") as archive:
        folder = tarfile.TarInfo("./samples")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name, content in contents.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            change(info)
            archive.addfile(info, io.BytesIO(content) if info.isfile() else None)
    return path


class Toy:
    """A release of pictures that come in archives."""

    def __init__(self, root: Path) -> None:
        self.raw, self.mirror, self.lock = root / "raw", root / "mirror", root / "lock.json"
        self.said: list[str] = []

    def arguments(self, archives: tuple[dict, ...], files: tuple[dict, ...]) -> tuple[dict, dict]:
        release = {"source": "official", "files": files, "archives": archives}
        where = {"dataset": "toy", "name": "official", "roots": [self.raw, self.mirror]}
        return release, {**where, "lock": self.lock}

    def fetch(self, *archives: dict, files: tuple[dict, ...] = (ENTRY,)) -> dict:
        release, where = self.arguments(archives, files)
        fetch(
            release,
            **where,
            report=lambda what, done, total: self.said.append(what),
            settings=DownloadSettings(backoff_s=0.0),
        )
        return json.loads(self.lock.read_text())["files"]

    def check(self, *archives: dict, files: tuple[dict, ...] = (ENTRY,)) -> list:
        release, where = self.arguments(archives, files)
        return check(release, **where)

    def there(self) -> dict[str, bytes]:
        folder = self.raw / "toy"
        found = (path for path in folder.rglob("*") if path.is_file())
        contents = {p.relative_to(folder).as_posix(): p.read_bytes() for p in found}
        return {name: content for name, content in contents.items() if "/" in name}


@pytest.fixture
def toy(tmp_path: Path) -> Toy:
    return Toy(tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_only_what_is_wanted_is_unpacked(toy: Toy, kind: str) -> None:
    pack(toy.raw / f"toy/blobs.{kind}", {**OTHERS, **PICTURES})
    lock = toy.fetch({"path": f"toy/blobs.{kind}"})
    assert toy.there() == PICTURES
    assert set(lock) == {f"toy/{name}" for name in PICTURES}
    if kind == "zip":  # the others say it for every megabyte
        assert any(line.startswith("unpack blobs.zip") for line in toy.said)


@pytest.mark.parametrize("strip", [2, "any"])
def test_leading_folders_are_dropped_and_others_put_in_front(toy: Toy, strip) -> None:
    inside = {f"./release/v1/{name}": content for name, content in PICTURES.items()}
    pack(toy.raw / "archives/blobs.tgz", inside)
    toy.fetch({"path": "archives/blobs.tgz", "into": "toy", "strip": strip})
    assert toy.there() == PICTURES


def test_an_archive_of_the_mirror_is_unpacked_into_the_raw_folder(toy: Toy) -> None:
    pack(toy.mirror / "toy/blobs.tgz", PICTURES)
    toy.fetch({"path": "toy/blobs.tgz"})
    assert toy.there() == PICTURES
    assert [path.name for path in (toy.mirror / "toy").iterdir()] == ["blobs.tgz"]


def test_unpacked_by_hand_the_archive_is_not_needed(toy: Toy) -> None:
    for name, content in PICTURES.items():
        path = toy.mirror / "toy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    assert len(toy.fetch({"path": "toy/blobs.tgz", "access": "registration"})) == 5
    assert not toy.raw.exists()


def test_an_unpacked_archive_may_be_deleted_until_files_are_lost(toy: Toy) -> None:
    archive = pack(toy.raw / "toy/blobs.tgz", PICTURES)
    declared = {"path": "toy/blobs.tgz", "access": "manual", "instructions": "ask the authors"}
    lock = toy.fetch(declared)
    archive.unlink()
    assert toy.fetch(declared) == lock
    (toy.raw / "toy/samples/CAM_FRONT/2.jpg").unlink()
    with pytest.raises(StpError, match=r"toy/samples/CAM_FRONT/2\.jpg"):
        toy.fetch(declared)
    pack(archive, PICTURES)
    before = (toy.raw / "toy/samples/CAM_FRONT/3.jpg").stat().st_mtime_ns
    assert toy.fetch(declared) == lock
    assert toy.there() == PICTURES
    assert (toy.raw / "toy/samples/CAM_FRONT/3.jpg").stat().st_mtime_ns == before


@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupted_unpacking_goes_on(toy: Toy, kind: str, monkeypatch) -> None:
    pack(toy.raw / f"toy/blobs.{kind}", PICTURES)
    replace, renamed = Path.replace, []

    def once_in_a_while(path: Path, target: Path) -> Path:
        if len(renamed) == 3:
            raise KeyboardInterrupt
        renamed.append(target)
        return replace(path, target)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Path, "replace", once_in_a_while)
        toy.fetch({"path": f"toy/blobs.{kind}"})
    done = {path: path.stat().st_mtime_ns for path in renamed}
    assert len(done) == 3
    # The pictures that are there satisfy this pattern, but the archive is not through.
    patient = {**ENTRY, "min_files": 2}
    assert len(toy.fetch({"path": f"toy/blobs.{kind}"}, files=(patient,))) == 5
    assert toy.there() == PICTURES
    assert {path: path.stat().st_mtime_ns for path in done} == done  # not written again


def test_several_archives_and_patterns(toy: Toy) -> None:
    names = list(PICTURES)
    for number, part in enumerate((names[:2], names[2:])):
        pack(toy.raw / f"toy/blobs{number}.tgz", {name: PICTURES[name] for name in part})
    pack(toy.raw / "toy/meta.zip", {"v1/table.json": b"{}", "v1/other.json": b"{}"})
    archives = tuple({"path": f"toy/{name}"} for name in ("blobs0.tgz", "blobs1.tgz", "meta.zip"))
    toy.fetch(*archives, files=(ENTRY, {"path": "toy/v1/table.json"}))
    assert toy.there() == {**PICTURES, "v1/table.json": b"{}"}


def test_a_missing_archive_is_asked_for_with_what_is_in_it(toy: Toy) -> None:
    names = list(PICTURES)
    pack(toy.raw / "toy/blobs1.tgz", {name: PICTURES[name] for name in names[:2]})
    declared = [
        {"path": f"toy/blobs{i}.tgz", "bytes": 99, "access": "registration"} for i in (1, 2)
    ]
    del declared[0]["bytes"]
    declared[1]["instructions"] = "register at https://example.org"
    elsewhere = {"path": "other/blobs.tgz", "access": "manual"}
    with pytest.raises(StpError) as caught:
        toy.fetch(*declared, elsewhere)
    text = str(caught.value)
    assert "toy/samples/CAM_FRONT/*.jpg  (2 " in text
    assert "toy/blobs2.tgz  (99 " in text and "register at https://example.org" in text
    assert "blobs1" not in text and "other/" not in text
    assert len(toy.there()) == 2  # what is here was unpacked


def test_an_open_archive_is_downloaded_verified_and_unpacked(toy: Toy, server, tmp_path) -> None:
    content = pack(tmp_path / "made.tgz", PICTURES).read_bytes()
    server.files["/blobs.tgz"] = content
    declared = {"path": "toy/blobs.tgz", "url": f"{server.url}/blobs.tgz", "bytes": len(content)}
    server.faults = [("cut", 100), ("status", 503)]
    toy.fetch(declared)
    assert toy.there() == PICTURES
    assert server.ranges == [None, "bytes=100-", "bytes=100-"]
    toy.fetch(declared)
    assert len(server.ranges) == 3


def test_nothing_is_downloaded_if_something_else_is_missing(toy: Toy, server) -> None:
    declared = {"path": "toy/blobs.tgz", "url": f"{server.url}/blobs.tgz"}
    by_hand = {"path": "gated/list.txt", "access": "manual"}
    with pytest.raises(StpError, match=r"gated/list\.txt"):
        toy.fetch(declared, files=(ENTRY, by_hand))
    assert server.ranges == []


@pytest.mark.parametrize("key", ["bytes", "sha256"])
def test_another_archive_than_declared_is_not_unpacked(toy: Toy, key: str) -> None:
    pack(toy.raw / "toy/blobs.tgz", PICTURES)
    with pytest.raises(StpError, match=r"blobs\.tgz"):
        toy.fetch({"path": "toy/blobs.tgz", key: {"bytes": 5, "sha256": "0" * 64}[key]})
    assert toy.there() == {}


def test_an_archive_without_anything_wanted_is_one_error(toy: Toy) -> None:
    pack(toy.raw / "toy/blobs.tgz", PICTURES)
    with pytest.raises(StpError, match=r"blobs\.tgz"):
        toy.fetch({"path": "toy/blobs.tgz", "strip": 1})
    assert [path.name for path in (toy.raw / "toy").iterdir()] == ["blobs.tgz"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["../evil.jpg", "samples/../../../evil.jpg", "/tmp/evil.jpg"])
def test_names_that_lead_out_of_the_folder_are_refused(toy: Toy, kind: str, name: str) -> None:
    pack(toy.raw / f"toy/blobs.{kind}", {name: b"evil", **PICTURES})
    with pytest.raises(StpError, match=r"evil\.jpg"):
        toy.fetch({"path": f"toy/blobs.{kind}"})
    assert not list(toy.raw.parent.rglob("evil.jpg")) and not Path("/tmp/evil.jpg").exists()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("hard", [False, True])
def test_links_in_the_place_of_files_are_refused(toy: Toy, kind: str, hard: bool) -> None:
    def link(info) -> None:
        if isinstance(info, zipfile.ZipInfo):
            info.external_attr = (stat.S_IFLNK | 0o777) << 16
        else:
            info.type = tarfile.LNKTYPE if hard else tarfile.SYMTYPE
            info.linkname, info.size = "/etc/passwd", 0

    pack(toy.raw / f"toy/blobs.{kind}", {"samples/CAM_FRONT/1.jpg": b"/etc/passwd"}, link)
    with pytest.raises(StpError, match=r"1\.jpg"):
        toy.fetch({"path": f"toy/blobs.{kind}"})
    assert toy.there() == {}


def test_a_link_that_nobody_wants_does_no_harm(toy: Toy) -> None:
    def link(info) -> None:
        if info.name == "latest":
            info.type, info.linkname, info.size = tarfile.SYMTYPE, "/etc", 0

    pack(toy.raw / "toy/blobs.tgz", {"latest": b"", **PICTURES}, link)
    toy.fetch({"path": "toy/blobs.tgz"})
    assert toy.there() == PICTURES


def test_a_name_that_is_there_twice_is_refused(toy: Toy) -> None:
    pack(toy.raw / "toy/blobs.tgz", {**PICTURES, "./samples/CAM_FRONT/1.jpg": b"other"})
    with pytest.raises(StpError, match=r"1\.jpg"):
        toy.fetch({"path": "toy/blobs.tgz"})


@pytest.mark.parametrize("kind", KINDS)
def test_an_archive_that_is_cut_off_anywhere_is_one_error(toy: Toy, kind: str) -> None:
    path = pack(toy.raw / f"toy/blobs.{kind}", PICTURES)
    content = path.read_bytes()
    whole = len(content)
    if kind == "tar":  # behind its end are zeros that nobody misses
        whole = len(content.rstrip(b"\0")) + 512
    for length in {0, 1, 511, 512, 1024, *range(0, whole, whole // 23), whole - 1}:
        path.write_bytes(content[:length])
        with pytest.raises(StpError, match=str(path)):
            toy.fetch({"path": f"toy/blobs.{kind}"})
    assert not toy.lock.exists()
    for name, found in toy.there().items():  # what was whole, and nothing else, has its name
        assert name.endswith(".part") or found == PICTURES[name]


def test_a_wrong_checksum_at_the_end_of_a_gzip_file_is_noticed(toy: Toy) -> None:
    path = pack(toy.raw / "toy/blobs.tgz", PICTURES)
    content = bytearray(path.read_bytes())
    content[-6] ^= 1
    path.write_bytes(content)
    with pytest.raises(StpError, match="CRC"):
        toy.fetch({"path": "toy/blobs.tgz"})


def test_a_damaged_header_is_not_taken_for_the_end(toy: Toy) -> None:
    path = pack(toy.raw / "toy/blobs.tgz", PICTURES)
    content = bytearray(gzip.decompress(path.read_bytes()))
    content[content.index(b"samples/CAM_FRONT/3.jpg")] ^= 1
    path.write_bytes(gzip.compress(bytes(content)))
    with pytest.raises(StpError, match=r"blobs\.tgz"):
        toy.fetch({"path": "toy/blobs.tgz"})


@pytest.mark.parametrize("kind", ["tar", "tgz"])
def test_an_archive_behind_another_is_not_passed_over(toy: Toy, kind: str) -> None:
    path = pack(toy.raw / f"toy/blobs.{kind}", PICTURES)
    first = path.read_bytes()
    path.write_bytes(first + pack(path, {"samples/CAM_FRONT/9.jpg": b"nine" * 9000}).read_bytes())
    with pytest.raises(StpError, match=r"blobs\."):
        toy.fetch({"path": f"toy/blobs.{kind}"})


def test_a_full_disk_is_one_error_and_what_is_unpacked_stays(toy: Toy) -> None:
    pack(toy.raw / "toy/blobs.tgz", PICTURES)
    part = toy.raw / "toy/samples/CAM_FRONT/4.jpg.part"
    part.parent.mkdir(parents=True)
    part.symlink_to("/dev/full")
    with pytest.raises(StpError, match="No space left on device"):
        toy.fetch({"path": "toy/blobs.tgz"})
    part.unlink()
    assert set(toy.there()) == {f"samples/CAM_FRONT/{i}.jpg" for i in (1, 2, 3)}
    toy.fetch({"path": "toy/blobs.tgz"})
    assert toy.there() == PICTURES


def test_memory_does_not_grow_with_the_archive(toy: Toy) -> None:
    import tracemalloc

    big = {f"samples/CAM_FRONT/{i}.jpg": bytes(4_000_000) for i in range(6)}
    pack(toy.raw / "toy/blobs.tgz", big)
    tracemalloc.start()
    try:
        toy.fetch({"path": "toy/blobs.tgz"})
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert toy.there() == big
    assert peak < 12_000_000


def test_check_says_that_an_archive_waits_to_be_unpacked(toy: Toy) -> None:
    pack(toy.raw / "toy/blobs.tgz", PICTURES)
    (state,) = toy.check({"path": "toy/blobs.tgz"})
    assert (state.path, state.state) == (ENTRY["path"], "missing")
    assert state.files == 5 and "blobs.tgz" in state.how
    toy.fetch({"path": "toy/blobs.tgz"})
    states = toy.check({"path": "toy/blobs.tgz"})
    assert [state.state for state in states] == ["present"] * 5


def test_the_list_of_what_was_unpacked_is_no_raw_file(toy: Toy) -> None:
    pack(toy.raw / "toy/blobs.tgz", PICTURES)
    lock = toy.fetch({"path": "toy/blobs.tgz"})
    assert read_listing(toy.raw / "toy/blobs.tgz.unpacked") == {
        f"toy/{name}": len(content) for name, content in PICTURES.items()
    }
    assert len(lock) == 5
    assert raw._glob("toy/*", [toy.raw]) == {"toy/blobs.tgz"}


def test_the_configuration_knows_archives() -> None:
    release = {
        "source": "official",
        "files": [{"path": "toy/*.jpg", "many": True}],
        "archives": [{"path": "toy/blobs.tgz", "strip": 1, "access": "registration"}],
    }
    found = checked_config.check(Release, release, "toy")
    assert found.archives[0].strip == 1 and found.archives[0].into is None
    for strip, is_right in (("any", True), ("all", False), (-1, False)):
        release["archives"][0]["strip"] = strip
        if is_right:
            assert checked_config.check(Release, release, "toy").archives[0].strip == "any"
        else:
            with pytest.raises(StpError, match="strip"):
                checked_config.check(Release, release, "toy")
    release["archives"][0]["path"] = "toy/blobs.rar"
    with pytest.raises(StpError, match="archives"):
        checked_config.check(Release, release, "toy")
