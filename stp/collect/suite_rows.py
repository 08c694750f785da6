"""Rows of results.duckdb that say what suites are: dimensions, settings and published values."""

from collections.abc import Iterable, Sequence
from typing import Any

from stp.collect.published import read_published
from stp.collect.rows import MissingRow
from stp.collect.settings import values_of
from stp.plan.manifest import Manifest

Rows = Iterable[dict[str, Any]]


def settings(plans: Sequence[Manifest], missing: Iterable[MissingRow]) -> set[str]:
    """The settings of all cells, scored or missing."""
    scored = {cell.key.setting for plan in plans for cell in plan.cells}
    return scored | {row.setting for row in missing}


def keyed(plans: Sequence[Manifest], missing: Iterable[MissingRow]) -> Rows:
    """All settings, of cells and of published values."""
    yield from (values_of(setting) for setting in settings(plans, missing))
    for path in dict.fromkeys(plan.published for plan in plans):
        yield from (dict(value.setting) for value in read_published(path))


def suites(plans: Sequence[Manifest]) -> Rows:
    """Rows of the table of suites."""
    titles = {plan.suite.name: plan.suite.title for plan in plans}
    return ({"suite": name, "title": title} for name, title in sorted(titles.items()))


def dimensions(plans: Sequence[Manifest]) -> Rows:
    """Rows of the table of dimensions, evaluated or not."""
    every = {plan.suite.name: plan.suite.dimensions for plan in plans}
    for suite, of_suite in sorted(every.items()):
        for name, about in of_suite.items():
            yield {"suite": suite, "dimension": name, **vars(about)}


def published(plans: Sequence[Manifest]) -> Rows:
    """Read the published values and join our names to the printed ones."""
    ours: dict[str, dict[str, str]] = {"models": {}, "datasets": {}}
    for plan in plans:
        for kind, names in ours.items():
            printed = getattr(plan.published_names, kind)
            names.update({theirs: name for name, theirs in printed.items()})
    files = {plan.published: plan.suite.name for plan in plans}
    for path, suite in files.items():
        for value in read_published(path):
            row = vars(value).copy()
            row |= row.pop("setting")
            row |= {f"printed_{name}": row[name] for name in ("model", "trained_on", "tested_on")}
            yield {
                "suite": suite,
                **row,
                "model": ours["models"].get(value.model),
                "trained_on": ours["datasets"].get(value.trained_on),
                "tested_on": ours["datasets"].get(value.tested_on),
            }
