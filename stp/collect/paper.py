"""Make the rows of results.duckdb that say by which formula each table column is computed.

Each column has a convention: one exact definition of a metric, such as ``ssim.range2``.
"""

from collections.abc import Iterable

from stp.collect.schema import PaperColumnRow
from stp.plan.manifest import Manifest


def paper_columns(plans: list[Manifest]) -> Iterable[PaperColumnRow]:
    """Make a row for each column of each main table, with the exact definition of its metric.

    Args:
        plans: manifests, each of a dimension: one question of a suite, with a table of its own.
    """
    for plan in plans:
        for dataset, columns in plan.tables[plan.dimension].columns.items():
            for column in columns:
                yield PaperColumnRow(
                    dimension=plan.dimension,
                    dataset=dataset,
                    metric=column.heading,
                    variable=column.variable,
                    threshold=column.threshold,
                    leads=column.lead,
                    statistic=column.statistic,
                    convention=column.convention,
                )
