"""Make rows of results.duckdb about suites: dimensions, settings and published values.

A suite is a benchmark. A dimension is one of its questions, with a table of its own. A setting is
what an evaluation changes of a dataset's protocol, such as ``horizon-30+interval-2``.
"""

from collections.abc import Iterable, Mapping, Sequence

from stp.collect.published import read_published
from stp.collect.schema import DimensionRow, MissingRow, PublishedRow, SuiteRow
from stp.collect.settings import values_of
from stp.collect.table import Value
from stp.plan.manifest import Manifest


def settings(plans: Sequence[Manifest], missing: Iterable[MissingRow]) -> set[str]:
    """Names of the settings of all evaluations, such as ``horizon-30+interval-2``.

    Args:
        plans: manifests with the scored cells.
        missing: planned cells without scores.
    """
    scored = {cell.key.setting for plan in plans for cell in plan.cells}
    return scored | {row.setting for row in missing}


def setting_values(
    plans: Sequence[Manifest], missing: Iterable[MissingRow]
) -> Iterable[Mapping[str, Value]]:
    """Yield each setting as a mapping from key to value, such as ``{"horizon": 30}``.

    Args:
        plans: manifests with the scored cells, and with the paths of files of published values;
            both have settings.
        missing: planned cells without scores, which have settings as well.
    """
    yield from (values_of(setting) for setting in settings(plans, missing))
    for path in dict.fromkeys(plan.published for plan in plans):
        yield from (value.setting for value in read_published(path))


def suites(plans: Sequence[Manifest]) -> Iterable[SuiteRow]:
    """Make the rows of the table of suites (benchmarks)."""
    titles = {plan.suite.name: plan.suite.title for plan in plans}
    return (SuiteRow(suite=name, title=title) for name, title in sorted(titles.items()))


def dimensions(plans: Sequence[Manifest]) -> Iterable[DimensionRow]:
    """Make a row for each dimension (question with its own table) of the suites.

    Dimensions that were not evaluated have rows too.
    """
    every = {plan.suite.name: plan.suite.dimensions for plan in plans}
    for suite, of_suite in sorted(every.items()):
        for name, about in of_suite.items():
            yield DimensionRow(suite=suite, dimension=name, **vars(about))


def published_rows(plans: Sequence[Manifest]) -> Iterable[PublishedRow]:
    """Make the rows of published values, with stp's names of models and datasets beside the printed
    ones.
    """
    models: dict[str, tuple[str, list[str]]] = {}  # printed name -> ours, and its variants
    datasets: dict[str, str] = {}
    for plan in plans:
        names = plan.published_names
        datasets |= {printed: name for name, printed in names.datasets.items()}
        models |= {printed: (name, ["default"]) for name, printed in names.models.items()}
    for plan in plans:
        for name, printed in sorted(plan.published_names.variants.items()):
            model, _, variant = name.partition(":")
            variants = models.setdefault(printed, (model, []))[1]
            variants += [] if variant in variants else [variant]
    files = {plan.published: plan.suite.name for plan in plans}
    for path, suite in files.items():
        for value in read_published(path):
            ours = models.get(value.model)
            own_names = {
                "model": ours and ours[0],
                "variants": ours and ours[1],
                "trained_on": datasets.get(value.trained_on),
                "tested_on": datasets.get(value.tested_on),
            }
            yield PublishedRow(
                suite=suite,
                **vars(value) | own_names,
                printed_model=value.model,
                printed_trained_on=value.trained_on,
                printed_tested_on=value.tested_on,
            )
