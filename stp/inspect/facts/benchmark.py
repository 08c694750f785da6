"""Compare benchmarks, as a paper does in a table: a row for each, such as its number of variables.

Rows of other benchmarks are as printed. The row of the suite is counted in our code.
"""

import importlib
from math import prod

from stp.core import named_modules
from stp.inspect.facts.fact import Fact, Facts, printed_rows
from stp.plan.cells import Plan
from stp.plan.checked_config import Strict, check
from stp.plan.suite import FactSource, Suite


class BenchmarkOptions(Strict):
    """Where the values in this benchmark's own row of a table of benchmarks come from.

    Attributes:
        reader: name of the module that reads the suite's raw files.
        counts: for each counted column, names of constants of the reader; the value is a sum of
            products of their lengths: ``[[VARIABLES, LEVELS], [LAND]]``.
        dataset: for each column that is a setting, the field of the suite's first dataset that has
            the value.
        texts: for each column of text, the text.
        metrics: for each further column, which the paper does not print, names of metrics of one
            kind; the value lists those that the suite computes.
    """

    reader: str
    counts: dict[str, list[list[str]]] = {}
    dataset: dict[str, str] = {}
    texts: dict[str, str] = {}
    metrics: dict[str, tuple[str, ...]] = {}


def facts(plan: Plan, source: FactSource) -> Facts:
    """Make a table of benchmarks: rows as a paper prints them, then its own, counted here.

    Raises:
        StpError: the file of printed values is damaged.
    """
    options = check(BenchmarkOptions, source.options, source.file)
    suite = plan.config.suite
    reader = importlib.import_module(named_modules.reader(options.reader))
    dataset = plan.config.datasets[next(iter(suite.datasets))]
    scored = _metrics(suite)
    ours = {
        **{
            column: str(sum(prod(len(getattr(reader, name)) for name in term) for term in terms))
            for column, terms in options.counts.items()
        },
        **{column: str(getattr(dataset, key)) for column, key in options.dataset.items()},
        **options.texts,
    }
    kinds = {
        column: ", ".join(name.replace("_", " ") for name in names if name in scored)
        for column, names in options.metrics.items()
    }
    printed = list(printed_rows(suite.folder / source.file, ("benchmark", *ours)))
    rows = [
        Fact({**row, "whose": "printed", **dict.fromkeys(options.metrics, "")}) for row in printed
    ]
    beside = next((row for row in printed if row["benchmark"] == suite.title), {})
    differences = {
        column: beside[column] for column in ours if beside and beside[column] != ours[column]
    }
    ours_row = {"benchmark": suite.title, "whose": "here", **ours, **kinds}
    columns = ("benchmark", "whose", *ours, *kinds)
    return Facts(
        columns,
        [*rows, Fact(ours_row, differences)],
        (
            "Rows of other benchmarks are as printed; ours is counted in the reader and the suite. "
            f"The scale {plan.config.scale.scale} reads {dataset.shape[0]} variables.",
        ),
    )


def _metrics(suite: Suite) -> set[str]:
    scored = [column.convention for of in (suite.columns, suite.sampled) for columns in of.values()
              for column in columns]  # fmt: skip
    scored += [
        name for of in (suite.also, suite.ensembles) for names in of.values() for name in names
    ]
    return {convention.partition(".")[0] for convention in scored}
