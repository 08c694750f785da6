"""What `stp list datasets` and `stp show` say of opinions: videos, raters and splits."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from stp.collect.published import read_published
from stp.core import store
from stp.core.receipts import require_receipt
from stp.inspect.counts import Row
from stp.inspect.descriptions import Leakage
from stp.opinions.moments import Moments, p_value
from stp.opinions.prepared import open_database
from stp.opinions.raters import identical_text
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
        yield (
            f"{name}: not prepared; `stp fetch {name}` and `stp prepare {name}` (with the same "
            "--configfile) tell what it has"
        )
        return
    yield f"{name}: opinions of {number(counted['videos'])} videos"
    printed = printed_of(plan, name)
    if numbers := of_raters(counted, printed):
        yield raters(numbers)
    if said := identical_text(counted["identical"]):
        yield said
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


class Number(NamedTuple):
    """A number of ours, and the paper's.

    Attributes:
        table: of the paper; "text" for what no table has.
        name: of what it is.
        quantity: which number.
        value: ours.
        published: as printed; empty where it is not.
    """

    table: str
    name: str
    quantity: str
    value: float
    published: str


def of_raters(counted: dict[str, Any], printed: Printed) -> list[Number]:
    """How many raters there are and are rejected, and how halves of the others agree.

    Args:
        counted: see `facts`; without single ratings there are no numbers.
        printed: values of the paper.
    """
    if not counted["raters"]:
        return []
    found = (
        ("raters", counted["raters"], "subjects"),
        ("rejected raters", len(counted["rejected"]), "outlier subjects"),
        ("PLCC of halves", counted["split_half"], "inter-subject split-half PLCC median"),
    )
    return [
        Number("text", "raters", quantity, value, printed.get((name, "value"), ""))
        for quantity, value, name in found
    ]


def raters(numbers: list[Number]) -> str:
    """`of_raters` in a sentence."""
    every, rejected, halves = numbers
    beside = ["", ""]
    if every.published and rejected.published:
        beside[0] = f" (printed: {rejected.published} of {every.published})"
    if halves.published:
        beside[1] = f"; printed: {halves.published}"
    return (
        f"{number(int(every.value))} raters, of whom {int(rejected.value)} are rejected"
        f"{beside[0]}; the opinions of random halves of the others correlate with "
        f"{halves.value:.3f} (median{beside[1]})"
    )


def of_sources(rows: list[dict[str, Any]], printed: Printed) -> list[Number]:
    """Videos of each source dataset, as Table 1 of the paper.

    Args:
        rows: of the videos, `stp.opinions.prepared.OPINION_COLUMNS`.
        printed: values of the paper.
    """
    return [
        Number("1", name, "videos", many, printed.get((SOURCES.get(name, name), "videos"), ""))
        for name, many in sorted(Counter(row["dataset"] for row in rows).items())
    ]


SOURCE_COLUMNS = ("source dataset", "videos", "printed")


def rows_of_sources(numbers: list[Number]) -> list[tuple[str, ...]]:
    """`of_sources` with `SOURCE_COLUMNS`."""
    return [(one.name, number(int(one.value)), one.published) for one in numbers]


def sources(rows: list[dict[str, Any]], printed: Printed, width: int) -> list[str]:
    """Videos of each source dataset, for a terminal; see `of_sources`."""
    return table(SOURCE_COLUMNS, rows_of_sources(of_sources(rows, printed)), width, left=1)


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


def of_groups(pairs: list[Pair], printed: Printed) -> list[Number]:
    """Opinions of groups of videos, as Table 2 of the paper: three numbers of each."""
    found = []
    for one in (group for pair in pairs for group in (pair.first, pair.second)):
        ours = one.moments
        for metric, value in (("videos", ours.n), ("MOS", ours.mean), ("MOS sd", ours.deviation)):
            beside = printed.get((one.published_name, metric), "")
            found.append(Number("2", one.title, metric, value, beside))
    return found


GROUP_COLUMNS = ("group", "videos", "printed", "opinion", "printed")


def rows_of_groups(numbers: list[Number]) -> list[tuple[str, ...]]:
    """`of_groups` with `GROUP_COLUMNS`."""
    shown: list[tuple[str, ...]] = []
    for many, mean, deviation in zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True):
        opinion = f"{mean.value:.2f} ± {deviation.value:.2f}"
        beside = f"{mean.published} ± {deviation.published}" if mean.published else ""
        shown.append((many.name, number(int(many.value)), many.published, opinion, beside))
    return shown


def of_tests(pairs: list[Pair], printed: Printed) -> list[Number]:
    """Whether the means of two groups differ."""
    return [
        Number(
            "text",
            f"{pair.first.title}, {pair.second.title}",
            f"p, {pair.alternative}",
            pair.p,
            printed.get((pair.published_name, "value"), ""),
        )
        for pair in pairs
    ]


TEST_COLUMNS = ("groups", "alternative", "p", "printed")


def rows_of_tests(numbers: list[Number]) -> list[tuple[str, ...]]:
    """`of_tests` with `TEST_COLUMNS`."""
    return [
        (one.name, one.quantity.removeprefix("p, "), f"{one.value:.2g}", one.published)
        for one in numbers
    ]


NO_GROUPS = "groups of videos: not known, since no video has tags (Tags.csv)"
LEGEND = (
    "opinions: mean ± standard deviation (divided by n); p: Welch's t test; greater: the first "
    "mean is larger"
)


def groups(rows: list[dict[str, Any]], printed: Printed, width: int) -> Iterator[str]:
    """Opinions of groups of videos, and whether their means differ, for a terminal.

    Args:
        rows: of the videos, `stp.opinions.prepared.OPINION_COLUMNS`.
        printed: values of the paper.
        width: of the terminal.
    """
    pairs = pairs_of(rows)
    if not pairs:
        yield NO_GROUPS
        return
    yield from table(GROUP_COLUMNS, rows_of_groups(of_groups(pairs, printed)), width, left=1)
    yield ""
    yield from table(TEST_COLUMNS, rows_of_tests(of_tests(pairs, printed)), width, left=1)
    yield ""
    yield LEGEND


def size_text(dataset: Dataset) -> str:
    """What a video has at each time."""
    return "3 channels, of several sizes"


def protocol_text(dataset: Dataset) -> str:
    """What context and horizon count."""
    return "observed and predicted frames of each video, in their own size"


def section(dataset: Dataset) -> Iterator[str]:
    """The parts of a dataset, in Markdown."""
    yield from (f"- **Splits `{name}`:** {part.title}." for name, part in dataset.subsets.items())
