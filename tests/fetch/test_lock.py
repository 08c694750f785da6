"""Locks: what is declared later verifies them, and how surely their bytes are the official ones."""

import json
import shutil
from pathlib import Path

import pytest
import yaml
from official_store import judged
from test_fetch_raw import CONTENT, SHA, Folders
from typer.testing import CliRunner

from stp.cli import app
from stp.core.errors import StpError
from stp.core.lock import (
    CHECKSUMS,
    COUNTS,
    STATED,
    Checksum,
    Lock,
    grade_evidence,
    header_of,
    lock_text,
    require_agreement,
)
from stp.plan import config
from stp.plan.artefacts import Raw
from stp.plan.cells import Plan
from stp.plan.dataset import Release
from stp.verbs.stages import _write_lock

FILE = "toy/a.bin"
SUM = Checksum(len(CONTENT), SHA)
LOCK = Lock({FILE: SUM}, {})
CLIPS = {"train": 3, "test": 2}
ROOT = Path(__file__).parents[2]
KTH = {
    "suite": "predbench",
    "scale": "small",
    "dimensions": {"short_term": {"models": ["convlstm"], "datasets": ["kth"]}},
}


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    made = Folders(tmp_path)
    made.put(FILE, CONTENT)
    return made


def test_a_checksum_that_is_declared_later_changes_no_path(tmp_path: Path) -> None:
    """Nor do sizes and URLs; the names of the files do."""
    folder = tmp_path / "config"
    shutil.copytree(ROOT / "config", folder)
    kth = folder / "datasets" / "kth.yaml"
    before = Plan(config.load(KTH, folder))
    archive = '{path: kth/walking.zip, url: "https://www.csc.kth.se/cvap/actions/walking.zip"}'
    declared = (
        f"{{path: kth/walking.zip, url: 'https://example.org/w.zip', bytes: 1, sha256: {SHA}}}"
    )
    text = kth.read_text()
    assert text.count(archive) == 1
    kth.write_text(text.replace(archive, declared))
    after = Plan(config.load(KTH, folder))
    assert before.artefacts and list(after.artefacts) == list(before.artefacts)
    kth.write_text(text.replace("kth/walking.zip,", "kth/walks.zip,"))
    other = Plan(config.load(KTH, folder))
    assert not set(other.artefacts) & set(before.artefacts)


def test_a_lock_that_agrees_with_a_later_declaration_stays_as_it_is(folders: Folders) -> None:
    folders.fetch({"path": FILE})
    before = folders.lock.read_bytes()
    folders.fetch({"path": FILE, "bytes": SUM.bytes, "sha256": SHA})
    assert folders.lock.read_bytes() == before


@pytest.mark.parametrize("entry", [{"bytes": 1}, {"sha256": "0" * 64}])
def test_a_lock_that_disagrees_with_a_later_declaration_is_refused(
    folders: Folders, entry: dict
) -> None:
    folders.fetch({"path": FILE})
    ((key, wanted),) = entry.items()
    with pytest.raises(StpError, match=FILE) as caught:
        folders.fetch({"path": FILE, **entry})
    assert f"{FILE}: {key} {getattr(SUM, key)}" in caught.value.what
    assert f"{FILE}: {key} {wanted}" in caught.value.expected


def test_a_lock_with_fewer_files_than_are_declared_now_is_refused(folders: Folders) -> None:
    folders.fetch({"path": "toy/*.bin", "many": True})
    folders.put("toy/b.bin", CONTENT)  # comes too late
    with pytest.raises(StpError, match=r"toy/\*.bin: 1 "):
        folders.fetch({"path": "toy/*.bin", "many": True, "min_files": 2})


def test_a_release_without_all_files_is_locked_only_where_that_is_accepted(
    folders: Folders,
) -> None:
    entries = (
        {"path": "toy/*.bin", "many": True, "min_files": 66},
        {"path": "toy/labels.txt", "access": "manual"},
    )
    with pytest.raises(StpError, match=r"labels.txt") as caught:
        folders.fetch(*entries)
    assert "--accept-incomplete" in caught.value.remedy
    assert not folders.lock.exists()
    lock = folders.fetch(*entries, accept_incomplete=True)
    assert [entry.split()[0] for entry in lock["incomplete"]] == ["toy/labels.txt", "toy/*.bin"]
    assert list(lock["files"]) == [FILE]
    assert folders.fetch(*entries) == lock  # what is locked stays usable
    assert all(state.state == "present" for state in folders.check(*entries))


def test_nothing_is_no_incomplete_release(tmp_path: Path) -> None:
    with pytest.raises(StpError, match="toy"):
        Folders(tmp_path).fetch({"path": FILE, "access": "manual"}, accept_incomplete=True)


def registered(folders: Folders, **files: Checksum) -> Path:
    path = folders.raw / "toy-official.json"
    header = {"dataset": "toy", "release": "official", "source": "official"}
    listed = {f"toy/{name}.bin": sum_._asdict() for name, sum_ in files.items()}
    path.write_text(json.dumps({**header, "files": listed}))
    return path


def test_registered_bytes_are_the_only_ones_that_are_locked(folders: Folders) -> None:
    many = {"path": "toy/*.bin", "many": True}
    other = registered(folders, a=Checksum(SUM.bytes, "0" * 64))
    with pytest.raises(StpError, match=r"a\.bin.*sha256"):
        folders.fetch(many, registered=other)
    more = registered(folders, a=SUM, b=SUM)
    with pytest.raises(StpError, match=r"b\.bin"):
        folders.fetch(many, registered=more)
    assert not folders.lock.exists()
    folders.put("toy/c.bin", b"of somebody's own")
    lock = folders.fetch(many, registered=registered(folders, a=SUM))
    assert list(lock["files"]) == [FILE]
    with pytest.raises(StpError, match=FILE):
        folders.fetch(many, registered=registered(folders, a=Checksum(1, SHA)))


