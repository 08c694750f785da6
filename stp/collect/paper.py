"""The convention that each column of the result tables shows."""

from collections.abc import Iterable

from stp.collect.schema import PaperColumnRow
from stp.plan.manifest import Manifest, variable_of
from stp.plan.setting import read_shown


def paper_columns(plans: list[Manifest]) -> Iterable[PaperColumnRow]:
    """The convention of each column, by dimension and dataset."""
    for plan in plans:
        for dataset, columns in plan.tables[plan.dimension].columns.items():
            for column, shown in columns.items():
                variable = variable_of(column)
                convention, part = read_shown(shown)
                yield PaperColumnRow(
                    dimension=plan.dimension,
                    dataset=dataset,
                    metric=column.removeprefix(f"{variable} "),
                    variable=variable,
                    threshold=part.threshold,
                    leads=part.leads,
                    statistic=part.statistic,
                    convention=convention,
                )
