"""Lists are looked for in several folders."""

import pytest

from stp.core.errors import StpError
from stp.prepare.planned_counts import Lists


def test_a_list_is_found_in_the_first_folder_that_has_it(tmp_path):
    folders = [tmp_path / name for name in ("a", "b", "c")]
    for folder in folders:
        folder.mkdir()
    lists = Lists(folders)
    with pytest.raises(StpError, match=r"list\.txt") as refused:
        lists.find("list.txt")
    assert all(str(folder) in refused.value.expected for folder in folders)
    for folder in folders[1:]:
        (folder / "list.txt").write_text("")
    assert lists.find("list.txt") == folders[1] / "list.txt"
