"""What it saves that jobs of a local run are forked from one process, and what a job costs besides.

The workflow of a scale (the tiny one of the tests unless another is named) is run in two copies of
the checkout, with stores of their own: with the server (stp/job_server.py), and, the alternative in
the same run, with a process for each job, as on a cluster: the server cannot start where the folder
of temporary files has too long a name for a socket. Each runs twice, and the second time counts:
what is remembered beside the code is there. CPU time is that of Snakemake and all processes that it
waits for. Overhead is what is spent outside of the work of jobs (generating raw files and the cores
of stages, with what they import while they run): Snakemake, starts of Python, imports, plans,
checks, collecting and rendering.

    python benchmarks/job_server.py
    python benchmarks/job_server.py --configfile config/demo.yaml    # the demo
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
TOO_LONG = "x" * 100


WATCHED = """

import os as _os

_imported, _fetching_ = imported, _fetching


def _timed(name, work):
    def run(*args, **more):
        began = sum(_os.times()[:4])
        try:
            return work(*args, **more)
        finally:
            with Path("work").open("a") as file:
                file.write(f"{name} {sum(_os.times()[:4]) - began}\\n")

    return staticmethod(run)


def imported(core):
    return type("Watched", (), {"__name__": core, "run": _timed(core, _imported(core).run)})


def _fetching(module):
    found = _fetching_(module)
    if module != "raw":
        return found
    parts = {"fetch": _timed("fetch", found.fetch), "check": staticmethod(found.check)}
    return type("Watched", (), parts)
"""
"""What is added to stp/run/runner.py in the copies: it writes the CPU time of each work."""


class Spent(NamedTuple):
    """What a workflow took, in seconds.

    Attributes:
        cpu: CPU time.
        wall: wall time.
        work: CPU time of what jobs are there for.
        jobs: how many there are.
        cells: how many of these score a cell.
    """

    cpu: float
    wall: float
    work: float
    jobs: int
    cells: int


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--configfile", default="tests/workflow/tiny.yaml", help="the scale")
    scale = parser.parse_args().configfile
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        spent = {
            way: run(folder / way, folder / (TOO_LONG if way == "alone" else "short"), scale)
            for way in ("alone", "server")
        }
    print("| | CPU s | wall s | CPU s of work | jobs | overhead a job | cells | overhead a cell |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for way, found in spent.items():
        over = found.cpu - found.work
        print(
            f"| {way} | {found.cpu:.1f} | {found.wall:.1f} | {found.work:.1f} | {found.jobs} | "
            f"{over / found.jobs:.2f} | {found.cells} | {over / found.cells:.2f} |"
        )
    print(f"{spent['alone'].cpu / spent['server'].cpu:.1f}x")


def run(checkout: Path, temporary: Path, scale: str) -> Spent:
    """What the workflow takes in a copy of the checkout."""
    temporary.mkdir()
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, checkout / name, follow_symlinks=False)
    with (checkout / "stp/run/runner.py").open("a") as file:
        file.write(WATCHED)
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment = {
        **inherited,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(checkout),
        "STP_STORE_DIR": str(checkout / "results" / "store"),
        "STP_RAW_DIR": str(checkout / "results" / "raw"),
        "TMPDIR": str(temporary),
    }
    command = ["snakemake", "--profile", "local", "--configfile", scale]
    command += ["--", "results/tables/short_term.csv"]
    for _ in range(2):  # the first time, Python compiles, and sources are read; nobody counts that
        shutil.rmtree(checkout / "results", ignore_errors=True)
        (checkout / "work").unlink(missing_ok=True)
        began = time.monotonic()
        process = subprocess.Popen(
            command,
            cwd=checkout,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit("the workflow failed")
        wall = time.monotonic() - began
    each = [line.split() for line in (checkout / "work").read_text().splitlines()]
    return Spent(
        usage.ru_utime + usage.ru_stime,
        wall,
        sum(float(seconds) for _, seconds in each),
        len(each),
        sum(name.startswith("stp.score.") for name, _ in each),
    )


if __name__ == "__main__":
    main()
