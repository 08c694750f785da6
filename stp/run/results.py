"""Folders of results, one for each scale (such as ``demo``), and the scale of the last run."""

from pathlib import Path

RESULTS = Path("results")
LAST_RUN = RESULTS / "plan" / "last-run"
"""Path of the file that holds the name of the scale of the last run."""


def last_scale() -> str | None:
    """The scale (such as ``demo``) of the last run in the working directory; None without a run."""
    try:
        return LAST_RUN.read_text().strip() or None
    except OSError:
        return None


def last_results() -> Path:
    """The folder of results of the last run in the working directory, or else of the demo."""
    return RESULTS / (last_scale() or "demo")


def rows_of(manifest: Path) -> Path:
    """Path of the file with the collected scores of one table, in the same folder of results.

    Args:
        manifest: path of the manifest, which lists the cells of a table.
    """
    return manifest.parent.parent / "collected" / f"{manifest.stem}.parquet"
