"""Where results lie: a folder for each scale, and the name of the scale that was run last."""

from pathlib import Path

RESULTS = Path("results")
LAST_RUN = RESULTS / "plan" / "last-run"
"""Names the scale that was run last."""


def last_scale() -> str | None:
    """The scale that was run last here; None if none was."""
    try:
        return LAST_RUN.read_text().strip() or None
    except OSError:
        return None


def last_results() -> Path:
    """The folder of results of the scale that was run last here."""
    return RESULTS / (last_scale() or "demo")


def rows_of(manifest: Path) -> Path:
    """The collected rows of a manifest, in the folder of results that both lie in."""
    return manifest.parent.parent / "collected" / f"{manifest.stem}.parquet"
