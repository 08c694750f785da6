"""Publishing is all or nothing, replaces nothing, and survives what Snakemake may do."""

import errno
import json
import os
import shutil
import subprocess
import sys
import threading
import time

import pytest

from stp.core import disk, store
from stp.core.errors import StpError
from stp.core.receipts import RECEIPT, Receipt


def write_artefact(final, text="data"):
    """Publish a folder with one file under a final name."""
    temporary = store.temporary_folder(final)
    (temporary / "sub").mkdir()
    (temporary / "sub" / "file.txt").write_text(text)
    return store.publish(temporary, final, Receipt(fingerprint=final.name, stage="train"))


def test_a_published_folder_has_a_receipt_with_checksums(tmp_path):
    final = tmp_path / "models" / "0123456789abcdef"
    assert write_artefact(final)
    receipt = json.loads((final / RECEIPT).read_text())
    # sha256 of b"data", from coreutils' sha256sum
    assert receipt["files"]["sub/file.txt"] == {
        "bytes": 4,
        "sha256": "3a6eb0790f39ac87c94f3856b2dd2c5d110e6811602261a9a923d3bb23adc8b7",
    }
    store.verify(final)
    assert [path.name for path in final.parent.iterdir()] == [final.name]


def test_the_empty_folder_that_snakemake_makes_is_no_obstacle(tmp_path):
    final = tmp_path / "fp"
    final.mkdir()
    assert write_artefact(final)
    assert store.is_complete(final)


def test_the_loser_of_a_race_adopts_the_winners_artefact(tmp_path):
    final = tmp_path / "fp"
    assert write_artefact(final, "first")
    assert not write_artefact(final, "second")
    assert (final / "sub" / "file.txt").read_text() == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["fp"]


def test_a_deleted_receipt_is_put_back_from_the_sealed_copy(tmp_path):
    final = tmp_path / "fp"
    write_artefact(final)
    before = (final / RECEIPT).read_text()
    (final / RECEIPT).unlink()
    assert store.adopt(final)
    assert (final / RECEIPT).read_text() == before


def test_a_truncated_file_makes_an_artefact_incomplete_and_is_kept_aside(tmp_path):
    final = tmp_path / "fp"
    write_artefact(final)
    (final / "sub" / "file.txt").write_text("da")
    assert not store.adopt(final)
    assert write_artefact(final, "again")
    assert (final / "sub" / "file.txt").read_text() == "again"
    (aside,) = tmp_path.glob(".fp.*.damaged")
    assert (aside / "sub" / "file.txt").read_text() == "da"


def test_verify_names_the_damaged_file(tmp_path):
    final = tmp_path / "fp"
    write_artefact(final)
    (final / "sub" / "file.txt").write_text("dat4")  # the same size
    with pytest.raises(StpError, match=r"file\.txt(.|\n)*rm -r"):
        store.verify(final)
    (final / RECEIPT).write_text("{")
    (final / store.SEALED).unlink()
    with pytest.raises(StpError, match=str(final)):
        store.verify(final)


def test_a_forged_receipt_differs_from_its_sealed_copy(tmp_path):
    final = tmp_path / "fp"
    write_artefact(final)
    (final / "sub" / "file.txt").write_text("forged")
    receipt = json.loads((final / RECEIPT).read_text())
    receipt["files"] = {name: vars(file) for name, file in store.list_files(final).items()}
    (final / RECEIPT).write_text(json.dumps(receipt))
    assert not store.is_complete(final)
    with pytest.raises(StpError, match="rm -r"):
        store.verify(final)


def test_a_torn_receipt_is_no_forged_one(tmp_path):
    final = tmp_path / "fp"
    write_artefact(final)
    (final / RECEIPT).write_text((final / RECEIPT).read_text()[:40])
    assert store.is_complete(final)


