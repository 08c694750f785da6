"""An edit of the same length and time, as rsync -t or tar may bring it, is noticed."""

import importlib
import os
import shutil
import sys

import pytest

from stp.core import bytecode
from stp.core.errors import StpError


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module that was compiled before its source was changed."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path = tmp_path / "stale_example.py"
    path.write_text("LEADS = 1\n")
    importlib.import_module("stale_example")
    before = path.stat()
    path.write_text("LEADS = 2\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    yield path
    sys.modules.pop("stale_example", None)


def test_stale_compiled_code_is_refused_with_the_folder_to_delete(module):
    sys.modules.pop("stale_example")
    assert importlib.import_module("stale_example").LEADS == 1, "Python itself does not notice"
    with pytest.raises(StpError, match=r"stale_example\.py is not that of its source") as error:
        bytecode.refuse_stale(["stale_example"])
    assert f"rm -r {module.parent / '__pycache__'}" in str(error.value)
    shutil.rmtree(module.parent / "__pycache__")
    sys.modules.pop("stale_example")
    assert importlib.import_module("stale_example").LEADS == 2
    bytecode.refuse_stale(["stale_example"])


def test_what_was_not_imported_or_has_no_source_is_left_out():
    bytecode.refuse_stale(["stp.models.nowhere", "sys", "stp.core.errors"])
