"""Generate synthetic archives of several forecast centres in ChaosBench."""

from collections.abc import Mapping
from pathlib import Path

from stp.core.job import Report
from stp.core.options import require
from stp.datasets.chaosbench import centre


def generate(out: Path, options: Mapping[str, object], report: Report) -> None:
    """Write an archive of synthetic forecasts for each weather centre.

    An archive is a tar stream in parts, in a folder such as ``chaosbench/ecmwf_ensemble``.

    Args:
        out: folder below which files are written.
        options: options of `stp.datasets.chaosbench.centre` that all centres share, and
            ``centres``, a mapping from the name of each centre to its further options.
        report: function that receives the progress.

    Raises:
        StpError: an option is unknown or out of range.
    """
    shared = dict(options)
    centres = shared.pop("centres", None)
    ok = isinstance(centres, Mapping) and all(isinstance(own, Mapping) for own in centres.values())
    require(ok and bool(centres), "centres", centres, "name of a centre -> its options")
    assert isinstance(centres, Mapping)
    for name, own in centres.items():
        centre.generate(out, {**shared, **own, "centre": name}, report)
