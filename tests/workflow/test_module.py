"""The workflow as a module of another one, and what the catalog of workflows is told."""

import os
import re
import subprocess
import sys
from pathlib import Path

import yaml
from checkout import ROOT

DOCUMENTED = re.search(
    r"```snakemake\n(.*?)```", (ROOT / "docs" / "projects.md").read_text(), re.DOTALL
)


def test_another_workflow_uses_this_one_and_adds_rules(tmp_path):
    """The Snakefile of the page, planned in an empty folder."""
    assert DOCUMENTED is not None
    text = DOCUMENTED[1].replace("/path/to/stp", str(ROOT))
    (tmp_path / "Snakefile").write_text(text)
    (tmp_path / "config.yaml").write_text((ROOT / "tests" / "workflow" / "tiny.yaml").read_text())
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("STP_")}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["snakemake", "-n", "--cores", "1", "winner.txt"],
        cwd=tmp_path,
        env={**inherited, "PYTHONPATH": str(ROOT), "PATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    counted = dict(re.findall(r"^(\w+) +(\d+)$", done.stdout + done.stderr, re.M))
    assert counted["winner"] == "1" and counted["stp_train"] == "6", counted
    assert not (tmp_path / "results" / "store").exists()


def test_the_catalog_finds_what_it_wants():
    """https://snakemake.github.io/snakemake-workflow-catalog: standardised usage."""
    told = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert {"mandatory-flags", "software-stack-deployment", "report"} <= set(told)
