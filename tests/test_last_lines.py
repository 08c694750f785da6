"""What a run of the tests says in its last lines on a machine that lacks something."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cluster import COMMANDS, PACKAGES

ROOT = Path(__file__).parents[1]
SAMPLE = "set STP_RAW_MIRROR to the folder of the sample files to run this test"
BROWSER = "needs chromium and chromedriver (apt-get install)"
MOUNTING = "mounting needs root: run as root, as in a container"
MISSING = [name for name in COMMANDS if shutil.which(name, path="/usr/sbin") is None]
SLURM = {
    0: f"{', '.join(MISSING)} not found: apt-get install {' '.join(PACKAGES)}",
    1000: "only root can start munged, slurmctld and slurmd: run as root, as in a container",
}
NEEDY = {
    "tests/fetch/test_generator_bridge.py::test_view_names_are_like_the_official_ones": SAMPLE,
    "tests/report/test_report_page.py": BROWSER,
    "tests/slurm/test_undisturbed.py::test_jobs_ran_side_by_side": "Slurm",
    "tests/workflow/test_rerun.py::test_a_finished_store_on_a_read_only_disk_serves": MOUNTING,
}
"""Tests, and what they need."""


@pytest.mark.parametrize(
    ("user", "workers"), [(1000, ()), (0, ("--numprocesses", "1", "--dist", "loadfile"))]
)
def test_they_name_what_could_not_run_and_how_to_have_it_run(tmp_path, user, workers):
    """Without root, Slurm, a browser and sample bytes; as root, without the others."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "user.py").write_text(f"import os\nos.geteuid = lambda: {user}\n")
    needy = {test: need for test, need in NEEDY.items() if user or need != MOUNTING}
    parts = ("browser", "reruns")
    chosen = " or ".join(["not long", *(f"long(part='{part}')" for part in parts)])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "user",
         "-m", chosen, *workers, *needy],
        cwd=ROOT,
        env={"PATH": str(tmp_path / "bin"), "PYTHONPATH": str(tmp_path), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    *printed, left_out = done.stdout.splitlines()
    said = [line.strip().split("  ", 1) for line in printed[-len(needy) :]]
    needed = {
        f"no Slurm for the tests: {SLURM[user]}" if n == "Slurm" else n for n in needy.values()
    }
    assert {reason for _, reason in said} == needed
    assert printed[-len(needy) - 1] == (
        f"{sum(int(number) for number, _ in said)} tests could not run here:"
    )
    assert left_out.startswith("left out, since they are long: demo, dimensions, wide, docs, own,")
    assert not any(part in left_out for part in parts)
    assert left_out.endswith("; `make test-all` runs them")
    assert "sample tests run: 0 of 1" in printed and "slurm tests run: 0 of 1" in printed
