"""``quality.parquet``: predicted and observed opinions, a row for each test video of each split."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from stp.core.errors import StpError

QUALITY = "quality.parquet"
QUALITY_COLUMNS = pa.schema(
    [
        ("video", pa.string()),
        ("split", pa.int64()),
        ("predicted", pa.float64()),
        ("observed", pa.float64()),
    ]
)
"""Points from 0 to 100; predictions may lie outside."""


def read(folder: Path) -> tuple[pa.Table, str]:
    """Read the table, and the reason why it has no rows (empty if it has).

    Raises:
        StpError: the file is missing or damaged.
    """
    path = Path(folder) / QUALITY
    try:
        table = pq.read_table(path, partitioning=None, page_checksum_verification=True)
        about = json.loads((table.schema.metadata or {})[b"about"])
        return table.replace_schema_metadata().cast(QUALITY_COLUMNS), str(about["reason"])
    except (OSError, KeyError, ValueError, pa.ArrowException) as error:
        raise StpError(
            f"{path}: cannot be read ({error})",
            expected="columns video, split, predicted, observed",
            remedy="predict this cell again",
        ) from None
