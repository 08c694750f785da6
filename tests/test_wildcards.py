"""Parts of paths in the store survive the command line of a job on a cluster."""

import re
import shlex
from pathlib import Path

import pytest
import yaml
from parts import long_except

from stp.collect.cell import matching
from stp.core.errors import StpError
from stp.plan import config
from stp.plan.artefacts import Raw
from stp.plan.cells import Plan
from stp.plan.checked_config import CONFIG_FOLDER, merge
from stp.plan.model import Submission
from stp.plan.setting import WILDCARD, current_name, setting_of

SCALES = sorted(
    path for path in CONFIG_FOLDER.glob("*.yaml") if "\ndimensions:" in path.read_text()
)


FORMS = {
    *("atlas-demo", "atlas-sample", "chaosbench-demo", "demo", "fvd-demo"),
    *("pvqa-300", "quality-trust-demo", "scv-demo", "scv"),
}
"""Of each suite, one with joined settings, variants, layers and releases of other names."""


def parts_of(plan: Plan) -> set[str]:
    """All parts of the paths of a plan: each wildcard of the workflow stands for some of them."""
    parts: set[str] = set()
    for folder, artefact in plan.artefacts.items():
        parts.update(folder.split("/"))
        locks = [one.lock for one in artefact.inputs.values() if isinstance(one, Raw)]
        parts.update(part for lock in locks for part in lock.split("/"))
    return parts


@pytest.mark.parametrize(
    "scale",
    long_except([path for path in SCALES if path.stem in FORMS], SCALES, "kinds"),
    ids=lambda path: path.stem,
)
def test_every_part_of_a_path_survives_the_command_line_of_a_job(scale: Path) -> None:
    """`horizon-16,training-20` was divided at its comma, and no job of its group was read."""
    from snakemake.target_jobs import parse_target_jobs_cli_args
    from snakemake_interface_executor_plugins import utils

    wildcards = {f"w{i}": part for i, part in enumerate(sorted(parts_of(Plan.load(scale))))}
    given = [utils.TargetSpec("score_short_term", wildcards), utils.TargetSpec("all", {})]
    words = shlex.split(
        utils.format_cli_arg("--target-jobs", utils.encode_target_jobs_cli_args(given))
    )
    assert parse_target_jobs_cli_args(words[1:]) == given
    assert [part for part in wildcards.values() if not re.fullmatch(WILDCARD, part)] == []


@pytest.mark.parametrize("name", ["fc,6", "fc 6", "fc=6", "fc'6", "fc6:0", "fc6{0}"])
def test_a_name_that_would_not_survive_is_refused_by_the_plan(name: str) -> None:
    scale = yaml.safe_load((CONFIG_FOLDER / "fvd-demo.yaml").read_text())
    conventions = {"random_logits": {"layer": name}}
    given = merge(scale, {"metrics": {"fvd": {"conventions": conventions}}})
    with pytest.raises(StpError) as caught:
        Plan(config.load(given))
    assert f"i3d_random.{name}" in caught.value.what
    assert "letters" in caught.value.expected


def test_old_names_of_settings_and_variants_are_read() -> None:
    assert current_name("horizon-30,interval-2") == "horizon-30+interval-2"
    assert current_name("default,lead-5") == "default+lead-5"
    assert setting_of("horizon-30,interval-2") == setting_of("horizon-30+interval-2")
    given = Submission(
        dimension="robustness",
        trained_on="bridge",
        tested_on="bridge",
        setting="horizon-10,interval-2",
        data="0" * 16,
        windows="0" * 64,
        bytes=1,
        sha256="0" * 64,
    )
    assert given.setting == "horizon-10+interval-2"


def test_a_cell_is_found_by_the_old_name_of_its_setting() -> None:
    cells = [made.cell for made in Plan.load(CONFIG_FOLDER / "demo.yaml").cells]
    for setting in ("horizon-10+interval-2", "horizon-10,interval-2", "interval-2"):
        (cell,) = matching(cells, ["convlstm", "bridge", setting])
        assert cell.setting == "horizon-10+interval-2"
