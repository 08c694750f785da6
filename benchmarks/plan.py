"""How long planning takes, how much memory, and whether the time of a job grows with their number.

`snakemake -n --quiet` plans the paper (all its dimensions, those to come as well, and the second
score job of each cell whose metrics need a GPU), the same with three seeds, and with as many seeds
as make larger numbers of jobs; nothing is built, on an empty store in a temporary folder. The
alternative, measured in the same run, is a minimal Snakefile with as many jobs: three rules, one
wildcard, no functions, no logs, no resources. What is above it is ours. Planning is one thread, so
its CPU time is what it takes on a machine that is not busy. "A job alone" is what every job on a
cluster repeats: it reads the whole plan, twice.

    python benchmarks/plan.py
    python benchmarks/plan.py --store results/store   # files of the artefacts of a finished run
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import yaml

from stp.plan.artefacts import Raw
from stp.plan.cells import Plan
from stp.upkeep import inventory

ROOT = Path(__file__).parent.parent
PAPER = ROOT / "config" / "paper.yaml"
LIMITS = {"paper": 5.0, "three seeds": 10.0, "20,000 jobs": 25.0}
"""Seconds that planning may take."""
MOST_FILES = 100
"""Files that an artefact may have."""
MINIMAL = """
rule all:
    input: expand("score/{{n}}", n=range({chains}))
rule train:
    output: "train/{{n}}"
    shell: "touch {{output}}"
rule predict:
    input: "train/{{n}}"
    output: "predict/{{n}}"
    shell: "touch {{output}}"
rule score:
    input: "predict/{{n}}"
    output: "score/{{n}}"
    shell: "touch {{output}}"
