"""What `stp data` and `stp show` say of opinions: videos, raters and splits."""

from collections.abc import Iterator
from typing import Any

from stp.core import store
from stp.core.receipts import require_receipt
from stp.inspect.about import Leakage, markdown_row
from stp.inspect.counts import Row
from stp.page.plain_table import number
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
    """What was counted when a dataset was prepared (`stp.prepare.pvqa`); None if it is not."""
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
