"""The edit of a drafted dataset that gives its test enough clusters for a confidence interval."""

from collections.abc import Iterator
from typing import Any

from stp.core.errors import StpError
from stp.inspect.yaml_lines import flow
from stp.plan.checked_config import in_order
from stp.prepare.output import SPLITS
from stp.prepare.own.options import RawContents
from stp.prepare.own.reader import build_options
from stp.prepare.own.splits import cut, deal, require_windows
from stp.score.jackknife import FEWEST_CLUSTERS

Options = dict[str, Any]
SHARES = (0.15, 0.25, 0.33)
"""Of the test, where stretches of all recordings are shared among the splits."""


def edit(found: RawContents, options: Options, span: int) -> str | None:
    """The smallest edit that gives the test ten clusters; None if there is none.

    Args:
        found: contents of the files.
        options: drafted options of the reader.
        span: frames of a window, context and horizon together.

    Returns:
        keys of the dataset's YAML with their values, and a consequence.
    """
    for text, changed, shorter in _edits(options, span):
        if _clusters(found, {**options, **changed}, shorter) >= FEWEST_CLUSTERS:
            return text
    return None


def _edits(options: Options, span: int) -> Iterator[tuple[str, Options, int]]:
    """Edits in words, the options that they change, and the length of a window afterwards."""
    by_time = options["splits"]["by"] == "time"
    if by_time:
        yield f"cluster_frames: {span}", {"cluster_frames": span}, span
    for shorter in range(span - 1, 1, -1):
        changed: Options = {
            "stride": {"train": max(1, shorter // 4), "val": shorter, "test": shorter}
        }
        changed |= {"cluster_frames": 2 * shorter} if by_time else {}
        keys = "".join(f", {key}: {flow(value)}" for key, value in changed.items())
        yield f"context: {shorter - shorter // 2}, horizon: {shorter // 2}{keys}", changed, shorter
    if by_time:
        return
    for test in SHARES:
        shares = {"train": round(0.85 - test, 2), "val": 0.15, "test": test}
        changed = {"splits": {"by": "time", **shares}, "cluster_frames": 2 * span}
        keys = ", ".join(f"{key}: {flow(value)}" for key, value in changed.items())
        yield f"{keys} (training and test are then parts of the same recordings)", changed, span


def _clusters(found: RawContents, options: Options, span: int) -> int:
    """Clusters of the test with these options; 0 where they leave a split without windows."""
    try:
        built = build_options(in_order(options))
        parts = deal(found, built, lambda name: [])
        clips = cut(found, parts, built, span)
        require_windows(found, parts, clips, built, span)
    except StpError:
        return 0
    if {clip.split for clip in clips} < set(SPLITS):
        return 0
    return len({clip.cluster for clip in clips if clip.split == "test"})
