"""Forecasts of several weather centres: their members as one ensemble, or their mean.

The archives of the centres are parts of one set of raw files. Only starts and variables that all
centres have are used; all members have equal weights. Starts are read in the order of the first
archive. Another archive is read again from its beginning if the next start lies before its current
position.
"""

from collections.abc import Mapping
from functools import reduce

import numpy as np

from stp.core.errors import StpError
from stp.predict.source import ForecastRequest, Source
from stp.predict.sources.centre_archive import STANDARD_GRAVITY, CentreArchive

OPTIONS = ("centres", "ensemble", "mean", "gravity")


class MultiModel(Source):
    """Forecasts of several weather centres, whose members form one ensemble.

    Args:
        request: clips, number of lead times, and the raw files of all centres (``archive``).
            ``members`` is the number of members of all centres together, or 1 for the mean.
        centres: number of members of each centre, by the name of the folder with the parts of its
            archive, e.g. ``{"ncep_ensemble": 15, "ecmwf_ensemble": 50}``. Members are in the
            alphabetical order of these names.
        ensemble: whether the archives have several members for each start.
        mean: whether the mean of all members is the only forecast.
        gravity: number by which the archives divided geopotential to get heights, m s-2.

    Raises:
        StpError: numbers of members differ, or no start or variable is in all archives.
    """

    def __init__(
        self,
        request: ForecastRequest,
        centres: Mapping[str, int],
        ensemble: bool,
        mean: bool,
        gravity: float,
    ) -> None:
        centres = dict(sorted(centres.items()))
        total = sum(centres.values())
        if request.members != (1 if mean else total):
            raise StpError(
                f"{request.members} members of a forecast, and {total} of {', '.join(centres)}",
                expected="1 for the mean of all members, else the sum over the centres",
                remedy="set predict: {samples: ...} or options: {centres: ...} of this model",
            )
        self._mean = mean
        self._centres = [
            CentreArchive(
                request._replace(members=members, aside=request.aside / name),
                ensemble,
                gravity,
                parts=f"*/{name}/*",
            )
            for name, members in centres.items()
        ]
        available = [set(centre.rows.tolist()) for centre in self._centres]
        first = self._centres[0].rows
        self.rows = np.array([row for row in first.tolist() if all(row in of for of in available)])
        self.channels = reduce(np.intersect1d, [centre.channels for centre in self._centres])
        if not len(self.rows) or not len(self.channels):
            raise StpError(
                f"{', '.join(centres)}: {len(self.rows)} starts and {len(self.channels)} variables "
                "that all of them have",
                remedy="remove a centre from `centres`",
            )

    def read(self, row: int, leads: np.ndarray) -> np.ndarray:
        """Read the forecasts of one clip.

        Args:
            row: index of the clip in the split, from 0.
            leads: indices of lead times, from 0, ascending.

        Returns:
            forecasts in the dataset's units, float32 (members, lead times, C, H, W).
        """
        every = np.concatenate(
            [
                centre.read(row, leads)[:, :, np.searchsorted(centre.channels, self.channels)]
                for centre in self._centres
            ]
        )
        if not self._mean:
            return every
        return every.mean(axis=0, keepdims=True, dtype=np.float64).astype(np.float32)

    def close(self) -> None:
        """Close files and remove temporary ones (see `Source.close`)."""
        for centre in self._centres:
            centre.close()


def open_source(
    request: ForecastRequest,
    centres: Mapping[str, int],
    ensemble: bool = False,
    mean: bool = False,
    gravity: float = STANDARD_GRAVITY,
) -> Source:
    """Open the archives of several weather centres, whose members form one ensemble.

    Args:
        request: clips, number of lead times, and the raw files of all centres (`MultiModel`).
        centres: number of members of each centre, by the name of the folder of its archive.
        ensemble: whether the archives have several members for each start.
        mean: whether the mean of all members is the only forecast.
        gravity: number by which the archives divided geopotential to get heights, m s-2.
    """
    return MultiModel(request, centres, ensemble, mean, gravity)
