"""Describe datasets of opinions, for `stp list datasets` and `stp draw clips`.

A family of splits is a set of splits of the same videos that were made in one way, such as the
released splits (``published``), random ones of our own (``random``), or tests on the videos of one
source dataset each (``source``). Printed numbers are those of PVQA (Somraj et al., "Understanding
the perceived quality of video predictions").
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from stp.collect.published import read_published
from stp.inspect.counts import NOT_PREPARED, Row, how_to_prepare, prepared_folder
from stp.inspect.counts import reader_counts as facts
from stp.inspect.descriptions import Leakage
from stp.opinions.moments import Moments, p_value
from stp.opinions.prepared import open_database
from stp.opinions.raters import identical_text
from stp.page.plain_table import format_count, table
from stp.plan.cells import Plan
from stp.plan.dataset import Dataset

OPINIONS = "opinions"
"""Dimension of printed values about the database, not about a measure."""
SOURCES = {"UCF": "UCF-101"}
"""Names of sources in Table 1, by the name in videos, if they differ."""
OVERLAP = "splits of a family overlap by design: a video is in several tests"


def describe(plan: Plan, name: str, leakage: bool) -> tuple[list[Row], Leakage | None]:
    """Count the videos and the splits of a dataset of opinions.

    A family of splits has all splits that were made in one way, such as ``published`` (the released
    ones) or ``random``. Splits are not compared, since the tests of a family overlap by design.

    Args:
        plan: plan with the dataset.
        name: name of the dataset.
        leakage: whether to say why splits are not compared.

    Returns:
        a row of numbers for each family of splits; and, if `leakage` is set, a `Leakage` that has
        no numbers, but a ``reason`` why splits are not compared; else None.
    """
    dataset = plan.config.datasets[name]
    source = dataset.releases[dataset.release].source
    counted = facts(plan, name)
    rows = []
    for family in dataset.subsets:
        videos, note = None, NOT_PREPARED
        if counted is not None:
            videos = counted["videos"]
            note = f"videos, in {format_count(counted['splits'].get(family, 0))} splits"
        rows.append(Row(name, source, family, None, videos, None, note))
    return rows, Leakage([], [], OVERLAP) if leakage else None


def lines(plan: Plan, name: str, leakage: Leakage, width: int) -> Iterator[str]:
    """Yield lines of text that describe a dataset of opinions, with tables of its numbers.

    Args:
        plan: plan with the dataset.
        name: name of the dataset.
        leakage: second result of `describe`. Its ``reason`` says why splits are not compared; it
            becomes one of the lines.
        width: maximum length of a line, characters.
    """
    counted = facts(plan, name)
    if counted is None:
        yield f"{name} is not prepared: {how_to_prepare(name)}"
        return
    yield f"{name}: opinions of {format_count(counted['videos'])} videos"
    printed = read_printed_numbers(plan, name)
    if numbers := of_raters(counted, printed):
        yield describe_raters(numbers)
    if warning := identical_text(counted["identical"]):
        yield warning
    yield leakage.reason
    yield ""
    rows = open_database(prepared_folder(plan, name), 0).table.to_pylist()
    yield from tables(rows, printed, width)


Printed = dict[tuple[str, str], str]
"""Numbers as printed, by (name, metric), such as the name of a group of videos and "MOS"."""


def read_printed_numbers(plan: Plan, name: str) -> Printed:
    """Read the numbers that the suite's paper prints about a dataset, in its tables and its text.

    Args:
        plan: plan with the dataset.
        name: name of the dataset.

    Returns:
        each number as printed, by (name, metric), such as ("Natural Videos", "MOS").

        - name: the paper's name of a group of videos, of a source dataset or of a statistic.
        - metric: what is printed about it, such as "videos" (their number) or "MOS" (mean opinion
          score); always "value" for a statistic.
    """
    published_name = plan.config.datasets[name].published_name
    return {
        (value.model, value.metric): value.raw
        for value in read_published(plan.config.suite.published_file)
        if value.dimension == OPINIONS and value.tested_on == published_name
    }


class Number(NamedTuple):
    """A number about opinions, beside the number that PVQA prints.

    Attributes:
        table: number of the table in PVQA, "1" or "2"; "text" for a number outside of tables.
        name: what the number is about: a source dataset, a group of videos, a pair of groups, or
            "raters".
        quantity: what the number counts or measures, such as "videos" or "MOS" (mean opinion
            score).
        value: the number, computed from the data.
        published: the number as printed; empty if it is not printed.
    """

    table: str
    name: str
    quantity: str
    value: float
    published: str


def of_raters(counted: dict[str, Any], printed: Printed) -> list[Number]:
    """Count raters and rejected raters, and say how well random halves of the others agree.

    Args:
        counted: what the preparation of the dataset counted: ``raters`` (number), ``rejected``
            (list of raters) and ``split_half`` (median correlation between the mean opinions of two
            random halves of the other raters, -1 to 1).
        printed: numbers in the paper, from `read_printed_numbers`, which are put beside ours.

    Returns:
        three numbers: raters, rejected raters, and the correlation between random halves of the
        others; empty for a dataset without single ratings.
    """
    if not counted["raters"]:
        return []
    values = (
        ("raters", counted["raters"], "subjects"),
        ("rejected raters", len(counted["rejected"]), "outlier subjects"),
        ("PLCC of halves", counted["split_half"], "inter-subject split-half PLCC median"),
    )
    return [
        Number("text", "raters", quantity, value, printed.get((name, "value"), ""))
        for quantity, value, name in values
    ]


def describe_raters(numbers: list[Number]) -> str:
    """Write a sentence on the number of raters, how many are rejected, and how well others agree.

    Each number is followed by the printed one, if there is one.

    Args:
        numbers: the three numbers from `of_raters`.
    """
    every, rejected, halves = numbers
    counts, agreement = "", ""
    if every.published and rejected.published:
        counts = f" (printed: {rejected.published} of {every.published})"
    if halves.published:
        agreement = f"; printed: {halves.published}"
    return (
        f"{format_count(int(every.value))} raters, of whom {int(rejected.value)} are rejected"
        f"{counts}; the opinions of random halves of the others correlate with "
        f"{halves.value:.3f} (median{agreement})"
    )


def of_sources(rows: list[dict[str, Any]], printed: Printed) -> list[Number]:
    """Count the videos of each source dataset, as Table 1 of PVQA does.

    A source dataset is a dataset whose videos were predicted, such as KTH.

    Args:
        rows: a row for each video, with the name of its source dataset in ``dataset``.
        printed: numbers in the paper, from `read_printed_numbers`, which are put beside ours.

    Returns:
        a number of videos for each source dataset, sorted by name.
    """
    return [
        Number("1", name, "videos", count, printed.get((SOURCES.get(name, name), "videos"), ""))
        for name, count in sorted(Counter(row["dataset"] for row in rows).items())
    ]


@dataclass(frozen=True)
class Group:
    """Opinions of the videos of a group, such as those with one kind of damage.

    Attributes:
        title: title of the group in our tables.
        published_name: name of the group in Table 2 of PVQA; empty if the table lacks the group.
        mos: mean opinion score of each video of the group, 0..100, shape (videos,).
    """

    title: str
    published_name: str
    mos: np.ndarray

    @property
    def moments(self) -> Moments:
        """Compute mean and standard deviation of the scores, with the number of videos."""
        return Moments(float(self.mos.mean()), float(self.mos.std()), len(self.mos))


@dataclass(frozen=True)
class Pair:
    """Two groups of videos whose mean opinions are compared by Welch's t test.

    Attributes:
        first, second: the groups.
        alternative: alternative hypothesis: "two-sided" if the means differ, "greater" if the mean
            of `first` is larger.
        published_name: name of the p value among the numbers from `read_printed_numbers`; empty if
            PVQA prints none.
    """

    first: Group
    second: Group
    alternative: Literal["two-sided", "greater"] = "two-sided"
    published_name: str = ""

    @property
    def p(self) -> float:
        """Compute the p value of Welch's t test of equal means."""
        pair = self.first.moments, self.second.moments
        return p_value(*pair, alternative=self.alternative, equal_variances=False)


