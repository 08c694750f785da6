"""Stores open in releases of DuckDB that are older than the one that wrote them."""

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from small_store import SmallStore, built

from stp.collect import merge_scales

OLD = os.environ.get("STP_OLD_DUCKDB")
FORMAT_OF_1_0 = 64
"""Number in the header of a file: releases 0.10 to 1.1 write and read this one."""
READ_ALL = """
import sys, duckdb
with duckdb.connect(sys.argv[1], read_only=True) as store:
    relations = store.execute(
        "SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal "
        "UNION ALL SELECT schema_name, table_name FROM duckdb_tables()"
    ).fetchall()
    for schema, name in relations:
        store.execute(f'FROM "{schema}"."{name}"').fetchall()
print(len(relations))
"""


@pytest.fixture
def stores(tmp_path: Path) -> list[Path]:
    """The store of a scale, and that of all scales."""
    (tmp_path / "demo").mkdir()
    small = SmallStore(tmp_path / "demo")
    small.add("persistence", "moving_mnist", {"ssim.range2": {"mean": 0.5}})
    small.add("convlstm", "moving_mnist", {"ssim.range2": {"mean": 0.9}}, seed=0)
    database = built(small)
    assert merge_scales.combine(tmp_path, "demo") == {}
    return [database, tmp_path / "results.duckdb"]


def test_files_have_the_format_of_duckdb_1_0(stores: list[Path]) -> None:
    for store in stores:
        header = store.read_bytes()[:20]
        assert header[8:12] == b"DUCK"
        assert struct.unpack("<Q", header[12:20])[0] == FORMAT_OF_1_0


@pytest.mark.skipif(not OLD, reason="set STP_OLD_DUCKDB to a folder with duckdb 1.1.3 to run it")
def test_an_older_duckdb_reads_every_table_and_view(stores: list[Path]) -> None:
    for store in stores:
        done = subprocess.run(
            [sys.executable, "-c", READ_ALL, str(store)],
            env={**os.environ, "PYTHONPATH": str(OLD)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        assert int(done.stdout) > 30
