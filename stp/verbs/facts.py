"""The verb that compares the facts that papers print with the configuration."""

from pathlib import Path
from typing import Annotated

import typer

from stp.verbs import output
from stp.verbs.app import Log, checks, examples, load_plan, say


@checks.command(
    epilog=examples(
        "stp check facts predbench",
        "stp check facts chaosbench --format csv",
        "stp check facts predbench --table results/tables/training_protocol.csv",
        "stp check facts pvqa --configfile config/pvqa-demo.yaml",
    )
)
def facts(
    suite: Annotated[str, typer.Argument(help="A suite, by its name in config/suites.")],
    configfile: Annotated[
        Path | None,
        typer.Option(
            help="A scale file of the suite, whose prepared data are counted too "
            "(default: the suite's protocol)."
        ),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            help="Write a table to this .csv file instead, with .md, .tex and .html beside it; the "
            "name of the file says which table."
        ),
    ] = None,
    format: output.Format = None,
    out: output.Out = None,
    log: Log = None,
) -> None:
    """Compare facts printed in the suite's paper with configuration, networks and data.

    All differences are shown first, each with the declared reason, and then the names of the
    suite's tables of facts. With --table, one of these tables is written instead. The name of the
    file says which: --table results/tables/training_protocol.csv writes training_protocol.

    Exit codes: 0 all differences have a reason, 1 an error, 2 wrong usage, 3 a difference has no
    reason.
    """
    from stp.core import exit_codes
    from stp.core.errors import StpError
    from stp.inspect.facts import table as printed
    from stp.plan.checked_config import CONFIG_FOLDER
    from stp.plan.suite import read_suite, suite_file

    declared = read_suite(suite_file(suite))
    names = printed.tables_of(declared)
    if not names or declared.protocol is None:
        raise StpError(f"{declared.title} has no tables of printed facts")
    plan = load_plan(configfile or CONFIG_FOLDER / declared.protocol)
    if plan.config.scale.suite != suite:
        raise StpError(
            f"{configfile} is a scale of the suite {plan.config.scale.suite}",
            remedy=f"stp check facts {plan.config.scale.suite}, or a scale file of {suite}",
        )
    if table is not None:
        compared = printed.write(plan, table)
        differing = sum(bool(fact.differences) for fact in compared.rows)
        say(log, f"wrote {table}: {len(compared.rows)} rows, {differing} not as printed")
        return
    tables = {name: printed.make(plan, name) for name in names}
    rows = printed.differences(tables, declared)
    chosen = output.choose_format(format, out)
    if chosen in ("table", "markdown"):
        output.put_grid(printed.make_facts_grid(tables, declared, rows), chosen, out)
    else:
        output.put_rows(list(printed.DIFFERENCE), [tuple(row) for row in rows], chosen, out)
    if any(fact.unexplained_columns for compared in tables.values() for fact in compared.rows):
        raise typer.Exit(exit_codes.NOTHING)