def pairs_of(rows: list[dict[str, Any]]) -> list[Pair]:
    """Group the videos as in Table 2 of PVQA, and pair groups whose opinions are compared.

    The pairs are:

    - natural videos, and predicted ones;
    - enlarged natural videos, and other natural ones;
    - predicted videos with blur, and with distorted shapes;
    - predicted videos with objects that disappear, and without;
    - predicted videos with wrong colours, and without;
    - predicted videos of stochastic models, and of deterministic ones.

    Args:
        rows: a row for each video: ``mos`` (mean opinion score), ``tags`` ("natural", or words for
            the damage of a predicted video, separated by spaces), ``family`` (kind of model that
            predicted the video, "stochastic" or "deterministic"), ``height`` and ``width``.
            Natural videos smaller than the largest video count as enlarged, because raters saw them
            enlarged.

    Returns:
        pairs of groups; those with a group of less than two videos are left out.
    """
    natural = [row for row in rows if row["tags"] == "natural"]
    damaged = [row for row in rows if row["tags"] != "natural"]
    largest = max(row["height"] * row["width"] for row in rows)

    def group(
        title: str, name: str, videos: list[dict[str, Any]], has: Callable[[dict[str, Any]], bool]
    ) -> Group:
        return Group(title, name, np.array([row["mos"] for row in videos if has(row)]))

    def is_tagged(row: dict[str, Any], word: str) -> bool:
        return word in (row["tags"] or "").split()

    def is_small(row: dict[str, Any]) -> bool:
        return bool(row["height"] * row["width"] < largest)

    def tagged(word: str, name: str = "") -> Group:
        return group(word, name, damaged, lambda row: is_tagged(row, word))

    def others(word: str) -> Group:
        return group(f"not {word}", "", damaged, lambda row: not is_tagged(row, word))

    def family(word: str) -> Group:
        name = f"{word.capitalize()} Prediction"
        return group(word, name, damaged, lambda row: row["family"] == word)

    def enlarged(title: str, name: str, is_enlarged: bool) -> Group:
        return group(title, name, natural, lambda row: is_small(row) == is_enlarged)

    pairs = [
        Pair(
            group("natural", "Natural Videos", natural, bool),
            group("predicted", "Predicted Videos", damaged, bool),
        ),
        Pair(
            enlarged("enlarged, natural", "Upsampled Natural Videos", True),
            enlarged("not enlarged, natural", "Non-upsampled Natural Videos", False),
            published_name="t-test upsampled vs not p",
        ),
        Pair(tagged("blur", "Blur"), tagged("shape", "Shape Distortion")),
        *(Pair(tagged(word), others(word)) for word in ("disappearance", "color")),
        Pair(
            family("stochastic"),
            family("deterministic"),
            "greater",
            "t-test stochastic vs deterministic p",
        ),
    ]
    return [pair for pair in pairs if min(len(pair.first.mos), len(pair.second.mos)) > 1]


