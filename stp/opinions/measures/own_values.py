"""A measure computed elsewhere: a CSV file with a column ``video`` and columns of values."""

from pathlib import Path

import numpy as np
import pandas as pd

from stp.core.errors import FileError, suggest_name
from stp.opinions.prepared import Database


def read(path: Path, database: Database) -> np.ndarray:
    """Read the user's own values of all videos from a file.

    Args:
        path: path of a CSV file with a column ``video`` and one or more columns of values.
        database: the rated videos, all of which must be in the file.

    Returns:
        values, float64 (V, D), one column for each column of the file except ``video``. Several
        columns are standardised over all videos (mean 0, standard deviation 1), since their units
        may differ.

    Raises:
        StpError: the file cannot be read, its videos are not those of the database, a video occurs
            twice, or a value is not a finite number.
    """
    names = database.names
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")
        if "video" not in table or table.shape[1] < 2:
            raise ValueError(f"columns {', '.join(table.columns)}")
    except (OSError, ValueError) as error:
        expected = "a CSV file: video,value; a row of each video"
        raise FileError(path, f"cannot be read ({error})", expected=expected) from None
    for video in table["video"]:
        if video not in names:
            raise FileError(path, f"unknown video {video!r}", remedy=suggest_name(video, names))
    if len(repeated := table[table["video"].duplicated()]):
        raise FileError(path, f"{repeated['video'].iloc[0]} has two rows")
    if missing := sorted(set(names) - set(table["video"])):
        raise FileError(path, f"no row of {missing[0]}")
    texts = table.set_index("video").loc[names]
    values = texts.map(_parse_number).to_numpy(np.float64)
    for row, column in np.argwhere(~np.isfinite(values)):
        text = texts.iat[row, column]
        raise FileError(path, f"{texts.columns[column]} of {names[row]} is {text!r}")
    if values.shape[1] == 1:
        return values
    deviation = values.std(axis=0)
    return np.asarray((values - values.mean(axis=0)) / np.where(deviation > 0, deviation, 1))


def _parse_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan
