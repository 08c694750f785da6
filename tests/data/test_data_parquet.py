"""Parquet files carry checksums of their pages, and whoever reads one of ours compares them."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "stp"
NEEDS = {
    "to_parquet": "write_page_checksum",
    "write_table": "write_page_checksum",
    "read_table": "page_checksum_verification",
    "read_parquet": "page_checksum_verification",
    "ParquetFile": "page_checksum_verification",
}
OF_OTHERS = (
    "datasets",  # imitate the files of others
    "inspect/track_columns.py",
    "prepare/track_readers/detections.py",
    "export/checking.py",  # of a bundle whose members have checksums
)


def parquet_calls(path: Path) -> list[ast.Call]:
    found = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    return [
        node
        for node in found
        if isinstance(node.func, ast.Attribute)
        and node.func.attr in NEEDS
        and (node.func.attr == "to_parquet" or ast.unparse(node.func.value) in ("pd", "pq"))
    ]


def test_every_table_of_ours_is_written_and_read_with_checksums():
    calls = {
        (path, node.lineno): node
        for path in PACKAGE.rglob("*.py")
        if not path.relative_to(PACKAGE).as_posix().startswith(OF_OTHERS)
        for node in parquet_calls(path)
    }
    assert len(calls) > 30
    without = [
        f"{path}:{line}"
        for (path, line), node in calls.items()
        if NEEDS[node.func.attr] not in [keyword.arg for keyword in node.keywords]
    ]
    assert without == []
