"""Distorted real clips in place of forecasts, to study what FVD and other metrics notice.

Distortions use whole clips and other clips of the split; the data have no context frames.
"""

import numpy as np

from stp.core.errors import StpError
from stp.data.distortions import Distorter
from stp.predict.source import ForecastRequest, Source

OPTIONS = (
    *("distortion", "intensities", "seed"),
    *("place", "size", "border", "scale", "range", "of", "ends", "time"),
)


class DistortedClips(Source):
    """Distorted real clips, in the form of forecasts.

    Scores of such "forecasts" show what a metric notices.

    Args:
        request: what is asked for: the ``clips`` to distort, and ``intensity``, an index from 1
            into ``intensities``. The data must have no context frames, since whole clips are
            distorted.
        distortion: name of the distortion, such as ``gaussian_blur``.
        intensities: available strengths of the distortion, such as widths of the blur.
        seed: seed of all random numbers.
        chosen: details of distortions that the paper leaves open, such as ``border="reflect"``, by
            keys of `stp.data.distortions.CHOICES`.

    Raises:
        StpError: the data have context frames, the intensity is out of range, or an option is
            wrong.
    """

    def __init__(
        self,
        request: ForecastRequest,
        distortion: str,
        intensities: list[float],
        seed: int,
        **chosen: str,
    ) -> None:
        if request.data.context:
            raise StpError(
                f"{request.data.folder}: clips with {request.data.context} context frames",
                expected="clips without context, since distortions use whole clips",
                remedy="set `context: 0` of this dataset in the scale file",
            )
        if not 1 <= request.intensity <= len(intensities):
            raise StpError(
                f"intensity {request.intensity} of {distortion}",
                expected=f"1 to {len(intensities)}",
                remedy="correct `setting: {intensity: ...}` in the scale file",
            )
        self._request = request
        self._distort = Distorter(distortion, intensities[request.intensity - 1], seed, **chosen)
        self.rows = np.arange(len(request.clips))
        self.channels = np.arange(request.data.shape[0])

    def read(self, row: int, leads: np.ndarray) -> np.ndarray:
        """Read one clip, distorted, in the form of a forecast with one member.

        Args:
            row: index of the clip, from 0.
            leads: indices of lead times, from 0, ascending.

        Returns:
            the distorted clip, in the dataset's units, float32 (1, lead times, C, H, W).
        """
        rows = [row, *self._distort.partners(len(self.rows), row)]
        clip, *others = self._request.clips.read(rows, length=self._request.lead_times)
        distorted = self._distort(row, clip, tuple(others))
        return np.asarray(distorted[leads], np.float32)[None]


def open_source(
    request: ForecastRequest,
    distortion: str,
    intensities: list[float],
    seed: int = 0,
    **chosen: str,
) -> Source:
    """Open the distorted clips of a split, in the form of forecasts (`DistortedClips`).

    Args:
        request: the clips to distort, and ``intensity``, an index from 1 into ``intensities``.
        distortion: name of the distortion, such as ``gaussian_blur``.
        intensities: available strengths of the distortion, such as widths of the blur.
        seed: seed of all random numbers.
        chosen: details of distortions that the paper leaves open, such as ``border="reflect"``.
    """
    return DistortedClips(request, distortion, intensities, seed, **chosen)
