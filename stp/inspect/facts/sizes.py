"""Compare parameters and multiply-adds, counted as a paper counts them, with printed ones."""

from stp.inspect.facts.fact import Fact, Facts, protocol_of
from stp.plan.cells import Plan
from stp.plan.checked_config import Strict, check
from stp.plan.suite import FactSource
from stp.profiling.table import COUNTED, ProfileRow, rows
from stp.profiling.table19 import count


class SizeOptions(Strict):
    """Declaration of a table of sizes.

    Attributes:
        within: maximum difference, in per cent, that counts as equal, by column of the difference.
    """

    within: dict[str, float]


OURS = {
    "parameters_difference_percent": ("parameters_as_published", "parameters_published"),
    "gmacs_difference_percent": ("gmacs_as_published", "gmacs_published"),
}
"""For each column of a difference, the column with our value."""


def facts(plan: Plan, source: FactSource) -> Facts:
    """A row for each network, in the order of the paper, at the sizes of the suite's protocol.

    Raises:
        StpError: the published values are damaged.
    """
    options = check(SizeOptions, source.options, source.file)
    protocol = protocol_of(plan.config.suite)
    table = rows(protocol, count(protocol))
    return Facts(COUNTED, [_fact(row, options) for row in table])


def _fact(row: ProfileRow, options: SizeOptions) -> Fact:
    values = {name: getattr(row, name) for name in COUNTED}
    differences = {}
    beside = {}
    for column, (ours, printed) in OURS.items():
        text = f"{values[printed]:,}"
        beside[ours] = text
        if abs(values[column]) > options.within[column]:
            differences[ours] = text
    notes = (f"{row.title}: {row.notes}.",) if row.notes else ()
    return Fact(values, differences, beside=beside, notes=notes)
