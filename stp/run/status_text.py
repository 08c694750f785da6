"""Text output of ``stp status``: a line of counts, a grid for each dimension, and failures.

States are distinguished by symbols, not by colours.
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
from stp.run.status import (
    DONE,
    FAILED,
    MISSING,
    PARTLY,
    RUNNING,
    ArtefactState,
    bad_attempts,
    cell_state,
)
from stp.run.workflow_files import results_of

SYMBOLS = {DONE: "+", RUNNING: ">", FAILED: "x", PARTLY: "~", MISSING: "."}
LEGEND = "+ done   > running (progress)   x failed   ~ partly done   . missing"
SEEDS = "2/3: two of three cells (seeds, settings) are done"
ATTEMPTS = 20
"""Maximum number of lines about attempts that ended badly."""
DETAIL = 100
"""Maximum number of characters of the reason why an attempt ended badly."""


def lines(
    plan: Plan, states: dict[str, ArtefactState], driver: Driver | None, width: int
) -> Iterator[str]:
    """Yield the lines of ``stp status``.

    Args:
        plan: the plan.
        states: states of all artefacts of the plan, by folder.
        driver: Snakemake process of the last run in this checkout; None without one.
        width: number of characters in a line; wider grids are cut into blocks of columns.
    """
    yield summary(plan, states)
    yield from _run(plan, states, driver)
    for dimension in plan.dimensions:
        cells = [made for made in plan.cells if made.cell.dimension == dimension]
        yield ""
        yield from grid(dimension, cells, states, width)
    yield from _failures(plan, states)
    yield from _bad_attempt_lines(plan, states)
    yield from _results(plan, driver)


def summary(plan: Plan, states: dict[str, ArtefactState]) -> str:
    """Count finished artefacts by stage, in one line."""
    counts: dict[str, list[int]] = {}
    for folder, artefact in plan.artefacts.items():
        if plan.is_wanted(artefact):
            entry = counts.setdefault(artefact.stage, [0, 0])
            entry[0] += states[folder].state == DONE
            entry[1] += 1
    done, total = (sum(entry[i] for entry in counts.values()) for i in (0, 1))
    stages = ", ".join(f"{stage} {entry[0]}/{entry[1]}" for stage, entry in counts.items())
    rest = "; nothing left to do" if done == total else ""
    return f"[{done}/{total}] {plan.config.scale.scale} scale: {stages}{rest}"


def _run(plan: Plan, states: dict[str, ArtefactState], driver: Driver | None) -> Iterator[str]:
    running = {f: s for f, s in states.items() if s.state == RUNNING}
    needed = {f: a for f, a in plan.artefacts.items() if plan.is_wanted(a)}
    waiting = [
        (artefact.work, 1 - (states[folder].percent or 0) / 100)
        for folder, artefact in needed.items()
        if states[folder].state != DONE
    ]
    if driver is not None and driver.succeeded:
        yield f"  run: {driver}: finished all targets"
    elif driver is not None and waiting and driver.is_ending():
        yield f"  run: {driver}: stopped; the same command continues it"
    elif driver is not None and waiting:
        alive = driver.is_alive()
        ended = "has ended; `stp run --resume` continues it after a crash"
        text = {True: "running", False: ended, None: "state unknown on this machine"}
        yield f"  run: {driver}: {text[alive]}"
        durations = Durations(plan.store / "state" / "durations.jsonl")
        left = (
            durations.seconds_left(waiting, progress.run_started(plan))
            if alive is not False
            else None
        )
        if left:
            yield f"  about {progress.duration(left)} left at the current pace"
    for folder, step in running.items():
        artefact = plan.artefacts[folder]
        percent = "" if step.percent is None else f", {step.percent} %"
        yield f"  running: {artefact.stage} of {artefact.label} {step.where}{percent}"


def grid(
    dimension: str, cells: list[CellArtefacts], states: dict[str, ArtefactState], width: int
) -> Iterator[str]:
    """Yield the lines of a grid that shows the state of each model on each dataset.

    Args:
        dimension: name of the dimension, the table to which the results belong.
        cells: results (cells) of the dimension, with their artefacts.
        states: states of all artefacts, by folder.
        width: number of characters in a line.
    """
    entries: dict[tuple[str, str], list[ArtefactState]] = {}
    for made in cells:
        entries.setdefault((_row(made.cell), made.cell.test_label), []).append(
            cell_state(made, states)
        )
    texts = {place: _entry(cell_states) for place, cell_states in entries.items()}
    rows = list(dict.fromkeys(row for row, _ in texts))
    columns = list(dict.fromkeys(column for _, column in texts))
    done = sum(cell_state(made, states).state == DONE for made in cells)
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
    several = any(len(cell_states) > 1 for cell_states in entries.values())
    yield f"  {LEGEND}" + (f"\n  {SEEDS}" if several else "")


def _line(name: str, entries: list[tuple[str, int]], first: int) -> str:
    cells = "".join(f"  {text:<{size}}" for text, size in entries)
    return f"{name:<{first}}{cells}".rstrip()


def _row(cell: CellKey) -> str:
    return cell.model if cell.variant == "default" else f"{cell.model} {cell.variant}"


def _entry(states: list[ArtefactState]) -> str:
    """The entry of a model and dataset, such as ``+``, ``>42%`` or ``x1/3``."""
    by_state = {state.state: state for state in states}
    # The state that needs attention most; done only if all cells are.
    order = (RUNNING, FAILED, PARTLY, MISSING, DONE)
    first = next(by_state[state] for state in order if state in by_state)
    if first.state == MISSING and DONE in by_state:
        first = ArtefactState(PARTLY)
    symbol = SYMBOLS[first.state]
    if len(states) > 1:
        return f"{symbol}{sum(state.state == DONE for state in states)}/{len(states)}"
    return f"{symbol}{first.percent}%" if first.percent is not None else symbol


def _failures(plan: Plan, states: dict[str, ArtefactState]) -> Iterator[str]:
    for folder, step in states.items():
        if failure := step.failure:
            artefact, error = plan.artefacts[folder], failure.error.splitlines()[0]
            yield f"  failed: {artefact.stage} of {artefact.label}: {error} (log: {failure.log})"


def _bad_attempt_lines(plan: Plan, states: dict[str, ArtefactState]) -> Iterator[str]:
    entries = [
        (artefact, attempt)
        for artefact, attempt in bad_attempts(plan, states, progress.run_started(plan))
        # The last failure is printed above.
        if states[artefact.folder].state != FAILED
        or attempt is not states[artefact.folder].attempts[-1]
    ]
    if entries:
        yield "  attempts that ended badly, the latest first:"
    for artefact, attempt in entries[:ATTEMPTS]:
        when = time.strftime("%m-%d %H:%M", time.localtime(attempt.ended or attempt.time))
        again = " (made since)" if states[artefact.folder].state == DONE else ""
        detail = f": {_shorten(attempt.detail)}" if attempt.detail else ""
        job = f", job {attempt.slurm_job}" if attempt.slurm_job else ""
        yield (
            f"    {when} {artefact.stage} of {artefact.label}, attempt {attempt.attempt} on "
            f"{attempt.host}{job}: {attempt.how}{detail}{again}"
        )
    if len(entries) > ATTEMPTS:
        yield f"    and {len(entries) - ATTEMPTS} more (`stp status --format json` has all)"


def _shorten(text: str) -> str:
    return text if len(text) <= DETAIL else text[: DETAIL - 3] + "..."


def _results(plan: Plan, driver: Driver | None) -> Iterator[str]:
    """Yield lines that name the existing results, and those left by an earlier run."""
    results = results_of(plan)
    tables = [results / "tables" / f"{name}.csv" for name in plan.dimensions]
    existing = [table for table in tables if table.is_file()]
    if existing:
        yield ""
    for table in existing:
        is_older = table.stat().st_mtime < progress.run_started(plan)
        older = ", of an earlier run" if is_older and not (driver and driver.succeeded) else ""
        yield f"  table: {table} (and .md){older}"
    if existing:
        yield f"  database: {results}/results.duckdb"
        yield f"  store: {shorten_path(plan.store)}"
        yield f"  logs: {results}/logs"


def shorten_path(path: Path) -> Path:
    """Make a path relative to the working directory if it lies below it."""
    cwd = Path.cwd()
    return path.relative_to(cwd) if path.is_relative_to(cwd) else path