"""


class Cost(NamedTuple):
    """What a process cost."""

    seconds: float
    cpu_seconds: float
    megabytes: float


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--jobs", type=int, nargs="*", default=[20_000, 40_000], help="default: 20000 40000"
    )
    parser.add_argument("--turns", type=int, default=3, help="the fastest counts (default: 3)")
    parser.add_argument(
        "--without-perceptual", action="store_true", help="no second score job for any cell"
    )
    parser.add_argument("--store", type=Path, help="only count files in this store, no planning")
    options = parser.parse_args()
    if options.store:
        count_files(options.store)
        return
    scale = yaml.safe_load(PAPER.read_text())
    if not options.without_perceptual:
        scale["metrics"] = {name: {"available": True} for name in ("lpips", "fvd")}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["STP_STORE_DIR"] = f"{folder}/store"
        measure(scale, options.jobs, options.turns, Path(folder))


def measure(scale: dict, sizes: list[int], turns: int, folder: Path) -> None:
    """Plan growing numbers of jobs, and print a line for each."""
    first, more = jobs_of(with_seeds(scale, 1)), jobs_of(with_seeds(scale, 2))
    plans = {"paper": 1, "three seeds": 3}
    plans |= {f"{size:,} jobs": 1 + -(-(size - first) // (more - first)) for size in sizes}
    start = fastest(turns, folder, minimal(folder, 1)).cpu_seconds
    first_each = each = 0.0
    print(
        f"{'':<12} {'jobs':>7}  {'CPU time':>8} {'(wall)':>8} {'memory':>7} {'per job':>8}", end=""
    )
    print(f" | minimal: {'CPU':>6} {'memory':>7} {'per job':>8} {'ratio':>6} | a job alone")
    for name, seeds in plans.items():
        wanted = with_seeds(scale, seeds)
        jobs = jobs_of(wanted)
        print(f"planning {name} ({jobs:,} jobs) ...", file=sys.stderr, flush=True)
        few = turns if jobs < 10_000 else 1
        ours = fastest(few, folder, stp(folder, wanted))
        least = fastest(few, folder, minimal(folder, jobs))
        alone = fastest(few, folder, stp(folder, wanted, first_receipt(wanted)))
        # Starting Python and Snakemake is no part of the time of a job.
        each, least_each = (1000 * (cost.cpu_seconds - start) / jobs for cost in (ours, least))
        first_each = first_each or each
        limit = LIMITS.get(name)
        within = "" if limit is None else "within" if ours.cpu_seconds < limit else "OVER"
        print(
            f"{name:<12} {jobs:>7,} {ours.cpu_seconds:>7.1f} s {ours.seconds:>6.1f} s "
            f"{ours.megabytes:>4.0f} MB {each:>5.2f} ms |          {least.cpu_seconds:>4.1f} s "
            f"{least.megabytes:>4.0f} MB {least_each:>5.2f} ms {each / least_each:>6.2f} | "
            f"{alone.cpu_seconds:.1f} s, {alone.megabytes:.0f} MB"
            + (f"   {within} {limit:.0f} s" if limit else "")
        )
    print(f"time per job, largest over smallest plan: {each / first_each:.2f}")


def with_seeds(scale: dict, seeds: int) -> dict:
    """The same scale with other seeds; its own name, since it is not the paper any more."""
    return scale if seeds == 1 else {**scale, "scale": "benchmark", "seeds": list(range(seeds))}


def jobs_of(scale: dict) -> int:
    """Count the jobs of a plan: artefacts, raw bytes, two for each table, and the target."""
    plan = Plan.load(scale)
    raws = {
        value.lock
        for artefact in plan.artefacts.values()
        for value in artefact.inputs.values()
        if isinstance(value, Raw)
    }
    return len(plan.artefacts) + len(raws) + 2 * len(plan.config.scale.dimensions) + 1


def first_receipt(scale: dict) -> str:
    """What the first job of a plan makes: every job on a cluster reads the whole plan again."""
    plan = Plan.load(scale)
    return f"{plan.store}/{next(iter(plan.artefacts.values())).receipt}"


def stp(folder: Path, scale: dict, *targets: str) -> list[str]:
    """The command that plans a scale."""
    config = folder / "scale.yaml"
    config.write_text(yaml.safe_dump(scale))
    given = ["--rerun-triggers", "mtime", "--configfile", str(config)]
    return [*given, "--snakefile", str(ROOT / "workflow" / "Snakefile"), "--", *targets]


def minimal(folder: Path, jobs: int) -> list[str]:
    """The command that plans a minimal Snakefile with at least as many jobs."""
    path = folder / "Snakefile"
    path.write_text(MINIMAL.format(chains=-(-(jobs - 1) // 3)))
    return ["--snakefile", str(path), "--"]


def fastest(turns: int, folder: Path, arguments: list[str]) -> Cost:
    """Dry-run several times; the fastest counts."""
    return min(dry_run(folder, arguments) for _ in range(turns))


def dry_run(folder: Path, arguments: list[str]) -> Cost:
    """Dry-run in a folder that becomes the working directory, so that the checkout's stays."""
    command = [sys.executable, "-m", "snakemake", "-n", "--quiet", "--directory", str(folder)]
    begun = time.perf_counter()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen([*command, *arguments], stdout=output, stderr=output, cwd=ROOT)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            output.seek(0)
            sys.exit(f"the dry run failed:\n{output.read().decode()[-3000:]}")
    return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000)


def count_files(store: Path) -> None:
    """Print the files of artefacts by stage; a store with too many of them is an error."""
    counts: dict[str, list[int]] = {}
    folders: dict[str, int] = {}
    for folder in inventory.artefacts(store):
        stage = folder.partition("/")[0]
        _, files = inventory.size_of(store / folder)
        counts.setdefault(stage, []).append(files)
        inside = sum(path.is_dir() for path in (store / folder).rglob("*"))
        folders[stage] = max(folders.get(stage, 0), 1 + inside)
    print(f"{'':<12} {'artefacts':>9} {'files':>7} {'most in one':>12} {'folders of one':>15}")
    for stage, files in counts.items():
        total = f"{len(files):>9,} {sum(files):>7,}"
        print(f"{stage:<12} {total} {max(files):>12} {folders[stage]:>15}")
    if not counts:
        sys.exit(f"{store} has no artefacts")
    if max(max(files) for files in counts.values()) > MOST_FILES:
        sys.exit(f"an artefact has more than {MOST_FILES} files")


if __name__ == "__main__":
    main()
