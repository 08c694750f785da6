"""Sum the costs of a plan, by rule and in total, with their assumptions, for `stp plan`."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from stp.plan.artefacts import PERCEPTUAL, Artefact, Raw
from stp.plan.cells import Plan
from stp.run.costs.estimate import Cost, Costs
from stp.run.workflow_files import manifest_path, results_of

GENERAL = (
    "time of a job: its start plus its work over a rate; training is 3 forecasts a clip and epoch",
    "CPU hours: threads x time, also those of jobs on a GPU",
    "storage: with raw files; prepared data, if not counted, as if no windows shared frames",
    "files: at most",
)


SHARED = "shared"
"""Name used in place of a dimension for jobs that all dimensions need."""


class Entry(NamedTuple):
    """One job of a plan, and its estimated cost.

    Attributes:
        stage: fetch, prepare, ...; ``score, perceptual`` is separate from ``score``.
        dimension: question of the suite whose table needs the job, such as ``short_term``;
            `SHARED` if all dimensions need it.
        what: readable name of the result.
        done: whether the result exists.
        has_code: whether all modules that the job needs exist.
        cost: estimated cost of the job.
        processors: number of CPU threads of all processes of the job.
        output: path of the job's output in Snakemake.
    """

    stage: str
    dimension: str
    what: str
    done: bool
    has_code: bool
    cost: Cost
    processors: int
    output: Path

    @property
    def rule(self) -> str:
        """Name of the Snakemake rule; ``collect`` and ``render`` each stand for several rules."""
        is_own = self.dimension not in (SHARED, self.what)
        return "_".join([self.stage.replace(", ", "_"), *([self.dimension] if is_own else [])])


@dataclass
class Line:
    """Sums over the jobs of one rule.

    All jobs are counted in ``jobs`` and ``done``. The other numbers are about the jobs whose cost
    was added (`add`): unfinished jobs, or all jobs (`lines`).

    Attributes:
        rule: name of the rule.
        jobs: number of jobs.
        done: number of finished jobs.
        gpu_hours: sum of hours times number of GPUs.
        cpu_hours: sum of hours times number of CPU threads.
        longest_s: duration of the longest job, in seconds.
        bytes: size of all results together, in bytes.
        files: upper bound of the number of files of all results together.
    """

    rule: str
    jobs: int = 0
    done: int = 0
    gpu_hours: float = 0.0
    cpu_hours: float = 0.0
    longest_s: float = 0.0
    bytes: int = 0
    files: int = 0

    def add(self, entry: Entry, counted: bool) -> None:
        """Add a job's cost to the sums of its rule.

        Args:
            entry: the job.
            counted: whether the cost of the job is added; if not, only the number of jobs changes.
        """
        self.jobs += 1
        self.done += entry.done
        if not counted:
            return
        hours = entry.cost.seconds / 3600
        self.gpu_hours += hours * entry.cost.gpus
        self.cpu_hours += hours * entry.processors
        self.longest_s = max(self.longest_s, entry.cost.seconds)
        self.bytes += entry.cost.bytes
        self.files += entry.cost.files


def entries(plan: Plan) -> list[Entry]:
    """List all jobs of a plan, in the order in which they can run."""
    results = results_of(plan)
    costs, jobs, coded = Costs(plan), [], _Coded()
    raws = {
        raw.lock: raw
        for artefact in plan.artefacts.values()
        for raw in artefact.inputs.values()
        if isinstance(raw, Raw)
    }
    for raw in raws.values():
        lock = plan.store / raw.lock
        release_label = f"{raw.dataset} ({raw.release})"
        jobs.append(
            Entry("fetch", SHARED, release_label, lock.exists(), True, costs.of_raw(raw), 1, lock)
        )
    for artefact in plan.artefacts.values():
        output = plan.store / artefact.receipt
        jobs.append(
            Entry(
                f"{artefact.stage}, {PERCEPTUAL}" if artefact.is_perceptual else artefact.stage,
                artefact.dimension or SHARED,
                artefact.label,
                output.exists(),
                coded(artefact),
                costs.of(artefact),
                costs.processors(artefact),
                output,
            )
        )
    scored = {entry.output: entry.done for entry in jobs}
    for dimension in plan.config.scale.dimensions:
        complete = all(scored[Path(receipt)] for receipt in plan.receipts(dimension))
        rows = results / "collected" / f"{dimension}.parquet"
        table = results / "tables" / f"{dimension}.csv"
        for stage, output in (("collect", rows), ("render", table)):
            done = complete and _is_newer(output, manifest_path(dimension, results))
            jobs.append(Entry(stage, dimension, dimension, done, True, costs.of_table(), 1, output))
    return sorted(jobs, key=lambda entry: _order(entry.stage))


def lines(jobs: Iterable[Entry], everything: bool = False) -> list[Line]:
    """Sum the jobs of each rule, and of all rules.

    Args:
        jobs: the jobs.
        everything: whether the costs of finished jobs count too.

    Returns:
        a line for each rule, and ``total``.
    """
    by_rule: dict[str, Line] = {}
    total = Line("total")
    for entry in jobs:
        for line in (by_rule.setdefault(entry.rule, Line(entry.rule)), total):
            line.add(entry, everything or not entry.done)
    return [*by_rule.values(), total]


def assumptions(jobs: Iterable[Entry], everything: bool = False) -> list[str]:
    """List the assumptions behind the costs of jobs, without repetitions.

    Args:
        jobs: the jobs.
        everything: whether the assumptions for finished jobs are listed too.

    Returns:
        general assumptions, then those about particular datasets or models, a sentence each.
    """
    texts = dict.fromkeys(GENERAL)
    for entry in jobs:
        if everything or not entry.done:
            texts |= dict.fromkeys(entry.cost.basis.split("; "))
    return list(texts)


def as_json(jobs: list[Entry]) -> dict[str, object]:
    """Convert jobs, sums and assumptions to the JSON output of `stp plan`."""
    return {
        "artefacts": [
            {
                "stage": entry.stage.partition(",")[0],
                "rule": entry.rule,
                "what": entry.what,
                "done": entry.done,
                "has_code": entry.has_code,
                "receipt": str(entry.output),
                "cost": asdict(entry.cost),
            }
            for entry in jobs
        ],
        "to_do": [asdict(line) for line in lines(jobs)],
        "jobs": by_dimension(jobs),
        "all": [asdict(line) for line in lines(jobs, everything=True)],
        "assumptions": assumptions(jobs, everything=True),
    }


def by_dimension(jobs: Iterable[Entry]) -> dict[str, dict[str, int]]:
    """Count the jobs by stage and dimension (the table for which they are needed).

    Returns:
        number of jobs, finished or not, by stage, then by dimension or ``shared``.
    """
    counted: dict[str, dict[str, int]] = {}
    for entry in jobs:
        of_stage = counted.setdefault(entry.stage, {})
        of_stage[entry.dimension] = of_stage.get(entry.dimension, 0) + 1
    return counted


class _Coded:
    """Checks whether all code of an artefact and its inputs exists, with a cache."""

    def __init__(self) -> None:
        self.known: dict[str, bool] = {}

    def __call__(self, artefact: Artefact) -> bool:
        if artefact.folder not in self.known:
            self.known[artefact.folder] = "missing" not in artefact.code.modules.values() and all(
                self(value) for value in artefact.inputs.values() if isinstance(value, Artefact)
            )
        return self.known[artefact.folder]


def _is_newer(path: Path, than: Path) -> bool:
    try:
        return path.stat().st_mtime >= than.stat().st_mtime
    except FileNotFoundError:
        return False


def _order(stage: str) -> int:
    stages = ("fetch", "prepare", "train", "predict", "features", "score", "collect", "render")
    return stages.index(stage.partition(",")[0])


def hours(number: float) -> str:
    """Format hours: ``0``, ``0.03``, ``1.5``, ``124,084``."""
    return f"{number:,.0f}" if number >= 100 or number == 0 else f"{number:.2g}"
