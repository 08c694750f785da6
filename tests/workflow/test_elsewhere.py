"""Runs that are started in another folder than the checkout, or work in one."""

import re
import subprocess
import sys

import forked
import pytest
from checkout import ROOT, TABLE, Checkout


@pytest.mark.parametrize(
    "profile", ["local", pytest.param("slurm", marks=pytest.mark.long(part="reruns"))]
)
def test_a_run_of_another_working_directory_finds_the_project(tmp_path, profile):
    checkout = Checkout(ROOT, tmp_path / "shared")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    command = ["snakemake", "-n", "--profile", str(ROOT / "profiles" / profile)]
    scale = ["--configfile", str(ROOT / "tests" / "workflow" / "tiny.yaml")]
    snakefile = str(ROOT / "workflow" / "Snakefile")
    from_there = forked.run(
        [*command, "-s", snakefile, *scale, "--", TABLE], elsewhere, checkout.environment
    )
    from_here = checkout.run(*command, *scale, "--directory", str(elsewhere), "--", TABLE)
    for done in (from_there, from_here):
        assert done.returncode == 0, done.stdout
        assert re.search(r"\btrain\b", done.stdout) and "render_short_term" in done.stdout
        assert done.stdout.count("Job stats:") == 1
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
