"""Describe datasets of frames: numbers of clips, and clips shared by splits."""

from collections.abc import Iterator
from typing import Any

from stp.inspect.counts import ClipCounts, Row, count_clips, rows
from stp.inspect.descriptions import Leakage
from stp.inspect.leakage import report
from stp.page.plain_table import format_count, share, table
from stp.plan.cells import Plan
from stp.plan.dataset import Dataset
from stp.prepare.output import SPLITS

STRICT = "strict"


def describe(plan: Plan, name: str, leakage: bool) -> tuple[list[Row], Leakage | None]:
    """Count the clips of a dataset of frames, and find clips that its splits share.

    Args:
        plan: plan with the dataset.
        name: name of the dataset.
        leakage: whether to look for shared clips.

    Returns:
        a row of numbers for each split; and numbers of shared clips, None unless ``leakage`` is
        set.

    Raises:
        StpError: prepared data are damaged.
    """
    clip_counts = count_clips(plan, name)
    return rows(plan, clip_counts), _leaks(clip_counts) if leakage else None


def _leaks(clip_counts: ClipCounts) -> Leakage:
    shared = report(clip_counts.index())
    reason = clip_counts.reason or "its clips are known by number only, before it is prepared"
    return Leakage(shared, clip_counts.unnamed_splits(), "" if shared else reason)


def facts(plan: Plan, name: str) -> dict[str, Any] | None:
    """Return None: readers of datasets of frames count nothing besides clips.

    Modules that describe datasets of other tasks have the same function. It returns further counts
    by name, such as numbers of people.
    """
    return None


def lines(plan: Plan, name: str, leakage: Leakage, width: int) -> Iterator[str]:
    """Yield lines of text with a table of the clips that splits of a dataset share.

    Args:
        plan: plan with the dataset.
        name: name of the dataset.
        leakage: shared clips, from `describe`.
        width: maximum length of a line, characters.
    """
    dataset = plan.config.datasets[name]
    if not leakage.shared:
        yield f"leakage of {name}: unknown ({leakage.reason})"
        return
    header = (
        "clips of",
        "seen in",
        "clips",
        "same cluster",
        "overlap in time",
        "clusters",
        "shared",
    )
    cells = [
        (
            pair.split,
            pair.against,
            format_count(pair.clips),
            share(pair.same_cluster, pair.clips),
            share(pair.overlapping, pair.clips),
            format_count(pair.clusters),
            share(pair.shared_clusters, pair.clusters),
        )
        for pair in leakage.shared
    ]
    yield from (f"leakage of {name}: clips of one video, trajectory or event in two splits", "")
    yield from table(header, cells, width, left=2)
    if leakage.unnamed:
        yield from (
            "",
            f"not compared, since its clips have no names yet: {', '.join(leakage.unnamed)}",
        )
    if strict := dataset.subsets.get(STRICT):
        yield from ("", f"subset {STRICT}: {strict.title}")
    if subset := dataset.train_subsets.get(STRICT):
        yield f"training and validation clips for it: {subset.title}"


def size_text(dataset: Dataset) -> str:
    """Write the channels, height and width of a frame as text, e.g. "1 x 64 x 64"."""
    return " x ".join(map(str, dataset.shape))


def protocol_summary(dataset: Dataset) -> str:
    """Say in words what context and horizon count: frames, and the shape of a frame.

    The text is "frames of 1 x 64 x 64 (channels, height, width)". The page of datasets shows it
    after both numbers: "Protocol: 10 -> 10 frames of 1 x 64 x 64 (channels, height, width)".
    """
    return f"frames of {size_text(dataset)} (channels, height, width)"


def section(dataset: Dataset) -> Iterator[str]:
    """Yield lines of Markdown with the number of clips of each split and subset of a dataset."""
    counts = dataset.counts
    splits = ", ".join(_split_text(dataset, split) for split in SPLITS)
    yield f"- **Clips:** {splits}." + (f" Source: {counts.source}." if counts.source else "")
    kinds = (
        ("Subset", dataset.subsets),
        ("Other training and validation clips,", dataset.train_subsets),
    )
    for title, subsets in kinds:
        for label, subset in subsets.items():
            clips = "" if subset.clips is None else f" ({subset.clips:,} clips)"
            yield f"- **{title} `{label}`**{clips}: {subset.title}."


def _split_text(dataset: Dataset, split: str) -> str:
    """Text with the number of clips of a split: ``val 1,801 (published: 1,628)``."""
    ours, published = (c.by_split[split] for c in (dataset.counts, dataset.counts.published))
    notes = [] if published is None else [f"published: {format_count(published)}"]
    notes += filter(None, [dataset.counts.explained.get(split)])
    return f"{split} {format_count(ours)}" + (f" ({'; '.join(notes)})" if notes else "")
