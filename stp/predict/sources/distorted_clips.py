"""Real clips, distorted: the eight distortions of the study of FVD (`stp.data.distortions`).

They stand where forecasts do, but they see whole clips and other clips of the split: the data have
no context frames.
"""

import numpy as np

from stp.core.errors import StpError
from stp.data.distortions import Distorter
from stp.predict.source import Given, Source

OPTIONS = (
    *("distortion", "intensities", "seed"),
    *("place", "size", "border", "scale", "range", "of", "ends", "time"),
)


class DistortedClips(Source):
    """Distorted clips.

    Args:
        given: what they are made of; its ``intensity`` chooses one of ``intensities``, from 1.
        distortion: its name.
        intensities: the parameter at each intensity.
        seed: of all random numbers.
        chosen: what is left open, see `stp.data.distortions.CHOICES`.

    Raises:
        StpError: the data have context frames or no such intensity, or an option is wrong.
    """

    def __init__(
        self, given: Given, distortion: str, intensities: list[float], seed: int, **chosen: str
    ) -> None:
        if given.data.context:
            raise StpError(
                f"{given.data.folder}: clips with {given.data.context} context frames",
                expected="none: a distortion sees whole clips",
                remedy="set `context: 0` of this dataset in the scale file",
            )
        if not 1 <= given.intensity <= len(intensities):
            raise StpError(
                f"intensity {given.intensity} of {distortion}",
                expected=f"1 to {len(intensities)}",
                remedy="correct `setting: {intensity: ...}` in the scale file",
            )
        self._given = given
        self._distort = Distorter(distortion, intensities[given.intensity - 1], seed, **chosen)
        self.rows = np.arange(len(given.clips))
        self.channels = np.arange(given.data.shape[0])

    def read(self, row: int, leads: np.ndarray) -> np.ndarray:
        """See `Source.read`."""
        rows = [row, *self._distort.partners(len(self.rows), row)]
        clip, *others = self._given.clips.read(rows, length=self._given.lead_times)
        found = self._distort(row, clip, tuple(others))
        return np.asarray(found[leads], np.float32)[None]


def open_source(
    given: Given, distortion: str, intensities: list[float], seed: int = 0, **chosen: str
) -> Source:
    """Open the clips of a split, distorted."""
    return DistortedClips(given, distortion, intensities, seed, **chosen)
