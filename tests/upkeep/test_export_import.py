"""Packing artefacts for others, and taking theirs: nothing replaced, nothing damaged taken."""

import json
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from fake_store import TINY, finish, finish_all, lock_raw, pick, small_plan
from typer.testing import CliRunner, Result

from stp.cli import app
from stp.core import store
from stp.core.errors import StpError
from stp.core.receipts import RECEIPT, SEALED
from stp.plan.cells import Plan
from stp.upkeep.inventory import artefacts
from stp.upkeep.receiving import receive
from stp.upkeep.sharing import SUMS, export


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """A folder with a store in which all artefacts are finished."""
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        finish_all(small_plan(folder, patch))
    return folder


@pytest.fixture
def plan(finished, tmp_path, monkeypatch) -> Plan:
    """A tiny plan whose artefacts are all there."""
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    return small_plan(tmp_path, monkeypatch)


@pytest.fixture
def empty(plan, tmp_path, monkeypatch) -> Plan:
    """The same plan, with an empty store."""
    (tmp_path / "other").mkdir()
    return small_plan(tmp_path / "other", monkeypatch)


def content(folder: Path) -> dict[str, bytes]:
    """Map the files of artefacts and lock files to their bytes."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for top in ("raw", "data", "models", "predictions", "scores")
        for path in (folder / top).rglob("*")
        if path.is_file()
    }


def edit(folder: Path, name: str, **keys) -> None:
    """Change keys of a JSON file; of a receipt, also those of its sealed copy."""
    path = folder / name
    text = json.dumps({**json.loads(path.read_text()), **keys})
    for copy in [path, folder / SEALED] if name == RECEIPT else [path]:
        copy.write_text(text)


@pytest.mark.parametrize("name", ["packed", "packed.tar"])
def test_what_is_exported_arrives_as_it_was(plan, empty, tmp_path, name):
    packed = export(plan, [], tmp_path / name)
    assert len(packed.whole) == len(plan.artefacts) and packed.absent == []
    received = receive(empty, tmp_path / name)
    assert set(received.taken) == set(plan.artefacts) and received.refused == {}
    assert content(empty.store) == content(plan.store)
    assert all(store.is_complete(empty.store / folder) for folder in plan.artefacts)
    assert not list((empty.store / "state").glob(".import*"))
    # once more: nothing to take
    received = receive(empty, tmp_path / name)
    assert received.taken == [] and set(received.present) == set(plan.artefacts)


def test_a_subset_comes_with_all_that_it_is_made_from(plan, tmp_path):
    export(plan, ["score", "convlstm", "enso"], tmp_path / "packed")
    wanted = {pick(plan, "prepare").folder} | {
        pick(plan, stage, "convlstm").folder for stage in ("train", "predict", "score")
    }
    assert set(artefacts(tmp_path / "packed")) == wanted
    assert (tmp_path / "packed" / plan.raw("enso").lock).is_file()
    assert not (tmp_path / "packed" / plan.raw("moving_mnist").lock).exists()


def test_the_list_of_checksums_is_that_of_sha256sum(plan, tmp_path):
    export(plan, ["simvpv2", "enso"], tmp_path / "packed")
    checked = ["sha256sum", "--check", "--strict", "--quiet", SUMS]
    assert subprocess.run(checked, cwd=tmp_path / "packed").returncode == 0
    listed = {line.split("  ")[1] for line in (tmp_path / "packed" / SUMS).read_text().splitlines()}
    assert listed == set(content(tmp_path / "packed"))


def test_scores_alone_come_with_the_receipts_that_tables_need(plan, empty, tmp_path):
    packed = export(plan, [], tmp_path / "scores.tar", scores_only=True)
    assert {artefact.stage for artefact in packed.whole} == {"score"}
    received = receive(empty, tmp_path / "scores.tar")
    assert set(received.taken) == set(plan.artefacts)
    assert all((empty.store / a.receipt).is_file() for a in plan.artefacts.values())
    data = pick(plan, "prepare")
    assert store.is_dropped(empty.store / data.folder)
    # the data themselves, when they come later, take the place of the bare receipt
    export(plan, ["prepare"], tmp_path / "data")
    assert data.folder in receive(empty, tmp_path / "data").taken
    assert store.is_complete(empty.store / data.folder)


def test_what_is_not_there_is_left_out_and_named(plan, tmp_path):
    missing = pick(plan, "train", "convlstm")
    shutil.rmtree(plan.store / missing.folder)
    packed = export(plan, ["score", "convlstm", "enso"], tmp_path / "packed")
    assert packed.absent == [missing]
    with pytest.raises(StpError, match="stp status"):
        export(plan, ["train", "convlstm", "enso"], tmp_path / "more")
    with pytest.raises(StpError, match="packed"):
        export(plan, [], tmp_path / "packed")


def test_nothing_damaged_is_exported(plan, tmp_path):
    folder = plan.store / pick(plan, "train", "convlstm").folder
    (folder / "data" / "file.txt").write_text("x" * (folder / "data" / "file.txt").stat().st_size)
    with pytest.raises(StpError, match=rf"rm -r {folder}"):
        export(plan, [], tmp_path / "packed")
    assert not list(tmp_path.glob("*packed*"))


def test_the_damaged_are_refused_by_name_and_the_good_are_taken(plan, empty, tmp_path):
    export(plan, ["enso"], tmp_path / "packed")
    cut, flipped, lost, gone = (
        pick(plan, "train", "convlstm").folder,
        pick(plan, "train", "simvpv2").folder,
        pick(plan, "score", "simvpv2").folder,
        pick(plan, "score", "persistence").folder,
    )
    file = tmp_path / "packed" / cut / "data" / "file.txt"
    file.write_text(file.read_text()[:-1])
    file = tmp_path / "packed" / flipped / "data" / "file.txt"
    file.write_text(file.read_text().replace("s", "S"))
    (tmp_path / "packed" / lost / "data" / "file.txt").unlink()
    shutil.rmtree(tmp_path / "packed" / gone)
    received = receive(empty, tmp_path / "packed")
    assert set(received.refused) == {cut, flipped, lost, gone}
    for folder in (cut, flipped, lost):
        assert "file.txt" in received.refused[folder]
    assert SUMS in received.refused[gone]
    assert set(artefacts(empty.store)) == set(received.taken)
    assert pick(plan, "prepare").folder in received.taken


def test_a_receipt_that_does_not_belong_to_its_path_is_refused(plan, empty, tmp_path):
    export(plan, ["enso"], tmp_path / "packed")
    (tmp_path / "packed" / SUMS).unlink()
    moved, forged, climbing = (
        pick(plan, "score", model) for model in ("persistence", "convlstm", "simvpv2")
    )
    edit(tmp_path / "packed" / moved.folder, RECEIPT, path=forged.folder)
    edit(tmp_path / "packed" / forged.folder, RECEIPT, recipe={"conventions": ["mse.mine"]})
    files = {"../outside.txt": {"bytes": 1, "sha256": "0" * 64}}
    edit(tmp_path / "packed" / climbing.folder, RECEIPT, files=files)
    received = receive(empty, tmp_path / "packed")
    assert set(received.refused) == {moved.folder, forged.folder, climbing.folder}
    assert "../outside.txt" in received.refused[climbing.folder]


def test_what_the_store_has_is_never_replaced_but_what_is_damaged_there_is(plan, empty, tmp_path):
    ours, broken = pick(empty, "train", "convlstm"), pick(empty, "train", "simvpv2")
    finish(empty, ours, provenance={"host": "ours", "finished": 0.0})
    folder = finish(empty, broken)
    (folder / "data" / "file.txt").unlink()
    export(plan, ["train", "enso"], tmp_path / "packed")
    before = (empty.store / ours.receipt).read_bytes()
    received = receive(empty, tmp_path / "packed")
    assert (empty.store / ours.receipt).read_bytes() == before
    assert ours.folder in received.present and broken.folder in received.taken
    store.verify(folder)


def test_other_raw_bytes_under_the_same_name_refuse_everything(plan, empty, tmp_path):
    export(plan, [], tmp_path / "packed")
    lock_raw(empty.store / empty.raw("enso").lock, "enso", digit="b")
    with pytest.raises(StpError) as caught:
        receive(empty, tmp_path / "packed")
    assert "enso/file.nc" in str(caught.value) and "aaaaaaaaaaaaaaaa" in str(caught.value)
    assert list(artefacts(empty.store)) == []
    # the same bytes are no hindrance
    lock_raw(empty.store / empty.raw("enso").lock, "enso")
    assert len(receive(empty, tmp_path / "packed").taken) == len(plan.artefacts)


def test_another_store_can_be_taken_as_it_is(plan, empty):
    assert len(receive(empty, plan.store).taken) == len(plan.artefacts)


def test_a_tar_file_cannot_write_elsewhere(empty, tmp_path):
    with tarfile.open(tmp_path / "evil.tar", "w") as tar:
        tar.addfile(tarfile.TarInfo("../../outside.txt"))
    with pytest.raises(StpError, match=r"\.\./\.\./outside\.txt"):
        receive(empty, tmp_path / "evil.tar")
    (tmp_path / "text.tar").write_text("no tar")
    (tmp_path / "nothing").mkdir()
    for name in ("text.tar", "nothing"):
        with pytest.raises(StpError, match=name):
            receive(empty, tmp_path / name)


def test_the_verbs_report_counts_and_fail_where_something_was_refused(plan, tmp_path, monkeypatch):
    def stp(*words: str) -> Result:
        return CliRunner().invoke(app, [*words, "--configfile", str(TINY)])

    packed = tmp_path / "packed"
    done = stp("store", "export", str(packed), "enso")
    # 1 data, 3 fitted models, 4 forecasts, 4 scores
    assert done.exit_code == 0 and f"{packed}: " in done.stdout and "12" in done.stdout
    (packed / pick(plan, "prepare").folder / "data" / "file.txt").unlink()
    monkeypatch.setenv("STP_STORE_DIR", str(tmp_path / "theirs"))
    done = stp("store", "import", str(packed))
    assert done.exit_code == 1
    assert "11 taken" in done.stdout and "1 refused" in done.stdout
    assert pick(plan, "prepare").folder in done.stderr


def hostile(plan: Plan, empty: Plan, folder: Path) -> tuple[str, Path]:
    """Pack a store; return the folder of prepared data in it, and a file that must never be."""
    export(plan, ["prepare"], folder)
    (folder / SUMS).unlink()
    return pick(plan, "prepare").folder, empty.store.parent / "escaped.json"


def raw_of(folder: Path, lock: str) -> dict:
    return {**json.loads((folder / RECEIPT).read_text())["inputs"], "raw": lock}


@pytest.mark.parametrize("lock", ["../escaped.json", "raw/x/../../../escaped.json", "escaped.json"])
def test_a_receipt_cannot_write_a_lock_outside_of_the_store(plan, empty, tmp_path, lock):
    packed = tmp_path / "packed"
    data, escaped = hostile(plan, empty, packed)
    (packed / "raw" / "x").mkdir()
    for name in (packed.parent / "escaped.json", packed / "escaped.json"):
        name.write_text('{"files": {}}')
    edit(packed / data, RECEIPT, inputs=raw_of(packed / data, lock))
    received = receive(empty, packed)
    assert data in received.refused and data not in received.taken
    assert not escaped.exists() and not (empty.store / "escaped.json").exists()


def test_a_link_in_an_archive_writes_nothing_outside(plan, empty, tmp_path):
    """A link makes one name two places: there is a file here, and elsewhere it would be written."""
    packed = tmp_path / "packed"
    data, escaped = hostile(plan, empty, packed)
    (packed / "deep" / "er").mkdir(parents=True)
    (packed / "deep" / "escaped.json").write_text('{"files": {}}')
    (packed / "raw" / "link").symlink_to(Path("..", "deep", "er", "here"))
    (packed / "deep" / "er" / "here").mkdir()
    edit(packed / data, RECEIPT, inputs=raw_of(packed / data, "raw/link/../../escaped.json"))
    with tarfile.open(tmp_path / "packed.tar", "w") as tar:
        tar.add(packed, "packed")
    with pytest.raises(StpError, match="raw/link"):
        receive(empty, tmp_path / "packed.tar")
    assert data in receive(empty, packed).refused
    assert not escaped.exists() and not (empty.store / "escaped.json").exists()


@pytest.mark.parametrize("name", ["", "data/file.txt", RECEIPT])
def test_links_are_not_taken_for_files_and_folders(plan, empty, tmp_path, name):
    packed = tmp_path / "packed"
    data, _ = hostile(plan, empty, packed)
    (packed / data / name).rename(tmp_path / "aside")
    (packed / data / name).symlink_to(tmp_path / "aside")
    received = receive(empty, packed)
    assert data in received.refused and not (empty.store / data).exists()


@pytest.mark.parametrize("name", ["/abs", "../up", "a/../../up", "line\nbreak", RECEIPT])
def test_a_receipt_lists_files_of_its_own(plan, empty, tmp_path, name):
    packed = tmp_path / "packed"
    data, _ = hostile(plan, empty, packed)
    edit(packed / data, RECEIPT, files={name: {"bytes": 1, "sha256": "0" * 64}})
    assert data in receive(empty, packed).refused


def test_a_lock_that_names_files_elsewhere_is_refused(plan, empty, tmp_path):
    packed = tmp_path / "packed"
    hostile(plan, empty, packed)
    lock = next((packed / "raw").glob("*/*.lock.json"))
    entry = {"bytes": 1, "sha256": "0" * 64}
    lock.write_text(json.dumps({"files": {"../../.ssh/config": entry}}))
    with pytest.raises(StpError, match=r"\.ssh/config"):
        receive(empty, packed)
