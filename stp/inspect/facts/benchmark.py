"""Compare benchmarks, as Table 1 of ChaosBench does: a row with numbers of variables for each.

Rows of benchmarks are as the paper prints them. A further row has the values of this project for
the suite's own benchmark.
"""

import importlib
from math import prod

from stp.core import named_modules
from stp.inspect.facts.fact import Fact, Facts, read_printed_rows
from stp.plan.cells import Plan
from stp.plan.checked_config import Strict, check
from stp.plan.suite import FactSource, Suite


class BenchmarkOptions(Strict):
    """Options of a table that compares benchmarks: how to get our values in each column.

    Such a table has a row for each benchmark, e.g. "ChaosBench, 124 variables, 44 days, global".
    One more row has our values for the benchmark of the suite. Each of the options ``counts``,
    ``dataset``, ``texts`` and ``metrics`` maps names of columns to the origin of our values.

    Attributes:
        reader: name of the reader of the suite's raw files.
        counts: for each column with a count, names of constants of the reader, as a list of terms.
            A term is the product of the lengths of its constants, and the count is the sum of the
            terms: ``[[VARIABLES, LEVELS], [LAND]]`` counts VARIABLES on each level, and LAND.
        dataset: for each column that is filled from the file of the suite's first dataset, the key
            of this file that has the value: ``{lead_days: horizon}``.
        texts: for each column with a fixed text, this text: ``{spatial_extent: global}``.
        metrics: for each column that the paper does not have, names of metrics of one kind:
            ``{physics: [spectral_divergence, spectral_residual]}``. The value lists those of them
            that the suite computes.
    """

    reader: str
    counts: dict[str, list[list[str]]] = {}
    dataset: dict[str, str] = {}
    texts: dict[str, str] = {}
    metrics: dict[str, tuple[str, ...]] = {}


def facts(plan: Plan, source: FactSource) -> Facts:
    """Make a table that compares benchmarks, with a row for each.

    The rows that the paper prints come first. The last row has our values of the suite's benchmark,
    which are marked where they differ from the printed row of this benchmark.

    Args:
        plan: plan of a scale of the suite.
        source: declaration of the table in the file of the suite; its options are
            `BenchmarkOptions`.

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
    printed = list(read_printed_rows(suite.folder / source.file, ("benchmark", *ours)))
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
