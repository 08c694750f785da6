"""docs/cluster.md, followed to the letter on the test cluster."""

import re
from pathlib import Path

import pytest
import yaml
from acts import name
from checkout import ROOT, TABLE
from scenario import Scenario

pytestmark = [pytest.mark.slow, pytest.mark.real_slurm]
GUIDE = ROOT / "docs" / "cluster.md"

NOT_HERE = {
    "make setup": "the tests run in the environment that it makes",
    "source .venv/bin/activate": "the same",
    "export STP_STORE_DIR=/shared/stp/store": "the checkout has folders of its own",
    "export STP_RAW_DIR=/shared/stp/raw": "the same",
    f"snakemake --profile slurm {TABLE}": "the whole paper: as a dry run",
    f"stp run --resume -- --profile slurm {TABLE}": "the same; test_faults.py resumes a small run",
}
"""Commands of the guide that this test does not run as they are, and why."""


def commands() -> list[str]:
    """All commands of the guide, in their order, without comments."""
    blocks = re.findall(r"```sh\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    lines = [line.partition("  #")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line]


def guide(run: Scenario) -> None:
    """From a fresh checkout to the small table, and a look at the plan of the paper."""
    printed = {}
    for command in commands():
        if command in NOT_HERE:
            continue
        # STP_SITE would win over the file that the guide makes.
        done = run.run("bash", "-c", command, STP_SITE="")
        assert done.returncode == 0, f"{command}\n{done.stdout}"
        printed[command] = done.stdout
        if command.startswith("cp config/site"):
            describe_site(run.folder / "config" / "site.yaml")
    assert "slurm-status-command: squeue" in printed["stp list site"]
    assert len((run.folder / TABLE).read_text().splitlines()) == 1 + 8  # 2 datasets, 4 models
    status = "stp status --configfile tests/workflow/tiny.yaml"
    assert "[24/24]" in printed[status]
    dry = run.run("snakemake", "--profile", "slurm", "-n", TABLE, STP_SITE="")
    assert dry.returncode == 0 and re.search(r"(?m)^train +\d+$", dry.stdout)
    assert "rule train:" not in dry.stdout, "a summary, and no block for each job"


def describe_site(path: Path) -> None:
    """Change what differs: no accounting, and a machine too small to wait politely."""
    site = yaml.safe_load(path.read_text()) or {}
    site |= {"accounting": False, "first_status_seconds": 2, "gpu": {"partition": "gpu"}}
    path.write_text(yaml.safe_dump(site))


def test_the_guide_has_no_command_that_is_not_tried():
    """A command that is left out has to be in the guide, or there is no reason to leave it out."""
    assert set(NOT_HERE) <= set(commands())


@pytest.mark.long(part="slurm-people")
@pytest.mark.parametrize("early", [guide], ids=name)
def test_guide(early, started):
    started[early].result()
