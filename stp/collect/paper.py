"""Make the rows of results.duckdb that state the convention of each table column."""

from collections.abc import Iterable

from stp.collect.schema import PaperColumnRow
from stp.plan.manifest import Manifest


def paper_columns(plans: list[Manifest]) -> Iterable[PaperColumnRow]:
    """Make rows with the convention of each column, for each dimension and dataset."""
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