def test_registered_files_are_those_that_are_declared(folders: Folders) -> None:
    with pytest.raises(StpError, match=r"toy/z\.bin"):
        folders.fetch({"path": FILE}, registered=registered(folders, a=SUM, z=SUM))


@pytest.mark.parametrize(
    ("lock", "entry", "known", "published", "prepared", "expected"),
    [
        (LOCK, {"sha256": SHA}, None, {}, {}, CHECKSUMS),
        (LOCK, {}, LOCK, {}, {}, CHECKSUMS),
        (LOCK, {"path": "toy/*.bin", "many": True}, LOCK, {}, {}, CHECKSUMS),
        (Lock({FILE: SUM}, {FILE: "0" * 32}), {"md5_uncompressed": "0" * 32}, None, {}, {},
         CHECKSUMS),
        (LOCK, {"md5_uncompressed": "0" * 32}, None, {}, {}, STATED),  # never compared
        (LOCK, {}, None, CLIPS, CLIPS, COUNTS),
        (LOCK, {}, None, CLIPS, {**CLIPS, "strict": 1}, COUNTS),
        (LOCK, {"bytes": SUM.bytes}, None, {}, {}, COUNTS),
        (LOCK, {"bytes": SUM.bytes}, None, CLIPS, {"train": 3, "test": 1}, STATED),
        (LOCK, {}, None, CLIPS, {}, STATED),  # not prepared yet
        (LOCK, {}, None, {}, CLIPS, STATED),  # nothing to compare with
        (None, {"sha256": SHA}, None, CLIPS, CLIPS, STATED),
        (Lock({FILE: SUM}, {}, ["toy/b.bin"]), {"sha256": SHA}, None, CLIPS, CLIPS, STATED),
    ],
)  # fmt: skip
def test_how_surely_bytes_are_known(lock, entry, known, published, prepared, expected) -> None:
    assert grade_evidence(lock, [{"path": FILE, **entry}], known, published, prepared) == expected


def test_a_lock_and_registered_bytes_that_differ_are_refused() -> None:
    require_agreement(LOCK, Path("x.lock.json"), [], LOCK)
    for other in (Lock({FILE: Checksum(1, SHA)}, {}), Lock({}, {}), Lock({"toy/z": SUM}, {})):
        with pytest.raises(StpError, match=r"x\.lock\.json"):
            require_agreement(LOCK, Path("x.lock.json"), [], other)


def test_a_second_lab_knows_that_it_has_the_same_bytes(tmp_path: Path, monkeypatch) -> None:
    """What one lab writes with --lock-out is in config/locks of the other."""
    facts, raw, written = (tmp_path / name for name in ("config", "raw", "toy-official.json"))
    shutil.copytree(ROOT / "config", facts)
    for unused in {*(facts / "models").iterdir()} - {facts / "models" / "persistence.yaml"}:
        unused.unlink()
    monkeypatch.setattr(config, "CONFIG_FOLDER", facts)
    toy = {
        **{"title": "Toy", "shape": [1, 4, 4], "context": 1, "horizon": 1, "release": "official"},
        **{"metrics": ["ssim.range1"], "reader": "own"},
        "releases": {
            "official": {"source": "official", "files": [{"path": "toy/*.bin", "many": True}]}
        },
    }  # fmt: skip
    scale = tmp_path / "toy.yaml"
    wanted = {"short_term": {"models": ["persistence"], "datasets": ["toy"]}}
    scale.write_text(yaml.safe_dump(
        {"scale": "toy", "suite": "predbench", "dimensions": wanted, "datasets": {"toy": toy}}
    ))  # fmt: skip

    def lab(name: str, content: bytes, *more: str):
        monkeypatch.setenv("STP_STORE_DIR", str(tmp_path / name))
        monkeypatch.setenv("STP_RAW_DIR", str(raw / name))
        (raw / name / "toy").mkdir(parents=True, exist_ok=True)
        (raw / name / "toy" / "a.bin").write_bytes(content)
        return CliRunner().invoke(app, ["fetch", "toy", "--configfile", str(scale), *more])

    def known(name: str) -> str:
        monkeypatch.setenv("STP_STORE_DIR", str(tmp_path / name))
        (cell,) = judged(Plan(config.load(scale, facts)), "short_term")
        return cell.bytes_known_by

    assert lab("first", CONTENT, "--lock-out", str(written)).exit_code == 0
    assert json.loads(written.read_text())["files"] == {FILE: SUM._asdict()}
    assert str(tmp_path) not in written.read_text()
    assert lab("second", CONTENT).exit_code == 0
    assert known("second") == STATED
    (facts / "locks" / written.name).write_text(written.read_text())
    assert known("second") == CHECKSUMS
    assert lab("third", b"others").exit_code == 1
    assert not (tmp_path / "third" / "raw" / "toy").exists()
    (facts / "locks" / written.name).write_text(written.read_text().replace(SHA, "0" * 64))
    with pytest.raises(StpError, match=SHA[:8]):
        known("second")


def test_an_incomplete_release_is_not_registered(tmp_path: Path) -> None:
    lock = tmp_path / "x.lock.json"
    header = header_of("toy", "official", "official")
    lock.write_text(lock_text(header, {FILE: SUM}, incomplete=["toy/b.bin (missing)"]))
    raw = Raw("toy", "official", lock.name, "", None, Release(source="official"))
    with pytest.raises(StpError, match="incomplete"):
        _write_lock(lock, raw, tmp_path / "out.json")
    assert not (tmp_path / "out.json").exists()
