"""Print the costs of a plan as tables."""

from rich.console import Console
from rich.table import Table

from stp.core.units import duration, size_text
from stp.run.costs.summary import (
    SHARED,
    Entry,
    assumptions,
    by_dimension,
    hours,
    lines,
)

WIDE = 140
"""Width of a terminal, in characters, from which a list of jobs has all columns."""
FURTHER = ("GPU memory", "computing", "reading")
COLUMNS = (
    "jobs", "done", "GPU hours", "CPU hours", "longest job", "storage", "files at most",
)  # fmt: skip


def show(console: Console, entries: list[Entry], everything: bool) -> None:
    """Print the costs of each rule, followed by the assumptions.

    Args:
        console: console that prints the tables.
        entries: the jobs of the plan.
        everything: whether finished jobs count too.
    """
    table = Table(title="all jobs" if everything else "still to do")
    table.add_column("rule")
    for column in COLUMNS:
        table.add_column(column, justify="right")
    summed = lines(entries, everything)
    following = [line.rule for line in summed[1:]] + [""]
    for line, after in zip(summed, following, strict=True):
        table.add_row(
            line.rule,
            f"{line.jobs:,}",
            f"{line.done:,}",
            hours(line.gpu_hours),
            hours(line.cpu_hours),
            duration(line.longest_s) if line.longest_s else "-",
            size_text(line.bytes),
            f"{line.files:,}",
            end_section=after == "total",
        )
    console.print(table)
    console.print(jobs(entries))
    console.print("These are estimates. Assumptions:", highlight=False)
    for text in assumptions(entries, everything):
        console.print(f"  - {text}", highlight=False)
    without = sum(not entry.has_code for entry in entries)
    if without:
        console.print(f"{without:,} jobs have no code yet (--list marks them).", highlight=False)


def jobs(entries: list[Entry]) -> Table:
    """Make a table of the numbers of jobs, by stage and dimension (the table they are for)."""
    counted = by_dimension(entries)
    used = list(dict.fromkeys([SHARED, *(entry.dimension for entry in entries)]))
    table = Table(title="jobs by stage and dimension, done or not")
    table.add_column("stage")
    for name in [*used, "total"]:
        table.add_column(name, justify="right")
    last = list(counted)[-1]
    for stage, row in counted.items():
        numbers = [f"{row[name]:,}" if name in row else "" for name in used]
        table.add_row(stage, *numbers, f"{sum(row.values()):,}", end_section=stage == last)
    sums = [sum(row.get(name, 0) for row in counted.values()) for name in used]
    table.add_row("total", *(f"{number:,}" for number in [*sums, sum(sums)]))
    return table


def listing(entries: list[Entry], width: int) -> Table:
    """Make a table of all jobs, with state and cost.

    Args:
        entries: the jobs.
        width: width of the terminal, in characters; a narrow table has fewer columns.
    """
    table = Table(title=f"{len(entries)} jobs", box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("job", overflow="fold")
    for heading in ("done", "GPUs", "memory", "time", "storage"):
        table.add_column(heading, justify="right", no_wrap=True)
    is_wide = width >= WIDE
    if is_wide:
        for heading in FURTHER:
            table.add_column(heading, justify="right", no_wrap=True)
        table.add_column("fingerprint", no_wrap=True)
    else:
        also = f"{', '.join(FURTHER)} and fingerprints"
        table.caption = f"{also}: in a terminal of {WIDE} characters, or with --format json"
    for entry in entries:
        absent = "-" if entry.has_code else "no code"
        fingerprint = entry.output.parent.name if entry.output.stem == "artefact" else ""
        table.add_row(
            f"{entry.rule} {entry.what}",
            "yes" if entry.done else absent,
            str(entry.cost.gpus),
            size_text(entry.cost.memory_mb * 1e6),
            duration(entry.cost.seconds),
            size_text(entry.cost.bytes),
            *([*_further(entry), fingerprint] if is_wide else []),
        )
    return table


def _further(entry: Entry) -> list[str]:
    """Cells of a job for the columns `FURTHER`; empty texts if unknown."""
    cost = entry.cost
    times = (cost.computing_s, cost.reading_s)
    memory = size_text(cost.gpu_mb * 1e6) if cost.gpu_mb else ""
    return [memory, *(duration(seconds) if seconds else "" for seconds in times)]
