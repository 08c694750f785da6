"""What it saves that jobs of a local run are forked from one process.

The workflow of the tiny scale (24 jobs of the store, two seconds of work) is run twice in copies of
the checkout, with their own stores: with the server (stp/job_server.py), and, the
alternative in the same run, with a process of its own for each job, as on a cluster: the server
cannot start where the folder of temporary files has too long a name for a socket. CPU time of
Snakemake and all processes that it waits for.

    python benchmarks/job_server.py
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
COMMAND = [
    *("snakemake", "--profile", "local", "--configfile", "tests/workflow/tiny.yaml"),
    *("--", "results/tables/short_term.csv"),
]
TOO_LONG = "x" * 100


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        spent = {
            way: run(folder / way, folder / (TOO_LONG if way == "alone" else "short"))
            for way in ("alone", "server")
        }
    for way, (cpu, wall) in spent.items():
        print(f"{way}: {cpu:.1f} s of CPU time, {wall:.1f} s")
    print(f"{spent['alone'][0] / spent['server'][0]:.1f}x")


def run(checkout: Path, temporary: Path) -> tuple[float, float]:
    """CPU time and wall time of the workflow in a copy of the checkout."""
    temporary.mkdir()
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for name in filter(None, listed.split("\0")):
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, checkout / name, follow_symlinks=False)
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(checkout),
        "STP_STORE_DIR": str(checkout / "results" / "store"),
        "TMPDIR": str(temporary),
    }
    began = time.monotonic()
    process = subprocess.Popen(
        COMMAND, cwd=checkout, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit("the workflow failed")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - began


if __name__ == "__main__":
    main()
