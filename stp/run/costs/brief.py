"""Summarise the remaining work for a table in five lines: `stp plan TABLE`."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from stp.core.errors import StpError
from stp.core.units import duration, size_text
from stp.plan.artefacts import Raw
from stp.plan.cells import Plan
from stp.run.costs.summary import Entry, entries
from stp.run.results import RESULTS
from stp.run.status_text import shorten_path
from stp.run.workflow_files import data_origins


def dimension_of(plan: Plan, table: str) -> str:
    """Find the dimension (the question of a suite) that a table answers.

    Args:
        plan: the plan.
        table: name or file of the table, such as ``results/tables/short_term.csv``.

    Raises:
        StpError: the scale has no such dimension.
    """
    name = Path(table).stem
    if name not in plan.config.scale.dimensions:
        raise StpError(
            f"the scale {plan.config.scale.scale} has no table {table}",
            expected=f"one of {', '.join(plan.config.scale.dimensions)}",
            remedy="name another scale with --configfile, or declare the dimension in this one",
        )
    return name


def lines(plan: Plan, dimension: str, cores: int | None = None) -> Iterator[str]:
    """Yield a summary, in lines, of the remaining work for one main table.

    Args:
        plan: the plan.
        dimension: name of a dimension of the plan.
        cores: number of cores that the run may use; None for all cores of this machine.
    """
    cores = cores or len(os.sched_getaffinity(0))
    cells = [made.cell for made in plan.cells if made.cell.dimension == dimension]
    models = dict.fromkeys(cell.model for cell in cells)
    tested = dict.fromkeys(cell.test_label for cell in cells)
    jobs_of_table = jobs(plan, dimension)
    waiting = [entry for entry in jobs_of_table if not entry.done]
    stages = Counter(entry.rule.partition("_")[0] for entry in waiting)
    yield f"{RESULTS}/tables/{dimension}.csv ({data_origins(plan)[dimension]})"
    yield f"  {len(cells)} cells: {', '.join(models)} on {', '.join(tested)}"
    counted = ", ".join(f"{stage} {number}" for stage, number in stages.items())
    yield f"  {len(waiting)} of {len(jobs_of_table)} jobs to do{': ' if counted else ''}{counted}"
    yield f"  about {duration(wall_seconds(waiting, cores))} on {cores} free cores (an estimate)"
    yield from guesses(plan, waiting)
    if any("multiply-adds of" in entry.cost.basis for entry in waiting):
        yield "  the size of a network is unknown: `stp plan --measure` measures its speed"
    left = size_text(sum(entry.cost.bytes for entry in waiting))
    yield f"  about {left} more below {shorten_path(plan.store)}"


def guesses(plan: Plan, waiting: Iterable[Entry]) -> Iterator[str]:
    """Yield a line for each dataset whose number of clips is unknown and was guessed.

    Args:
        plan: the plan.
        waiting: jobs that have still to run; only datasets that their costs depend on are named.
    """
    bases = " ".join(entry.cost.basis for entry in waiting)
    for name in plan.config.datasets:
        if f" clips of {name} assumed" in bases:
            yield (
                f"  a guess: the clips of {name} are not counted; `stp prepare {name}` counts "
                "them (or set `counts` in its YAML)"
            )


def jobs(plan: Plan, dimension: str) -> list[Entry]:
    """List the jobs that make the table of a dimension (one question), and those they need."""
    outputs = set()
    for made in plan.cells:
        if made.cell.dimension != dimension:
            continue
        for artefact in made.artefacts:
            outputs.add(plan.store / artefact.receipt)
            raws = [value for value in artefact.inputs.values() if isinstance(value, Raw)]
            outputs |= {plan.store / raw.lock for raw in raws}
    return [
        entry
        for entry in entries(plan)
        if entry.output in outputs
        or (entry.rule in ("collect", "render") and entry.what == dimension)
    ]


def wall_seconds(waiting: Iterable[Entry], cores: int) -> float:
    """Estimated wall time in seconds: all work divided by the cores, at least the longest job.

    Args:
        waiting: jobs that have still to run.
        cores: number of cores that the run may use.
    """
    work = [(entry.cost.seconds, entry.processors) for entry in waiting]
    shared = sum(seconds * processors for seconds, processors in work) / cores
    return max([shared, *(seconds for seconds, _ in work)])
