"""Names of files that others have written lead nowhere else."""

import pytest

from stp.core.disk import below
from stp.core.errors import StpError


@pytest.mark.parametrize("name", ["", "/a", "..", "../a", "a/../../b", "a\nb"])
def test_names_that_leave_a_folder_are_refused(tmp_path, name):
    with pytest.raises(StpError, match=r"archive: the name .* leads out of its folder"):
        below(tmp_path, name, "archive")


def test_links_are_followed_unless_there_must_be_none(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to("real")
    for name in ("real", "real/a.txt", "not/there", "alias", "alias/a.txt"):
        assert below(tmp_path, name, "archive") == tmp_path / name
    for name in ("real", "real/a.txt", "not/there"):
        assert below(tmp_path, name, "archive", links=False) == tmp_path / name
    for name in ("alias", "alias/a.txt"):
        with pytest.raises(StpError, match=f"archive: {name} is a link"):
            below(tmp_path, name, "archive", links=False)
