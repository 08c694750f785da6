"""Write the output of `stp list datasets`."""

from collections.abc import Iterator

from stp.core import store
from stp.core.errors import StpError
from stp.core.receipts import require_receipt
from stp.core.units import size_text
from stp.inspect.counts import Row, how_to_prepare
from stp.inspect.descriptions import DatasetDescriber, Leakage, describer_of
from stp.page.plain_table import format_count, table
from stp.plan.artefacts import Artefact
from stp.plan.cells import Plan
from stp.plan.checked_config import check_known

WIDTH = 120
"""Length of a line in a file, characters."""


def describe(plan: Plan, names: list[str], leakage: bool) -> tuple[list[Row], dict[str, Leakage]]:
    """Count the samples of datasets, and find out what their splits share.

    Args:
        plan: plan of a scale.
        names: names of datasets; empty for all.
        leakage: whether to find out what the splits of several datasets share; for a single dataset
            this is always done.

    Returns:
        a row of numbers for each split of each dataset; and what splits share, by dataset.

    Raises:
        StpError: a dataset is unknown, or prepared data are damaged.
    """
    for name in names:
        check_known(name, plan.config.datasets, "dataset", "stp list datasets")
    counts: list[Row] = []
    leaks: dict[str, Leakage] = {}
    for name in names or plan.config.datasets:
        counted, shared = _describer(plan, name).describe(plan, name, leakage or len(names) == 1)
        counts += counted
        if shared is not None:
            leaks[name] = shared
    return counts, leaks


def _describer(plan: Plan, name: str) -> DatasetDescriber:
    return describer_of(plan.recipes.samples(name))


def as_json(plan: Plan, counts: list[Row], leaks: dict[str, Leakage]) -> dict[str, object]:
    """Convert the results of `describe` to values for JSON.

    Args:
        plan: plan of a scale.
        counts: a row of numbers for each split of each dataset.
        leaks: what splits share, by dataset.

    Returns:
        ``scale`` (its name), ``counts`` and ``leakage`` (the arguments), and ``tracks``: for each
        dataset of tracks in `leaks`, what its reader counted, such as numbers of people; None
        before the dataset is prepared.
    """
    return {
        "scale": plan.config.scale.scale,
        "counts": [row.as_json() for row in counts],
        "leakage": {
            name: {**leakage._asdict(), "shared": [pair.as_json() for pair in leakage.shared]}
            for name, leakage in leaks.items()
        },
        "tracks": {
            name: _describer(plan, name).facts(plan, name)
            for name in leaks
            if plan.recipes.samples(name).has_scenarios
        },
    }


def lines(plan: Plan, counts: list[Row], leaks: dict[str, Leakage], width: int) -> Iterator[str]:
    """Yield the lines of `stp list datasets`: numbers of clips, and what splits share.

    Args:
        plan: plan of a scale.
        counts: a row of numbers for each split of each dataset, from `describe`.
        leaks: what splits share, by dataset, from `describe`; described below the table.
        width: maximum length of a line, characters.
    """
    yield from count_lines(plan, counts, width)
    for name, leakage in leaks.items():
        yield ""
        yield from _describer(plan, name).lines(plan, name, leakage, width)


def count_lines(plan: Plan, counts: list[Row], width: int) -> list[str]:
    """Write the table of numbers of clips: counted, prepared and published.

    Args:
        plan: plan of a scale.
        counts: a row of numbers for each split of each dataset.
        width: maximum length of a line, characters.

    Returns:
        lines of the table, with a title and, if numbers differ without a stated reason, a remark.
    """
    scale = plan.config.scale.scale
    head = [f"clips at scale {scale}, beside published numbers", ""]
    header = ("dataset", "source", "split", "counted", "prepared", "published", "differs", "why")
    cells: list[tuple[str, ...]] = []
    dataset_before, note_before = "", ""
    for row in counts:
        differs = (
            "" if row.difference is None else f"{row.difference:+,}" if row.difference else "0"
        )
        is_new = row.dataset != dataset_before
        first = (row.dataset, row.source) if is_new else ("", "")
        note = "as above" if row.note and row.note == note_before and not is_new else row.note
        numbers = (format_count(n) for n in (row.counted, row.prepared, row.published))
        cells.append((*first, row.split, *numbers, differs, note))
        dataset_before, note_before = row.dataset, row.note
    unexplained = sum(row.unexplained for row in counts)
    foot = ["", f"{unexplained} rows differ without a stated reason"] if unexplained else []
    return [*head, *table(header, cells, width, left=3), *foot]


def describe_prepared(plan: Plan) -> str:
    """Describe all datasets that a scale prepares, as text with several tables.

    Raises:
        StpError: a dataset is not prepared or is damaged.
    """
    artefacts = plan.prepared_data
    missing = [a.dataset for a in artefacts if not store.is_complete(plan.store / a.folder)]
    if missing:
        raise StpError(
            f"not prepared at scale {plan.config.scale.scale}: {', '.join(missing)}",
            expected=f"all {len(artefacts)} datasets of the scale in {plan.store}",
            remedy=how_to_prepare(missing[0]),
        )
    header = ("dataset", "source", "shape", "frames -> frames", "size", "release, folder")
    cells, counts, leaks = [], [], []
    for artefact in artefacts:
        cells.append(_summary(plan, artefact))
        name = artefact.dataset
        counted, shared = _describer(plan, name).describe(plan, name, leakage=True)
        assert shared is not None
        counts += counted
        leaks += ["", *_describer(plan, name).lines(plan, name, shared, WIDTH)]
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
    files = require_receipt(plan.store / artefact.folder).files.values()
    return (
        artefact.dataset,
        recipe["source"],
        _describer(plan, artefact.dataset).size_text(plan.config.datasets[artefact.dataset]),
        f"{recipe['context']} -> {recipe['horizon']}",
        size_text(sum(entry.bytes for entry in files)),
        f"{recipe['release']}, {artefact.folder}",
    )
