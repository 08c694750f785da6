"""Compare numbers about opinions of people with those that PVQA prints: videos, groups, raters.

`stp draw clips` prints the same numbers (`stp.inspect.opinions`).
"""

from stp.core.errors import StpError
from stp.core.receipts import require_receipt
from stp.inspect import opinions
from stp.inspect.counts import prepared_folder
from stp.inspect.facts.fact import Fact, Facts
from stp.inspect.opinions import Number
from stp.opinions.prepared import open_database
from stp.opinions.raters import identical_text
from stp.plan.cells import Plan
from stp.plan.suite import FactSource

COLUMNS = ("dataset", "source", "scale", "table", "name", "quantity", "value", "published")


def facts(plan: Plan, source: FactSource) -> Facts:
    """Make a table of numbers about opinions, each beside the printed one.

    Args:
        plan: plan of a scale of the suite that prepares datasets of opinions.
        source: declaration of the table in the file of the suite; it has no options.

    Returns:
        the table, with a row for each number of each prepared dataset of opinions.

    Raises:
        StpError: the run prepares no dataset of opinions, or its data are missing or damaged.
    """
    config = plan.config
    prepared = (artefact.dataset for artefact in plan.prepared_data)
    names = [name for name in prepared if plan.recipes.samples(name).has_opinions]
    if not names:
        raise StpError(
            f"the scale {config.scale.scale} has no opinions",
            remedy=f"name a scale of the suite {config.suite.title} that has, with --configfile",
        )
    rows: list[Fact] = []
    notes: list[str] = []
    unofficial: set[str] = set()
    for name in names:
        dataset = config.datasets[name]
        origin = dataset.releases[dataset.release].source
        unofficial |= {origin} - {"official"}
        numbers, remarks = _collect_numbers(plan, name)
        notes += [f"{dataset.title}: {remark}" for remark in remarks]
        about = dataset.title, origin, config.scale.scale
        rows += [_fact(number, about, origin == "official") for number in numbers]
    warning = f"Made from {' and '.join(sorted(unofficial))} data: they say nothing about people."
    warnings = (warning,) if unofficial else ()
    return Facts(COLUMNS, rows, tuple(notes), warnings, (opinions.LEGEND,))


def _collect_numbers(plan: Plan, name: str) -> tuple[list[Number], list[str]]:
    folder = prepared_folder(plan, name)
    counted = require_receipt(folder).extras
    videos = open_database(folder, 0).table.to_pylist()
    printed = opinions.read_printed_numbers(plan, name)
    pairs = opinions.pairs_of(videos)
    raters = opinions.of_raters(counted, printed)
    remarks = [
        opinions.describe_raters(raters) if raters else "single ratings are not known",
        identical_text(counted["identical"]),
        "" if pairs else opinions.NO_GROUPS,
    ]
    numbers = [
        *opinions.of_sources(videos, printed),
        *opinions.of_groups(pairs, printed),
        *opinions.of_tests(pairs, printed),
        *raters,
    ]
    return numbers, [remark for remark in remarks if remark]


def _fact(number: Number, about: tuple[str, str, str], is_official: bool) -> Fact:
    rounded = float(f"{number.value:.10g}")
    value = int(rounded) if rounded.is_integer() else rounded
    values = dict(zip(COLUMNS, (*about, *number[:3], value, number.published), strict=True))
    differs = is_official and number.published and not _agree(number.value, number.published)
    return Fact(
        values,
        {"value": number.published} if differs else {},
        beside={"value": number.published} if number.published else {},
    )


def _agree(value: float, printed: str) -> bool:
    """Whether a value equals the printed one when rounded to the printed digits."""
    number, _, power = printed.replace(",", "").partition("e")
    decimals = len(number.partition(".")[2])
    return float(f"{value:.{decimals}{'e' if power else 'f'}}") == float(printed.replace(",", ""))
