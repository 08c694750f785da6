"""What `stp data` and `stp show` say of opinions: videos, raters and splits."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from stp.core import store
from stp.core.receipts import require_receipt
from stp.inspect.about import Leakage, markdown_row
from stp.inspect.counts import Row
from stp.opinions.moments import Moments, p_value
from stp.opinions.prepared import open_database
from stp.page.plain_table import number, table
from stp.plan.cells import Plan
from stp.plan.dataset import Dataset

NOT_PREPARED = "known when it is prepared"
OVERLAP = "splits of a family overlap by design: a video is in several tests"


def describe(plan: Plan, name: str, leakage: bool) -> tuple[list[Row], Leakage | None]:
    """Count the splits of each family."""
    dataset = plan.config.datasets[name]
    source = dataset.releases[dataset.release].source
    found = facts(plan, name)
    rows = [
        Row(name, source, family, None, None, None, NOT_PREPARED)
        if found is None
        else Row(name, source, family, None, found["videos"], None, _splits(found, family))
        for family in dataset.subsets
    ]
    return rows, Leakage([], [], OVERLAP) if leakage else None


def _splits(found: dict[str, Any], family: str) -> str:
    return f"videos, in {number(found['splits'].get(family, 0))} splits"


def facts(plan: Plan, name: str) -> dict[str, Any] | None:
    """What was counted when a dataset was prepared (`stp.prepare.opinions`); None if it is not."""
    folder = plan.store / plan.data(name).folder
    if not store.is_complete(folder):
        return None
    return require_receipt(folder).extras


def lines(plan: Plan, name: str, found: Leakage, width: int) -> Iterator[str]:
    """Describe one dataset."""
    counted = facts(plan, name)
    if counted is None:
        yield f"{name}: not prepared; `stp fetch {name}` and `stp prepare {name}` tell what it has"
        return
    yield f"{name}: opinions of {number(counted['videos'])} videos"
    if counted["raters"]:
        yield (
            f"{number(counted['raters'])} raters, of whom {len(counted['rejected'])} are rejected; "
            f"the opinions of random halves correlate with {counted['split_half']:.3f} (median)"
        )
    yield found.reason
    yield ""
    yield from groups(plan.store / plan.data(name).folder, width)


def groups(folder: Path, width: int) -> Iterator[str]:
    """Opinions of groups of videos, and whether their means differ, as Table 2 of the paper.

    Args:
        folder: of the prepared data.
        width: of the terminal.
    """
    rows = open_database(folder, 0).table.to_pylist()
    natural = [row for row in rows if row["tags"] == "natural"]
    damaged = [row for row in rows if row["tags"] != "natural"]
    largest = max(row["height"] * row["width"] for row in rows)

    def tagged(word: str) -> list[dict[str, Any]]:
        return [row for row in damaged if word in (row["tags"] or "").split()]

    pairs = [
        ("natural", natural, "predicted", damaged),
        (
            "enlarged, natural",
            [row for row in natural if row["height"] * row["width"] < largest],
            "not enlarged, natural",
            [row for row in natural if row["height"] * row["width"] == largest],
        ),
        ("blur", tagged("blur"), "shape", tagged("shape")),
        *(
            (
                word,
                tagged(word),
                "all others predicted",
                [r for r in damaged if r not in tagged(word)],
            )
            for word in ("disappearance", "color")
        ),
        (
            "stochastic",
            [row for row in damaged if row["family"] == "stochastic"],
            "deterministic",
            [row for row in damaged if row["family"] == "deterministic"],
        ),
    ]
    shown = [line for pair in pairs if (line := _compared(*pair))]
    if not shown:
        yield "groups of videos: not known, since no video has tags (Tags.csv)"
        return
    header = ("group", "videos", "opinion", "other group", "videos", "opinion", "p")
    yield from table(header, shown, width, left=1)
    yield ""
    yield "opinions: mean ± standard deviation (divided by n); p: Welch's t test, two-sided"


def _compared(
    first: str, some: list[dict[str, Any]], second: str, others: list[dict[str, Any]]
) -> tuple[str, ...] | None:
    """A row of two groups; None if one has fewer than two videos."""
    if min(len(some), len(others)) < 2:
        return None
    of = [
        Moments(float(values.mean()), float(values.std()), len(values))
        for values in (np.array([row["mos"] for row in group]) for group in (some, others))
    ]
    p = p_value(*of, alternative="two-sided", equal_variances=False)
    texts = [(number(one.n), f"{one.mean:.2f} ± {one.deviation:.2f}") for one in of]
    return first, *texts[0], second, *texts[1], f"{p:.2g}"


def size_text(dataset: Dataset) -> str:
    """What a video has at each time."""
    return "3 channels, of several sizes"


def protocol_text(dataset: Dataset) -> str:
    """What context and horizon count."""
    return "observed and predicted frames of each video, in their own size"


def section(dataset: Dataset) -> Iterator[str]:
    """The parts of a dataset, in Markdown."""
    yield ""
    yield markdown_row(("splits", "what they are"))
    yield markdown_row(("---", "---"))
    for name, subset in dataset.subsets.items():
        yield markdown_row((f"`{name}`", subset.title))
