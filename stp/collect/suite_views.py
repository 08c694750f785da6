"""Views of results.duckdb that belong to one suite: SQL in config/suites/<suite>/views/.

A file begins with SQL comments that contain YAML: ``comment`` describes a row, and ``columns``
describes columns that no table has.
"""

from collections.abc import Iterable
from typing import Any

import yaml

from stp.collect.views import View
from stp.core.errors import StpError
from stp.plan.manifest import Manifest


def head_of(sql: str) -> Any:
    """Parse the YAML in the SQL comments at the beginning of a query; None if there are none."""
    lines = []
    for line in sql.splitlines():
        if not line.startswith("--"):
            break
        lines.append(line[3:])
    try:
        return yaml.safe_load("\n".join(lines))
    except yaml.YAMLError:
        return None


def views_of(suites: Iterable[tuple[str, dict[str, str]]]) -> list[View]:
    """Make the views of suites, in the order in which they have to be created.

    Args:
        suites: pairs of the name of a suite and the SQL of its views by name.

    Raises:
        StpError: a view has no description, or two have the same name.
    """
    by_name: dict[str, View] = {}
    for suite, views in suites:
        for name, sql in views.items():
            about = head_of(sql)
            if (
                not isinstance(about, dict)
                or set(about) != {"comment", "columns"}
                or name in by_name
            ):
                raise StpError(
                    f"view {name} of the suite {suite}: "
                    + ("another suite has one" if name in by_name else "its comments are wrong"),
                    expected="a name of its own, and first comments with comment and columns",
                    remedy=f"correct config/suites/{suite}/views/{name}.sql",
                )
            by_name[name] = View(name, about["comment"], sql.rstrip().rstrip(";"), about["columns"])
    return list(by_name.values())


def views_of_plans(plans: Iterable[Manifest]) -> list[View]:
    """Make the views (described SQL queries) of all suites to which the manifests belong."""
    suites = {plan.suite.name: plan.suite.views for plan in plans}
    return views_of(sorted(suites.items()))
