"""An edit of the same length and time, as rsync -t or tar may bring it, is noticed."""

import importlib
import os
import shutil
import sys

import pytest

from stp.core import bytecode, fingerprint
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
    with pytest.raises(StpError, match=rf"rm -r {module.parent / '__pycache__'}"):
        bytecode.refuse_stale(["stale_example"])
    shutil.rmtree(module.parent / "__pycache__")
    sys.modules.pop("stale_example")
    assert importlib.import_module("stale_example").LEADS == 2
    bytecode.refuse_stale(["stale_example"])


def test_what_was_not_imported_or_has_no_source_is_left_out():
    bytecode.refuse_stale(["stp.models.nowhere", "sys", "stp.core.errors"])


def test_equal_code_is_compiled_once_for_all_processes_and_another_one_again(module, monkeypatch):
    """Stale code stays refused; what was compared counts for these bytes of both files alone."""
    compared = []
    monkeypatch.setattr(
        bytecode, "_compare", lambda name, *_: compared.append(name) or {"equal": True}
    )
    for _ in range(2):
        fingerprint.source_cache.cache_clear()  # as in another process
        bytecode.refuse_stale(["stale_example"])
    assert compared == ["stale_example"]
    compiled = next((module.parent / "__pycache__").glob("stale_example.*.pyc"))
    compiled.write_bytes(compiled.read_bytes() + b"\0")
    bytecode.refuse_stale(["stale_example"])
    module.write_text("LEADS = 3\n")
    bytecode.refuse_stale(["stale_example"])
    assert compared == ["stale_example"] * 3
