"""``stp status`` as text: a line of counts, a grid per dimension, and what went wrong.

Symbols, not colours, tell the states apart.
"""

import time
from collections.abc import Iterator
from pathlib import Path

from stp.plan.artefacts import CellArtefacts
from stp.plan.cell_key import CellKey
from stp.plan.cells import Plan
from stp.run import progress
from stp.run.cluster.driver import Driver
from stp.run.costs.durations import Durations
from stp.run.status import DONE, FAILED, MISSING, PARTLY, RUNNING, Standing, ended_badly, of_cell
from stp.run.workflow_files import results_of

SYMBOLS = {DONE: "+", RUNNING: ">", FAILED: "x", PARTLY: "~", MISSING: "."}
LEGEND = "+ done   > running (how far it is)   x failed   ~ partly done   . missing"
SEEDS = "2/3: of three cells (seeds, settings) two are done"
ATTEMPTS = 20
"""Lines about attempts that ended badly, at most."""
DETAIL = 100
"""Characters of why one ended badly, at most."""


def lines(
    plan: Plan, standing: dict[str, Standing], driver: Driver | None, width: int
) -> Iterator[str]:
    """Write down how a plan stands.

    Args:
        plan: the plan.
        standing: of all its artefacts.
        driver: the Snakemake of this checkout's last run, if one was noted.
        width: characters of a line; wider grids are cut into blocks of columns.
    """
    yield summary(plan, standing)
    yield from _run(plan, standing, driver)
    for dimension in plan.dimensions:
        cells = [made for made in plan.cells if made.cell.dimension == dimension]
        yield ""
        yield from grid(dimension, cells, standing, width)
    yield from _failures(plan, standing)
    yield from _ended_badly(plan, standing)
    yield from _results(plan, driver)


def summary(plan: Plan, standing: dict[str, Standing]) -> str:
    """Count what is done, by stage, in one line."""
    counts: dict[str, list[int]] = {}
    for folder, artefact in plan.artefacts.items():
        if plan.is_wanted(artefact):
            entry = counts.setdefault(artefact.stage, [0, 0])
            entry[0] += standing[folder].state == DONE
            entry[1] += 1
    done, total = (sum(entry[i] for entry in counts.values()) for i in (0, 1))
    stages = ", ".join(f"{stage} {entry[0]}/{entry[1]}" for stage, entry in counts.items())
    rest = "; nothing left to do" if done == total else ""
    return f"[{done}/{total}] {plan.config.scale.scale} scale: {stages}{rest}"


def _run(plan: Plan, standing: dict[str, Standing], driver: Driver | None) -> Iterator[str]:
    """Say whether a run is going on, how long still, and what is being made."""
    running = {f: s for f, s in standing.items() if s.state == RUNNING}
    wanted = {f: a for f, a in plan.artefacts.items() if plan.is_wanted(a)}
    waiting = [
        (artefact.work, 1 - (standing[folder].percent or 0) / 100)
        for folder, artefact in wanted.items()
        if standing[folder].state != DONE
    ]
    if driver is not None and driver.succeeded:
        yield f"  run: {driver}: made all that it was asked for"
    elif driver is not None and waiting and driver.is_ending():
        yield f"  run: {driver}: stopped; the same command goes on from here"
    elif driver is not None and waiting:
        alive = driver.is_alive()
        ended = "has ended; `stp run --resume` goes on after a crash"
        says = {True: "runs", False: ended, None: "cannot be seen from this machine"}
        yield f"  run: {driver}: {says[alive]}"
        durations = Durations(plan.store / "state" / "durations.jsonl")
        left = durations.left(waiting, progress.run_started(plan)) if alive is not False else None
        if left:
            yield f"  about {progress.duration(left)} left, if work goes on as it did so far"
    for folder, step in running.items():
        artefact = plan.artefacts[folder]
        percent = "" if step.percent is None else f", {step.percent} %"
        yield f"  running: {artefact.stage} of {artefact.label} {step.where}{percent}"


