"""`stp fetch --check` says what is there, what is missing or damaged, and what to do."""

import hashlib
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stp.cli import app
from stp.core.errors import StpError
from stp.data.raw_files import RawFiles
from stp.fetch import raw
from stp.fetch.instructions import Missing, missing_error, tree
from stp.fetch.raw import check, fetch
from stp.fetch.table import FileState, is_complete, lines
from stp.plan import config
from stp.plan.cells import Plan
from stp.plan.checked_config import merge, read_yaml
from stp.run import runner

ROOT = Path(__file__).parents[2]
TINY = ROOT / "tests" / "workflow" / "tiny.yaml"


class Toy:
    """A release with one file and many pictures."""

    def __init__(self, root: Path) -> None:
        self.raw, self.lock = root / "raw", root / "store" / "official.lock.json"
        self.said: list[str] = []

    def put(self, name: str, content: bytes) -> Path:
        path = self.raw / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        os.utime(path, (1e9, 1e9))
        return path

    def arguments(self) -> dict:
        return {
            "release": {
                "source": "official",
                "files": [
                    {"path": "toy/list.txt"},
                    {"path": "toy/pictures/*.jpg", "many": True, "min_files": 3},
                ],
            },
            "dataset": "toy",
            "name": "official",
            "roots": [self.raw],
            "lock": self.lock,
            "report": lambda what, done, total: self.said.append(what),
        }


@pytest.fixture
def toy(tmp_path: Path) -> Toy:
    toy = Toy(tmp_path)
    toy.put("toy/list.txt", b"list")
    for number in range(30):
        toy.put(f"toy/pictures/{number:02d}.jpg", b"%02d" % number)
    return toy


def test_before_anything_is_locked(toy: Toy) -> None:
    states = check(**toy.arguments())
    assert len(states) == 31 and is_complete(states)
    assert not toy.lock.parent.exists()  # nothing is written
    head, *rows = lines("toy (release official)", states)
    assert "31 present (64 B)" in head and len(rows) == 2  # one for each entry
    assert toy.said[-1].startswith("check toy 31 of 31 files, 64 B of 64 B")


def test_files_that_appear_after_the_lock_are_ignored_and_said(toy: Toy) -> None:
    fetch(**toy.arguments())
    toy.put("toy/pictures/new.jpg", b"new")
    states = check(**toy.arguments())
    assert is_complete(states)
    (new,) = (state for state in states if state.state == "ignored")
    assert new.path == "toy/pictures/new.jpg"
    text = "\n".join(lines("toy", states))
    assert "31 present" in text and "1 ignored" in text
    assert "pictures/new.jpg" in text
    before = toy.lock.read_bytes()
    fetch(**toy.arguments())
    assert toy.lock.read_bytes() == before


def test_silent_damage_is_found_by_check_and_then_by_every_job(toy: Toy) -> None:
    """Damage that leaves size, times and inode as they were: of a disk, not of a program."""
    fetch(**toy.arguments())
    path = toy.raw / "toy/pictures/07.jpg"
    known = toy.lock.with_suffix(".known")
    before = path.stat()
    path.write_bytes(b"XX")
    os.utime(path, (1e9, 1e9))
    # The time of the last change to its entry cannot be set back: pretend that it was recorded.
    old, new = str(before.st_ctime_ns), str(path.stat().st_ctime_ns)
    rows = [line.split(" ", 1)[1].replace(old, new) for line in known.read_text().splitlines()]
    known.write_text(
        "".join(f"{hashlib.sha256(row.encode()).hexdigest()[:8]} {row}\n" for row in rows)
    )
    fetch(**toy.arguments())
    assert RawFiles(toy.lock, [toy.raw]).find("toy/pictures/07.jpg") == path

    (damaged,) = (s for s in check(**toy.arguments()) if s.state == "damaged")
    assert damaged.path == "toy/pictures/07.jpg"
    for use in (
        lambda: fetch(**toy.arguments()),
        lambda: RawFiles(toy.lock, [toy.raw]).find("toy/pictures/07.jpg"),
    ):
        with pytest.raises(StpError, match=r"07\.jpg"):
            use()


def test_a_second_fetch_reads_only_what_changed(toy: Toy, monkeypatch) -> None:
    fetch(**toy.arguments())
    read: list[str] = []
    real = raw.verify_checksum.__globals__["checksum"]

    def counted(path: Path, *more):
        read.append(path.name)
        return real(path, *more)

    monkeypatch.setattr("stp.fetch.checksum.checksum", counted)
    fetch(**toy.arguments())
    assert read == []
    toy.put("toy/pictures/03.jpg", b"03")  # the same bytes, written again
    fetch(**toy.arguments())
    assert read == ["03.jpg"]
    check(**toy.arguments())
    assert len(read) == 1 + 31


