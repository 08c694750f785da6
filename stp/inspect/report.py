"""What `stp data` prints."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from stp.core import store
from stp.core.errors import StpError
from stp.core.receipts import require_receipt
from stp.core.units import size_text
from stp.inspect import tracks
from stp.inspect.counts import ClipCounts, Row, count_clips, rows
from stp.inspect.leakage import Shared, report
from stp.page.plain_table import number, share, table
from stp.plan.cells import Artefact, Plan
from stp.plan.strict import check_known

STRICT = "strict"
NOT_PREPARED = "known when it is prepared"
WIDTH = 120
"""Characters of a line in a file."""


class Leakage(NamedTuple):
    """What the splits of a dataset share.

    Attributes:
        shared: pairs of splits.
        unnamed: splits that cannot be compared, since at most the number of their clips is known.
        reason: why nothing can be compared at all.
    """

    shared: list[Shared]
    unnamed: list[str]
    reason: str


def describe(plan: Plan, names: list[str], leakage: bool) -> tuple[list[Row], dict[str, Leakage]]:
    """Count the clips of datasets, and compare their splits.

    Args:
        plan: of a scale.
        names: datasets; all unless given.
        leakage: whether to compare splits of several datasets; those of one are in any case.

    Returns:
        the rows of the table and, by dataset, what its splits share.

    Raises:
        StpError: there is no such dataset, or prepared data are damaged.
    """
    for name in names:
        check_known(name, plan.config.datasets, "dataset", "stp data")
    counts: list[Row] = []
    leaks: dict[str, Leakage] = {}
    for name in names or plan.config.datasets:
        if tracks.is_of_people(plan, name):
            counts += tracks.rows(plan, name)
            if leakage or len(names) == 1:
                found = tracks.facts(plan, name)
                leaks[name] = Leakage([], [], tracks.leakage(found) if found else NOT_PREPARED)
            continue
        known = count_clips(plan, name)
        counts += rows(plan, known)
        if leakage or len(names) == 1:
            leaks[name] = _leaks(known)
    return counts, leaks


def _leaks(known: ClipCounts) -> Leakage:
    found = report(known.index())
    reason = known.reason or "its clips are known by number only, before it is prepared"
    return Leakage(found, known.unnamed(), "" if found else reason)


def as_json(plan: Plan, counts: list[Row], leaks: dict[str, Leakage]) -> dict[str, Any]:
    """All of it, for machines."""
    return {
        "scale": plan.config.scale.scale,
        "counts": [row.as_json() for row in counts],
        "leakage": {
            name: {**found._asdict(), "shared": [pair.as_json() for pair in found.shared]}
            for name, found in leaks.items()
        },
        "tracks": {
            name: tracks.facts(plan, name) for name in leaks if tracks.is_of_people(plan, name)
        },
    }


def lines(plan: Plan, counts: list[Row], leaks: dict[str, Leakage], width: int) -> Iterator[str]:
    """Write the table of counts, and the comparison of splits."""
    yield from count_lines(plan, counts, width)
    for name, found in leaks.items():
        yield ""
        if tracks.is_of_people(plan, name):
            yield from tracks.lines(plan, name, width)
        else:
            yield from leakage_lines(plan, name, found, width)


def count_lines(plan: Plan, counts: list[Row], width: int) -> list[str]:
    """The table of counts beside Table 1."""
    scale = plan.config.scale.scale
    head = [f"clips at scale {scale}, beside Table 1 of the paper", ""]
    header = ("dataset", "source", "split", "counted", "prepared", "Table 1", "differs", "why")
    cells: list[tuple[str, ...]] = []
    before, said = "", ""
    for row in counts:
        differs = (
            "" if row.difference is None else f"{row.difference:+,}" if row.difference else "0"
        )
        is_new = row.dataset != before
        first = (row.dataset, row.source) if is_new else ("", "")
        note = "as above" if row.note and row.note == said and not is_new else row.note
        numbers = (number(n) for n in (row.counted, row.prepared, row.published))
        cells.append((*first, row.split, *numbers, differs, note))
        before, said = row.dataset, row.note
    unexplained = sum(row.unexplained for row in counts)
    foot = ["", f"{unexplained} rows differ and nothing says why"] if unexplained else []
    return [*head, *table(header, cells, width, left=3), *foot]


def leakage_lines(plan: Plan, name: str, found: Leakage, width: int) -> list[str]:
    """What the splits of one dataset share."""
    dataset = plan.config.datasets[name]
    if not found.shared:
        return [f"leakage of {name}: not known ({found.reason})"]
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
            one.split,
            one.against,
            number(one.clips),
            share(one.same_cluster, one.clips),
            share(one.overlapping, one.clips),
            number(one.clusters),
            share(one.shared_clusters, one.clusters),
        )
        for one in found.shared
    ]
    text = [f"leakage of {name}: clips of one video, trajectory or event in two splits", ""]
    text += table(header, cells, width, left=2)
    if found.unnamed:
        text += ["", f"not compared, since its clips have no names yet: {', '.join(found.unnamed)}"]
    if strict := dataset.subsets.get(STRICT):
        text += ["", f"subset {STRICT}: {strict.title}"]
    if subset := dataset.train_subsets.get(STRICT):
        text += [f"training and validation clips for it: {subset.title}"]
    return text


def prepared_text(plan: Plan) -> str:
    """Describe the prepared datasets of a scale: those it names and those of its cells.

    Raises:
        StpError: one of them is not prepared, or damaged.
    """
    wanted = plan.prepared
    missing = [a.dataset for a in wanted if not store.is_complete(plan.store / a.folder)]
    if missing:
        raise StpError(
            f"not prepared at scale {plan.config.scale.scale}: {', '.join(missing)}",
            expected=f"all {len(wanted)} datasets of the scale in {plan.store}",
            remedy=f"run `stp fetch {missing[0]}` and `stp prepare {missing[0]}`, or snakemake",
        )
    header = ("dataset", "source", "shape", "frames -> frames", "size", "release, folder")
    cells, counts, leaks = [], [], []
    for artefact in wanted:
        cells.append(_summary(plan, artefact))
        if tracks.is_of_people(plan, artefact.dataset):
            counts += tracks.rows(plan, artefact.dataset)
            leaks += ["", *tracks.lines(plan, artefact.dataset, WIDTH)]
            continue
        known = count_clips(plan, artefact.dataset)
        counts += rows(plan, known)
        leaks += ["", *leakage_lines(plan, artefact.dataset, _leaks(known), WIDTH)]
    text = [
        f"datasets prepared at scale {plan.config.scale.scale}",
        "",
        *table(header, cells, WIDTH, left=4),
        "",
        *count_lines(plan, counts, WIDTH),
        *leaks,
    ]
    return "\n".join(text) + "\n"


def _summary(plan: Plan, artefact: Artefact) -> tuple[str, ...]:
    recipe = artefact.recipe
    files = require_receipt(plan.store / artefact.folder)["files"].values()
    return (
        artefact.dataset,
        recipe["source"],
        " x ".join(map(str, recipe["shape"])) if "shape" in recipe else "people",
        f"{recipe['context']} -> {recipe['horizon']}",
        size_text(sum(entry["bytes"] for entry in files)),
        f"{recipe['release']}, {artefact.folder}",
    )
