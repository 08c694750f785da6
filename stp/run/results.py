"""Folders of results, one for each scale, and the scale of the last run."""

from pathlib import Path

RESULTS = Path("results")
LAST_RUN = RESULTS / "plan" / "last-run"
"""Holds the name of the scale of the last run."""


def last_scale() -> str | None:
    """The scale of the last run here; None if there was none."""
    try:
        return LAST_RUN.read_text().strip() or None
    except OSError:
        return None


def last_results() -> Path:
    """The folder of results of the last run here, or else of the demo."""
    return RESULTS / (last_scale() or "demo")


def rows_of(manifest: Path) -> Path:
    """The collected rows of a manifest, in the folder of results that both lie in."""
    return manifest.parent.parent / "collected" / f"{manifest.stem}.parquet"