def of_groups(pairs: list[Pair], printed: Printed) -> list[Number]:
    """Compute mean and standard deviation of the opinions of groups, as in Table 2 of PVQA.

    Args:
        pairs: pairs of groups of videos; each of the two groups is described.
        printed: numbers in the paper, from `read_printed_numbers`, which are put beside ours.

    Returns:
        three numbers for each group, in the order of the pairs: "videos" (their number), "MOS"
        (mean opinion score) and "MOS sd" (its standard deviation over videos).
    """
    numbers = []
    for group in (group for pair in pairs for group in (pair.first, pair.second)):
        ours = group.moments
        for metric, value in (("videos", ours.n), ("MOS", ours.mean), ("MOS sd", ours.deviation)):
            published = printed.get((group.published_name, metric), "")
            numbers.append(Number("2", group.title, metric, value, published))
    return numbers


def of_tests(pairs: list[Pair], printed: Printed) -> list[Number]:
    """Test whether the mean opinions of the two groups of each pair are equal (Welch's t test).

    Args:
        pairs: pairs of groups of videos.
        printed: numbers in the paper, from `read_printed_numbers`; its p values are put beside
            ours.

    Returns:
        a p value for each pair.
    """
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


NO_GROUPS = "groups of videos: not known, since no video has tags (Tags.csv)"
LEGEND = (
    "opinions: mean ± standard deviation (divided by n); p: Welch's t test; greater: the first "
    "mean is larger"
)


def tables(rows: list[dict[str, Any]], printed: Printed, width: int) -> Iterator[str]:
    """Yield lines of three tables: videos of source datasets, opinions of groups, and tests.

    The tests compare the mean opinions of two groups of videos each.

    Args:
        rows: a row for each video, from the prepared data, as for `pairs_of` and `of_sources`.
        printed: numbers in the paper, from `read_printed_numbers`, which are shown beside ours.
        width: maximum length of a line, characters.
    """
    sources = [
        (source.name, format_count(int(source.value)), source.published)
        for source in of_sources(rows, printed)
    ]
    yield from table(("source dataset", "videos", "printed"), sources, width, left=1)
    yield ""
    pairs = pairs_of(rows)
    if not pairs:
        yield NO_GROUPS
        return
    numbers = of_groups(pairs, printed)
    groups = []
    for videos, mean, deviation in zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True):
        opinion = f"{mean.value:.2f} ± {deviation.value:.2f}"
        published = f"{mean.published} ± {deviation.published}" if mean.published else ""
        count = format_count(int(videos.value)), videos.published
        groups.append((videos.name, *count, opinion, published))
    yield from table(("group", "videos", "printed", "opinion", "printed"), groups, width, left=1)
    yield ""
    tests = [
        (test.name, test.quantity.removeprefix("p, "), f"{test.value:.2g}", test.published)
        for test in of_tests(pairs, printed)
    ]
    yield from table(("groups", "alternative", "p", "printed"), tests, width, left=1)
    yield ""
    yield LEGEND


def size_text(dataset: Dataset) -> str:
    """Return "3 channels, of several sizes", since a dataset of opinions mixes sizes of frames.

    Args:
        dataset: not used; for datasets of frames, the text depends on the dataset.
    """
    return "3 channels, of several sizes"


def protocol_summary(dataset: Dataset) -> str:
    """Write the unit of context and horizon as text: observed and predicted frames of a video.

    The page of datasets shows it after the lengths of context and horizon: "Protocol: 4 -> 16
    observed and predicted frames of each video, in their own size".
    """
    return "observed and predicted frames of each video, in their own size"


def section(dataset: Dataset) -> Iterator[str]:
    """Yield lines of Markdown that say how the splits of each family are made.

    A line is, for example, "- **Splits `random`:** random splits of our own, a fifth of the videos
    to test."
    """
    yield from (f"- **Splits `{name}`:** {part.title}." for name, part in dataset.subsets.items())
