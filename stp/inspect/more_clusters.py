"""Find an edit of a drafted dataset that gives its test split enough clusters for intervals."""

from collections.abc import Iterator
from typing import Any

from stp.core.errors import StpError
from stp.inspect.yaml_lines import flow
from stp.plan.checked_config import in_order
from stp.prepare.output import SPLITS
from stp.prepare.own.options import RawContents
from stp.prepare.own.reader import build_options
from stp.prepare.own.splits import assign_splits, cut_windows, require_windows
from stp.score.jackknife import FEWEST_CLUSTERS

Options = dict[str, Any]
SHARES = (0.15, 0.25, 0.33)
"""Candidates for the share of the test, if all recordings are divided by time."""


def edit(contents: RawContents, options: Options, span: int) -> str | None:
    """Find the smallest edit that gives the test split ten clusters; None without such an edit.

    A cluster is a set of dependent clips, such as those of one video. A confidence interval needs
    ten of them.

    Args:
        contents: contents of the raw files.
        options: drafted options of the reader.
        span: number of frames of a window, context and horizon together.

    Returns:
        text of the edit: keys of the dataset's YAML with their new values, and a warning in
        parentheses if the edit has a drawback.
    """
    for changed, shorter, consequence in _edits(options, span):
        if _clusters(contents, {**options, **changed}, shorter) >= FEWEST_CLUSTERS:
            lengths = {"context": shorter - shorter // 2, "horizon": shorter // 2}
            keys = {**(lengths if shorter < span else {}), **changed}
            return ", ".join(f"{key}: {flow(value)}" for key, value in keys.items()) + consequence
    return None


def _edits(options: Options, span: int) -> Iterator[tuple[Options, int, str]]:
    """Yield edits: changed options, new frames of a window, and a consequence in words."""

    def windows(length: int) -> Options:
        return {"stride": {"train": max(1, length // 4), "val": length, "test": length}}

    def by_time(test: float) -> Options:
        return {"splits": {"by": "time", "train": round(0.85 - test, 2), "val": 0.15, "test": test}}

    if options["splits"]["by"] == "time":
        yield {"cluster_frames": span}, span, ""
        for shorter in range(span - 1, 1, -1):
            yield {**windows(shorter), "cluster_frames": 2 * shorter}, shorter, ""
        # With few frames, such as months, only windows without a common frame are enough.
        for shorter in range(span, 1, -1):
            for test in SHARES:
                yield {**by_time(test), **windows(shorter), "cluster_frames": shorter}, shorter, ""
        return
    for shorter in range(span - 1, 1, -1):
        yield windows(shorter), shorter, ""
    consequence = " (training and test are then parts of the same recordings)"
    for test in SHARES:
        yield {**by_time(test), "cluster_frames": 2 * span}, span, consequence


def _clusters(contents: RawContents, options: Options, span: int) -> int:
    """Number of clusters of the test split with some options; 0 if a split gets no windows."""
    try:
        built = build_options(in_order(options))
        parts = assign_splits(contents, built, lambda name: [])
        clips = cut_windows(contents, parts, built, span)
        require_windows(contents, parts, clips, built, span)
    except StpError:
        return 0
    if {clip.split for clip in clips} < set(SPLITS):
        return 0
    return len({clip.cluster for clip in clips if clip.split == "test"})
