"""The tables that are made from all scores and features of a dimension, by name."""

from collections.abc import Callable
from pathlib import Path

from stp.core.errors import StpError, nearest
from stp.render.tables.content_motion import render_content_motion
from stp.render.tables.metric_correlations import render_metric_correlations
from stp.render.tables.noise_study import render_noise_study
from stp.render.tables.sample_size import render_sample_size
from stp.render.tables.success_correlations import render_success_correlations
from stp.render.tables.trust_cards import render_trust_cards

TABLES: dict[str, Callable[[Path, Path], None]] = {
    "noise_study": render_noise_study,
    "sample_size": render_sample_size,
    "metric_correlations": render_metric_correlations,
    "content_motion": render_content_motion,
    "trust_cards": render_trust_cards,
    "success_correlations": render_success_correlations,
}
"""Name -> its writer: (manifest of a dimension, CSV file). All but the last are of distortions."""


def render(name: str, manifest: Path, out: Path) -> None:
    """Write one of them.

    Raises:
        StpError: there is no such table, or a file is missing or damaged.
    """
    if name not in TABLES:
        raise StpError(
            f"no study {name!r}",
            expected=", ".join(TABLES),
            remedy=nearest(name, TABLES),
        )
    TABLES[name](manifest, out)
