"""How fast each dataset is prepared, and in how much memory.

    python benchmarks/prepare.py            all fifteen
    python benchmarks/prepare.py sevir kth  some

Raw bytes are made up by the generators in the official formats, as much as the scale file says (the
demo's is little: a few MB each). A process of its own prepares
each dataset; printed are MB of raw bytes and frames per second of one CPU (start-up left out), how
many times as long as reading the raw files that is, and the largest memory. Made-up pictures
compress far better than real ones: where pictures are decoded, frames per second say more than MB.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from stp.plan.cells import Plan

ROOT = Path(__file__).parent.parent


def copy_seconds(files: list[Path]) -> float:
    """Time to read all raw files once, in blocks: what no reader can beat."""
    begun = time.perf_counter()
    for path in files:
        with path.open("rb") as file:
            while file.read(1 << 20):
                pass
    return time.perf_counter() - begun


def measure(name: str, store: Path, scale: Path) -> dict[str, Any]:
    """Fetch and prepare one dataset; what its receipt says."""
    environment = {**os.environ, "STP_STORE_DIR": str(store / "store"), "OMP_NUM_THREADS": "1"}
    environment |= {"STP_RAW_DIR": str(store / "raw"), "PYTHONPATH": str(ROOT)}
    for verb in ("fetch", "prepare"):
        command = [
            str(Path(sys.executable).with_name("stp")),
            verb,
            name,
            "--configfile",
            str(scale),
        ]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}:\n{done.stderr}")
    os.environ |= {key: environment[key] for key in ("STP_STORE_DIR", "STP_RAW_DIR")}
    plan = Plan.load(scale)
    receipt = json.loads((plan.store / plan.data(name).receipt).read_text())
    root = plan.raw_roots(plan.raw(name))[0]
    files = [path for path in root.rglob("*") if path.is_file()]
    return {
        "raw_mb": sum(path.stat().st_size for path in files) / 1e6,
        "seconds": receipt["extras"].get("decoding seconds", receipt["provenance"]["seconds"]),
        "frames": receipt["extras"].get("frames"),
        "memory_mb": receipt["extras"].get("peak memory MB"),
        "copy": copy_seconds(files),
    }


def main() -> None:
    """Prepare the datasets one after the other, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="*", help="which; all by default")
    parser.add_argument("--configfile", type=Path, default=ROOT / "config" / "demo.yaml")
    options = parser.parse_args()
    plan = Plan.load(options.configfile)
    names = options.datasets or [data.dataset for data in plan.prepared_data]
    print(
        "| dataset | raw MB | frames | raw MB/s | frames/s | times reading the files | memory MB |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            found = measure(name, Path(folder), options.configfile)
            seconds, frames = found["seconds"], found["frames"]
            print(
                f"| {name} | {found['raw_mb']:.1f} | {frames or '-'} "
                f"| {found['raw_mb'] / seconds:.1f} | {frames / seconds if frames else 0:.0f} "
                f"| {seconds / max(found['copy'], 1e-9):.0f} | {found['memory_mb'] or '-'} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
