"""What each job of a workflow pays before its work: to know the fingerprints of the whole plan, and
to import what computes.

A process reads the configuration and plans, as `stp train` and its like do first; that is repeated
with what sources mean remembered from an earlier process, and, the alternative in the same run,
with all sources read anew. The package is copied, so that the checkout's memory stays. Another
process imports what predicts, settles device and precision, and ends, as `stp predict` does; the
alternative is the usual way, with the garbage collector and with `use_deterministic_algorithms`,
which imports a compiler. CPU times, the fastest of several turns, starting Python and imports
included.

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
    "import sys; from pathlib import Path; from stp.plan.cells import Plan; "
    "Plan.load(Path(sys.argv[1]))"
)
IMPORT = (
    "from stp.run import runner; runner.import_core('stp.predict.run'); "
    "from stp.models.compute import set_up_compute; set_up_compute('cpu', 1, 'float32').__enter__()"
)
IMPORT_AS_USUAL = (
    "import stp.run.runner, stp.predict.run, torch; torch.use_deterministic_algorithms(True)"
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
                    spent = cpu_seconds(checkout, PLAN, str(ROOT / scale))
                    seconds[way] = min(seconds[way], spent)
            anew, remembered = seconds.values()
            print(
                f"{scale}: {remembered:.2f} s of CPU time with sources remembered, {anew:.2f} s "
                f"read anew: {anew / remembered:.1f}x"
            )
        seconds = {IMPORT: 99.0, IMPORT_AS_USUAL: 99.0}
        for _ in range(options.turns):
            seconds = {one: min(old, cpu_seconds(checkout, one)) for one, old in seconds.items()}
        ours, usual = seconds.values()
        print(
            f"what predicts: {ours:.2f} s of CPU time to import it, {usual:.2f} s the usual way: "
            f"{usual / ours:.1f}x"
        )


def cpu_seconds(checkout: Path, program: str, *arguments: str) -> float:
    """CPU time of a process."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout), "STP_STORE_DIR": str(checkout / "store")},
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit("the process failed")
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