def grid(
    dimension: str, cells: list[CellArtefacts], standing: dict[str, Standing], width: int
) -> Iterator[str]:
    """Draw the models and datasets of one dimension."""
    entries: dict[tuple[str, str], list[Standing]] = {}
    for made in cells:
        entries.setdefault((_row(made.cell), made.cell.tested), []).append(of_cell(made, standing))
    texts = {place: _entry(states) for place, states in entries.items()}
    rows = list(dict.fromkeys(row for row, _ in texts))
    columns = list(dict.fromkeys(column for _, column in texts))
    done = sum(of_cell(made, standing).state == DONE for made in cells)
    yield f"{dimension}: {done} of {len(cells)} cells done"
    first = max(map(len, rows), default=0)
    sizes = {
        column: max([len(column), *(len(t) for (_, c), t in texts.items() if c == column)])
        for column in columns
    }
    while columns:
        room = width - first
        block: list[str] = []
        while columns and (not block or room >= sizes[columns[0]] + 2):
            room -= sizes[columns[0]] + 2
            block.append(columns.pop(0))
        yield _line("", [(column, sizes[column]) for column in block], first)
        for row in rows:
            yield _line(row, [(texts.get((row, c), ""), sizes[c]) for c in block], first)
    several = any(len(states) > 1 for states in entries.values())
    yield f"  {LEGEND}" + (f"\n  {SEEDS}" if several else "")


def _line(name: str, entries: list[tuple[str, int]], first: int) -> str:
    cells = "".join(f"  {text:<{size}}" for text, size in entries)
    return f"{name:<{first}}{cells}".rstrip()


def _row(cell: CellKey) -> str:
    return cell.model if cell.variant == "default" else f"{cell.model} {cell.variant}"


def _entry(states: list[Standing]) -> str:
    """Write one place of the grid, such as ``+``, ``>42%`` or ``x1/3``."""
    found = {step.state: step for step in states}
    # What needs attention is shown first; done is it only when all are.
    shown = next(found[s] for s in (RUNNING, FAILED, PARTLY, MISSING, DONE) if s in found)
    if shown.state == MISSING and DONE in found:
        shown = Standing(PARTLY)
    symbol = SYMBOLS[shown.state]
    if len(states) > 1:
        return f"{symbol}{sum(step.state == DONE for step in states)}/{len(states)}"
    return f"{symbol}{shown.percent}%" if shown.percent is not None else symbol


def _failures(plan: Plan, standing: dict[str, Standing]) -> Iterator[str]:
    for folder, step in standing.items():
        if failure := step.failure:
            artefact, error = plan.artefacts[folder], failure.error.splitlines()[0]
            yield f"  failed: {artefact.stage} of {artefact.label}: {error} (log: {failure.log})"


def _ended_badly(plan: Plan, standing: dict[str, Standing]) -> Iterator[str]:
    entries = [
        (artefact, attempt)
        for artefact, attempt in ended_badly(plan, standing, progress.run_started(plan))
        # What failed last is told above.
        if standing[artefact.folder].state != FAILED
        or attempt is not standing[artefact.folder].attempts[-1]
    ]
    if entries:
        yield "  attempts that ended badly, the latest first:"
    for artefact, attempt in entries[:ATTEMPTS]:
        when = time.strftime("%m-%d %H:%M", time.localtime(attempt.ended or attempt.time))
        again = " (made since)" if standing[artefact.folder].state == DONE else ""
        detail = f": {_cut(attempt.detail)}" if attempt.detail else ""
        job = f", job {attempt.slurm_job}" if attempt.slurm_job else ""
        yield (
            f"    {when} {artefact.stage} of {artefact.label}, attempt {attempt.attempt} on "
            f"{attempt.host}{job}: {attempt.how}{detail}{again}"
        )
    if len(entries) > ATTEMPTS:
        yield f"    and {len(entries) - ATTEMPTS} more (`stp status --format json` has all)"


def _cut(text: str) -> str:
    return text if len(text) <= DETAIL else text[: DETAIL - 3] + "..."


def _results(plan: Plan, driver: Driver | None) -> Iterator[str]:
    """Name the results that are there, and which of them the last run has not made."""
    results = results_of(plan)
    tables = [results / "tables" / f"{name}.csv" for name in plan.dimensions]
    made = [table for table in tables if table.is_file()]
    if made:
        yield ""
    for table in made:
        is_older = table.stat().st_mtime < progress.run_started(plan)
        older = ", of an earlier run" if is_older and not (driver and driver.succeeded) else ""
        yield f"  table: {table} (and .md){older}"
    if made:
        yield f"  database: {results}/results.duckdb"
        yield f"  store: {short(plan.store)}"
        yield f"  logs: {results}/logs"


def short(path: Path) -> Path:
    """A path relative to here, where it is below."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
