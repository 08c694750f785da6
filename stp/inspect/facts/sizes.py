"""Compare sizes of networks with Table 19 of PredBench: numbers of parameters and multiply-adds.

Both are counted as the paper counts them.
"""

from stp.inspect.facts.fact import Fact, Facts, protocol_of
from stp.plan.cells import Plan
from stp.plan.checked_config import Strict, check
from stp.plan.suite import FactSource
from stp.profiling.table import COUNTED, ProfileRow, rows
from stp.profiling.table19 import count


class SizeOptions(Strict):
    """Options of the table of sizes of networks.

    Attributes:
        within: largest difference from the printed value that counts as equal, in per cent, by
            column with differences, such as ``{gmacs_difference_percent: 1}``.
    """

    within: dict[str, float]


OURS = {
    "parameters_difference_percent": ("parameters_as_published", "parameters_published"),
    "gmacs_difference_percent": ("gmacs_as_published", "gmacs_published"),
}
"""For each column of a difference, the column with our value."""


def facts(plan: Plan, source: FactSource) -> Facts:
    """Make a table of sizes of networks, ours beside the printed ones.

    Its columns are `COUNTED`: numbers of parameters and of multiply-adds, as we count them, as the
    paper counts them, and as printed, with differences in per cent.

    Args:
        plan: plan of a scale of the suite.
        source: declaration of the table in the file of the suite; its options are `SizeOptions`.

    Returns:
        the table, with a row for each network in the order of the paper, under the paper's
        protocol.

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
