"""The folders of a store: artefacts, their states, and what killed work left."""

import os
from pathlib import Path

import pytest

from stp.core.errors import StpError
from stp.upkeep import inventory

KEY, OTHER = "0123456789abcdef", "fedcba9876543210"
FOLDERS = [
    f"data/kth/{KEY}",
    f"data/kth/{KEY}/frames.zarr/{OTHER}",  # a part of it
    f"models/convlstm/default/kth/{KEY}",
    f"models/convlstm/default/kth/.{OTHER}.1a2b3c4d.partial",
    f"scores/a/b/.{KEY}.1a2b3c4d.damaged",
    f"scores/a/b/.{KEY}.1a2b3c4d.other",
    f"elsewhere/{KEY}",
    f"predictions/{KEY[:15]}",
    f"state/models/convlstm/default/kth/{OTHER}",
    f"state/data/.{KEY}.1a2b3c4d.garbage",
]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    for folder in FOLDERS:
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "data" / OTHER).write_text("a file")
    return tmp_path


def test_folders_are_told_apart_by_their_names(store: Path) -> None:
    assert list(inventory.artefacts(store)) == [FOLDERS[0], FOLDERS[2]]
    assert list(inventory.states(store)) == [FOLDERS[8].removeprefix("state/")]
    assert sorted(inventory.leftovers(store)) == [
        (FOLDERS[3], f"models/convlstm/default/kth/{OTHER}"),
        (FOLDERS[4], f"scores/a/b/{KEY}"),
        (FOLDERS[9], f"state/data/{KEY}"),
    ]


def test_a_missing_store_is_refused(store: Path) -> None:
    inventory.require(store)
    with pytest.raises(StpError, match="none"):
        inventory.require(store / "none")


def test_size_and_age_are_those_of_all_within(store: Path) -> None:
    folder = store / "data" / "kth" / KEY
    for name, size in (("a", 3), ("frames.zarr/b", 5)):
        (folder / name).write_bytes(bytes(size))
    (folder / "link").symlink_to(folder / "a")
    linked = (folder / "link").lstat().st_size
    assert inventory.size_of(folder) == (8 + linked, 3)
    for path in (folder, *folder.rglob("*")):
        os.utime(path, (1000, 1000), follow_symlinks=False)
    assert inventory.last_change_time(folder) == 1000
    os.utime(folder / "frames.zarr" / "b", (2000, 2000))
    assert inventory.last_change_time(folder) == 2000
