"""Runs that are started in another folder than the checkout, or work in one."""

import re
import subprocess
import sys

import pytest
from checkout import ROOT, TABLE, Checkout


@pytest.mark.parametrize("profile", ["local", "slurm"])
def test_a_run_of_another_working_directory_finds_the_project(tmp_path, profile):
    checkout = Checkout(ROOT, tmp_path / "shared")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    command = ["snakemake", "-n", "--profile", str(ROOT / "profiles" / profile)]
    snakefile = str(ROOT / "workflow" / "Snakefile")
    from_there = subprocess.run(
        [*command, "-s", snakefile, "--", TABLE],
        cwd=elsewhere,
        env=checkout.environment,
        capture_output=True,
        text=True,
    )
    from_here = checkout.run(*command, "--directory", str(elsewhere), "--", TABLE)
    for done in (from_there, from_here):
        said = done.stdout + (done.stderr or "")
        assert done.returncode == 0, said
        assert re.search(r"\btrain\b", said) and "render_short_term" in said
        assert said.count("Job stats:") == 1
    assert (elsewhere / "results").is_dir()


@pytest.mark.long(part="docs")
def test_the_benchmark_of_planning_runs(tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "plan.py", "--turns", "1", "--jobs"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^paper +[\d,]+ ", done.stdout, re.M)
    assert "three seeds" in done.stdout