def test_hashing_that_was_interrupted_goes_on(toy: Toy, monkeypatch) -> None:
    """Before the first lock as well: what was read need not be read again."""
    real = raw.verify_checksum.__globals__["checksum"]
    read: list[str] = []

    def counted(path: Path, *more):
        if len(read) == 20:
            raise KeyboardInterrupt
        read.append(path.name)
        return real(path, *more)

    monkeypatch.setattr("stp.fetch.checksum.checksum", counted)
    with pytest.raises(KeyboardInterrupt):
        fetch(**toy.arguments())
    assert not toy.lock.exists()
    monkeypatch.setattr("stp.fetch.checksum.checksum", real)
    lines_before = len(toy.lock.with_suffix(".known").read_text().splitlines())
    assert lines_before == 20
    fetch(**toy.arguments())
    assert len(toy.lock.with_suffix(".known").read_text().splitlines()) == 31


def test_many_problems_do_not_swamp_the_table() -> None:
    states = [
        FileState(f"toy/pictures/{i}.jpg", "damaged", f"message {i}", 10, "toy/pictures/*.jpg")
        for i in range(5000)
    ]
    states += [
        FileState(f"toy/zip/{i}.zip", "missing", bytes=1000, how="get them") for i in range(5000)
    ]
    text = list(lines("toy", states))
    assert "5,000 missing (5.0 MB)" in text[0] and "5,000 damaged (50.0 kB)" in text[0]
    assert len(text) < 20
    assert "4,997" in text[-1] and any("4,994" in line for line in text)


def test_the_layout_is_drawn_with_a_few_files_of_each_kind() -> None:
    missing = [Missing(f"kitti/{i:03d}_sync.zip", "", {}) for i in range(150)]
    missing += [Missing("kitti/list.json", "12 bytes", {}), Missing("a/b/c/*.jpg", "3 found", {})]
    drawn = tree(Path("/data/raw"), missing)
    assert len(drawn) == 8
    assert "147" in drawn[-2] and "list.json" in drawn[-1]
    text = str(missing_error("kitti", missing, [], Path("/data/raw")))
    assert "152 " in text and len(text.splitlines()) < 20


@pytest.fixture
def command(tmp_path: Path, monkeypatch):
    """`stp fetch` in folders of its own."""
    monkeypatch.setenv("STP_STORE_DIR", str(tmp_path / "store"))
    monkeypatch.setenv("STP_RAW_DIR", str(tmp_path / "raw"))
    monkeypatch.delenv("STP_RAW_MIRROR", raising=False)

    def command(*words: str, configfile: Path = TINY):
        return CliRunner().invoke(app, ["fetch", *words, "--configfile", str(configfile)])

    return command


@pytest.mark.long(part="kinds")
def test_the_command_checks_all_datasets_of_the_scale(command, tmp_path: Path) -> None:
    done = command("--check")
    assert done.exit_code == 1
    datasets = {artefact.dataset for artefact in Plan.load(TINY).prepared_data}
    assert len(datasets) > 1
    for name in datasets:
        assert f"{name} (release synthetic" in done.stdout
    assert f"complete: 0 of {len(datasets)} datasets; not: " in done.stdout
    assert not (tmp_path / "raw").exists()
    for name in datasets:
        assert command(name).exit_code == 0
    done = command("--check")
    assert done.exit_code == 0
    assert done.stdout.splitlines()[-1] == f"complete: {len(datasets)} of {len(datasets)} datasets"


def test_the_command_names_a_damaged_file(command, tmp_path: Path) -> None:
    assert command("enso").exit_code == 0
    assert command("enso", "--check").exit_code == 0
    path = next((tmp_path / "raw" / "generated" / "enso").rglob("*.nc"))
    path.write_bytes(path.read_bytes()[:-1])
    done = command("enso", "--check")
    assert done.exit_code == 1
    assert "1 damaged" in done.stdout and path.name in done.stdout


def test_the_number_of_connections_is_a_runtime_setting(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("STP_STORE_DIR", str(tmp_path / "store"))

    def connections(**runtime: object) -> int:
        scale = merge(read_yaml(TINY), {"runtime": runtime})
        return runner._download_settings(Plan(config.load(scale))).connections

    assert 2 <= connections() <= 4
    assert connections(downloads=7) == 7
    for wrong, said in ((0, "runtime.downloads .*0"), ("many", "runtime.downloads .*many")):
        with pytest.raises(StpError, match=said):
            connections(downloads=wrong)


@pytest.mark.parametrize("locked", [False, True])
def test_the_work_per_file_does_not_grow_with_their_number(toy: Toy, monkeypatch, locked) -> None:
    """Calls are counted, not seconds."""
    calls: list[str] = []

    def count(name: str):
        real = getattr(raw, name)

        def counted(*args, **more):
            calls.append(name)
            return real(*args, **more)

        monkeypatch.setattr(raw, name, counted)

    if locked:
        fetch(**toy.arguments())
    for name in ("find", "matches", "_glob"):
        count(name)
    fetch(**toy.arguments())
    assert calls.count("find") == 31
    assert calls.count("matches") == (31 if locked else 0)  # of one pattern
    assert calls.count("_glob") == (0 if locked else 1)
