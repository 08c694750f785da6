"""What each job of a workflow pays before its work: to know the fingerprints of the whole plan.

A process reads the configuration and plans, as `stp train` and its like do first; that is repeated
with what sources mean remembered from an earlier process, and, the alternative in the same run,
with all sources read anew. The package is copied, so that the checkout's memory stays. CPU times,
the fastest of several turns, starting Python and imports included.

    python benchmarks/job_start.py
    python benchmarks/job_start.py --config config/demo.yaml --turns 9
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PLAN = (
    "import sys; from pathlib import Path; from stp.cells import Plan; Plan.load(Path(sys.argv[1]))"
)
MEMORY = Path("stp", "__pycache__", "meanings.json")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--config", type=Path, help="a scale file (default: the paper, and a demo)")
    parser.add_argument("--turns", type=int, default=5, help="the fastest counts (default: 5)")
    options = parser.parse_args()
    scales = (
        [options.config]
        if options.config
        else [Path("config/paper.yaml"), Path("config/demo.yaml")]
    )
    with tempfile.TemporaryDirectory() as folder:
        checkout = Path(folder)
        for name in ("stp", "config"):
            shutil.copytree(ROOT / name, checkout / name)
        for scale in scales:
            seconds = {"read anew": 99.0, "remembered": 99.0}
            for _ in range(options.turns):
                (checkout / MEMORY).unlink(missing_ok=True)
                for way in seconds:
                    seconds[way] = min(seconds[way], cpu_seconds(checkout, ROOT / scale))
            anew, remembered = seconds.values()
            print(
                f"{scale}: {remembered:.2f} s of CPU time with sources remembered, {anew:.2f} s "
                f"read anew: {anew / remembered:.1f}x"
            )


def cpu_seconds(checkout: Path, scale: Path) -> float:
    """CPU time of a process that plans."""
    process = subprocess.Popen(
        [sys.executable, "-c", PLAN, str(scale)],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout), "STP_STORE_DIR": str(checkout / "store")},
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit("planning failed")
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
