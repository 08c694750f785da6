"""What `stp data` and `stp show` say of opinions: videos, raters and splits."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from stp.collect.published import read_published
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
OPINIONS = "opinions"
"""The dimension of printed values that are of the database, not of a measure."""
SOURCES = {"UCF": "UCF-101"}
"""Names of videos -> what Table 1 calls their source, where it differs."""
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
    printed = printed_of(plan, name)
    if counted["raters"]:
        yield raters(counted, printed)
    yield found.reason
    yield ""
    folder = plan.store / plan.data(name).folder
    rows = open_database(folder, 0).table.to_pylist()
    yield from sources(rows, printed, width)
    yield ""
    yield from groups(rows, printed, width)


Printed = dict[tuple[str, str], str]
"""Printed name and metric -> the number as printed."""


def printed_of(plan: Plan, name: str) -> Printed:
    """What the paper of the suite prints of a database: its Tables 1 and 2, and its text."""
    known = plan.config.datasets[name].published_name
    return {
        (one.model, one.metric): one.raw
        for one in read_published(plan.config.suite.published_file)
        if one.dimension == OPINIONS and one.tested_on == known
    }


def raters(counted: dict[str, Any], printed: Printed) -> str:
    """How many raters are rejected, and how the halves of the others agree.

    Args:
        counted: see `facts`.
        printed: values of the paper.
    """
    outliers, every, halves = (
        printed.get((name, "value"), "")
        for name in ("outlier subjects", "subjects", "inter-subject split-half PLCC median")
    )
    return (
        f"{number(counted['raters'])} raters, of whom {len(counted['rejected'])} are rejected"
        + (f" (printed: {outliers} of {every})" if outliers and every else "")
        + "; the opinions of random halves of the others correlate with "
        + f"{counted['split_half']:.3f} (median"
        + (f"; printed: {halves})" if halves else ")")
    )


def sources(rows: list[dict[str, Any]], printed: Printed, width: int) -> list[str]:
    """Videos of each source dataset, as Table 1 of the paper.

    Args:
        rows: of the videos, `stp.opinions.prepared.OPINION_COLUMNS`.
        printed: values of the paper.
        width: of the terminal.
    """
    shown = [
        (name, number(many), printed.get((SOURCES.get(name, name), "videos"), ""))
        for name, many in sorted(Counter(row["dataset"] for row in rows).items())
    ]
    return table(("source dataset", "videos", "printed"), shown, width, left=1)


@dataclass(frozen=True)
class Group:
    """Opinions of a group of videos.

    Attributes:
        title: what tables call it.
        published_name: what Table 2 calls it; empty of groups that it does not have.
        mos: of its videos.
    """

    title: str
    published_name: str
    mos: np.ndarray

    @property
    def moments(self) -> Moments:
        """Mean, deviation and number."""
        return Moments(float(self.mos.mean()), float(self.mos.std()), len(self.mos))


@dataclass(frozen=True)
class Pair:
    """Two groups whose means are compared.

    Attributes:
        first, second: the groups.
        alternative: of Welch's test.
        published_name: of its p value, where the paper prints one.
    """

    first: Group
    second: Group
    alternative: Literal["two-sided", "greater"] = "two-sided"
    published_name: str = ""

    @property
    def p(self) -> float:
        """Of Welch's t test."""
        pair = self.first.moments, self.second.moments
        return p_value(*pair, alternative=self.alternative, equal_variances=False)


def pairs_of(rows: list[dict[str, Any]]) -> list[Pair]:
    """The groups of Table 2, those of two videos or more.

    A damage is compared with the videos that have it not; blur and shape with each other.
    """
    natural = [row for row in rows if row["tags"] == "natural"]
    damaged = [row for row in rows if row["tags"] != "natural"]
    largest = max(row["height"] * row["width"] for row in rows)

    def group(
        title: str, among: list[dict[str, Any]], has: Callable[[dict[str, Any]], bool], name: str
    ) -> Group:
        return Group(title, name, np.array([row["mos"] for row in among if has(row)]))

    def words(row: dict[str, Any]) -> list[str]:
        return (row["tags"] or "").split()

    def tagged(word: str, name: str = "") -> Group:
        return group(word, damaged, lambda row: word in words(row), name)

    def others(word: str) -> Group:
        return group(f"not {word}", damaged, lambda row: word not in words(row), "")

    def is_small(row: dict[str, Any]) -> bool:
        return bool(row["height"] * row["width"] < largest)

    def family(word: str) -> Group:
        name = f"{word.capitalize()} Prediction"
        return group(word, damaged, lambda row: row["family"] == word, name)

    found = [
        Pair(
            group("natural", natural, bool, "Natural Videos"),
            group("predicted", damaged, bool, "Predicted Videos"),
        ),
        Pair(
            group("enlarged, natural", natural, is_small, "Upsampled Natural Videos"),
            group(
                "not enlarged, natural",
                natural,
                lambda row: not is_small(row),
                "Non-upsampled Natural Videos",
            ),
            published_name="t-test upsampled vs not p",
        ),
        Pair(tagged("blur", "Blur"), tagged("shape", "Shape Distortion")),
        Pair(tagged("disappearance"), others("disappearance")),
        Pair(tagged("color"), others("color")),
        Pair(
            family("stochastic"),
            family("deterministic"),
            "greater",
            "t-test stochastic vs deterministic p",
        ),
    ]
    return [one for one in found if min(len(one.first.mos), len(one.second.mos)) > 1]


def groups(rows: list[dict[str, Any]], printed: Printed, width: int) -> Iterator[str]:
    """Opinions of groups of videos, and whether their means differ, as Table 2 of the paper.

    Arguments are those of `sources`.
    """
    pairs = pairs_of(rows)
    if not pairs:
        yield "groups of videos: not known, since no video has tags (Tags.csv)"
        return
    shown = []
    for one in (group for pair in pairs for group in (pair.first, pair.second)):
        mean, deviation, many = (
            printed.get((one.published_name, metric), "") for metric in ("MOS", "MOS sd", "videos")
        )
        ours = one.moments
        opinion = f"{ours.mean:.2f} ± {ours.deviation:.2f}"
        beside = f"{mean} ± {deviation}" if mean else ""
        shown.append((one.title, number(ours.n), many, opinion, beside))
    yield from table(("group", "videos", "printed", "opinion", "printed"), shown, width, left=1)
    yield ""
    tests = [
        (
            f"{pair.first.title}, {pair.second.title}",
            pair.alternative,
            f"{pair.p:.2g}",
            printed.get((pair.published_name, "value"), ""),
        )
        for pair in pairs
    ]
    yield from table(("groups", "alternative", "p", "printed"), tests, width, left=1)
    yield ""
    yield (
        "opinions: mean ± standard deviation (divided by n); p: Welch's t test; greater: the first "
        "mean is larger"
    )


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
