"""Read predicted and observed opinions of videos, ``quality.parquet``.

The file has a row for each test video of each split.
"""

import json
from pathlib import Path

import pyarrow as pa

from stp.core.parquet import read_table, report_read_errors

QUALITY = "quality.parquet"
QUALITY_COLUMNS = pa.schema(
    [
        ("video", pa.string()),
        ("split", pa.int64()),
        ("predicted", pa.float64()),
        ("observed", pa.float64()),
    ]
)
"""Columns of ``quality.parquet``. Opinions are points from 0 to 100; predictions may be outside."""


def read(folder: Path) -> tuple[pa.Table, str]:
    """Read the predicted and observed opinions in a folder of results.

    Returns:
        the table, and the reason why it has no rows; the reason is empty if it has rows.

    Raises:
        ArtefactError: the file is missing or damaged.
    """
    path = Path(folder) / QUALITY
    expected = f"columns {', '.join(QUALITY_COLUMNS.names)}"
    with report_read_errors(path, expected):
        table = read_table(path, expected=expected)
        about = json.loads((table.schema.metadata or {})[b"about"])
        return table.replace_schema_metadata().cast(QUALITY_COLUMNS), str(about["reason"])
