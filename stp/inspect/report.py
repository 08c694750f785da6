"""What `stp list datasets` prints."""

from collections.abc import Iterator

from stp.core import store
from stp.core.errors import StpError
from stp.core.receipts import require_receipt
from stp.core.units import size_text
from stp.inspect.counts import Row
from stp.inspect.descriptions import About, Leakage, of_kind
from stp.page.plain_table import number, table
from stp.plan.artefacts import Artefact
from stp.plan.cells import Plan
from stp.plan.checked_config import check_known

WIDTH = 120
"""Characters of a line in a file."""


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
        check_known(name, plan.config.datasets, "dataset", "stp list datasets")
    counts: list[Row] = []
    leaks: dict[str, Leakage] = {}
    for name in names or plan.config.datasets:
        found, shared = _about(plan, name).describe(plan, name, leakage or len(names) == 1)
        counts += found
        if shared is not None:
            leaks[name] = shared
    return counts, leaks


def _about(plan: Plan, name: str) -> About:
    return of_kind(plan.recipes.samples(name))


def as_json(plan: Plan, counts: list[Row], leaks: dict[str, Leakage]) -> dict[str, object]:
    """All of it, for machines."""
    return {
        "scale": plan.config.scale.scale,
        "counts": [row.as_json() for row in counts],
        "leakage": {
            name: {**found._asdict(), "shared": [pair.as_json() for pair in found.shared]}
            for name, found in leaks.items()
        },
        "tracks": {
            name: _about(plan, name).facts(plan, name)
            for name in leaks
            if plan.recipes.samples(name).has_scenarios
        },
    }


def lines(plan: Plan, counts: list[Row], leaks: dict[str, Leakage], width: int) -> Iterator[str]:
    """Write the table of counts, and the comparison of splits."""
    yield from count_lines(plan, counts, width)
    for name, found in leaks.items():
        yield ""
        yield from _about(plan, name).lines(plan, name, found, width)


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
            remedy=f"run `stp fetch {missing[0]}` and `stp prepare {missing[0]}` with the "
            "same --configfile, or snakemake",
        )
    header = ("dataset", "source", "shape", "frames -> frames", "size", "release, folder")
    cells, counts, leaks = [], [], []
    for artefact in wanted:
        cells.append(_summary(plan, artefact))
        name = artefact.dataset
        found, shared = _about(plan, name).describe(plan, name, leakage=True)
        assert shared is not None
        counts += found
        leaks += ["", *_about(plan, name).lines(plan, name, shared, WIDTH)]
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
        _about(plan, artefact.dataset).size_text(plan.config.datasets[artefact.dataset]),
        f"{recipe['context']} -> {recipe['horizon']}",
        size_text(sum(entry.bytes for entry in files)),
        f"{recipe['release']}, {artefact.folder}",
    )
