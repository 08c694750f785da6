"""What a network sees in the clips of a cell, kept beside its scores (``features.parquet``).

Models with unequal numbers of clips can be compared at equal N later without predicting again.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from stp.core.errors import StpError
from stp.metrics.perceptual import matched

FEATURES = "features.parquet"


class Features(NamedTuple):
    """What the network sees in all clips of a split, in the order of its samples.

    Attributes:
        observed: float64 (N, D).
        predicted: float64 (N, D); of several forecasts of a sample, see `Members.single`.
    """

    observed: np.ndarray
    predicted: np.ndarray


def choice_of(convention: str) -> str:
    """The choice of frames that a convention looks at: ``predicted_only``."""
    return convention.partition(".")[2]


def write_features(path: Path, clips: list[str], found: Mapping[str, Features]) -> None:
    """Write features, a row for each sample: its clip, and for each choice two lists of D values,
    ``<choice>.observed`` and ``<choice>.predicted``."""
    columns: dict[str, pa.Array] = {
        "sample": pa.array(np.arange(len(clips), dtype=np.int64)),
        "clip": pa.array(clips, pa.string()),
    }
    for choice, features in found.items():
        for kind, values in features._asdict().items():
            flat = pa.array(values.reshape(-1))
            lists = pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
            columns[f"{choice}.{kind}"] = lists
    pq.write_table(pa.table(columns), path, write_page_checksum=True)


def read_features(path: Path, choice: str) -> Features:
    """Read the features of a score artefact.

    Args:
        path: its ``features.parquet``.
        choice: of frames, such as ``predicted_only``.

    Raises:
        StpError: there are none.
    """
    names = [f"{choice}.{kind}" for kind in Features._fields]
    try:
        table = pq.read_table(
            path, columns=names, partitioning=None, page_checksum_verification=True
        )
        # A column that is not there is left out without a word.
        arrays = [np.stack(table[name].to_numpy()) for name in names]
    except (OSError, KeyError, pa.ArrowInvalid) as error:
        raise StpError(
            f"{path} has no features of {choice} ({type(error).__name__})",
            expected=", ".join(names),
            remedy="score this cell again with the weights at hand (`stp weights`)",
        ) from error
    return Features(*arrays)


def at_n(
    features: Features, distance: Callable[[np.ndarray, np.ndarray], float], n: int, seed: int = 0
) -> float:
    """The value of ``n`` clips, the same ones for every model of a dataset.

    Args:
        distance: of a `stp.metrics.perceptual.SetDistance`.
        seed: of the drawing, without replacement.

    Raises:
        StpError: there are fewer.
    """
    if n > len(features.observed):
        raise StpError(
            f"{n} clips of {len(features.observed)}",
            expected="at most as many as were scored",
            remedy="compare at the smaller number",
        )
    chosen = matched(len(features.observed), n, seed)
    return distance(features.observed[chosen], features.predicted[chosen])
