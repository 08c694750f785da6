"""Parquet files carry checksums of their pages, and one function reads ours and compares them."""

import ast
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stp.core.errors import ArtefactError
from stp.core.parquet import check_pages, read_schema, read_table

PACKAGE = Path(__file__).parents[2] / "stp"
WRITERS = ("to_parquet", "write_table")
READERS = ("read_table", "read_parquet", "read_schema", "ParquetFile")
OF_OTHERS = (
    "datasets",  # imitate the files of others
    "inspect/track_columns.py",
    "prepare/track_readers/detections.py",
    "export/checking.py",  # of a bundle whose members have checksums
)
SCHEMA = pa.schema([("clip", pa.string()), ("value", pa.float64())])


def parquet_calls(names: tuple[str, ...]) -> dict[str, ast.Call]:
    return {
        f"{path.relative_to(PACKAGE).as_posix()}:{node.lineno}": node
        for path in PACKAGE.rglob("*.py")
        if not path.relative_to(PACKAGE).as_posix().startswith(OF_OTHERS)
        for text in [path.read_text()]
        if any(name in text for name in names)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in names
        and (node.func.attr == "to_parquet" or ast.unparse(node.func.value) in ("pd", "pq"))
    }


def test_every_table_of_ours_is_written_with_checksums() -> None:
    calls = parquet_calls(WRITERS)
    assert len(calls) > 15
    keywords = {where: [one.arg for one in call.keywords] for where, call in calls.items()}
    assert [w for w, given in keywords.items() if "write_page_checksum" not in given] == []


def test_one_module_reads_parquet() -> None:
    assert {where.partition(":")[0] for where in parquet_calls(READERS)} == {"core/parquet.py"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Two rows in the folder of an artefact."""
    table = pa.table({"clip": ["a", "b"], "value": [0.5, 1.5], "value.n": [1, 2]})
    pq.write_table(table, tmp_path / "rows.parquet", write_page_checksum=True, compression="none")
    return tmp_path / "rows.parquet"


def test_columns_are_those_that_are_asked_for_in_their_order(path: Path) -> None:
    assert read_table(path).column_names == ["clip", "value", "value.n"]
    assert read_table(path, ["value", "clip"]).column_names == ["value", "clip"]
    assert read_table(path, SCHEMA).schema == SCHEMA


@pytest.mark.parametrize("read", [read_table, read_schema, check_pages])
def test_missing_and_torn_files_are_one_error_with_a_remedy(read, path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ArtefactError, match=r"rows\.parquet") as torn:
        read(path)
    path.unlink()
    with pytest.raises(ArtefactError, match=r"rows\.parquet") as missing:
        read(path)
    assert torn.value.remedy == missing.value.remedy
    with pytest.raises(ArtefactError, match="fetch it"):
        read(path, remedy="fetch it")


@pytest.mark.parametrize("read", [read_table, check_pages])
def test_a_changed_page_is_damage(read, path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[content.index(b"\x00\x00\x00\xe0?")] ^= 1  # of the number 0.5
    path.write_bytes(bytes(content))
    with pytest.raises(ArtefactError, match=r"rows\.parquet"):
        read(path)


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        (["clip", "lead"], "lead"),
        (pa.schema([("clip", pa.string()), ("lead", pa.int64())]), "lead"),
        (pa.schema([("clip", pa.int64())]), ""),
    ],
)
def test_other_columns_are_named(path: Path, columns, problem: str) -> None:
    with pytest.raises(ArtefactError, match=rf"rows\.parquet.*{problem}"):
        read_table(path, columns)