def test_a_crash_before_publishing_leaves_nothing_under_the_final_name(tmp_path):
    code = (
        "import os, sys; from pathlib import Path; from stp.core import store\n"
        "folder = store.temporary_folder(Path(sys.argv[1]))\n"
        "(folder / 'file').write_text('half'); os._exit(9)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "fp")])
    assert done.returncode == 9
    assert not (tmp_path / "fp").exists()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_disk_errors_name_work_and_path(number):
    error = disk.disk_error(OSError(number, os.strerror(number), "/x/y"), "train convlstm")
    assert "train convlstm" in str(error) and "/x/y" in str(error) and error.remedy


def test_write_if_changed_keeps_the_time_of_an_equal_text(tmp_path):
    path = tmp_path / "plan" / "manifest.json"
    assert disk.write_text_if_changed(path, "a")
    os.utime(path, (1, 1))
    assert not disk.write_text_if_changed(path, "a")
    assert path.stat().st_mtime == 1
    assert disk.write_text_if_changed(path, "b")
    assert path.stat().st_mtime > 1


def test_a_lease_is_exclusive_and_passed_on(tmp_path):
    order = []
    held = threading.Event()

    def first():
        with store.lease(tmp_path / "state"):
            held.set()
            time.sleep(0.3)
            order.append("first done")

    thread = threading.Thread(target=first)
    thread.start()
    held.wait()
    said: list[str] = []
    with store.lease(tmp_path / "state", said.append):
        order.append("second has it")
    thread.join()
    assert order == ["first done", "second has it"]
    assert said


def test_the_lease_of_a_dead_process_is_taken_over_at_once(tmp_path):
    code = (
        "import os, sys; from pathlib import Path; from stp.core import store\n"
        "held = store.lease(Path(sys.argv[1])); held.__enter__(); os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)])
    assert (tmp_path / "lease.json").exists() and not store.is_held(tmp_path)
    with store.lease(tmp_path):
        assert store.is_held(tmp_path)
        holder = json.loads((tmp_path / "lease.json").read_text())
        assert holder["pid"] == os.getpid()
    assert not (tmp_path / "lease.json").exists()


def test_the_lease_of_another_machine_expires_with_its_heartbeat(tmp_path):
    lease = tmp_path / "lease.json"
    lease.write_text(json.dumps({"host": "elsewhere", "pid": 1, "token": "x"}))
    assert not store._take_over(lease)
    old = time.time() - store.LEASE_SECONDS - 1
    os.utime(lease, (old, old))
    assert store._take_over(lease)


def test_who_waits_for_a_lease_gets_it_also_when_the_state_is_removed_meanwhile(tmp_path):
    """As at the end of a training: its state goes, and with it the folder of the lease."""
    state = tmp_path / "state"
    held = threading.Event()

    def finish_and_clear():
        with store.lease(state):
            (state / "training.pt").write_text("weights")
            held.set()
            time.sleep(0.3)
        shutil.rmtree(state)

    thread = threading.Thread(target=finish_and_clear)
    thread.start()
    held.wait()
    with store.lease(state, lambda text: None):
        assert store.is_held(state)
    thread.join()
    assert not state.exists(), "an empty folder of state is not kept"


@pytest.mark.parametrize("error", [FileExistsError, FileNotFoundError])
def test_a_folder_removed_while_a_lease_makes_it_is_made_again(tmp_path, monkeypatch, error):
    """Whoever finishes beside us removes the empty folder between two of our system calls."""
    make = os.mkdir
    raced = iter([True])

    def overtaken(path, *rest):
        if next(raced, False):
            raise error(errno.EEXIST, "made and removed by another process", str(path))
        make(path, *rest)

    monkeypatch.setattr(os, "mkdir", overtaken)
    with store.lease(tmp_path / "state"):
        assert store.is_held(tmp_path / "state")


def test_a_lease_on_a_file_is_refused_and_the_file_kept(tmp_path):
    (tmp_path / "state").write_text("notes")
    with pytest.raises(FileExistsError), store.lease(tmp_path / "state"):
        pytest.fail("took it")
    assert (tmp_path / "state").read_text() == "notes"
